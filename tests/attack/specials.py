"""Cases that were found to be hard or wrong once, by their numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .case import Array, Case, Evaluation, Net

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


SPECIALS: tuple[Callable[[], Case], ...] = (valley, slope, dead, crossed, level)
