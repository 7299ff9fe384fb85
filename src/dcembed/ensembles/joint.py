"""The stages of all members in one network, and ReLU units behind them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array, Matrix
from dcembed.network.activations import RELU, Activation
from dcembed.network.affine import Affine
from dcembed.network.network import Network


class Joint:
    """Collects the stages of members, one member after the other, and those of a combination.

    Values are `Affine` maps over the input and the stages so far, with a row for each output of a member.

    Examples
    --------
    |x| as the larger of x and -x, which is -x + max(x - (-x), 0):

    >>> from dcembed.network.network import build_mlp
    >>> joint = Joint()
    >>> up, down = (joint.add(build_mlp([[[slope]]], [None])) for slope in (1.0, -1.0))
    >>> larger = weighted([(1.0, down), (1.0, joint.relu(weighted([(1.0, up), (-1.0, down)])))])
    >>> Network(1, joint.stages, larger)([[-3.0], [2.0]]).ravel()
    array([3., 2.])
    """

    def __init__(self) -> None:
        self._stages: list[Affine] = []
        self._activations: list[Activation] = []

    @property
    def stages(self) -> tuple[Affine, ...]:
        """All stages so far."""
        return tuple(self._stages)

    @property
    def activations(self) -> tuple[Activation, ...]:
        """Of all stages so far."""
        return tuple(self._activations)

    def add(self, network: Network, columns: Array | None = None, num_inputs: int | None = None) -> Affine:
        """The predictions of one more member, whose stages become stages here.

        Parameters
        ----------
        network
            The member.
        columns
            Which of the `num_inputs` inputs of the ensemble are the member's; all of them, in order, where none are given.
        num_inputs
            Of the ensemble, where `columns` are given.
        """
        first = len(self._stages)
        moved = [_moved(affine, first, columns, num_inputs) for affine in (*network.stages, network.output)]
        self._stages += moved[:-1]
        self._activations += network.activations
        return moved[-1]

    def relu(self, value: Affine) -> Affine:
        """max(value, 0): one more stage."""
        self._stages.append(value)
        self._activations.append(RELU)
        size = value.num_rows
        return Affine({len(self._stages): sp.eye_array(size, format="csr")}, np.zeros(size))


def weighted(terms: Iterable[tuple[float, Affine]]) -> Affine:
    """The sum of factors times values of equal sizes."""
    weights: dict[int, Matrix] = {}
    bias: Array | float = 0.0
    for factor, value in terms:
        bias = bias + factor * value.bias
        for source, block in value.weights.items():
            weights[source] = weights[source] + factor * block if source in weights else factor * block
    return Affine(weights, np.asarray(bias))


def stacked(values: Sequence[Affine]) -> Affine:
    """Values one below the other."""
    if len(values) == 1:
        return values[0]
    sizes = {source: block.shape[1] for value in values for source, block in value.weights.items()}
    weights = {
        source: sp.vstack([_block(value, source, width) for value in values], format="csr") for source, width in sorted(sizes.items())
    }
    return Affine(weights, np.concatenate([value.bias for value in values]))


def _block(value: Affine, source: int, width: int) -> sp.csr_array:
    block = value.weights.get(source)
    return sp.csr_array((value.num_rows, width)) if block is None else sp.csr_array(block)


def _moved(affine: Affine, first: int, columns: Array | None, num_inputs: int | None) -> Affine:
    """The same map where the stages have other numbers and the inputs other places."""
    weights = {source + first if source else 0: block for source, block in affine.weights.items()}
    if columns is not None and num_inputs is not None and 0 in weights:
        weights[0] = _placed(weights[0], columns, num_inputs)
    return Affine(weights, affine.bias)


def _placed(block: Matrix, columns: Array, num_inputs: int) -> Matrix:
    """The columns of a block at their places among all; those that stand for the same input add up."""
    place = sp.csr_array((np.ones(columns.size), (np.arange(columns.size), columns)), shape=(columns.size, num_inputs))
    return block @ place
