"""The shape of one point, where a module says it: a layer that fails for a wrong size fixes the right one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

from dcembed.errors import InputError, UnsupportedLayerError
from dcembed.importers.lowering import unknown_input
from dcembed.importers.request import Request
from dcembed.importers.torch_.live.arguments import Arguments, Shapes
from dcembed.importers.torch_.live.places import Places
from dcembed.importers.torch_.recording.watch import Watch, plain_torch

# No layer has so many features: sizes that are tried to see where they fail.
WRONG = (7919, 7927, 7933, 7937, 7949, 7951, 7963, 7993)
# Points in a batch that is tried, a number of channels that few layers have.
BATCH = 7
# Layers that take places beside features.
_SPATIAL = (
    nn.modules.conv._ConvNd,
    nn.modules.pooling._MaxPoolNd,
    nn.modules.pooling._AvgPoolNd,
    nn.modules.pooling._AdaptiveAvgPoolNd,
    nn.modules.pooling._AdaptiveMaxPoolNd,
    nn.BatchNorm2d,
    nn.BatchNorm3d,
    nn.RNNBase,
    nn.MultiheadAttention,
    nn.TransformerEncoderLayer,
)


@dataclass(frozen=True)
class _Failure:
    """Where a module fails.

    Parameters
    ----------
    progress
        Operators that ran before.
    sizes
        The shapes, and lists of sizes, that the operator had at which it failed.
    module
        The innermost module that was running.
    error
        What torch says.
    """

    progress: int
    sizes: tuple[tuple[int, ...], ...]
    module: nn.Module | None
    error: str


class _TakesMore(Exception):
    """A layer that takes values of several axes is given a vector."""


def find_shapes(model: nn.Module, arguments: Arguments, request: Request, dtype: torch.dtype) -> Shapes:
    """The shape of each input without the batch axis, as the user gives it or as the module fixes it."""
    shapes = _read_given(arguments, request)
    open_ = [name for name in arguments.names if name not in shapes]
    if len(open_) > len(WRONG):
        raise unknown_input("torch", f"it has {len(open_)} inputs, and no shapes are given")
    shapes |= {name: (wrong,) for name, wrong in zip(open_, WRONG, strict=False)}
    failure: _Failure | None = None
    while open_:
        failure = _try(model, arguments, shapes, dtype)
        if failure is None:
            raise unknown_input("torch", f"no layer that uses the input{_named(open_, arguments)} fixes it")
        better = next(_better(model, arguments, shapes, open_, failure, dtype), None)
        if better is None:
            raise unknown_input("torch", _reason(failure, open_, arguments), _example(failure.module))
        shapes[better[0]] = better[1]
        open_.remove(better[0])
    failure = _try(model, arguments, shapes, dtype) if failure is not None else None
    if failure is not None:
        raise unknown_input("torch", f"with the shape that its first layers take it fails later, {failure.error}")
    return shapes


def _read_given(arguments: Arguments, request: Request) -> dict[str, tuple[int, ...]]:
    given = dict(request.input_shapes or {})
    unknown = [name for name in given if name not in arguments.names]
    if unknown:
        raise InputError(f"load_network: input_shape has '{unknown[0]}'; the inputs are {', '.join(arguments.names)}.")
    if request.input_shape is None:
        return given
    if len(arguments.names) > 1:
        raise InputError(
            f"load_network: input_shape={request.input_shape} is one shape, but the torch model has {len(arguments.names)} inputs "
            f"({', '.join(arguments.names)}). Give one for each: input_shape={{'{arguments.names[0]}': {request.input_shape}, ...}}."
        )
    return {arguments.names[0]: request.input_shape}


def _named(names: Sequence[str], arguments: Arguments) -> str:
    return "" if len(arguments.names) == 1 else f" '{names[0]}'"


def _reason(failure: _Failure, open_: Sequence[str], arguments: Arguments) -> str:
    if isinstance(failure.module, _SPATIAL):
        return f"its first layer is a {type(failure.module).__name__}, which takes values of more than one axis{_named(open_, arguments)}"
    return f"no layer that uses the input{_named(open_, arguments)} fixes it alone"


def _example(module: nn.Module | None) -> str:
    """A shape such as the layer at which it failed takes."""
    if isinstance(module, nn.modules.conv._ConvNd):
        return f"({module.in_channels}, {', '.join(['16'] * len(module.kernel_size))})"
    return "(3, 16)" if isinstance(module, _SPATIAL) else "(4,)"


def _better(
    model: nn.Module, arguments: Arguments, shapes: Shapes, open_: Sequence[str], failure: _Failure, dtype: torch.dtype
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Inputs and shapes with which the module comes further."""
    for name in open_ if not isinstance(failure.module, _SPATIAL) else []:
        for shape in _candidates(failure):
            after = _try(model, arguments, {**shapes, name: shape}, dtype)
            if after is None or after.progress > failure.progress:
                yield name, shape


