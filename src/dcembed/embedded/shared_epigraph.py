"""The paper's shared epigraph (theorem 4.2): one column u and two inequalities per hidden unit.

u_l >= sum_m A_lm u_m + B_l x + b_l,    u_l >= 0,    G_r = d'x + beta + sum_l (nu_l^+ + c_l)' u_l
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.epigraph import Epigraph, join, repeat_over_blocks, spread_over_blocks
from dcembed.embedded.measured_network import MeasuredNetwork
from dcembed.embedded.relu_only import require_relu
from dcembed.embedded.room import LAZY_INSTEAD, require_room_for_units
from dcembed.network.network import preactivations, units


def build_shared(embedded: EmbeddedProgram) -> Epigraph:
    """The shared epigraph of every network in the problem."""
    instead = 'Use formulation="lazy", the default, which takes all of them.'
    require_relu((measured.network for measured in embedded.networks), 'The formulation "shared"', instead)
    require_room_for_units(((m.network, m.num_blocks) for m in embedded.networks), 'The formulation "shared"', LAZY_INSTEAD)
    size = embedded.restrictions.num_restrictions + 1
    return join([_build(measured, size) for measured in embedded.networks if measured.network.num_hidden], embedded)


def shared_values(embedded: EmbeddedProgram, w: Array) -> Array:
    """The smallest auxiliary columns at w, the units themselves: they minimize every G at once."""
    stages = [z for measured in embedded.networks for z in units(measured.network, preactivations(measured.network, measured.points(w)))]
    return np.concatenate([np.zeros(0), *(z.reshape(-1) for z in stages)])


def _build(measured: MeasuredNetwork, size: int) -> Epigraph:
    network, k = measured.network, measured.num_blocks
    num_columns = k * network.num_hidden
    on_host, on_units, row_lb = [], [], []
    for index, stage in enumerate(network.stages):
        blocks = [sp.csr_array((k * stage.num_rows, k * width)) for width in network.widths]
        blocks[index] = sp.eye_array(k * stage.num_rows, format="csr")
        host, constant = sp.csr_array((k * stage.num_rows, measured.maps.shape[1])), np.tile(stage.bias, (k, 1))
        for source, weight in stage.weights.items():
            if source == 0:
                host = -repeat_over_blocks(weight, k) @ measured.block_maps()
                constant = constant + measured.offset @ weight.T
            else:
                blocks[source - 1] = -repeat_over_blocks(weight, k)
        on_host.append(host)
        on_units.append(sp.hstack(blocks, format="csr"))
        row_lb.append(constant.reshape(-1))
    return Epigraph(
        lb=np.zeros(num_columns),
        on_host=sp.vstack(on_host, format="csr"),
        on_auxiliary=sp.vstack(on_units, format="csr"),
        row_lb=np.concatenate(row_lb),
        kept=spread_over_blocks(measured, list(measured.split.convex), size),
    )
