"""Lower a computation graph to skip form, one operation at a time.

Importers walk their framework's graph and call these operations; none of them knows stages.
A `Tensor` is a symbolic value, affine in the input and in the units made so far.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array, Matrix
from dcembed.errors import InputError, NetworkError
from dcembed.network.activations import RELU, Activation
from dcembed.network.affine import Affine, compressed
from dcembed.network.growth import UNLIMITED, Growth, num_stored, product_size, stored
from dcembed.network.network import Network
from dcembed.reading import as_numbers, as_whole, check_places, require, require_all, require_iterable, show

# More than any network has, and than memory holds.
MOST_INPUTS = 2**31 - 1

# Functions that a classifier ends in. "sigmoid" and "log_sigmoid" are of every entry by itself, "binary" is 1 - p and p of one logit,
# and "classes" are other probabilities of which the class has the largest, such as sigmoids over their sum.
Head = Literal["sigmoid", "softmax", "log_softmax", "log_sigmoid", "binary", "classes"]


@dataclass(frozen=True, eq=False)
class Tensor:
    """A value in the graph.

    Parameters
    ----------
    affine
        Its entries in row-major order.
    shape
        Without the batch axis.
    logits
        What went into the logistic function or softmax that gave this value, entry for entry; None for other values.
    heads
        Which functions those were, one for each of the softmaxes side by side, one for all sigmoids together; empty for other values.
    """

    affine: Affine
    shape: tuple[int, ...]
    logits: Tensor | None = None
    heads: tuple[Head, ...] = ()


class NetworkBuilder:
    """Collects stages while a graph is walked.

    Parameters
    ----------
    input_shape
        Shape of one point, without the batch axis; its entries become the inputs in row-major order.
    growth
        How large values may become; any size by default.

    Examples
    --------
    A residual layer, f(x) = x + max(W x + b, 0):

    >>> import numpy as np
    >>> builder = NetworkBuilder((2,))
    >>> hidden = builder.relu(builder.linear(builder.input, np.array([[1.0, 0.0], [1.0, -1.0]]), np.array([0.0, 0.5])))
    >>> network = builder.finish(builder.add(builder.input, hidden))
    >>> network
    Network(2 inputs -> 2 -> 2 outputs)
    >>> network([1.0, 2.0])
    array([2., 2.])
    """

    def __init__(self, input_shape: Sequence[int], growth: Growth = UNLIMITED) -> None:
        shape = _read_shape(input_shape)
        self._num_inputs = math.prod(shape)
        self.growth = growth
        growth.check(self._num_inputs, f"An input of shape {shape}")
        if self._num_inputs > MOST_INPUTS:
            raise InputError(f"NetworkBuilder: input_shape is not accepted: {show(shape)} are more than {MOST_INPUTS} inputs.")
        self._stages: list[Affine] = []
        self._activations: list[Activation] = []
        self.input = Tensor(Affine({0: sp.eye_array(self._num_inputs, format="csr")}, np.zeros(self._num_inputs)), shape)

    def linear(self, value: Tensor, weight: Matrix, bias: Array | None = None) -> Tensor:
        """weight @ value + bias along the last axis; `weight` is (outputs, inputs)."""
        _require_tensors(value)
        small = compressed(weight)
        if small is not None:
            weight = small
        elif sp.issparse(weight):
            check_places(weight, "NetworkBuilder: weight")
        else:
            weight = as_numbers(weight, "NetworkBuilder: weight")
        if weight.ndim != 2:
            raise NetworkError(f"A linear layer has a matrix of weights (outputs, inputs), received shape {weight.shape}.")
        num_out, num_in = weight.shape
        if not value.shape or value.shape[-1] != num_in:
            raise NetworkError(
                f"A linear layer takes {num_in} features but its input has shape {value.shape}: the last axis must be {num_in}."
            )
        lead = value.shape[:-1]
        copies = math.prod(lead)
        if self.growth.most is not None:
            self.growth.check(copies * num_stored(weight), f"A matrix of shape {weight.shape} on a value of shape {value.shape}")
        matrix = weight if copies == 1 else sp.kron(sp.eye_array(copies), weight, format="csr")
        if self.growth.most is not None:
            self.growth.check(product_size(matrix, value.affine), f"A matrix of shape {weight.shape} on a value of shape {value.shape}")
        result = _transform(matrix, value.affine)
        if bias is not None:
            result = Affine(result.weights, result.bias + np.tile(_vector(bias, num_out, "bias"), copies))
        return Tensor(result, (*lead, num_out))

    def relu(self, value: Tensor) -> Tensor:
        """max(value, 0): one new stage."""
        return self.activate(value, RELU)

    def activate(self, value: Tensor, activation: Activation) -> Tensor:
        """An activation of every entry: one new stage.

        Examples
        --------
        >>> from dcembed.network.activations import find_activation
        >>> builder = NetworkBuilder((1,))
        >>> builder.finish(builder.activate(builder.input, find_activation("tanh")))
        Network(1 inputs -> 1 tanh -> 1 outputs)
        """
        _require_tensors(value)
        require(activation, Activation, "NetworkBuilder: activation")
        if not value.affine.num_rows:
            return Tensor(value.affine, value.shape)
        self._stages.append(value.affine)
        self._activations.append(activation)
        size = value.affine.num_rows
        return Tensor(Affine({len(self._stages): sp.eye_array(size, format="csr")}, np.zeros(size)), value.shape)

    def stage(self, source: int) -> tuple[Affine, Activation]:
        """The pre-activations of a stage made before, and its activation.

        Examples
        --------
        >>> builder = NetworkBuilder((1,))
        >>> unit = builder.relu(builder.shift(builder.input, 2.0))
        >>> builder.stage(1)[0].bias, str(builder.stage(1)[1])
        (array([2.]), 'relu')
        """
        return self._stages[source - 1], self._activations[source - 1]

    def leaky_relu(self, value: Tensor, slope: Array | float) -> Tensor:
        """value where positive, slope * value where negative: slope * a + (1 - slope) * relu(a). `slope` broadcasts against the shape."""
        slope = as_numbers(slope, "NetworkBuilder: slope")
        return self.add(self.scale(value, slope), self.scale(self.relu(value), 1.0 - slope))

    def clip(self, value: Tensor, low: Array | float, high: Array | float) -> Tensor:
        """low + relu(a - low) - relu(a - high); infinite limits cost nothing. Limits broadcast against the shape.

        Examples
        --------
        >>> builder = NetworkBuilder((1,))
        >>> unit = builder.finish(builder.clip(builder.input, 0.0, 6.0))
        >>> unit([[-1.0], [5.0], [7.0]]).ravel()
        array([0., 5., 6.])
        """
        low_, high_ = as_numbers(low, "NetworkBuilder: low"), as_numbers(high, "NetworkBuilder: high")
        _require_tensors(value)
        result = value
        if np.isfinite(low_).all():
            result = self.shift(self.relu(self.shift(value, -low_)), low_)
        if np.isfinite(high_).all():
            result = self.add(result, self.scale(self.relu(self.shift(value, -high_)), -1.0))
        return result

    def scale(self, value: Tensor, factor: Array | float) -> Tensor:
        """factor * value, entry by entry; `factor` broadcasts against the shape."""
        _require_tensors(value)
        factors = _spread(factor, value.shape)
        return Tensor(_transform(sp.diags_array(factors, format="csr"), value.affine), value.shape)

    def shift(self, value: Tensor, amount: Array | float) -> Tensor:
        """value + amount; `amount` broadcasts against the shape."""
        _require_tensors(value)
        return Tensor(Affine(value.affine.weights, value.affine.bias + _spread(amount, value.shape)), value.shape)

    def add(self, left: Tensor, right: Tensor) -> Tensor:
        """left + right, of equal shapes."""
        _require_tensors(left, right)
        if left.shape != right.shape:
            raise NetworkError(f"An addition joins shapes {left.shape} and {right.shape}; they must be equal.")
        self.growth.check(stored(left.affine) + stored(right.affine), f"An addition of values of shape {left.shape}")
        weights = dict(left.affine.weights)
        for source, block in right.affine.weights.items():
            weights[source] = weights[source] + block if source in weights else block
        return Tensor(Affine(weights, left.affine.bias + right.affine.bias), left.shape)

    def concat(self, values: Sequence[Tensor], axis: int = -1) -> Tensor:
        """Join along `axis`, counted without the batch axis."""
        values = require_all(values, Tensor, "NetworkBuilder: values")
        if not values:
            raise NetworkError("A concatenation has no values. Give at least one.")
        axis = as_whole(axis, "NetworkBuilder: axis")
        self.growth.check(sum(stored(value.affine) for value in values), f"A concatenation of {len(values)} values")
        numbers = [_entry_numbers(value.shape, offset) for value, offset in zip(values, _offsets(values), strict=True)]
        try:
            order = np.concatenate(numbers, axis=axis)
        except (ValueError, OverflowError) as error:
            raise NetworkError(
                f"Values of shapes {', '.join(str(v.shape) for v in values)} cannot be joined along axis {axis}: {error}."
            ) from None
        sources = sorted({source for value in values for source in value.affine.weights})
        sizes = {source: block.shape[1] for value in values for source, block in value.affine.weights.items()}
        weights = {
            source: sp.vstack(
                [sp.csr_array(v.affine.weights.get(source, sp.csr_array((v.affine.num_rows, sizes[source])))) for v in values], format="csr"
            )
            for source in sources
        }
        stacked = Affine(weights, np.concatenate([value.affine.bias for value in values]))
        return Tensor(_take(stacked, order.reshape(-1)), order.shape)

    def reshape(self, value: Tensor, shape: Sequence[int]) -> Tensor:
        """The same entries in another shape (without the batch axis); one -1 is filled in."""
        _require_tensors(value)
        sizes = [as_whole(size, "NetworkBuilder: a size") for size in require_iterable(shape, "NetworkBuilder: shape")]
        total = value.affine.num_rows
        if sizes.count(-1) == 1:
            rest = math.prod(size for size in sizes if size != -1)
            sizes[sizes.index(-1)] = total // rest if rest else 0
        if math.prod(sizes) != total:
            raise NetworkError(f"A reshape to {tuple(shape)} does not hold the {total} entries of shape {value.shape}.")
        logits = value.logits if value.logits is None else self.reshape(value.logits, sizes)
        return Tensor(value.affine, tuple(sizes), logits, value.heads)

    def finish(self, output: Tensor) -> Network:
        """The network with `output`, flattened, as its predictions. Stages that it does not use are dropped."""
        _require_tensors(output)
        used: set[int] = set()
        pending = [output.affine]
        while pending:
            for source in pending.pop().weights:
                if source > 0 and source not in used:
                    used.add(source)
                    pending.append(self._stages[source - 1])
        number = {0: 0} | {source: index for index, source in enumerate(sorted(used), start=1)}
        stages = tuple(_renumber(self._stages[source - 1], number) for source in sorted(used))
        activations = tuple(self._activations[source - 1] for source in sorted(used))
        return Network(self._num_inputs, stages, _renumber(output.affine, number), activations=activations)


def _require_tensors(*values: Tensor) -> None:
    for value in values:
        require(value, Tensor, "NetworkBuilder: value")


def _read_shape(input_shape: Sequence[int]) -> tuple[int, ...]:
    where = "NetworkBuilder: input_shape"
    shape = tuple(as_whole(size, where) for size in require_iterable(input_shape, where))
    if not shape or min(shape) < 1:
        raise InputError(f"{where} is not accepted: positive sizes are expected, such as (4,) or (1, 8, 8), received {show(input_shape)}.")
    return shape


def _transform(matrix: Matrix, affine: Affine) -> Affine:
    return Affine({source: matrix @ block for source, block in affine.weights.items()}, matrix @ affine.bias)


def _take(affine: Affine, rows: Array) -> Affine:
    return Affine({source: block[rows] for source, block in affine.weights.items()}, affine.bias[rows])


def _renumber(affine: Affine, number: dict[int, int]) -> Affine:
    return Affine({number[source]: block for source, block in affine.weights.items()}, affine.bias)


def _offsets(values: Sequence[Tensor]) -> list[int]:
    return [0, *np.cumsum([value.affine.num_rows for value in values])[:-1].tolist()]


def _entry_numbers(shape: tuple[int, ...], offset: int) -> Array:
    return offset + np.arange(math.prod(shape)).reshape(shape)


def _spread(value: Array | float, shape: tuple[int, ...]) -> Array:
    array = as_numbers(value, "NetworkBuilder: a constant")
    try:
        return np.broadcast_to(array, shape).reshape(-1)
    except ValueError:
        raise NetworkError(f"A constant of shape {array.shape} does not fit a value of shape {shape}.") from None


def _vector(value: Array, size: int, name: str) -> Array:
    array = as_numbers(value, f"NetworkBuilder: {name}").reshape(-1)
    if array.size != size:
        raise NetworkError(f"A {name} has {array.size} entries where the layer has {size} outputs.")
    return array
