"""The units of every evaluation as columns: a = z - s with z, s >= 0, exact wherever z or s is zero.

    z_l - s_l = sum_m A_lm z_m + B_l x + b_l,     prediction = sum_m C_m z_m + D x + e

z is the unit and s = z - a what it cuts off, so each row of weights is written once. A unit that is never positive has no columns,
one that is never negative has no s: z = a. What makes z or s zero is up to the method: a binary, or a penalty on z's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.elimination import equal_maps
from dcembed.embedded.embedding import AffineInputs, Embedding
from dcembed.embedded.unit_bounds import StageBounds
from dcembed.network.affine import Affine
from dcembed.network.network import preactivations
from dcembed.program.derive import add_columns, add_rows
from dcembed.program.program import Program

# Bounds this close to zero settle a sign: solvers cannot tell them from zero, and drop such coefficients with wrong conclusions.
SETTLED_TOL = 1e-7
# Bounds of columns are wider by this: solvers drop coefficients below 1e-9, and what remains of a row may leave tighter ones.
MARGIN = 1e-6


@dataclass(frozen=True, eq=False)
class Units:
    """Columns of one stage in all evaluations of an embedding, each of shape (k, width); -1 for none.

    Parameters
    ----------
    unit, cut
        Columns of z and s.
    lb, ub
        Bounds of the pre-activations.
    """

    unit: Array
    cut: Array
    lb: Array
    ub: Array

    @property
    def is_open(self) -> Array:
        """Where the sign is not settled."""
        return self.cut >= 0


@dataclass(frozen=True, eq=False)
class Encoding:
    """Columns [w | z and s] and equalities rows @ columns = constant.

    Parameters
    ----------
    program, embeddings
        What is encoded; w are the columns of `program`.
    units
        For each embedding, the columns of its stages.
    rows, constant
        Shapes (r, num_columns) and (r,).
    lb, ub
        Bounds of all columns.
    """

    program: Program
    embeddings: Sequence[Embedding]
    units: list[list[Units]]
    rows: sp.csr_array
    constant: Array
    lb: Array
    ub: Array

    @property
    def num_columns(self) -> int:
        """Columns of w and of the units."""
        return self.lb.size

    def program_with_units(self) -> Program:
        """The host over [w | z and s], with the equalities of the units behind its rows."""
        n = self.program.num_columns
        return add_rows(add_columns(self.program, self.lb[n:], self.ub[n:]), self.rows, self.constant, self.constant)

    def relaxation(self) -> Program:
        """The same with z / U + s / (-L) <= 1 for each open unit: what is left of its binary's rows without the binary.

        These are the last rows, each multiplied by the larger of U and -L.
        """
        unit, cut = self.open_columns()
        upper, lower = self.ub[unit], self.ub[cut]
        size = np.maximum(upper, lower)
        entries = np.concatenate([size / upper, size / lower]), (np.tile(np.arange(unit.size), 2), np.concatenate([unit, cut]))
        triangle = sp.csr_array(entries, shape=(unit.size, self.num_columns))
        return add_rows(self.program_with_units(), triangle, np.full(unit.size, -np.inf), size)

    def open_columns(self) -> tuple[Array, Array]:
        """Columns of z and s of the open units, each of shape (number of open units,)."""
        stages = [stage for stages in self.units for stage in stages]
        none = np.zeros(0, dtype=np.int64)
        unit = np.concatenate([none, *(stage.unit[stage.is_open] for stage in stages)])
        return unit, np.concatenate([none, *(stage.cut[stage.is_open] for stage in stages)])

    def values(self, w: Array) -> Array:
        """All columns at the point w, whose predictions are in place."""
        point = np.concatenate([w, np.zeros(self.num_columns - w.size)])
        for embedding, stages in zip(self.embeddings, self.units, strict=True):
            for stage, a in zip(stages, preactivations(embedding.network, embedding.points(w)), strict=True):
                point[stage.unit[stage.unit >= 0]] = np.where(stage.is_open, np.maximum(a, 0.0), a)[stage.unit >= 0]
                point[stage.cut[stage.is_open]] = np.maximum(-a, 0.0)[stage.is_open]
        return point


def encode(program: Program, embeddings: Sequence[Embedding], bounds: Sequence[StageBounds], settled_tol: float = SETTLED_TOL) -> Encoding:
    """Write all evaluations as columns and equalities.

    `bounds` are those of their pre-activations. One that crosses zero by `settled_tol` or less leaves a unit's sign settled; at 0 the
    encoding is exact.
    """
    units, size = _number_columns(program.num_columns, bounds, settled_tol)
    rows, constants = [], []
    for embedding, stages in zip(embeddings, units, strict=True):
        inputs = embedding.affine_inputs(program.num_columns)
        maps = _distinct_maps(inputs, embedding.network.num_inputs)
        for index, affine in enumerate((*embedding.network.stages, embedding.network.output)):
            is_output = index == len(stages)
            defined = embedding.outputs if is_output else stages[index].unit
            cut = np.full_like(defined, -1) if is_output else stages[index].cut
            matrix, constant = _defining_rows(affine, defined, cut, stages, inputs, maps, size)
            rows.append(matrix)
            constants.append(constant)
    lb, ub = _column_bounds(program, units, size)
    stacked = sp.vstack([sp.csr_array((0, size)), *rows], format="csr")
    return Encoding(program, embeddings, units, stacked, np.concatenate([np.zeros(0), *constants]), lb, ub)


def _number_columns(first: int, bounds: Sequence[StageBounds], settled_tol: float) -> tuple[list[list[Units]], int]:
    units = []
    for stages in bounds:
        numbered = []
        for lb, ub in stages:
            exists = ub > settled_tol
            open_ = exists & (lb < -settled_tol)
            unit = np.full(lb.shape, -1, dtype=np.int64)
            unit[exists] = first + np.arange(exists.sum())
            first += int(exists.sum())
            cut = np.full(lb.shape, -1, dtype=np.int64)
            cut[open_] = first + np.arange(open_.sum())
            first += int(open_.sum())
            numbered.append(Units(unit, cut, lb, ub))
        units.append(numbered)
    return units, first


def _column_bounds(program: Program, units: list[list[Units]], size: int) -> tuple[Array, Array]:
    lb, ub = np.zeros(size), np.full(size, np.inf)
    lb[: program.num_columns], ub[: program.num_columns] = program.lb, program.ub
    for stage in (stage for stages in units for stage in stages):
        exists = stage.unit >= 0
        lb[stage.unit[exists]] = np.where(stage.is_open, 0.0, stage.lb - MARGIN)[exists]
        ub[stage.unit[exists]] = stage.ub[exists] + MARGIN
        ub[stage.cut[stage.is_open]] = MARGIN - stage.lb[stage.is_open]
    return lb, ub


def _distinct_maps(inputs: AffineInputs, num_inputs: int) -> tuple[sp.csr_array, Array]:
    """The different ways in which inputs depend on the columns (g * n_in, n), and which one each evaluation has (k,)."""
    map_of, first = equal_maps(inputs.matrix, np.arange(inputs.offset.shape[0]), num_inputs)
    rows = first[:, None] * num_inputs + np.arange(num_inputs)
    return sp.csr_array(inputs.matrix[rows.reshape(-1)]), map_of


def _defining_rows(
    affine: Affine, defined: Array, cut: Array, stages: list[Units], inputs: AffineInputs, maps: tuple[sp.csr_array, Array], size: int
) -> tuple[sp.csr_array, Array]:
    """Rows defined - cut - affine(units, inputs) = constant, one for each defined column."""
    exists = defined >= 0
    block, unit = np.nonzero(exists)
    number = np.full(defined.shape, -1, dtype=np.int64)
    number[exists] = np.arange(block.size)
    row, column, value = [number[exists]], [defined[exists]], [np.ones(block.size)]
    row.append(number[cut >= 0])
    column.append(cut[cut >= 0])
    value.append(-np.ones(column[-1].size))
    constant = np.broadcast_to(affine.bias, defined.shape)
    host = sp.csr_array((block.size, inputs.matrix.shape[1]))
    for source, weight in affine.weights.items():
        if source == 0:
            constant = constant + inputs.offset @ weight.T
            distinct = sp.csr_array(sp.kron(sp.eye_array(maps[0].shape[0] // weight.shape[1]), weight, format="csr") @ maps[0])
            host = -distinct[maps[1][block] * affine.num_rows + unit]
        else:
            entries = sp.coo_array(weight)
            to, origin = number[:, entries.row], stages[source - 1].unit[:, entries.col]
            used = (to >= 0) & (origin >= 0)
            row.append(to[used])
            column.append(origin[used])
            value.append(-np.broadcast_to(entries.data, used.shape)[used])
    shape = (block.size, size)
    own = sp.csr_array((np.concatenate(value), (np.concatenate(row), np.concatenate(column))), shape=shape)
    return sp.csr_array(own + sp.csr_array((host.data, host.indices, host.indptr), shape=shape)), constant[exists]
