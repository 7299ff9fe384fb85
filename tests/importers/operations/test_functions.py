"""Functions of entries and what is recognized as one, against torch."""

from __future__ import annotations

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402

from dcembed.importers import operations as ops  # noqa: E402
from dcembed.importers.operations import Unsupported  # noqa: E402
from dcembed.network.builder import NetworkBuilder  # noqa: E402
from importers.operations.comparing import compare, names  # noqa: E402

FUNCTIONS = {
    "relu6": (ops.relu6, F.relu6, {"relu"}),
    "hard sigmoid": (ops.hard_sigmoid, F.hardsigmoid, {"relu"}),
    "soft shrink": (lambda b, v: ops.soft_shrink(b, v, 0.7), lambda x: F.softshrink(x, 0.7), {"relu"}),
    "threshold": (lambda b, v: ops.threshold(b, v, 0.3, 0.3), lambda x: F.threshold(x, 0.3, 0.3), {"relu"}),
    "leaky": (lambda b, v: ops.leaky_relu(b, v, 0.2), lambda x: F.leaky_relu(x, 0.2), {"relu"}),
    "clip": (lambda b, v: ops.clip(b, v, -0.5, None), lambda x: x.clamp(-0.5), {"relu"}),
    "absolute": (ops.absolute, torch.abs, {"relu"}),
    "tanh": (ops.tanh, torch.tanh, {"tanh"}),
    "tanh shrink": (ops.tanh_shrink, F.tanhshrink, {"tanh"}),
    "sigmoid": (ops.sigmoid, torch.sigmoid, {"sigmoid"}),
    "log sigmoid": (ops.log_sigmoid, F.logsigmoid, {"softplus"}),
    "softplus": (lambda b, v: ops.softplus(b, v, 2.0), lambda x: F.softplus(x, 2.0, 200.0), {"softplus"}),
    "silu": (ops.silu, F.silu, {"silu"}),
    "swish": (lambda b, v: ops.silu(b, v, 1.7), lambda x: x * torch.sigmoid(1.7 * x), {"silu"}),
    "elu": (lambda b, v: ops.elu(b, v, 0.5), lambda x: F.elu(x, 0.5), {"elu"}),
    "selu": (ops.selu, F.selu, {"elu"}),
    "celu": (lambda b, v: ops.celu(b, v, 1.5), lambda x: F.celu(x, 1.5), {"elu"}),
    "gelu": (ops.gelu, F.gelu, {"gelu"}),
    "gelu tanh": (lambda b, v: ops.gelu(b, v, True), lambda x: F.gelu(x, approximate="tanh"), {"gelu_tanh"}),
    "cos": (ops.cos, torch.cos, {"sin"}),
    "cosh": (ops.cosh, torch.cosh, {"exp"}),
    "sinh": (ops.sinh, torch.sinh, {"exp"}),
    "expm1": (ops.expm1, torch.expm1, {"exp"}),
    "glu": (ops.glu, F.glu, {"sigmoid", "square"}),
    **{f"power {n}": (lambda b, v, n=n: ops.power(b, v, n), lambda x, n=n: x**n, {"square"}) for n in (2, 3, 4, 5, 6)},
}

POSITIVE = {
    "sqrt": (ops.sqrt, torch.sqrt, {"power"}),
    "rsqrt": (ops.rsqrt, torch.rsqrt, {"power"}),
    "reciprocal": (ops.reciprocal, torch.reciprocal, {"power"}),
    "power": (lambda b, v: ops.power(b, v, 1.7), lambda x: x**1.7, {"power"}),
    "inverse square": (lambda b, v: ops.power(b, v, -2), lambda x: x**-2, {"square", "power"}),
    "log": (ops.log, torch.log, {"log"}),
    "log2": (lambda b, v: ops.log_of_base(b, v, 2.0), torch.log2, {"log"}),
    "log1p": (ops.log1p, torch.log1p, {"log"}),
    "quotient": (lambda b, v: ops.divide(b, np.asarray(2.0), v), lambda x: 2.0 / x, {"power"}),
    "base": (lambda b, v: ops.power(b, np.asarray(2.0), v), lambda x: 2.0**x, {"exp"}),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name):
    ours, theirs, made_of = FUNCTIONS[name]
    network = compare(ours, theirs, (1, 3, 4))
    assert names(network) == made_of


@pytest.mark.parametrize("name", POSITIVE)
def test_function_of_positive_values(name):
    ours, theirs, made_of = POSITIVE[name]
    network = compare(ours, theirs, (1, 3, 4), scale=0.2, shift=2.0)
    assert names(network) == made_of


def test_roots_of_zero():
    network = compare(lambda b, v: ops.sqrt(b, ops.square(b, v)), torch.abs, (4,))
    assert abs(network(np.zeros(4))).max() < 1e-12


