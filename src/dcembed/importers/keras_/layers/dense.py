"""Dense layers of Keras, and those that look something up."""

from __future__ import annotations

from typing import Any

from dcembed.importers import operations as ops
from dcembed.importers.keras_.backend import as_array, keras
from dcembed.importers.keras_.handlers import Handler, Walk
from dcembed.importers.keras_.layers.activations import refuse_activation
from dcembed.importers.operations import Unsupported, Value

layers = keras.layers


def refuse_quantized(layer: Any) -> None:
    """Raise Unsupported if the weights or values of a layer are rounded."""
    if getattr(layer, "quantization_mode", None):
        raise Unsupported(f"is quantized to {layer.quantization_mode}, which rounds; load the model before it was quantized")


def _dense(walk: Walk, layer: Any, value: Value) -> Value:
    refuse_quantized(layer)
    refuse_activation(layer)
    builder = walk.builder
    product = ops.matmul(builder, value, as_array(layer.kernel))
    return walk.activate(layer.activation, ops.add(builder, product, as_array(layer.bias)) if layer.use_bias else product)


def _einsum_dense(walk: Walk, layer: Any, value: Value) -> Value:
    refuse_quantized(layer)
    refuse_activation(layer)
    builder = walk.builder
    product = ops.einsum(builder, layer.equation, value, as_array(layer.kernel))
    return walk.activate(layer.activation, product if layer.bias is None else ops.add(builder, product, as_array(layer.bias)))


def _embedding(walk: Walk, layer: Any, value: Value) -> Value:
    refuse_quantized(layer)
    return ops.embedding(walk.builder, value, as_array(layer.embeddings))


LAYERS: dict[type, Handler] = {
    layers.Dense: _dense,
    layers.EinsumDense: _einsum_dense,
    layers.Embedding: _embedding,
}
