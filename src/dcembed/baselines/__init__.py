"""Other methods for the same problems, to compare with: each is called like `dcembed.solve` and returns a measured `Result`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from dcembed.baselines import anderson, attack, awasthi, big_m, complementarity, dual_decomposition, ipopt, obbt, pgd, relax_and_walk
from dcembed.result import Result

__all__ = [
    "BASELINES",
    "anderson",
    "attack",
    "awasthi",
    "big_m",
    "complementarity",
    "dual_decomposition",
    "ipopt",
    "obbt",
    "pgd",
    "relax_and_walk",
]

BASELINES: Mapping[str, Callable[..., Result]] = {
    "big-m": big_m.solve,
    "big-m-obbt": obbt.solve,
    "big-m-cuts": anderson.solve,
    "pgd": pgd.solve,
    "ipopt": ipopt.solve,
    "ipopt-lbfgs": partial(ipopt.solve, hessian="limited-memory"),
    "attack": attack.solve,
    "complementarity": complementarity.solve,
    "awasthi": awasthi.solve,
    "relax-and-walk": relax_and_walk.solve,
    "dual-decomposition": dual_decomposition.solve,
}
