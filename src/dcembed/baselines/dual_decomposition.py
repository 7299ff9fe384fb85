"""Dual decomposition of host and networks, after Zeng, Zhang, Wu, Tang and Li (AAAI 2026, arXiv 2511.09186).

The networks get copies z of the columns x that they share with the host, and z = x is dualized by an augmented Lagrangian:

    F_0(x) + f_0(z) + price'(z - x) + rho / 2 |(z - x) / width|^2

Three steps in turn: the host by its solver (`host_block.py`), the networks by first-order steps (`network_block.py`), and
price += rho (z - x) / width^2; rho grows where the distance of the two does not fall.

The method is made anew from the published text; its code is not public. From the text: the split, the order of the steps, 25 steps of Adam of
length 0.01, the tolerance 1e-4, rho = 10 and that it grows. Not stated there, and ours: columns are measured in units of their range; rho
begins in units of the objective, and after an agreement there are three more tries with others; neural rows are met by projections onto
linear pieces; indicators are decided by their price, and those that the host has in its objective only are left to the networks; how
squares and integers go together; and a repair, since the blocks may not agree before the time is over: the host keeps as many of the
networks' decisions as it can afford, and the rest stays as at the start (`decision_repair.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np

from dcembed.arrays import Array
from dcembed.baselines.decision_repair import Repair
from dcembed.baselines.host_block import HostBlock, squares_class
from dcembed.baselines.network_block import NetworkBlock, Terms
from dcembed.baselines.recorder import Recorder, open_recorder
from dcembed.embedded.embedding import Embedding
from dcembed.embedded.measurements import slopes
from dcembed.embedded.point import Point, measure_point
from dcembed.options import Options
from dcembed.program.program import Program
from dcembed.result import Result
from dcembed.run.arguments import read_arguments
from dcembed.run.space import Space
from dcembed.run.starts import report
from dcembed.solvers import choose_backend
from dcembed.solvers.failover import Solver
from dcembed.status import Status
from dcembed.tolerances import MAX_SOLVER_FAILURES

# The published rho, here in units of what one column can change of the objective; `Options.initial_penalty` replaces it.
PENALTY = 10.0
# What it begins with is multiplied by each of these in turn: with a small one the networks decide more freely, with a large one sooner.
FACTORS = (1.0, 0.1, 10.0, 0.01)
# It grows by this factor where the distance of the blocks has not fallen to this share of what it was, and so often at most.
GROWTH, PROGRESS, MAX_GROWTHS = 2.0, 0.95, 20
# Blocks agree where no column differs by more than this share of its range.
TOLERANCE = 1e-4
# Gap and nodes of a repair.
REPAIR_GAP, REPAIR_NODES = 1e-2, 20


def solve(
    program: Program,
    embeddings: Sequence[Embedding] | Embedding,
    start: Result | Array | Sequence[Result | Array] | None = None,
    options: Options | Mapping[str, object] | None = None,
) -> Result:
    """Alternate between host and networks from each start until they agree, or for `max_iterations` rounds, with several penalties.

    Parameters are those of `dcembed.solve`. `initial_penalty` is the first rho.
    """
    arguments = read_arguments(program, embeddings, start, options)
    with open_recorder(arguments) as recorder:
        block = NetworkBlock(Space(recorder.embedded, recorder.host.box), arguments.options.feasibility_tol, recorder.clock)
        backend = choose_backend(squares_class(block), arguments.options.solver)
        solver = Solver(backend, recorder.session_options, recorder.journal.log.note)
        with closing(HostBlock(block, solver)) as host:
            recorder.begin("dual decomposition", host.backend, program.num_columns + int(block.shared.sum()), program.num_rows)
            method = _Method(recorder, block, host, Repair(block, solver))
            status = recorder.run_starts(arguments.starts, method.run)
            recorder.journal.use(host.backend)
    return recorder.journal.result(status)


@dataclass(frozen=True, eq=False)
class _State:
    """Between two rounds: the copies z, what ties them to the host's point, how far both were apart, and how often rho has grown."""

    z: Array
    terms: Terms
    distance: float = np.inf
    num_growths: int = 0


@dataclass(frozen=True, eq=False)
class _Method:
    """The two blocks, and where their points go."""

    recorder: Recorder
    block: NetworkBlock
    host: HostBlock
    repair: Repair

    def run(self, w: Array, number: int) -> Status:
        """From one start with one penalty after the other."""
        statuses: list[Status] = []
        for index, factor in enumerate(FACTORS):
            if statuses and self.recorder.clock.ended():
                break
            statuses.append(self._alternate(w, number * len(FACTORS) + index, factor))
        return report(statuses)

    def _alternate(self, w: Array, number: int, factor: float) -> Status:
        recorder, num_failed = self.recorder, 0
        start = recorder.offer_start(w, number)
        state = _State(start.w, Terms(start.w, np.zeros(start.w.size), factor * self._initial_penalty(start)))
        for _ in range(recorder.options.max_iterations):
            if ended := recorder.clock.ended():
                return ended
            x = self.host.solve(state.z, state.terms, recorder.clock)
            if x is None:
                num_failed += 1
                recorder.note_failure("host failed", state.terms.penalty)
                if num_failed == MAX_SOLVER_FAILURES:
                    return recorder.clock.ended() or Status.NUMERICAL_ERROR
                continue
            num_failed = 0
            z = self.block.solve(state.z, replace(state.terms, x=x))
            self._offer(start, x, z, state.terms.penalty)
            away = np.where(self.block.shared, np.abs(z - x) / self.block.space.width, 0.0)
            if away.max(initial=0.0) < TOLERANCE:
                return Status.LOCALLY_SOLVED if recorder.incumbent.is_feasible else Status.LOCALLY_INFEASIBLE
            state = _update(state, x, z, self.block, float(np.linalg.norm(away)))
        return recorder.clock.ended() or Status.ITERATION_LIMIT

    def _offer(self, start: Point, x: Array, z: Array, penalty: float) -> None:
        """The host's point, completed, and what the host can take over of the networks' decisions."""
        recorder, embedded = self.recorder, self.recorder.embedded
        recorder.offer(embedded.lift(x), "host", penalty)
        if not self.repair.applies or recorder.clock.ended():
            return
        limits = replace(recorder.clock.limits(REPAIR_GAP), nodes=REPAIR_NODES)
        repaired = self.repair.solve(start, measure_point(embedded, z), limits)
        if repaired is not None:
            recorder.offer(embedded.lift(repaired), "repaired", penalty)

    def _initial_penalty(self, start: Point) -> float:
        """rho as given, or in units of the largest change of the objective over the range of one column."""
        if self.recorder.options.initial_penalty is not None:
            return self.recorder.options.initial_penalty
        embedded = self.recorder.embedded
        gradient = embedded.host.gradient(start.w) + slopes(embedded, start.w)[[0]].toarray()[0]
        change = float((np.abs(gradient) * self.block.space.width).max(initial=0.0))
        return PENALTY * (change or 1.0)


def _update(state: _State, x: Array, z: Array, block: NetworkBlock, distance: float) -> _State:
    """Prices follow the distance of the blocks; rho grows where that does not fall."""
    terms = state.terms
    price = terms.price + np.where(block.shared, terms.penalty * (z - x) / block.space.width**2, 0.0)
    grows = distance > PROGRESS * state.distance and state.num_growths < MAX_GROWTHS
    penalty = terms.penalty * (GROWTH if grows else 1.0)
    return _State(z, Terms(x, price, penalty), distance, state.num_growths + int(grows))
