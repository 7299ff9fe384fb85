"""Scripts in the style of gurobi-ml and PySCIPOpt-ML: their keywords, functions and attributes, checked by the frameworks themselves."""

from __future__ import annotations

import ast
import copy
import gzip
import importlib
import inspect
import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed")
pd = pytest.importorskip("pandas", reason="pandas is not installed")
torch = pytest.importorskip("torch", reason="torch is not installed")

from tests.frontends.learned import FEATURES, classifier, named_pipeline, samples  # noqa: E402
from tests.frontends.tools import TOOLS, Gurobi, Scip  # noqa: E402

from dcembed.errors import OptionError  # noqa: E402

# Classes of the two packages that write the models that dcembed loads, and the modules of their layers.
THEIRS = {
    Gurobi: (
        ["gurobi_ml.sklearn.mlpregressor", "gurobi_ml.sklearn.pipeline", "gurobi_ml.torch.sequential", "gurobi_ml.onnx.onnx_model"],
        ["gurobi_ml.sklearn.skgetter", "gurobi_ml.modeling.neuralnet.neural_net", "gurobi_ml.modeling.neuralnet.layers"],
        ["gurobi_ml.modeling.base_predictor_constr", "gurobi_ml.modeling._submodel", "gurobi_ml.sklearn.logistic_regression"],
    ),
    Scip: (
        ["pyscipopt_ml.sklearn.mlp", "pyscipopt_ml.sklearn.pipeline", "pyscipopt_ml.torch.sequential", "pyscipopt_ml.onnx"],
        ["pyscipopt_ml.sklearn.skgetter", "pyscipopt_ml.modelling.neuralnet.neural_net", "pyscipopt_ml.modelling.neuralnet.layers"],
        ["pyscipopt_ml.modelling.base_predictor_constraint", "pyscipopt_ml.sklearn.logistic_regression"],
    ),
}
# What a caller gives in place, and what one part of a package hands to the next: layers, weights, statistics.
NOT_KEYWORDS = {
    *("self", "gp_model", "scip_model", "input_vars", "output_vars", "kwargs", "args", "predictor", "pipeline", "mlp_regressor"),
    *("mlp_classifier", "sequential_model", "onnx_model", "logistic_regression", "layer_coefs", "layer_intercept", "activation_function"),
    *("activation_vars", "input_shape", "classification", "skip_output", "transformer", "W", "b"),
}


def their_keywords(modules):
    """Names in the signatures of functions `add_...` and of constructors, and those looked up in **kwargs."""
    found = set()
    for name in modules:
        module = importlib.import_module(name)
        for thing in vars(module).values():
            own = getattr(thing, "__module__", None) == module.__name__
            if own and inspect.isclass(thing):
                found |= set(inspect.signature(thing.__init__).parameters)
            elif own and inspect.isfunction(thing) and thing.__name__.startswith("add_"):
                found |= set(inspect.signature(thing).parameters)
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "kwargs" and isinstance(node.slice, ast.Constant):
                found.add(node.slice.value)
            elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("kwargs.get", "kwargs.pop"):
                found.add(node.args[0].value)
    return found - NOT_KEYWORDS


@pytest.mark.parametrize("tool", TOOLS)
def test_every_keyword_of_the_package_is_accepted(tool):
    package = {Gurobi: "gurobi_ml", Scip: "pyscipopt_ml"}[tool]
    pytest.importorskip(package, reason=f"{package} is not installed")
    keywords = their_keywords([name for part in THEIRS[tool] for name in part])
    assert keywords >= ({"verbose", "no_debug", "name"} if tool is Gurobi else {"formulation", "unique_naming_prefix"})
    for keyword in sorted(keywords):
        host = tool()
        value = {"output_type": "classification", "epsilon": 0.1, "name": "net", "unique_naming_prefix": "net_"}.get(keyword)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            host.embed(classifier("two"), [host.var(0, 1), host.var(0, 1)], **{"output_type": "raw", keyword: value})


@pytest.mark.parametrize("tool", TOOLS)
def test_keywords_that_mean_nothing_are_ignored_with_one_warning(tool):
    host = tool()
    x = [host.var(0, 1) for _ in range(3)]
    with pytest.warns(UserWarning, match="float_type, formulation, no_debug are ignored") as caught:
        host.embed(named_pipeline(), x, float_type=np.float32, no_debug=True, formulation="bigm")
    assert len(caught) == 1
    assert caught[0].filename.endswith("tools.py"), "the line that calls add_predictor_constr"
    with pytest.warns(UserWarning, match="epsilon is ignored"):
        host.embed(named_pipeline(), x, epsilon=0.1)
    with pytest.raises(OptionError, match="unknown argument 'no_debg'"):
        host.embed(named_pipeline(), x, no_debg=True)


