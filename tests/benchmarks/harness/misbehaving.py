"""What a process of its own may do to the harness."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import numpy as np


def answer(argument, done):
    return {"twice": 2 * argument}


def crash(argument, done):
    raise ValueError(f"nothing can be done with {argument}")


def die(argument, done):
    os._exit(3)


def hang(path, done):
    """Start a process that hangs, note its number, and hang too."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    with open(path, "w") as file:
        file.write(str(child.pid))
    time.sleep(600)


def use_memory(megabytes, done):
    """Use memory, say that it is done, then use four times more."""
    data = np.ones(megabytes * 2**17)
    done()
    # Whoever looks from time to time has heard it by then, on a busy machine too.
    time.sleep(3.0)
    more = np.ones(4 * megabytes * 2**17)
    return float(data[0] + more[0])
