"""Probabilities p = 1 / (1 + exp(-t)) of scores t, where they can be had exactly: where the host does nothing but bound them.

p grows with t, so lb <= p <= ub is the same as log(lb / (1 - lb)) <= t <= log(ub / (1 - ub)), which the network is held to. p gets its
value from t after the run. In an objective, or in a constraint together with other columns, p would be a nonlinear function.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NoReturn, TypeVar

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, logit

from dcembed.arrays import Array
from dcembed.embedded.embedding import AffineInputs, Embedding
from dcembed.errors import InputError
from dcembed.program.derive import derive
from dcembed.program.program import Program
from dcembed.result import Result

AnyResult = TypeVar("AnyResult", bound=Result)


@dataclass(frozen=True, eq=False)
class Probabilities:
    """Columns of probabilities and of the scores that they belong to, both of shape (m,)."""

    columns: Array
    scores: Array


NO_PROBABILITIES = Probabilities(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


def bound_scores(program: Program, embeddings: Sequence[Embedding], probabilities: Probabilities) -> Program:
    """The program with the bounds of probabilities on their scores; InputError names a probability that is used otherwise."""
    columns, scores = probabilities.columns, probabilities.scores
    if not columns.size:
        return program
    rows = sp.csr_array(program.rows)
    _check_use(program, embeddings, columns, rows)
    lb, ub = program.lb.copy(), program.ub.copy()
    for row in np.flatnonzero(np.diff(rows.indptr) == 1):
        column, coefficient = rows.indices[rows.indptr[row]], rows.data[rows.indptr[row]]
        sides = sorted((program.row_lb[row] / coefficient, program.row_ub[row] / coefficient))
        lb[column], ub[column] = max(lb[column], sides[0]), min(ub[column], sides[1])
    for column in columns[(lb[columns] >= 1.0) | (ub[columns] <= 0.0)]:
        raise InputError(
            f"optimize: {program.column_label(int(column))} is a probability between {lb[column]:g} and {ub[column]:g}, "
            "but a network gives neither 0 nor 1. Leave a little room."
        )
    new_lb, new_ub = program.lb.copy(), program.ub.copy()
    new_lb[scores] = np.maximum(new_lb[scores], logit(np.maximum(lb[columns], 0.0)))
    new_ub[scores] = np.minimum(new_ub[scores], logit(np.minimum(ub[columns], 1.0)))
    return derive(program, lb=new_lb, ub=new_ub)


def fill_in(result: AnyResult, probabilities: Probabilities) -> AnyResult:
    """The result with every probability at the value that belongs to its score."""
    if result.x is None or not probabilities.columns.size:
        return result
    points = [x if x is None else fill(x, probabilities) for x in result.incumbent_points]
    return replace(result, x=fill(result.x, probabilities), incumbent_points=points)


def fill(x: Array, probabilities: Probabilities) -> Array:
    """A point with every probability at the value that belongs to its score."""
    filled = x.copy()
    filled[probabilities.columns] = expit(x[probabilities.scores])
    return filled


def join(parts: Sequence[Probabilities]) -> Probabilities:
    """All in one."""
    all_parts = [NO_PROBABILITIES, *parts]
    return Probabilities(np.concatenate([part.columns for part in all_parts]), np.concatenate([part.scores for part in all_parts]))


def _check_use(program: Program, embeddings: Sequence[Embedding], columns: Array, rows: sp.csr_array) -> None:
    used = np.zeros(program.num_columns, dtype=bool)
    used[columns] = True
    curved = np.concatenate([matrix.indices for matrix in (program.quadratic, program.concave) if matrix is not None] or [columns[:0]])
    in_objective = columns[(program.cost[columns] != 0) | np.isin(columns, curved)]
    if in_objective.size:
        _refuse(program, in_objective[0], "is in the objective; put its score there, which grows with it: predictor.scores")
    shared = np.repeat(np.diff(rows.indptr) > 1, np.diff(rows.indptr))
    in_rows = rows.indices[shared & used[rows.indices] & (rows.data != 0)]
    if in_rows.size:
        _refuse(program, in_rows[0], "is in a constraint with other variables")
    others = [item.coefficients for item in program.indicators] + [
        matrix for item in program.quadratic_constraints for matrix in (item.quadratic, item.coefficients)
    ]
    others += [item.inputs.matrix for item in embeddings if isinstance(item.inputs, AffineInputs)]
    inside = [sp.csr_array(matrix).indices for matrix in others]
    inside += [item.inputs.reshape(-1) for item in embeddings if not isinstance(item.inputs, AffineInputs)]
    for indices in inside:
        if used[indices].any():
            _refuse(program, indices[used[indices]][0], "is in an indicator, a quadratic constraint or the input of a network")
    outputs = np.concatenate([item.outputs.reshape(-1) for item in embeddings] or [columns[:0]])
    if used[outputs].any():
        _refuse(program, outputs[used[outputs]][0], "is an output of another network, or a score, as well; give each a variable of its own")
    found, counts = np.unique(columns, return_counts=True)
    if (counts > 1).any():
        _refuse(program, found[counts > 1][0], "belongs to several scores; give each row and each predictor a variable of its own")
    if program.integer[columns].any():
        _refuse(program, columns[program.integer[columns]][0], "is an integer variable")


def _refuse(program: Program, column: int, how: str) -> NoReturn:
    raise InputError(
        f"optimize: {program.column_label(int(column))} is a probability and {how}. A probability is embedded exactly where it is only "
        "bounded, by its own bounds or a constraint on it alone. To use it elsewhere, embed dcembed.load_network(model), of a model of "
        'scikit-learn dcembed.load_network(model, outputs="probabilities"), whose outputs are the probabilities.'
    )
