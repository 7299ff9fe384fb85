"""Small programs of every class, and their optimal values found in other ways."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from itertools import product

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint, linprog, milp, minimize, nnls

from dcembed import ConeConstraint, Program, QuadraticConstraint, verify
from dcembed.solvers import BACKENDS, Limits, SessionOptions

NUM_COLUMNS, NUM_ROWS, NUM_INTEGERS = 5, 5, 2
UNLIMITED = Limits()


@dataclass(frozen=True, eq=False)
class Example:
    """A program with a point inside."""

    program: Program
    inside: np.ndarray


@cache
def example(problem_class: str, seed: int = 0) -> Example:
    """Bounded and feasible: rows of every kind around a point. The same object for the same arguments, whose reference is found once."""
    rng = np.random.default_rng(seed)
    n, m = NUM_COLUMNS, NUM_ROWS
    integer = np.arange(n) < NUM_INTEGERS if problem_class.startswith("MI") else np.zeros(n, dtype=bool)
    inside = rng.normal(size=n)
    inside[:NUM_INTEGERS] = rng.integers(-1, 2, size=NUM_INTEGERS)
    rows = rng.normal(size=(m, n))
    row_lb, row_ub = limits_around(rows @ inside, rng)
    root = rng.normal(size=(n - 2, n))
    return Example(
        Program(
            cost=rng.normal(size=n) * 3,
            quadratic=root.T @ root if problem_class.endswith("QP") else None,
            offset=rng.normal(),
            rows=rows,
            row_lb=row_lb,
            row_ub=row_ub,
            lb=np.where(np.arange(n) < NUM_INTEGERS, -2.0, -5.0),
            ub=np.where(np.arange(n) < NUM_INTEGERS, 2.0, 5.0),
            integer=integer,
            **_curves_around(inside, problem_class, rng),
        ),
        inside,
    )


def _curves_around(inside: np.ndarray, problem_class: str, rng: np.random.Generator) -> dict:
    """Two constraints that leave little room around a point: an ellipsoid and a paraboloid, and cones in an SOCP."""
    n = inside.size
    if not problem_class.endswith("CP"):
        return {}
    curves: dict = {"quadratic_constraints": [], "cones": []}
    for rank in (n, 2):
        root = rng.normal(size=(rank, n))
        form, tilt = root.T @ root, np.zeros(n) if rank == n else rng.normal(size=n)
        ub = 3.0 - 0.5 * inside @ form @ inside + tilt @ inside
        curves["quadratic_constraints"].append(QuadraticConstraint(form, tilt - form @ inside, ub))
    if problem_class.endswith("SOCP"):
        matrix = rng.normal(size=(4, n))
        curves["cones"].append(ConeConstraint(matrix, np.array([1.5, 0.0, 0.0, 0.0]) - matrix @ inside))
        # A cone of one row is an inequality; two may share a matrix.
        matrix = rng.normal(size=(4, n))
        curves["cones"].append(ConeConstraint(matrix, np.array([2.0, 0.1, -0.2, 1.0]) - matrix @ inside, sizes=[3, 1]))
    return curves


def with_loose_curves(program: Program, problem_class: str) -> Program:
    """The same program, with constraints of its class on column 1 that cut nothing off."""
    n = program.num_columns
    unit = np.eye(n)[1]
    quadratics = [QuadraticConstraint(np.diag(unit), -unit, 500.0)] if problem_class.endswith("CP") else []
    cones = [ConeConstraint(np.stack([np.zeros(n), unit]), [30.0, 0.0])] if problem_class.endswith("SOCP") else []
    return replace(program, quadratic_constraints=quadratics, cones=cones)


def limits_around(activity: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """An equality, a range, an upper side, a lower side and a free row."""
    room = rng.uniform(0.2, 1.0, size=activity.size)
    kind = np.arange(activity.size) % 5
    lb = np.where(kind == 0, activity, np.where((kind == 1) | (kind == 3), activity - room, -np.inf))
    ub = np.where(kind == 0, activity, np.where((kind == 1) | (kind == 2), activity + room, np.inf))
    return lb, ub


def solve(backend: str, program: Program, limits: Limits = UNLIMITED, start: np.ndarray | None = None, **options):
    """One solve in a session of its own."""
    session = BACKENDS[backend].open(program, SessionOptions(**options))
    try:
        return session.solve(limits, start)
    finally:
        session.close()


@cache
def reference(program: Program) -> float:
    """The optimal value, not by the backend under test."""
    if program.problem_class in ("QCP", "SOCP"):
        value = _by_descent(program)
        assert value is not None
        return value
    if program.problem_class == "LP":
        upper, lower = np.isfinite(program.row_ub), np.isfinite(program.row_lb)
        rows = np.vstack([program.rows.toarray()[upper], -program.rows.toarray()[lower]])
        rhs = np.concatenate([program.row_ub[upper], -program.row_lb[lower]])
        result = linprog(program.cost, A_ub=rows, b_ub=rhs, bounds=np.stack([program.lb, program.ub], axis=1))
        return result.fun + program.offset
    if program.problem_class == "MILP":
        constraint = LinearConstraint(program.rows.toarray(), program.row_lb, program.row_ub)
        result = milp(program.cost, constraints=constraint, bounds=Bounds(program.lb, program.ub), integrality=program.integer)
        return result.fun + program.offset
    if program.problem_class == "QP":
        x = solve("piqp", program).x
        assert stationarity(program, x) < 1e-5
        return program.objective(x)
    return min(value for value in (_with_integers_at(program, fixed) for fixed in _choices(program)) if value is not None)


def stationarity(program: Program, x: np.ndarray, tol: float = 1e-5) -> float:
    """How far the gradient is from the cone of the active constraints: zero proves that x is optimal."""
    matrix = np.vstack([program.rows.toarray(), np.eye(program.num_columns)])
    lb, ub = np.concatenate([program.row_lb, program.lb]), np.concatenate([program.row_ub, program.ub])
    value = matrix @ x
    assert (value >= lb - tol).all()
    assert (value <= ub + tol).all()
    normals = np.vstack([matrix[value >= ub - tol], -matrix[value <= lb + tol]])
    return float(nnls(normals.T, -program.gradient(x))[1]) if normals.size else float(np.linalg.norm(program.gradient(x)))


def _by_descent(program: Program) -> float | None:
    """The optimal value of a small smooth program by sequential quadratic programming; None where no point is found."""
    curves = [NonlinearConstraint(quadratic.value, -np.inf, quadratic.ub) for quadratic in program.quadratic_constraints]
    for cone in program.cones:
        curves.append(NonlinearConstraint(lambda w, cone=cone: cone.excess(w), -np.inf, 0.0))
    equal = program.row_lb == program.row_ub
    finite = ~equal & (np.isfinite(program.row_lb) | np.isfinite(program.row_ub))
    rows = [LinearConstraint(program.rows.toarray()[which], program.row_lb[which], program.row_ub[which]) for which in (equal, finite)]
    middle = (program.lb + program.ub) / 2
    for scale in (0.0, 0.3, 1.0):
        start = middle + scale * np.random.default_rng(0).normal(size=middle.size)
        found = minimize(
            program.objective,
            start,
            method="SLSQP",
            bounds=Bounds(program.lb, program.ub),
            constraints=[*rows, *curves],
            options={"maxiter": 500, "ftol": 1e-12},
        )
        if verify(replace(program, integer=None), [], found.x).violation < 1e-7:
            return program.objective(found.x)
    return None


def _choices(program: Program):
    columns = np.flatnonzero(program.integer)
    return product(*(np.arange(program.lb[j], program.ub[j] + 1) for j in columns))


def _with_integers_at(program: Program, fixed) -> float | None:
    lb, ub = program.lb.copy(), program.ub.copy()
    lb[program.integer] = ub[program.integer] = fixed
    relaxed = replace(program, lb=lb, ub=ub, integer=None)
    if program.problem_class.endswith("CP"):
        return _by_descent(relaxed)
    feasible = linprog(
        np.zeros(program.num_columns),
        A_ub=np.vstack([program.rows.toarray()[np.isfinite(program.row_ub)], -program.rows.toarray()[np.isfinite(program.row_lb)]]),
        b_ub=np.concatenate([program.row_ub[np.isfinite(program.row_ub)], -program.row_lb[np.isfinite(program.row_lb)]]),
        bounds=np.stack([lb, ub], axis=1),
    ).success
    return program.objective(solve("piqp", relaxed).x) if feasible else None


def market_split(num_rows: int = 5, num_columns: int = 40, seed: int = 0) -> Program:
    """A notoriously hard MILP: split every row in half. Points are found at once, proofs never."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 100, size=(num_rows, num_columns))
    half = rows.sum(axis=1) // 2
    free = np.full(2 * num_rows, np.inf)
    return Program(
        cost=np.concatenate([np.zeros(num_columns), np.ones(2 * num_rows)]),
        rows=np.hstack([rows, np.eye(num_rows), -np.eye(num_rows)]),
        row_lb=half,
        row_ub=half,
        lb=0.0,
        ub=np.concatenate([np.ones(num_columns), free]),
        integer=np.arange(num_columns),
    )


def planted_split(num_rows: int = 6, num_columns: int = 50, seed: int = 0) -> Example:
    """A market split with an exact solution that is hard to find."""
    rng = np.random.default_rng(seed + 1000)
    program = market_split(num_rows, num_columns, seed)
    chosen = rng.integers(0, 2, size=num_columns).astype(np.float64)
    inside = np.concatenate([chosen, np.zeros(2 * num_rows)])
    half = program.rows @ inside
    return Example(replace(program, row_lb=half, row_ub=half), inside)


def banded_qp(n: int, m: int, seed: int = 0) -> Program:
    """A quick QP of any size."""
    rng = np.random.default_rng(seed)
    quadratic = sp.diags_array([np.full(n - 1, -1.0), np.full(n, 2.5), np.full(n - 1, -1.0)], offsets=[-1, 0, 1], format="csr")
    first = rng.integers(0, n - 1, size=m)
    rows = sp.csr_array((np.ones(2 * m), (np.repeat(np.arange(m), 2), np.stack([first, first + 1], axis=1).reshape(-1))), shape=(m, n))
    return Program(cost=rng.normal(size=n), quadratic=quadratic, rows=rows, row_ub=0.25, lb=-1.0, ub=1.0)
