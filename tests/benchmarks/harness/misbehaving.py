"""What a process of its own may do to the harness."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import numpy as np


def answer(argument, line):
    return {"twice": 2 * argument}


def crash(argument, line):
    raise ValueError(f"nothing can be done with {argument}")


def die(argument, line):
    os._exit(3)


def hang(path, line):
    """Start a process that hangs, note its number, and hang too."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    with open(path, "w") as file:
        file.write(str(child.pid))
    time.sleep(600)


def promise_and_hang(path, line):
    """Say what the answer is if nothing more is heard, and hang."""
    line.promise({"kept": True}, 0.2)
    hang(path, line)


def promise_and_go_on(seconds, line):
    """Say the same, take it back, and answer later than it would have counted."""
    line.promise({"kept": True}, seconds)
    line.go_on()
    time.sleep(2.0 * seconds)
    return {"kept": False}


def use_memory(megabytes, line):
    """Use memory, say that it is done, then use four times more."""
    data = np.ones(megabytes * 2**17)
    line.done()
    # Whoever looks from time to time has heard it by then, on a busy machine too.
    time.sleep(3.0)
    more = np.ones(4 * megabytes * 2**17)
    return float(data[0] + more[0])
