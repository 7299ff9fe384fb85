"""The prices of a point: what one more unit of every limit would add to the objective there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.embedding import Embedding
from dcembed.prices.constraints import linearize_cones, linearize_indicators, linearize_quadratics, linearize_rows
from dcembed.prices.multipliers import Multipliers, Place, find_multipliers
from dcembed.prices.predictions import Tangents, has_few_slopes, linearize_around, linearize_at
from dcembed.program.program import Program
from dcembed.tables import build_frame, name_columns

if TYPE_CHECKING:
    import pandas

# How far the tangent problem goes, relative to the range of a column, or to its value where it has none.
RADIUS = 1e-4
# A price below this share of the largest slope of the objective is rounding.
ROUNDING = 1e-9
# Tangents around the point are looked at where those at the point leave more than this share of the slope unexplained.
EXPLAINED = 1e-6
NUM_SHOWN = 10


@dataclass(frozen=True, eq=False)
class Prices:
    """Local multipliers: what an increase of a limit by one unit adds to the objective, as far as the tangents at the point tell.

    A budget that binds in a maximization has a positive price, what one more unit of it would bring; so has a demand in a minimization,
    what one more unit of it would cost. Limits that do not bind have the price 0. Prices are local: they hold for small changes, while the
    integers stay as they are, around this solution and not another. Where several sets of prices explain a point, this is one of them.

    Parameters
    ----------
    rows, indicators, quadratics, cones
        One price for each constraint of the program; indicators that are off have none.
    bounds
        Of the bounds of each column, the one that binds; integers are held and have none.
    predictions
        For each column that is a prediction what one more unit of it would add; 0 for the others.
    unexplained
        Which share of the slope of the objective these prices do not explain, from 0 to 1. Above a few percent the point is no local solution to
        first order, or is at a kink that has more pieces than were looked at, and the prices are rough.
    program
        What they are prices of.
    """

    rows: Array
    indicators: Array
    quadratics: Array
    cones: Array
    bounds: Array
    predictions: Array
    unexplained: float
    program: Program = field(repr=False)

    @property
    def by_name(self) -> dict[str, float]:
        """Every price by the user's name of its constraint; "bounds of x" and "prediction y" for the columns x and y."""
        return {name: price for _, name, price in self._entries()}

    def of(self, program: Program) -> Prices:
        """The prices of a program that this one was made of by adding columns and constraints behind its own."""
        if program is self.program:
            return self
        n = program.num_columns
        return Prices(
            rows=self.rows[: program.num_rows],
            indicators=self.indicators[: len(program.indicators)],
            quadratics=self.quadratics[: len(program.quadratic_constraints)],
            cones=self.cones[: program.cone_rows.num_cones],
            bounds=self.bounds[:n],
            predictions=self.predictions[:n],
            unexplained=self.unexplained,
            program=program,
        )

    def to_frame(self) -> pandas.DataFrame:
        """The prices that are not zero as a pandas DataFrame, the largest first."""
        binding = self._binding()
        kinds, names, values = zip(*binding, strict=True) if binding else ((), (), ())
        return build_frame({"price": np.array(values, dtype=np.float64), "kind": list(kinds)}, list(names), "constraint")

    def _binding(self) -> list[tuple[str, str, float]]:
        """The entries that are not zero, the largest first."""
        return sorted((entry for entry in self._entries() if entry[2] != 0.0), key=lambda entry: -abs(entry[2]))

    def _entries(self) -> list[tuple[str, str, float]]:
        """(kind, name, price) of everything that can have one."""
        program, columns = self.program, name_columns(self.program)
        kinds: list[tuple[str, Array, Callable[[int], str]]] = [
            ("row", self.rows, lambda i: _name(program.row_names, i, program.row_label)),
            ("indicator", self.indicators, lambda i: program.indicators[i].name or program.indicator_label(i)),
            ("quadratic", self.quadratics, lambda i: program.quadratic_constraints[i].name or program.quadratic_label(i)),
            ("cone", self.cones, lambda i: _name(program.cone_rows.names, i, program.cone_label)),
            ("bounds", self.bounds, lambda j: f"bounds of {columns[j]}"),
            ("prediction", self.predictions, lambda j: f"prediction {columns[j]}"),
        ]
        return [(kind, name(number), float(price)) for kind, prices, name in kinds for number, price in enumerate(prices)]

    def __str__(self) -> str:
        # Budgets and demands are what one looks for; bounds of columns come after them.
        binding = sorted(self._binding(), key=lambda entry: entry[0] == "bounds")
        width = max((len(name) for _, name, _ in binding[:NUM_SHOWN]), default=0)
        lines = [f"{name:<{width}}  {price:.6g}" for _, name, price in binding[:NUM_SHOWN]] or ["Nothing binds here."]
        more = [f"... and {len(binding) - NUM_SHOWN:,} more, in to_frame()"] if len(binding) > NUM_SHOWN else []
        return "\n".join([*lines, *more, f"{self.unexplained:.2%} of the slope of the objective is not explained by these."])


