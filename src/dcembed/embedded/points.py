"""Many candidates at once, measured in one batched pass of each network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.collapsed import Collapsed, collapsed_inputs, collapsed_slopes, collapsed_units, collapsed_values
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.measured_network import MeasuredNetwork, adder
from dcembed.embedded.measurements import num_measurements
from dcembed.network.activations import RELU
from dcembed.network.backpropagation import backpropagate
from dcembed.network.chunks import slices
from dcembed.network.network import Network, evaluate, preactivations
from dcembed.network.split import measure
from dcembed.program.matrices import half_square

# Numbers that the inputs and predictions of some points may hold at a time, 40 MB.
CHUNK_ENTRIES = 5_000_000


@dataclass(frozen=True, eq=False)
class Points:
    """k candidates by their kept columns, and what `Point` has of each; violations of the host alone are not measured.

    Parameters
    ----------
    w
        Shape (k, n), integers rounded.
    objective
        F, shape (k,).
    neural, excess, slack
        As in `Point`, shapes (k, s + 1), (k, s) and (k, number of slacks).
    outside
        What rows of the host fail by, where somebody has measured that, shape (k,).
    """

    w: Array
    objective: Array
    neural: Array
    excess: Array
    slack: Array
    outside: Array | float = 0.0

    def merit(self, penalty: float | Array) -> Array:
        """F + tau * (sum of slacks and of what is outside) of each, shape (k,); tau may differ from point to point."""
        merit: Array = self.objective + penalty * (self.slack.sum(axis=1) + self.outside)
        return merit


def measure_points(embedded: EmbeddedProgram, w: Array) -> Points:
    """Round the integers of each row of `w` (k, n) and measure."""
    w = np.where(embedded.host.integer, np.round(w) + 0.0, w)
    return weigh_points(embedded, w, evaluate_points(embedded, w))


def join_points(parts: Sequence[Points]) -> Points:
    """The points of all parts, in order."""
    return Points(*(_joined([getattr(part, each.name) for part in parts]) for each in fields(Points)))


def _joined(arrays: list[Any]) -> Any:
    return np.concatenate(arrays) if np.ndim(arrays[0]) else arrays[0]


def weigh_points(embedded: EmbeddedProgram, w: Array, neural: Array) -> Points:
    """Objective and excess of points whose network parts are known."""
    host, restrictions = embedded.host, embedded.restrictions
    objective = host.offset + w @ host.cost + neural[:, 0] + half_square(host.quadratic, w)
    value = (restrictions.linear @ w.T).T + neural[:, 1:] - restrictions.rhs
    off = (restrictions.indicator >= 0) & (np.round(w[:, restrictions.indicator]) != restrictions.indicator_value)
    excess = np.where(off, 0.0, np.maximum(value, 0.0))
    slack = np.zeros((restrictions.num_slacks, w.shape[0]))
    np.maximum.at(slack, restrictions.slack, excess.T)
    return Points(w, objective, neural, excess, slack.T)


def evaluate_points(embedded: EmbeddedProgram, w: Array) -> Array:
    """The network part of every measurement at each point, shape (k, s + 1)."""
    total = np.zeros((w.shape[0], num_measurements(embedded)))
    total[:, 0] = -half_square(embedded.concave, w)
    for measured in embedded.networks:
        plain, network = measured.plain, measured.network
        for chunk in slices(w.shape[0], plain.num_blocks * (network.num_inputs + network.num_outputs), CHUNK_ENTRIES):
            outputs = evaluate(network, _inputs(plain, w[chunk]).reshape(-1, network.num_inputs))
            total[chunk, : plain.usage.shape[0]] += (
                plain.usage @ outputs.reshape(w[chunk].shape[0], plain.num_blocks * network.num_outputs).T
            ).T
        if measured.collapsed is not None:
            for chunk in slices(w.shape[0], measured.collapsed.cost, CHUNK_ENTRIES):
                total[chunk] += _collapsed_values(measured, measured.collapsed, w[chunk], total.shape[1])
    return total


def _collapsed_values(measured: MeasuredNetwork, collapsed: Collapsed, w: Array, num_measurements: int) -> Array:
    """What the collapsed terms add to every measurement at each point, shape (k, s + 1)."""
    weights, slope, constant = measured.direct
    values = collapsed_values(collapsed, collapsed_inputs(collapsed, w), weights[0], slope, constant)
    return _by_measurement(measured, collapsed, values, num_measurements)


def _by_measurement(measured: MeasuredNetwork, collapsed: Collapsed, values: Array, size: int) -> Array:
    """Values of the groups (k, g) added up by their measurements, shape (k, size)."""
    added: Array = (adder(measured.parts.measurement[collapsed.part], np.ones(collapsed.num_groups), size) @ values.T).T
    return added


def gradient_of_points(embedded: EmbeddedProgram, w: Array, weights: Array) -> Array:
    """Gradient in the columns, at each point, of its own sum of the networks; `weights` is (k, s + 1). Shape (k, n)."""
    total = np.zeros(w.shape)
    for measured in embedded.networks:
        for chunk in slices(w.shape[0], measured.plain.num_blocks * _num_passed(measured.network), CHUNK_ENTRIES):
            total[chunk] += _gradient(measured.plain, w[chunk], weights[chunk])
        if measured.collapsed is not None:
            for chunk in slices(w.shape[0], measured.collapsed.cost, CHUNK_ENTRIES):
                total[chunk] += _collapsed_gradient(measured, measured.collapsed, w[chunk], weights[chunk])
    return total


def _collapsed_gradient(measured: MeasuredNetwork, collapsed: Collapsed, w: Array, weights: Array) -> Array:
    """Gradient of the collapsed terms, shape (k, n)."""
    units, slope, _ = measured.direct
    (gradient,) = collapsed_slopes(collapsed, collapsed_inputs(collapsed, w), [units[0]], on_at_kinks=None)
    gradient = gradient + collapsed.mass[:, None] * slope[collapsed.direction]
    gradient = gradient * weights[:, measured.parts.measurement[collapsed.part]][:, :, None]
    pulled: Array = (collapsed.maps.T @ gradient.reshape(w.shape[0], -1).T).T
    return pulled


def _gradient(measured: MeasuredNetwork, w: Array, weights: Array) -> Array:
    """Gradient of the terms that are evaluated one by one, shape (k, n)."""
    network, size = measured.network, w.shape[0]
    nu = (measured.usage.T @ weights[:, : measured.usage.shape[0]].T).T.reshape(size, -1, network.num_outputs)
    moved = _moved(measured, w)
    by_map = np.zeros((moved.shape[1], size, network.num_inputs))
    # Very many blocks are more than a chunk even at one point.
    for blocks in slices(measured.num_blocks, size * _num_passed(network), CHUNK_ENTRIES):
        inputs = moved[:, measured.map_of[blocks]] + measured.offset[blocks]
        gradient = _gradient_of_blocks(network, inputs.reshape(-1, network.num_inputs), nu[:, blocks].reshape(-1, network.num_outputs))
        np.add.at(by_map, measured.map_of[blocks], gradient.reshape(inputs.shape).transpose(1, 0, 2))
    pulled: Array = (measured.maps.T @ by_map.transpose(0, 2, 1).reshape(-1, size)).T
    return pulled


def _gradient_of_blocks(network: Network, points: Array, nu: Array) -> Array:
    """Gradient of nu'f in the inputs at each point, shape (t, n_in)."""
    before = preactivations(network, points)
    active = [stage > 0 if kind is RELU else kind.slope(stage) for kind, stage in zip(network.activations, before, strict=True)]
    units, slope, _ = measure(network, nu)
    # A network without stages is affine.
    return backpropagate(network, active, units) + slope if network.stages else slope


