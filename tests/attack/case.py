"""A problem in raw arrays, measured and evaluated here, so that nothing of dcembed vouches for itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import dcembed

Array = np.ndarray
# What a point may violate, as `dcembed.Options` has it by default.
FEASIBILITY_TOL = 1e-5


@dataclass(frozen=True, eq=False)
class Net:
    """Weights and biases of the layers; a ReLU after each but the last."""

    weights: tuple[Array, ...]
    biases: tuple[Array, ...]

    def __call__(self, x: Array) -> Array:
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = np.maximum(weight @ x + bias, 0.0)
        return self.weights[-1] @ x + self.biases[-1]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """w[outputs] = net(matrix @ w + offset)."""

    net: Net
    matrix: Array
    offset: Array
    outputs: Array

    def predict(self, w: Array) -> Array:
        return self.net(self.matrix @ w + self.offset)


@dataclass(frozen=True, eq=False)
class Switch:
    """w[column] == value  =>  lb <= row @ w <= ub."""

    column: int
    value: int
    row: Array
    lb: float
    ub: float


@dataclass(frozen=True, eq=False)
class Cone:
    """t >= ||v|| for (t, v) = matrix @ w + offset."""

    matrix: Array
    offset: Array


@dataclass(frozen=True, eq=False)
class Case:
    """A program with networks. Evaluations are in an order in which each has its inputs from those before.

    Parameters
    ----------
    name
        What reports call it: its kind, and the seed it can be drawn from again.
    traits
        What is special about it, for tables.
    witness
        A feasible point that the case was drawn around, None where there is none.
    """

    name: str
    cost: Array
    quadratic: Array | None
    rows: Array
    row_lb: Array
    row_ub: Array
    lb: Array
    ub: Array
    integer: Array
    switches: tuple[Switch, ...]
    cones: tuple[Cone, ...]
    evaluations: tuple[Evaluation, ...]
    maximize: bool = False
    traits: tuple[str, ...] = ()
    witness: Array | None = None

    @property
    def problem_class(self) -> str:
        kind = "SOCP" if self.cones else "QP" if self.quadratic is not None else "LP"
        return ("MI" if self.integer.any() else "") + kind

    @property
    def outputs(self) -> Array:
        return np.concatenate([np.zeros(0, dtype=int), *(e.outputs for e in self.evaluations)])


@dataclass(frozen=True)
class Measure:
    """Objective and largest violation of a point."""

    objective: float
    violation: float


def measure(case: Case, w: Array) -> Measure:
    """What `w` is worth, from the raw arrays alone."""
    curved = 0.0 if case.quadratic is None else 0.5 * w @ case.quadratic @ w
    excess = [0.0, *_outside(case.rows @ w, case.row_lb, case.row_ub), *_outside(w, case.lb, case.ub)]
    excess += list(np.abs(w - np.round(w))[case.integer])
    excess += [_outside(s.row @ w, s.lb, s.ub) for s in case.switches if np.round(w[s.column]) == s.value]
    for cone in case.cones:
        entries = cone.matrix @ w + cone.offset
        excess.append(np.linalg.norm(entries[1:]) - entries[0])
    for evaluation in case.evaluations:
        excess += list(np.abs(w[evaluation.outputs] - evaluation.predict(w)))
    return Measure(float(case.cost @ w + curved), float(np.max(excess)))


def predicted(case: Case, w: Array) -> Array:
    """`w` with every prediction at what its network says."""
    w = w.copy()
    for evaluation in case.evaluations:
        w[evaluation.outputs] = evaluation.predict(w)
    return w


def to_dcembed(case: Case) -> tuple[dcembed.Program, list[dcembed.Embedding]]:
    """The same in the words of dcembed; evaluations that share a network are one embedding each."""
    program = dcembed.Program(
        cost=case.cost,
        quadratic=case.quadratic,
        rows=case.rows,
        row_lb=case.row_lb,
        row_ub=case.row_ub,
        lb=case.lb,
        ub=case.ub,
        integer=case.integer,
        indicators=[dcembed.Indicator(s.column, s.value, s.row, s.lb, s.ub) for s in case.switches],
        cones=[dcembed.ConeConstraint(cone.matrix, cone.offset) for cone in case.cones],
        maximize=case.maximize,
    )
    return program, [_embedding(evaluation) for evaluation in case.evaluations]


def _embedding(evaluation: Evaluation) -> dcembed.Embedding:
    network = dcembed.build_mlp(list(evaluation.net.weights), list(evaluation.net.biases))
    return dcembed.Embedding(network, dcembed.AffineInputs(evaluation.matrix, evaluation.offset[None, :]), evaluation.outputs[None, :])


def _outside(value: Array, lb: Array, ub: Array) -> Array:
    return np.maximum(np.maximum(lb - value, value - ub), 0.0)
