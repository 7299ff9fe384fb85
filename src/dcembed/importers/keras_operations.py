"""Operations of keras.ops, as x + y, keras.ops.relu(x) and the like leave them in a functional model.

Keras has no public names for their classes: they are known by the name of their module and their own.
"""

from __future__ import annotations

from dcembed.importers.keras_functions import ACTIVATIONS, ELEMENTWISE
from dcembed.importers.keras_handlers import Handler
from dcembed.importers.keras_products import PRODUCTS, REDUCTIONS
from dcembed.importers.keras_rearrangements import REARRANGEMENTS
from dcembed.importers.keras_windows import WINDOWS

OPERATIONS: dict[str, Handler] = {
    f"keras.src.{'activations.' if name.startswith('activations.') else 'ops.'}{name}": handler
    for name, handler in {**ELEMENTWISE, **ACTIVATIONS, **REDUCTIONS, **PRODUCTS, **REARRANGEMENTS, **WINDOWS}.items()
}
