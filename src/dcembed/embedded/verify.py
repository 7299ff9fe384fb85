"""Objective and violation of a point, recomputed in float64 from the program and the networks alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from dcembed.embedded.embedding import Embedding
from dcembed.errors import InputError
from dcembed.network.network import evaluate
from dcembed.program.program import Program

Array = np.ndarray


@dataclass(frozen=True)
class Verification:
    """What was measured at a point. Every violation is absolute, zero when the constraint holds.

    Parameters
    ----------
    objective
        F, with the network's own predictions in it where they are columns.
    rows, bounds, integrality, indicators
        Largest violation of each kind.
    predictions
        Largest |w[output] - f(x)|.
    quadratics
        Largest 1/2 w'Qw + a'w - ub of a quadratic constraint.
    cones
        Largest ||v|| - t of a second-order cone.
    """

    objective: float
    rows: float
    bounds: float
    integrality: float
    indicators: float
    predictions: float
    quadratics: float
    cones: float

    @property
    def violation(self) -> float:
        """V, the largest violation of any kind."""
        return max(getattr(self, field.name) for field in fields(self) if field.name != "objective")


def verify(program: Program, embeddings: Sequence[Embedding], w: Array) -> Verification:
    """Measure `w` (n,) against everything the problem asks for."""
    w = np.asarray(w, dtype=np.float64)
    n = program.num_columns
    if w.shape != (n,):
        raise InputError(f"verify: the point has shape {w.shape} but the program has {n} columns: expected ({n},).")
    # Infinite entries make NaN of a difference; that is measured as infinite, not warned about.
    with np.errstate(invalid="ignore"):
        return Verification(
            objective=program.objective(w),
            rows=_outside(program.rows @ w, program.row_lb, program.row_ub),
            bounds=_outside(w, program.lb, program.ub),
            integrality=_largest(np.abs(w - np.round(w))[program.integer]),
            indicators=_indicator_violation(program, w),
            predictions=max((_largest(np.abs(w[e.outputs] - evaluate(e.network, e.points(w)))) for e in embeddings), default=0.0),
            quadratics=_largest(np.array([max(q.value(w) - q.ub, 0.0) for q in program.quadratic_constraints])),
            cones=_largest(np.maximum(program.cone_rows.excess(w), 0.0)),
        )


def predict(embeddings: Sequence[Embedding], w: Array) -> Array:
    """w with every output column set to the network's prediction, in the order of the embeddings."""
    w = np.array(w, dtype=np.float64)
    for embedding in embeddings:
        w[embedding.outputs] = evaluate(embedding.network, embedding.points(w))
    return w


def _indicator_violation(program: Program, w: Array) -> float:
    rows = program.indicator_rows
    on = np.round(w[rows.column]) == rows.value
    return _outside((rows.matrix @ w)[on], rows.lb[on], rows.ub[on])


def _outside(value: Array, lb: Array, ub: Array) -> float:
    return _largest(np.maximum(np.maximum(lb - value, value - ub), 0.0))


def _largest(values: Array) -> float:
    if values.size == 0:
        return 0.0
    largest = float(np.max(values))
    return largest if np.isfinite(largest) else np.inf
