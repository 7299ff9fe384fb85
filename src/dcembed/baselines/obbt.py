"""Big-M with optimization-based bound tightening (appendix B.2 of the paper).

Stage by stage, the pre-activation of every unit is minimized and maximized over the inputs that the host allows and the linear
relaxation of the stages before, with the bounds found so far:

    a = z - s,    z, s >= 0,    z / U + s / (-L) <= 1

which is what remains of the big-M rows when the binary is projected out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.baselines import big_m
from dcembed.baselines.input_sets import InputSet, digest, find_input_sets, network_key
from dcembed.baselines.refusals import refuse_nonconvex, refuse_smooth
from dcembed.embedded.embedding import AffineInputs, Embedding
from dcembed.embedded.encoding import encode
from dcembed.embedded.unit_bounds import StageBounds, bound_evaluations, check_finite, column_box
from dcembed.network.network import Network
from dcembed.options import Options
from dcembed.program.derive import keep_rows
from dcembed.program.program import Program
from dcembed.result import Result
from dcembed.run.arguments import read_arguments
from dcembed.run.clock import Clock, hear_interrupts
from dcembed.solvers import choose_backend
from dcembed.solvers.base import Limits, Session, SessionOptions, SolveStatus
from dcembed.status import Status

# The paper's limit for one minimization or maximization.
SECONDS_EACH = 0.1
# A bound is moved outward by this, relative to its size: an optimal value is known to the tolerances of the solver only.
SAFETY = 1e-7

# Bounds of this process, by network and set of inputs.
_kept: dict[str, _Tightened] = {}


@dataclass(frozen=True, eq=False)
class _Tightened:
    """Bounds of one set of inputs, (stages, each (2, width)), and what they cost."""

    stages: list[Array]
    seconds: float
    num_problems: int


@dataclass(frozen=True, eq=False)
class TightBounds:
    """Tightened bounds of all pre-activations.

    Parameters
    ----------
    bounds
        For each embedding and stage, lower and upper bounds, each of shape (k, width).
    seconds
        What they cost; also when they were kept from an earlier call.
    num_problems
        Linear programs solved for them.
    """

    bounds: list[StageBounds]
    seconds: float
    num_problems: int


def solve(
    program: Program,
    embeddings: Sequence[Embedding] | Embedding,
    start: Result | Array | Sequence[Result | Array] | None = None,
    options: Options | Mapping[str, object] | None = None,
    cache: Path | str | None = None,
) -> Result:
    """Tighten the bounds, then start the clock and solve the exact encoding with them.

    As in the paper the tightening is not part of the time limit; `Result.preparation_seconds` says what it took. `cache` is a folder
    where bounds are kept for later runs; within one process they are kept in any case.
    """
    arguments = read_arguments(program, embeddings, start, options)
    refuse_nonconvex(program, "The big-M encoding")
    refuse_smooth(arguments.embeddings, "OBBT")
    listed, limited = arguments.embeddings, replace(arguments.options, time_limit=0.0)
    clock = Clock(np.inf, arguments.options.stop)
    with hear_interrupts(clock):
        tight = tighten_bounds(program, listed, cache, interrupted=lambda: clock.is_stopped)
    if clock.is_stopped:
        measured = big_m.solve(program, listed, start, limited, tight.bounds, tight.seconds)
        return replace(measured, status=Status.INTERRUPTED)
    return big_m.solve(program, listed, start, arguments.options, tight.bounds, tight.seconds)


def tighten_bounds(
    program: Program,
    embeddings: Sequence[Embedding],
    cache: Path | str | None = None,
    seconds_each: float = SECONDS_EACH,
    interrupted: Callable[[], bool] = lambda: False,
) -> TightBounds:
    """Bounds of the pre-activations of all evaluations.

    Where a linear program does not end within `seconds_each`, or after `interrupted()`, the bounds are those of interval arithmetic.
    """
    box = column_box(program, embeddings)
    result, seconds, num_problems = [], 0.0, 0
    for embedding in embeddings:
        bounds = bound_evaluations(embedding, *box)
        check_finite(program, embedding, bounds, *box)
        worker = _Tightener(embedding.network, Path(cache) if cache is not None else None, seconds_each, interrupted)
        result.append(_tighten_embedding(program, embedding, box, bounds, worker))
        seconds, num_problems = seconds + worker.seconds, num_problems + worker.num_problems
    return TightBounds(result, seconds, num_problems)


def _tighten_embedding(
    program: Program, embedding: Embedding, box: tuple[Array, Array], bounds: StageBounds, worker: _Tightener
) -> StageBounds:
    network = embedding.network
    sets, set_of = find_input_sets(program, embedding, *box)
    offset = embedding.affine_inputs(program.num_columns).offset
    result = [(low.copy(), high.copy()) for low, high in bounds]
    if not network.stages:
        return result
    for number, inputs in enumerate(sets):
        blocks = np.flatnonzero(set_of == number)
        _narrow(result[0], blocks, worker.first_stage(inputs), _shift(network, offset[blocks]))
        if len(network.stages) == 1:
            continue
        different, same = np.unique(offset[blocks], axis=0, return_inverse=True)
        for index, constants in enumerate(different):
            members = blocks[same.reshape(-1) == index]
            initial = [np.stack([low[members[0]], high[members[0]]]) for low, high in result]
            for stage, tight in enumerate(worker.later_stages(inputs, constants, initial), start=1):
                _narrow(result[stage], members, tight, np.zeros(1))
    return result


def _narrow(bounds: tuple[Array, Array], blocks: Array, tight: Array, shift: Array) -> None:
    """Take the tighter of old and new bounds, in place; `tight` is (2, width), `shift` goes with the blocks."""
    low, high = bounds
    low[blocks] = np.maximum(low[blocks], tight[0] + shift)
    high[blocks] = np.minimum(high[blocks], tight[1] + shift)
    # Two valid bounds can cross by rounding only.
    low[blocks] = np.minimum(low[blocks], high[blocks])


def _shift(network: Network, offset: Array) -> Array:
    """What the constants in the inputs add to the first pre-activations, (k, width)."""
    weight = network.stages[0].weights.get(0)
    from_inputs: Array = offset @ weight.T if weight is not None else np.zeros(1)
    return network.stages[0].bias + from_inputs


class _Tightener:
    """Tightens the bounds of one network, keeps them, and counts what they cost."""

    def __init__(self, network: Network, cache: Path | None, seconds_each: float, interrupted: Callable[[], bool]) -> None:
        self._network, self._cache = network, cache
        self._seconds_each, self._interrupted = seconds_each, interrupted
        self._key = network_key(network)
        self.seconds, self.num_problems = 0.0, 0

    def first_stage(self, inputs: InputSet) -> Array:
        """Bounds (2, width) of the part of the first stage that depends on the columns: one pair of problems for all offsets."""
        weight = self._network.stages[0].weights.get(0)
        width = self._network.stages[0].num_rows
        slope = weight @ inputs.matrix if weight is not None else np.zeros((width, inputs.lb.size))
        plus, minus = np.maximum(slope, 0.0), np.minimum(slope, 0.0)
        plain = np.stack([plus @ inputs.lb + minus @ inputs.ub, plus @ inputs.ub + minus @ inputs.lb])
        if inputs.rows.shape[0] == 0:
            # Over a box alone interval arithmetic is exact.
            return plain

        def compute() -> list[Array]:
            relaxation = Program(
                np.zeros(inputs.lb.size), rows=inputs.rows, row_lb=inputs.row_lb, row_ub=inputs.row_ub, lb=inputs.lb, ub=inputs.ub
            )
            return [self._optimize(relaxation, sp.csr_array(slope), np.zeros(width), plain, np.arange(width))]

        return self._keep(digest([np.array([self._seconds_each])]) + inputs.key() + "first", compute)[0]

    def later_stages(self, inputs: InputSet, offset: Array, bounds: list[Array]) -> list[Array]:
        """Bounds (2, width) of the second and all later stages, given first bounds of all stages."""

        def compute() -> list[Array]:
            tight = list(bounds)
            for stage in range(1, len(tight)):
                tight[stage] = self._stage(inputs, offset, tight, stage)
            return tight[1:]

        return self._keep(digest([np.array([self._seconds_each]), offset, *bounds]) + inputs.key(), compute)

    def _stage(self, inputs: InputSet, offset: Array, bounds: list[Array], stage: int) -> Array:
        """Bounds of one stage over the relaxation of the stages before."""
        # What a settled unit's bounds are makes no difference to any relaxation or encoding.
        units = np.flatnonzero((bounds[stage][0] < 0) & (bounds[stage][1] > 0))
        if units.size == 0:
            return bounds[stage]
        relaxation, slope, constant = _relaxation(self._network, inputs, offset, bounds[:stage], stage)
        return self._optimize(relaxation, slope, constant, bounds[stage], units)

    def _optimize(self, relaxation: Program, slope: sp.csr_array, constant: Array, bounds: Array, units: Array) -> Array:
        """Minimize and maximize slope @ columns + constant over the relaxation, for some units."""
        result = bounds.copy()
        session = choose_backend("LP").open(relaxation, SessionOptions())
        try:
            for unit in units:
                cost = slope[[unit]].toarray()[0]
                for side, sign in enumerate((1.0, -1.0)):
                    value = self._minimum(session, sign * cost)
                    if value is not None:
                        found = sign * (value - SAFETY * max(1.0, abs(value))) + constant[unit]
                        result[side, unit] = max(result[0, unit], found) if side == 0 else min(result[1, unit], found)
        finally:
            session.close()
        return result

    def _minimum(self, session: Session, cost: Array) -> float | None:
        if self._interrupted():
            return None
        session.set_cost(cost, 0.0)
        self.num_problems += 1
        solution = session.solve(Limits(self._seconds_each, self._interrupted))
        return float(cost @ solution.x) if solution.status is SolveStatus.OPTIMAL and solution.x is not None else None

    def _keep(self, key: str, compute: Callable[[], list[Array]]) -> list[Array]:
        """The bounds of this key, from memory, from the folder, or computed now."""
        name = digest([np.frombuffer((self._key + key).encode(), dtype=np.uint8)])
        tight = _kept.get(name) or _load(self._cache, name)
        if tight is None:
            began, before = time.monotonic(), self.num_problems
            stages = compute()
            tight = _Tightened(stages, time.monotonic() - began, self.num_problems - before)
            self.num_problems = before
            if self._interrupted():
                return stages
            _save(self._cache, name, tight)
        _kept[name] = tight
        self.seconds += tight.seconds
        self.num_problems += tight.num_problems
        return tight.stages


def _relaxation(network: Network, inputs: InputSet, offset: Array, bounds: list[Array], stage: int) -> tuple[Program, sp.csr_array, Array]:
    """The stages before `stage` over a set of inputs as a linear program, and the stage as slope @ columns + constant."""
    # A network whose outputs are the pre-activations wanted: the last rows of its encoding say what they are.
    cut = Network(network.num_inputs, network.stages[:stage], network.stages[stage])
    n, width = inputs.lb.size, cut.num_outputs
    host = Program(
        np.zeros(n + width),
        rows=np.hstack([inputs.rows, np.zeros((inputs.rows.shape[0], width))]),
        row_lb=inputs.row_lb,
        row_ub=inputs.row_ub,
        lb=np.concatenate([inputs.lb, np.zeros(width)]),
        ub=np.concatenate([inputs.ub, np.zeros(width)]),
    )
    matrix = np.hstack([inputs.matrix, np.zeros((network.num_inputs, width))])
    embedding = Embedding(cut, AffineInputs(matrix, offset), n + np.arange(width))
    encoding = encode(host, [embedding], [[(low[None], high[None]) for low, high in bounds]])
    relaxation = encoding.relaxation()
    # Their rows go, which are the last ones before the triangles.
    first = host.num_rows + encoding.rows.shape[0] - width
    kept = np.delete(np.arange(relaxation.num_rows), np.arange(first, first + width))
    # Their own columns are fixed at zero here, so their coefficients do no harm.
    return keep_rows(relaxation, kept), sp.csr_array(-encoding.rows[-width:]), encoding.constant[-width:]


def _load(cache: Path | None, name: str) -> _Tightened | None:
    path = cache / f"{name}.npz" if cache is not None else None
    if path is None or not path.is_file():
        return None
    with np.load(path, allow_pickle=False) as archive:
        stages = [archive[f"stage{number}"] for number in range(int(archive["num_stages"]))]
        return _Tightened(stages, float(archive["seconds"]), int(archive["num_problems"]))


def _save(cache: Path | None, name: str, tight: _Tightened) -> None:
    if cache is None:
        return
    cache.mkdir(parents=True, exist_ok=True)
    arrays = {f"stage{number}": stage for number, stage in enumerate(tight.stages)}
    counts = {"num_stages": len(tight.stages), "seconds": tight.seconds, "num_problems": tight.num_problems}
    # Written under another name first: a run that is ended here leaves no half file behind.
    part = cache / f"{name}.part.npz"
    np.savez(part, **arrays, **{key: np.array(value) for key, value in counts.items()})  # type: ignore[arg-type]
    part.replace(cache / f"{name}.npz")