def _candidates(failure: _Failure) -> list[tuple[int, ...]]:
    """Sizes of what the operator and the module at which it failed have; single numbers first, ones last."""
    shapes = list(failure.sizes)
    if failure.module is not None:
        shapes += [tuple(tensor.shape) for tensor in (*failure.module.parameters(recurse=False), *failure.module.buffers(recurse=False))]
        shapes += [tuple(getattr(failure.module, name, ())) for name in ("normalized_shape", "unflattened_size")]
    # The shape of an operator may have the batch axis in front.
    sizes = [size for shape in shapes for size in (*reversed(shape), math.prod(shape[1:]), math.prod(shape))]
    right = list(dict.fromkeys(size for size in sizes if 0 < size < min(WRONG) // 2))
    # A size that is wrong by then may have been multiplied, and have been added to.
    changed = [_change(size) for size in dict.fromkeys(sizes) if size > min(WRONG) // 2]
    inferred = [(size - more) // times for times, more in changed for size in right if size > more and (size - more) % times == 0]
    found = dict.fromkeys((size,) for size in [*right, *inferred])
    normalized = tuple(getattr(failure.module, "normalized_shape", ()))
    return [*sorted(found, key=lambda shape: shape == (1,)), *([normalized] if len(normalized) > 1 else [])]


def _change(size: int) -> tuple[int, int]:
    """(times, more) with size = times * wrong + more for one of the wrong sizes, the one with the least that is added."""
    options = [(round(size / wrong), size - round(size / wrong) * wrong) for wrong in WRONG]
    return min((option for option in options if option[0]), key=lambda option: abs(option[1]))


class _Counter(Watch):
    """Counts operators, and keeps the shapes of the one that fails."""

    def __init__(self) -> None:
        super().__init__()
        self.progress = 0
        self.sizes: tuple[tuple[int, ...], ...] = ()

    def __torch_dispatch__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        leaves = pytree.tree_leaves((args, kwargs), is_leaf=_is_sizes)
        self.sizes = tuple(tuple(leaf.shape) if isinstance(leaf, torch.Tensor) else tuple(leaf) for leaf in leaves if _has_sizes(leaf))
        result = func(*args, **(kwargs or {}))
        self.progress += 1
        self.sizes = ()
        return result


def _is_sizes(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(item, int) and not isinstance(item, bool) for item in value)


def _has_sizes(value: Any) -> bool:
    return isinstance(value, torch.Tensor) or _is_sizes(value)


def _try(model: nn.Module, arguments: Arguments, shapes: Shapes, dtype: torch.dtype) -> _Failure | None:
    """Run the module on a batch of zeros; None if it works."""
    inputs = {name: torch.zeros((BATCH, *shapes[name]), dtype=dtype) for name in arguments.names}
    places, counter = Places(model), _Counter()
    spatial = [module.register_forward_pre_hook(_refuse_vectors) for module in model.modules() if isinstance(module, _SPATIAL)]
    try:
        with plain_torch(), places.followed(), counter:
            arguments.call(model, inputs, dtype)
    except UnsupportedLayerError:
        # Of code that is not run, whatever the sizes are.
        raise
    except Exception as error:
        text = f"at {places.where()}: {type(error).__name__}: {error}"
        return _Failure(counter.progress, counter.sizes, places.failed, text)
    finally:
        for handle in spatial:
            handle.remove()
    return None


def _refuse_vectors(module: nn.Module, args: Any) -> None:
    """A batch of vectors would be taken for one value without a batch axis."""
    if args and isinstance(args[0], torch.Tensor) and args[0].ndim < 3:
        raise _TakesMore(f"a batch of values with more axes is expected, received shape {tuple(args[0].shape)}")