WRITTEN_OUT = {
    "silu": (lambda b, x: _times(b, x, ops.sigmoid(b, x)), F.silu, {"silu"}),
    "silu, gate first": (lambda b, x: _times(b, ops.sigmoid(b, x), x), F.silu, {"silu"}),
    "quick gelu": (
        lambda b, x: _times(b, x, ops.sigmoid(b, _times(b, 1.702, x))),
        lambda x: x * torch.sigmoid(1.702 * x),
        {"silu"},
    ),
    "shifted silu": (
        lambda b, x: _times(b, _plus(b, x, 2.0), ops.sigmoid(b, x)),
        lambda x: (x + 2.0) * torch.sigmoid(x),
        {"silu", "sigmoid"},
    ),
    "silu as a quotient": (
        lambda b, x: ops.divide(b, x, _plus(b, ops.exp(b, ops.negate(b, x)), 1.0)),
        F.silu,
        {"silu"},
    ),
    "logistic": (lambda b, x: ops.reciprocal(b, _plus(b, ops.exp(b, ops.negate(b, x)), 1.0)), torch.sigmoid, {"sigmoid"}),
    "gelu": (lambda b, x: _times(b, _times(b, x, 0.5), _plus(b, _erf(b, _times(b, x, math.sqrt(0.5))), 1.0)), F.gelu, {"gelu"}),
    "gelu, other order": (
        lambda b, x: _times(b, _times(b, _plus(b, _erf(b, _times(b, x, math.sqrt(0.5))), 1.0), x), 0.5),
        F.gelu,
        {"gelu"},
    ),
    "gelu, half inside": (
        lambda b, x: _times(b, _plus(b, _times(b, _erf(b, _times(b, x, math.sqrt(0.5))), 0.5), 0.5), x),
        F.gelu,
        {"gelu"},
    ),
    "gelu tanh": (lambda b, x: _gelu_tanh(b, x, ops.power(b, x, 3)), lambda x: F.gelu(x, approximate="tanh"), {"gelu_tanh"}),
    "gelu tanh, products": (
        lambda b, x: _gelu_tanh(b, x, _times(b, _times(b, x, x), x)),
        lambda x: F.gelu(x, approximate="tanh"),
        {"gelu_tanh"},
    ),
    "gelu tanh, factored": (
        lambda b, x: _times(
            b,
            _times(b, x, 0.5),
            _plus(
                b,
                ops.tanh(b, _times(b, _times(b, x, math.sqrt(2 / math.pi)), _plus(b, _times(b, _times(b, x, 0.044715), x), 1.0))),
                1.0,
            ),
        ),
        lambda x: F.gelu(x, approximate="tanh"),
        {"gelu_tanh"},
    ),
    "mish": (lambda b, x: _times(b, x, ops.tanh(b, ops.softplus(b, x))), F.mish, {"mish"}),
    "mish by a logarithm": (
        lambda b, x: _times(b, ops.tanh(b, ops.log(b, _plus(b, ops.exp(b, x), 1.0))), x),
        F.mish,
        {"mish"},
    ),
    "hardswish": (lambda b, x: _times(b, x, ops.hard_sigmoid(b, x)), F.hardswish, {"hardswish"}),
    "hardswish by relu6": (
        lambda b, x: _times(b, _times(b, x, ops.relu6(b, _plus(b, x, 3.0))), 1.0 / 6.0),
        F.hardswish,
        {"hardswish"},
    ),
    "softsign": (lambda b, x: ops.divide(b, x, _plus(b, ops.absolute(b, x), 1.0)), F.softsign, {"softsign"}),
    "square": (lambda b, x: _times(b, x, _times(b, x, -2.0)), lambda x: -2 * x * x, {"square"}),
    "square and rest": (lambda b, x: _times(b, _plus(b, x, 1.0), _plus(b, ops.negate(b, x), 1.0)), lambda x: 1 - x * x, {"square"}),
    "squared relu": (lambda b, x: _times(b, x, ops.relu(b, x)), lambda x: F.relu(x) ** 2, {"relu", "square"}),
    "log of softmax": (lambda b, x: ops.log(b, ops.softmax(b, x)), lambda x: torch.log_softmax(x, -1), {"softplus"}),
    "log of a logistic": (lambda b, x: ops.log(b, ops.sigmoid(b, x)), F.logsigmoid, {"softplus"}),
    "something else": (lambda b, x: _times(b, x, ops.tanh(b, x)), lambda x: x * torch.tanh(x), {"tanh", "square"}),
    "different entries": (
        lambda b, x: _times(b, x, ops.sigmoid(b, ops.flip(b, x, [-1]))),
        lambda x: x * torch.sigmoid(x.flip(-1)),
        {"sigmoid", "square"},
    ),
}


