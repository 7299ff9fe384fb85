"""Methods of the benchmarks that take part in a race, called like `dcembed.solve` and with a `Result` like its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

import dcembed
from benchmarks.methods.table import METHODS
from dcembed import Embedding, Options, Program, Result, Status
from dcembed.embedded.elimination import eliminate
from dcembed.result import build_result
from dcembed.run.journal import count_sizes

# dcembed with a proof, among the methods.
PROVED = "dcembed-prove"
# What the methods call their ends, where that is not the end of a search.
STATUSES = {"time_limit": Status.TIME_LIMIT, "optimal": Status.OPTIMAL, "infeasible": Status.INFEASIBLE}


def _measured(name: str) -> Callable[..., Result]:
    """A method of the benchmarks' own table with a result like that of `dcembed.solve`."""

    def solve(program: Program, embeddings: Sequence[Embedding], start: Sequence[np.ndarray] | None, options: Options) -> Result:
        outcome = METHODS[name].solve(program, embeddings, start or [], options)
        points = [point for _, point in outcome.points]
        return build_result(
            STATUSES.get(outcome.status, Status.LOCALLY_SOLVED),
            points[-1] if points else None,
            program,
            list(embeddings),
            options.feasibility_tol,
            outcome.bound,
            incumbents=[(seconds, program.objective(point)) for seconds, point in outcome.points],
            incumbent_points=points,
            history=[],
            seconds=outcome.seconds,
            solver=name,
            sizes=count_sizes(eliminate(program, embeddings), 0, 0),
        )

    return solve


def prove(program: Program, embeddings: Sequence[Embedding], start: Sequence[np.ndarray] | None, options: Options) -> Result:
    """`dcembed.solve` with a proof, which takes most of its time."""
    return dcembed.solve(program, embeddings, start=start, options=replace(options, prove=True))


# The greedy for water treatment as it is usually written, packages that take networks in hosts with integers, and dcembed with a bound.
OWN_METHODS: dict[str, Callable[..., Result]] = {
    **{name: _measured(name) for name in ("greedy", "gurobi-ml", "pyscipopt-ml", "omlt")},
    PROVED: prove,
}
