"""The network in skip form: stages of units over an input and one another, and its forward pass.

    a_l = sum_{m<l} A_lm z_m + B_l x + b_l,    z_l = phi_l(a_l),    f = sum_m C_m z_m + D x + e

Source 0 is the input x, source m = 1..L the units z_m of stage m; phi_l is max(a, 0) or another activation. A convolution is a sparse
block, a max-pooling a few more stages, a skip connection one more block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dcembed.arrays import Array
from dcembed.errors import InputError, NetworkError
from dcembed.network.activations import RELU, Activation, find_activation
from dcembed.network.affine import Affine, apply_affine, check_affine
from dcembed.network.chunks import slices
from dcembed.reading import as_names, as_numbers, as_whole, require, require_all, require_iterable, show

# Numbers that one pass over a chunk of points holds at a time, 4 MB: small enough for caches to help, large enough for products.
CHUNK_ENTRIES = 500_000


@dataclass(frozen=True, eq=False)
class Network:
    """A trained network as stages of units.

    Call it on points of shape (k, num_inputs) to get predictions of shape (k, num_outputs).

    Parameters
    ----------
    num_inputs
        Length of x.
    stages
        Pre-activations a_1..a_L; stage l may use sources 0..l-1.
    output
        The predictions f; may use every source.
    input_names
        What the inputs are called where the model was trained on named columns; None where they have no names.
    activations
        phi_1..phi_L, what the units of each stage do with their pre-activations; ReLU in all of them where none is given.

    Examples
    --------
    >>> import dcembed
    >>> hat = dcembed.build_mlp([[[1.0], [1.0]], [[1.0, -2.0]]], [[0.0, -1.0], [0.0]])
    >>> hat
    Network(1 inputs -> 2 -> 1 outputs)
    >>> hat([[0.5], [1.5]])
    array([[0.5],
           [0.5]])
    """

    num_inputs: int
    stages: tuple[Affine, ...]
    output: Affine
    input_names: tuple[str, ...] | None = None
    activations: tuple[Activation, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "num_inputs", as_whole(self.num_inputs, "Network: num_inputs"))
        object.__setattr__(self, "stages", require_all(self.stages, Affine, "Network: stages"))
        require(self.output, Affine, "Network: output")
        if self.input_names is not None:
            object.__setattr__(self, "input_names", as_names(self.input_names, "Network: input_names"))
        activations = require_all(self.activations, Activation, "Network: activations")
        object.__setattr__(self, "activations", activations or (RELU,) * len(self.stages))
        _check(self)

    @property
    def num_outputs(self) -> int:
        """Length of f."""
        return self.output.num_rows

    @property
    def widths(self) -> tuple[int, ...]:
        """Number of units of each stage."""
        return tuple(stage.num_rows for stage in self.stages)

    @cached_property
    def num_hidden(self) -> int:
        """N_hidden, the number of units."""
        return sum(self.widths)

    @cached_property
    def num_entries(self) -> int:
        """Inputs, units and outputs: what a pass holds for each point."""
        return self.num_inputs + self.num_hidden + self.num_outputs

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """Of each stage, how many it depends on in a row, itself among them: 1 where it sees the input alone."""
        known = [0]
        for stage in self.stages:
            known.append(1 + max((known[source] for source in stage.weights), default=0))
        return tuple(known[1:])

    @property
    def num_held(self) -> int:
        """What an evaluation holds for each point."""
        return self.num_entries

    @cached_property
    def is_piecewise_linear(self) -> bool:
        """Whether all units are ReLU."""
        return all(kind == RELU for kind in self.activations)

    def __call__(self, points: npt.ArrayLike) -> Array:
        """The predictions, as by `evaluate`."""
        return evaluate(self, points)

    def forward(self, points: Array) -> Array:
        """The predictions at some points at once, (k, num_inputs) to (k, num_outputs); nothing is checked."""
        return apply_affine(self.output, [points, *pass_through(self, points)[1]])

    def __repr__(self) -> str:
        named = zip(self.widths, self.activations, strict=True)
        hidden = " -> ".join(str(width) if kind == RELU else f"{width} {kind}" for width, kind in named) or "no units"
        return f"Network({self.num_inputs} inputs -> {hidden} -> {self.num_outputs} outputs)"


def build_mlp(
    weights: Sequence[npt.ArrayLike],
    biases: Sequence[npt.ArrayLike | None],
    activation: str | Activation = "relu",
) -> Network:
    """Build the multilayer perceptron W_L phi(... phi(W_1 x + b_1)) + b_L.

    Parameters
    ----------
    weights
        One matrix per layer, shape (outputs, inputs) of that layer.
    biases
        One vector per layer; None stands for zeros.
    activation
        phi, of all hidden layers: a name such as "tanh", or an entry of `dcembed.network.activations`.

    Examples
    --------
    |x| = max(x, 0) + max(-x, 0):

    >>> import dcembed
    >>> absolute = dcembed.build_mlp(weights=[[[1.0], [-1.0]], [[1.0, 1.0]]], biases=[None, None])
    >>> absolute([[-3.0], [2.0]])
    array([[3.],
           [2.]])
    """
    weights, biases = (require_iterable(value, f"build_mlp: {name}") for name, value in (("weights", weights), ("biases", biases)))
    if len(weights) == 0:
        raise NetworkError("The network is empty: no layer was given. Pass at least one weight matrix.")
    if len(weights) != len(biases):
        raise NetworkError(
            f"{len(weights)} weight matrices but {len(biases)} biases were given. Pass one bias per layer (None for no bias)."
        )
    matrices = [np.atleast_2d(as_numbers(weight, f"build_mlp: weights[{index}]")) for index, weight in enumerate(weights)]
    layers = [
        Affine({index: weight}, np.zeros(weight.shape[0]) if bias is None else as_numbers(bias, f"build_mlp: biases[{index}]"))
        for index, (weight, bias) in enumerate(zip(matrices, biases, strict=True))
    ]
    between = _read_activation(activation)
    return Network(matrices[0].shape[1], tuple(layers[:-1]), layers[-1], activations=(between,) * (len(layers) - 1))


def _read_activation(activation: str | Activation) -> Activation:
    if isinstance(activation, Activation):
        return activation
    if isinstance(activation, str):
        return find_activation(activation)
    raise InputError(f"build_mlp: activation is not accepted: a name or an Activation is expected, received {show(activation)}.")


def evaluate(network: Network, points: npt.ArrayLike) -> Array:
    """Predictions at `points` (k, num_inputs): shape (k, num_outputs). One point of shape (num_inputs,) gives (num_outputs,).

    f = sum_m C_m z_m + D x + e with z_l = phi_l(a_l), a_l = sum_{m<l} A_lm z_m + B_l x + b_l.
    """
    given = read_points(network, points)
    batch = np.atleast_2d(given)
    values = np.empty((batch.shape[0], network.num_outputs))
    for chunk in slices(batch.shape[0], network.num_held, CHUNK_ENTRIES):
        values[chunk] = network.forward(batch[chunk])
    return values if given.ndim == 2 else values[0]


def read_points(network: Network, points: npt.ArrayLike) -> Array:
    """Points of shape (k, num_inputs) or (num_inputs,) as numbers; InputError for others."""
    if not isinstance(points, np.ndarray) or points.dtype != np.float64:
        points = as_numbers(points, "Network: points")
    if points.ndim not in (1, 2) or points.shape[-1] != network.num_inputs:
        raise InputError(f"The network takes points of shape (k, {network.num_inputs}), received shape {points.shape}.")
    return points


def chunks(size: int, network: Network) -> Iterator[slice]:
    """Cut a batch so that the memory of a pass does not grow with it."""
    return slices(size, network.num_entries, CHUNK_ENTRIES)


def preactivations(network: Network, points: Array, first: Array | None = None) -> list[Array]:
    """The pre-activations a_1..a_L at `points` (k, num_inputs), each of shape (k, width); those of the first stage may be known.

    Examples
    --------
    >>> import numpy as np
    >>> hat = build_mlp([[[1.0], [1.0]], [[1.0, -2.0]]], [[0.0, -1.0], None])
    >>> preactivations(hat, np.array([[0.5]]))
    [array([[ 0.5, -0.5]])]
    """
    return pass_through(network, points, first)[0]


def pass_through(network: Network, points: Array, first: Array | None = None) -> tuple[list[Array], list[Array]]:
    """The pre-activations a_1..a_L as by `preactivations`, and the units z_1..z_L that were made of them on the way."""
    sources = [points]
    before: list[Array] = []
    for stage, activation in zip(network.stages, network.activations, strict=True):
        before.append(first if first is not None and not before else apply_affine(stage, sources))
        sources.append(activation.value(before[-1]))
    return before, sources[1:]


def units(network: Network, preactivation: Sequence[Array]) -> list[Array]:
    """The units z_l = phi_l(a_l)."""
    return [activation.value(stage) for activation, stage in zip(network.activations, preactivation, strict=True)]


def _check(network: Network) -> None:
    sizes = [network.num_inputs]
    if network.num_inputs < 1:
        raise NetworkError(f"The network is empty: it has {network.num_inputs} inputs. At least one is needed.")
    if network.num_outputs < 1:
        raise NetworkError("The network is empty: it has no outputs. At least one is needed.")
    names = network.input_names
    if names is not None and not len(names) == len(set(names)) == network.num_inputs:
        raise NetworkError(
            f"The network has {network.num_inputs} inputs, but {len(names)} names for them, {len(set(names))} of them different."
        )
    if len(network.activations) != len(network.stages):
        raise NetworkError(f"The network has {len(network.stages)} stages, but {len(network.activations)} activations. Give one per stage.")
    for index, stage in enumerate((*network.stages, network.output), start=1):
        name = f"stage {index}" if index <= len(network.stages) else "the output layer"
        check_affine(stage, name, sizes)
        sizes.append(stage.num_rows)
