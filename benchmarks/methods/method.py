"""A method behind the call that all have in common: solve(program, embeddings, start, options)."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.harness.outcome import Outcome
from benchmarks.harness.watch import watch_of
from benchmarks.problems.experiments import Experiment
from dcembed import Embedding, Options, Program, Result

Solve = Callable[[Program, Sequence[Embedding], Sequence[np.ndarray], Options], Result | Outcome]

# What ends a run that is still at its start.
WATCH = "harness/watch.py"
_BENCH = "pip install 'dcembed[bench]'"
# What a method that is not ours needs of dcembed: networks as they are read, hosts, their bounds and predictions.
PROBLEM_ROOMS = ("network", "importers", "program", "embedded", "tolerances.py")
# What every method of ours runs, beside that; who only says something about a run (`harness/fingerprint.py`) does not count.
RUN_ROOMS = (*PROBLEM_ROOMS, "solvers", "run", "options.py", "arrays.py", "children.py", "copies.py", "gap.py", "signals.py", "sparse.py")
ENGINE_ROOMS = (*RUN_ROOMS, "engine", "bounds", "crew")
BASELINE_ROOMS = (*RUN_ROOMS, "baselines")
# Array products and solvers that dcembed is built on, and others through it.
CORE = ("numpy", "scipy", "highspy", "piqp")


@dataclass(frozen=True)
class Method:
    """One method.

    Parameters
    ----------
    name, label
        What records and pictures call it.
    about
        One sentence for the report.
    solve
        (program, embeddings, starts, options) -> Result or Outcome.
    why_not
        Family of experiments -> why the method is not run on it.
    small_only, not_small
        Why it is run on small experiments alone, or on the others alone; empty if it is run on all.
    settings
        Options it needs for an experiment, beyond the time limit.
    packages
        Packages it needs beyond the core.
    install
        The command that installs them.
    rooms
        Folders and files of dcembed whose code it runs: records are reused by the same code only.
    sources
        Folders and files of the benchmarks that are its own code, for the same reason.
    may_stop
        Whether a run that is still at its start after a while may be ended before its time limit (`harness/watch.py`): true of exact
        encodings, which are run at all sizes, whether they get anywhere or not.
    """

    name: str
    label: str
    about: str
    solve: Solve
    why_not: dict[str, str] = field(default_factory=dict)
    settings: Callable[[Experiment], dict[str, object]] = lambda experiment: {}
    packages: tuple[str, ...] = ()
    install: str = _BENCH
    rooms: tuple[str, ...] = ENGINE_ROOMS
    sources: tuple[str, ...] = ()
    may_stop: bool = False
    small_only: str = ""
    not_small: str = ""

    def missing_package(self) -> str | None:
        """The first package that is not installed."""
        return next((name for name in self.packages if importlib.util.find_spec(name) is None), None)

    def import_packages(self) -> None:
        """Import what it needs, the solvers of the core included: a process does that once, whatever it solves, and no clock counts it."""
        for name in (*CORE, *self.packages):
            importlib.import_module(name)


def baseline(
    name: str,
    label: str,
    about: str,
    why_not: dict[str, str] | None = None,
    packages: tuple[str, ...] = ("pyscipopt",),
    may_stop: bool = False,
    small_only: str = "",
    **settings: object,
) -> Method:
    """A method of dcembed.baselines, whose clock begins when it is called; the settings are options it gets on every experiment."""

    def solve(program: Program, embeddings: Sequence[Embedding], start: Sequence[np.ndarray], options: Options) -> Result:
        watch_of(options).begin()
        return importlib.import_module("dcembed.baselines").BASELINES[name](program, embeddings, start=start, options=options)

    sources = (WATCH,) if may_stop else ()
    return Method(
        name,
        label,
        about,
        solve,
        why_not or {},
        settings=lambda experiment: settings,
        packages=("dcembed.baselines", *packages),
        rooms=BASELINE_ROOMS,
        sources=sources,
        may_stop=may_stop,
        small_only=small_only,
    )


def peer(name: str, label: str, about: str, module: str, packages: tuple[str, ...], small_only: str = "", **settings: str) -> Method:
    """A package of others behind a module of `peers`; the settings go to its `solve`."""
    solve = solve_of(f"peers.{module}", **settings)
    return Method(
        name,
        label,
        about,
        solve,
        packages=packages,
        rooms=PROBLEM_ROOMS,
        sources=("peers", WATCH),
        may_stop=True,
        small_only=small_only,
    )


def solve_of(module: str, **settings: str) -> Solve:
    """The function `solve` of a module of the benchmarks, which is imported when it is called."""

    def solve(program: Program, embeddings: Sequence[Embedding], start: Sequence[np.ndarray], options: Options) -> Outcome:
        return importlib.import_module(f"benchmarks.{module}").solve(program, embeddings, start, options, **settings)

    # Fingerprints tell functions apart by their names.
    solve.__qualname__ = f"{module}.solve{sorted(settings.items())}"
    return solve


def paper(formulation: str) -> Callable[[Experiment], dict[str, object]]:
    """The paper's formulation with its initial penalty, where it states one."""

    def settings(experiment: Experiment) -> dict[str, object]:
        return {"formulation": formulation, "initial_penalty": experiment.initial_penalty}

    return settings


def with_proof(experiment: Experiment) -> dict[str, object]:
    """A proof as well, where exact methods come to theirs."""
    return {"prove": True} if experiment.is_small else {}


def why_not(method: Method, experiment: Experiment) -> str | None:
    """Why a method is not run on an experiment; None if it is."""
    by_size = method.not_small if experiment.is_small else method.small_only
    return by_size or method.why_not.get(experiment.family)
