"""Tasks for the tests of crews: another process imports them from here."""

from __future__ import annotations

import os
import time

import numpy as np


def add(shared, watch, number):
    return shared["base"] + number


def whoami(shared, watch, number):
    time.sleep(0.05)
    return os.getpid()


def fail(shared, watch, number):
    """Fails in other processes, not in the one that has sent it."""
    if os.getpid() != shared["pid"]:
        raise ZeroDivisionError("there")
    return number


def die(shared, watch, number):
    """Ends other processes."""
    if os.getpid() != shared["pid"]:
        os._exit(1)
    time.sleep(0.05)
    return number


def sleep(shared, watch, seconds):
    """Sleeps until it is told to end; how long it did."""
    began = time.monotonic()
    while not watch.is_over() and time.monotonic() < began + seconds:
        time.sleep(0.01)
    return time.monotonic() - began


def hang(shared, watch, seconds):
    """Does not listen."""
    time.sleep(seconds)


def tell(shared, watch, number):
    watch.send(np.array([float(number), watch.best]))
    return number


def leave_start(problem, watch, order):
    """A start that ends every process that makes it."""
    os._exit(1)


def fail_start(problem, watch, order):
    """A start that goes wrong."""
    raise ZeroDivisionError("there")


def count_kept():
    """Who does this, and how many of the problems that were sent there it has."""
    from dcembed.crew.task import _kept

    time.sleep(0.1)
    return os.getpid(), len(_kept)
