"""Sampling and descent in torch, as networks are attacked: for hosts that are boxes and Euclidean balls and nothing else.

A round draws many points of the host, keeps the best, and descends from all of them at once: first by steps of a fixed, shrinking length
(the sign of the gradient in a box, the normed gradient in a ball), then by Adam, each step followed by a projection. Neural rows are
penalized. Rounds follow one another until the time is over. The passes are made in float32; what is reported is measured in float64.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dcembed.arrays import Array
from dcembed.baselines.boxes_and_balls import Region, TorchRegion, read_region
from dcembed.baselines.recorder import Recorder, open_recorder
from dcembed.baselines.torch_measurements import TorchMeasurements, find_epigraph_columns
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.embedding import Embedding
from dcembed.errors import InputError, MissingPackageError
from dcembed.options import Options
from dcembed.program.program import Program
from dcembed.result import Result
from dcembed.run.arguments import read_arguments
from dcembed.run.penalty import estimate_penalty
from dcembed.status import Status

# Points that descend together: as many as keep this many numbers busy, within limits.
BATCH_ENTRIES, MIN_BATCH, MAX_BATCH = 200_000, 32, 256
# Points that are drawn for each that descends, and the share of them that is drawn around the best point.
NUM_DRAWN, NEAR_SHARE = 8, 0.125
# Steps of each kind in a round, and their first and last lengths in units of what a column can go.
NUM_STEPS = 50
STEP_LENGTHS, ADAM_LENGTHS = (0.3, 1e-3), (0.05, 1e-4)
# Adam's own constants, and what keeps it from dividing by zero.
FIRST_DECAY, SECOND_DECAY, SMALL = 0.9, 0.99, 1e-12


def solve(
    program: Program,
    embeddings: Sequence[Embedding] | Embedding,
    start: Result | Array | Sequence[Result | Array] | None = None,
    options: Options | Mapping[str, object] | None = None,
) -> Result:
    """Descend in rounds until the time limit, at most `max_iterations` of them.

    Parameters are those of `dcembed.solve`. The first round begins with the starts among its points. Hosts with integers, rows, curved
    constraints that are not balls, or unbounded columns are refused. `initial_penalty` is that of the neural rows.
    """
    arguments = read_arguments(program, embeddings, start, options)
    if program.integer.any():
        raise InputError(
            f"The attack takes continuous hosts only, but this one has {program.num_integers} integer columns. "
            "Use dcembed.solve or another baseline for it."
        )
    torch = _torch()
    with open_recorder(arguments) as recorder, _threads(torch, arguments.options.threads):
        region = _region(recorder.embedded)
        recorder.begin("sampling and descent", "torch", program.num_columns, program.num_rows)
        status = _run(recorder, region, arguments.starts)
    return recorder.journal.result(status)


def _region(embedded: EmbeddedProgram) -> Region:
    """The host as a finite region; columns that follow from the others stay where they are."""
    region = read_region(embedded.host, "The attack")
    lb, ub = region.lb.copy(), region.ub.copy()
    lb[(follow := find_epigraph_columns(embedded))] = 0.0
    ub[follow] = 0.0
    free = np.flatnonzero(~np.isfinite(ub - lb))
    if free.size:
        raise InputError(
            f"The attack draws points of the host, but {embedded.host.column_label(int(free[0]))} is unbounded. "
            "Bound it, or use dcembed.solve or another baseline."
        )
    return replace(region, lb=lb, ub=ub)


def _run(recorder: Recorder, region: Region, starts: list[Array]) -> Status:
    torch, embedded, options = _torch(), recorder.embedded, recorder.options
    given = starts or [embedded.lift(region.center)]
    points = [recorder.offer_start(w, number) for number, w in enumerate(given)]
    descent = _Descent(recorder, region, options.initial_penalty or estimate_penalty(embedded, points[0]))
    generator = torch.Generator().manual_seed(options.seed)
    first = torch.tensor(np.array([point.w for point in points]), dtype=torch.float32)
    for number in range(options.max_iterations):
        if ended := recorder.clock.ended():
            return ended
        descent.round(generator, first if number == 0 else None)
    return recorder.clock.ended() or Status.ITERATION_LIMIT


@dataclass
class _Best:
    """The best of the points of a round: their columns (k, n) and their penalized objectives (k,)."""

    points: Any
    merit: Any

    def keep(self, points: Any, merit: Any) -> None:
        better = merit < self.merit
        self.points[better], self.merit[better] = points[better], merit[better]


class _Descent:
    """Rounds of draws and descents, whose points go to the recorder."""

    def __init__(self, recorder: Recorder, region: Region, penalty: float) -> None:
        torch = _torch()
        self._recorder, self._penalty = recorder, penalty
        self._region, self._exact = (TorchRegion(region, dtype) for dtype in (torch.float32, torch.float64))
        self._measure = TorchMeasurements(recorder.embedded, torch.float32)
        self._measure_exactly = TorchMeasurements(recorder.embedded, torch.float64)
        entries = sum(m.num_blocks * (m.network.num_inputs + m.network.num_hidden) for m in recorder.embedded.networks)
        self._batch = int(np.clip(BATCH_ENTRIES // max(entries, 1), MIN_BATCH, MAX_BATCH))

    def round(self, generator: Any, first: Any | None) -> None:
        """Draw, and descend from the best; `first` (k, n) is among the points in any case."""
        best = self._draw(generator, first)
        ways = (self._plain_steps, self._adam_steps)
        for points, merit in itertools.chain.from_iterable(way(best.points.clone()) for way in ways):
            best.keep(points, merit)
            if self._recorder.clock.ended():
                break
        w = self._exact_columns(best.points[best.merit.argmin()])
        self._recorder.offer(self._recorder.embedded.lift(w), "best of a round", self._penalty)

    def _draw(self, generator: Any, first: Any | None) -> _Best:
        torch = _torch()
        number = NUM_DRAWN * self._batch
        drawn = self._region.sample(number, generator)
        if first is None:
            near = int(NEAR_SHARE * number)
            spread = self._region.reach * torch.rand((near, 1), generator=generator) ** 2
            best = torch.tensor(self._recorder.incumbent.point.w, dtype=drawn.dtype)  # type: ignore[union-attr]
            drawn[:near] = self._region.project(best + spread * torch.randn((near, best.numel()), generator=generator))
        merit = self._score(drawn)
        chosen = drawn[merit.argsort()[: self._batch]]
        if first is not None:
            chosen = torch.cat([self._region.project(first), chosen])[: max(self._batch, first.shape[0])]
        with torch.no_grad():
            return _Best(chosen, self._merit(chosen))

    def _score(self, drawn: Any) -> Any:
        """The merits of the points, or of the first of them where the time ends before."""
        torch, merits = _torch(), []
        with torch.no_grad():
            for chunk in drawn.split(self._batch):
                merits.append(self._merit(chunk))
                if self._recorder.clock.ended():
                    break
        return torch.cat(merits)

    def _plain_steps(self, points: Any) -> Iterator[tuple[Any, Any]]:
        """Points and merits on the way: steps of a length that shrinks."""
        for length in np.geomspace(*STEP_LENGTHS, NUM_STEPS):
            merit, gradient = self._gradient(points)
            yield points, merit
            points = self._region.project(points - length * self._region.directions(gradient))

    def _adam_steps(self, points: Any) -> Iterator[tuple[Any, Any]]:
        """Points and merits on the way of Adam."""
        torch, mean, square = _torch(), 0.0, 0.0
        for number, length in enumerate(np.geomspace(*ADAM_LENGTHS, NUM_STEPS), start=1):
            merit, gradient = self._gradient(points)
            yield points, merit
            mean = FIRST_DECAY * mean + (1 - FIRST_DECAY) * gradient
            square = SECOND_DECAY * square + (1 - SECOND_DECAY) * gradient**2
            scaled = (mean / (1 - FIRST_DECAY**number)) / (torch.sqrt(square / (1 - SECOND_DECAY**number)) + SMALL)
            points = self._region.project(points - length * self._region.reach * scaled)

    def _gradient(self, points: Any) -> tuple[Any, Any]:
        points = points.detach().requires_grad_()
        merit = self._merit(points)
        merit.sum().backward()
        return merit.detach(), points.grad

    def _merit(self, points: Any) -> Any:
        """F + penalty * excess; the best feasible point, and the best of all, are measured if they seem to improve."""
        placed, objective, excess = self._measure(points)
        merit = objective + self._penalty * excess.sum(dim=1)
        self._look(placed.detach(), objective.detach(), excess.detach())
        return merit

    def _look(self, points: Any, objective: Any, excess: Any) -> None:
        torch, incumbent = _torch(), self._recorder.incumbent
        feasible = (excess <= incumbent.feasibility_tol / 2).all(dim=1)
        if not feasible.any():
            return
        number = torch.where(feasible, objective, torch.inf).argmin()
        best = incumbent.point
        if best is None or not incumbent.is_feasible or float(objective[number]) < best.objective:
            self._recorder.try_point(self._exact_columns(points[number]))

    def _exact_columns(self, point: Any) -> Array:
        """One point in float64, in the region and with what follows from it in place."""
        torch = _torch()
        with torch.no_grad():
            placed, _, _ = self._measure_exactly(self._exact.project(point.double()[None]))
        w: Array = placed[0].numpy()
        return w


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        raise MissingPackageError('The baseline "attack" needs the package torch. Install it: pip install "dcembed[torch]".') from None
    return torch


@contextmanager
def _threads(torch: Any, number: int) -> Iterator[None]:
    """So many threads for torch, for a while."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)
