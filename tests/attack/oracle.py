"""The exact answer to a case: HiGHS for linear encodings, SCIP for curved ones, and every point measured here."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from enum import Enum

import highspy
import numpy as np
import pyscipopt

from .case import FEASIBILITY_TOL, Array, Case, measure, predicted
from .encoding import Encoding, Infeasible, Pattern, encode, units_at

# A program without bounds is solved in two boxes. They are larger than where networks of the size of ours bend, so that an optimum
# that differs between them falls for ever.
RADIUS, LARGER = 500.0, 1000.0
GAP = 1e-6
# Below this a solver's point counts as exact; above it is solved again with its units and integers held.
EXACT = 1e-7
# Two optima that agree to this, relative to 1 and their size, are the same.
SAME = 1e-4


class Answer(Enum):
    """What is known of a case."""

    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    UNKNOWN = "unknown"


@dataclass(frozen=True, eq=False)
class Verdict:
    """The answer; of a feasible case a point that was measured, and whether none is better."""

    answer: Answer
    x: Array | None = None
    objective: float = np.nan
    is_optimal: bool = False


def ask(case: Case, seconds: float) -> Verdict:
    """The exact answer, if it is found in time."""
    deadline = time.monotonic() + seconds
    verdict = _ask_in_box(case, RADIUS, deadline)
    is_boxed = np.isfinite(np.delete(case.lb, case.outputs)).all() and np.isfinite(np.delete(case.ub, case.outputs)).all()
    if verdict.answer is Answer.FEASIBLE and verdict.is_optimal and not is_boxed:
        further = _ask_in_box(case, LARGER, deadline)
        if not further.is_optimal:
            return replace(verdict, is_optimal=False)
        if abs(further.objective - verdict.objective) > SAME * max(1.0, abs(verdict.objective)):
            return replace(further, answer=Answer.UNBOUNDED)
    return _trusting_witness(case, verdict)


def _trusting_witness(case: Case, verdict: Verdict) -> Verdict:
    """A case that was drawn around a point is feasible, whatever a solver says."""
    if case.witness is None or verdict.answer in (Answer.FEASIBLE, Answer.UNBOUNDED):
        return verdict
    known = measure(case, case.witness)
    return Verdict(Answer.FEASIBLE, case.witness, known.objective) if known.violation <= EXACT else verdict


def _ask_in_box(case: Case, radius: float, deadline: float) -> Verdict:
    try:
        answer, x = _solve(encode(case, radius), deadline)
        if x is None:
            return Verdict(answer)
        best = _measured(case, x, answer)
        if best.x is None or measure(case, best.x).violation > EXACT:
            _, polished = _solve(_held(case, x, radius, units_at(case, x[: case.cost.size])), deadline)
            best = best if polished is None else _measured(case, polished, answer)
        return best
    except Infeasible:
        return Verdict(Answer.INFEASIBLE)


def _measured(case: Case, x: Array, answer: Answer) -> Verdict:
    w = x[: case.cost.size].copy()
    w[case.integer] = np.round(w[case.integer])
    w = predicted(case, w)
    found = measure(case, w)
    if found.violation > FEASIBILITY_TOL / 2:
        return Verdict(Answer.UNKNOWN)
    return Verdict(Answer.FEASIBLE, w, found.objective, is_optimal=answer is Answer.FEASIBLE)


def _held(case: Case, x: Array, radius: float, pattern: Pattern) -> Encoding:
    """The encoding with the units and the integers of a point."""
    values = np.round(x[: case.cost.size])
    return encode(replace(case, lb=np.where(case.integer, values, case.lb), ub=np.where(case.integer, values, case.ub)), radius, pattern)


def _solve(encoding: Encoding, deadline: float) -> tuple[Answer, Array | None]:
    """FEASIBLE with a point that is best, UNKNOWN with or without a point, or INFEASIBLE."""
    seconds = max(deadline - time.monotonic(), 0.1)
    is_linear = encoding.case.quadratic is None and not encoding.case.cones
    return (_solve_linear if is_linear else _solve_curved)(encoding, seconds)


def _solve_linear(encoding: Encoding, seconds: float) -> tuple[Answer, Array | None]:
    highspy.Highs.resetGlobalScheduler(True)
    highs = highspy.Highs()
    settings = {"output_flag": False, "threads": 1, "time_limit": seconds, "mip_rel_gap": GAP, "mip_abs_gap": GAP}
    tolerances = {"primal_feasibility_tolerance": 1e-9, "mip_feasibility_tolerance": 1e-9}
    for name, value in (settings | tolerances).items():
        highs.setOptionValue(name, value)
    highs.passModel(_highs_lp(encoding))
    highs.run()
    status = highs.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        return Answer.INFEASIBLE, None
    solution = highs.getSolution()
    answer = Answer.FEASIBLE if status == highspy.HighsModelStatus.kOptimal else Answer.UNKNOWN
    has_point = highs.getInfo().primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    return (answer, np.array(solution.col_value)) if has_point else (Answer.UNKNOWN, None)


def _highs_lp(encoding: Encoding) -> highspy.HighsLp:
    lp, matrix = highspy.HighsLp(), encoding.matrix
    lp.num_row_, lp.num_col_ = matrix.shape
    lp.col_cost_ = _cost(encoding)
    lp.col_lower_, lp.col_upper_, lp.row_lower_, lp.row_upper_ = encoding.lb, encoding.ub, encoding.row_lb, encoding.row_ub
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = matrix.indptr, matrix.indices, matrix.data
    if encoding.integer.any():
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        lp.integrality_ = [kinds[int(flag)] for flag in encoding.integer]
    return lp


def _cost(encoding: Encoding) -> Array:
    case = encoding.case
    cost = np.zeros(encoding.lb.size)
    cost[: case.cost.size] = -case.cost if case.maximize else case.cost
    return cost


def _solve_curved(encoding: Encoding, seconds: float) -> tuple[Answer, Array | None]:
    model = pyscipopt.Model()
    model.hideOutput()
    model.setParams({"limits/time": seconds, "limits/gap": GAP, "numerics/feastol": 1e-8, "misc/catchctrlc": False})
    kinds = ["I" if flag else "C" for flag in encoding.integer]
    columns = [model.addVar(vtype=kind, lb=low, ub=high) for kind, low, high in zip(kinds, encoding.lb, encoding.ub, strict=True)]
    for i in range(encoding.matrix.shape[0]):
        start, stop = encoding.matrix.indptr[i : i + 2]
        terms = zip(encoding.matrix.indices[start:stop], encoding.matrix.data[start:stop], strict=True)
        value = pyscipopt.quicksum(float(v) * columns[j] for j, v in terms)
        low, high = encoding.row_lb[i], encoding.row_ub[i]
        if np.isfinite(low):
            model.addCons(value >= low)
        if np.isfinite(high):
            model.addCons(value <= high)
    _add_curves(model, columns, encoding.case)
    model.setObjective(
        pyscipopt.quicksum(float(c) * v for c, v in zip(_cost(encoding), columns, strict=True)) + _peak(model, columns, encoding)
    )
    model.optimize()
    if model.getStatus() == "infeasible":
        return Answer.INFEASIBLE, None
    if not model.getNSols():
        return Answer.UNKNOWN, None
    best = model.getBestSol()
    x = np.array([model.getSolVal(best, column) for column in columns])
    return (Answer.FEASIBLE if model.getStatus() in ("optimal", "gaplimit") else Answer.UNKNOWN), x


def _peak(model: pyscipopt.Model, columns: list, encoding: Encoding) -> pyscipopt.Variable | float:
    """A column above the quadratic objective, half the sum of squares of its factors."""
    case = encoding.case
    if case.quadratic is None:
        return 0.0
    values, vectors = np.linalg.eigh(-case.quadratic if case.maximize else case.quadratic)
    kept = values > 1e-12 * max(values.max(), 1.0)
    factors = np.sqrt(values[kept])[:, None] * vectors[:, kept].T
    top = model.addVar(lb=0.0)
    squares = []
    for row in factors:
        part = model.addVar(lb=None)
        model.addCons(pyscipopt.quicksum(float(v) * columns[j] for j, v in enumerate(row) if v) == part)
        squares.append(part * part)
    model.addCons(0.5 * pyscipopt.quicksum(squares) <= top)
    return top


def _add_curves(model: pyscipopt.Model, columns: list, case: Case) -> None:
    for cone in case.cones:
        entries = []
        for number, (row, constant) in enumerate(zip(cone.matrix, cone.offset, strict=True)):
            entry = model.addVar(lb=0.0 if number == 0 else None)
            model.addCons(pyscipopt.quicksum(float(row[j]) * columns[j] for j in np.flatnonzero(row)) + float(constant) == entry)
            entries.append(entry)
        model.addCons(pyscipopt.quicksum(entry * entry for entry in entries[1:]) <= entries[0] * entries[0])
