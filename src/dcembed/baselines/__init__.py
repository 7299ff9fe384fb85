"""Other methods for the same problems, to compare with: each is called like `dcembed.solve` and returns a measured `Result`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dcembed.baselines import awasthi, big_m, complementarity, obbt, pgd
from dcembed.result import Result

__all__ = ["BASELINES", "awasthi", "big_m", "complementarity", "obbt", "pgd"]

BASELINES: Mapping[str, Callable[..., Result]] = {
    "big-m": big_m.solve,
    "big-m-obbt": obbt.solve,
    "pgd": pgd.solve,
    "complementarity": complementarity.solve,
    "awasthi": awasthi.solve,
}
