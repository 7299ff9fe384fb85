"""linopy: a model as Program and Embeddings, and the answer back in `variable.solution`, `model.objective.value` and `model.status`.

Everything is read in the user's units: linopy's scaling factors are for solvers that are given the model as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import linopy
import numpy as np
import scipy.sparse as sp
from linopy.constants import FACTOR_DIM, TERM_DIM

from dcembed.arrays import Array
from dcembed.embedded.embedding import Embedding
from dcembed.frontends.contract import Extraction, is_loaded
from dcembed.frontends.linopy_names import entry_names
from dcembed.frontends.linopy_switches import read_switches
from dcembed.frontends.linopy_ties import Tie, find_columns, tie_rows, ties_of
from dcembed.frontends.own_objective import own_objective
from dcembed.program.nonconvex import split_quadratic
from dcembed.program.program import Indicator, Program
from dcembed.result import Result
from dcembed.status import Status
from dcembed.words import Words

WORDS = Words(go_on="start=model.solution", nearest="in variable.data.solution with load_infeasible=True")

# linopy's words. It reads solutions only where its status is "ok", so that is what a feasible point is, however the run ended.
CONDITIONS = {
    Status.OPTIMAL: "optimal",
    Status.LOCALLY_SOLVED: "suboptimal",
    Status.TIME_LIMIT: "time_limit",
    Status.ITERATION_LIMIT: "iteration_limit",
    Status.LOCALLY_INFEASIBLE: "other",
    Status.INFEASIBLE: "infeasible",
    Status.HOST_INFEASIBLE: "infeasible",
    Status.OUTSIDE_SUPPORT: "infeasible",
    Status.UNBOUNDED: "unbounded",
    Status.NUMERICAL_ERROR: "internal_solver_error",
    Status.INTERRUPTED: "user_interrupt",
}


@dataclass(frozen=True, eq=False)
class LinopyModel:
    """A model and its labels in the order of the columns; columns after those were added."""

    model: linopy.Model
    labels: Array


@dataclass(frozen=True, eq=False)
class Columns:
    """All variables that are not masked: labels, bounds, kinds and names of single entries."""

    labels: Array
    lb: Array
    ub: Array
    integer: Array
    names: list[str]

    @property
    def positions(self) -> Array:
        """The column of each label, -1 for none."""
        positions = np.full(self.labels.max(initial=-1) + 1, -1)
        positions[self.labels] = np.arange(self.labels.size)
        return positions


@dataclass(frozen=True, eq=False)
class Rows:
    """Linear rows with bounds and names."""

    matrix: sp.csr_array
    lb: Array
    ub: Array
    names: list[str]


def extract(model: linopy.Model) -> Extraction[LinopyModel]:
    """The model as matrices, columns in the order of `model.variables`, and what is embedded in it."""
    columns = _read_columns(model)
    positions, size = columns.positions, columns.labels.size
    lb, ub = columns.lb.copy(), columns.ub
    blocks = [_read_rows(model, constraint) for _, constraint in model.constraints.items() if not constraint.is_indicator]
    num_switches, switched = 0, []
    for switches in read_switches(model, positions, columns.lb, columns.ub, columns.names):
        switched.append((switches, size + num_switches))
        lb[switches.members] = np.minimum(lb[switches.members], 0.0)
        matrix, row_lb, row_ub = switches.rows(size + num_switches)
        blocks.append(Rows(matrix, row_lb, row_ub, [f"switch {number}" for number in range(matrix.shape[0])]))
        num_switches += switches.num_binaries

    embeddings, predicted = _read_ties(model, columns, size + num_switches)
    blocks += predicted
    width = max([size + num_switches, *(block.matrix.shape[1] for block in predicted)])
    num_predictions = width - size - num_switches
    cost, whole = _read_objective(model, positions, width)
    quadratic, concave = split_quadratic(whole, model.objective.sense == "max")
    program = Program(
        cost=cost,
        quadratic=quadratic,
        concave=concave,
        rows=sp.vstack([sp.csr_array((0, width)), *(_widen(block.matrix, width) for block in blocks)]),
        row_lb=np.concatenate([np.zeros(0), *(block.lb for block in blocks)]),
        row_ub=np.concatenate([np.zeros(0), *(block.ub for block in blocks)]),
        lb=np.concatenate([lb, np.zeros(num_switches), np.full(num_predictions, -np.inf)]),
        ub=np.concatenate([ub, np.ones(num_switches), np.full(num_predictions, np.inf)]),
        integer=np.concatenate([columns.integer, np.ones(num_switches, dtype=bool), np.zeros(num_predictions, dtype=bool)]),
        indicators=[
            item
            for _, constraint in model.constraints.items()
            if constraint.is_indicator
            for item in _read_indicators(model, constraint, positions, width)
        ]
        + [item for switches, first in switched for item in switches.indicators(first, width)],
        maximize=model.objective.sense == "max",
        column_names=[*columns.names, *(f"switch {i}" for i in range(num_switches)), *(f"prediction {i}" for i in range(num_predictions))],
        row_names=[name for block in blocks for name in block.names],
    )
    return Extraction(program, embeddings, LinopyModel(model, columns.labels))


def restore(extraction: Extraction[LinopyModel], result: Result, load_infeasible: bool = False) -> Result:
    """Put a feasible point where linopy's own solve puts one; the result is returned as it is."""
    model, labels = extraction.handle.model, extraction.handle.labels
    model.reset_solution()
    model.solver = None
    model.termination_condition = CONDITIONS[result.status]
    model.status = "ok" if result.is_feasible else "aborted" if result.status is Status.INTERRUPTED else "warning"
    model.objective.set_value(own_objective(result) if result.is_feasible else np.nan)
    if result.x is None or not is_loaded(result, load_infeasible):
        return result
    values = np.full(labels.max(initial=-1) + 2, np.nan)
    values[labels] = result.x[: labels.size]
    for variable in model.variables.data.values():
        # The last value, that of the label -1, is NaN.
        variable.solution = variable.labels.copy(data=values[variable.labels.values])
    return result


