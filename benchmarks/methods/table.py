"""The methods that are compared, each through solve(program, embeddings, start, options)."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

import dcembed
from benchmarks.harness.outcome import Outcome
from benchmarks.problems.experiments import Experiment
from dcembed import Embedding, Options, Program, Result

Solve = Callable[[Program, Sequence[Embedding], Sequence[np.ndarray], Options], Result | Outcome]

_BENCH = "pip install 'dcembed[bench]'"


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
        (program, embeddings, starts, options) -> Result or Outcome. Packages are imported when it is called.
    why_not
        Family of experiments -> why the method is not run on it.
    settings
        Options it needs for an experiment, beyond the time limit.
    packages
        Packages it needs beyond the core.
    install
        The command that installs them.
    """

    name: str
    label: str
    about: str
    solve: Solve
    why_not: dict[str, str] = field(default_factory=dict)
    settings: Callable[[Experiment], dict[str, object]] = lambda experiment: {}
    packages: tuple[str, ...] = ()
    install: str = _BENCH

    def missing_package(self) -> str | None:
        """The first package that is not installed."""
        return next((name for name in self.packages if importlib.util.find_spec(name) is None), None)


def _baseline(name: str, label: str, about: str, why_not: dict[str, str] | None = None) -> Method:
    """A method of dcembed.baselines."""

    def solve(program: Program, embeddings: Sequence[Embedding], start: Sequence[np.ndarray], options: Options) -> Result:
        return importlib.import_module("dcembed.baselines").BASELINES[name](program, embeddings, start=start, options=options)

    return Method(name, label, about, solve, why_not or {}, packages=("dcembed.baselines", "pyscipopt"))


def _module(name: str) -> Solve:
    def solve(program: Program, embeddings: Sequence[Embedding], start: Sequence[np.ndarray], options: Options) -> Outcome:
        return importlib.import_module(f"benchmarks.{name}").solve(program, embeddings, start, options)

    return solve


def _paper(formulation: str) -> Callable[[Experiment], dict[str, object]]:
    """The paper's formulation with its initial penalty, where it states one."""

    def settings(experiment: Experiment) -> dict[str, object]:
        return {"formulation": formulation, "initial_penalty": experiment.initial_penalty}

    return settings


_NO_INTEGERS = "its projection needs a continuous host"
_SCALAR = "it minimizes the output of a network and takes no neural constraints"

METHODS = {
    method.name: method
    for method in (
        Method("dcembed", "dcembed", "The default: lazy cuts and local splits.", dcembed.solve),
        Method("shared", "shared", "The paper's method, one column per hidden unit.", dcembed.solve, settings=_paper("shared")),
        Method(
            "two-path",
            "two-path",
            "The paper's ablation, both components layer by layer.",
            dcembed.solve,
            why_not={"pooling": "with one hidden layer it is the same as shared"},
            settings=_paper("two-path"),
        ),
        _baseline("big-m", "big-M", "One binary per open ReLU, bounds from intervals."),
        _baseline("big-m-obbt", "big-M + OBBT", "The same after bound tightening, whose time is not counted."),
        _baseline(
            "pgd",
            "PGD",
            "Projected gradients with a line search between feasible and infeasible iterates.",
            why_not={"water": _NO_INTEGERS, "pooling": _NO_INTEGERS},
        ),
        _baseline("complementarity", "complementarity", "The complementarity DCA of Liu and Dvorkin."),
        _baseline(
            "awasthi", "DCA (Awasthi)", "The DCA of Awasthi et al. for scalar objectives.", why_not={"qp": _SCALAR, "water": _SCALAR}
        ),
        Method(
            "greedy",
            "greedy",
            "Samples in the order of their own treatment cost, as long as the budgets last.",
            _module("methods.greedy"),
            why_not=dict.fromkeys(("qp", "pooling"), "it is a heuristic for water treatment"),
        ),
        Method(
            "gurobi-ml",
            "Gurobi ML",
            "gurobi-machinelearning on Gurobi, MIPFocus = 1.",
            _module("peers.gurobi_ml_"),
            packages=("gurobipy", "gurobi_ml", "torch"),
        ),
        Method(
            "pyscipopt-ml",
            "PySCIPOpt-ML",
            "PySCIPOpt-ML on SCIP, big-M formulation.",
            _module("peers.pyscipopt_ml_"),
            packages=("pyscipopt", "pyscipopt_ml", "torch"),
        ),
        Method(
            "omlt",
            "OMLT",
            "OMLT's big-M formulation in Pyomo, on HiGHS; on SCIP where the objective is quadratic.",
            _module("peers.omlt_"),
            packages=("pyomo", "omlt", "pyscipopt"),
        ),
    )
}


def why_not(method: Method, family: str) -> str | None:
    """Why a method is not run on a family of experiments; None if it is."""
    return method.why_not.get(family)
