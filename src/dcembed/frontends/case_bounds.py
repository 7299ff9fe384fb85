"""Bounds that follow from cases: a column is within what one of the cases leaves of it.

The result of max_ or abs_ often has no bounds of its own; what its operands and the networks leave makes the M of its indicators finite.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dcembed.embedded.embedding import Embedding
from dcembed.embedded.prediction_bounds import bound_predictions
from dcembed.frontends.cases import Cases, Row
from dcembed.program.derive import derive
from dcembed.program.program import Program
from dcembed.program.tightening import SAFETY, tighten

# The result of one constraint may be an operand of the next; a chain of so many is bounded to its end.
NUM_PASSES = 4

Ranges = dict[int, tuple[float, float]]


def bound_cases(program: Program, embeddings: Sequence[Embedding], parts: Sequence[Cases]) -> Program:
    """The program with finite bounds, where the cases imply them, on columns that have none and are no predictions."""
    predicted = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *(embedding.outputs.reshape(-1) for embedding in embeddings)]))
    lb, ub = program.lb.copy(), program.ub.copy()
    own = {column for part in parts for column in part.columns} - set(predicted.tolist())
    for _ in range(NUM_PASSES):
        if not any(np.isinf(lb[column]) or np.isinf(ub[column]) for column in own):
            break
        before = lb.copy(), ub.copy()
        box = tighten(bound_predictions(derive(program, lb=lb, ub=ub), embeddings, predicted))
        for part in parts:
            for column, (low, high) in _reach(part, {column: (box.lb[column], box.ub[column]) for column in part.columns}).items():
                if column in own:
                    lb[column] = low if np.isinf(lb[column]) else lb[column]
                    ub[column] = high if np.isinf(ub[column]) else ub[column]
        if np.array_equal(before, (lb, ub)):
            break
    return derive(program, lb=lb, ub=ub)


def _reach(part: Cases, ranges: Ranges) -> Ranges:
    """The smallest ranges that hold those of every case; of a constraint that no point meets those given."""
    kept = [_narrowed((*part.always, *rows), ranges) for rows in part.cases or ((),)]
    possible = [found for found in kept if all(low <= high for low, high in found.values())]
    if not possible:
        return ranges
    return {column: (min(found[column][0] for found in possible), max(found[column][1] for found in possible)) for column in ranges}


def _narrowed(rows: Sequence[Row], ranges: Ranges) -> Ranges:
    """What rows leave of ranges, each looked at twice: the first look narrows what the second goes by."""
    found = dict(ranges)
    for row in (*rows, *rows):
        terms = list(zip(row.columns, row.coefficients, strict=True))
        for place, (column, coefficient) in enumerate(terms):
            others = [sorted((c * found[j][0], c * found[j][1])) for i, (j, c) in enumerate(terms) if i != place and c]
            if not coefficient:
                continue
            ends = row.lb - sum(high for _, high in others), row.ub - sum(low for low, _ in others)
            low, high = sorted(end / coefficient for end in ends)
            room = SAFETY * max(1.0, *(abs(end) for end in (low, high) if np.isfinite(end)), 0.0)
            found[column] = max(found[column][0], low - room), min(found[column][1], high + room)
    return found
