"""Objective and violation of a point, recomputed in float64 from the program and the networks alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.embedding import Embedding, read_embeddings
from dcembed.errors import InputError
from dcembed.program.program import Program
from dcembed.reading import as_numbers
from dcembed.sparse import times


@dataclass(frozen=True)
class Verification:
    """What was measured at a point. Every violation is absolute, zero when the constraint holds.

    Parameters
    ----------
    objective
        F, with the network's own predictions in it where they are columns, and with the price of inputs outside of their support.
    rows, bounds, integrality, indicators
        Largest violation of each kind.
    predictions
        Largest |w[output] - f(x)|.
    quadratics
        Largest 1/2 w'Qw + a'w - ub of a quadratic constraint.
    cones
        Largest ||v|| - t of a second-order cone.
    support
        How far the inputs of an evaluation are outside of where they must be, in the scaled units of the region.
    worst
        The three most violated constraints, worst first; none where all hold exactly.
    """

    objective: float
    rows: float
    bounds: float
    integrality: float
    indicators: float
    predictions: float
    quadratics: float
    cones: float
    support: float = 0.0
    worst: tuple[Violation, ...] = ()

    @property
    def violation(self) -> float:
        """V, the largest violation of any kind."""
        return max(float(getattr(self, kind)) for kind in KINDS)


@dataclass(frozen=True)
class Violation:
    """A constraint that does not hold: what it is called, and by how much it is off."""

    constraint: str
    amount: float

    def __str__(self) -> str:
        return f"{self.constraint}: {self.amount:.3g}"


KINDS = tuple(field.name for field in fields(Verification) if field.name not in ("objective", "worst"))
NUM_WORST = 3
# Where there are no constraints of a kind.
NOTHING = np.zeros(0)

# What is known where there is no point to measure.
NO_POINT = Verification(
    objective=np.nan,
    rows=np.inf,
    bounds=np.inf,
    integrality=np.inf,
    indicators=np.inf,
    predictions=np.inf,
    quadratics=np.inf,
    cones=np.inf,
    support=np.inf,
)


def verify(program: Program, embeddings: Sequence[Embedding] | Embedding, w: Array) -> Verification:
    """Measure `w` (n,) against everything the problem asks for."""
    embeddings, w = read_embeddings(program, embeddings, "verify"), as_numbers(w, "verify: w")
    n = program.num_columns
    if w.shape != (n,):
        raise InputError(f"verify: the point has shape {w.shape} but the program has {n} columns: expected ({n},).")
    return measure(program, embeddings, w)


def measure(program: Program, embeddings: Sequence[Embedding], w: Array, with_names: bool = True) -> Verification:
    """What `verify` does, for a problem and a point that have been checked already; without names it has no `worst`."""
    # Infinite entries make NaN of a difference; that is measured as infinite, not warned about.
    with np.errstate(invalid="ignore"):
        objective, excess = program.objective(w), _excess(program, w)
        off = [np.abs(w[embedding.outputs] - embedding.predict(w)) for embedding in embeddings]
        outside = [_outside_support(embedding, w) for embedding in embeddings]
    excess["predictions"] = np.concatenate([np.zeros(0), *(amounts.reshape(-1) for amounts in off)])
    excess["support"] = np.concatenate([np.zeros(0), *(amounts for weight, amounts in outside if weight is None)])
    objective += program.sense * sum(weight * float(amounts.sum()) for weight, amounts in outside if weight is not None)
    largest = {kind: _largest(amounts) for kind, amounts in excess.items()}
    return Verification(objective=objective, **largest, worst=_worst(program, embeddings, excess, largest) if with_names else ())


def measure_host(program: Program, w: Array) -> tuple[float, float]:
    """Objective and largest violation of the host alone; what `verify` says of it, without names."""
    with np.errstate(invalid="ignore"):
        return program.objective(w), max(_largest(amounts) for amounts in _excess(program, w).values() if amounts.size)


def predict(embeddings: Sequence[Embedding], w: Array) -> Array:
    """w with every output column set to the network's prediction, in the order of the embeddings."""
    w = np.array(w, dtype=np.float64)
    for embedding in embeddings:
        w[embedding.outputs] = embedding.predict(w)
    return w


