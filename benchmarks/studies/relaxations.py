"""Linear relaxations beside those of auto_LiRPA: `python -m benchmarks.studies.relaxations --out benchmarks/results/bounds/relaxations.md`.

The same networks and the same boxes, one thread. How tight: the mean over boxes of the lower bound of the prediction (higher is tighter),
beside the least value that was met on samples. How fast: processor microseconds a box, the best of a few runs. auto_LiRPA is no dependency; where
it is not installed, that is said and our own columns are shown alone. `box_hosts` says how to install it, and what branch and bound makes of
the bounds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.peers import auto_lirpa_
from benchmarks.problems.qp import load_qp_network
from benchmarks.problems.smooth_qp import load_smooth_network
from benchmarks.problems.water import load_water_network, untreated_samples
from dcembed import Network
from dcembed.network.activations.ranges import value_range
from dcembed.network.bounds import image, lower_lines
from dcembed.network.planes import lower_planes, lowest

Array = np.ndarray
Bounder = Callable[[Array, Array], Array]

WIDTHS = (2.0, 0.5, 0.1, 0.02)
NUM_BOXES, NUM_SAMPLES, ITERATIONS = 64, 500, 20
# Runs are repeated until they have taken so many seconds in all, at most so often.
ENOUGH, REPEATS = 1.0, 5
# What the peer calls its relaxations.
PEER = {
    "auto_LiRPA IBP": "IBP",
    "auto_LiRPA forward": "forward",
    "auto_LiRPA CROWN": "CROWN",
    f"auto_LiRPA alpha-CROWN, {ITERATIONS}": "CROWN-Optimized",
}


@dataclass(frozen=True)
class Case:
    """A network, and the box in which boxes are drawn."""

    name: str
    network: Network
    low: Array
    high: Array


def cases() -> Iterator[Case]:
    networks = {f"qp-{w}x{d}": load_qp_network(w, d, 0) for w, d in ((64, 3), (64, 6), (256, 3))}
    networks["qp-8x2"] = load_qp_network(8, 2, 0)
    networks["qp-tanh-64x3"] = load_smooth_network("tanh", 64, 3, 0)
    for name, network in networks.items():
        yield Case(name, network, -np.ones(network.num_inputs), np.ones(network.num_inputs))
    samples = untreated_samples(NUM_SAMPLES, cohort=0)
    middle, reach = samples.mean(axis=0), 2.0 * samples.std(axis=0)
    yield Case("water-32x4", load_water_network(), middle - reach, middle + reach)


def draw(case: Case, width: float, seed: int = 0) -> tuple[Array, Array]:
    """Boxes that are so wide relative to [-1, 1]."""
    share = width / 2.0
    start = np.random.default_rng(seed).random((NUM_BOXES, case.network.num_inputs)) * (1.0 - share)
    return case.low + start * (case.high - case.low), case.low + (start + share) * (case.high - case.low)


def ours(network: Network) -> dict[str, Bounder]:
    ones = np.ones((NUM_BOXES, 1))

    def forward(lb: Array, ub: Array) -> Array:
        value, rise = lower_lines(network, lb, ub)
        return value[:, 0] - np.abs(rise[:, 0]).sum(axis=1)

    def planes(tight: bool, steps: int) -> Bounder:
        return lambda lb, ub: lowest(lower_planes(network, ones, lb, ub, tight=tight, steps=steps), lb, ub)[:, 0]

    def intervals(lb: Array, ub: Array) -> Array:
        sources = [(lb, ub)]
        for stage, activation in zip(network.stages, network.activations, strict=True):
            sources.append(value_range(activation, *image(stage, sources)))
        return image(network.output, sources)[0][:, 0]

    return {
        "intervals": intervals,
        "forward": forward,
        "backward": planes(True, 0),
        f"backward, {ITERATIONS} steps": planes(True, ITERATIONS),
        "planes": planes(False, 0),
        "planes, 3 steps": planes(False, 3),
    }


def peers(network: Network) -> dict[str, Callable[[], Bounder]]:
    """Its models keep what they have found, so that each run has a new one, which is not counted."""
    if not auto_lirpa_.is_installed():
        return {}
    return {
        name: (lambda method=method: auto_lirpa_.build_bounder(network, NUM_BOXES, method, ITERATIONS)) for name, method in PEER.items()
    }


def measure(make: Callable[[], Bounder], lb: Array, ub: Array) -> tuple[float, float]:
    """Mean lower bound, and microseconds a box."""
    seconds = []
    for _ in range(REPEATS):
        bounder = make()
        began = time.process_time()
        least = bounder(lb, ub)
        seconds.append(time.process_time() - began)
        if sum(seconds) > ENOUGH:
            break
    return float(np.mean(least)), 1e6 * min(seconds) / NUM_BOXES


def sampled(case: Case, lb: Array, ub: Array) -> float:
    """The mean over boxes of the least prediction at samples: no bound is above it."""
    shares = np.random.default_rng(1).random((NUM_SAMPLES, 1, lb.shape[1]))
    points = (lb + shares * (ub - lb)).reshape(-1, lb.shape[1])
    return float(case.network(points).reshape(NUM_SAMPLES, NUM_BOXES).min(axis=0).mean())


def rows(case: Case) -> Iterator[str]:
    own = {name: (lambda bounder=bounder: bounder) for name, bounder in ours(case.network).items()}
    for width in WIDTHS:
        lb, ub = draw(case, width)
        yield f"| {case.name}, width {width:g} | samples | {sampled(case, lb, ub):.5f} |   |"
        for name, make in (own | peers(case.network)).items():
            least, microseconds = measure(make, lb, ub)
            yield f"|   | {name} | {least:.5f} | {microseconds:.0f} |"


def heading() -> list[str]:
    """What the rows of the table are."""
    is_missing = not auto_lirpa_.is_installed()
    return [
        "# Linear relaxations",
        "",
        f"{NUM_BOXES} boxes, one thread; widths are relative to [-1, 1] (water: to two standard deviations around the mean).",
        "",
        "- intervals: interval arithmetic, as IBP; forward: two lines around every unit (`lower_lines`); backward: `lower_planes(tight=True)`, as",
        "  CROWN; with steps: slopes of every unit chosen, for the bounds of the units before it, too, as alpha-CROWN",
        "- planes: `lower_planes` as branching calls it, with and without three steps",
        *(["- auto_LiRPA is not installed here: its rows are missing"] if is_missing else []),
        "",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="where the table is written, too")
    parser.add_argument("--cases", nargs="+", help="names of some cases; all by default")
    arguments = parser.parse_args()
    lines = [*heading(), "| case | method | mean lower bound | us a box |", "| --- | --- | ---: | ---: |"]
    chosen = [case for case in cases() if arguments.cases is None or case.name in arguments.cases]
    for case in chosen:
        for line in rows(case):
            print(line, flush=True)
            lines.append(line)
    if arguments.out is not None:
        arguments.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
