"""Random problems with networks of every kind in hosts of every class, of numbers of all sizes, each with a point that is feasible.

Columns are [drawn | tied | predictions]: those that are drawn freely, one that a row ties to the others, and those that networks predict.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dcembed import ConeConstraint, Embedding, Indicator, Network, Program, QuadraticConstraint
from dcembed.embedded.collapsed import MIN_TERMS
from dcembed.embedded.embedding import AffineInputs
from dcembed.network import NetworkBuilder
from dcembed.network.activations import ACTIVATIONS, find_activation

HOSTS = ("LP", "QP", "QCP", "SOCP", "nonconvex", "MILP", "MIQP", "MIQCP", "MISOCP", "MI nonconvex")
PARAMETERS = {"power": (0.5, 0.3), "log": (0.5,)}
# Predictions from which on they are those of scenarios.
MANY = 64
STEEP = ("exp", "square", "power")


@dataclass(frozen=True, eq=False)
class Drawn:
    """A problem.

    Parameters
    ----------
    program, embeddings
        What is solved.
    witness
        A feasible point, shape (n,).
    num_drawn
        The columns that can be chosen freely, the first ones.
    tied
        The column that is computed from all others, -1 for none; `program.rows[0]` says how.
    features
        What is special about it, for tables.
    seed
        What it was drawn with.
    """

    program: Program
    embeddings: list[Embedding]
    witness: np.ndarray
    num_drawn: int
    tied: int
    features: tuple[str, ...]
    seed: int


def draw(seed: int) -> Drawn:
    """A problem of the class that the seed falls on, the classes taking turns."""
    rng = np.random.default_rng([15, seed])
    return _Draft(rng, HOSTS[seed % len(HOSTS)], is_scenario=seed % 23 in (10, 22)).finish(seed)


def completed(drawn: Drawn, chosen: np.ndarray) -> np.ndarray:
    """Points (N, n) with these values (N, num_drawn) in the columns that are drawn."""
    points = np.zeros((chosen.shape[0], drawn.program.num_columns))
    points[:, : drawn.num_drawn] = chosen
    predict(drawn.embeddings, points)
    if drawn.tied >= 0:
        row = drawn.program.rows[[0]].toarray()[0]
        side = drawn.program.row_lb[0]
        others = points @ row - row[drawn.tied] * points[:, drawn.tied]
        points[:, drawn.tied] = (side - others) / row[drawn.tied]
    return points


def predict(embeddings: list[Embedding], points: np.ndarray) -> None:
    """Fill in the predictions at many points, one network after the other."""
    for embedding in embeddings:
        affine = embedding.affine_inputs(points.shape[1])
        k, width = embedding.num_evaluations, embedding.network.num_inputs
        matrix = affine.matrix.toarray().reshape(k, width, -1)
        for number in range(k):
            points[:, embedding.outputs[number]] = embedding.network(points @ matrix[number].T + affine.offset[number])


class _Draft:
    """A problem in the making."""

    def __init__(self, rng: np.random.Generator, host: str, is_scenario: bool) -> None:
        self.rng, self.host, self.is_mixed = rng, host, host.startswith("MI")
        self.features = [host]
        self.num_inputs = int(rng.integers(1, 4))
        self._draw_columns()
        self.has_tie = rng.random() < 0.35
        self.first = self.num_drawn + self.has_tie
        self.embeddings: list[Embedding] = []
        self.n = self.first
        if is_scenario:
            self._add_scenarios()
        else:
            for number in range(int(rng.integers(1, 3))):
                self._add_network(number)
        self.embeddings = [_widened(embedding, self.n) for embedding in self.embeddings]
        self.samples = self._sampled(60)
        self.witness = self.samples[0]
        self.size = np.abs(self.samples).mean(axis=0) + 1e-9 * np.abs(self.samples).max() + 1e-12

    def _chance(self, share: float, feature: str = "") -> bool:
        is_so = bool(self.rng.random() < share)
        if is_so and feature:
            self.features.append(feature)
        return is_so

    def _power(self, low: float, high: float, share: float) -> float:
        return float(10.0 ** self.rng.uniform(low, high)) if self._chance(share) else 1.0

    def _draw_columns(self) -> None:
        """Inputs, a binary and others."""
        rng = self.rng
        lb, ub, integer = [], [], []
        for _ in range(self.num_inputs + int(rng.integers(0, 2))):
            whole = self.is_mixed and self._chance(0.4)
            scale = 1.0 if whole else self._power(-3, 4, 0.4)
            low, high = ((0, 1), (-2, 3), (-1, 1), (0, 12))[rng.integers(0, 4)] if whole else (-scale, scale)
            if not whole and self._chance(0.3):
                low, high = low + 1.5 * scale, high + 1.5 * scale
            lb.append(low), ub.append(high), integer.append(whole)
        if self.is_mixed:
            lb.append(0.0), ub.append(1.0), integer.append(True)
        self.lb, self.ub, self.integer = np.array(lb, dtype=float), np.array(ub, dtype=float), np.array(integer)
        self.num_drawn = self.lb.size

    def _network(self, num_inputs: int, scale: np.ndarray, num_outputs: int) -> Network:
        rng = self.rng
        name = "relu" if self._chance(0.35) else str(rng.choice(list(ACTIVATIONS)))
        self.features.append(name)
        activation = find_activation(name, PARAMETERS.get(name, ()))
        steep = 0.4 if name in STEEP else 1.2
        num_layers = 1 if name in STEEP else int(rng.integers(1, 3))
        builder = NetworkBuilder((num_inputs,))
        value, sizes = builder.input, [num_inputs, *(int(rng.integers(2, 5)) for _ in range(num_layers))]
        for number, (a, b) in enumerate(pairwise(sizes)):
            weight = steep * rng.normal(size=(b, a)) / np.sqrt(a) / (scale if number == 0 else 1.0)
            value = builder.activate(builder.linear(value, weight, 0.5 * rng.normal(size=b)), activation)
        height = self._power(-3, 4, 0.3)
        last = builder.linear(value, height * rng.normal(size=(num_outputs, sizes[-1])), height * rng.normal(size=num_outputs))
        return builder.finish(last)

    def _add_network(self, number: int) -> None:
        """One or two evaluations at columns, or at what is affine in them; now and then at what another network predicts."""
        rng, k = self.rng, int(rng_choice(self.rng, (1, 1, 2)))
        num_outputs, size = int(rng.integers(1, 3)), int(rng.integers(1, self.num_inputs + 1))
        reach = np.maximum(np.abs(self.lb), np.abs(self.ub))
        outputs = self.n + np.arange(k * num_outputs).reshape(k, num_outputs)
        if number and self._chance(0.25, "chained"):
            earlier = self.embeddings[-1].outputs.reshape(-1)[:1]
            inputs = np.concatenate([earlier, rng.choice(self.num_inputs, size - 1, replace=False)])
            values = self._values_of(earlier)
            scale = np.concatenate([[values], reach[inputs[1:]]])
            embedding = Embedding(self._network(size, scale, num_outputs), inputs[None], outputs[:1])
            outputs = outputs[:1]
        elif self._chance(0.4, "affine inputs"):
            matrix = np.zeros((k * size, self.num_drawn))
            matrix[:] = rng.normal(size=matrix.shape) * (rng.random(matrix.shape) < 0.7) / reach
            offset = 0.3 * rng.normal(size=(k, size))
            embedding = Embedding(self._network(size, np.ones(size), num_outputs), AffineInputs(matrix, offset), outputs)
        else:
            inputs = np.array([rng.choice(self.num_inputs, size, replace=False) for _ in range(k)])
            embedding = Embedding(self._network(size, reach[inputs].max(axis=0), num_outputs), inputs, outputs)
        self.embeddings.append(embedding)
        self.n += outputs.size

    def _values_of(self, columns: np.ndarray) -> float:
        """How large a prediction is."""
        points = self._sampled(40, [_widened(embedding, self.n) for embedding in self.embeddings])
        return float(np.abs(points[:, columns]).max()) + 1e-6

    def _add_scenarios(self) -> None:
        """Many evaluations that share their decisions, and differ in constants."""
        rng, size = self.rng, int(self.rng.integers(1, self.num_inputs + 1))
        if self._chance(0.5, "scenarios of any network"):
            k, network = int(rng.integers(MANY, 4 * MANY)), self._network(size, np.ones(size), 1)
        else:
            k, network = (MIN_TERMS + 8 if self._chance(0.7) else 2 * MIN_TERMS + 40), self._shallow(size)
            self.features.append("scenarios")
        reach = np.maximum(np.abs(self.lb), np.abs(self.ub))
        matrix = np.tile(rng.normal(size=(size, self.num_drawn)) / reach, (k, 1))
        offset = rng.normal(size=(k, size)) * self._power(-3, 0, 0.5)
        self.embeddings.append(Embedding(network, AffineInputs(matrix, offset), self.n + np.arange(k)[:, None]))
        self.n += k

    def _shallow(self, num_inputs: int) -> Network:
        """One stage of ReLUs and a skip, whose evaluations are taken together unit by unit."""
        rng, builder, width = self.rng, NetworkBuilder((num_inputs,)), int(self.rng.integers(2, 5))
        hidden = builder.relu(builder.linear(builder.input, rng.normal(size=(width, num_inputs)), 0.5 * rng.normal(size=width)))
        joined = builder.concat([builder.input, hidden])
        return builder.finish(builder.linear(joined, rng.normal(size=(1, num_inputs + width)), rng.normal(size=1)))

    def _sampled(self, number: int, embeddings: list[Embedding] | None = None) -> np.ndarray:
        """Points inside the bounds of what is drawn."""
        points = np.zeros((number, self.n))
        chosen = self.rng.uniform(self.lb, self.ub, (number, self.num_drawn))
        chosen[:, self.integer] = np.round(chosen[:, self.integer])
        points[:, : self.num_drawn] = chosen
        predict(self.embeddings if embeddings is None else embeddings, points)
        return points

    def _row(self, share: float = 0.6, in_predictions: float = 0.6) -> np.ndarray:
        """Coefficients that make every column count about the same."""
        rng = self.rng
        row = rng.normal(size=self.n) / self.size
        row[: self.first] *= rng.random(self.first) < share
        row[self.first :] *= self._of_predictions(in_predictions)
        row[self.num_drawn : self.first] = 0.0
        return row * self._power(-3, 4, 0.25)

    def _of_predictions(self, share: float) -> np.ndarray:
        """Weights of predictions; those of scenarios have one sign, or all have weights, or none."""
        size = self.n - self.first
        if size < MANY:
            return (self.rng.random(size) < share).astype(float)
        if self.rng.random() > share:
            return np.zeros(size)
        is_mixed = size >= 2 * MIN_TERMS or (size < MIN_TERMS and self._chance(0.4))
        sign = np.where(np.arange(size) % 2, -1.0, 1.0) if is_mixed else np.full(size, self.rng.choice([-1.0, 1.0]))
        # The weights of all together are to be those of one.
        return sign * np.abs(self.rng.normal(size=size)) * self.size[self.first :] / size

    def _factor(self, in_predictions: float) -> np.ndarray:
        """G of a square |G w|^2."""
        rng = self.rng
        factor = rng.normal(size=(int(rng.integers(1, 4)), self.n)) / self.size
        factor[:, : self.first] *= rng.random(self.first) < 0.7
        is_used = in_predictions if self.n - self.first < MANY else 0.0
        factor[:, self.first :] *= self._chance(is_used, "curved predictions")
        factor[:, self.num_drawn : self.first] = 0.0
        return factor

    def finish(self, seed: int) -> Drawn:
        """Rows and curves around the witness, and an objective."""
        rng, n = self.rng, self.n
        lb, ub = np.full(n, -np.inf), np.full(n, np.inf)
        lb[: self.num_drawn], ub[: self.num_drawn] = self.lb, self.ub
        integer = np.zeros(n, dtype=bool)
        integer[: self.num_drawn] = self.integer
        rows, row_lb, row_ub = self._tie(lb, ub)
        self._add_rows(rows, row_lb, row_ub)
        for column in range(self.first, min(n, self.first + 4)):
            if self._chance(0.15, "bounded predictions"):
                ub[column] = self.witness[column] + self._slack(self.size[column])
        indicators = [self._indicator() for _ in range(int(rng.integers(0, 3)))] if self.is_mixed else []
        sense = float(rng.choice([1.0, -1.0]))
        cost, quadratic, concave = self._objective(integer, is_epigraph=bool(row_ub) and row_ub[0] == np.inf and self.has_tie)
        program = Program(
            sense * cost,
            None if quadratic is None else sense * quadratic,
            float(rng.normal()),
            np.array(rows) if rows else None,
            np.array(row_lb) if rows else None,
            np.array(row_ub) if rows else None,
            lb,
            ub,
            integer,
            indicators,
            [self._curve()] if self.host.endswith("QCP") else (),
            [self._cone()] if self.host.endswith("SOCP") else (),
            sense < 0,
            concave=None if concave is None else sense * concave,
        )
        tied = self.num_drawn if self.has_tie else -1
        return Drawn(program, self.embeddings, self.witness, self.num_drawn, tied, tuple(self.features), seed)

    def _slack(self, size: float) -> float:
        return 0.0 if self._chance(0.3) else float(self.rng.uniform(0, 1) * size)

    def _tie(self, lb: np.ndarray, ub: np.ndarray) -> tuple[list[np.ndarray], list[float], list[float]]:
        """A column t with t = a'w + c, or at least that; without ends, or with two."""
        if not self.has_tie:
            return [], [], []
        column = self.num_drawn
        row = -self._row(0.5, 0.8)
        row[column] = self._power(-2, 3, 0.3)
        side = float(self.rng.normal())
        values = (side - self.samples @ row) / row[column]
        self.samples[:, column] = values
        self.size[column] = np.abs(values).mean() + 1e-9
        if self._chance(0.4):
            lb[column], ub[column] = (
                values[0] - self.rng.uniform(0, 2) * self.size[column],
                values[0] + self.rng.uniform(0, 2) * self.size[column],
            )
        else:
            self.features.append("free column")
        is_epigraph = self._chance(0.4, "epigraph")
        return [row], [side], [np.inf if is_epigraph else side]

    def _add_rows(self, rows: list[np.ndarray], row_lb: list[float], row_ub: list[float]) -> None:
        for _ in range(int(self.rng.integers(0, 3))):
            row = self._row()
            value, size = float(row @ self.witness), float(np.abs(row) @ self.size)
            rows.append(row)
            row_ub.append(value + self._slack(size))
            row_lb.append(value - self._slack(size) if self._chance(0.3) else -np.inf)
        if self.n - self.first < MANY and self._chance(0.05, "equality"):
            row = np.zeros(self.n)
            row[self.first] = 1.0
            rows.append(row)
            row_lb.append(float(self.witness[self.first]))
            row_ub.append(float(self.witness[self.first]))

    def _indicator(self) -> Indicator:
        column, value = self.num_drawn - 1, int(self.rng.integers(0, 2))
        row = self._row(0.4, 0.6)
        self.features.append("indicator on predictions" if row[self.first :].any() else "indicator")
        point = self.witness if self.witness[column] == value else self.samples[self.rng.integers(1, 60)]
        limit = float(row @ point) + self._slack(float(np.abs(row) @ self.size))
        return Indicator(column, value, row, ub=limit) if self._chance(0.6) else Indicator(column, value, -row, lb=-limit)

    def _curve(self) -> QuadraticConstraint:
        factor, row = self._factor(0.2), self._row(0.5, 0.0)
        matrix = factor.T @ factor
        value = 0.5 * self.witness @ matrix @ self.witness + row @ self.witness
        return QuadraticConstraint(matrix, row, float(value + self._slack(abs(value) + 1.0)))

    def _cone(self) -> ConeConstraint:
        body, head = self._factor(0.2), self._row(0.5, 0.0)
        offset = np.concatenate([[0.0], self.rng.normal(size=body.shape[0])])
        length = float(np.linalg.norm(body @ self.witness + offset[1:]))
        # Rounding must not make the witness infeasible.
        offset[0] = length * (1 + 1e-12) - head @ self.witness + self._slack(1.0)
        return ConeConstraint(np.vstack([head, body]), offset)

    def _objective(self, integer: np.ndarray, is_epigraph: bool) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
        rng = self.rng
        if self.host == "MILP" and self._chance(0.3, "whole objective"):
            return np.where(integer, rng.integers(-3, 4, self.n), 0.0), None, None
        scale = self._power(-2, 3, 0.4)
        cost = scale * self._row(0.8, 0.7)
        if self.has_tie:
            cost[self.num_drawn] = scale * (abs(rng.normal()) if is_epigraph else rng.normal()) / self.size[self.num_drawn]
        quadratic = concave = None
        if self.host.endswith(("QP", "nonconvex")) or (self.host.endswith(("QCP", "SOCP")) and self._chance(0.3, "quadratic objective")):
            factor = self._factor(0.25)
            quadratic = scale * factor.T @ factor
        if self.host.endswith("nonconvex"):
            factor = self._factor(0.15)
            concave = scale * factor.T @ factor
            quadratic = quadratic if self._chance(0.6) else None
        return cost, quadratic, concave


def rng_choice(rng: np.random.Generator, values: tuple[int, ...]) -> int:
    """One of some values."""
    return values[int(rng.integers(0, len(values)))]


def _widened(embedding: Embedding, n: int) -> Embedding:
    """The same where the program has n columns."""
    if not isinstance(embedding.inputs, AffineInputs):
        return embedding
    coefficients = embedding.inputs.matrix.toarray()
    matrix = np.hstack([coefficients, np.zeros((coefficients.shape[0], n - coefficients.shape[1]))])
    return Embedding(embedding.network, AffineInputs(matrix, embedding.inputs.offset), embedding.outputs)
