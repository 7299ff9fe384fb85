"""What linopy's own calls do with a model in which networks are embedded, and what the model holds afterwards."""

from __future__ import annotations

import copy
import gc
import pickle
import warnings
import weakref

import numpy as np
import pytest

linopy = pytest.importorskip("linopy", reason="linopy is not installed")

import xarray as xr  # noqa: E402
from tests.frontends.linopy_models import BUS, NARROW, NETWORK, QUICK, TIME, maximize  # noqa: E402

import dcembed  # noqa: E402
import dcembed.linopy  # noqa: E402
from dcembed.errors import InputError, NoSolutionError, OptionError  # noqa: E402
from dcembed.linopy import embed, solve  # noqa: E402

# Of what linopy means to change.
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")


@pytest.fixture
def model():
    return linopy.Model()


@pytest.fixture
def x(model):
    return model.add_variables(lower=-1, upper=1, coords=[TIME, BUS], name="x")


def test_plain_solve_minds_the_network_until_it_is_removed(model):
    x = model.add_variables(lower=-1, upper=1, name="x")
    y = model.add_variables(lower=-10, upper=10, name="y")
    embedded = embed(model, NARROW, x, y)
    model.add_objective(1 * y, sense="max")
    assert isinstance(model, linopy.Model)
    model.solve(solver_name="highs", io_api="direct", log_to_console=False, max_starts=2)
    assert model.objective.value == pytest.approx(float(NARROW([[float(x.solution)]])[0, 0]), abs=1e-6)
    assert model.objective.value < 9
    embedded.remove()
    embedded.remove()
    assert type(model) is linopy.Model
    assert model.solve(solver_name="highs", log_to_console=False)[1] == "optimal"
    assert model.objective.value == pytest.approx(10)
    with pytest.raises(InputError, match="was not solved by dcembed"):
        dcembed.linopy.result_of(model)
    with pytest.raises(InputError, match="no network is embedded in the model"):
        solve(model)


def test_a_variable_that_was_made_stays(model, x):
    kept = embed(model, NETWORK, [x, 0.1])
    gone = embed(model, NETWORK, [x, 0.2])
    assert [kept.name, gone.name] == ["prediction", "prediction_2"]
    gone.remove()
    assert list(model.variables) == ["x", "prediction", "prediction_2"]
    assert type(model) is dcembed.linopy.EmbeddedModel
    model.add_constraints(gone.output == 7, name="free")
    assert maximize(model, kept).is_feasible


def test_no_other_way_to_a_solver_loses_the_network(model, x, tmp_path):
    embedded = embed(model, NETWORK, [x, 0.5])
    model.add_objective(embedded.output.sum())
    for name in ("to_highspy", "to_gurobipy", "dualize", "get_problem_file"):
        with pytest.raises(InputError, match=f"model.{name}: networks are embedded"):
            getattr(model, name)()
    with pytest.raises(
        InputError, match=r"model.matrices: networks are embedded .* linopy.Model.copy\(model\), which is the model without"
    ):
        _ = model.matrices
    bare = linopy.Model.copy(model)
    assert type(bare) is linopy.Model
    assert bare.matrices.c.size == 12
    for io_api in ("direct", "lp"):
        with pytest.raises(InputError, match="networks are embedded"):
            linopy.solvers.Solver.from_name("highs", model=model, io_api=io_api).solve()
    with pytest.raises(InputError, match="a remote solver would not see the embedded networks"):
        model.solve(remote=object())
    with pytest.warns(UserWarning, match="the embedded networks are not in what is written"):
        model.to_file(tmp_path / "model.lp")
    with pytest.raises(InputError, match="the networks of this model were lost"):
        pickle.loads(pickle.dumps(model)).solve()


class Plant(linopy.Model):
    """A class of a user's own."""

    __slots__ = ("notes",)

    def solve(self, *args, **kwargs):
        raise AssertionError("the network would be ignored")


def test_classes_of_users_and_copies_keep_the_network():
    model = Plant()
    x = model.add_variables(lower=-1, upper=1, name="x")
    embedded = embed(model, NARROW, x)
    model.notes = "kept"
    model.add_objective(1 * embedded.output, sense="max")
    assert isinstance(model, Plant)
    model.solve(**QUICK)
    for twin in (model.copy(), copy.copy(model), copy.deepcopy(model)):
        assert twin.solve(**QUICK) == ("ok", "suboptimal")
        assert twin.objective.value == model.objective.value
    embedded.remove()
    assert type(model) is Plant
    assert model.notes == "kept"


