"""Networks of 6 layers of 50 units that score five manoeuvres of an aircraft, in the manner of ACAS Xu.

The five inputs, scaled to [-1/2, 1/2], say where an intruder is and how both fly; a score is the risk after a turn and the cost of
turning, and the lowest one is advised. 24 problems over boxes of the inputs: extremes of one score, and margins

    minimize t   subject to   t >= f_j(x) - f_k(x)  for all k != j,   x in a box

whose optimum is negative if the manoeuvre j is advised anywhere in the box by a margin.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.problems.instance import Instance
from benchmarks.problems.trained import load_trained, network_file
from dcembed import Embedding, Network, Program

NUM_NETWORKS, NUM_INPUTS, NUM_SCORES = 4, 5, 5
WIDTH, DEPTH = 50, 6
# Clear of conflict, weak left and right, strong left and right: by how much each turns, in radians, and what turning costs.
TURNS, COSTS = (0.0, 0.3, -0.3, 0.8, -0.8), (0.0, 0.05, 0.05, 0.12, 0.12)
# Distance in thousand feet, bearing and heading of the intruder, speeds of both in hundred feet per second: middle and range of each.
MIDDLE, RANGE = (30.0, 0.0, 0.0, 6.0, 6.0), (60.0, 2 * np.pi, 2 * np.pi, 10.0, 10.0)
# How close and how soon is close and soon, and a speed below which nobody approaches anybody.
NEAR, SOON, SLOW = 6.0, 8.0, 0.5

# Boxes of the scaled inputs: lower and upper ends of all five.
BOXES = {
    "far ahead": ((0.2, -0.1, -0.5, 0.0, 0.0), (0.5, 0.1, -0.3, 0.5, 0.5)),
    "near, to the left": ((-0.45, 0.05, -0.2, -0.3, -0.3), (-0.2, 0.3, 0.2, 0.3, 0.3)),
    "anywhere, slow": ((-0.5, -0.5, -0.5, -0.5, -0.5), (0.5, 0.5, 0.5, -0.3, -0.3)),
}
KINDS = ("extreme", "margin")
NUM_PROBLEMS = NUM_NETWORKS * len(BOXES) * len(KINDS)


def scores(x):
    """The function the networks are trained on; `x` (k, 5) is a scaled torch tensor, the scores are (k, 5)."""
    import torch

    distance, bearing, heading, own, other = (x[:, j] * RANGE[j] + MIDDLE[j] for j in range(NUM_INPUTS))
    place = torch.stack([distance * torch.cos(bearing), distance * torch.sin(bearing)])
    result = []
    for turn, cost in zip(TURNS, COSTS, strict=True):
        velocity = torch.stack([other * torch.cos(heading) - own * np.cos(turn), other * torch.sin(heading) - own * np.sin(turn)])
        speed = (velocity**2).sum(0) + SLOW**2
        # When they are closest, if that is ahead of them, and how close they are then.
        moment = torch.nn.functional.softplus(-(place * velocity).sum(0) / speed)
        closest = ((place + moment * velocity) ** 2).sum(0)
        result.append(torch.exp(-closest / (2 * NEAR**2) - moment / SOON) + cost)
    return torch.stack(result, dim=1)


def avoidance_path(number: int) -> Path:
    """Where a network is."""
    return network_file(f"avoidance_{number}.npz")


def load_avoidance_network(number: int) -> Network:
    """A trained network; the error has the command that trains it."""
    return load_trained(avoidance_path(number), f"train_avoidance {number}", architecture="relu")


def build_avoidance(number: int) -> Instance:
    """One of the 24: the networks one after the other, on each box an extreme and a margin."""
    if not 0 <= number < NUM_PROBLEMS:
        raise ValueError(f"The problems are numbered from 0 to {NUM_PROBLEMS - 1}; received {number!r}.")
    rest, kind = divmod(number, len(KINDS))
    network_number, box = divmod(rest, len(BOXES))
    network = load_avoidance_network(network_number)
    # Scores and directions take turns.
    score, maximize = (network_number + box) % NUM_SCORES, network_number % 2 == 1
    name, (lb, ub) = list(BOXES.items())[box]
    build = margin_program if KINDS[kind] == "margin" else extreme_program
    program, what = build(np.array(lb), np.array(ub), score, maximize)
    embedding = Embedding(network, [np.arange(NUM_INPUTS)], [NUM_INPUTS + np.arange(NUM_SCORES)])
    middle = (np.array(lb) + np.array(ub)) / 2
    start = np.concatenate([middle, network(middle), np.zeros(program.num_columns - NUM_INPUTS - NUM_SCORES)])
    return Instance(f"avoidance {network_number}, {name}: {what}", program, (embedding,), [start])


def extreme_program(lb: np.ndarray, ub: np.ndarray, score: int, maximize: bool) -> tuple[Program, str]:
    """The least or largest value of one score over a box, and its name."""
    free = np.full(NUM_SCORES, np.inf)
    program = Program(
        cost=np.concatenate([np.zeros(NUM_INPUTS), np.eye(NUM_SCORES)[score]]),
        lb=np.concatenate([lb, -free]),
        ub=np.concatenate([ub, free]),
        maximize=maximize,
    )
    return program, f"{'largest' if maximize else 'least'} score {score}"


def margin_program(lb: np.ndarray, ub: np.ndarray, score: int, maximize: bool) -> tuple[Program, str]:
    """The margin of one score against all others, and its name: t >= f_j - f_k is minimized, t <= f_j - f_k maximized."""
    others = np.delete(np.arange(NUM_SCORES), score)
    # Rows t - f_j + f_k over the columns x, f, t.
    against = np.eye(NUM_SCORES)[others] - np.eye(NUM_SCORES)[score]
    rows = np.hstack([np.zeros((others.size, NUM_INPUTS)), against, np.ones((others.size, 1))])
    free = np.full(NUM_SCORES + 1, np.inf)
    program = Program(
        cost=np.eye(NUM_INPUTS + NUM_SCORES + 1)[-1],
        rows=rows,
        row_lb=-np.inf if maximize else 0.0,
        row_ub=0.0 if maximize else np.inf,
        lb=np.concatenate([lb, -free]),
        ub=np.concatenate([ub, free]),
        maximize=maximize,
    )
    return program, f"{'largest' if maximize else 'least'} margin of score {score}"
