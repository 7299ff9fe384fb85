"""A model with networks in it never leaves them out, and is Gurobi's own again without them."""

from __future__ import annotations

import io

import numpy as np
import pytest

gp = pytest.importorskip("gurobipy", reason="gurobipy is not installed")

from tests.frontends.gurobipy_models import INF, NETWORK, small, written  # noqa: E402

import dcembed  # noqa: E402
from dcembed.errors import InputError  # noqa: E402
from dcembed.frontends.gurobipy_model import REFUSED  # noqa: E402
from dcembed.gurobipy import Model, add_predictor_constr, optimize  # noqa: E402


def test_what_is_returned_tells_what_was_added(model, capsys):
    x, _ = small(model)
    predictor = add_predictor_constr(model, NETWORK, x, name="yield", verbose=True)
    assert "yield: Network(2 inputs -> 5 -> 1 outputs), evaluated 1 time\n1 variables, 0 binaries" in capsys.readouterr().out
    text = io.StringIO()
    predictor.print_stats(abbrev=True, file=text)
    assert text.getvalue().split() == ["yield", "(1,", "1)", "1", "0", "0", "0"]
    assert [variable.VarName for variable in predictor.vars] == ["yield.out[0,0]"]
    assert predictor.constrs == []
    assert predictor.input.shape == (1, 2)
    assert predictor.output.LB.item() <= -INF
    assert model.NumIntVars == 0


def test_remove_leaves_the_model_as_it_was(model, tmp_path):
    x, _ = small(model)
    model.addConstr(x.sum() <= 1, name="c")
    model.update()
    before = written(model, tmp_path)
    predictor = add_predictor_constr(model, NETWORK, x)
    assert written(model, tmp_path) != before
    predictor.remove()
    predictor.remove()
    assert written(model, tmp_path) == before
    with pytest.raises(InputError, match="no network is embedded in the model"):
        optimize(model)


def test_the_subclass_solves_with_or_without_networks(env):
    with Model("mine", env=env) as model:
        x = model.addMVar(2, lb=-1, ub=1)
        model.setObjective(x.sum())
        assert model.optimize() is None
        assert model.Status == gp.GRB.OPTIMAL
        with pytest.raises(InputError, match="no network is embedded in the model, so Gurobi solves it"):
            model.optimize(time_limit=3)
        predictor = add_predictor_constr(model, NETWORK, x)
        model.setObjective(predictor.output.sum())
        seen = []
        result = model.optimize(lambda iteration: seen.append(iteration.number), time_limit=200)
        assert result.is_feasible
        assert seen
        assert model.ObjVal == pytest.approx(result.objective)


def test_only_the_import_has_changed(model):
    """Gurobi alone would put y at its bound, whatever the network says."""
    x, _ = small(model)
    y = model.addMVar(1, lb=-10, ub=10)
    predictor = add_predictor_constr(model, NETWORK, x, y)
    model.setObjective(y.sum())
    model.optimize()
    assert pytest.approx(NETWORK(x.X.reshape(1, 2))[0], abs=1e-6) == y.X
    assert model.ObjVal == pytest.approx(y.X[0])
    assert type(model) is Model
    predictor.remove()
    assert type(model) is gp.Model
    model.optimize()
    assert (model.Status, y.X[0]) == (gp.GRB.OPTIMAL, -10)


def test_a_model_is_gurobis_own_after_the_last_network_only(model):
    x, _ = small(model)
    first, second = (add_predictor_constr(model, NETWORK, x) for _ in range(2))
    model.setObjective(second.output.sum())
    first.remove()
    model.optimize(max_starts=1)
    assert second.get_error().max() <= 1e-6
    second.remove()
    assert type(model) is gp.Model


def test_a_model_that_was_made_as_ours_stays_ours(env):
    with Model(env=env) as model:
        add_predictor_constr(model, NETWORK, small(model)[0]).remove()
        assert type(model) is Model


def test_a_class_of_the_users_own_stays_in_front(env):
    class Logged(gp.Model):
        def optimize(self, *arguments):
            self._log = "asked"
            return super().optimize(*arguments)

    with Logged(env=env) as model:
        x, _ = small(model)
        predictor = add_predictor_constr(model, NETWORK, x)
        model.setObjective(predictor.output.sum())
        assert isinstance(model, Logged)
        assert isinstance(model.optimize(), dcembed.Result)
        assert model._log == "asked"
        assert predictor.get_error().max() <= 1e-6
        predictor.remove()
        assert type(model) is Logged


def test_a_class_of_the_users_own_that_goes_past_us_is_found_out(env):
    class Direct(gp.Model):
        def optimize(self):
            gp.Model.optimize(self)

    with Direct(env=env) as model:
        predictor = add_predictor_constr(model, NETWORK, small(model)[0])
        with pytest.raises(
            InputError, match=r"Direct.optimize has solved the model without the embedded network. Call super\(\).optimize\(\)"
        ):
            model.optimize()
        assert model.SolCount == 0
        predictor.remove()
        model.optimize()
        assert model.Status == gp.GRB.OPTIMAL


