"""The penalty of the tangent steps scales itself by multipliers of the neural rows.

A penalty is exact once it exceeds them. So it is twice the largest one of the last masters, and never below what trades the
objective against a typical neural row on their common columns. Scaling the objective by s scales it by s, scaling all neural
rows by s divides it by s.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.engine.cuts import CutPool
from dcembed.engine.problem import Problem
from dcembed.engine.tangent.master import uses_slack
from dcembed.run.penalty import MAX_PENALTY_RATIO, Penalty
from dcembed.solvers.base import Solution
from dcembed.sparse import compressed, dense_row, times

# Masters whose multipliers count, and how far above them the penalty is.
NUM_REMEMBERED, HEADROOM = 4, 2.0
# By how much a single master may raise it.
MAX_GROWTH = 10.0


def scaled_penalty(problem: Problem, w: Array, slope: sp.csr_array, rows: sp.csr_array, multipliers: Sequence[float]) -> Penalty:
    """The penalty at w, where the networks have this slope, the restrictions these gradients, and the last masters had these largest multipliers."""
    least = least_penalty(problem, w, slope, rows)
    limit = problem.options.max_penalty or MAX_PENALTY_RATIO * least
    value = max(HEADROOM * max(multipliers, default=0.0), least)
    return Penalty(min(value, limit), problem.options.penalty_growth, limit)


def least_penalty(problem: Problem, w: Array, slope: sp.csr_array, rows: sp.csr_array) -> float:
    """The median over the neural rows of |gradient of the objective| / |gradient of the row| on the columns of the row."""
    if problem.options.initial_penalty is not None:
        return problem.options.initial_penalty
    objective = problem.embedded.host.gradient(w) + dense_row(slope, 0)
    size = times(_with(rows, rows.data**2), np.ones(w.size))
    change = times(_with(rows, (rows.data != 0).astype(np.float64)), objective**2)
    known = (size > 0) & (change > 0) & np.isfinite(problem.embedded.restrictions.rhs)
    return _median(np.sqrt(change[known] / size[known])) if known.any() else 1.0


def _with(matrix: sp.csr_array, data: Array) -> sp.csr_array:
    return compressed(data, matrix.indices, matrix.indptr, matrix.shape)


def _median(values: Array) -> float:
    """As numpy has it, whose checks take longer than to sort a few hundred numbers."""
    ordered, middle = np.sort(values), values.size // 2
    return float(ordered[middle]) if values.size % 2 else float(ordered[middle - 1] + ordered[middle]) / 2.0


def largest_multiplier(problem: Problem, solution: Solution, rows: CutPool, penalty: float) -> float:
    """Of the neural rows in a master, where a restriction has further rows behind all restrictions; one that needs slack has the penalty.

    A master that barely keeps its rows has multipliers without end; they count up to a multiple of the penalty.
    """
    restrictions, subproblem = problem.embedded.restrictions, problem.subproblem
    if solution.duals is None:
        return penalty if solution.x is not None and uses_slack(problem, solution) else 0.0
    first, last = subproblem.first_restriction, subproblem.first_restriction + restrictions.num_restrictions + rows.num_cuts
    slack = np.concatenate([restrictions.slack, rows.part - subproblem.epigraph.num_columns])
    of_restriction = slack >= 0
    multipliers = np.bincount(slack[of_restriction], np.abs(solution.duals[first:last])[of_restriction])
    return min(float(multipliers.max(initial=0.0)), MAX_GROWTH * penalty)