def _name(names: Sequence[str] | None, number: int, label: Callable[[int], str]) -> str:
    return (names[number] if names is not None else "") or label(number)


def find_prices(program: Program, embeddings: Sequence[Embedding], w: Array) -> Prices:
    """The prices at a feasible point w (n,), whose predictions are those of the networks."""
    tangents = linearize_at(embeddings, w)
    place = _place(program, tangents, w)
    kinds = [linearize(program, w) for linearize in (linearize_rows, linearize_indicators, linearize_quadratics, linearize_cones)]
    found, slope = find_multipliers(place, kinds, tangents), _slope(place, tangents)
    if found.promise > EXPLAINED * slope and has_few_slopes(embeddings):
        around = linearize_around(embeddings, w, place.radius)
        chosen, sign = _with_signs(around, tangents, found)
        better = find_multipliers(place, kinds, chosen, sign)
        tangents, found = (chosen, better) if better.promise < found.promise else (tangents, found)
    predictions = np.bincount(tangents.output, found.tangents, minlength=w.size)
    least = ROUNDING * np.abs(place.gradient).max(initial=0.0)
    rows, indicators, quadratics, cones = (_in_sense(each, program.sense, least) for each in found.constraints)
    return Prices(
        rows=rows,
        indicators=indicators,
        quadratics=quadratics,
        cones=cones,
        bounds=_in_sense(found.columns, program.sense, least),
        predictions=_in_sense(predictions, program.sense, least),
        unexplained=_share(place, found, slope),
        program=program,
    )


def _place(program: Program, tangents: Tangents, w: Array) -> Place:
    span = program.ub - program.lb
    radius = RADIUS * np.where(np.isfinite(span), span, np.maximum(np.abs(w), 1.0))
    reach = abs(tangents.gradient) @ radius
    radius[tangents.output] = reach
    return Place(
        gradient=program.sense * program.gradient(w),
        is_held=program.integer | (span == 0.0),
        below=np.maximum(w - program.lb, 0.0),
        above=np.maximum(program.ub - w, 0.0),
        radius=radius,
    )


def _slope(place: Place, tangents: Tangents) -> float:
    """By how much the objective would fall in the box if nothing held it, to first order."""
    total = place.gradient + tangents.gradient.T @ place.gradient[tangents.output]
    total[tangents.output] = 0.0
    total[place.is_held] = 0.0
    return float(np.abs(total) @ place.radius)


def _share(place: Place, found: Multipliers, slope: float) -> float:
    return min(float(np.abs(found.rest) @ place.radius) / slope, 1.0) if slope > 0 else 0.0


def _with_signs(around: Tangents, tangents: Tangents, found: Multipliers) -> tuple[Tangents, Array]:
    """All tangents of the predictions that have a price, each with the sign of it; of the others that at the point, free."""
    price = np.bincount(tangents.output, found.tangents, minlength=around.gradient.shape[1])
    sign = np.sign(price)[around.output]
    is_first = np.arange(around.output.size) == _first_places(around.output)
    kept = (sign != 0.0) | is_first
    return Tangents(around.output[kept], around.gradient[kept], around.error[kept]), sign[kept]


def _first_places(values: Array) -> Array:
    """Where each value comes first."""
    _, first, which = np.unique(values, return_index=True, return_inverse=True)
    return first[which]


def _in_sense(multipliers: Array, sense: float, least: float) -> Array:
    """In the sense of the program, and without what is only rounding."""
    return np.where(np.abs(multipliers) > least, sense * multipliers, 0.0)
