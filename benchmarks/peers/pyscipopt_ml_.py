"""PySCIPOpt-ML: the host in PySCIPOpt, the networks by add_predictor_constr, solved by SCIP."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import pyscipopt
import scipy.sparse as sp
from pyscipopt_ml.add_predictor import add_predictor_constr

from benchmarks.harness.outcome import Outcome
from benchmarks.peers.host import build_plain_host, build_torch, extend, whole_quadratic
from benchmarks.peers.scip_run import run_scip
from dcembed import Embedding, Options, Program

Array = np.ndarray
# The package's default is "sos". With 15 s each, big-M was better on water N = 3 (3 samples, not 2) and found a point of QP 64x1 where
# sos found none; on water N = 25 and pooling m = 5 neither got beyond the start.
FORMULATION = "bigm"


def solve(
    program: Program, embeddings: Sequence[Embedding], start: Sequence[Array], options: Options, formulation: str = FORMULATION
) -> Outcome:
    """Build, then optimize with every incumbent kept."""
    began = time.monotonic()
    host = build_plain_host(program, embeddings)
    model = pyscipopt.Model()
    columns = _add_columns(model, host.program)
    _add_rows(model, host.program, columns)
    _add_objective(model, host.program, columns)
    before = model.getNConss() - (host.program.num_rows - program.num_rows), model.getNVars(), model.getNBinVars()
    listed = np.array(columns, dtype=object)
    for number, (network, inputs, outputs) in enumerate(zip(host.networks, host.inputs, host.outputs, strict=True)):
        prefix = f"p{number}_"
        add_predictor_constr(
            model, build_torch(network), listed[inputs], listed[outputs], unique_naming_prefix=prefix, formulation=formulation
        )
    added = {
        "added_columns": model.getNVars() - before[1] + host.program.num_columns - program.num_columns,
        "added_rows": model.getNConss() - before[0],
        "added_binaries": model.getNBinVars() - before[2],
    }
    starts = [extend(host, embeddings, w) for w in start]
    known = {**added, "preparation_seconds": time.monotonic() - began}
    run = run_scip(model, columns, program.num_columns, starts, options, **known)
    return Outcome(run.status, run.points, run.seconds, time.monotonic() - began - run.seconds, bound=run.bound, **added)


def _add_columns(model: pyscipopt.Model, program: Program) -> list[pyscipopt.Variable]:
    limits = [[None if np.isinf(value) else float(value) for value in side] for side in (program.lb, program.ub)]
    is_binary = program.integer & (program.lb == 0) & (program.ub == 1)
    kinds = np.where(is_binary, "B", np.where(program.integer, "I", "C"))
    return [
        model.addVar(f"w{j}", vtype=str(kind), lb=lb, ub=ub, obj=float(cost))
        for j, (lb, ub, kind, cost) in enumerate(zip(*limits, kinds, program.cost, strict=True))
    ]


def _add_rows(model: pyscipopt.Model, program: Program, columns: list[pyscipopt.Variable]) -> None:
    for i in range(program.num_rows):
        row, lb, ub = _expression(program.rows[[i]], columns), float(program.row_lb[i]), float(program.row_ub[i])
        if lb == ub:
            model.addCons(row == ub)
        elif np.isfinite(lb) and np.isfinite(ub):
            model.addCons((row <= ub) >= lb)
        elif np.isfinite(ub):
            model.addCons(row <= ub)
        elif np.isfinite(lb):
            model.addCons(row >= lb)
    for indicator in program.indicators:
        row, column = _expression(indicator.coefficients, columns), columns[indicator.column]
        is_on = column if indicator.value == 1 else model.getNegatedVar(column)
        if np.isfinite(indicator.ub):
            model.addConsIndicator(row <= indicator.ub, is_on)
        if np.isfinite(indicator.lb):
            model.addConsIndicator(-row <= -indicator.lb, is_on)


def _add_objective(model: pyscipopt.Model, program: Program, columns: list[pyscipopt.Variable]) -> None:
    """The linear part is in the columns already; a quadratic part goes through one more column, as SCIP's objective is linear."""
    model.addObjoffset(program.offset)
    curved = whole_quadratic(program)
    if curved is not None:
        entries = sp.coo_array(sp.triu(curved))
        weight = np.where(entries.row == entries.col, 0.5, 1.0) * entries.data
        terms = (float(v) * columns[i] * columns[j] for i, j, v in zip(entries.row, entries.col, weight, strict=True))
        above = model.addVar("quadratic", lb=None, ub=None, obj=1.0)
        model.addCons(pyscipopt.quicksum(terms) <= above)


def _expression(row: sp.csr_array, columns: list[pyscipopt.Variable]):
    return pyscipopt.quicksum(float(value) * columns[j] for j, value in zip(row.indices, row.data, strict=True))