def test_statuses_without_a_feasible_point(model, x):
    embedded = embed(model, NETWORK, [x, 0.5])
    model.add_objective(embedded.output.sum())
    solve(model, **QUICK)
    model.add_constraints(embedded.output >= 100, name="hopeless")
    assert model.solve(max_starts=1, max_iterations=2, verbose=False)[0] == "warning"
    assert model.termination_condition in ("other", "iteration_limit")
    assert np.isnan(model.objective.value)
    with pytest.raises(AttributeError):
        _ = x.solution
    with pytest.raises(NoSolutionError, match=r"call dcembed.linopy.solve\(model\) first"):
        embedded.get_error()
    model.remove_constraints("hopeless")
    model.add_constraints(x.sum() >= 100, name="never")
    assert model.solve(**QUICK) == ("warning", "infeasible")


@pytest.mark.parametrize(("options", "condition"), [({"callback": lambda _: True}, "user_interrupt"), ({"time_limit": 0.0}, "time_limit")])
def test_a_feasible_point_is_kept_however_the_run_ended(model, x, options, condition):
    embedded = embed(model, NETWORK, [x, 0.5])
    model.add_objective(1 * x.sum())
    start = {"x": xr.zeros_like(x.labels, dtype=float)}
    assert model.solve(start=start, verbose=False, **options) == ("ok", condition)
    assert model.objective.value == pytest.approx(float(x.solution.sum()))
    assert float(embedded.get_error().max()) <= 1e-9


def test_there_are_no_duals(model, x):
    embedded = embed(model, NETWORK, [x, 0.5])
    model.add_constraints(x.sum() <= 1, name="c")
    maximize(model, embedded)
    assert list(model.dual) == []
    with pytest.raises(AttributeError, match="dual"):
        _ = model.constraints["c"].dual


def test_a_start_is_read_by_names(model, x):
    embedded = embed(model, NETWORK, [x, 0.5])
    values = xr.DataArray([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]], {"time": TIME, "bus": BUS})
    maximize(model, embedded, start={"x": values}, max_iterations=0)
    xr.testing.assert_allclose(x.solution, values)
    assert maximize(model, embedded, start=model.solution).is_feasible
    with pytest.raises(InputError, match=r"start has no value of column 'x\[2030-01-01 00:00:00, north\]'"):
        solve(model, start={}, **QUICK)
    with pytest.raises(InputError, match="received ndarray"):
        solve(model, start=np.zeros(3), **QUICK)


def test_arguments_of_linopys_solve_are_used_or_named(model, x):
    maximize(model, embed(model, NETWORK, [x, 0.5]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.solve("highs", "direct", TimeLimit=30, Threads=1, OutputFlag=0, max_starts=1)
    assert dcembed.linopy.result_of(model).history[-1].start == 0
    with pytest.warns(UserWarning, match=r"dcembed solves the model; ignored: mip_abs_gap=0.01, solver_name='cplex'\.$"):
        model.solve("cplex", mip_abs_gap=0.01, **QUICK)
    with pytest.raises(OptionError, match="unknown option 'mip_rel_gap'"):
        solve(model, mip_rel_gap=0.01)
    # As PyPSA calls HiGHS.
    with pytest.warns(UserWarning, match=r"ignored: solver='ipm', run_crossover='off'\.$"):
        model.solve("highs", solver="ipm", run_crossover="off", threads=0, random_seed=123, time_limit=9.0, **QUICK)
    assert model.solve(mock_solve=True)[0] == "ok"
    with pytest.raises(InputError, match="was not solved by dcembed"):
        dcembed.linopy.result_of(linopy.Model())


def test_a_variable_that_was_removed_is_missed(model, x):
    embed(model, NETWORK, [x, 0.5])
    model.remove_variables("x")
    with pytest.raises(InputError, match="a variable in the inputs of the network 'prediction' is not in the model any more"):
        solve(model, **QUICK)


def test_a_model_that_nobody_uses_is_freed():
    model = linopy.Model()
    x = model.add_variables(lower=-1, upper=1, name="x")
    maximize(model, embed(model, NARROW, x))
    seen = weakref.ref(model)
    del model, x
    gc.collect()
    assert seen() is None
