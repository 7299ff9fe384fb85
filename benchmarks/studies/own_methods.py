"""Methods of the benchmarks that take part in a race, called like `dcembed.solve` and with a `Result` like its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.methods import greedy
from dcembed import Embedding, Options, Program, Result, Status
from dcembed.embedded.elimination import eliminate
from dcembed.result import build_result
from dcembed.run.journal import count_sizes


def solve_greedily(program: Program, embeddings: Sequence[Embedding], start: Sequence[np.ndarray] | None, options: Options) -> Result:
    """The greedy for water treatment as it is usually written."""
    outcome = greedy.solve(program, embeddings, start or [], options)
    points = [point for _, point in outcome.points]
    return build_result(
        Status.TIME_LIMIT if outcome.status == "time_limit" else Status.LOCALLY_SOLVED,
        points[-1] if points else None,
        program,
        list(embeddings),
        options.feasibility_tol,
        incumbents=[(seconds, program.objective(point)) for seconds, point in outcome.points],
        incumbent_points=points,
        history=[],
        seconds=outcome.seconds,
        solver="scipy",
        sizes=count_sizes(eliminate(program, embeddings), 0, 0),
    )


OWN_METHODS: dict[str, Callable[..., Result]] = {"greedy": solve_greedily}