def _read_columns(model: linopy.Model) -> Columns:
    binary, integer = set(model.variables.binaries), set(model.variables.integers)
    labels, lower, upper, whole, names = [], [], [], [], []
    for name, variable in model.variables.items():
        numbers = variable.labels.values.reshape(-1)
        there = numbers >= 0
        labels.append(numbers[there].astype(np.int64))
        lower.append(variable.lower.values.reshape(-1)[there])
        upper.append(variable.upper.values.reshape(-1)[there])
        whole.append(np.full(there.sum(), name in binary or name in integer))
        names += [entry for entry, is_there in zip(entry_names(name, variable.labels), there, strict=True) if is_there]
    return Columns(
        np.concatenate([np.zeros(0, dtype=np.int64), *labels]),
        np.concatenate([np.zeros(0), *lower]),
        np.concatenate([np.zeros(0), *upper]),
        np.concatenate([np.zeros(0, dtype=bool), *whole]),
        names,
    )


def _read_rows(model: linopy.Model, constraint: Any) -> Rows:
    matrix, labels, rhs, sense = constraint.to_matrix_with_rhs(model.variables.label_index)
    numbers = constraint.labels.values.reshape(-1)
    named = dict(zip(numbers.tolist(), entry_names(constraint.name, constraint.labels), strict=True))
    rhs = np.asarray(rhs, dtype=np.float64)
    return Rows(
        matrix,
        np.where(sense == "<", -np.inf, rhs),
        np.where(sense == ">", np.inf, rhs),
        [named[label] for label in np.asarray(labels).tolist()],
    )


