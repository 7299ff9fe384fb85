"""The paper's ablation: both components of every layer as columns, following theorem 3.1 layer by layer.

    P_l = sum_m (A_lm^+ G_m + A_lm^- H_m) + B_l x + b_l,    Q_l = sum_m (A_lm^- G_m + A_lm^+ H_m)
    G_l >= P_l,   G_l >= H_l,   H_l >= Q_l,    G_r = d'x + beta + sum_l (nu_l^+)' G_l + (nu_l^-)' H_l

A stage that uses the input alone has H = 0 and no column for it, so a plain network has 2 N - n_1 columns.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array, Matrix
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.epigraph import Epigraph, join, repeat_over_blocks, spread_over_blocks
from dcembed.embedded.measured_network import MeasuredNetwork
from dcembed.embedded.relu_only import require_relu
from dcembed.embedded.room import LAZY_INSTEAD, require_room_for_units
from dcembed.network.affine import Affine
from dcembed.network.network import Network, preactivations, units
from dcembed.network.split import measure, negative_part, positive_part


def build_two_path(embedded: EmbeddedProgram) -> Epigraph:
    """The two-path epigraph of every network in the problem."""
    instead = 'Use formulation="lazy", the default, which takes all of them.'
    require_relu((measured.network for measured in embedded.networks), 'The formulation "two-path"', instead)
    # Each unit is there twice.
    require_room_for_units(((m.network, 2 * m.num_blocks) for m in embedded.networks), 'The formulation "two-path"', LAZY_INSTEAD)
    size = embedded.restrictions.num_restrictions + 1
    return join([_build(measured, size) for measured in embedded.networks if measured.network.num_hidden], embedded)


def two_path_values(embedded: EmbeddedProgram, w: Array) -> Array:
    """The smallest auxiliary columns at w: they minimize every G at once."""
    return np.concatenate([np.zeros(0), *(_values(measured, w) for measured in embedded.networks if measured.network.num_hidden)])


def _build(measured: MeasuredNetwork, size: int) -> Epigraph:
    network, k = measured.network, measured.num_blocks
    # Groups of columns: G_1..G_L, then H_l of each stage that has one.
    deep = _deep_stages(network)
    convex = {index: index for index in range(len(network.stages))}
    concave = {index: len(network.stages) + number for number, index in enumerate(deep)}
    widths = [*network.widths, *(network.widths[index] for index in deep)]

    rows: list[tuple[dict[int, Matrix], Matrix | None, Array]] = []
    for index, stage in enumerate(network.stages):
        p, q = _paths(stage, convex, concave)
        eye = sp.eye_array(stage.num_rows, format="csr")
        rows.append(({**_negate(p), convex[index]: eye}, stage.weights.get(0), stage.bias))
        if index in concave:
            nothing = np.zeros(stage.num_rows)
            rows.append(({convex[index]: eye, concave[index]: -eye}, None, nothing))
            rows.append(({**_negate(q), concave[index]: eye}, None, nothing))

    direct = measure(network, measured.directions)[0]
    kept = [np.maximum(nu, 0.0) for nu in direct] + [np.maximum(-direct[index], 0.0) for index in deep]
    return Epigraph(
        lb=np.zeros(k * sum(widths)),
        on_host=sp.vstack([_on_host(measured, weight, constant.size) for _, weight, constant in rows], format="csr"),
        on_auxiliary=sp.vstack([_on_groups(groups, widths, k) for groups, _, _ in rows], format="csr"),
        row_lb=np.concatenate([_row_lb(measured, weight, constant) for _, weight, constant in rows]),
        kept=spread_over_blocks(measured, kept, size),
    )


def _paths(stage: Affine, convex: dict[int, int], concave: dict[int, int]) -> tuple[dict[int, Matrix], dict[int, Matrix]]:
    """P and Q of a stage as weights on groups of columns."""
    p, q = {}, {}
    for source, block in stage.weights.items():
        if source == 0:
            continue
        p[convex[source - 1]], q[convex[source - 1]] = positive_part(block), negative_part(block)
        if source - 1 in concave:
            p[concave[source - 1]], q[concave[source - 1]] = negative_part(block), positive_part(block)
    return p, q


def _negate(weights: dict[int, Matrix]) -> dict[int, Matrix]:
    return {group: -block for group, block in weights.items()}


def _on_groups(groups: dict[int, Matrix], widths: list[int], k: int) -> sp.csr_array:
    height = next(iter(groups.values())).shape[0]
    return sp.hstack(
        [repeat_over_blocks(groups[g], k) if g in groups else sp.csr_array((k * height, k * width)) for g, width in enumerate(widths)],
        format="csr",
    )


def _on_host(measured: MeasuredNetwork, weight: Matrix | None, height: int) -> sp.csr_array:
    if weight is None:
        return sp.csr_array((measured.num_blocks * height, measured.maps.shape[1]))
    return sp.csr_array(-repeat_over_blocks(weight, measured.num_blocks) @ measured.block_maps())


def _row_lb(measured: MeasuredNetwork, weight: Matrix | None, constant: Array) -> Array:
    tiled = np.tile(constant, (measured.num_blocks, 1))
    return (tiled if weight is None else tiled + measured.offset @ weight.T).reshape(-1)


def _deep_stages(network: Network) -> list[int]:
    """The stages that use others, and so have a component H."""
    return [index for index, stage in enumerate(network.stages) if any(source > 0 for source in stage.weights)]


def _values(measured: MeasuredNetwork, w: Array) -> Array:
    """G and H of every unit at w, from eta_l = sum_m A_lm^- z_m + |A_lm| eta_m, H = eta, G = z + eta."""
    network = measured.network
    z = units(network, preactivations(network, measured.points(w)))
    eta: list[Array] = []
    for stage in network.stages:
        value = np.zeros((measured.num_blocks, stage.num_rows))
        for source, block in stage.weights.items():
            if source > 0:
                value += z[source - 1] @ negative_part(block).T + eta[source - 1] @ abs(block).T
        eta.append(value)
    groups = [a + b for a, b in zip(z, eta, strict=True)] + [eta[index] for index in _deep_stages(network)]
    return np.concatenate([group.reshape(-1) for group in groups])
