"""One embedding as objective and restrictions see it: which evaluations are used, where, and with what weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.collapsed import MIN_TERMS, Collapsed, Groups, build_collapsed, find_groups
from dcembed.embedded.grouping import distinct, outside
from dcembed.network.affine import apply_affine
from dcembed.network.convex_form import ConvexForm, convex_form
from dcembed.network.network import CHUNK_ENTRIES, Network, chunks, pass_through
from dcembed.network.split import Split, measure, split
from dcembed.sparse import from_entries, take_rows, times

# Numbers up to which constants of the first stage, and weights of units, are kept, 80 MB.
MAX_CONSTANTS = 10_000_000
# Passes that are remembered: of a point, and of the candidate that a step from there has led to.
NUM_PASSES = 2


@dataclass(frozen=True, eq=False)
class Terms:
    """Where the predictions of one embedding are used: measurement += scale * (direction' f)(x of block).

    Parameters
    ----------
    measurement
        0 is the objective, i + 1 the i-th restriction. Shape (t,), as are all fields.
    block
        Which evaluation of the batch.
    direction
        Which row of `MeasuredNetwork.directions`.
    scale
        Positive factor; the split is positively homogeneous, so equal directions are split once.
    part
        Which part (see `Parts`) the term belongs to.
    """

    measurement: Array
    block: Array
    direction: Array
    scale: Array
    part: Array


@dataclass(frozen=True, eq=False)
class Parts:
    """Terms of one measurement whose inputs have the same coefficients on the columns, as one function of those columns.

    Thousands of scenarios of one design are one part; evaluations with inputs of their own are parts of their own.

    Parameters
    ----------
    measurement
        Of each part, shape (p,).
    map
        The map of the inputs of all its terms, shape (p,).
    """

    measurement: Array
    map: Array

    @property
    def num_parts(self) -> int:
        """p, the number of parts."""
        return self.measurement.size


def adder(target: Array, scale: Array, size: int) -> sp.csr_array:
    """Adds scaled values to their targets, shape (size, number of values)."""
    return from_entries(target, np.arange(target.size), scale, (size, target.size))


@dataclass(frozen=True, eq=False)
class Pass:
    """A forward pass over some blocks: their inputs (k, n_in), and pre-activations and units of all stages, each (k, width)."""

    points: Array
    before: list[Array]
    units: list[Array]


class Memory:
    """The last passes over all blocks, the latest first, each beside the point where it was made. It is replaced as a whole, never changed."""

    def __init__(self) -> None:
        self.passes: tuple[tuple[Array, Pass], ...] = ()


@dataclass(frozen=True, eq=False)
class MeasuredNetwork:
    """One embedding as the restrictions see it: the evaluations that are used, and how.

    Parameters
    ----------
    number
        Which embedding it is.
    network
        Its network.
    evaluations
        Which evaluations of its batch are used: the blocks, shape (k,).
    maps
        The different ways in which the inputs of a block depend on the columns, shape (g * n_in, n); thousands of scenarios of
        one design have one.
    map_of
        Which of them each block has, shape (k,).
    offset
        Constants in the inputs of each block, shape (k, n_in).
    directions
        The different measurements of the predictions, shape (d, n_out).
    terms, parts
        Where the predictions are used.
    """

    number: int
    network: Network
    evaluations: Array
    maps: sp.csr_array
    map_of: Array
    offset: Array
    directions: Array
    terms: Terms
    parts: Parts

    @cached_property
    def split(self) -> Split:
        """The split of the directions, for the whole input space, in the units of the convex form."""
        return split(self.convex_form.network, self.directions)

    @cached_property
    def convex_form(self) -> ConvexForm:
        """The network with convex units alone: itself if its units are ReLU."""
        return convex_form(self.network)

    @cached_property
    def convex(self) -> MeasuredNetwork:
        """The same with the convex form as its network, which is what splits are of."""
        network = self.convex_form.network
        return self if network is self.network else replace(self, network=network)

    @cached_property
    def direct(self) -> tuple[list[Array], Array, Array]:
        """Weights of the units (d, width), stage by stage, of the inputs (d, n_in), and constants (d,) in the directions themselves."""
        return measure(self.network, self.directions)

    @cached_property
    def direct_slope(self) -> Array:
        """Weights of the inputs alone, shape (d, n_in)."""
        block = self.network.output.weights.get(0)
        return np.zeros((self.directions.shape[0], self.network.num_inputs)) if block is None else np.asarray(self.directions @ block)

    def direct_weights(self, directions: Array) -> list[Array]:
        """Weights of the units in some of the directions, each of shape (t, width).

        Evaluations that are each weighed in a way of their own have as many weights as there are units in all of them: beyond a number these
        are computed for those that are asked for, and not kept.
        """
        if self.directions.shape[0] * self.network.num_hidden > MAX_CONSTANTS:
            return measure(self.network, self.directions[directions])[0]
        return [weight[directions] for weight in self.direct[0]]

    def weights_of_terms(self, directions: Array) -> list[Array]:
        """The same; those of all terms that are evaluated one by one are kept where a pass over them is no larger than others are."""
        is_small = directions.size * self.network.num_hidden <= CHUNK_ENTRIES
        return self._all_weights if is_small and np.array_equal(directions, self.plain.terms.direction) else self.direct_weights(directions)

    @cached_property
    def _all_weights(self) -> list[Array]:
        return self.direct_weights(self.plain.terms.direction)

    @cached_property
    def collapsed(self) -> Collapsed | None:
        """The terms that are evaluated together, without a pass over them; None where there are none."""
        groups = self._groups
        if groups is None:
            return None
        block, scale = self.terms.block[groups.terms], self.terms.scale[groups.terms]
        is_all = block.size == self.num_blocks and bool((block == np.arange(block.size)).all())
        rows = self.rows_of(self.parts.map[groups.part]).reshape(-1)
        return build_collapsed(self.network, groups, sp.csr_array(self.maps[rows]), self.offset if is_all else self.offset[block], scale)

    @cached_property
    def plain(self) -> MeasuredNetwork:
        """The same with the terms that are evaluated one by one: itself where nothing is collapsed."""
        if self._groups is None:
            return self
        terms = self.terms
        rest = outside(terms.block.size, self._groups.terms)
        blocks, block = distinct(terms.block[rest])
        return replace(
            self,
            evaluations=self.evaluations[blocks],
            map_of=self.map_of[blocks],
            offset=self.offset[blocks],
            terms=Terms(terms.measurement[rest], block, terms.direction[rest], terms.scale[rest], terms.part[rest]),
        )

    @cached_property
    def _groups(self) -> Groups | None:
        # With more stages the units of the second depend on all of the first; sums of ReLU units have few kinks, sums of others none.
        if len(self.network.stages) != 1 or not self.network.is_piecewise_linear:
            return None
        return find_groups(self.terms.part, self.terms.direction, self.network.num_hidden)

    @cached_property
    def term_sums(self) -> sp.csr_array:
        """Adds scaled terms to their parts, shape (p, t)."""
        return adder(self.terms.part, self.terms.scale, self.parts.num_parts)

    @cached_property
    def part_maps(self) -> sp.csr_array:
        """The maps of all parts one below the other, shape (p * n_in, n)."""
        return take_rows(self.maps, self.rows_of(self.parts.map).reshape(-1))

    @cached_property
    def usage(self) -> sp.csr_array:
        """Coefficients of all predictions in the measurements, as far as the last that has one: shape (measurements, k * n_out)."""
        terms, width = self.terms, self.network.num_outputs
        column = terms.block[:, None] * width + np.arange(width)
        row = np.broadcast_to(terms.measurement[:, None], column.shape)
        value = terms.scale[:, None] * self.directions[terms.direction]
        shape = int(terms.measurement.max(initial=-1)) + 1, self.num_blocks * width
        return from_entries(row.reshape(-1), column.reshape(-1), value.reshape(-1), shape)

    @property
    def num_blocks(self) -> int:
        """k, the evaluations that are used."""
        return self.map_of.size

    def predict(self, w: Array) -> Array:
        """The predictions of all blocks in one pass, shape (k, n_out)."""
        if (known := self.passes_at(w)) is not None:
            return apply_affine(self.network.output, [known.points, *known.units])
        values, moved = np.empty((self.num_blocks, self.network.num_outputs)), self.moved(w)
        for chunk in chunks(self.num_blocks, self.network):
            made = self.pass_through(moved, chunk)
            values[chunk] = apply_affine(self.network.output, [made.points, *made.units])
        return values

    def passes_at(self, w: Array) -> Pass | None:
        """The forward pass of all blocks at once, remembered from when it was last asked for; None where that is too much to be held.

        A point is measured, linearized and compared with the next one: its pass is the same.
        """
        if self.num_blocks * self.network.num_entries > CHUNK_ENTRIES:
            return None
        memory = self._memory
        for at, known in memory.passes:
            if np.array_equal(at, w):
                return known
        made = self.pass_through(self.moved(w), slice(None))
        memory.passes = ((w.copy(), made), *memory.passes[: NUM_PASSES - 1])
        return made

    @cached_property
    def _memory(self) -> Memory:
        return Memory()

    def __getstate__(self) -> dict[str, object]:
        """The network as it is sent to others: what was passed through stays here."""
        return {name: value for name, value in vars(self).items() if name != "_memory"}

    def pass_through(self, moved: Array, blocks: Array | slice) -> Pass:
        """The forward pass of some blocks, given the inputs of all maps without their constants."""
        points, constants = self.inputs(moved, blocks), self.first_constants
        if constants is None:
            return Pass(points, *pass_through(self.network, points))
        moving = moved @ self.network.stages[0].weights[0].T
        return Pass(points, *pass_through(self.network, points, moving[self.map_of[blocks]] + constants[blocks]))

    @cached_property
    def first_constants(self) -> Array | None:
        """What the first of several stages has from constants in the inputs, shape (k, width), where many blocks share few maps."""
        stages = self.network.stages
        if len(stages) < 2 or 0 not in stages[0].weights or self.num_blocks * stages[0].num_rows > MAX_CONSTANTS:
            return None
        num_maps = self.maps.shape[0] // self.network.num_inputs
        if self.num_blocks < MIN_TERMS * num_maps:
            return None
        constants: Array = self.offset @ stages[0].weights[0].T + stages[0].bias
        return constants

    def points(self, w: Array, blocks: Array | slice = slice(None)) -> Array:
        """Inputs of the blocks, shape (number of blocks, n_in)."""
        return self.inputs(self.moved(w), blocks)

    def moved(self, w: Array) -> Array:
        """Inputs without their constants, of each map: shape (g, n_in). A pass over chunks of blocks asks for them once."""
        return self.spread(times(self.maps, w))

    def inputs(self, moved: Array, blocks: Array | slice) -> Array:
        """Inputs of some blocks, given those of all maps without their constants: shape (number of blocks, n_in)."""
        inputs: Array = moved[self.map_of[blocks]] + self.offset[blocks]
        return inputs

    def spread(self, values: Array) -> Array:
        """Values per row of `maps` as (g, n_in)."""
        return values.reshape(-1, self.network.num_inputs)

    def rows_of(self, maps: Array) -> Array:
        """Row numbers in `maps` of each of the given maps, shape (number of maps, n_in)."""
        return maps[:, None] * self.network.num_inputs + np.arange(self.network.num_inputs)

    def block_maps(self) -> sp.csr_array:
        """The maps of all blocks one below the other, shape (k * n_in, n)."""
        return take_rows(self.maps, self.rows_of(self.map_of).reshape(-1))
