"""What is here: versions, solvers that really solve and how far their licences go, and what each extra would add."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from dcembed.errors import DcembedError, SolverLimitError
from dcembed.program.program import Program
from dcembed.solvers.base import CLASSES, Backend, Limits, SessionOptions
from dcembed.solvers.failover import FAILURES
from dcembed.solvers.table import BACKENDS, is_installed
from dcembed.version import __version__

CORE = ("numpy", "scipy", "highspy", "piqp", "rich")
# Columns of a problem that a size-limited licence does not carry, and seconds that a trial may take.
MANY_COLUMNS, TRIAL_SECONDS = 2_100, 20.0


@dataclass(frozen=True)
class Extra:
    """What `pip install "dcembed[name]"` adds: a package, and what it is for."""

    name: str
    package: str
    brings: str


EXTRAS = (
    Extra("torch", "torch", "networks of PyTorch"),
    Extra("onnx", "onnx", "networks in ONNX files"),
    Extra("keras", "keras", "networks of Keras, .keras files"),
    Extra("sklearn", "scikit-learn", "networks and pipelines of scikit-learn"),
    Extra("safetensors", "safetensors", "weights in safetensors files"),
    Extra("pyomo", "pyomo", "models in Pyomo"),
    Extra("omlt", "omlt", "OMLT blocks in Pyomo"),
    Extra("cvxpy", "cvxpy", "models in CVXPY"),
    Extra("gurobi", "gurobipy", "models in gurobipy, the solver Gurobi"),
    Extra("scip", "pyscipopt", "models in PySCIPOpt, the solver SCIP"),
    Extra("linopy", "linopy", "models in linopy"),
    Extra("clarabel", "clarabel", "the solver Clarabel, for cones"),
    Extra("ipopt", "ipyopt", "the baseline Ipopt"),
    Extra("plot", "matplotlib", "pictures of runs"),
    Extra("completion", "shtab", "completion in bash, zsh and fish"),
    Extra("dask", "distributed", "work on a Dask cluster"),
    Extra("ray", "ray", "work on a Ray cluster"),
    Extra("mpi", "mpi4py", "work on the processes of MPI"),
)


def describe() -> tuple[str, bool]:
    """What is here, for a person, and whether what every run needs works."""
    tried = {backend.name: try_backend(backend) for backend in BACKENDS.values()}
    lines = [
        f"dcembed {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count() or 1} processors",
        "  with " + ", ".join(f"{name} {find_version(name) or '(missing)'}" for name in CORE),
        "",
        "Solvers, each tried on a small problem",
        *(f"  {backend.name:10}{find_version(backend.package) or '-':10}{tried[backend.name]}" for backend in BACKENDS.values()),
        "",
        "Extras",
        *(_line(extra) for extra in EXTRAS),
    ]
    missing = [extra.name for extra in EXTRAS if find_version(extra.package) is None]
    if missing:
        lines += ["", f'What is missing is added by its name, as in: pip install "dcembed[{missing[0]}]"']
    works = all(tried[name].startswith("works") for name in ("highs", "piqp"))
    return "\n".join(lines), works


def find_version(package: str) -> str | None:
    """The version of a package, None where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def try_backend(backend: Backend) -> str:
    """Whether a solver solves, in words that begin with "works" where it does."""
    if not is_installed(backend):
        return f"not installed: {backend.install}"
    try:
        found = _solve(backend, 2)
    except (*FAILURES, DcembedError) as error:
        return f"fails: {' '.join(str(error).split())}"
    if found is None or not abs(found - 2.0) <= 1e-4:
        return "fails: a problem of two columns has come out wrong"
    return f"works, for {', '.join(kind for kind in CLASSES if kind in backend.classes)}{_licence(backend)}"


def _licence(backend: Backend) -> str:
    """What a licence leaves out."""
    try:
        _solve(backend, MANY_COLUMNS)
    except SolverLimitError:
        return "\n" + " " * 22 + "its licence is for small problems"
    except (*FAILURES, DcembedError):
        return "\n" + " " * 22 + "but fails on larger problems"
    return ""


def _solve(backend: Backend, num_columns: int) -> float | None:
    """The least sum of columns that are at least one each; None where the solver has no answer."""
    program = Program(
        cost=np.ones(num_columns), rows=np.eye(1, num_columns), row_lb=0.5, lb=np.ones(num_columns), ub=np.full(num_columns, 9.0)
    )
    session = backend.open(program, SessionOptions())
    try:
        solution = session.solve(Limits(TRIAL_SECONDS))
    finally:
        session.close()
    return None if solution.x is None else float(solution.x.sum())


def _line(extra: Extra) -> str:
    found = find_version(extra.package)
    return f"  {extra.name:12}{f'{extra.package} {found}' if found else 'missing':26}{extra.brings}"
