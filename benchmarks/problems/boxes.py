"""The largest risk that a manoeuvre of `avoidance` has anywhere in a box: one network in the objective and nothing else.

A host without rows is all that attacks, verifiers and relax-and-walk take. The box lies around the middle of the inputs; its size is the
percentage of their range that it spans, the trial is the number of the network and of its score.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.problems.avoidance import NUM_INPUTS, NUM_SCORES, avoidance_path, load_avoidance_network
from benchmarks.problems.instance import Instance
from benchmarks.problems.sizes import SizeError, read_number
from benchmarks.problems.trained import require_network
from dcembed import Embedding, Program


def read_box_size(size: str) -> int:
    """The percentage of the inputs' range that a box spans."""
    percent = read_number(size)
    if percent > 100:
        raise SizeError(f"A size of the boxes is a percentage of the inputs' range, 100 at most; received {size!r}.")
    return percent


def find_boxes(size: str, trial: int) -> tuple[Path, ...]:
    """The data files of an instance."""
    read_box_size(size)
    return (require_network(avoidance_path(trial), f"train_avoidance {trial}"),)


def build_boxes(size: str, trial: int) -> Instance:
    """The instance of a size and trial, which begins in the middle of its box; minus the score is minimized."""
    network, score = load_avoidance_network(trial), trial % NUM_SCORES
    reach, free = np.full(NUM_INPUTS, read_box_size(size) / 200), np.full(NUM_SCORES, np.inf)
    program = Program(
        cost=np.concatenate([np.zeros(NUM_INPUTS), -np.eye(NUM_SCORES)[score]]),
        lb=np.concatenate([-reach, -free]),
        ub=np.concatenate([reach, free]),
    )
    embedding = Embedding(network, [np.arange(NUM_INPUTS)], [NUM_INPUTS + np.arange(NUM_SCORES)])
    middle = np.zeros(NUM_INPUTS)
    start = np.concatenate([middle, network(middle)])
    return Instance(f"avoidance {trial}, {size} % of the range: largest score {score}", program, (embedding,), [start])
