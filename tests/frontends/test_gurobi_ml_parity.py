"""A gurobi-ml script moves over by changing its import, and nothing else: three scripts, each run as it is and with that line replaced.

Gurobi proves the optimum over the network's binaries; dcembed must come close to it, and never above. What the network says is asked of
the framework itself.
"""

from __future__ import annotations

import inspect

import numpy as np
import pytest

gp = pytest.importorskip("gurobipy", reason="gurobipy is not installed")
pytest.importorskip("gurobi_ml", reason="gurobi-machinelearning is not installed")
pd = pytest.importorskip("pandas", reason="pandas is not installed")
pytest.importorskip("sklearn", reason="scikit-learn is not installed")
torch = pytest.importorskip("torch", reason="torch is not installed")


# Prices: revenue of three regions, predicted from price, advertising and the season, which is known.


def pricing(env, regressor, season):
    import gurobipy as gp
    from gurobi_ml import add_predictor_constr

    model = gp.Model(env=env)
    price = model.addVars(3, lb=0.5, ub=3.0, name="price")
    advert = model.addVars(3, ub=1.0, name="advert")
    inputs = pd.DataFrame({"price": price.values(), "advert": advert.values(), "season": season})
    revenue = add_predictor_constr(model, regressor, inputs)
    model.addConstr(advert.sum() <= 1.2)
    model.addConstrs(price[i] - price[j] <= 0.8 for i in range(3) for j in range(3) if i != j)
    model.setObjective(revenue.output.sum() - 0.4 * advert.sum(), gp.GRB.MAXIMIZE)
    model.optimize()
    return model, revenue


# An adversarial example: the change of an image, small in every pixel and in total, that most favours a wrong digit.


def attack(env, classifier, image, right, wrong):
    import gurobipy as gp
    from gurobi_ml import add_predictor_constr

    model = gp.Model(env=env)
    pixel = model.addMVar(image.size, ub=1.0, name="pixel")
    change = model.addMVar(image.size, ub=0.2, name="change")
    scores = add_predictor_constr(model, classifier, pixel)
    model.addConstr(pixel - image <= change)
    model.addConstr(image - pixel <= change)
    model.addConstr(change.sum() <= 2.0)
    model.setObjective(scores.output[0, wrong] - scores.output[0, right], gp.GRB.MAXIMIZE)
    model.optimize()
    return model, scores


# A pipeline: the cheapest alloy whose strength, predicted from contents in percent by a scaler and a network, suffices.


def alloy(env, pipeline, strength):
    import gurobipy as gp
    from gurobi_ml import add_predictor_constr

    model = gp.Model(env=env)
    content = model.addMVar(3, lb=[2.0, 0.0, 10.0], ub=[20.0, 8.0, 40.0], name="content")
    treated = model.addVar(vtype=gp.GRB.BINARY, name="treated")
    predicted = model.addMVar(1, lb=-gp.GRB.INFINITY, name="strength")
    quality = add_predictor_constr(model, pipeline, content, predicted)
    model.addConstr(predicted + 15.0 * treated >= strength)
    model.addConstr(content.sum() <= 55.0)
    model.setObjective(np.array([3.0, 9.0, 1.0]) @ content + 20.0 * treated)
    model.optimize()
    return model, quality


SCRIPTS = {"pricing": pricing, "attack": attack, "alloy": alloy}
THEIR_IMPORT, OUR_IMPORT = "from gurobi_ml import add_predictor_constr", "from dcembed.gurobipy import add_predictor_constr"


def moved_over(script):
    """The script with its import replaced."""
    source = inspect.getsource(script)
    assert source.count(THEIR_IMPORT) == 1
    scope = dict(globals())
    exec(source.replace(THEIR_IMPORT, OUR_IMPORT), scope)
    return scope[script.__name__]


def pricing_data():
    from sklearn.neural_network import MLPRegressor

    rng = np.random.default_rng(0)
    points = rng.uniform([0.5, 0.0, 0.0], [3.0, 1.0, 1.0], (1500, 3))
    price, advert, season = points.T
    revenue = price * (2.0 + season - price) * (1.0 + 0.6 * np.sqrt(advert)) / 2.0
    regressor = MLPRegressor(hidden_layer_sizes=(12, 12), max_iter=400, random_state=1).fit(points, revenue)
    return regressor, [0.1, 0.5, 0.9]


def attack_data():
    from sklearn.datasets import load_digits

    digits = load_digits()
    images, labels = torch.tensor(digits.data / 16.0, dtype=torch.float32), torch.tensor(digits.target)
    torch.manual_seed(0)
    classifier = torch.nn.Sequential(
        torch.nn.Linear(64, 20), torch.nn.ReLU(), torch.nn.Linear(20, 12), torch.nn.ReLU(), torch.nn.Linear(12, 10)
    )
    adam = torch.optim.Adam(classifier.parameters(), lr=0.02)
    for _ in range(150):
        adam.zero_grad()
        torch.nn.functional.cross_entropy(classifier(images), labels).backward()
        adam.step()
    return classifier, digits.data[0] / 16.0, 0, 6


def alloy_data():
    from sklearn.neural_network import MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(0)
    contents = rng.uniform([2.0, 0.0, 10.0], [20.0, 8.0, 40.0], (1500, 3))
    strength = 20.0 + 2.2 * contents[:, 0] + 4.0 * np.sqrt(contents[:, 1] * contents[:, 2]) - 0.05 * contents[:, 0] ** 2
    pipeline = make_pipeline(StandardScaler(), MLPRegressor(hidden_layer_sizes=(10, 10), max_iter=900, random_state=2)).fit(
        contents, strength
    )
    return pipeline, 95.0


DATA = {"pricing": pricing_data, "attack": attack_data, "alloy": alloy_data}


@pytest.fixture
def env():
    with gp.Env(params={"OutputFlag": 0, "Threads": 1, "TimeLimit": 240}) as env:
        yield env


def ask(predictor, inputs):
    """What the framework itself predicts."""
    if hasattr(predictor, "predict"):
        return predictor.predict(np.asarray(inputs, dtype=np.float64)).reshape(len(inputs), -1)
    with torch.no_grad():
        return predictor(torch.tensor(inputs, dtype=torch.float32)).numpy()


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_answer_is_close_to_the_optimum_of_gurobi_ml(name, env):
    data = DATA[name]()
    script = SCRIPTS[name]
    (theirs, their_predictor), (ours, our_predictor) = (run(env, *data) for run in (script, moved_over(script)))
    assert theirs.Status == gp.GRB.OPTIMAL
    assert ours.SolCount >= 1
    sign = -1 if ours.ModelSense == gp.GRB.MAXIMIZE else 1
    gap = sign * (ours.ObjVal - theirs.ObjVal) / abs(theirs.ObjVal)
    # A local solution is no better than the optimum, up to Gurobi's tolerances, and here within one percent of it.
    assert -1e-3 <= gap <= 0.01
    assert our_predictor.get_error().max() <= 1e-6
    assert our_predictor.output_values == pytest.approx(ask(data[0], our_predictor.input_values), rel=1e-4, abs=1e-4)
    assert np.shape(our_predictor.input_values) == np.shape(their_predictor.input_values)
    assert our_predictor.output_values.shape == their_predictor.output_values.shape
