"""Ctrl-C and time limits on dense problems, in every backend: how long until the best point is there."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import numpy as np

from .injectors import LIBRARIES

VICTIM = Path(__file__).with_name("victim.py")
# Families and sizes for each backend; the free licence of Gurobi ends at 2,000 columns.
SIZES = {
    "highs": (("LP", "MILP"), (200, 800, 2000, 5000)),
    "piqp": (("QP", "LP"), (200, 800, 1500, 2400, 5000)),
    "clarabel": (("QP", "LP", "SOCP", "QCP"), (200, 800, 1500, 2400, 5000)),
    "scip": (("MILP", "MIQP", "MISOCP", "QP", "LP"), (200, 800, 2000)),
    "gurobi": (("QP", "MILP"), (200, 800, 1500)),
}
# A run may take this long beyond its limit, or after Ctrl-C.
GRACE = 1.0
# Seconds after which a run is ended from outside: to build a problem, and to end.
TO_BUILD, TO_END = 120.0, 90.0

FAULTS = ("overrun", "crash", "hang", "wrong status", "lost incumbent")


@dataclass(frozen=True)
class Plan:
    """What is run, and what happens to it: "interrupt" after so many seconds, or a "limit" of so many."""

    act: str
    seconds: float
    backend: str
    family: str
    size: int
    seed: int

    def __str__(self) -> str:
        return f"{self.act} {self.seconds:.1f} s, {self.backend} on a {self.family} with {self.size} columns"


@dataclass(frozen=True, eq=False)
class Trial:
    """One run; `overrun` is NaN where it ended by itself before."""

    name: str
    plan: Plan
    status: str
    overrun: float
    faults: dict[str, str]


def names(seed: int) -> Iterator[str]:
    yield from (f"signal:{number}" for number in count(seed))


def plan_of(name: str) -> Plan:
    number = int(name.partition(":")[2])
    rng = np.random.default_rng([99, number])
    able = [backend for backend in SIZES if find_spec(LIBRARIES[backend][0]) is not None]
    # In turn, so that a short run has tried all.
    backend = able[number % len(able)]
    families, sizes = SIZES[backend]
    act = str(rng.choice(["interrupt", "limit"]))
    return Plan(act, float(rng.uniform(0.3, 5.0)), backend, str(rng.choice(families)), int(rng.choice(sizes)), number)


def attempt(name: str) -> Trial:
    return run(name, plan_of(name))


def run(name: str, plan: Plan) -> Trial:
    """Start a victim, do to it what the plan says, and look at what it leaves."""
    limit = plan.seconds if plan.act == "limit" else plan.seconds + TO_END
    command = [sys.executable, "-P", str(VICTIM), plan.family, str(plan.size), plan.backend, str(plan.seed), str(limit)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as victim:
        try:
            struck = _strike(victim, plan)
            out, err = victim.communicate(timeout=TO_END)
        except subprocess.TimeoutExpired:
            victim.kill()
            return Trial(name, plan, "none", np.inf, {"hang": f"no end within {TO_END:.0f} s"})
    if victim.returncode != 0 or not out.strip():
        # A traceback says most in its last line.
        return Trial(name, plan, "none", np.nan, {"crash": f"exit code {victim.returncode}: {err.strip()[-2000:]}"})
    return _judge(name, plan, json.loads(out.strip().splitlines()[-1]), struck)


def _strike(victim: subprocess.Popen[str], plan: Plan) -> float:
    """Wait until it solves; when the interrupt was sent, or the limit is over."""
    assert victim.stdout is not None
    victim.stdout.readline()
    if plan.act == "interrupt":
        time.sleep(plan.seconds)
        if victim.poll() is None:
            victim.send_signal(signal.SIGINT)
        return time.monotonic()
    return np.nan


def _judge(name: str, plan: Plan, told: dict, struck: float) -> Trial:
    due = struck if plan.act == "interrupt" else told["began"] + plan.seconds
    overrun, faults = told["ended"] - due, {}
    if overrun < 0:
        return Trial(name, plan, told["status"], np.nan, {})
    expected = "INTERRUPTED" if plan.act == "interrupt" else "TIME_LIMIT"
    if told["status"] != expected:
        faults["wrong status"] = f"{told['status']} instead of {expected}: {told['reason']}"
    if overrun > GRACE:
        faults["overrun"] = f"{overrun:.1f} s: {plan}"
    if told["num_incumbents"] and not (told["is_feasible"] and told["has_point"]):
        faults["lost incumbent"] = f"{told['num_incumbents']} were known"
    return Trial(name, plan, told["status"], overrun, faults)


def summarize(trials: Sequence[Trial]) -> list[tuple[str, str]]:
    """The lines of the final table."""
    hit = [trial for trial in trials if not np.isnan(trial.overrun)]
    lines = [("signals and limits", f"{len(hit)} (of {len(trials)} runs; the others ended before)")]
    lines += [
        (fault, f"{len(found)}: {' '.join(t.name for t in found)}")
        for fault in FAULTS
        if (found := [t for t in trials if fault in t.faults])
    ]
    for backend in SIZES:
        sizes = sorted({t.plan.size for t in hit if t.plan.backend == backend})
        worst = {size: max(t.overrun for t in hit if t.plan.backend == backend and t.plan.size == size) for size in sizes}
        lines.append((f"largest overrun, {backend}", ", ".join(f"{size} columns {seconds:.1f} s" for size, seconds in worst.items())))
    return lines
