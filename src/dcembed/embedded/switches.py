"""Rows that a large coefficient on a binary switches off, read as the indicators that they are.

    a'w + M z <= b   with z binary   is   z = 1  =>  a'w <= b - M   if a'w <= b holds anyway while z = 0,

and the other way round for a negative M. Whether it holds anyway is decided by bounds: those of columns from all other rows, also
from those that say more about a column while z = 0, and those of predictions from their networks. So the feasible points are the same,
for any M. A row that might cut something off while it is "off" is no switch, and stays as it is.

A neural row is read as an indicator, whose M the engine chooses anew for every model. A row on the inputs of networks alone stays a row
of the host; it is written with the smallest M that the bounds allow, as every indicator of the host is in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.embedding import Embedding
from dcembed.embedded.grouping import outside
from dcembed.embedded.output_ranges import output_ranges
from dcembed.embedded.sides import Sides, find_sides
from dcembed.network.bounds import go_on
from dcembed.program.conditional_bounds import ConditionalBounds, find_conditional_bounds
from dcembed.program.derive import add_rows, derive, keep_rows
from dcembed.program.indicators import switch
from dcembed.program.program import IndicatorRows, Program
from dcembed.program.tightening import SAFETY, heard, tighten
from dcembed.sparse import row_numbers

# An M that is larger than it need be by this factor is written anew.
LOOSE = 1.001
# By how much bounds may miss a right-hand side, at most: far below any tolerance of feasibility.
LARGEST_ROUNDING = 1e-7


@dataclass(frozen=True, eq=False)
class Switched:
    """A program with its switches read.

    Parameters
    ----------
    program
        The program without the sides of its neural rows that are switches, and with the others of those on network inputs written anew.
    indicators
        The switches that are neural rows.
    num_read
        How many rows of the program had a switch in them.
    """

    program: Program
    indicators: IndicatorRows
    num_read: int


def read_switches(program: Program, embeddings: Sequence[Embedding], eliminated: Array, check: Callable[[], None] = go_on) -> Switched:
    """Read the rows with predictions, or on inputs of networks, that are switches.

    Parameters
    ----------
    eliminated
        The columns of predictions that are no columns of the host: rows with them are neural rows.
    check
        Called between large products; what it raises ends the reading.
    """
    if not program.integer.any():
        return unread(program)
    sides, has_outputs = find_sides(program, embeddings)
    largest = np.full(sides.row.size, np.inf)
    # A row is judged by what else holds, those on inputs without the others: two of them might excuse one another.
    for some, others in ((~has_outputs, sides.row), (has_outputs, sides.row[has_outputs])):
        if some.any():
            largest[some] = _largest_while_off(sides.pick(some), embeddings, _bounds_without(program, others, check), check)
    rounding = np.minimum(SAFETY * (1.0 + np.abs(sides.rhs_off)), LARGEST_ROUNDING)
    holds = largest <= sides.rhs_off + rounding
    is_neural = np.diff(sides.matrix[:, eliminated].indptr) > 0
    if (holds & is_neural).any():
        holds &= ~is_neural | _have_ends(program, embeddings, sides, eliminated, check)
    least = np.maximum(largest - sides.rhs_on, 0.0)
    is_loose = np.abs(sides.big) > LOOSE * least + rounding
    found, loose = sides.pick(holds & is_neural), holds & ~is_neural & is_loose
    read = sides.pick(holds & (is_neural | is_loose))
    left = _with_least(_without_sides(program, read), program, sides.pick(loose), least[loose])
    return Switched(left, _as_indicators(found), np.unique(read.row).size)


def unread(program: Program) -> Switched:
    """The program as it is."""
    return Switched(program, derive(program, indicators=()).indicator_rows, 0)


def _bounds_without(program: Program, rows: Array, check: Callable[[], None]) -> ConditionalBounds:
    """Bounds that all but these rows imply."""
    rest = keep_rows(program, outside(program.num_rows, rows))
    return find_conditional_bounds(rest, tighten(rest, heard(check)))


def _largest_while_off(sides: Sides, embeddings: Sequence[Embedding], bounds: ConditionalBounds, check: Callable[[], None]) -> Array:
    """The largest matrix @ w while the binary of each side switches it off: by intervals, and by lines where these do not tell."""
    largest = np.full(sides.row.size, np.inf)
    for by_lines in (False, True):
        unknown = np.flatnonzero(largest > sides.rhs_off)
        some = sides.pick(unknown)
        entry, data, column = row_numbers(some.matrix), some.matrix.data, some.matrix.indices
        binary, off = some.column[entry], some.off[entry]
        box = output_ranges(embeddings, column, binary, off, bounds.at(column, binary, off), bounds, by_lines, check)
        shares = np.where(data > 0, data * box.ub, data * box.lb)
        # Without an end on one side and on the other the sum has none.
        shares = np.where(np.isinf(shares), np.inf, shares)
        largest[unknown] = np.bincount(entry, shares, minlength=unknown.size)
    return largest


def _have_ends(program: Program, embeddings: Sequence[Embedding], sides: Sides, eliminated: Array, check: Callable[[], None]) -> Array:
    """Whether an indicator in place of each side can be written as a row again, as solvers want it: by bounds of the host alone."""
    is_prediction = np.zeros(program.num_columns, dtype=bool)
    is_prediction[eliminated] = True
    host = keep_rows(program, np.flatnonzero(np.diff(program.rows[:, eliminated].indptr) == 0))
    box = tighten(host, heard(check))
    has_lower, has_upper = np.isfinite(box.lb), np.isfinite(box.ub)
    is_endless = np.zeros(program.num_columns, dtype=bool)
    for embedding in embeddings:
        matrix = embedding.affine_inputs(program.num_columns).matrix
        missing = ~(has_lower & has_upper)[matrix.indices]
        count = np.bincount(row_numbers(matrix) // embedding.network.num_inputs, missing, minlength=embedding.num_evaluations)
        is_endless[embedding.outputs[count > 0]] = True
    column, data = sides.matrix.indices, sides.matrix.data
    lacks = np.where(is_prediction[column], is_endless[column], np.where(data > 0, ~has_upper[column], ~has_lower[column]))
    has_ends: Array = np.bincount(row_numbers(sides.matrix), lacks, minlength=sides.row.size) == 0
    return has_ends


def _without_sides(program: Program, sides: Sides) -> Program:
    """The program without some sides of its rows, and without rows that have none left."""
    if sides.row.size == 0:
        return program
    lb, ub = program.row_lb.copy(), program.row_ub.copy()
    ub[sides.row[sides.is_upper]], lb[sides.row[~sides.is_upper]] = np.inf, -np.inf
    gone = np.zeros(program.num_rows, dtype=bool)
    gone[sides.row] = np.isinf(lb[sides.row]) & np.isinf(ub[sides.row])
    return keep_rows(derive(program, row_lb=lb, row_ub=ub), np.flatnonzero(~gone))


def _with_least(program: Program, original: Program, sides: Sides, least: Array) -> Program:
    """The program with these sides as rows behind its own, under their names, each with the least M."""
    if sides.row.size == 0:
        return program
    rows, ub = switch(sides.matrix, sides.rhs_on, sides.column, sides.on, least)
    names = [original.row_names[i] for i in sides.row] if original.row_names is not None else None
    return add_rows(program, rows, np.full(ub.size, -np.inf), ub, names)


def _as_indicators(sides: Sides) -> IndicatorRows:
    return IndicatorRows(sides.matrix, sides.column, sides.on, np.full(sides.row.size, -np.inf), sides.rhs_on)
