"""Evaluations that share their decisions as one function of them: thousands of scenarios of one design cost as much as a few.

The inputs of the terms of a group are M w + o_s with the same M. With one hidden stage the group is

    sum_s scale_s (nu' f)(M w + o_s) = sum_s scale_s (d'(M w + o_s) + beta) + sum_j nu_j phi_j(t_j),    t = W M w,

with phi_j(t) = sum_s scale_s max(t + (W o_s + b)_j, 0): a function of one number for each unit, whatever the number of terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.grouping import distinct_pairs
from dcembed.embedded.ramps import CELL_RAMPS, Ramps, build_ramps, ramp_slopes, ramp_values
from dcembed.network.network import Network
from dcembed.tolerances import KINK_TOL

# Groups of fewer terms are evaluated term by term, which costs as little.
MIN_TERMS = 512
# Ramps, four bytes each, up to which terms are collapsed.
MAX_RAMPS = 100_000_000


@dataclass(frozen=True, eq=False)
class Groups:
    """Terms of one part and one direction, group after group.

    Parameters
    ----------
    terms, edges
        Numbers of the terms, shape (t,), and where each group begins and ends among them, shape (g + 1,).
    part, direction
        Of each group, shapes (g,).
    """

    terms: Array
    edges: Array
    part: Array
    direction: Array


@dataclass(frozen=True, eq=False)
class Collapsed:
    """The groups of one measured network.

    Parameters
    ----------
    part, direction
        Of each group, shapes (g,).
    maps
        How their inputs depend on the columns, one below the other: shape (g * n_in, n).
    weights
        W of the one stage, shape (width, n_in).
    mass, offset
        Sums of the scales, and of the scaled constants in the inputs: shapes (g,) and (g, n_in).
    ramps
        The functions phi.
    """

    part: Array
    direction: Array
    maps: sp.csr_array
    weights: Array
    mass: Array
    offset: Array
    ramps: Ramps

    @property
    def num_groups(self) -> int:
        """g, the number of groups."""
        return self.part.size

    @property
    def cost(self) -> int:
        """About how many multiplications the functions of one point take: twice a look into a cell of every unit."""
        width, num_columns = self.ramps.weights.shape
        return self.num_groups * int(self.weights.size + 2 * CELL_RAMPS * width * (num_columns + 2))


def find_groups(part: Array, direction: Array, num_units: int) -> Groups | None:
    """Terms of equal part and direction, as far as they are many; None where none are, or all together take too much memory."""
    if part.size < MIN_TERMS:
        return None
    parts, directions, group = distinct_pairs(part, direction)
    size = np.bincount(group)
    is_large = size >= MIN_TERMS
    if not is_large.any() or size[is_large].sum() * num_units > MAX_RAMPS:
        return None
    order = np.argsort(group, kind="stable")
    edges = np.concatenate([[0], np.cumsum(size[is_large])])
    return Groups(order[is_large[group[order]]], edges, parts[is_large], directions[is_large])


def build_collapsed(network: Network, groups: Groups, maps: sp.csr_array, offset: Array, scale: Array) -> Collapsed:
    """Collapse the groups: the maps of each, and the offset (t, n_in) and scale (t,) of each of their terms."""
    (stage,) = network.stages
    block = stage.weights.get(0, np.zeros((stage.num_rows, network.num_inputs)))
    weights = block if isinstance(block, np.ndarray) else block.toarray()
    ends = list(zip(groups.edges[:-1], groups.edges[1:], strict=True))
    return Collapsed(
        part=groups.part,
        direction=groups.direction,
        maps=maps,
        weights=weights,
        mass=np.array([scale[start:stop].sum() for start, stop in ends]),
        offset=np.array([scale[start:stop] @ offset[start:stop] for start, stop in ends]),
        ramps=build_ramps(weights, stage.bias, offset, scale, groups.edges),
    )


def collapsed_inputs(collapsed: Collapsed, w: Array) -> Array:
    """M w of each group at a point (n,), or at each of many (k, n): shape (..., g, n_in)."""
    inputs: Array = (collapsed.maps @ w.T).T
    return inputs.reshape(*w.shape[:-1], collapsed.num_groups, -1)


def collapsed_values(collapsed: Collapsed, inputs: Array, weights: Array, slope: Array, constant: Array) -> Array:
    """Values of the groups, shape (..., g), given M w and nu, d and beta of all directions: (D, width), (D, n_in) and (D,)."""
    direction = collapsed.direction
    affine = collapsed.mass[:, None] * inputs + collapsed.offset
    (units,) = collapsed_units(collapsed, inputs, [weights])
    value: Array = units + np.einsum("...gi,gi->...g", affine, slope[direction]) + collapsed.mass * constant[direction]
    return value


def collapsed_units(collapsed: Collapsed, inputs: Array, components: Sequence[Array]) -> list[Array]:
    """The unit part alone, sum_j weights_j phi_j, shape (..., g), for each component's weights (D, width)."""
    units = ramp_values(collapsed.ramps, inputs @ collapsed.weights.T)
    return [np.einsum("...gj,gj->...g", units, weights[collapsed.direction]) for weights in components]


def collapsed_slopes(collapsed: Collapsed, inputs: Array, components: Sequence[Array], on_at_kinks: bool | None = True) -> list[Array]:
    """Gradients in M w of the unit part of each group, shape (..., g, n_in), for each component's weights (D, width).

    Units at a kink, to rounding, count as active or not; None asks for what is positive, whatever the rounding.
    """
    least, is_strict = (0.0, True) if on_at_kinks is None else (-KINK_TOL, False) if on_at_kinks else (KINK_TOL, True)
    active = ramp_slopes(collapsed.ramps, inputs @ collapsed.weights.T, least, is_strict)
    return [(active * weights[collapsed.direction]) @ collapsed.weights for weights in components]


def largest_units(collapsed: Collapsed, stage_ub: Array, bias: Array, weights: Array) -> Array:
    """Upper bounds of sum_j weights_j phi_j of each group with nonnegative weights (D, width), given those of W M w + b: (g, width)."""
    own = weights[collapsed.direction]
    # A unit without weight may be as large as it likes: zero times infinity is zero.
    largest = np.where(own > 0, ramp_values(collapsed.ramps, stage_ub - bias), 0.0)
    reach: Array = np.einsum("gj,gj->g", own, largest)
    return reach