def test_a_copy_has_the_classes_in_it(model):
    neural_network = pytest.importorskip("sklearn.neural_network", reason="scikit-learn is not installed")
    points = np.random.default_rng(0).uniform(-1, 1, (60, 2))
    classifier = neural_network.MLPClassifier(hidden_layer_sizes=(4,), max_iter=300, tol=1e-3, random_state=0)
    classifier.fit(points, (points.sum(axis=1) > 0).astype(int))
    x, _ = small(model)
    predictor = add_predictor_constr(model, classifier, x, output_type="classification")
    model.addConstr(predictor.output.sum() == 1)
    model.setObjective(x.sum())
    model.update()
    twin = model.copy()
    predictor.remove()
    twin.optimize(max_starts=1)
    assert classifier.predict([twin.getAttr("X", twin.getVars()[:2])]) == [1]
    twin.dispose()


@pytest.mark.parametrize("kind", ["variables", "expressions"])
def test_a_copy_has_the_networks_in_it(kind, model):
    x, _ = small(model)
    predictor = add_predictor_constr(model, NETWORK, x if kind == "variables" else 0.5 * x + 0.25)
    model.setObjective(predictor.output.sum(), gp.GRB.MAXIMIZE)
    model.addConstr(x.sum() <= 0.5)
    model.update()
    twin = model.copy()
    twin.optimize(max_starts=1)
    mirrored = gp.MVar.fromlist(twin.getVars()[:2])
    inputs = mirrored.X if kind == "variables" else 0.5 * mirrored.X + 0.25
    assert twin.ObjVal == pytest.approx(NETWORK(inputs.reshape(1, 2))[0, 0], abs=1e-6)
    assert model.SolCount == 0
    predictor.remove()
    assert twin.optimize(max_starts=1).objective == pytest.approx(twin.ObjVal)
    twin.dispose()


@pytest.mark.parametrize("name", [name for name in REFUSED if hasattr(gp.Model, name)])
def test_what_would_leave_the_network_out_is_refused(name, model):
    add_predictor_constr(model, NETWORK, small(model)[0])
    with pytest.raises(InputError, match=f"^{name}: Gurobi does not see the embedded network, and would leave that part out."):
        getattr(model, name)()


def test_without_networks_nothing_is_refused(env):
    with Model(env=env) as model:
        small(model)
        model.update()
        assert model.relax().NumVars == 2


def test_a_file_of_the_model_is_said_to_be_without_the_network(model, tmp_path, recwarn):
    x, _ = small(model)
    predictor = add_predictor_constr(model, NETWORK, x)
    model.write(str(tmp_path / "model.prm"))
    model.setObjective(predictor.output.sum())
    model.optimize(max_starts=1)
    model.write(str(tmp_path / "model.sol"))
    assert not recwarn.list
    for name in ("my.model.lp", "model.mps", "model.rew.gz"):
        with pytest.warns(UserWarning, match=f"{name} has the model without the embedded network"):
            model.write(str(tmp_path / name))


def test_an_iis_is_that_of_the_host(model):
    x, _ = small(model)
    predictor = add_predictor_constr(model, NETWORK, x)
    model.addConstr(predictor.output[0, 0] >= 1e6, name="too_much")
    with pytest.raises(gp.GurobiError) as error:
        model.computeIIS()
    assert "without its networks" in error.value.__notes__[0]
    impossible = model.addConstr(x.sum() >= 3)
    model.optimize()
    assert model.Status == gp.GRB.INFEASIBLE
    model.computeIIS()
    assert impossible.IISConstr.item() == 1


def test_weights_that_changed_after_the_embedding_are_seen(model):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    network = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1)).double()
    x, _ = small(model)
    predictor = add_predictor_constr(model, network, x)
    with torch.no_grad():
        network[2].bias += 1.0
    model.setObjective(predictor.output.sum())
    model.optimize(max_starts=1)
    assert predictor.get_error().max() == pytest.approx(1.0, abs=1e-6)


def test_weights_of_scikit_learn_that_changed_are_seen(model):
    neural_network = pytest.importorskip("sklearn.neural_network", reason="scikit-learn is not installed")
    points = np.random.default_rng(0).uniform(-1, 1, (30, 2))
    regressor = neural_network.MLPRegressor(hidden_layer_sizes=(4,), max_iter=500, tol=1e-2, random_state=0).fit(points, points.sum(axis=1))
    x, _ = small(model)
    predictor = add_predictor_constr(model, regressor, x)
    regressor.intercepts_[-1][:] += 1.0
    model.setObjective(predictor.output.sum())
    model.optimize(max_starts=1)
    assert predictor.get_error().max() == pytest.approx(1.0, abs=1e-6)
