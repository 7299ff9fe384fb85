"""Keras models of every kind that goes in, for tests that loop over all of them.

Each entry builds the layers between an input and the output; `build` makes a model of them with random weights.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import layers, ops

from .models import build, functional

Table = dict[str, tuple[tuple[int, ...], Callable[[], list[Any]]]]


def adapted(shape, **options):
    layer = layers.Normalization(**options)
    layer.adapt(np.random.default_rng(0).normal(loc=2.0, scale=3.0, size=(50, *shape)))
    return layer


ACTIVATIONS = [
    "linear", "relu", "relu6", "leaky_relu", "elu", "selu", "celu", "gelu", "silu", "swish", "mish", "softplus", "softsign", "squareplus",
    "tanh", "sigmoid", "exponential", "log_sigmoid", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh", "soft_shrink", "tanh_shrink",
    "sparse_plus", "sparse_sigmoid", "softmax", "log_softmax", "glu",
]  # fmt: skip
CHAINS: Table = {
    **{f"Dense {name}": ((3,), lambda name=name: [layers.Dense(4, activation=name), layers.Dense(2)]) for name in ACTIVATIONS if name != "glu"},
    **{f"Activation {name}": ((4,), lambda name=name: [layers.Activation(name)]) for name in ACTIVATIONS},
    "Dense without bias": ((3,), lambda: [layers.Dense(4, use_bias=False)]),
    "Dense on steps": ((4, 3), lambda: [layers.Dense(2, activation="tanh")]),
    "Dense with a layer": ((3,), lambda: [layers.Dense(5, activation=layers.LeakyReLU(negative_slope=0.4))]),
    "EinsumDense": ((4, 3), lambda: [layers.EinsumDense("abc,cde->abde", output_shape=(None, 2, 5), bias_axes="de", activation="tanh")]),
    "EinsumDense ellipsis": ((4, 3), lambda: [layers.EinsumDense("...x,xy->...y", output_shape=5, bias_axes="y")]),
    "ReLU": ((4,), lambda: [layers.ReLU()]),
    "ReLU max": ((4,), lambda: [layers.ReLU(max_value=0.5)]),
    "ReLU slope": ((4,), lambda: [layers.ReLU(negative_slope=0.2)]),
    "ReLU max and slope": ((4,), lambda: [layers.ReLU(max_value=0.5, negative_slope=0.2)]),
    "LeakyReLU": ((4,), lambda: [layers.LeakyReLU(negative_slope=0.1)]),
    "PReLU": ((4,), lambda: [layers.PReLU()]),
    "PReLU shared": ((4, 3), lambda: [layers.PReLU(shared_axes=[1])]),
    "ELU": ((4,), lambda: [layers.ELU(alpha=0.5)]),
    "Softmax": ((4,), lambda: [layers.Softmax()]),
    "Softmax axis": ((4, 3), lambda: [layers.Softmax(axis=1)]),
    "Softmax axes": ((4, 3), lambda: [layers.Softmax(axis=(1, 2))]),
    "Conv1D": ((8, 3), lambda: [layers.Conv1D(4, 3, activation="relu"), layers.Conv1D(2, 2, strides=2, padding="same")]),
    "Conv1D causal": ((8, 3), lambda: [layers.Conv1D(4, 3, padding="causal", dilation_rate=2, activation="tanh")]),
    "Conv1D channels_first": ((3, 8), lambda: [layers.Conv1D(4, 3, data_format="channels_first", padding="same")]),
    "Conv2D": ((7, 6, 2), lambda: [layers.Conv2D(4, (3, 2), strides=(2, 1), activation="relu")]),
    "Conv2D same": ((7, 6, 2), lambda: [layers.Conv2D(4, 3, strides=2, padding="same"), layers.ReLU(), layers.Conv2D(3, 2, padding="same")]),
    "Conv2D dilated": ((9, 8, 2), lambda: [layers.Conv2D(4, 3, dilation_rate=(2, 1), padding="same", use_bias=False)]),
    "Conv2D groups": ((6, 6, 4), lambda: [layers.Conv2D(6, 3, groups=2)]),
    "Conv2D channels_first": ((2, 6, 6), lambda: [layers.Conv2D(4, 3, strides=2, padding="same", data_format="channels_first")]),
    "Conv3D": ((4, 5, 4, 2), lambda: [layers.Conv3D(3, 2, strides=(1, 2, 1), padding="same", activation="relu")]),
    "Conv3D channels_first": ((2, 4, 4, 4), lambda: [layers.Conv3D(3, 2, data_format="channels_first")]),
    "DepthwiseConv1D": ((8, 3), lambda: [layers.DepthwiseConv1D(3, depth_multiplier=2, padding="same", activation="tanh")]),
    "DepthwiseConv2D": ((6, 7, 3), lambda: [layers.DepthwiseConv2D(3, strides=2, depth_multiplier=2, padding="same")]),
    "SeparableConv1D": ((8, 3), lambda: [layers.SeparableConv1D(4, 3, depth_multiplier=2, padding="same", activation="relu")]),
    "SeparableConv2D": ((6, 7, 3), lambda: [layers.SeparableConv2D(4, 3, strides=2)]),
    "Conv1DTranspose": ((5, 3), lambda: [layers.Conv1DTranspose(4, 3, strides=2, padding="same", activation="relu")]),
    "Conv1DTranspose valid": ((5, 3), lambda: [layers.Conv1DTranspose(4, 2, strides=3)]),
    "Conv2DTranspose": ((4, 3, 2), lambda: [layers.Conv2DTranspose(3, (3, 4), strides=2, padding="same")]),
    "Conv2DTranspose more": ((4, 3, 2), lambda: [layers.Conv2DTranspose(3, 3, strides=2, padding="same", output_padding=1)]),
    "Conv2DTranspose dilated": ((4, 3, 2), lambda: [layers.Conv2DTranspose(3, 3, dilation_rate=2, use_bias=False)]),
    "Conv2DTranspose channels_first": ((2, 4, 3), lambda: [layers.Conv2DTranspose(3, 3, strides=2, data_format="channels_first")]),
    "Conv3DTranspose": ((3, 2, 2, 2), lambda: [layers.Conv3DTranspose(2, 2, strides=2, padding="same")]),
    "MaxPooling1D": ((7, 3), lambda: [layers.MaxPooling1D(2)]),
    "MaxPooling1D same": ((7, 3), lambda: [layers.MaxPooling1D(3, strides=2, padding="same")]),
    "MaxPooling2D": ((6, 7, 2), lambda: [layers.MaxPooling2D((2, 3), strides=(2, 2))]),
    "MaxPooling2D channels_first": ((2, 6, 7), lambda: [layers.MaxPooling2D(2, padding="same", data_format="channels_first")]),
    "MaxPooling3D": ((4, 4, 4, 2), lambda: [layers.MaxPooling3D(2)]),
    "AveragePooling1D": ((7, 3), lambda: [layers.AveragePooling1D(2)]),
    "AveragePooling1D same": ((7, 3), lambda: [layers.AveragePooling1D(3, strides=2, padding="same")]),
    "AveragePooling1D same, uneven": ((7, 3), lambda: [layers.AveragePooling1D(2, strides=2, padding="same")]),
    "AveragePooling2D": ((6, 7, 2), lambda: [layers.AveragePooling2D((2, 3), strides=(2, 2))]),
    "AveragePooling2D same": ((6, 7, 2), lambda: [layers.AveragePooling2D(3, padding="same")]),
    "AveragePooling3D": ((4, 4, 4, 2), lambda: [layers.AveragePooling3D(2)]),
    "GlobalMaxPooling1D": ((5, 3), lambda: [layers.GlobalMaxPooling1D()]),
    "GlobalMaxPooling2D": ((4, 3, 2), lambda: [layers.GlobalMaxPooling2D(keepdims=True)]),
    "GlobalMaxPooling3D": ((2, 3, 2, 2), lambda: [layers.GlobalMaxPooling3D(data_format="channels_first")]),
    "GlobalAveragePooling1D": ((5, 3), lambda: [layers.GlobalAveragePooling1D()]),
    "GlobalAveragePooling2D": ((4, 3, 2), lambda: [layers.GlobalAveragePooling2D(data_format="channels_first")]),
    "GlobalAveragePooling3D": ((2, 3, 2, 2), lambda: [layers.GlobalAveragePooling3D(keepdims=True)]),
    "AdaptiveMaxPooling1D": ((7, 3), lambda: [layers.AdaptiveMaxPooling1D(3)]),
    "AdaptiveMaxPooling2D": ((7, 5, 3), lambda: [layers.AdaptiveMaxPooling2D((3, 2))]),
    "AdaptiveMaxPooling3D": ((4, 3, 4, 2), lambda: [layers.AdaptiveMaxPooling3D(2)]),
    "AdaptiveAveragePooling1D": ((7, 3), lambda: [layers.AdaptiveAveragePooling1D(3)]),
    "AdaptiveAveragePooling2D": ((7, 5, 3), lambda: [layers.AdaptiveAveragePooling2D((3, 2))]),
    "AdaptiveAveragePooling3D": ((4, 3, 4, 2), lambda: [layers.AdaptiveAveragePooling3D(2)]),
    "BatchNormalization": ((4,), lambda: [layers.BatchNormalization()]),
    "BatchNormalization bare": ((4,), lambda: [layers.BatchNormalization(center=False, scale=False, epsilon=0.1)]),
    "BatchNormalization axis": ((4, 3), lambda: [layers.BatchNormalization(axis=1)]),
    "BatchNormalization images": ((4, 3, 2), lambda: [layers.Conv2D(3, 2), layers.BatchNormalization(), layers.ReLU()]),
    "LayerNormalization": ((4,), lambda: [layers.LayerNormalization(epsilon=1e-3)]),
    "LayerNormalization axes": ((4, 3), lambda: [layers.LayerNormalization(axis=[1, 2], center=False)]),
    "LayerNormalization bare": ((4, 3), lambda: [layers.LayerNormalization(axis=-1, scale=False, center=False, epsilon=0.1)]),
    "GroupNormalization": ((4, 6), lambda: [layers.GroupNormalization(groups=3)]),
    "GroupNormalization axis": ((4, 3, 2), lambda: [layers.GroupNormalization(groups=2, axis=1)]),
    "GroupNormalization instances": ((4, 3), lambda: [layers.GroupNormalization(groups=-1)]),
    "RMSNormalization": ((4,), lambda: [layers.RMSNormalization()]),
    "UnitNormalization": ((4,), lambda: [layers.UnitNormalization()]),
    "SpectralNormalization": ((4,), lambda: [layers.SpectralNormalization(layers.Dense(3, activation="relu"))]),
    "Normalization": ((4,), lambda: [adapted((4,))]),
    "Normalization axis": ((3, 4), lambda: [adapted((3, 4), axis=1)]),
    "Normalization of all": ((3, 4), lambda: [adapted((3, 4), axis=None)]),
    "Normalization inverse": ((4,), lambda: [adapted((4,), invert=True)]),
    "Normalization given": ((4,), lambda: [layers.Normalization(mean=[1.0, 2.0, 3.0, 4.0], variance=[1.0, 4.0, 9.0, 0.5])]),
    "Rescaling": ((4,), lambda: [layers.Rescaling(0.5, offset=-1.0)]),
    "Rescaling list": ((2, 3), lambda: [layers.Rescaling([0.5, 2.0, 3.0], offset=[0.0, 1.0, -1.0])]),
    "Flatten": ((4, 3), lambda: [layers.Flatten()]),
    "Flatten channels_first": ((2, 3, 2), lambda: [layers.Flatten(data_format="channels_first")]),
    "Reshape": ((4,), lambda: [layers.Reshape((2, -1)), layers.Dense(3, activation="relu")]),
    "Permute": ((2, 3, 4), lambda: [layers.Permute((3, 1, 2))]),
    "RepeatVector": ((4,), lambda: [layers.RepeatVector(3), layers.Conv1D(2, 2)]),
    "ZeroPadding1D": ((4, 2), lambda: [layers.ZeroPadding1D((1, 2))]),
    "ZeroPadding2D": ((4, 3, 2), lambda: [layers.ZeroPadding2D(((1, 0), (2, 3)))]),
    "ZeroPadding3D": ((2, 2, 2, 2), lambda: [layers.ZeroPadding3D(1)]),
    "Cropping1D": ((5, 2), lambda: [layers.Cropping1D((1, 2))]),
    "Cropping2D": ((5, 4, 2), lambda: [layers.Cropping2D(((1, 0), (1, 2)))]),
    "Cropping3D": ((4, 4, 4, 1), lambda: [layers.Cropping3D(1)]),
    "UpSampling1D": ((3, 2), lambda: [layers.UpSampling1D(2)]),
    "UpSampling2D": ((3, 2, 2), lambda: [layers.UpSampling2D((2, 3))]),
    "UpSampling2D bilinear": ((3, 4, 2), lambda: [layers.UpSampling2D(2, interpolation="bilinear")]),
    "UpSampling2D channels_first": ((2, 3, 2), lambda: [layers.UpSampling2D(2, data_format="channels_first")]),
    "UpSampling3D": ((2, 2, 2, 1), lambda: [layers.UpSampling3D(2)]),
    "Resizing": ((5, 4, 2), lambda: [layers.Resizing(7, 3)]),
    "Dropout": ((4,), lambda: [layers.Dropout(0.5), layers.GaussianDropout(0.5), layers.GaussianNoise(1.0), layers.AlphaDropout(0.5)]),
    "SpatialDropout1D": ((4, 2), lambda: [layers.SpatialDropout1D(0.5)]),
    "SpatialDropout2D": ((4, 2, 1), lambda: [layers.SpatialDropout2D(0.5)]),
    "SpatialDropout3D": ((4, 2, 1, 1), lambda: [layers.SpatialDropout3D(0.5)]),
    "ActivityRegularization": ((4,), lambda: [layers.ActivityRegularization(l2=0.1)]),
    "Identity": ((4,), lambda: [layers.Identity()]),
    "augmentation": ((4, 4, 3), lambda: [layers.RandomFlip(), layers.RandomRotation(0.1), layers.RandomZoom(0.1), layers.RandomContrast(0.2)]),
    "TimeDistributed": ((4, 3), lambda: [layers.TimeDistributed(layers.Dense(2, activation="relu"))]),
    "TimeDistributed images": ((2, 4, 4, 1), lambda: [layers.TimeDistributed(layers.Conv2D(2, 3)), layers.TimeDistributed(layers.Flatten())]),
    "nested": (
        (4,),
        lambda: [keras.Sequential([keras.Input((4,)), layers.Dense(3, activation="relu"), keras.Sequential([keras.Input((3,)), layers.Dense(4)])])],
    ),
}  # fmt: skip


def _numbers(*shape):
    return np.random.default_rng(5).normal(size=shape).astype(keras.config.floatx())


def _shared(x):
    inner_input = keras.Input((3,))
    inner = keras.Model(inner_input, inner_input + layers.Dense(3, activation="relu")(inner_input))
    return inner(inner(x))


def _several(x):
    """A nested model with two inputs and two outputs, called with a list."""
    a, b = keras.Input((3,)), keras.Input((2,))
    inner = keras.Model([a, b], [layers.Dense(2, activation="tanh")(a), layers.Concatenate()([a, b])])
    one, two = inner([x, layers.Dense(2)(x)])
    return layers.Concatenate()([two, one])


def _attention(x):
    return layers.MultiHeadAttention(num_heads=2, key_dim=3)(x, x)


FUNCTIONAL: dict[str, tuple[tuple[tuple[int, ...], ...], Callable[..., Any]]] = {
    "Add": (((3,), (3,)), lambda x, y: layers.Add()([x, layers.ReLU()(y), y])),
    "Add broadcast": (((4, 3), (3,)), lambda x, y: layers.Add()([x, y])),
    "Subtract": (((3,), (3,)), lambda x, y: layers.Subtract()([x, y])),
    "Multiply": (((3,), (3,)), lambda x, y: layers.Multiply()([x, y])),
    "Average": (((3,), (3,)), lambda x, y: layers.Average()([x, y])),
    "Maximum": (((3,), (3,)), lambda x, y: layers.Maximum()([x, y])),
    "Minimum": (((3,), (3,)), lambda x, y: layers.Minimum()([x, y])),
    "Concatenate": (((3, 2), (3, 4)), lambda x, y: layers.Concatenate()([x, y])),
    "Concatenate axis": (((3, 2), (4, 2)), lambda x, y: layers.Concatenate(axis=1)([x, y])),
    "Dot": (((3, 2), (3, 4)), lambda x, y: layers.Dot(axes=(1, 1))([x, y])),
    "Dot normalized": (((3,), (3,)), lambda x, y: layers.Dot(axes=1, normalize=True)([x + 5.0, y + 4.0])),
    "Attention": (((3, 2), (4, 2)), lambda x, y: layers.Attention(use_scale=True)([x, y])),
    "AdditiveAttention": (((3, 2), (4, 2)), lambda x, y: layers.AdditiveAttention()([x, y])),
    "MultiHeadAttention": (((3, 4),), _attention),
    "MultiHeadAttention causal": (((3, 4),), lambda x: layers.MultiHeadAttention(num_heads=2, key_dim=3)(x, x, use_causal_mask=True)),
    "GroupQueryAttention": (((3, 4),), lambda x: layers.GroupQueryAttention(3, 4, 2)(x, x)),
    "shared": (((3,),), _shared),
    "several": (((3,),), _several),
    "residual": (((3,),), lambda x: layers.Dense(3)(layers.Dense(5, activation="gelu")(x)) + x),
    "+ - * /": (((3,), (3,)), lambda x, y: (x + y) * 0.5 - y / 4.0 + 1.0 - (2.0 - x)),
    "computed product": (((3,), (3,)), lambda x, y: x * y),
    "computed quotient": (((3,), (3,)), lambda x, y: x / (1.0 + ops.square(y))),
    "** abs neg": (((3,),), lambda x: abs(-x) + x**2),
    "matmul": (((3,),), lambda x: x @ _numbers(3, 4)),
    "matmul of two": (((2, 3), (3, 2)), lambda x, y: ops.matmul(x, y)),
    "getitem": (((4, 3),), lambda x: x[:, 1:3, ::2]),
    "getitem one": (((4, 3),), lambda x: x[:, -1]),
    "getitem new axis": (((4,),), lambda x: x[:, None, 1:]),
    "constant": (((3,),), lambda x: x * ops.convert_to_tensor(_numbers(3))),
    "activations with arguments": (((3,),), lambda x: keras.activations.relu(x, negative_slope=0.1, max_value=2.0) + keras.activations.gelu(x, approximate=True)),
    "threshold": (((3,),), lambda x: keras.activations.threshold(x, 0.5, 0.5)),
    "celu elu leaky": (((3,),), lambda x: ops.celu(x, 0.5) + ops.elu(x, 0.3) + ops.leaky_relu(x, 0.3) + ops.soft_shrink(x, 0.2)),
    "ops activations": (((3,),), lambda x: sum(getattr(ops, n)(x) for n in ("relu", "relu6", "gelu", "hard_sigmoid", "hard_tanh", "log_sigmoid", "selu", "sigmoid", "silu", "softplus", "softsign", "tanh", "tanh_shrink", "hard_silu"))),
    "ops functions": (((3,),), lambda x: ops.exp(x * 0.1) + ops.expm1(x * 0.1) + ops.sin(x) + ops.cos(x) + ops.arctan(x) + ops.erf(x) + ops.square(x) + ops.abs(x) + ops.negative(x)),
    "logs and roots": (((3,),), lambda x: ops.log(1.0 + ops.square(x)) + ops.sqrt(ops.square(x) + 1.0) + ops.rsqrt(ops.square(x) + 2.0) + ops.log1p(ops.exp(x))),
    "log_sum_exp": (((4,),), lambda x: ops.logsumexp(x, axis=-1, keepdims=True)),
    "clip": (((3,),), lambda x: ops.clip(x, -0.5, 0.7)),
    "maximum": (((3,),), lambda x: ops.maximum(x, 0.2) + ops.minimum(x, -x)),
    "sum mean": (((4, 3),), lambda x: ops.sum(x, axis=1) + ops.mean(x, axis=1)),
    "max min": (((4, 3),), lambda x: ops.max(x, axis=1) - ops.min(x, axis=1) + ops.amax(x, axis=1)),
    "prod": (((3, 2),), lambda x: ops.prod(x, axis=1)),
    "var std": (((4, 3),), lambda x: ops.var(x, axis=1) + ops.std(x + ops.convert_to_tensor(_numbers(4, 3)) * 10, axis=1)),
    "norm": (((4,),), lambda x: ops.norm(x, ord=1, axis=-1, keepdims=True)),
    "normalize": (((4,),), lambda x: ops.normalize(x, axis=-1)),
    "einsum": (((2, 3), (3, 2)), lambda x, y: ops.einsum("bij,bjk->bik", x, y)),
    "tensordot": (((2, 3),), lambda x: ops.tensordot(x, _numbers(3, 4), axes=1)),
    "concatenate": (((3,), (2,)), lambda x, y: ops.concatenate([x, y], axis=-1)),
    "stack unstack": (((3,), (3,)), lambda x, y: ops.unstack(ops.stack([x, y], axis=1), axis=1)[1] - x),
    "split": (((6,),), lambda x: ops.split(x, 3, axis=1)[0] * ops.split(x, [2, 4], axis=1)[1]),
    "reshape transpose": (((4, 3),), lambda x: ops.transpose(ops.reshape(x, (-1, 2, 6)), (0, 2, 1))),
    "axes": (((4, 3),), lambda x: ops.squeeze(ops.expand_dims(ops.moveaxis(ops.swapaxes(x, 1, 2), 1, 2), 1), 1)),
    "take": (((4, 3),), lambda x: ops.take(x, np.array([2, 0]), axis=1)),
    "flip roll repeat tile": (((3,),), lambda x: ops.tile(ops.repeat(ops.roll(ops.flip(x, 1), 1, 1), 2, 1), (1, 2))),
    "pad": (((3, 2),), lambda x: ops.pad(x, ((0, 0), (1, 2), (0, 1)))),
    "pad reflect": (((4, 2),), lambda x: ops.pad(x, ((0, 0), (1, 2), (0, 0)), mode="reflect")),
    "cumsum diff": (((4,),), lambda x: ops.cumsum(x, axis=1)[:, 1:] + ops.diff(x, axis=1)),
    "where": (((3,),), lambda x: ops.where(np.array([True, False, True]), x, ops.relu(x))),
    "conv": (((6, 6, 2),), lambda x: ops.conv(x, _numbers(3, 3, 2, 4), strides=2, padding="same")),
    "pool": (((6, 6, 2),), lambda x: ops.max_pool(x, 2) + ops.average_pool(x, 2)),
    "softmax": (((4, 3),), lambda x: ops.softmax(x, axis=1) + ops.log_softmax(x, axis=-1)),
    "layer norm": (((4,),), lambda x: ops.layer_normalization(x, axis=-1, gamma=_numbers(4), beta=_numbers(4), epsilon=1e-3)),
    "moments": (((4, 3),), lambda x: ops.moments(x, axes=[1])[0] + ops.moments(x, axes=[1])[1]),
    "own activation": (((3,),), lambda x: layers.Dense(4, activation=_own)(x)),
    "Lambda": (((3,),), lambda x: layers.Lambda(lambda z: ops.tanh(z) * 2.0)(x)),
    "two outputs": (((3,),), lambda x: [layers.Dense(2, activation="tanh")(x), layers.Dense(3)(x)]),
    "named outputs": (((3,),), lambda x: {"b": layers.Dense(2, activation="tanh")(x), "a": layers.Dense(3)(x)}),
}  # fmt: skip


def _own(x):
    return ops.relu(x) ** 2 + 0.1 * x


# What cannot go into a file: code that is not Keras' own.
LIVE_ONLY = ("own activation", "Lambda")
# Where the torch backend of Keras is not exact in float64: torch takes x for log(1 + exp(x)) above 20.
SINGLE_ONLY = ("Activation softplus",)


def build_named(name):
    """A model of one of the tables."""
    if name in CHAINS:
        shape, stack = CHAINS[name]
        return build(shape, stack())
    shapes, graph = FUNCTIONAL[name]
    return functional(graph, *shapes)


NAMES = (*CHAINS, *FUNCTIONAL)
assert {*LIVE_ONLY, *SINGLE_ONLY} <= set(NAMES)
