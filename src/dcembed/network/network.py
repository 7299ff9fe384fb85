"""The network in skip form: stages of ReLU units over an input and one another.

    a_l = sum_{m<l} A_lm z_m + B_l x + b_l,    z_l = max(a_l, 0),    f = sum_m C_m z_m + D x + e

Source 0 is the input x, source m = 1..L the units z_m of stage m. A convolution is a sparse block,
a max-pooling a few more stages, a skip connection one more block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from dcembed.errors import NetworkError

Array = np.ndarray
Matrix: TypeAlias = "np.ndarray | sp.csr_array"

# A block is stored sparse below this share of nonzeros: a dense product is faster above it.
SPARSE_DENSITY = 0.2


@dataclass(frozen=True, eq=False)
class Affine:
    """An affine map of the input and of earlier units: sum over sources of weight @ source + bias.

    Parameters
    ----------
    weights
        Source number -> matrix of shape (rows, size of that source).
    bias
        Shape (rows,).
    """

    weights: Mapping[int, Matrix]
    bias: Array

    def __post_init__(self) -> None:
        weights = {int(source): _as_block(block) for source, block in self.weights.items()}
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "bias", np.array(self.bias, dtype=np.float64).reshape(-1))

    @property
    def num_rows(self) -> int:
        return self.bias.size


@dataclass(frozen=True, eq=False)
class Network:
    """A trained piecewise-linear network as stages of ReLU units.

    Call it on points of shape (k, num_inputs) to get predictions of shape (k, num_outputs).

    Parameters
    ----------
    num_inputs
        Length of x.
    stages
        Pre-activations a_1..a_L; stage l may use sources 0..l-1.
    output
        The predictions f; may use every source.

    Examples
    --------
    >>> import numpy as np, dcembed
    >>> hat = dcembed.build_mlp([[[1.0], [1.0]], [[1.0, -2.0]]], [[0.0, -1.0], [0.0]])
    >>> hat(np.array([[0.5], [1.5]]))
    array([[0.5],
           [0.5]])
    """

    num_inputs: int
    stages: tuple[Affine, ...]
    output: Affine

    def __post_init__(self) -> None:
        object.__setattr__(self, "stages", tuple(self.stages))
        _check(self)

    @property
    def num_outputs(self) -> int:
        return self.output.num_rows

    @property
    def widths(self) -> tuple[int, ...]:
        """Number of units of each stage."""
        return tuple(stage.num_rows for stage in self.stages)

    @property
    def num_hidden(self) -> int:
        """N_hidden, the number of ReLU units."""
        return sum(self.widths)

    def __call__(self, points: Array) -> Array:
        from dcembed.network.evaluate import evaluate

        return evaluate(self, points)

    def __repr__(self) -> str:
        hidden = " -> ".join(str(width) for width in self.widths) or "no units"
        return f"Network({self.num_inputs} inputs -> {hidden} -> {self.num_outputs} outputs)"


def build_mlp(weights: Sequence, biases: Sequence) -> Network:
    """Build the multilayer perceptron W_L relu(... relu(W_1 x + b_1)) + b_L.

    Parameters
    ----------
    weights
        One matrix per layer, shape (outputs, inputs) of that layer.
    biases
        One vector per layer; None stands for zeros.
    """
    if len(weights) == 0:
        raise NetworkError("The network is empty: no layer was given. Pass at least one weight matrix.")
    if len(weights) != len(biases):
        raise NetworkError(
            f"{len(weights)} weight matrices but {len(biases)} biases were given. Pass one bias per layer (None for no bias)."
        )
    matrices = [np.atleast_2d(np.asarray(weight, dtype=np.float64)) for weight in weights]
    layers = [
        Affine({index: weight}, np.zeros(weight.shape[0]) if bias is None else bias)
        for index, (weight, bias) in enumerate(zip(matrices, biases, strict=True))
    ]
    return Network(matrices[0].shape[1], tuple(layers[:-1]), layers[-1])


def _as_block(block: Matrix) -> Matrix:
    """Float64, read-only in spirit, sparse where sparse."""
    if sp.issparse(block):
        block = sp.csr_array(block, dtype=np.float64)
        size = max(1, block.shape[0] * block.shape[1])
        return block if block.nnz < SPARSE_DENSITY * size else block.toarray()
    return np.array(block, dtype=np.float64, ndmin=2)


def _check(network: Network) -> None:
    sizes = [network.num_inputs]
    if network.num_inputs < 1:
        raise NetworkError(f"The network is empty: it has {network.num_inputs} inputs. At least one is needed.")
    if network.num_outputs < 1:
        raise NetworkError("The network is empty: it has no outputs. At least one is needed.")
    for index, stage in enumerate((*network.stages, network.output), start=1):
        name = f"stage {index}" if index <= len(network.stages) else "the output layer"
        _check_affine(stage, name, sizes)
        sizes.append(stage.num_rows)


def _check_affine(affine: Affine, name: str, sizes: list[int]) -> None:
    if not np.isfinite(affine.bias).all():
        raise NetworkError(f"The bias of {name} has NaN or infinite entries. Retrain or repair the network before embedding it.")
    for source, block in affine.weights.items():
        origin = "the input" if source == 0 else f"stage {source}"
        if not 0 <= source < len(sizes):
            raise NetworkError(f"The weights of {name} refer to source {source}, but only sources 0 to {len(sizes) - 1} come before it.")
        if block.shape != (affine.num_rows, sizes[source]):
            raise NetworkError(
                f"The weights of {name} on {origin} have shape {block.shape}, "
                f"but {name} has {affine.num_rows} units and {origin} has size {sizes[source]}: "
                f"expected ({affine.num_rows}, {sizes[source]})."
            )
        values = block.data if sp.issparse(block) else block
        if not np.isfinite(values).all():
            raise NetworkError(
                f"The weights of {name} on {origin} have NaN or infinite entries. Retrain or repair the network before embedding it."
            )
