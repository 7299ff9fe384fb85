"""`SolverFactory("dcembed")`: solve a Pyomo model with embedded networks and report in Pyomo's words."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyomo.environ as pyo
from pyomo.common.collections import Bunch
from pyomo.core.base import SymbolMap
from pyomo.opt import ProblemSense, Solution, SolutionStatus, SolverResults, SolverStatus, TerminationCondition

from dcembed.errors import InputError
from dcembed.frontends.contract import Extraction, is_loaded, solve_model
from dcembed.frontends.messages import warn_user
from dcembed.frontends.pyomo_ import WORDS, PyomoModel, current_point, extract, restore
from dcembed.frontends.pyomo_names import component_names
from dcembed.options import Options
from dcembed.reading import as_flag, as_name, show
from dcembed.result import Result
from dcembed.status import Status
from dcembed.version import __version__
from dcembed.words import Words

logger = logging.getLogger("dcembed.pyomo")

# What a status says when the point is feasible, and when there is no feasible point. Only a proof, or the solver's word about the host
# alone, counts as "infeasible"; an unbounded subproblem proves nothing about the model.
_FEASIBLE = {
    Status.OPTIMAL: (SolverStatus.ok, TerminationCondition.optimal),
    Status.LOCALLY_SOLVED: (SolverStatus.ok, TerminationCondition.locallyOptimal),
    Status.TIME_LIMIT: (SolverStatus.ok, TerminationCondition.maxTimeLimit),
    Status.ITERATION_LIMIT: (SolverStatus.ok, TerminationCondition.maxIterations),
    Status.INTERRUPTED: (SolverStatus.aborted, TerminationCondition.userInterrupt),
}
_NO_POINT = {
    Status.TIME_LIMIT: (SolverStatus.aborted, TerminationCondition.maxTimeLimit),
    Status.ITERATION_LIMIT: (SolverStatus.aborted, TerminationCondition.maxIterations),
    Status.INTERRUPTED: (SolverStatus.aborted, TerminationCondition.userInterrupt),
    Status.INFEASIBLE: (SolverStatus.warning, TerminationCondition.infeasible),
    Status.HOST_INFEASIBLE: (SolverStatus.warning, TerminationCondition.infeasible),
    Status.OUTSIDE_SUPPORT: (SolverStatus.warning, TerminationCondition.infeasible),
    Status.NUMERICAL_ERROR: (SolverStatus.error, TerminationCondition.solverFailure),
}
_SOLUTIONS = {
    TerminationCondition.optimal: SolutionStatus.optimal,
    TerminationCondition.locallyOptimal: SolutionStatus.locallyOptimal,
}
# Keywords of Pyomo's own solvers that say how a model gets to an executable and what is kept of that, or ask for duals.
_IGNORED = frozenset(
    (
        "io_options",
        "keepfiles",
        "logfile",
        "report_timing",
        "solnfile",
        "suffixes",
        "symbolic_solver_labels",
        "tmpdir",
        "use_signal_handling",
        "working_dir",
    )
)


@pyo.SolverFactory.register("dcembed", doc="Penalty convex-concave procedure for models with embedded networks")
class DCEmbedSolver:
    """A Pyomo solver.

    Parameters
    ----------
    options
        Options of every solve, by the names of `dcembed.Options`; also the attribute `options`.
    solver
        Backend of the subproblems, as in SolverFactory("dcembed", solver="scip") or SolverFactory("dcembed:scip").

    Attributes
    ----------
    result
        The `dcembed.Result` of the last solve: incumbents, history, and the best point even where it is not feasible.
    """

    name = "dcembed"

    def __init__(self, *, options: Mapping[str, Any] | None = None, solver: str | None = None, **kwds: Any) -> None:
        kwds = {key: value for key, value in kwds.items() if key not in ("type", "doc", "name")}
        if kwds:
            raise InputError(f'SolverFactory("dcembed") takes options= and solver=, received {", ".join(kwds)}.')
        self.options = Bunch()
        self.options.update(options or {})
        if solver is not None:
            self.options["solver"] = solver
        self.result: Result | None = None
        self._extraction: Extraction[PyomoModel] | None = None

    def available(self, exception_flag: bool = True) -> bool:
        """Always: HiGHS and PIQP come with dcembed."""
        return True

    def license_is_valid(self) -> bool:
        """Always: no licence is needed."""
        return True

    def warm_start_capable(self) -> bool:
        """Always: see `warmstart` of `solve`."""
        return True

    def version(self) -> tuple[int, ...]:
        """The version of dcembed, as Pyomo writes versions."""
        return tuple(int(part) for part in __version__.split(".")[:3] if part.isdigit())

    def set_options(self, text: str) -> None:
        """Options as a string, "time_limit=10 solver=scip"."""
        self.options.update(_read_string(text))

    def __enter__(self) -> DCEmbedSolver:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def solve(
        self,
        model: Any,
        *,
        tee: bool = False,
        load_solutions: bool = True,
        load_infeasible: bool = False,
        warmstart: bool = False,
        timelimit: float | None = None,
        options: Mapping[str, Any] | None = None,
        options_string: str = "",
        **more: Any,
    ) -> SolverResults:
        """Solve a model.

        Parameters
        ----------
        model
            A concrete model, or a block of one.
        tee
            Show the live log.
        load_solutions
            Put the values of a feasible point into the variables. If False, `model.solutions.load_from(results)` does so later.
        load_infeasible
            Put the values of the point that is nearest to feasible into the variables where none is feasible; the results say that it is none.
        warmstart
            Begin from the values that the variables have.
        timelimit
            The same as time_limit.
        options, more
            Options by the names of `dcembed.Options`, such as time_limit or seed; for this solve alone. Keywords of Pyomo's other
            solvers that mean nothing here are ignored with a warning.
        options_string
            Options as a string, "time_limit=10 solver=scip".
        """
        for switch, what in ((tee, "tee"), (load_solutions, "load_solutions"), (warmstart, "warmstart")):
            as_flag(switch, f"solve: {what}")
        as_name(options_string, "solve: options_string")
        if not (options is None or isinstance(options, Mapping)):
            raise InputError(f"solve: options is not accepted: a mapping from names to values is expected, received {show(options)}.")
        settings = _merge(self.options, {**_read_string(options_string), **(options or {})}, _without_ignored(more), timelimit)
        settings.setdefault("verbose", tee)
        reporting = _Reporting(load_solutions)
        begin = current_point if warmstart else None
        self._extraction, self.result, results = solve_model(reporting, model, Options(**settings), begin, load_infeasible=load_infeasible)
        return results

    def load_vars(self) -> None:
        """Put the values of the last solve's point into the variables."""
        if self._extraction is None or self.result is None or not self.result.is_feasible:
            raise InputError("load_vars: the last solve has no feasible point to load.")
        restore(self._extraction, self.result)


