"""The same network with convex units alone: every other activation is replaced by its convex parts.

A stage z = phi(a) becomes one stage for each part of phi, u_j = psi_j(direction_j a), and what uses z uses
constant + tilt * a + sum_j weight_j u_j instead. A network of ReLU units is in this form already.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array, Matrix
from dcembed.network.activations import Activation
from dcembed.network.activations.parts import ConvexParts, convex_parts, is_convex_unit
from dcembed.network.affine import Affine
from dcembed.network.network import Network

# For each stage the lower and upper bounds of its pre-activations, each of shape (k, width).
StageBounds = list[tuple[Array, Array]]


@dataclass(frozen=True, eq=False)
class ConvexForm:
    """A network of convex units, and where its stages come from.

    Parameters
    ----------
    network
        All its activations are convex, nondecreasing and nonnegative.
    origin
        For each of its stages the stage of the original whose pre-activations it has, counted from 0, and 1 or -1 for their sign.
    """

    network: Network
    origin: tuple[tuple[int, float], ...]

    def bounds(self, original: StageBounds) -> StageBounds:
        """The bounds of its pre-activations, given those of the original."""
        return [original[stage] if sign > 0 else (-original[stage][1], -original[stage][0]) for stage, sign in self.origin]


def convex_form(network: Network) -> ConvexForm:
    """The network with convex units alone.

    Examples
    --------
    >>> from dcembed.network import NetworkBuilder
    >>> from dcembed.network.activations import find_activation
    >>> builder = NetworkBuilder((1,))
    >>> form = convex_form(builder.finish(builder.activate(builder.input, find_activation("tanh"))))
    >>> form.origin
    ((0, -1.0), (0, 1.0))
    >>> float(form.network([2.0]).item()) == float(np.tanh(2.0))
    True
    """
    if all(is_convex_unit(activation) for activation in network.activations):
        return ConvexForm(network, tuple((index, 1.0) for index in range(len(network.stages))))
    stages: list[Affine] = []
    activations: list[Activation] = []
    origin: list[tuple[int, float]] = []
    # What stands for each source: an affine map of the input and of the new stages.
    values = [Affine({0: sp.eye_array(network.num_inputs, format="csr")}, np.zeros(network.num_inputs))]
    for index, (stage, activation) in enumerate(zip(network.stages, network.activations, strict=True)):
        before, parts = _substitute(stage, values), convex_parts(activation)
        first = len(stages) + 1
        stages += [before if part.direction > 0 else _scale(before, -1.0) for part in parts.parts]
        activations += [part.unit for part in parts.parts]
        origin += [(index, part.direction) for part in parts.parts]
        values.append(_value(before, parts, first))
    output = _substitute(network.output, values)
    return ConvexForm(Network(network.num_inputs, tuple(stages), output, network.input_names, tuple(activations)), tuple(origin))


def _value(before: Affine, parts: ConvexParts, first: int) -> Affine:
    """constant + tilt * a + the parts, whose stages begin with the first."""
    size = before.num_rows
    linear = _scale(before, parts.tilt) if parts.tilt else Affine({}, np.zeros(size))
    units = {first + number: part.weight * sp.eye_array(size, format="csr") for number, part in enumerate(parts.parts)}
    return Affine({**linear.weights, **units}, linear.bias + parts.constant)


def _scale(affine: Affine, factor: float) -> Affine:
    return Affine({source: factor * block for source, block in affine.weights.items()}, factor * affine.bias)


def _substitute(affine: Affine, values: list[Affine]) -> Affine:
    weights: dict[int, Matrix] = {}
    bias = affine.bias.copy()
    for source, block in affine.weights.items():
        bias += block @ values[source].bias
        for inner, part in values[source].weights.items():
            product = _product(block, part)
            weights[inner] = weights[inner] + product if inner in weights else product
    return Affine(weights, bias)


def _product(block: Matrix, part: Matrix) -> Matrix:
    """Dense times a scaled identity stays an array."""
    product = block @ part
    return product if sp.issparse(product) else np.asarray(product)
