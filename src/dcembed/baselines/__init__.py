"""Other methods for the same problems, to compare with: each is called like `dcembed.solve` and returns a measured `Result`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from dcembed.baselines import awasthi, big_m, complementarity, ipopt, obbt, pgd
from dcembed.result import Result

__all__ = ["BASELINES", "awasthi", "big_m", "complementarity", "ipopt", "obbt", "pgd"]

BASELINES: Mapping[str, Callable[..., Result]] = {
    "big-m": big_m.solve,
    "big-m-obbt": obbt.solve,
    "pgd": pgd.solve,
    "ipopt": ipopt.solve,
    "ipopt-lbfgs": partial(ipopt.solve, hessian="limited-memory"),
    "complementarity": complementarity.solve,
    "awasthi": awasthi.solve,
}
