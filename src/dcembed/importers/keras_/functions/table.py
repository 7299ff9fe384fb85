"""Operations of keras.ops, as x + y, keras.ops.relu(x) and the like leave them in a functional model.

Keras has no public names for their classes: they are known by the name of their module and their own.
"""

from __future__ import annotations

from dcembed.importers.keras_.functions.entrywise import ACTIVATIONS, ELEMENTWISE
from dcembed.importers.keras_.functions.products import PRODUCTS, REDUCTIONS
from dcembed.importers.keras_.functions.rearrangements import REARRANGEMENTS
from dcembed.importers.keras_.functions.windows import WINDOWS
from dcembed.importers.keras_.handlers import Handler

OPERATIONS: dict[str, Handler] = {
    f"keras.src.{'activations.' if name.startswith('activations.') else 'ops.'}{name}": handler
    for name, handler in {**ELEMENTWISE, **ACTIVATIONS, **REDUCTIONS, **PRODUCTS, **REARRANGEMENTS, **WINDOWS}.items()
}
