"""Lower a module while torch runs it on one point, operator by operator.

Views, hooks, parametrizations, changes in place and branches by shapes are what torch makes of them: only the operators of aten are seen here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np
import torch
from torch.utils import _pytree as pytree

from dcembed.errors import NetworkError, UnsupportedLayerError
from dcembed.importers import operations as ops
from dcembed.importers.lowering import UNKNOWN, Layer, Lowering
from dcembed.importers.operations import Unsupported
from dcembed.importers.torch_.aten import OPERATORS, REASONS
from dcembed.importers.torch_.aten.conditions import TAKE_CONDITIONS, Condition
from dcembed.importers.torch_.recording.constants import check_size, is_random
from dcembed.importers.torch_.recording.memory import FAILED, Memory
from dcembed.importers.torch_.recording.names import operator_name
from dcembed.importers.torch_.recording.watch import Watch
from dcembed.network.builder import Tensor

SHORT_FLOATS = (torch.float32, torch.float16, torch.bfloat16)
RANDOM = "draws random numbers, also at inference; take them out, or make them constants (buffers)"
JUMPS = "computes with a comparison of values that are computed from the input, which jumps"
PLACES = "uses the places of the largest or smallest entries, which jump; use the entries themselves (amax, amin)"


class Where(Protocol):
    """Says where a model is while it runs."""

    def at(self, operator: str) -> Layer:
        """The layer that an operator belongs to."""


class Recorder(Watch):
    """Sees every operator that runs, and lowers those that depend on the input.

    Parameters
    ----------
    lowering
        Collects the network, and what cannot be embedded.
    places
        Where the model is.
    """

    def __init__(self, lowering: Lowering, places: Where) -> None:
        super().__init__()
        self.memory = Memory(lowering.builder)
        self.rounds = False
        # TorchScript hides what is raised in its operators.
        self.refused: UnsupportedLayerError | None = None
        self.lowering = lowering
        self._places = places

    def __torch_dispatch__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        if func is torch.ops.aten._local_scalar_dense.default and not isinstance(args[0], torch.Tensor):
            # TorchScript asks for the number in a number.
            return args[0]
        if func is torch.ops.aten.equal.default and not any(isinstance(side, torch.Tensor) for side in args):
            # And whether two of them are equal: sizes in a trace.
            return args[0] == args[1]
        check_size(func, args, kwargs, self.lowering.builder.growth)
        given = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        causes: frozenset[int] = frozenset().union(*(self.memory.causes(tensor) for tensor in given))
        if not any(self.memory.holds(tensor) for tensor in given):
            return self._run_constant(func, args, kwargs, causes)
        simpler = None if _is_known(func) else _decomposition(func)
        if simpler is not None:
            # Its operators come by here again.
            with self:
                return simpler(*args, **kwargs)
        # Before it runs: it may change its arguments.
        values = pytree.tree_map(
            lambda leaf: self.memory.read(leaf) if isinstance(leaf, torch.Tensor) else leaf, (tuple(args), dict(kwargs))
        )
        result = func(*args, **kwargs)
        changed = _changed(func, args, kwargs, result)
        values = (values[0], {name: value for name, value in values[1].items() if kwargs[name] is not changed or changed is None})
        found = [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]
        if changed is None and found and all(self.memory.holds(tensor) for tensor in found):
            # A view: it is read where it is stored.
            return result
        self._lower(func, values, result, changed, causes)
        return result

    def _run_constant(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], causes: frozenset[int]) -> Any:
        """An operator that does not depend on the input."""
        if is_random(func):
            causes |= {self.lowering.num_problems}
            self.lowering.apply(self._places.at(operator_name(func)), partial(refuse, RANDOM))
        result = func(*args, **kwargs)
        for leaf in pytree.tree_leaves(result):
            if isinstance(leaf, torch.Tensor):
                self.memory.blame(leaf, causes)
        return result

    def _lower(self, func: Any, values: Any, result: Any, changed: torch.Tensor | None, causes: frozenset[int]) -> None:
        args, kwargs = values
        if not func._schema.returns:
            # An assertion: it ran, and there is nothing of it.
            return
        layer = self._places.at(operator_name(func))
        tensors = pytree.tree_leaves(result)
        if changed is None and not any(isinstance(leaf, torch.Tensor) for leaf in tensors):
            self.refused = _depends_on_data(layer)
            raise self.refused
        self.rounds |= any(leaf in SHORT_FLOATS for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.dtype))
        count = self.lowering.num_problems
        lowered, failed = self._apply(layer, func, args, kwargs)
        causes |= frozenset(range(count, self.lowering.num_problems))
        for tensor in [changed] if changed is not None else [leaf for leaf in tensors if isinstance(leaf, torch.Tensor)]:
            self.memory.blame(tensor, causes)
        if changed is not None:
            self._keep(layer, changed, lowered, failed)
            return
        parts = pytree.tree_leaves(lowered, is_leaf=lambda leaf: leaf is None) if isinstance(lowered, list | tuple) else [lowered]
        for index, tensor in enumerate(tensors):
            if isinstance(tensor, torch.Tensor):
                self._keep(layer, tensor, parts[index] if index < len(parts) else UNKNOWN, failed)

    def _apply(self, layer: Layer, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, bool]:
        """What an operator gives, and whether it cannot be lowered."""
        leaves = pytree.tree_leaves((args, kwargs))
        if any(leaf is FAILED for leaf in leaves):
            return None, True
        count = self.lowering.num_problems
        if any(leaf is UNKNOWN for leaf in leaves):
            self.lowering.apply(layer, partial(refuse, PLACES))
            return None, True
        jumps = any(isinstance(leaf, Condition) for leaf in leaves) and operator_name(func).removesuffix("_") not in TAKE_CONDITIONS
        lowered = self.lowering.apply(layer, partial(refuse, JUMPS) if jumps else _find(func), *args, **kwargs)
        return lowered, self.lowering.num_problems > count

    def _keep(self, layer: Layer, tensor: torch.Tensor, value: Any, failed: bool) -> None:
        if failed:
            value = self._stand_in(tensor) if tensor.is_floating_point() else FAILED
        elif value is None:
            value = UNKNOWN
        shape = None if value is UNKNOWN or value is FAILED else ops.shape_of(value.above if isinstance(value, Condition) else value)
        if shape is not None and shape != tuple(tensor.shape):
            raise NetworkError(f"At {layer}. It was read as a value of shape {shape} where torch has {tuple(tensor.shape)}.")
        if not isinstance(value, np.ndarray | np.generic) or self.memory.holds(tensor):
            self.memory.write(tensor, value)

    def _stand_in(self, tensor: torch.Tensor) -> Tensor:
        """Something computed of the same shape, after which the walk can go on to find what else cannot be embedded."""
        builder = self.lowering.builder
        return ops.select(builder, builder.input, lambda entries: np.full(tuple(tensor.shape), entries.flat[0]))


def _is_known(func: Any) -> bool:
    name = operator_name(func)
    return _known(name) is not None or name in REASONS or is_random(func) or bool(func.is_view)


def _known(name: str) -> Callable[..., Any] | None:
    return OPERATORS.get(name) or OPERATORS.get(name.removesuffix("_"))


def _decomposition(func: Any) -> Callable[..., Any] | None:
    """What torch makes of an operator in simpler ones; None if there are none."""
    # It takes seconds to import, and most models do without.
    from torch._decomp import decomposition_table

    return decomposition_table.get(func) or (func.decompose if func._can_decompose() else None)


def _find(func: Any) -> Callable[..., Any] | None:
    name = operator_name(func)
    if _known(name) is None and (name in REASONS or is_random(func)):
        return partial(refuse, REASONS.get(name, RANDOM))
    return _known(name)


def refuse(reason: str, builder: Any, *args: Any, **kwargs: Any) -> Any:
    """An operation that cannot be done, and why."""
    raise Unsupported(reason)


def _depends_on_data(layer: Layer) -> UnsupportedLayerError:
    return UnsupportedLayerError(
        f"At {layer}. The forward pass reads a number that depends on the input (a branch, a loop, .item() or .tolist()), so it is another "
        "function for other inputs. Accepted are branches by shapes and settings. Write what the branch does by torch.where with a constant "
        "condition, maximum, minimum or clamp, or pass the part of the model that does without."
    )


def _changed(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any) -> torch.Tensor | None:
    """The tensor that an operator writes its result to, None if it makes a new one."""
    schema = getattr(func, "_schema", None)
    if schema is None or not schema.is_mutable:
        return None
    results = pytree.tree_leaves(result)
    for index, argument in enumerate(schema.arguments):
        value = kwargs.get(argument.name, args[index] if index < len(args) else None)
        if argument.alias_info is not None and argument.alias_info.is_write and any(value is leaf for leaf in results):
            return value
    return None
