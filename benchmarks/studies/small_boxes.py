"""Cuts against the shared epigraph on small boxes: `python -m benchmarks.studies.small_boxes`.

On a box most units of a network are settled. The paper's epigraph over the open ones alone makes every subproblem exact; cuts make it
exact where its solutions go. Both run here on the same problems: the QP experiment, limited to boxes on the way to its solution, where
neural rows are active, with the networks reduced to their open units. The time is that of the iterations, without building the problem.
"""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.table import Table

import dcembed
from benchmarks.problems.instance import Instance
from benchmarks.problems.qp import BLOCK, NUM_BLOCKS, load_qp_network, qp_instance
from dcembed.network.affine import Affine
from dcembed.network.bounds import bound
from dcembed.network.network import Network
from dcembed.network.reduction import ReducedNetwork, reduce
from dcembed.program.derive import derive

NUM_COLUMNS = NUM_BLOCKS * BLOCK
# From x = 0, the start of the experiment, to where the default ends.
SHARE_OF_THE_WAY = 0.95


def boxed(instance: Instance, network: Network, start: np.ndarray, radius: float) -> tuple[Instance, float]:
    """The instance within `radius` of a start, every block with its own reduced network; and the mean number of open units."""
    center = start[:NUM_COLUMNS].reshape(NUM_BLOCKS, BLOCK)
    low, high = np.maximum(center - radius, -1.0), np.minimum(center + radius, 1.0)
    reduced = reduce(network, bound(network, low, high), NUM_BLOCKS)
    embeddings = tuple(
        dcembed.Embedding(_network(reduced, block), BLOCK * block + np.arange(BLOCK), [NUM_COLUMNS + block]) for block in range(NUM_BLOCKS)
    )
    program = instance.program
    lb, ub = program.lb.copy(), program.ub.copy()
    lb[:NUM_COLUMNS], ub[:NUM_COLUMNS] = low.ravel(), high.ravel()
    num_open = np.mean([embedding.network.num_hidden for embedding in embeddings])
    return Instance(f"{instance.name}, radius {radius}", derive(program, lb=lb, ub=ub), embeddings, [start]), float(num_open)


def _network(reduced: ReducedNetwork, block: int) -> Network:
    """One block of a reduced network as a network; padding, which is always off, stays out."""
    open_ = np.flatnonzero(reduced.alpha[block].any(axis=1) | (reduced.gamma[block] > 0))
    stages, numbers = [], []
    for stage, links in zip(reduced.stages, reduced.links, strict=True):
        units = open_[(open_ >= stage.start) & (open_ < stage.stop)]
        earlier = {i: links[block][np.ix_(units - stage.start, other)] for i, other in enumerate(numbers, start=1) if other.size}
        if units.size:
            numbers.append(units)
            stages.append(Affine({0: reduced.alpha[block][units], **earlier}, reduced.gamma[block][units]))
    outs = {i: reduced.out_units[block][:, units] for i, units in enumerate(numbers, start=1)}
    return Network(BLOCK, tuple(stages), Affine({0: reduced.out_slope[block], **outs}, reduced.out_constant[block]))


def run(instance: Instance, formulation: str) -> str:
    settings = {"formulation": formulation, "decomposition": "global", "verbose": False, "time_limit": 120}
    idle, result = (
        dcembed.solve(instance.program, instance.embeddings, start=instance.starts, options=settings | {"max_iterations": number})
        for number in (0, 200)
    )
    return f"{result.objective:.6f} in {result.seconds - idle.seconds:.2f} s, {len(result.history)} subproblems"


def main() -> None:
    table = Table("network", "radius", "open units a block", "cuts", "shared epigraph", title="one CCP run on a box")
    for width, depth in ((64, 3), (64, 6), (256, 3)):
        network = load_qp_network(width, depth, 0)
        whole = qp_instance(network, 0)
        solved = dcembed.solve(whole.program, whole.embeddings, start=whole.starts, options={"verbose": False})
        for radius in (0.02, 0.05, 0.1):
            instance, num_open = boxed(whole, network, SHARE_OF_THE_WAY * solved.x, radius)
            table.add_row(f"{width}x{depth}", f"{radius}", f"{num_open:.1f}", run(instance, "lazy"), run(instance, "shared"))
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
