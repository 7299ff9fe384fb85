"""The functions that the code of TorchScript calls: operators of torch on tensors, and those of Python on everything else."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from dcembed.errors import NetworkError, UnsupportedLayerError
from dcembed.importers.torch_.files.safety import is_allowed

# Types of numbers are numbers in TorchScript.
DTYPES = {
    0: torch.uint8,
    1: torch.int8,
    2: torch.int16,
    3: torch.int32,
    4: torch.int64,
    5: torch.float16,
    6: torch.float32,
    7: torch.float64,
    11: torch.bool,
    15: torch.bfloat16,
}


def call_operator(path: Sequence[str], args: list[Any], kwargs: Mapping[str, Any]) -> Any:
    """What `torch.add(...)`, `ops.prim.device(...)` or `int(...)` gives."""
    name = path[-1]
    if path[0] == "ops" and len(path) == 3 and path[1] == "prim" and name in _PRIM:
        return _PRIM[name](*args)
    if len(path) == 1 and name in _BUILTINS:
        return _BUILTINS[name](*args)
    if path[0] != "torch" and path[:2] != ["ops", "aten"]:
        raise UnsupportedLayerError(f"The TorchScript model calls {'.'.join(path)}, which is not an operator of torch. Export it to ONNX.")
    if name in _SPECIAL:
        return _bounded(_SPECIAL[name])(*args, **kwargs)
    tensors = any(isinstance(leaf, torch.Tensor) for leaf in pytree.tree_leaves((args, dict(kwargs))))
    if not tensors and name in _PYTHON:
        return _bounded(_PYTHON[name])(*args)
    # A list of tensors is a list first.
    if name in _LISTS and isinstance(args[0], list | dict | str):
        return _bounded(_LISTS[name])(*args)
    return _call_tensor_operator(name, args, kwargs)


def _call_tensor_operator(name: str, args: list[Any], kwargs: Mapping[str, Any]) -> Any:
    if not is_allowed(name):
        raise UnsupportedLayerError(
            f"The TorchScript model calls torch.{name}, which is not among the operators of torch that compute and do nothing else, so it is "
            "not run. Open the file yourself if you trust it and pass the live model."
        )
    try:
        return getattr(torch.ops.aten, name)(*args, **kwargs)
    except RuntimeError as error:
        if "failed to match any schema" not in str(error):
            raise
        # TorchScript takes tensors of one number for numbers.
        plain, keywords = pytree.tree_map(_as_number, (args, dict(kwargs)))
        return getattr(torch.ops.aten, name)(*plain, **keywords)


def _as_number(value: Any) -> Any:
    return value.item() if isinstance(value, torch.Tensor) and value.ndim == 0 else value


# Characters in a text, entries in a list; a few bytes of code can ask for any number of them.
MOST_ENTRIES = 1_000_000


def _bounded(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of Python whose results stay as large as those of TorchScript can be."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if function in (operator.mul, operator.pow) and _would_explode(function, *args[:2]):
            raise _too_large()
        result = function(*args, **kwargs)
        size = abs(result) // 2**63 if isinstance(result, int) else len(result) // MOST_ENTRIES if isinstance(result, list | str) else 0
        if size:
            raise _too_large()
        return result

    return call


def _too_large() -> NetworkError:
    return NetworkError("The code of the TorchScript model makes a number, a text or a list that is too large.")


def _would_explode(function: Callable[..., Any], left: Any, right: Any) -> bool:
    if isinstance(left, list | str) or isinstance(right, list | str):
        sizes = [len(side) if isinstance(side, list | str) else int(side) for side in (left, right)]
        return sizes[0] * sizes[1] > MOST_ENTRIES
    return function is operator.pow and isinstance(left, int) and isinstance(right, int) and left.bit_length() * abs(right) > 64


def _raise(message: Any = "", *_: Any) -> Any:
    raise NetworkError(f"The TorchScript model itself raises an error: {message}. Check input_shape.")


def _append(values: list[Any], value: Any) -> list[Any]:
    return _extend(values, [value])


def _extend(values: list[Any], more: list[Any]) -> list[Any]:
    """Changed in place; it grows no further than it may."""
    if len(values) + len(more) > MOST_ENTRIES:
        raise _too_large()
    values.extend(more)
    return values


def _slice(values: Any, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    return values[start:end:step]


def _divide(left: float, right: float) -> float:
    return left / right


def _tensor(data: Any, dtype: int | None = None, device: Any = None, requires_grad: bool = False) -> torch.Tensor:
    return torch.tensor(data, dtype=None if dtype is None else DTYPES[dtype])


def _dtype_number(value: torch.Tensor) -> int:
    return next(number for number, dtype in DTYPES.items() if dtype is value.dtype)


def _size(value: torch.Tensor, dim: int | None = None) -> Any:
    return list(value.shape) if dim is None else value.shape[dim]


def _format(text: str, *values: Any) -> str:
    for value in values:
        text = text.replace("{}", str(value), 1)
    return text


_SPECIAL: dict[str, Callable[..., Any]] = {
    "tensor": _tensor,
    "size": _size,
    "dim": lambda value: value.dim(),
    "numel": lambda value: value.numel(),
    "device": lambda *args: torch.device("cpu"),
    "format": _format,
    "warn": lambda *args, **kwargs: None,
    "is_grad_enabled": lambda: False,
    "is_autocast_enabled": lambda: False,
    "is_floating_point": lambda value: value.is_floating_point(),
    "__is__": operator.is_,
    "__isnot__": operator.is_not,
    "__not__": operator.not_,
    "__isinstance__": lambda *args: True,
    "requires_grad": lambda value: False,
}

_LISTS: dict[str, Callable[..., Any]] = {
    "append": _append,
    "extend": _extend,
    "insert": lambda values, place, value: values.insert(place, value),
    "pop": lambda values, *place: values.pop(*place),
    "len": len,
    "slice": _slice,
    "list": list,
    "copy": list,
    "keys": lambda values: list(values.keys()),
    "values": lambda values: list(values.values()),
    "items": lambda values: list(values.items()),
    "reverse": lambda values: values.reverse(),
    "__getitem__": operator.getitem,
    "__contains__": lambda values, value: any(value is other or value == other for other in values),
    "_set_item": operator.setitem,
    "add": operator.add,
    "add_": _extend,
    "mul": operator.mul,
}

_PYTHON: dict[str, Callable[..., Any]] = _LISTS | {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": _divide,
    "floordiv": operator.floordiv,
    "remainder": operator.mod,
    "neg": operator.neg,
    "pow": operator.pow,
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "__range_length": lambda start, stop, step: len(range(start, stop, step)),
    "__derive_index": lambda index, start, step: start + index * step,
    "__and__": operator.and_,
    "__or__": operator.or_,
    "__xor__": operator.xor,
    "abs": abs,
    "floor": math.floor,
    "ceil": math.ceil,
    "round": round,
    "sqrt": math.sqrt,
    "exp": math.exp,
    "log": math.log,
    "sum": sum,
    "min": min,
    "max": max,
    "Int": int,
    "Float": float,
    "Bool": bool,
    "str": str,
    "len": len,
}

_PRIM: dict[str, Callable[..., Any]] = {
    "RaiseException": _raise,
    "NumToTensor": torch.tensor,
    "device": lambda value: torch.device("cpu"),
    "dtype": _dtype_number,
    "layout": lambda value: None,
    "is_cuda": lambda value: False,
    "is_mkldnn": lambda value: False,
    "is_quantized": lambda value: False,
    "is_nested": lambda value: False,
    "requires_grad": lambda value: False,
    "unchecked_unwrap_optional": lambda value: value,
    "min": lambda *args: min(*args),
    "max": lambda *args: max(*args),
    "abs": abs,
    "data": lambda value: value,
    "Print": lambda *args: None,
    "type": lambda value: "cpu",
    "shape": lambda value: list(value.shape),
}

_BUILTINS: dict[str, Callable[..., Any]] = {
    "int": int,
    "float": float,
    "bool": bool,
    "str": str,
    "range": range,
    "print": lambda *args: None,
}
