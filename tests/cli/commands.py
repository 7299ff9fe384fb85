"""Commands that solve what is in the folder, and the command in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

SOLVE = ["solve", "qp.lp", "--network", "net.npz", "--inputs", "x*", "--outputs", "y*"]
MILP = ["solve", "milp.lp", "--network", "milp.npz", "--inputs", "x0", "x1", "--outputs", "y"]
ONE_START = [*SOLVE, "--option", "max_starts=1"]


def run_module(*argv, **settings):
    return subprocess.Popen(
        [sys.executable, "-u", "-m", "dcembed", *argv],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
        **settings,
    )
