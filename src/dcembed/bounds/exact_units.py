"""Bounds of the units for an exact encoding, as tight as the time allows.

First from the bounds of the columns, then by linear programs: the pre-activation of every open unit is minimized and maximized over the
linear relaxation of host and networks together (integers and curves left out). With the objective of a point that is known as a cutoff
the bounds hold for all points that are better.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.bounds.exact_lp import bound_minimum, bounded_rows
from dcembed.embedded.embedding import Embedding
from dcembed.embedded.encoding import Encoding, encode
from dcembed.embedded.unit_bounds import StageBounds, bound_evaluations, column_box, input_boxes, propagate
from dcembed.network.bounds import go_on
from dcembed.program.derive import add_rows, derive, keep_rows, relaxed, without_objective
from dcembed.program.program import Program
from dcembed.solvers import choose_backend
from dcembed.solvers.base import Limits, SessionOptions, SolveStatus
from dcembed.solvers.failover import LastingSession, Solver

# A further round over all units pays if the last one took away this share of the ranges of open units.
PAYING = 0.1
# A bound that some solution of a linear program comes this near to, as a share of the range, is not worth another one.
NEAR = 1e-3


@dataclass(frozen=True, eq=False)
class Limited:
    """A host, its embeddings, the bounds of its columns (n,), and those of the pre-activations: for each embedding its stages."""

    program: Program
    embeddings: Sequence[Embedding]
    lb: Array
    ub: Array
    bounds: list[StageBounds]

    @property
    def num_open(self) -> int:
        """Units whose sign the bounds leave open."""
        return sum(int(((low < 0) & (high > 0)).sum()) for stages in self.bounds for low, high in stages)

    @property
    def is_finite(self) -> bool:
        """Whether every unit has bounds, which an exact encoding needs."""
        return all(np.isfinite(low).all() and np.isfinite(high).all() for stages in self.bounds for low, high in stages)

    @property
    def largest(self) -> float:
        """The size of the largest pre-activation, or of a bounded column that the networks predict or are evaluated at."""
        sizes = [np.abs(end).max(initial=0.0) for stages in self.bounds for ends in stages for end in ends]
        used = [np.concatenate([e.outputs.reshape(-1), e.affine_inputs(self.lb.size).coefficients.indices]) for e in self.embeddings]
        for columns in used:
            ends = np.concatenate([self.lb[columns], self.ub[columns]])
            sizes.append(np.abs(ends[np.isfinite(ends)]).max(initial=0.0))
        return float(max(sizes, default=0.0))

    @property
    def open_width(self) -> float:
        """The ranges of all open units together."""
        return sum(float(np.where((low < 0) & (high > 0), high - low, 0.0).sum()) for stages in self.bounds for low, high in stages)


def with_cutoff(program: Program, w: Array, largest: float) -> Program:
    """The program without points whose objective exceeds `largest`, as far as the tangent of the convex objective at w says so."""
    slope = program.gradient(w)
    row = sp.csr_array(slope[None, :])
    return add_rows(program, row, np.array([-np.inf]), np.array([largest - program.objective(w) + float(slope @ w)]))


def limit_units(program: Program, embeddings: Sequence[Embedding], check: Callable[[], None] = go_on) -> Limited:
    """The bounds that follow from those of the columns; `check` may raise to end it."""
    lb, ub = column_box(program, embeddings, check)
    return Limited(program, embeddings, lb, ub, [bound_evaluations(embedding, lb, ub, check) for embedding in embeddings])


def tighten_units(limited: Limited, seconds: float, interrupted: Callable[[], bool], seed: int = 0) -> Limited:
    """The same with tighter bounds: rounds of linear programs over all open units, while they pay and there is time."""
    deadline = time.monotonic() + seconds

    def is_over() -> bool:
        return interrupted() or time.monotonic() >= deadline

    while limited.num_open and not is_over():
        before = limited.open_width
        limited = _propagated(_tightened_once(limited, is_over, seed))
        if limited.open_width > (1 - PAYING) * before:
            break
    return limited


def _propagated(limited: Limited) -> Limited:
    """What the bounds of earlier stages say about later ones."""
    boxes = [input_boxes(embedding, limited.lb, limited.ub) for embedding in limited.embeddings]
    bounds = [
        propagate(embedding.network, box, stages) for embedding, box, stages in zip(limited.embeddings, boxes, limited.bounds, strict=True)
    ]
    return Limited(limited.program, limited.embeddings, limited.lb, limited.ub, bounds)


def _tightened_once(limited: Limited, is_over: Callable[[], bool], seed: int) -> Limited:
    """One round: two linear programs for each open unit, fewer where solutions of others show that they bring nothing."""
    encoding = encode(_linear_part(limited), limited.embeddings, limited.bounds, 0.0)
    relaxation = encoding.relaxation()
    relaxation = keep_rows(relaxation, bounded_rows(relaxation.rows, relaxation.lb, relaxation.ub))
    with closing(LastingSession(relaxation, Solver(choose_backend("LP"), SessionOptions(seed=seed)))) as session:
        rounds = _Round(relaxation, session, *encoding.open_columns())
        rounds.run(is_over)
    return Limited(limited.program, limited.embeddings, limited.lb, limited.ub, _read_bounds(encoding, rounds.ub))


def _linear_part(limited: Limited) -> Program:
    """The rows of the host alone, over the bounds of its columns; what is behind an indicator is left out."""
    program = without_objective(relaxed(limited.program))
    # Bounds that cross by rounding would make it infeasible.
    return derive(program, lb=np.minimum(limited.lb, limited.ub), ub=limited.ub, quadratic_constraints=(), cones=())


class _Round:
    """The relaxation inside a solver, and the bounds of its columns, which tighten as the open units are looked at one after another.

    A unit is a = z - s: its lower bound is that of -s, its upper bound that of z.
    """

    def __init__(self, relaxation: Program, session: LastingSession, unit: Array, cut: Array) -> None:
        self._relaxation, self._session, self._unit, self._cut = relaxation, session, unit, cut
        self.lb, self.ub = relaxation.lb.copy(), relaxation.ub.copy()
        # The least and the largest value of each unit in any solution so far.
        self._least, self._largest = np.full(unit.size, np.inf), np.full(unit.size, -np.inf)

    def run(self, is_over: Callable[[], bool]) -> None:
        """Look at all units, the first stages first."""
        for number in range(self._unit.size):
            for sign in (1.0, -1.0):
                if is_over():
                    return
                if self._may_move(number, sign):
                    self._move(number, sign, is_over)

    def _may_move(self, number: int, sign: float) -> bool:
        low, high = -self.ub[self._cut[number]], self.ub[self._unit[number]]
        seen = self._least[number] - low if sign > 0 else high - self._largest[number]
        return bool(low < 0 < high and seen > NEAR * (high - low))

    def _move(self, number: int, sign: float, is_over: Callable[[], bool]) -> None:
        """Minimize sign * a, and take what the multipliers prove."""
        cost = np.zeros(self.lb.size)
        cost[self._unit[number]], cost[self._cut[number]] = sign, -sign
        self._session.set_cost(cost, 0.0)
        solution = self._session.solve(Limits(interrupted=is_over))
        if solution.status is not SolveStatus.OPTIMAL or solution.x is None or solution.duals is None:
            return
        values = solution.x[self._unit] - solution.x[self._cut]
        self._least, self._largest = np.minimum(self._least, values), np.maximum(self._largest, values)
        proved = bound_minimum(self._relaxation, cost, solution.duals, self.lb, self.ub)
        # sign * a >= proved: a unit is at most -proved where -a was minimized, and s at most -proved where a was.
        column = self._cut[number] if sign > 0 else self._unit[number]
        self.ub[column] = min(self.ub[column], max(-proved, 0.0))
        self._session.set_bounds(self.lb, self.ub)


def _read_bounds(encoding: Encoding, ub: Array) -> list[StageBounds]:
    """The bounds of all pre-activations, those of open units from the upper bounds of the columns z and s."""
    result = []
    for stages in encoding.units:
        bounds = []
        for stage in stages:
            low, high, is_open = stage.lb.copy(), stage.ub.copy(), stage.is_open
            low[is_open] = np.maximum(low[is_open], -ub[stage.cut[is_open]])
            high[is_open] = np.minimum(high[is_open], ub[stage.unit[is_open]])
            bounds.append((low, high))
        result.append(bounds)
    return result
