"""`problem.solve(method="dcembed")`, and the result of it."""

from __future__ import annotations

from typing import Any

import cvxpy
import numpy as np

from dcembed.errors import InputError
from dcembed.frontends import cvxpy_
from dcembed.frontends.contract import solve_model
from dcembed.frontends.cvxpy_prediction import METHOD
from dcembed.options import Options
from dcembed.result import Result


def solve_problem(
    problem: cvxpy.Problem,
    time_limit: float = np.inf,
    warm_start: bool = False,
    verbose: bool = False,
    load_infeasible: bool = False,
    **options: Any,
) -> float | None:
    """What `problem.solve(method="dcembed", ...)` does; other options are those of `dcembed.Options`.

    With `warm_start` the values that the variables have are where the run begins. With `load_infeasible` the variables have the values of
    the point that is nearest to feasible where none is feasible. Returns the value of the objective, None without a feasible point.
    """
    if isinstance(options.get("solver"), str):
        options["solver"] = options["solver"].lower()
    settings = Options(time_limit=time_limit, verbose=verbose, **options)
    begin = cvxpy_.current_point if warm_start else None
    return solve_model(cvxpy_, problem, settings, begin, load_infeasible=load_infeasible)


def result_of(problem: cvxpy.Problem) -> Result:
    """The `Result` of the last `problem.solve(method="dcembed")`."""
    result = problem.solver_stats.extra_stats if problem.solver_stats is not None else None
    if not isinstance(result, Result):
        raise InputError(f'result_of: the problem was not solved by dcembed last. Call problem.solve(method="{METHOD}") first.')
    return result


cvxpy.Problem.register_solve(METHOD, solve_problem)
