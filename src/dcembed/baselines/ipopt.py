"""Ipopt on an oracle of the networks: what users of nonlinear modelling tools do with a continuous host.

Value and gradient of all networks are one batched forward and one backward pass. The Hessian of the Lagrangian is the host's own, as
the networks have none almost everywhere, or Ipopt's limited-memory estimate. Every point that Ipopt asks about is looked at: what
seems feasible and better is measured, and iterates are measured in any case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dcembed.arrays import Array
from dcembed.baselines.nonlinear import NonlinearProgram
from dcembed.baselines.recorder import Recorder, open_recorder
from dcembed.embedded.embedding import Embedding
from dcembed.errors import InputError, MissingPackageError
from dcembed.options import NUM_STARTS, Options
from dcembed.program.program import Program
from dcembed.result import Result
from dcembed.run.arguments import read_arguments
from dcembed.status import Status

HESSIANS = ("exact", "limited-memory")

# Ipopt's own settings; `Options.solver_options` has the last word.
SETTINGS: Mapping[str, object] = {"print_level": 0, "sb": "yes", "tol": 1e-7}

# Ipopt's return codes: converged to its tolerances or to the acceptable ones, iterates that diverge, no iterations left.
_SOLVED, _DIVERGING, _ITERATIONS = (0, 1), 4, -1


def solve(
    program: Program,
    embeddings: Sequence[Embedding] | Embedding,
    start: Result | Array | Sequence[Result | Array] | None = None,
    options: Options | Mapping[str, object] | None = None,
    hessian: str = "exact",
) -> Result:
    """Run Ipopt from each start.

    Parameters
    ----------
    program, embeddings, start, options
        As for `dcembed.solve`; hosts with integers are refused. `solver_options` are Ipopt's own, `max_iterations` is its limit from
        each start.
    hessian
        "exact" for that of the host and of smooth networks (ReLU units have none), "limited-memory" for Ipopt's estimate.
    """
    arguments = read_arguments(program, embeddings, start, options)
    if program.integer.any():
        raise InputError(
            f"Ipopt takes continuous hosts only, but this one has {program.num_integers} integer columns. "
            "Use dcembed.solve or another baseline for it."
        )
    if hessian not in HESSIANS:
        raise InputError(f"ipopt.solve: hessian={hessian!r} is not accepted. Give one of {', '.join(map(repr, HESSIANS))}.")
    with open_recorder(arguments) as recorder:
        label = "exact Hessian" if hessian == "exact" else "L-BFGS"
        recorder.begin(f"interior point on a network oracle, {label}", "ipopt", program.num_columns, program.num_rows)
        nlp = NonlinearProgram(recorder.embedded)
        num_starts = arguments.options.max_starts or NUM_STARTS
        status = recorder.run_starts(arguments.starts, lambda w, number: _Run(recorder, nlp, hessian).solve(w, number), num_starts)
    return recorder.journal.result(status)


class _Run:
    """One run of Ipopt: its callbacks, and what they remember."""

    def __init__(self, recorder: Recorder, nlp: NonlinearProgram, hessian: str) -> None:
        self._recorder, self._nlp, self._hessian = recorder, nlp, hessian
        self._host = recorder.embedded.host
        self._iterate: Array | None = None
        self._error: BaseException | None = None

    def solve(self, w: Array, number: int) -> Status:
        """From one start (all columns)."""
        recorder = self._recorder
        point = recorder.offer_start(w, number)
        if ended := recorder.clock.ended():
            return ended
        _, _, code = self._problem().solve(np.clip(point.w, self._host.lb, self._host.ub))
        if self._error is not None:
            raise self._error
        if ended := recorder.clock.ended():
            return ended
        return self._status(int(code))

    def _status(self, code: int) -> Status:
        is_feasible = self._recorder.incumbent.is_feasible
        if code in _SOLVED:
            return Status.LOCALLY_SOLVED if is_feasible else Status.LOCALLY_INFEASIBLE
        return {_DIVERGING: Status.UNBOUNDED, _ITERATIONS: Status.ITERATION_LIMIT}.get(code, Status.NUMERICAL_ERROR)

    def _problem(self) -> Any:
        nlp, host, recorder = self._nlp, self._host, self._recorder
        own: dict[str, object] = {**SETTINGS, "hessian_approximation": self._hessian, "max_iter": recorder.options.max_iterations}
        functions = [self._guarded(function) for function in (self._objective, self._gradient, self._rows, self._jacobian)]
        curvature = self._guarded(self._lagrangian) if self._hessian == "exact" else None
        problem = _ipyopt().Problem(
            *(host.num_columns, host.lb, host.ub),
            *(nlp.num_rows, nlp.lower, nlp.upper),
            *(nlp.jacobian_places, nlp.hessian_places),
            *(*functions, curvature, self._guarded(self._intermediate, otherwise=False)),
            ipopt_options=own,
        )
        for name, value in recorder.options.solver_options.items():
            try:
                problem.set(**{name: value})
            except (TypeError, ValueError) as error:
                raise InputError(f"Options: solver_options has {name}={value!r}, which Ipopt does not take ({error}).") from None
        return problem

    def _guarded(self, function: Callable[..., Any], otherwise: object = np.nan) -> Callable[..., Any]:
        """The function for Ipopt, which knows no exceptions: the first one ends its run and is raised after it."""

        def call(*arguments: Any) -> Any:
            try:
                return function(*arguments) if self._error is None else otherwise
            except BaseException as error:
                self._error = error
                return otherwise

        return call

    def _objective(self, w: Array) -> float:
        objective = self._nlp.objective(w)
        self._look(w, objective)
        return objective

    def _gradient(self, w: Array, out: Array) -> None:
        self._iterate = w.copy()
        out[:] = self._nlp.gradient(w)

    def _rows(self, w: Array, out: Array) -> None:
        out[:] = self._nlp.rows(w)

    def _jacobian(self, w: Array, out: Array) -> None:
        out[:] = self._nlp.jacobian(w)

    def _lagrangian(self, w: Array, multipliers: Array, objective: float, out: Array) -> None:
        out[:] = self._nlp.hessian(w, objective, multipliers)

    def _look(self, w: Array, objective: float) -> None:
        """Measure a trial point that seems feasible and better than the best."""
        best = self._recorder.incumbent
        if best.is_feasible and best.point is not None and not objective < best.point.objective:
            return
        rows = self._nlp.rows(w)
        if max(np.max(self._nlp.lower - rows, initial=0.0), np.max(rows - self._nlp.upper, initial=0.0)) <= best.feasibility_tol:
            self._recorder.try_point(w)

    def _intermediate(self, *state: object) -> bool:
        """After each iteration: the iterate is measured and written down."""
        if self._iterate is not None:
            self._recorder.offer(self._recorder.embedded.lift(self._iterate), "iterate")
            self._iterate = None
        return self._recorder.clock.ended() is None


def _ipyopt() -> Any:
    try:
        import ipyopt
    except ImportError:
        raise MissingPackageError('The baseline "ipopt" needs the package ipyopt. Install it: pip install "dcembed[ipopt]".') from None
    return ipyopt
