"""gurobi-machinelearning: the host in gurobipy, the networks by add_predictor_constr."""

from __future__ import annotations

import time
from collections.abc import Sequence

import gurobipy as gp
import numpy as np
from gurobi_ml import add_predictor_constr
from gurobipy import GRB

from benchmarks.harness.outcome import LicenceError, Outcome, known_bound
from benchmarks.harness.watch import Watch, watch_of
from benchmarks.peers.host import PlainHost, build_plain_host, build_torch, extend, whole_quadratic
from dcembed import Embedding, Options, Program

Array = np.ndarray
TOO_LARGE = GRB.Error.SIZE_LIMIT_EXCEEDED


def solve(program: Program, embeddings: Sequence[Embedding], start: Sequence[Array], options: Options) -> Outcome:
    """Build, then optimize with every incumbent kept; LicenceError says what a model needs that does not fit."""
    began = time.monotonic()
    host = build_plain_host(program, embeddings)
    with gp.Env(params={"OutputFlag": 0}) as env, gp.Model(env=env) as model:
        columns = _add_host(model, host.program)
        model.update()
        num_rows = model.NumConstrs - (host.program.num_rows - program.num_rows)
        for network, inputs, outputs in zip(host.networks, host.inputs, host.outputs, strict=True):
            add_predictor_constr(model, build_torch(network), _pick(columns, inputs), _pick(columns, outputs))
        _set_parameters(model, options)
        model.update()
        _set_starts(model, columns, [extend(host, embeddings, w) for w in start])
        return _optimize(model, columns, host, num_rows, time.monotonic() - began, watch_of(options))


def _add_host(model: gp.Model, program: Program) -> list[gp.Var]:
    columns = model.addMVar(program.num_columns, lb=program.lb, ub=program.ub, vtype=np.where(program.integer, GRB.INTEGER, GRB.CONTINUOUS))
    is_equal = program.row_lb == program.row_ub
    for rows, sense, side in (
        (is_equal, "=", program.row_ub),
        (~is_equal & np.isfinite(program.row_ub), "<", program.row_ub),
        (~is_equal & np.isfinite(program.row_lb), ">", program.row_lb),
    ):
        if rows.any():
            model.addMConstr(program.rows[rows], columns, sense, side[rows])
    curved = whole_quadratic(program)
    model.setMObjective(None if curved is None else curved * 0.5, program.cost, program.offset, columns, columns, columns, GRB.MINIMIZE)
    listed = columns.tolist()
    for indicator in program.indicators:
        row = gp.LinExpr(indicator.coefficients.data.tolist(), [listed[j] for j in indicator.coefficients.indices])
        for side, sense in ((indicator.lb, GRB.GREATER_EQUAL), (indicator.ub, GRB.LESS_EQUAL)):
            if np.isfinite(side):
                model.addGenConstrIndicator(listed[indicator.column], bool(indicator.value), row, sense, side)
    return listed


def _pick(columns: list[gp.Var], numbers: Array) -> gp.MVar:
    return gp.MVar.fromlist([[columns[j] for j in row] for row in numbers.tolist()])


def _set_parameters(model: gp.Model, options: Options) -> None:
    # The paper's setting: feasible points before proofs.
    model.Params.MIPFocus = 1
    model.Params.Threads = options.threads
    model.Params.Seed = options.seed
    model.Params.TimeLimit = options.time_limit
    model.Params.IntFeasTol = 1e-6
    model.Params.FeasibilityTol = 1e-6


def _set_starts(model: gp.Model, columns: list[gp.Var], starts: list[Array]) -> None:
    model.NumStart = len(starts)
    for number, x in enumerate(starts):
        model.Params.StartNumber = number
        model.setAttr(GRB.Attr.Start, columns, x.tolist())


def _optimize(model: gp.Model, columns: list[gp.Var], host: PlainHost, num_rows: int, preparation: float, watch: Watch) -> Outcome:
    began, points = time.monotonic(), []
    watch.begin()
    own = columns[: host.num_columns]

    def keep(model: gp.Model, where: int) -> None:
        if where == GRB.Callback.MIPSOL:
            points.append((time.monotonic() - began, np.array(model.cbGetSolution(own))))
            watch.offer(points[-1][1])
        if watch.is_set():
            model.terminate()

    try:
        model.optimize(keep)
    except gp.GurobiError as error:
        if error.errno != TOO_LARGE:
            raise
        quadratic = ", quadratic" if model.IsQP else ""
        raise LicenceError(
            f"needs {model.NumVars:,} variables, {model.NumConstrs:,} rows and {model.NumGenConstrs:,} general constraints{quadratic}; "
            "the licence found is the size-limited one of the pip package (2,000 variables and rows, 200 variables when quadratic)"
        ) from None
    if model.SolCount:
        points.append((time.monotonic() - began, np.array(model.getAttr(GRB.Attr.X, own))))
    return Outcome(
        status={GRB.OPTIMAL: "optimal", GRB.TIME_LIMIT: "time_limit", GRB.INFEASIBLE: "infeasible"}.get(
            model.Status, f"status {model.Status}"
        ),
        points=points,
        seconds=time.monotonic() - began,
        preparation_seconds=preparation,
        added_columns=model.NumVars - host.num_columns,
        added_rows=model.NumConstrs - num_rows,
        # Gurobi makes a binary of each of its general constraints.
        added_binaries=model.NumGenConstrs - len(host.program.indicators),
        bound=known_bound(model.ObjBound),
    )
