"""Data and regions that tests share."""

from __future__ import annotations

import numpy as np

import dcembed

# Every kind with what it needs, by a name for the test.
KINDS: dict[str, dict] = {
    "box": {"kind": "box"},
    "hull": {"kind": "hull"},
    "thinned hull": {"kind": "hull", "points": 6},
    "ellipsoid": {"kind": "ellipsoid"},
    "clusters": {"kind": "clusters", "clusters": 2},
    "clusters of boxes": {"kind": "clusters", "clusters": 2, "shape": "box"},
    "network": {"kind": "network"},
}


def two_clouds(number: int = 120, seed: int = 0) -> np.ndarray:
    """Three inputs in other units, around two centers, with a correlation."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(number, 3))
    z[:, 1] += 0.8 * z[:, 0]
    z[: number // 2] += [4.0, 0.0, -2.0]
    return z * [1.0, 20.0, 0.1] + [5.0, -300.0, 0.0]


def score_network(data: np.ndarray) -> dcembed.Network:
    """Minus the distance from the middle of the data in the 1-norm, in scaled units: large where inputs are usual."""
    n = data.shape[1]
    spread = data.std(axis=0)
    weights = np.vstack([np.eye(n), -np.eye(n)]) / spread
    bias = np.concatenate([-data.mean(axis=0) / spread, data.mean(axis=0) / spread])
    return dcembed.build_mlp([weights, -np.ones((1, 2 * n))], [bias, None])


def make(name: str, data: np.ndarray, **more) -> dcembed.Support:
    arguments = {**KINDS[name], **more}
    if arguments["kind"] == "network":
        arguments["network"] = score_network(data)
    return dcembed.support(data, **arguments)


def host(points: np.ndarray | None = None, n: int = 3, **fields) -> tuple[dcembed.Program, dcembed.Network]:
    """A host whose first columns are inputs, of which the last one is predicted: minimize or maximize the prediction within wide bounds."""
    rng = np.random.default_rng(7)
    network = dcembed.build_mlp(
        [rng.normal(size=(12, n)) / [1.0, 20.0, 0.1][:n], rng.normal(size=(12, 12)) / 3, rng.normal(size=(1, 12))],
        [rng.normal(size=12), rng.normal(size=12), None],
    )
    lb, ub = np.array([-40.0, -900.0, -4.0])[:n], np.array([40.0, 900.0, 4.0])[:n]
    defaults = {"cost": [*np.zeros(n), 1.0], "lb": [*lb, -np.inf], "ub": [*ub, np.inf], "maximize": True}
    return dcembed.Program(**{**defaults, **fields}), network


QUICK = dcembed.Options(verbose=False, time_limit=4.0, search="converge", max_starts=2)