def _times(builder, left, right):
    return ops.multiply(builder, *(np.asarray(side) if isinstance(side, float) else side for side in (left, right)))


def _plus(builder, left, right):
    return ops.add(builder, left, np.asarray(right))


def _erf(builder, value):
    from dcembed.network.activations import find_activation

    return ops.activate(builder, value, find_activation("erf"))


def _gelu_tanh(builder, value, cubed):
    inside = _times(builder, ops.add(builder, value, _times(builder, cubed, 0.044715)), math.sqrt(2 / math.pi))
    return _times(builder, _times(builder, 0.5, value), _plus(builder, ops.tanh(builder, inside), 1.0))


@pytest.mark.parametrize("name", WRITTEN_OUT)
@pytest.mark.parametrize("behind", [False, True])
def test_written_out(name, behind):
    """Also of a value that is a layer itself, with a bias."""
    ours, theirs, made_of = WRITTEN_OUT[name]
    rng = np.random.default_rng(3)
    matrix, bias = rng.normal(size=(4, 4)), rng.normal(size=4)

    def layer(builder, value):
        return ops.add(builder, ops.matmul(builder, value, matrix), bias)

    network = compare(
        lambda b, x: ours(b, layer(b, x) if behind else x),
        lambda x: theirs(x @ torch.tensor(matrix) + torch.tensor(bias) if behind else x),
        (1, 2, 4),
        scale=1.0,
    )
    assert names(network) == made_of


def test_small_rows_are_looked_at_on_their_own():
    """Rows that are alike but for one of tiny weights are not alike."""
    left, right = np.array([[1.0, 0.0], [1e-14, 1e-14]]), np.array([[1.0, 0.0], [1e-14, -1e-14]])
    network = compare(
        lambda b, x: _times(b, ops.multiply(b, ops.matmul(b, x, left.T), ops.sigmoid(b, ops.matmul(b, x, right.T))), np.array([1.0, 1e14])),
        lambda x: (x @ torch.tensor(left.T)) * torch.sigmoid(x @ torch.tensor(right.T)) * torch.tensor([1.0, 1e14], dtype=torch.float64),
        (1, 2),
    )
    assert names(network) == {"sigmoid", "square"}


def test_products():
    network = compare(ops.multiply, torch.mul, (1, 3), (2, 1))
    assert names(network) == {"square"}
    assert network.widths == (12,)
    compare(lambda b, v: ops.product_over(b, v, 1), lambda x: x.prod(1), (2, 5))
    compare(lambda b, v, w: ops.divide(b, v, _plus(b, ops.absolute(b, w), 0.5)), lambda x, y: x / (y.abs() + 0.5), (4,), (4,))
    compare(lambda b, v: ops.reciprocal(b, ops.subtract(b, np.asarray(-1.0), ops.square(b, v))), lambda x: 1 / (-1 - x * x), (4,))


@pytest.mark.parametrize(
    ("refused", "reason"),
    [
        (lambda b, x: ops.threshold(b, x, 0.0, 1.0), "jumps from 1 to 0 at 0"),
        (lambda b, x: ops.shrink(b, x, 0.5, 0.0), "hard shrinkage"),
        (lambda b, x: ops.power(b, x, 40), "exponent 40"),
        (
            lambda b, x: ops.power(b, ops.absolute(b, x), -40.5),
            "as small as 1e-12 to the power -40.5, .* down to -23 are accepted, or add 1e-07",
        ),
        (lambda b, x: ops.divide(b, np.ones(1), ops.power(b, x, 40.5)), "to the power -40.5"),
        (lambda b, x: ops.power(b, x, math.inf), "exponent inf"),
        (lambda b, x: ops.power(b, x, np.array([1.0, 2.0])), "different for different entries"),
        (lambda b, x: ops.power(b, np.asarray(-1.0), x), "not positive"),
        (lambda b, x: ops.divide(b, x, np.array([1.0, 0.0])), "divides by zero"),
        (lambda b, x: ops.clip(b, x, 1.0, 0.0), "above its upper limit"),
        (lambda b, x: ops.celu(b, x, -1.0), "alpha=-1"),
    ],
)
def test_refusals(refused, reason):
    builder = NetworkBuilder((2,))
    with pytest.raises(Unsupported, match=reason):
        refused(builder, builder.input)


def test_steep_powers_of_values_that_stay_away_from_zero():
    builder = NetworkBuilder((1,))
    value = ops.add(builder, ops.absolute(builder, builder.input), np.asarray(1e-7))
    network = builder.finish(ops.as_tensor(ops.power(builder, value, -40.5)))
    np.testing.assert_allclose(network([[0.0], [2.0]]).ravel(), [1e-7**-40.5, (2.0 + 1e-7) ** -40.5])