def _excess(program: Program, w: Array) -> dict[str, Array]:
    """By how much each constraint of the host is off."""
    return {
        "rows": _outside(times(program.rows, w), program.row_lb, program.row_ub),
        "bounds": _outside(w, program.lb, program.ub),
        "integrality": np.where(program.integer, np.abs(w - np.round(w)), 0.0) if program.num_integers else NOTHING,
        "indicators": _indicator_excess(program, w) if program.indicators else NOTHING,
        "quadratics": np.array([max(q.value(w) - q.ub, 0.0) for q in program.quadratic_constraints])
        if program.quadratic_constraints
        else NOTHING,
        "cones": np.maximum(program.cone_rows.excess(w), 0.0) if program.cones else NOTHING,
    }


def _indicator_excess(program: Program, w: Array) -> Array:
    indicators = program.indicator_rows
    on = np.round(w[indicators.column]) == indicators.value
    return np.where(on, _outside(indicators.matrix @ w, indicators.lb, indicators.ub), 0.0)


def _outside_support(embedding: Embedding, w: Array) -> tuple[float | None, Array]:
    """The weight of the region that the inputs belong into, and how far outside each evaluation is."""
    region = embedding.support
    if region is None or region.weight == 0.0:
        return 0.0, NOTHING
    points = embedding.points(w)
    return region.weight, region.excess(points) if np.isfinite(points).all() else np.full(len(points), np.inf)


def _outside(value: Array, lb: Array, ub: Array) -> Array:
    outside: Array = np.maximum(np.maximum(lb - value, value - ub), 0.0)
    return outside


def _largest(amounts: Array) -> float:
    largest = float(amounts.max(initial=0.0))
    return np.inf if np.isnan(largest) else largest


def _worst(program: Program, embeddings: Sequence[Embedding], excess: dict[str, Array], largest: dict[str, float]) -> tuple[Violation, ...]:
    """The most violated constraints of all kinds, by the user's names."""
    found: list[tuple[str, int, float]] = []
    for kind, amounts in excess.items():
        if largest[kind] == 0.0:
            continue
        # What is not a number is off by as much as can be.
        off = np.flatnonzero(amounts != 0.0)
        size = np.where(np.isnan(amounts[off]), np.inf, amounts[off])
        worst = np.argsort(-size, kind="stable")[:NUM_WORST]
        found += [(kind, int(off[number]), float(size[number])) for number in worst]
    if not found:
        return ()
    found.sort(key=lambda entry: -entry[2])
    label = _labels(program, embeddings)
    return tuple(Violation(label[kind](number), amount) for kind, number, amount in found[:NUM_WORST])


def _labels(program: Program, embeddings: Sequence[Embedding]) -> dict[str, Callable[[int], str]]:
    """For each kind, what a constraint is called by its number."""
    outputs = np.concatenate([np.zeros(0, dtype=np.int64), *(embedding.outputs.reshape(-1) for embedding in embeddings)])
    return {
        "rows": program.row_label,
        "bounds": lambda j: f"bounds of {program.column_label(j)}",
        "integrality": lambda j: f"integrality of {program.column_label(j)}",
        "indicators": program.indicator_label,
        "predictions": lambda p: f"prediction in {program.column_label(int(outputs[p]))}",
        "quadratics": program.quadratic_label,
        "cones": program.cone_label,
        "support": lambda number: support_label(program, embeddings, number),
    }


def support_label(program: Program, embeddings: Sequence[Embedding], number: int) -> str:
    """What a region that inputs must be in is called: that of this number, counted over the evaluations of all such embeddings."""
    held = [(e, i) for e in embeddings if e.support is not None and e.support.weight is None for i in range(e.num_evaluations)]
    embedding, evaluation = held[number]
    assert embedding.support is not None
    return f"{embedding.support.label} that the inputs of {program.column_label(int(embedding.outputs[evaluation, 0]))} belong into"
