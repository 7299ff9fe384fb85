"""Callbacks of a gurobipy model with networks: ours of one argument, Gurobi's of two."""

from __future__ import annotations

import functools

import numpy as np
import pytest

gp = pytest.importorskip("gurobipy", reason="gurobipy is not installed")

from tests.frontends.gurobipy_models import NETWORK, small  # noqa: E402

import dcembed  # noqa: E402
from dcembed.errors import InputError  # noqa: E402
from dcembed.frontends.gurobipy_callback import takes_iteration  # noqa: E402
from dcembed.frontends.gurobipy_model import REFUSED_IN_CALLBACKS  # noqa: E402
from dcembed.gurobipy import add_predictor_constr  # noqa: E402

CODES = gp.GRB.Callback


@pytest.fixture
def x(model):
    x, _ = small(model)
    predictor = add_predictor_constr(model, NETWORK, x)
    model.setObjective(predictor.output.sum() - 0.5 * x[1], gp.GRB.MAXIMIZE)
    return x


def test_a_callback_of_gurobi_is_told_of_points_and_subproblems(model, x):
    seen = []

    def callback(model, where):
        assert model.cbGet(CODES.RUNTIME) >= 0
        if where == CODES.MIPSOL:
            values = model.cbGetSolution(x)
            assert model.cbGetSolution(model.getVars())[:2] == model.cbGet(CODES.MIPSOL_SOL)[:2] == values.tolist()
            assert model.cbGetSolution(model.getVars()[1]) == model.cbGetSolution({"b": model.getVars()[1]})["b"] == values[1]
            assert model.cbGet(CODES.MIPSOL_OBJ) == pytest.approx(NETWORK(values.reshape(1, 2))[0, 0] - 0.5 * values[1], abs=1e-6)
            assert model.cbGet(CODES.MIPSOL_OBJBND) >= gp.GRB.INFINITY
            seen.append(model.cbGet(CODES.MIPSOL_OBJ))
            assert model.cbGet(CODES.MIPSOL_SOLCNT) == len(seen)
        elif where == CODES.MIP:
            assert model.cbGet(CODES.MIP_OBJBST) == (seen[-1] if seen else -gp.GRB.INFINITY)
            model._nodes = model.cbGet(CODES.MIP_NODCNT)

    result = model.optimize(callback, max_starts=1)
    assert seen == sorted(seen)
    assert len(seen) >= 1
    assert model._nodes == len(result.history)


def test_only_where_it_was_asked_for(model, x):
    seen = []
    model.optimize(lambda model, where: seen.append(where), [CODES.MIPSOL], max_starts=1)
    assert set(seen) == {CODES.MIPSOL}


def test_terminate_ends_the_run(model, x):
    result = model.optimize(lambda model, where: model.terminate())
    assert result.status is dcembed.Status.INTERRUPTED
    assert len(result.history) == 1
    assert model.Status == gp.GRB.INTERRUPTED
    # The next run is not ended by it.
    assert model.optimize(max_starts=1).status is dcembed.Status.LOCALLY_SOLVED


def test_our_own_callback_is_called_with_the_iteration(model, x):
    seen = []
    result = model.optimize(seen.append, max_starts=1)
    assert seen == result.history
    assert seen[-1].best == pytest.approx(result.objective)
    assert seen[-1].point == pytest.approx(result.x, abs=1e-6)


@pytest.mark.parametrize("name", [name for name in REFUSED_IN_CALLBACKS if hasattr(gp.Model, name)])
def test_what_does_nothing_in_a_callback_is_refused(name, model, x):
    with pytest.raises(InputError, match=f"^{name}: it does nothing in a run of dcembed"):
        model.optimize(lambda model, where: getattr(model, name)(x[0] >= 0.5))


def test_what_is_not_known_in_a_callback_is_named(model, x):
    with pytest.raises(InputError, match=r"cbGet: MIPNODE_STATUS is not known in a run of dcembed. Here it has MIP_CUTCNT, .*, RUNTIME."):
        model.optimize(lambda model, where: model.cbGet(CODES.MIPNODE_STATUS), [CODES.MIP])
    with pytest.raises(InputError, match="cbGetSolution: it has values only"):
        model.optimize(lambda model, where: model.cbGetSolution(x), [CODES.MIP])


class TwoArguments:
    def __call__(self, model, where):
        return None


def with_data(model, where, *, data):
    return None


ONE = [lambda iteration: None, lambda iteration, log=None: None, [].append, functools.partial(lambda log, iteration: None, [])]
TWO = [TwoArguments(), lambda model, where: None, functools.partial(with_data, data=3), lambda *arguments: None]


def test_the_signature_decides_whose_callback_it_is():
    assert [takes_iteration(callback) for callback in (*ONE, *TWO)] == [True] * len(ONE) + [False] * len(TWO)
    assert np.isnan(dcembed.Iteration(0, 1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, "", False).best)
