"""Ways to keep an optimizer from believing too much of a surrogate: regions of the data, ensembles, and both."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import dcembed
from benchmarks.studies.optimism_networks import Trained
from benchmarks.studies.optimism_problems import Data, Problem

# The same for all devices. Steps end a run, not seconds: answers do not depend on the machine.
NUM_STARTS, NUM_STEPS, MORE_STEPS = 2, 25, 200
OPTIONS = {"search": "converge", "max_starts": NUM_STARTS, "verbose": False}


@dataclass(frozen=True)
class Device:
    """What is embedded, and where its inputs are kept.

    Parameters
    ----------
    name
        In tables.
    combination, k
        Of the ensemble; none for the network of all data.
    kind
        Of the region; "report" restricts nothing.
    has_price
        Whether the region may be left at a price.
    is_main
        Whether it is run at all numbers of points.
    steps
        From each start, at most.
    """

    name: str
    combination: str | None = None
    k: float = 1.0
    kind: str = "report"
    has_price: bool = False
    is_main: bool = False
    steps: int = NUM_STEPS


MEASURED = "best measurement"
DEVICES = {
    device.name: device
    for device in (
        Device(MEASURED, is_main=True),
        Device("plain", is_main=True),
        Device("box", kind="box"),
        Device("hull", kind="hull", is_main=True),
        Device("ellipsoid", kind="ellipsoid"),
        Device("clusters", kind="clusters"),
        Device("hull at a price", kind="hull", has_price=True),
        Device("mean", "mean", is_main=True),
        Device("mean - 1 MAD", "mean_deviation", k=-1.0),
        Device("mean - 2 MAD", "mean_deviation", k=-2.0),
        Device("worst case", "min", is_main=True),
        Device("hull + mean", "mean", kind="hull"),
        Device("hull + worst case", "min", kind="hull", is_main=True),
    )
}


# A short search begins among the data and may end there for lack of steps: these are looked at again with more of them, by their names.
LONGER = {
    name: replace(DEVICES[name], name=f"{name}, longer", is_main=False, steps=MORE_STEPS)
    for name in ("plain", "hull", "mean - 2 MAD", "worst case", "hull + worst case")
}


@dataclass(frozen=True, eq=False)
class Answer:
    """Inputs (d,) and the outputs that are predicted for them (o,); how it was found, and where it is among the data."""

    x: np.ndarray
    y: np.ndarray
    status: str
    outside_hull: float
    near: float
    seconds: float


def answer(problem: Problem, data: Data, trained: Trained, device: Device) -> Answer | None:
    """What a device answers; None where it has no feasible point."""
    if device.name == MEASURED:
        return _best_measurement(problem, data)
    began = time.process_time()
    network = trained.single if device.combination is None else _ensemble(trained, device)
    region = dcembed.support(data.x, device.kind, **_settings(problem, data, device))
    d = problem.lb.size
    embedding = dcembed.Embedding(network, inputs=np.arange(d), outputs=d + np.arange(len(problem.outputs)), support=region)
    result = dcembed.solve(
        problem.program, [embedding], start=starts(problem, data, network), options=OPTIONS | {"max_iterations": device.steps}
    )
    seconds = time.process_time() - began
    if not result.is_feasible:
        return None
    x, report = result.x[:d], result.support
    return Answer(
        x, network(x[None])[0], result.status.name, float(report.outside_hull[0]), float(report.near[0] / report.usual[0]), seconds
    )


def starts(problem: Problem, data: Data, network: dcembed.Network) -> list[np.ndarray]:
    """Points of the data, as one would begin with what one has: the best by the network, and the one that a tenth of the data is better than."""
    y = network(data.x)
    is_bad = ~problem.is_allowed(data.x) | (problem.violation(y) > 0.0)
    order = np.lexsort((-problem.objective(data.x, y), is_bad))
    return [np.concatenate([data.x[place], y[place]]) for place in order[:: max(len(order) // 10, 1)][:NUM_STARTS]]


def _ensemble(trained: Trained, device: Device) -> dcembed.Network:
    given: dict[str, Any] = {"k": device.k} if device.combination == "mean_deviation" else {}
    return dcembed.ensemble(trained.members, output=device.combination, **given)


def _settings(problem: Problem, data: Data, device: Device) -> dict[str, Any]:
    # Boxes, since ellipsoids with binaries took 44 and 56 s a solve in a first trial.
    settings: dict[str, Any] = {"clusters": problem.clusters, "shape": "box"} if device.kind == "clusters" else {}
    if device.has_price:
        # One rule for all: a scaled unit outside costs as much as the objective of the data varies.
        settings["weight"] = float(problem.objective(data.x, data.y).std())
    return settings


def _best_measurement(problem: Problem, data: Data) -> Answer | None:
    """No network at all: the point of the data that was best when it was measured, among those that met the limits then."""
    is_good = problem.is_allowed(data.x) & (problem.violation(data.y) == 0.0)
    if not is_good.any():
        return None
    best = int(np.where(is_good, problem.objective(data.x, data.y), -np.inf).argmax())
    return Answer(data.x[best], data.y[best], "MEASURED", 0.0, np.nan, 0.0)