@pytest.mark.parametrize("tool", TOOLS)
def test_the_functions_for_one_kind_of_model_have_the_signatures_of_the_package(tool):
    package = {Gurobi: "gurobi_ml", Scip: "pyscipopt_ml"}[tool]
    pytest.importorskip(package, reason=f"{package} is not installed")
    theirs = {}
    for place in ("sklearn", "torch", "onnx"):
        theirs |= vars(importlib.import_module(f"{package}.{place}"))
    names = [name for name in tool.calls.__all__ if name.startswith("add_") and name not in ("add_predictor_constr", "add_keras_constr")]
    assert len(names) >= 4
    for name in names:
        ours, other = inspect.signature(getattr(tool.calls, name)).parameters, inspect.signature(theirs[name]).parameters
        positional = [parameter for parameter in other if parameter not in ("kwargs", "output_type")]
        assert list(ours)[: len(positional)] == positional


# A script of gurobi-ml: fixed inputs, as its own tests have them. Only the imports differ.


def fixed_mlp(gp, add_mlp_regressor_constr, optimize, regressor, examples):
    with gp.Env(params={"OutputFlag": 0}) as env, gp.Model(env=env) as gpm:
        x = gpm.addMVar(examples.shape, lb=examples - 1e-4, ub=examples + 1e-4)
        pred_constr = add_mlp_regressor_constr(gpm, regressor, x, float_type=np.float32, no_debug=True)
        assert gpm.NumQConstrs == len(pred_constr.qconstrs)
        assert gpm.NumGenConstrs == len(pred_constr.genconstrs)
        optimize(gpm)
        return pred_constr.input_values, pred_constr.output.X, pred_constr.get_error()


def test_a_script_of_gurobi_ml_with_fixed_inputs():
    import gurobipy as gp

    from dcembed.gurobipy import add_mlp_regressor_constr, optimize

    regressor = named_pipeline()[-1]
    examples = named_pipeline()[0].transform(pd.DataFrame(samples()[:2], columns=FEATURES))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inputs, outputs, error = fixed_mlp(gp, add_mlp_regressor_constr, optimize, regressor, examples)
        assert outputs[:, 0] == pytest.approx(regressor.predict(inputs), abs=1e-5)
    assert error.max() < 1e-5


def test_a_registered_function_gets_the_predictors_of_its_class(monkeypatch):
    """As in gurobi-ml's test of digits: a classifier is registered by name, with the function for regressors, to have its scores."""
    from dcembed.gurobipy import add_mlp_regressor_constr, register_predictor_constr

    monkeypatch.setattr("dcembed.frontends.registered._REGISTERED", {})
    host, plain = Gurobi(), copy.deepcopy(classifier("three")[-1])
    plain.out_activation_ = "identity"
    register_predictor_constr("MLPClassifier", add_mlp_regressor_constr)
    embedded = host.embed(plain, [host.var(0.3, 0.3), host.var(-0.6, -0.6)], output_type="probability")
    host.minimize(host.var(0, 1))
    assert embedded.output_values == pytest.approx(plain.predict_proba([[0.3, -0.6]]), abs=1e-6)
    register_predictor_constr(torch.nn.Sequential, lambda model, predictor, inputs, outputs, **keywords: (predictor, keywords))
    net = torch.nn.Sequential(torch.nn.Linear(2, 1))
    assert host.embed(net, None, name="n", float_type=float) == (net, {"name": "n", "float_type": float})
    assert host.embed(net, None, epsilon=0, output_type="classification")[1] == {"epsilon": 0, "output_type": "classification"}


# A script of PySCIPOpt-ML: samples of water that are made drinkable, each as cheaply as possible.


def treat(scip, add_mlp_classifier_constr, optimize, clf, water, budget):
    import pyscipopt

    n_samples, n_features = water.shape
    added = scip.addMatrixVar(water.shape, lb=0, ub=budget, name="added")
    drinkable = scip.addMatrixVar((n_samples, 1), vtype="B", name="drinkable")
    inputs = np.array([[water[i, j] + added[i, j] for j in range(n_features)] for i in range(n_samples)], dtype=object)
    pred_cons = add_mlp_classifier_constr(scip, clf, inputs, drinkable, unique_naming_prefix="clf_", formulation="bigm")
    scip.setObjective(pyscipopt.quicksum(drinkable[i, 0] for i in range(n_samples)) - 0.1 * added.sum(), "maximize")
    optimize(scip)
    return pred_cons, np.array([[scip.getVal(drinkable[i, 0])] for i in range(n_samples)])


