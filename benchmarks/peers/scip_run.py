"""One run of a SCIP model with every new best point kept."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import pyscipopt

from benchmarks.harness.outcome import known_bound
from benchmarks.peers.solver_run import SolverRun
from dcembed import Options

Array = np.ndarray


def run_scip(
    model: pyscipopt.Model, columns: Sequence[pyscipopt.Variable], num_own: int, starts: Sequence[Array], options: Options
) -> SolverRun:
    """Optimize; the points have the values of the first `num_own` columns.

    The starts have values for `columns` but not for what a package has added: SCIP completes them.
    """
    own = columns[:num_own]
    sizes = model.getNVars(), model.getNConss()
    model.hideOutput()
    model.setEmphasis(pyscipopt.SCIP_PARAMEMPHASIS.FEASIBILITY, quiet=True)
    model.setParam("limits/time", options.time_limit)
    model.setParam("randomization/randomseedshift", options.seed)
    # Points are checked at 1e-5; a violation of a row must not be taken for a relative one.
    model.setParam("numerics/feastol", 1e-7)
    # Most columns are the package's own and unknown in a start; the default would not try to complete it.
    model.setParam("heuristics/completesol/maxunknownrate", 1.0)
    for start in starts:
        partial = model.createPartialSol()
        for column, value in zip(columns, start, strict=True):
            model.setSolVal(partial, column, float(value))
        model.addSol(partial)
    points: list[tuple[float, Array]] = []
    began = time.monotonic()
    model.includeEventhdlr(_Keeper(points, own, began), "points", "keeps every new best point")
    model.optimizeNogil()
    seconds = time.monotonic() - began
    if model.getNSols():
        best = model.getBestSol()
        points.append((seconds, np.array([model.getSolVal(best, column) for column in own])))
    status = {"timelimit": "time_limit"}.get(model.getStatus(), model.getStatus())
    return SolverRun(status, points, seconds, known_bound(model.getDualbound()), *sizes)


class _Keeper(pyscipopt.Eventhdlr):
    """Writes down every new best point when SCIP finds it."""

    def __init__(self, points: list[tuple[float, Array]], own: Sequence[pyscipopt.Variable], began: float) -> None:
        self.points, self.own, self.began = points, own, began

    def eventinit(self) -> None:
        self.model.catchEvent(pyscipopt.SCIP_EVENTTYPE.BESTSOLFOUND, self)

    def eventexit(self) -> None:
        self.model.dropEvent(pyscipopt.SCIP_EVENTTYPE.BESTSOLFOUND, self)

    def eventexec(self, event) -> None:
        best = self.model.getBestSol()
        values = np.array([self.model.getSolVal(best, column) for column in self.own])
        self.points.append((time.monotonic() - self.began, values))