def _read_indicators(model: linopy.Model, constraint: Any, positions: Array, width: int) -> list[Indicator]:
    rows = _read_rows(model, constraint)
    numbers = constraint.labels.values.reshape(-1)
    active = np.isin(numbers, constraint.active_labels())
    binaries = positions[np.broadcast_to(constraint.binary_var.values, constraint.labels.shape).reshape(-1)[active]]
    values = np.broadcast_to(np.asarray(constraint.binary_val), constraint.labels.shape).reshape(-1)[active]
    matrix = _widen(rows.matrix, width)
    return [Indicator(int(binaries[i]), int(values[i]), matrix[[i]], rows.lb[i], rows.ub[i], rows.names[i]) for i in range(matrix.shape[0])]


def _read_objective(model: linopy.Model, positions: Array, width: int) -> tuple[Array, sp.csr_array]:
    """c and Q of c'w + 1/2 w'Qw."""
    expression = model.objective.expression
    labels, factors = expression.vars, expression.coeffs
    if FACTOR_DIM not in labels.dims:
        return _sum_terms(labels.values.reshape(-1), factors.values.reshape(-1), positions, width), sp.csr_array((width, width))
    first, second = labels.transpose(FACTOR_DIM, ..., TERM_DIM).values.reshape(2, -1)
    values = np.nan_to_num(factors.values.reshape(-1))
    curved = (first >= 0) & (second >= 0)
    cost = _sum_terms(np.maximum(first, second)[~curved], values[~curved], positions, width)
    i, j = positions[first[curved]], positions[second[curved]]
    data = np.tile(values[curved], 2)
    return cost, sp.csr_array((data, (np.concatenate([i, j]), np.concatenate([j, i]))), shape=(width, width))


def _sum_terms(labels: Array, values: Array, positions: Array, width: int) -> Array:
    there = (labels >= 0) & (np.nan_to_num(values) != 0)
    return np.bincount(positions[labels[there]], values[there], minlength=width)


def _read_ties(model: linopy.Model, columns: Columns, num_columns: int) -> tuple[tuple[Embedding, ...], list[Rows]]:
    """The embeddings. Outputs that are expressions, or are predicted twice, are equal to columns of their own, which come last."""
    ties, positions = ties_of(model), columns.positions
    inputs = [find_columns(tie.inputs.variables, positions, tie, "inputs") for tie in ties]
    outputs = [find_columns(tie.outputs.variables, positions, tie, "outputs") for tie in ties]
    taken: set[int] = set()
    own: list[Array | None] = []
    for tie, found in zip(ties, outputs, strict=True):
        is_own = tie.outputs.is_plain and np.unique(found).size == found.size and taken.isdisjoint(found.tolist())
        own.append(found.reshape(tie.outputs.shape) if is_own else None)
        taken.update(found.tolist() if is_own else [])
    width = num_columns + sum(tie.outputs.constant.size for tie, columns_ in zip(ties, own, strict=True) if columns_ is None)
    rows: list[Rows] = []
    embeddings: list[Embedding] = []
    first = num_columns
    for tie, into, out, mine in zip(ties, inputs, outputs, own, strict=True):
        if mine is None:
            mine = np.arange(first, first + tie.outputs.constant.size).reshape(tie.outputs.shape)
            first += mine.size
            rows.append(_equal(tie, out, mine.reshape(-1), width))
        embeddings.append(tie.inputs.embed(tie.network, into, mine, width, tie.support))
    return tuple(embeddings), rows


def _equal(tie: Tie, columns: Array, predictions: Array, width: int) -> Rows:
    """expression - prediction = 0."""
    minus = sp.csr_array((-np.ones(predictions.size), (np.arange(predictions.size), predictions)), shape=(predictions.size, width))
    rhs = -tie.outputs.constant.reshape(-1)
    return Rows(sp.csr_array(tie_rows(tie.outputs, columns, width) + minus), rhs, rhs, [f"{tie.name}[{i}]" for i in range(rhs.size)])


def _widen(matrix: sp.csr_array, width: int) -> sp.csr_array:
    return sp.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], width))
