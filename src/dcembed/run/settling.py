"""Settling of a feasible point: what it owes to the feasibility tolerance is given back before it counts.

A column t with t >= f_k(x) in its rows may lie below them by the tolerance, and an objective that has t would profit. Bounds are put
right, linked outputs set to their predictions, and columns that are no network's input are moved until the rows hold that they can
hold. No solver is asked and next to nothing predicted again, so the rows hold to rounding and every improving point can afford it.
"""

from __future__ import annotations

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.point import Point, measure_point, move_point
from dcembed.embedded.verify import predict
from dcembed.sparse import row_numbers, take_rows, times
from dcembed.tolerances import SETTLED_TOL

# A column that is moved may violate rows of the host, which move other columns: so many times in a row.
NUM_PASSES = 4
# A settled point is taken if its violation is at most this share of what it was.
FAIR_SHARE = 0.1


def settle(embedded: EmbeddedProgram, point: Point) -> Point:
    """The point with the columns behind its network inputs moved to where its rows hold; itself where that does not help."""
    if point.violation <= SETTLED_TOL:
        return point
    inputs = embedded.moves_inputs
    free, fast = _free(embedded)
    settled, moved = _correct(embedded, point, inputs), np.zeros(free.size)
    if _is_stuck(embedded, settled, fast, FAIR_SHARE * point.violation):
        return point
    for _ in range(NUM_PASSES if free.any() else 0):
        step = _step(embedded, settled, free, moved)
        if settled.violation <= SETTLED_TOL or not step.any():
            break
        # What was moved for one row does not go back for another.
        moved = np.where(step == 0, moved, np.sign(step))
        settled = move_point(embedded, settled, np.where(free, _inside(embedded, settled.w + step), settled.w))
    return settled if settled.violation <= FAIR_SHARE * point.violation else point


def _free(embedded: EmbeddedProgram) -> tuple[Array, Array]:
    """Masks of the columns that may be moved, and of all rows that have none of them; both follow from the structure alone."""
    if _free not in embedded.drawer:
        rows, free = embedded.all_rows, ~embedded.host.integer & ~embedded.moves_inputs
        free[embedded.linked] = False
        fast = np.ones(rows.shape[0], dtype=bool)
        fast[row_numbers(rows)[free[rows.indices]]] = False
        embedded.drawer[_free] = free, fast
    masks: tuple[Array, Array] = embedded.drawer[_free]
    return masks


def _is_stuck(embedded: EmbeddedProgram, point: Point, fast: Array, most: float) -> bool:
    """Whether a row without free columns is off by more: nothing that is moved here changes it."""
    return bool(np.abs(_off(embedded, point)[fast]).max(initial=0.0) > most)


def _off(embedded: EmbeddedProgram, point: Point) -> Array:
    """By how much each of all rows is off at a point, restrictions first; negative where a row of the host is below its lower side."""
    host = embedded.host
    value = times(host.rows, point.w)
    return np.concatenate([point.excess, value - np.clip(value, host.row_lb, host.row_ub)])


def _correct(embedded: EmbeddedProgram, point: Point, inputs: Array) -> Point:
    """The point inside its bounds, with linked outputs at their predictions there."""
    w = _inside(embedded, point.w)
    if embedded.linked.size == 0 and np.array_equal(w, point.w):
        return point
    if embedded.linked.size:
        w = embedded.lower(predict(embedded.embeddings, embedded.lift(w)))
    elif np.array_equal(w[inputs], point.w[inputs]):
        return move_point(embedded, point, w)
    return measure_point(embedded, w)


def _inside(embedded: EmbeddedProgram, w: Array) -> Array:
    inside: Array = np.clip(w, embedded.host.lb, embedded.host.ub)
    return inside


def _step(embedded: EmbeddedProgram, point: Point, free: Array, moved: Array) -> Array:
    """How far each free column is to go so that the rows hold that are off at the point; `moved` has the signs of earlier steps."""
    host, off = embedded.host, _off(embedded, point)
    wrong = np.flatnonzero(off)
    uses, entries = embedded.row_uses, take_rows(embedded.all_rows, wrong)
    usable = np.flatnonzero(free[entries.indices] & (entries.data != 0))
    if usable.size == 0:
        return np.zeros(host.num_columns)
    row, column = row_numbers(entries)[usable], entries.indices[usable]
    change = -off[wrong][row] / entries.data[usable]
    # Of each row the column that the fewest other rows have; of such the one that moves least.
    order = np.lexsort((np.abs(change), uses[column], row))
    order = order[(change * moved[column] >= 0)[order]]
    first = order[np.unique(row[order], return_index=True)[1]]
    up, down = np.zeros(host.num_columns), np.zeros(host.num_columns)
    np.maximum.at(up, column[first], change[first])
    np.minimum.at(down, column[first], change[first])
    return up + down