def test_a_script_of_pyscipopt_ml_with_a_classifier():
    from dcembed.pyscipopt import add_mlp_classifier_constr, optimize

    water = np.array([[-0.3, -0.3], [-0.9, 0.2]])
    with pytest.warns(UserWarning, match="formulation is ignored"):
        pred_cons, drinkable = treat(Scip().model, add_mlp_classifier_constr, optimize, classifier("two"), water, 0.8)
    labels = classifier("two").predict(pred_cons.input_values)
    assert (labels == "yes").tolist() == (drinkable[:, 0] > 0.5).tolist()
    assert labels.tolist() == ["yes", "yes"]
    assert pred_cons.get_error().max() < 1e-6


@pytest.mark.parametrize("tool", TOOLS)
def test_a_torch_model_with_classes_is_one_hot(tool):
    torch.manual_seed(1)
    net = torch.nn.Sequential(torch.nn.Linear(2, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3))
    host = tool()
    points = np.array([[0.5, -0.5], [-0.7, 0.9]])
    embedded = host.calls.add_sequential_constr(
        host.model, net, [[host.var(v, v) for v in row] for row in points], output_type="classification"
    )
    host.minimize(host.var(0, 1))
    assert embedded.output_values.argmax(axis=1).tolist() == net(torch.tensor(points).float()).argmax(dim=1).tolist()
    assert embedded.get_error().max() < 1e-6
    with torch.no_grad():
        net[2].bias[int(embedded.output_values[0].argmin())] += 100.0
    assert embedded.get_error().max() == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(("width", "end"), [(3, torch.nn.Softmax(dim=1)), (3, torch.nn.LogSoftmax(dim=-1)), (1, torch.nn.Sigmoid())])
def test_the_softmax_that_ends_a_model_is_left_out_of_scores_and_classes(width, end):
    torch.manual_seed(3)
    net = torch.nn.Sequential(torch.nn.Linear(2, 5), torch.nn.ReLU(), torch.nn.Linear(5, width), end)
    points = np.array([[0.5, -0.5], [-2.7, 1.9], [3.0, 3.0]])
    with torch.no_grad():
        scores = net[:-1](torch.tensor(points).float()).numpy()
    host = Scip()
    x = [[host.var(v, v) for v in row] for row in points]
    regular = host.embed(net, x)
    raw = host.embed(net, x, output_type="raw")
    classes = host.embed(net, x, output_type="classification")
    host.minimize(host.var(0, 1))
    assert raw.output_values == pytest.approx(scores, abs=1e-5)
    with torch.no_grad():
        assert regular.output_values == pytest.approx(net(torch.tensor(points).float()).numpy(), abs=1e-5)
    expected = scores > 0 if width == 1 else np.eye(width)[scores.argmax(axis=1)]
    assert classes.output_values == pytest.approx(expected.astype(float), abs=1e-6)
    assert max(raw.get_error().max(), classes.get_error().max()) < 1e-6


@pytest.mark.parametrize("kind", ["model", "net.onnx", "net.onnx.gz"])
@pytest.mark.parametrize("operation", ["Softmax", "Sigmoid"])
def test_the_softmax_that_ends_an_onnx_model_is_left_out_of_classes(operation, kind, tmp_path):
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    from onnx import helper, numpy_helper

    rng, width = np.random.default_rng(2), 3 if operation == "Softmax" else 1
    weight = rng.normal(size=(2, width))
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["t"]), helper.make_node(operation, ["t"], ["p"])],
        "classifier",
        [helper.make_tensor_value_info("x", onnx.TensorProto.DOUBLE, ["n", 2])],
        [helper.make_tensor_value_info("p", onnx.TensorProto.DOUBLE, ["n", width])],
        [numpy_helper.from_array(weight, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    before = model.SerializeToString()
    source = model if kind == "model" else str(tmp_path / kind)
    if kind != "model":
        (tmp_path / kind).write_bytes(gzip.compress(before) if kind.endswith(".gz") else before)
    host, points = Scip(), np.array([[0.5, -0.5], [-2.7, 1.9]])
    x = [[host.var(v, v) for v in row] for row in points]
    embedded = host.calls.add_onnx_constr(host.model, source, x, output_type="classification")
    host.minimize(host.var(0, 1))
    scores = points @ weight
    expected = scores > 0 if width == 1 else np.eye(width)[scores.argmax(axis=1)]
    assert embedded.output_values == pytest.approx(expected.astype(float), abs=1e-6)
    assert embedded.get_error().max() < 1e-6
    assert model.SerializeToString() == before
