"""One run of HiGHS on a file with every new best point kept."""

from __future__ import annotations

import time
from pathlib import Path

import highspy
import numpy as np
from highspy import cb

from benchmarks.harness.outcome import known_bound
from benchmarks.peers.solver_run import SolverRun
from dcembed import Options

Array = np.ndarray
# HiGHS does not look at its clock in all its phases; in some of these it hears an interrupt.
CALLBACKS = (
    cb.HighsCallbackType.kCallbackMipImprovingSolution,
    cb.HighsCallbackType.kCallbackMipInterrupt,
    cb.HighsCallbackType.kCallbackSimplexInterrupt,
    cb.HighsCallbackType.kCallbackIpmInterrupt,
)


def run_highs(path: Path, names: list[str | None], starts: list[Array], options: Options) -> SolverRun:
    """Optimize; the points have the values of the named columns.

    A name of None stands for a column that is not in the file; its value is zero. The first start is passed, to be completed.
    """
    highs = highspy.Highs()
    settings = {"output_flag": False, "threads": options.threads, "random_seed": options.seed, "time_limit": options.time_limit}
    for name, value in {**settings, "mip_feasibility_tolerance": 1e-7}.items():
        highs.setOptionValue(name, value)
    if highs.readModel(str(path)) == highspy.HighsStatus.kError:
        raise ValueError("HiGHS cannot read the file")
    number_of = {name: number for number, name in enumerate(highs.getLp().col_names_)}
    there = np.array([j for j, name in enumerate(names) if name in number_of], dtype=np.int64)
    columns = np.array([number_of[names[j]] for j in there], dtype=np.int32)
    if starts:
        highs.setSolution(columns.size, columns, starts[0][there])
    points: list[tuple[float, Array]] = []
    began = time.monotonic()

    def keep(values: Array) -> None:
        x = np.zeros(len(names))
        x[there] = values[columns]
        points.append((time.monotonic() - began, x))

    def listen(kind, message, out, entry, user) -> None:
        if kind == cb.HighsCallbackType.kCallbackMipImprovingSolution:
            keep(np.array(out.mip_solution))
        else:
            entry.user_interrupt = time.monotonic() - began > options.time_limit

    highs.setCallback(listen, None)
    for kind in CALLBACKS:
        highs.startCallback(kind)
    highs.run()
    seconds = time.monotonic() - began
    if highs.getInfo().primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible:
        keep(np.array(highs.getSolution().col_value))
    status = highs.modelStatusToString(highs.getModelStatus()).lower().replace(" ", "_")
    status = {"time_limit_reached": "time_limit", "interrupted_by_user": "time_limit"}.get(status, status)
    bound = known_bound(highs.getInfo().mip_dual_bound)
    if status == "optimal" and bound is None:
        # It calls a start optimal where presolve has found the model infeasible.
        status = "optimal_without_bound"
    return SolverRun(status, points, seconds, bound, highs.getNumCol(), highs.getNumRow())
