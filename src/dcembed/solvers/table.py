"""The table of solver backends. The first one in it that takes a problem class is its default."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec

from dcembed.errors import InputError, MissingPackageError, NoBackendError
from dcembed.program.program import Program
from dcembed.solvers.base import CLASSES, Backend, Session, SessionOptions
from dcembed.solvers.work import array_seconds, clarabel_seconds, highs_seconds, piqp_seconds, scip_seconds


def _open_highs(program: Program, options: SessionOptions) -> Session:
    from dcembed.solvers.highs_ import HighsSession

    return HighsSession(program, options)


def _open_piqp(program: Program, options: SessionOptions) -> Session:
    from dcembed.solvers.piqp_ import PiqpSession

    return PiqpSession(program, options)


def _open_scip(program: Program, options: SessionOptions) -> Session:
    from dcembed.solvers.scip_ import ScipSession

    return ScipSession(program, options)


def _open_clarabel(program: Program, options: SessionOptions) -> Session:
    from dcembed.solvers.clarabel_ import ClarabelSession

    return ClarabelSession(program, options)


def _open_gurobi(program: Program, options: SessionOptions) -> Session:
    from dcembed.solvers.gurobi_ import GurobiSession

    return GurobiSession(program, options)


BACKENDS: Mapping[str, Backend] = {
    backend.name: backend
    for backend in (
        Backend("highs", "highspy", "pip install highspy", frozenset({"LP", "MILP"}), False, True, _open_highs, highs_seconds),
        Backend("piqp", "piqp", "pip install piqp", frozenset({"QP", "LP"}), False, False, _open_piqp, piqp_seconds, True),
        Backend(
            "clarabel",
            "clarabel",
            'pip install "dcembed[clarabel]"',
            frozenset({"LP", "QP", "QCP", "SOCP"}),
            False,
            True,
            _open_clarabel,
            clarabel_seconds,
            True,
        ),
        Backend("scip", "pyscipopt", 'pip install "dcembed[scip]"', frozenset(CLASSES), True, False, _open_scip, scip_seconds),
        # Open solvers go first: Gurobi is for those who name it, and for hosts that nothing else takes.
        Backend("gurobi", "gurobipy", 'pip install "dcembed[gurobi]"', frozenset(CLASSES), True, True, _open_gurobi, array_seconds),
    )
}


def is_installed(backend: Backend) -> bool:
    """Whether the backend's package can be imported."""
    return _is_there(backend.package)


@cache
def _is_there(package: str) -> bool:
    # To look through all folders for a package takes as long as a small master.
    return find_spec(package) is not None


def choose_backend(problem_class: str, name: str | None = None, without: Backend | None = None) -> Backend:
    """The backend called `name`, or the first installed one but `without` that takes `problem_class`."""
    if name is not None:
        return _named(problem_class, name)
    able = [
        backend for backend in BACKENDS.values() if problem_class in backend.classes and (without is None or backend.name != without.name)
    ]
    for backend in able:
        if is_installed(backend):
            return backend
    installed = ", ".join(f"{b.name} ({', '.join(_in_order(b))})" for b in BACKENDS.values() if is_installed(b)) or "none"
    cure = " or ".join(f"{b.install} (backend {b.name!r})" for b in able)
    raise NoBackendError(
        f"The host is {_article(problem_class)} and no installed solver takes that. Installed: {installed}. Install one: {cure}."
    )


def other_backend(problem_class: str, than: Backend) -> Backend | None:
    """Another installed backend that takes `problem_class`, if there is one."""
    try:
        return choose_backend(problem_class, without=than)
    except NoBackendError:
        return None


def find_backend(name: str) -> Backend:
    """The backend of this name, installed or not; InputError with those that there are."""
    if name not in BACKENDS:
        raise InputError(
            f"Options: solver={name!r} is unknown. Accepted: {', '.join(map(repr, BACKENDS))}, or None to choose by the problem."
        )
    return BACKENDS[name]


def _named(problem_class: str, name: str) -> Backend:
    backend = find_backend(name)
    if not is_installed(backend):
        raise MissingPackageError(f"The solver {name!r} needs the package {backend.package}. Install it: {backend.install}.")
    if problem_class not in backend.classes:
        raise NoBackendError(
            f"The host is {_article(problem_class)}, but the solver {name!r} takes {', '.join(_in_order(backend))} only. "
            "Leave solver=None to choose one that fits."
        )
    return backend


def _in_order(backend: Backend) -> list[str]:
    return [kind for kind in CLASSES if kind in backend.classes]


def _article(problem_class: str) -> str:
    return f"an {problem_class}" if problem_class[0] in "LMS" else f"a {problem_class}"
