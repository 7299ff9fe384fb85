"""Operators that take several entries together along axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dcembed.importers import operations as ops
from dcembed.importers.lowering import UNKNOWN
from dcembed.importers.operations import Unsupported, Value
from dcembed.network.builder import NetworkBuilder, Tensor


def _axes(dim: Any) -> Any:
    """No axes are all of them."""
    return None if dim is None or (isinstance(dim, list | tuple) and not dim) else dim


def _reduction(operation: Callable[..., Value]) -> Callable[..., Value]:
    def handler(builder: NetworkBuilder, input: Value, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Value:
        return operation(builder, input, _axes(dim), keepdim)

    return handler


def _extreme(along: Callable[..., Value], of_two: Callable[..., Value]) -> Callable[..., Any]:
    """Over everything; over an axis, with the places of the extremes; or of two values."""

    def handler(builder: NetworkBuilder, input: Value, dim: Any = None, keepdim: bool = False) -> Any:
        if dim is None:
            return along(builder, input)
        if isinstance(dim, int):
            return along(builder, input, dim, keepdim), UNKNOWN
        return of_two(builder, input, dim)

    return handler


def _spread(root: bool, with_mean: bool) -> Callable[..., Any]:
    """Variances and standard deviations, with their means on request."""

    def handler(
        builder: NetworkBuilder, input: Value, dim: Any = None, unbiased: Any = True, keepdim: bool = False, *, correction: Any = None
    ) -> Any:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        taken = float(unbiased) if correction is None else float(correction)
        result = ops.variance(builder, input, _axes(dim), keepdim, taken)
        result = ops.sqrt(builder, result) if root else result
        return (result, ops.mean(builder, input, _axes(dim), keepdim)) if with_mean else result

    return handler


def _norm(builder: NetworkBuilder, input: Value, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Value:
    if isinstance(ord, str):
        raise Unsupported(f"takes a norm of the kind '{ord}'; vector norms are accepted")
    return ops.norm(builder, input, 2.0 if ord is None else float(ord), _axes(dim), keepdim)


def _cumulative_sum(builder: NetworkBuilder, input: Value, dim: int, *, dtype: Any = None) -> Value:
    return ops.cumulative_sum(builder, input, dim)


def _log_sum_exp(builder: NetworkBuilder, input: Value, dim: Any, keepdim: bool = False) -> Value:
    return ops.log_sum_exp(builder, input, _axes(dim), keepdim)


def _softmax(operation: Callable[..., Value]) -> Callable[..., Value]:
    return lambda builder, input, dim, dtype=None: operation(builder, input, dim)


def _trace(builder: NetworkBuilder, input: Tensor) -> Value:
    return ops.einsum(builder, "ii->", input)


def _without_missing(builder: NetworkBuilder, input: Value, dim: Any = None, keepdim: bool = False, **kwargs: Any) -> Value:
    return ops.mean(builder, input, _axes(dim), keepdim)


REDUCTIONS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("sum", "nansum"), _reduction(ops.total)),
    **dict.fromkeys(("softmax", "_softmax", "special_softmax"), _softmax(ops.softmax)),
    **dict.fromkeys(("log_softmax", "_log_softmax", "special_log_softmax"), _softmax(ops.log_softmax)),
    **dict.fromkeys(("logsumexp", "special_logsumexp"), _log_sum_exp),
    **dict.fromkeys(("norm", "linalg_vector_norm", "linalg_norm"), _norm),
    "mean": _reduction(ops.mean),
    "nanmean": _without_missing,
    "amax": _reduction(ops.largest_over),
    "amin": _reduction(ops.smallest_over),
    "prod": _reduction(ops.product_over),
    "max": _extreme(ops.largest_over, ops.maximum),
    "min": _extreme(ops.smallest_over, ops.minimum),
    "var": _spread(root=False, with_mean=False),
    "std": _spread(root=True, with_mean=False),
    "var_mean": _spread(root=False, with_mean=True),
    "std_mean": _spread(root=True, with_mean=True),
    "cumsum": _cumulative_sum,
    "trace": _trace,
}
