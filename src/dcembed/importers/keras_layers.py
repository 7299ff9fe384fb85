"""All layers of Keras that are known, by class."""

from __future__ import annotations

import re

from dcembed.importers import (
    keras_activations,
    keras_convolutions,
    keras_dense,
    keras_merging,
    keras_normalizations,
    keras_pooling,
    keras_shapes,
)
from dcembed.importers.keras_backend import keras
from dcembed.importers.keras_handlers import Handler

LAYERS: dict[type, Handler] = {
    **keras_dense.LAYERS,
    **keras_convolutions.LAYERS,
    **keras_pooling.LAYERS,
    **keras_activations.LAYERS,
    **keras_normalizations.LAYERS,
    **keras_shapes.LAYERS,
    **keras_merging.LAYERS,
}

# Layers that Keras writes in operations of its own: what those do is followed.
FOLLOWED: tuple[type, ...] = tuple(
    getattr(keras.layers, name)
    for name in ("Dot", "Attention", "AdditiveAttention", "MultiHeadAttention", "GroupQueryAttention")
    if hasattr(keras.layers, name)
)

# For messages: ND stands for 1D, 2D and 3D.
_NAMES = {re.sub(r"[123]D", "ND", kind.__name__) for kind in (*LAYERS, *FOLLOWED) if not kind.__name__.startswith("Random")}
ACCEPTED = f"{', '.join(sorted(_NAMES))} (activations: {', '.join(keras_activations.FUNCTIONS)})"
