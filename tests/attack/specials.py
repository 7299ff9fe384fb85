"""Cases that are known by heart, most of them hard or wrong once, by their numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .case import Array, Case, Cone, Evaluation, Net, Switch
from .generator import draw

FREE = np.inf


def _case(name: str, cost: list[float], lb: list[float], ub: list[float], evaluations: list[Evaluation], **more: object) -> Case:
    n = len(cost)
    empty = np.zeros(0)
    fields: dict = {"quadratic": None, "rows": np.zeros((0, n)), "row_lb": empty, "row_ub": empty, "integer": np.zeros(n, dtype=bool)}
    fields |= {"switches": (), "cones": ()} | more
    return Case(name, np.array(cost), lb=np.array(lb), ub=np.array(ub), evaluations=tuple(evaluations), **fields)


def _hinge(shift: float = 0.0) -> Net:
    """relu(x - shift)."""
    return Net((np.ones((1, 1)), np.ones((1, 1))), (np.array([-shift]), np.zeros(1)))


def _of(net: Net, column: int, output: int, n: int) -> Evaluation:
    return Evaluation(net, np.eye(n)[[column]], np.zeros(1), np.array([output]))


def valley() -> Case:
    """min -relu(x) + 2 relu(x - 1), x free: -1 at 1, although each tangent on the left of it is unbounded."""
    evaluations = [_of(_hinge(), 0, 1, 3), _of(_hinge(1.0), 0, 2, 3)]
    return _case("special:0", [0.0, -1.0, 2.0], [-FREE] * 3, [FREE] * 3, evaluations)


def slope() -> Case:
    """min -relu(x), x free: unbounded."""
    return _case("special:1", [0.0, -1.0], [-FREE] * 2, [FREE] * 2, [_of(_hinge(), 0, 1, 2)])


def dead() -> Case:
    """A prediction of at least 1 from a network that is off: infeasible."""
    return _case("special:2", [1.0, 1.0], [-3.0, 1.0], [3.0, FREE], [_of(_hinge(10.0), 0, 1, 2)])


def crossed() -> Case:
    """MIQP: a free prediction with cross terms in the objective and a host that is integer."""
    rng = np.random.default_rng(3)
    net = Net((rng.normal(size=(6, 2)), rng.normal(size=(1, 6))), (rng.normal(size=6), np.zeros(1)))
    factor: Array = rng.normal(size=(2, 4))
    evaluation = Evaluation(net, np.eye(4)[:2], np.zeros(2), np.array([3]))
    integer = np.array([True, False, True, False])
    more = {"quadratic": factor.T @ factor, "integer": integer}
    return _case("special:3", [0.5, -1.0, 0.3, -2.0], [-2.0, -2.0, -3.0, -FREE], [2.0, 2.0, 3.0, FREE], [evaluation], **more)


def level() -> Case:
    """A prediction in an equality alone: relu(x) + relu(-x) = 2, from where both are flat."""
    net = Net((np.array([[1.0], [-1.0]]), np.ones((1, 2))), (np.zeros(2), np.zeros(1)))
    rows = {"rows": np.array([[0.0, 1.0]]), "row_lb": np.array([2.0]), "row_ub": np.array([2.0])}
    return _case("special:4", [1.0, 0.0], [-3.0, -FREE], [3.0, FREE], [_of(net, 0, 1, 2)], **rows)


def hills() -> Case:
    """LP: a network of two layers over a plane, in the objective and in a row."""
    return _over_hills("special:5")


def bowl() -> Case:
    """QP: the same with a quadratic objective."""
    return _over_hills("special:6", quadratic=np.diag([1.0, 0.5, 0.0, 0.0]))


def disc() -> Case:
    """SOCP: the same inside a disc."""
    matrix = np.zeros((3, 4))
    matrix[1, 0] = matrix[2, 1] = 1.0
    return _over_hills("special:7", cones=(Cone(matrix, np.array([1.5, 0.0, 0.0])),))


def steps() -> Case:
    """MILP: the same with integers."""
    return _over_hills("special:8", integer=np.array([True, False, True, False]))


def behind() -> Case:
    """MILP: a prediction of a prediction behind an indicator. Neither has bounds but those that its network implies."""
    rng = np.random.default_rng(4)
    nets = [Net((rng.normal(size=(4, 1)), rng.normal(size=(1, 4))), (rng.normal(size=4), np.zeros(1))) for _ in range(2)]
    evaluations = [_of(nets[0], 0, 2, 4), _of(nets[1], 2, 3, 4)]
    switch = Switch(1, 1, np.array([0.0, 0.0, 0.0, 1.0]), -FREE, 0.5)
    more = {"integer": np.array([False, True, False, False]), "switches": (switch,)}
    return _case("special:9", [0.3, -1.0, 0.1, 0.5], [-2.0, 0.0, -FREE, -FREE], [2.0, 1.0, FREE, FREE], evaluations, **more)


def _over_hills(name: str, **more: object) -> Case:
    """min cost'w + f(x) with f(x) + w_2 <= 1, x in a square."""
    rng = np.random.default_rng(5)
    weights = (rng.normal(size=(8, 2)), rng.normal(size=(6, 8)) / 2.0, rng.normal(size=(1, 6)))
    net = Net(weights, (rng.normal(size=8), rng.normal(size=6), np.zeros(1)))
    evaluation = Evaluation(net, np.eye(4)[:2], np.zeros(2), np.array([3]))
    rows = {"rows": np.array([[0.0, 0.0, 1.0, 1.0]]), "row_lb": np.array([-FREE]), "row_ub": np.array([1.0])}
    return _case(name, [0.2, -0.1, -1.0, 1.0], [-2.0, -2.0, -3.0, -FREE], [2.0, 2.0, 3.0, FREE], [evaluation], **rows | more)


SPECIALS: tuple[Callable[[], Case], ...] = (valley, slope, dead, crossed, level, hills, bowl, disc, steps, behind)


def case_of(name: str) -> Case:
    """The case that is called so: one of these, or a random one."""
    kind, _, number = name.partition(":")
    return SPECIALS[int(number)]() if kind == "special" else draw(kind, int(number))
