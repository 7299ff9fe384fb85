"""Which operators of torch a file may ask for: those that compute something from their arguments and do nothing else.

Torch has operators that open files (`aten::from_file`, `aten::save`), and kernels that trust their arguments and read memory that is not
theirs if these are wrong. So an operator in a file is accepted only if it is one of those that can be lowered, or if torch itself says how it
is made of simpler ones and it is not known to trust its arguments; one that takes text is accepted for a few words only. What is accepted and
trusts the sizes of its arguments still is looked at when it runs (`recording.trust`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from dcembed.importers.torch_.aten import OPERATORS, REASONS


@dataclass(frozen=True)
class Refused:
    """Stands in a graph for an operator that is not accepted."""

    __name__: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Nothing: it is never run."""
        raise NotImplementedError(self.__name__)


# Words in the schemas of operators that compute: how to round, to pad, to approximate.
_WORDS = frozenset(
    [
        "approximate",
        "compute_mode",
        "driver",
        "equation",
        "indexing",
        "interpolation",
        "mode",
        "norm",
        "padding",
        "pad_mode",
        "reduce",
        "rounding_mode",
        "side",
        "UPLO",
    ]
)
# They make constants.
_MAKERS = frozenset(
    {"arange", "empty", "eye", "full", "linspace", "ones", "scalar_tensor", "sym_size", "tril_indices", "triu_indices", "zeros", "item"}
)
# Kernels that do not look at the indices and sizes they are given, and those that are for other machinery of torch: gradients, vmap, tests,
# quantized weights. No forward pass calls them by these names.
_TRUSTING = re.compile(
    r".*_backward.*|_?sparse_.*tensor.*|_sobol_.*|fbgemm_.*|quantized_.*|_wrapped_.*|_test_.*|_?ctc_loss|_unsafe_masked_.*|max_unpool.*"
    r"|(linalg_)?lu_solve|linalg_ldl_solve|_(add|remove)_batch_dim|_rowwise_prune|choose_qparams.*|fused_moving_avg.*|as_strided_|resize_as_?"
    r"|_saturate_weight.*|_unpack_dual|get_gradients|pin_memory"
)


@cache
def _known_names() -> frozenset[str]:
    from torch._decomp import decomposition_table

    known = {str(target._schema.name.partition("::")[2]) for target in decomposition_table if isinstance(target, torch._ops.OpOverload)}
    return frozenset(known | _own_names())


@cache
def _own_names() -> frozenset[str]:
    """Those that we have read ourselves."""
    return frozenset({*OPERATORS, *REASONS, *_MAKERS})


@cache
def is_allowed(name: str) -> bool:
    """Whether the operators of this name may be run; with an underscore they change a value of the graph in place."""
    if _TRUSTING.fullmatch(name) and name not in _own_names():
        return False
    overloads = _overloads(name)
    known = name in _known_names() or name.removesuffix("_") in _known_names() or name.startswith("linalg_")
    if not overloads or not (known or all(map(_is_composed, overloads))):
        return False
    return all(argument.name in _WORDS or str(argument.type) not in ("str", "Optional[str]") for argument in _arguments(overloads))


def _is_composed(overload: Any) -> bool:
    """Whether torch makes tensors by it out of what other operators give."""
    made = [str(result.type) for result in overload._schema.returns]
    return "out" in overload._overloadname or (bool(made) and all("Tensor" in kind for kind in made) and overload._can_decompose())


def _overloads(name: str) -> list[Any]:
    """Those that compute with tensors; others are for TorchScript alone, and some of them open files."""
    packet: Any = getattr(torch.ops.aten, name, None)
    found = [getattr(packet, overload) for overload in packet.overloads()] if hasattr(packet, "overloads") else []
    return [overload for overload in found if torch._C._dispatch_has_kernel(overload.name())]


def _arguments(overloads: list[Any]) -> list[Any]:
    """Overloads for plain text are for TorchScript alone."""
    return [argument for overload in overloads if "str" not in overload._overloadname for argument in overload._schema.arguments]


def find_operator(target: str) -> Any:
    """The operator that a file calls "torch.ops.aten.relu.default"."""
    parts = target.split(".")
    if len(parts) == 5 and parts[:2] == ["torch", "ops"] and parts[2] in ("aten", "prims") and is_allowed(parts[3]):
        found = getattr(getattr(getattr(torch.ops, parts[2]), parts[3], None), parts[4], None)
        if isinstance(found, torch._ops.OpOverload) and torch._C._dispatch_has_kernel(found.name()):
            return found
    return Refused(target.removeprefix("torch.ops."))
