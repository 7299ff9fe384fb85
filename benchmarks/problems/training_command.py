"""The command line of a module that trains networks: which of them, and with how many steps."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import torch

from benchmarks.problems.trained import own_folder


def run_training(
    description: str | None, names: Sequence[Any], num_steps: int, train: Callable[[Any, int], str], unit: str = "steps"
) -> None:
    """Train the networks that the command line names, all by default, one after the other on one core.

    Parameters
    ----------
    names
        What the networks are called: texts or numbers.
    num_steps
        How many there are where `--steps`, or what the unit is called, does not say.
    train
        (name, number of steps) -> what is said of a network that was trained and saved.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("names", nargs="*", type=type(names[0]), default=list(names), help=f"{', '.join(map(str, names))} (default: all)")
    parser.add_argument(f"--{unit}", dest="num_steps", type=int, default=num_steps, help="of training (default %(default)s)")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    own_folder().mkdir(parents=True, exist_ok=True)
    for name in arguments.names:
        print(train(name, arguments.num_steps))