@dataclass(frozen=True)
class _Reporting:
    """The front end of one solve: its answer is Pyomo's results object, and the point is either in the model or in that object."""

    load_solutions: bool
    WORDS: ClassVar[Words] = WORDS

    def extract(self, model: Any) -> Extraction[PyomoModel]:
        return extract(model)

    def restore(
        self, extraction: Extraction[PyomoModel], result: Result, load_infeasible: bool = False
    ) -> tuple[Extraction[PyomoModel], Result, SolverResults]:
        results = build_results(extraction, result)
        if not result.is_feasible:
            loaded = "those of the nearest one were" if is_loaded(result, load_infeasible) else "no values were"
            logger.warning("No feasible point was found for '%s', so %s loaded. %s", extraction.handle.model.name, loaded, result.help)
            restore(extraction, result, load_infeasible)
        elif self.load_solutions:
            restore(extraction, result)
            results.solution.clear()
            results._smap = None
        return extraction, result, results


def build_results(extraction: Extraction[PyomoModel], result: Result) -> SolverResults:
    """Pyomo's results object, with the point of the run in it if it is feasible."""
    results = SolverResults()
    status, condition = termination(result)
    results.solver.name = f"dcembed {__version__} on {result.solver}"
    results.solver.status = status
    results.solver.termination_condition = condition
    results.solver.message = results.solver.termination_message = f"{result.status.name}, {result.help}"
    results.solver.time = results.solver.wallclock_time = result.seconds
    _describe(results.problem, extraction, result)
    if result.is_feasible and result.x is not None:
        variables = extraction.handle.variables
        names = component_names(variables)
        results.solution.insert(_solution(names, result, condition))
        # With a map from names to variables, Pyomo also finds variables inside disjuncts.
        results._smap = SymbolMap()
        results._smap.addSymbols(zip(variables, names, strict=True))
    return results


