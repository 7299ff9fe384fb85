"""From a solver whose licence does not carry the size to one that has no such limit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.epigraph import Epigraph
from dcembed.engine.run import Run
from dcembed.engine.subproblem import Subproblem, build_subproblem, open_session, take_indicators
from dcembed.errors import DcembedError, NoBackendError, SolverLimitError
from dcembed.run.completion import HostProblem, open_host
from dcembed.run.log import RunLog
from dcembed.run.search import attempt, failure
from dcembed.solvers import choose_backend
from dcembed.solvers.base import Backend, Session, SessionOptions, Solution

Opened = tuple[Backend, SessionOptions, Subproblem, Session, HostProblem]


def open_problems(embedded: EmbeddedProgram, epigraph: Epigraph, backend: Backend, options: SessionOptions, log: RunLog) -> Opened:
    """Subproblem and host inside `backend`, or inside another one where its licence does not carry them."""
    try:
        return _open(embedded, epigraph, backend, options)
    except SolverLimitError as error:
        other = _other(embedded, backend, error)
        log.note(f"{backend.name}: {error} Going on with {other.name}.")
        return _open(embedded, epigraph, other, replace(options, solver_options={}))


def _open(embedded: EmbeddedProgram, epigraph: Epigraph, backend: Backend, options: SessionOptions) -> Opened:
    subproblem = build_subproblem(embedded, epigraph, backend)
    session = open_session(subproblem, backend, options)
    try:
        host = open_host(embedded, backend, options)
    except DcembedError:
        session.close()
        raise
    return backend, options, subproblem, session, host


def _other(embedded: EmbeddedProgram, backend: Backend, error: SolverLimitError) -> Backend:
    try:
        return choose_backend(embedded.host.problem_class, without=backend)
    except NoBackendError as cause:
        raise SolverLimitError(f"{error} Apart from {backend.name}: {cause}") from None


def solve_or_switch(run: Run, once: Callable[[], Solution], prepare: Callable[[], None]) -> Solution:
    """The result of `once`. If the subproblem has outgrown the licence, another solver goes on; `prepare` sets its bounds."""
    try:
        return attempt(once, failure)
    except SolverLimitError as error:
        try:
            _switch(run, error)
        except DcembedError:
            # Nothing else takes the host; what was found so far is kept.
            return failure(error)
        prepare()
        return attempt(once, failure)


def _switch(run: Run, error: SolverLimitError) -> None:
    backend = _other(run.embedded, run.backend, error)
    options = replace(run.session_options, solver_options={})
    subproblem = replace(run.subproblem, host=take_indicators(run.embedded, backend))
    session, host = open_session(subproblem, backend, options), open_host(run.embedded, backend, options)
    run.session.close()
    run.host.session.close()
    run.log.note(f"{run.backend.name}: {error} Going on with {backend.name}.")
    run.backend, run.session_options, run.subproblem, run.session, run.host = backend, options, subproblem, session, host
