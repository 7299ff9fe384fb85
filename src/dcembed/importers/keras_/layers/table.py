"""All layers of Keras that are known, by class."""

from __future__ import annotations

from dcembed.importers.advice import PAGE
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

ACCEPTED = f"the layers and functions {PAGE}, {len(LAYERS) + len(FOLLOWED)} layers of Keras in all"