def termination(result: Result) -> tuple[SolverStatus, TerminationCondition]:
    """Why the run ended and what the point is, in Pyomo's words; optimal only where a bound proves it."""
    if result.is_feasible:
        return _FEASIBLE.get(result.status, (SolverStatus.warning, TerminationCondition.feasible))
    return _NO_POINT.get(result.status, (SolverStatus.warning, TerminationCondition.noSolution))


def _describe(problem: Any, extraction: Extraction[PyomoModel], result: Result) -> None:
    program, variables = extraction.program, extraction.handle.variables
    problem.name = extraction.handle.model.name
    problem.sense = ProblemSense.maximize if program.maximize else ProblemSense.minimize
    problem.number_of_objectives = 1
    problem.number_of_constraints = program.num_rows + len(program.indicators)
    problem.number_of_variables = len(variables)
    binary = program.integer & (program.lb >= 0) & (program.ub <= 1)
    problem.number_of_binary_variables = int(binary.sum())
    problem.number_of_integer_variables = int((program.integer & ~binary).sum())
    problem.number_of_continuous_variables = len(variables) - program.num_integers
    problem.number_of_nonzeros = int(program.rows.nnz)
    # A feasible point bounds the optimum from one side, what was proved from the other.
    found = result.objective if result.is_feasible else program.sense * np.inf
    problem.lower_bound, problem.upper_bound = (found, result.bound) if program.maximize else (result.bound, found)


def _solution(names: Sequence[str], result: Result, condition: TerminationCondition) -> Solution:
    assert result.x is not None
    solution = Solution()
    solution.status = _SOLUTIONS.get(condition, SolutionStatus.feasible)
    solution.message = result.status.name
    # Pyomo's gaps are differences.
    solution.gap = abs(result.objective - result.bound)
    values = result.x[: len(names)].tolist()
    solution.variable = {name: {"Value": value} for name, value in zip(names, values, strict=True)}
    return solution


def _read_string(text: str) -> dict[str, Any]:
    pairs = (item.partition("=") for item in (text or "").split())
    return {key: _as_number(value) for key, _, value in pairs}


def _without_ignored(keywords: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords that are options, after a warning about those that are Pyomo's and ask for something."""
    ignored = sorted(key for key in keywords.keys() & _IGNORED if keywords[key])
    if ignored:
        warn_user(f"solve: ignored, since dcembed reads the model without files and has no duals: {', '.join(ignored)}.")
    return {key: value for key, value in keywords.items() if key not in _IGNORED}


def _merge(fixed: Mapping[str, Any], options: Mapping[str, Any], more: Mapping[str, Any], timelimit: float | None) -> dict[str, Any]:
    settings = {**fixed, **options, **more}
    if timelimit is not None:
        if "time_limit" in settings and not _is_same(settings["time_limit"], timelimit):
            raise InputError(f"solve: timelimit={timelimit} and time_limit={settings['time_limit']} are the same option; give one.")
        settings["time_limit"] = timelimit
    return settings


def _is_same(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except ValueError:
        return False


def _as_number(text: str) -> Any:
    if text in ("True", "False"):
        return text == "True"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
