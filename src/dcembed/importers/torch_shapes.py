"""The shape of one point, where a module says it: a layer that fails for a wrong size fixes the right one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

from dcembed.errors import InputError
from dcembed.importers.lowering import unknown_input
from dcembed.importers.torch_arguments import Arguments, Shapes
from dcembed.importers.torch_places import Places
from dcembed.importers.torch_watch import Watch, plain_kernels

# No layer has so many features: sizes that are tried to see where they fail.
WRONG = (7919, 7927, 7933, 7937, 7949, 7951, 7963, 7993)
# Points in a batch that is tried: a size that no layer is taken for.
BATCH = 2
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
    """How far a module came, the shapes that the operator had at which it failed, and the module that was running then."""

    progress: int
    sizes: tuple[tuple[int, ...], ...]
    module: nn.Module | None


def find_shapes(model: nn.Module, arguments: Arguments, given: tuple[int, ...] | Shapes | None, dtype: torch.dtype) -> Shapes:
    """The shape of each input without the batch axis, as the user gives it or as the module fixes it."""
    known = _read_given(arguments, given)
    open_ = [name for name in arguments.names if name not in known]
    if not open_:
        return known
    if len(open_) > len(WRONG):
        raise unknown_input("torch", f"it has {len(open_)} inputs")
    shapes = {name: (wrong,) for name, wrong in zip(open_, WRONG, strict=False)} | known
    while open_:
        failure = _try(model, arguments, shapes, dtype)
        if failure is None:
            raise unknown_input("torch", f"no layer that uses the input{_named(open_, arguments)} fixes it")
        better = next(_better(model, arguments, shapes, open_, failure, dtype), None)
        if better is None:
            raise unknown_input("torch", _reason(failure, open_, arguments))
        shapes[better[0]] = better[1]
        open_.remove(better[0])
    return shapes


def _read_given(arguments: Arguments, given: tuple[int, ...] | Shapes | None) -> dict[str, tuple[int, ...]]:
    if given is None:
        return {}
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in arguments.names]
        if unknown:
            raise InputError(f"load_network: input_shape has '{unknown[0]}'; the inputs are {', '.join(arguments.names)}.")
        return dict(given)
    if len(arguments.names) > 1:
        raise InputError(
            f"load_network: input_shape={given} is one shape, but the torch model has {len(arguments.names)} inputs "
            f"({', '.join(arguments.names)}). Give one for each: input_shape={{'{arguments.names[0]}': {given}, ...}}."
        )
    return {arguments.names[0]: given}


def _named(names: Sequence[str], arguments: Arguments) -> str:
    return "" if len(arguments.names) == 1 else f" '{names[0]}'"


def _reason(failure: _Failure, open_: Sequence[str], arguments: Arguments) -> str:
    if isinstance(failure.module, _SPATIAL):
        return f"its first layer is {type(failure.module).__name__}, which takes values of more than one axis{_named(open_, arguments)}"
    return f"no layer that uses the input{_named(open_, arguments)} fixes it alone"


def _better(
    model: nn.Module, arguments: Arguments, shapes: Shapes, open_: Sequence[str], failure: _Failure, dtype: torch.dtype
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Inputs and shapes with which the module comes further."""
    for name in open_:
        for shape in _candidates(failure):
            after = _try(model, arguments, {**shapes, name: shape}, dtype)
            if after is None or after.progress > failure.progress:
                yield name, shape


def _candidates(failure: _Failure) -> list[tuple[int, ...]]:
    """Sizes of what the operator and the module at which it failed have; single numbers first, ones last."""
    sizes = list(failure.sizes)
    if failure.module is not None:
        sizes += [tuple(tensor.shape) for tensor in (*failure.module.parameters(recurse=False), *failure.module.buffers(recurse=False))]
        sizes += [
            tuple(value) for value in vars(failure.module).values() if isinstance(value, tuple) and all(isinstance(v, int) for v in value)
        ]
    single = [(size,) for shape in sizes for size in reversed(shape)] + [(math.prod(shape[1:]),) for shape in sizes if len(shape) > 1]
    # A shape of an operator may have the batch axis in front.
    found = dict.fromkeys([*single, *((math.prod(shape),) for shape in sizes), *(shape for shape in sizes if len(shape) > 1)])
    usable = [shape for shape in found if shape and min(shape) > 0 and not any(size in WRONG or size % WRONG[0] == 0 for size in shape)]
    return sorted(usable, key=lambda shape: (len(shape), shape == (1,)))


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
    try:
        with plain_kernels(), places.followed(), counter:
            arguments.call(model, inputs, dtype)
    except Exception:
        return _Failure(counter.progress, counter.sizes, places.failed)
    return None
