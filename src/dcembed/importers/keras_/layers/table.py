"""All layers of Keras that are known, by class."""

from __future__ import annotations

import re

from dcembed.importers.keras_.backend import keras
from dcembed.importers.keras_.handlers import Handler
from dcembed.importers.keras_.layers import activations, convolutions, dense, merging, normalizations, pooling, shapes

LAYERS: dict[type, Handler] = {
    **dense.LAYERS,
    **convolutions.LAYERS,
    **pooling.LAYERS,
    **activations.LAYERS,
    **normalizations.LAYERS,
    **shapes.LAYERS,
    **merging.LAYERS,
}

# Layers that Keras writes in operations of its own: what those do is followed.
FOLLOWED: tuple[type, ...] = tuple(
    getattr(keras.layers, name)
    for name in ("Dot", "Attention", "AdditiveAttention", "MultiHeadAttention", "GroupQueryAttention")
    if hasattr(keras.layers, name)
)

# For messages: ND stands for 1D, 2D and 3D.
_NAMES = {re.sub(r"[123]D", "ND", kind.__name__) for kind in (*LAYERS, *FOLLOWED) if not kind.__name__.startswith("Random")}
ACCEPTED = f"{', '.join(sorted(_NAMES))} (activations: {', '.join(activations.FUNCTIONS)})"
