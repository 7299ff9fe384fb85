"""Operations of keras.ops entry by entry: arithmetic, functions, activations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dcembed.importers import operations as ops
from dcembed.importers.keras_.handlers import Handler, Walk, of_two
from dcembed.importers.keras_.layers.activations import relu, softmax, sparse_plus, squareplus
from dcembed.importers.operations import Unsupported, Value
from dcembed.network.activations import find_activation
from dcembed.network.builder import NetworkBuilder


def _one(function: Callable[..., Value], *names: str) -> Handler:
    """A function of one value; `names` are attributes of the operation that go with it."""
    return lambda walk, operation, value: function(walk.builder, value, *(getattr(operation, name) for name in names))


def _table(name: str) -> Handler:
    return lambda walk, operation, value: ops.activate(walk.builder, value, find_activation(name))


def _relu(walk: Walk, operation: Any, value: Value) -> Value:
    limit = None if operation.max_value is None else float(operation.max_value)
    return relu(walk.builder, value, float(operation.negative_slope), limit, float(operation.threshold))


def _arctan(builder: NetworkBuilder, value: Value) -> Value:
    return ops.activate(builder, value, find_activation("arctan"))


def _log_add_exp(builder: NetworkBuilder, left: Value, right: Value) -> Value:
    """log(exp(left) + exp(right)) = right + softplus(left - right)."""
    return ops.add(builder, right, ops.softplus(builder, ops.subtract(builder, left, right)))


def _hypotenuse(builder: NetworkBuilder, left: Value, right: Value) -> Value:
    return ops.sqrt(builder, ops.add(builder, ops.square(builder, left), ops.square(builder, right)))


def _same(walk: Walk, operation: Any, value: Value) -> Value:
    return value


def _cast(walk: Walk, operation: Any, value: Value) -> Value:
    kind = str(operation.dtype)
    if not isinstance(value, np.ndarray) and "float" not in kind:
        raise Unsupported(f"casts to {kind}, which rounds; cast to a float type")
    return value if not isinstance(value, np.ndarray) or kind == "bfloat16" else value.astype(kind)


def _fold(function: Callable[..., Any], what: str) -> Handler:
    """A function that jumps: of constants alone."""

    def handler(walk: Walk, operation: Any, *values: Any) -> Any:
        return np.asarray(function(*(ops.as_constant(value, what) for value in values)))

    return handler


def _like(number: float) -> Handler:
    return lambda walk, operation, value: np.full(ops.shape_of(value), number)


ELEMENTWISE: dict[str, Handler] = {
    "numpy.Add": of_two(ops.add),
    "numpy.Subtract": of_two(ops.subtract),
    "numpy.Multiply": of_two(ops.multiply),
    "numpy.Divide": of_two(ops.divide),
    "numpy.TrueDivide": of_two(ops.divide),
    "numpy.Power": of_two(ops.power),
    "numpy.Maximum": of_two(ops.maximum),
    "numpy.Minimum": of_two(ops.minimum),
    "numpy.Fmax": of_two(ops.maximum),
    "numpy.Fmin": of_two(ops.minimum),
    "numpy.Logaddexp": of_two(_log_add_exp),
    "numpy.Hypot": of_two(_hypotenuse),
    "numpy.Negative": _one(ops.negate),
    "numpy.Abs": _one(ops.absolute),
    "numpy.Absolute": _one(ops.absolute),
    "numpy.Fabs": _one(ops.absolute),
    "numpy.Clip": _one(ops.clip, "x_min", "x_max"),
    "numpy.Square": _one(ops.square),
    "numpy.Sqrt": _one(ops.sqrt),
    "numpy.Reciprocal": _one(ops.reciprocal),
    "numpy.Exp": _one(ops.exp),
    "numpy.Exp2": _one(lambda builder, value: ops.exp(builder, ops.scale(builder, value, float(np.log(2.0))))),
    "numpy.Expm1": _one(ops.expm1),
    "numpy.Log": _one(ops.log),
    "numpy.Log1p": _one(ops.log1p),
    "numpy.Log2": _one(lambda builder, value: ops.log_of_base(builder, value, 2.0)),
    "numpy.Log10": _one(lambda builder, value: ops.log_of_base(builder, value, 10.0)),
    "numpy.Sin": _table("sin"),
    "numpy.Cos": _one(ops.cos),
    "numpy.Sinh": _one(ops.sinh),
    "numpy.Cosh": _one(ops.cosh),
    "numpy.Tanh": _one(ops.tanh),
    "numpy.Arctan": _one(_arctan),
    "numpy.Deg2rad": _one(lambda builder, value: ops.scale(builder, value, np.pi / 180.0)),
    "numpy.Rad2deg": _one(lambda builder, value: ops.scale(builder, value, 180.0 / np.pi)),
    "numpy.Copy": _same,
    "numpy.OnesLike": _like(1.0),
    "numpy.ZerosLike": _like(0.0),
    "numpy.LogicalNot": _fold(np.logical_not, "what is negated"),
    "numpy.LogicalAnd": _fold(np.logical_and, "a condition"),
    "numpy.LogicalOr": _fold(np.logical_or, "a condition"),
    "math.Erf": _table("erf"),
    "math.Rsqrt": _one(ops.rsqrt),
    "core.Cast": _cast,
    "core.StopGradient": _same,
    "core.ConvertToTensor": _same,
}

ACTIVATIONS: dict[str, Handler] = {
    "nn.Relu": _one(ops.relu),
    "nn.Relu6": _one(ops.relu6),
    "nn.LeakyRelu": _one(ops.leaky_relu, "negative_slope"),
    "nn.Elu": _one(ops.elu, "alpha"),
    "nn.Selu": _one(ops.selu),
    "nn.Celu": _one(ops.celu, "alpha"),
    "nn.Gelu": _one(ops.gelu, "approximate"),
    "nn.Silu": _one(ops.silu),
    "nn.Softplus": _one(ops.softplus),
    "nn.Softsign": _table("softsign"),
    "nn.Squareplus": _one(squareplus, "b"),
    "nn.Sigmoid": _one(ops.sigmoid),
    "nn.LogSigmoid": _one(ops.log_sigmoid),
    "nn.HardSigmoid": _one(ops.hard_sigmoid),
    "nn.HardSilu": _table("hardswish"),
    "nn.HardTanh": lambda walk, operation, value: ops.clip(walk.builder, value, -1.0, 1.0),
    "nn.HardShrink": lambda walk, operation, value: ops.shrink(walk.builder, value, operation.threshold, 0.0),
    "nn.SoftShrink": _one(ops.soft_shrink, "threshold"),
    "nn.TanhShrink": _one(ops.tanh_shrink),
    "nn.SparsePlus": _one(sparse_plus),
    "nn.SparseSigmoid": lambda walk, operation, value: ops.hard_sigmoid(walk.builder, value, 0.5, 0.5),
    "nn.Threshold": _one(ops.threshold, "threshold", "default_value"),
    "nn.Softmax": _one(softmax, "axis"),
    "nn.LogSoftmax": _one(ops.log_softmax, "axis"),
    "nn.Glu": _one(ops.glu, "axis"),
    "activations.ReLU": _relu,
    "activations.Mish": _table("mish"),
}
