"""The operators of torch (aten) that can be embedded, by their names without overload.

An operator that is not here is written out in simpler ones by torch itself (`torch_decomposition`), so that only those are here that would
lose by it. The parameters of a handler are those of the operator in their order; which overload is meant is seen from the arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dcembed.importers.aten.conditions import CONDITIONS
from dcembed.importers.aten.entries import ENTRIES
from dcembed.importers.aten.functions import FUNCTIONS
from dcembed.importers.aten.layers import LAYERS
from dcembed.importers.aten.normalization import NORMALIZATIONS
from dcembed.importers.aten.order import ORDER
from dcembed.importers.aten.products import PRODUCTS
from dcembed.importers.aten.reasons import REASONS
from dcembed.importers.aten.reductions import REDUCTIONS
from dcembed.importers.aten.resizing import RESIZING
from dcembed.importers.aten.windows import WINDOWS

__all__ = ["OPERATORS", "REASONS"]

OPERATORS: dict[str, Callable[..., Any]] = {
    **ENTRIES,
    **FUNCTIONS,
    **LAYERS,
    **NORMALIZATIONS,
    **PRODUCTS,
    **REDUCTIONS,
    **RESIZING,
    **CONDITIONS,
    **WINDOWS,
    **ORDER,
}
