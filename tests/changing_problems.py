"""Problems of all classes of hosts, and random changes of their numbers: what is solved again and again must be solved as if for the first time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dcembed import AffineInputs, ConeConstraint, Embedding, Indicator, Program, QuadraticConstraint
from problems import random_mlp

Problem = tuple[Program, list[Embedding]]
NETWORK, PAIR = random_mlp(3, (2, 6, 1)), random_mlp(5, (2, 5, 2))
# Columns: two inputs, a binary or nothing in particular, the prediction.
BOX = {"lb": [-1.0, -1.0, 0.0, -np.inf], "ub": [1.0, 1.0, 1.0, np.inf]}
COST = [-1.0, -1.2, 0.1, 0.2]


def _plain(**parts) -> Problem:
    return Program(**{"cost": COST, **BOX, **parts}), [Embedding(NETWORK, [0, 1], [3])]


def _rows() -> Problem:
    return _plain(rows=[[1.0, 1.0, 0.0, 0.0], [0.5, 0.0, 1.0, 1.0]], row_lb=[-1.5, -np.inf], row_ub=[0.8, 1.2], row_names=["sum", "limit"])


def _neural_equality() -> Problem:
    # The third column follows the prediction, by a row with an input in it.
    return _plain(rows=[[0.3, 0.0, -1.0, 1.0]], row_lb=[0.1], row_ub=[0.1], lb=[-1.0, -1.0, -5.0, -np.inf], ub=[1.0, 1.0, 5.0, np.inf])


def _definition() -> Problem:
    # The third column is the prediction and a constant: it is substituted, and its bound is one of the prediction.
    lb, ub = [-1.0, -1.0, -np.inf, -np.inf], [1.0, 1.0, 0.9, np.inf]
    return _plain(rows=[[0.0, 0.0, 1.0, -2.0], [1.0, 0.0, 1.0, 0.0]], row_lb=[0.25, -np.inf], row_ub=[0.25, 1.5], lb=lb, ub=ub)


def _switched(indicators: bool) -> Problem:
    if indicators:
        return _plain(
            integer=[2], indicators=[Indicator(2, 1, [1.0, 0.0, 0.0, 1.0], ub=0.3), Indicator(2, 0, [0.0, 1.0, 0.0, 0.0], ub=0.4)]
        )
    # x_1 + prediction <= 0.3 while the binary is on, by a coefficient that is large enough for the bounds.
    return _plain(integer=[2], rows=[[1.0, 0.0, 40.0, 1.0], [0.0, 1.0, -5.0, 0.0]], row_ub=[40.3, 0.4], row_lb=[-np.inf, -np.inf])


def _chain() -> Problem:
    # The prediction of one network is an input of the other, and it is squared.
    program = Program(
        cost=[0.3, -0.4, 0.2, 1.0],
        quadratic=np.diag([0.5, 0.0, 1.0, 0.0]),
        lb=[-1.0, -1.0, -np.inf, -np.inf],
        ub=[1.0, 1.0, np.inf, 2.0],
        column_names=["x", "y", "middle", "last"],
    )
    return program, [Embedding(NETWORK, [0, 1], [2]), Embedding(random_mlp(7, (2, 4, 1)), [1, 2], [3])]


def _scenarios() -> Problem:
    # One design for three scenarios, by constants of the inputs, and another network beside it.
    program = Program(
        cost=[0.1, -0.2, 0.5, 0.3, 0.4, 0.2, -0.3], lb=[-1, -1] + [-np.inf] * 5, ub=[1, 1] + [np.inf] * 5, rows=np.eye(7)[2:4], row_ub=1.5
    )
    inputs = AffineInputs(np.eye(2, 7), [[0.0, 0.1], [0.2, -0.1], [-0.3, 0.0]])
    return program, [Embedding(NETWORK, inputs, [2, 3, 4]), Embedding(PAIR, [0, 1], [[5, 6]])]


def _maximized() -> Problem:
    return _plain(
        cost=[1.0, 1.2, -0.1, -0.2],
        quadratic=-np.diag([1.0, 2.0, 0.0, 0.0]),
        maximize=True,
        rows=[[1.0, 1.0, 0.0, 1.0]],
        row_ub=1.0,
        column_names=["x", "y", "z", "f"],
    )


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "rows": _rows,
    "neural equality": _neural_equality,
    "definition": _definition,
    "indicators": lambda: _switched(True),
    "big-M rows": lambda: _switched(False),
    "linked outputs": _chain,
    "scenarios": _scenarios,
    "maximize": _maximized,
    "integers": lambda: _plain(integer=[0], lb=[-2.0, -1.0, 0.0, -np.inf], ub=[2.0, 1.0, 1.0, np.inf]),
    "nonconvex": lambda: _plain(
        quadratic=np.diag([4.0, 3.0, 0.0, 0.0]), concave=3.0 * np.array([[1, -1, 0, 0], [-1, 1, 0, 0], [0] * 4, [0] * 4])
    ),
    "quadratic constraint": lambda: _plain(quadratic_constraints=[QuadraticConstraint(np.diag([2.0, 2.0, 0.0, 0.0]), ub=0.5)]),
    "cone": lambda: _plain(cones=[ConeConstraint([[0.0] * 4, [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]], [0.6, 0.0, 0.0])]),
}


def random_change(problem: Problem, rng: np.random.Generator) -> dict[str, object]:
    """Some numbers of a problem, changed a little; what is infinite or binary stays, apart from a bound that now and then comes or goes."""
    program, embeddings = problem
    kinds = rng.permutation(["cost", "offset", "rows", "bounds", "inputs_offset", "quadratic"])[: rng.integers(1, 4)]
    change: dict[str, object] = {}
    if "cost" in kinds:
        change["cost"] = program.cost + rng.normal(0.0, 0.2, program.num_columns) * (rng.random(program.num_columns) < 0.5)
    if "offset" in kinds:
        change["offset"] = float(rng.normal())
    if "rows" in kinds and program.num_rows:
        moved = rng.uniform(0.0, 0.2, program.num_rows)
        change |= {
            "row_lb": program.row_lb - moved,
            "row_ub": np.where(program.row_lb == program.row_ub, program.row_ub - moved, program.row_ub + moved),
        }
    if "bounds" in kinds:
        change |= _changed_bounds(program, rng)
    if "quadratic" in kinds and program.quadratic is not None:
        change["quadratic"] = program.quadratic * rng.uniform(0.8, 1.2)
    if "inputs_offset" in kinds:
        offsets = [
            embedding.inputs.offset + rng.normal(0.0, 0.1, embedding.inputs.offset.shape)
            if isinstance(embedding.inputs, AffineInputs)
            else None
            for embedding in embeddings
        ]
        change["inputs_offset"] = offsets
    return change


def _changed_bounds(program: Program, rng: np.random.Generator) -> dict[str, np.ndarray]:
    shrunk = np.where(program.integer, 0.0, rng.uniform(0.0, 0.15, program.num_columns))
    lb, ub = program.lb + shrunk, program.ub - shrunk
    if rng.random() < 0.3:
        # A prediction that had no bound may get one.
        ub[-1] = 3.0
    if rng.random() < 0.3 and np.isfinite(ub[0]) and not program.integer[0]:
        # A column is held, as the state of a plant is.
        lb[0] = ub[0] = rng.uniform(lb[0], ub[0])
    return {"lb": lb, "ub": ub}


def changed(problem: Problem, change: dict[str, object]) -> Problem:
    """The problem with a change made, as a user would write it."""
    program, embeddings = problem
    names = ("cost", "offset", "row_lb", "row_ub", "lb", "ub", "quadratic")
    values = {name: change.get(name, getattr(program, name)) for name in names}
    rest = ("concave", "rows", "integer", "indicators", "quadratic_constraints", "cones", "maximize", "column_names", "row_names")
    fresh = Program(**values, **{name: getattr(program, name) for name in rest})
    offsets = change.get("inputs_offset") or [None] * len(embeddings)
    return fresh, [
        embedding
        if offset is None
        else Embedding(embedding.network, AffineInputs(embedding.inputs.coefficients, offset), embedding.outputs)
        for embedding, offset in zip(embeddings, offsets, strict=True)
    ]