def _num_passed(network: Network) -> int:
    """Numbers that a forward and a backward pass of one evaluation hold."""
    return network.num_inputs + 3 * network.num_hidden + network.num_outputs


def _moved(measured: MeasuredNetwork, w: Array) -> Array:
    """Inputs without their constants at each point, of each map: shape (k, g, n_in)."""
    moved: Array = (measured.maps @ w.T).T.reshape(w.shape[0], -1, measured.network.num_inputs)
    return moved


def _inputs(measured: MeasuredNetwork, w: Array) -> Array:
    """Inputs of all blocks at each point, shape (k, blocks, n_in)."""
    inputs: Array = _moved(measured, w)[:, measured.map_of] + measured.offset
    return inputs


def concave_heights(embedded: EmbeddedProgram, w: Array) -> Array:
    """The components H of all measurements at each point, shape (k, s + 1), of a problem whose terms are all collapsed."""
    total = np.zeros((w.shape[0], num_measurements(embedded)))
    total[:, 0] = half_square(embedded.concave, w)
    for measured in embedded.networks:
        if (collapsed := measured.collapsed) is not None:
            (values,) = collapsed_units(collapsed, collapsed_inputs(collapsed, w), [measured.split.concave[0]])
            total += _by_measurement(measured, collapsed, values, total.shape[1])
    return total


def evaluation_cost(embedded: EmbeddedProgram) -> int:
    """Multiplications in the forward passes of one point."""
    return sum(
        measured.plain.num_blocks * _num_weights(measured) + (0 if measured.collapsed is None else measured.collapsed.cost)
        for measured in embedded.networks
    )


def _num_weights(measured: MeasuredNetwork) -> int:
    layers = (*measured.network.stages, measured.network.output)
    return sum(int(block.size) for layer in layers for block in layer.weights.values())
