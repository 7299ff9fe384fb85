"""The subproblem as the solver gets it, spelled out for a small problem."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pytest
import scipy.sparse as sp

from dcembed import Embedding, Indicator, Program, build_mlp
from dcembed.embedded.elimination import eliminate
from dcembed.embedded.measurements import linearize
from dcembed.embedded.point import measure_point
from dcembed.embedded.shared_epigraph import shared_values
from dcembed.engine.problem import build_problem
from dcembed.engine.subproblem import fixed_program, majorize
from dcembed.engine.workshop import Master
from dcembed.errors import MissingBoundError
from dcembed.run.penalty import Penalty
from dcembed.solvers import BACKENDS, Limits, SessionOptions, SolveStatus
from dcembed.solvers.base import Backend
from dcembed.solvers.failover import LastingSession, Solver
from problems import quiet


class Recorder:
    """A session that only remembers what it was given."""

    def __init__(self, program, options):
        self.program = program
        self.rows, self.row_lb, self.row_ub = program.rows, program.row_lb, program.row_ub
        self.cost, self.offset = program.cost, program.offset

    def set_bounds(self, lb, ub):
        self.lb, self.ub = lb, ub

    def set_cost(self, cost, offset):
        self.cost, self.offset = cost, offset

    def replace_rows(self, first, matrix, lb, ub, origin=None):
        self.rows = sp.vstack([self.rows[:first], matrix], format="csr")
        self.row_lb = np.concatenate([self.row_lb[:first], lb])
        self.row_ub = np.concatenate([self.row_ub[:first], ub])

    def close(self):
        pass


def subproblem_at(program, embedding, w, tau=10.0):
    """What a solver has been given for the subproblem at w."""
    opened = []
    recorder = Backend(
        "recorder", "numpy", "", frozenset({"LP", "MILP"}), False, False, lambda *a: opened.append(Recorder(*a)) or opened[0]
    )
    problem = build_problem(eliminate(program, [embedding]), quiet(formulation="shared"))
    master = Master(problem.subproblem, LastingSession(fixed_program(problem.subproblem), Solver(recorder, SessionOptions())))
    master.open()
    majorant = majorize(*problem.kept_affine, linearize(problem.embedded, np.asarray(w, dtype=float)), problem.reach)
    master.write(majorant, Penalty(tau, 10.0, 1e6), problem.host_box)
    return opened[0]


# f(x) = 3 relu(2 x - 1) - relu(-x) + 0.5
NETWORK = build_mlp([[[2.0], [-1.0]], [[3.0, -1.0]]], [[-1.0, 0.0], [0.5]])


def test_objective_and_range_at_a_point_where_the_linearized_unit_is_active():
    # minimize x + 2 f  subject to  -4 <= x + f <= 4,  at x = -1 where relu(-x) = 1 has slope -1.
    program = Program(cost=[1.0, 2.0], rows=[[1.0, 1.0]], row_lb=-4.0, row_ub=4.0, lb=[-2.0, -np.inf], ub=[2.0, np.inf])
    session = subproblem_at(program, Embedding(NETWORK, [0], [1]), [-1.0])
    # Columns: x, u_1, u_2, slack of the upper side, slack of the lower side.
    # Objective: x + 2 (3 u_1) - 2 (-x) + 2 * 0.5 + 10 (slacks).
    assert np.allclose(session.cost, [3.0, 6.0, 0.0, 10.0, 10.0])
    assert session.offset == pytest.approx(1.0)
    expected = [
        [-2.0, 1.0, 0.0, 0.0, 0.0],  # u_1 >= 2 x - 1
        [1.0, 0.0, 1.0, 0.0, 0.0],  # u_2 >= -x
        [2.0, 3.0, 0.0, -1.0, 0.0],  # x + 3 u_1 + x + 0.5 <= 4 + s_1
        [-1.0, 0.0, 1.0, 0.0, -1.0],  # -x + u_2 - 0.5 <= 4 + s_2, where 3 relu(2x - 1) has slope 0
    ]
    assert np.allclose(session.rows.toarray(), expected)
    assert np.allclose(session.row_lb, [-1.0, 0.0, -np.inf, -np.inf])
    assert np.allclose(session.row_ub, [np.inf, np.inf, 3.5, 4.5])


def test_the_two_sides_of_an_equality_share_one_slack():
    program = Program(cost=[1.0, 0.0], rows=[[0.0, 1.0]], row_lb=0.25, row_ub=0.25, lb=[-2.0, -np.inf], ub=[2.0, np.inf])
    session = subproblem_at(program, Embedding(NETWORK, [0], [1]), [1.0])
    assert session.program.num_columns == 4
    assert np.allclose(session.rows.toarray()[2:, 3], [-1.0, -1.0])


def test_a_restriction_behind_an_indicator_has_the_smallest_m_that_its_bounds_give():
    # z = 1 => f <= 0 with x in [-2, 2]: the row x-part + 3 u_1 + 0.5 - s + M z <= M; G reaches 3 * 3 = 9 and -H^ at most 2.
    indicator = Indicator(1, 1, [0.0, 0.0, 1.0], ub=0.0)
    program = Program(cost=[0.0, -1.0, 0.0], lb=[-2.0, 0.0, -np.inf], ub=[2.0, 1.0, np.inf], integer=[1], indicators=[indicator])
    session = subproblem_at(program, Embedding(NETWORK, [0], [2]), [-1.0, 0.0])
    # At x = -1 the tangent of relu(-x) is -x, so the row is x + 3 u_1 + 0.5 <= s, at most 2 + 9 + 0.5 = 11.5.
    assert np.allclose(session.rows.toarray()[-1], [1.0, 11.5, 3.0, 0.0, -1.0])
    assert session.row_ub[-1] == pytest.approx(11.0)


def test_an_indicator_without_bounds_names_the_users_column():
    indicator = Indicator(2, 1, [0.0, 1.0, 0.0], ub=0.0)
    program = Program(cost=[0.0, 0.0, -1.0], lb=[-np.inf, -np.inf, 0.0], ub=[np.inf, np.inf, 1.0], integer=[2], indicators=[indicator])
    with pytest.raises(MissingBoundError, match=r"^Column 0 has no finite (upper|lower) bound, but it is behind an indicator"):
        subproblem_at(program, Embedding(NETWORK, [0], [1]), [0.3, 0.0])


def test_the_model_touches_the_merit_at_the_point_and_majorizes_it_elsewhere():
    rng = np.random.default_rng(0)
    program = Program(cost=[1.0, 2.0], rows=[[1.0, 1.0]], row_lb=-1.0, row_ub=1.0, lb=[-2.0, -np.inf], ub=[2.0, np.inf])
    embedding = Embedding(NETWORK, [0], [1])
    embedded = eliminate(program, [embedding])
    for x in rng.uniform(-2, 2, 5):
        session = subproblem_at(program, embedding, [x])
        for y in (x, *rng.uniform(-2, 2, 5)):
            point = measure_point(embedded, np.array([y]))
            auxiliary = shared_values(embedded, point.w)
            head = np.concatenate([point.w, auxiliary])
            need = (session.rows[:, :3] @ head - session.row_ub)[2:]
            model = session.cost[:3] @ head + session.offset + 10.0 * np.maximum(need, 0.0).sum()
            assert model >= point.merit(10.0) - 1e-9
            if y == x:
                assert model == pytest.approx(point.merit(10.0))


def test_sessions_of_the_solvers_take_the_subproblem():
    program = Program(cost=[1.0, 2.0], lb=[-2.0, -np.inf], ub=[2.0, np.inf])
    problem = build_problem(eliminate(program, [Embedding(NETWORK, [0], [1])]), quiet(formulation="shared"))
    with closing(BACKENDS["highs"].open(fixed_program(problem.subproblem), SessionOptions())) as session:
        assert session.solve(Limits()).status is SolveStatus.OPTIMAL
