"""The operators of torch (aten) that can be embedded, by their names without overload.

An operator that is not here is written out in simpler ones by torch itself (`recording/recorder.py`), so that only those are here that would
lose by it. The parameters of a handler are those of the operator in their order; which overload is meant is seen from the arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dcembed.importers.advice import PAGE
from dcembed.importers.torch_.aten.attention import ATTENTION
from dcembed.importers.torch_.aten.conditions import CONDITIONS
from dcembed.importers.torch_.aten.entries import ENTRIES
from dcembed.importers.torch_.aten.functions import FUNCTIONS
from dcembed.importers.torch_.aten.layers import LAYERS
from dcembed.importers.torch_.aten.normalization import NORMALIZATIONS
from dcembed.importers.torch_.aten.order import ORDER
from dcembed.importers.torch_.aten.products import PRODUCTS
from dcembed.importers.torch_.aten.reasons import REASONS
from dcembed.importers.torch_.aten.reductions import REDUCTIONS
from dcembed.importers.torch_.aten.resizing import RESIZING
from dcembed.importers.torch_.aten.windows import WINDOWS

__all__ = ["ACCEPTED", "OPERATORS", "REASONS"]

OPERATORS: dict[str, Callable[..., Any]] = {
    **ATTENTION,
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

ACCEPTED = f"the layers and functions {PAGE}, {len(OPERATORS)} operators of torch in all"
