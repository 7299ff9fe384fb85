"""Names and classifiers in the front ends that have no `output_type`: Pyomo, OMLT and CVXPY."""

from __future__ import annotations

import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed")
pd = pytest.importorskip("pandas", reason="pandas is not installed")
pyo = pytest.importorskip("pyomo.environ", reason="Pyomo is not installed")

from tests.frontends.learned import FEATURES, classifier, named_pipeline  # noqa: E402

from dcembed import load_network  # noqa: E402
from dcembed.errors import InputError  # noqa: E402
from dcembed.pyomo import embed  # noqa: E402

SHUFFLED = ["season", "price", "advert"]
POINT = {"price": 0.4, "advert": 5.0, "season": 50.0}


def inputs_of(kind, model):
    """The fixed inputs, in another order than that of the fit."""
    model.x = pyo.Var(SHUFFLED, initialize=POINT)
    model.steps = pyo.Var([1, 2], SHUFFLED, initialize=lambda _, step, name: step * POINT[name])
    variables = {name: model.x[name] for name in SHUFFLED}
    return {"indexed": model.x, "dict": variables, "frame": pd.DataFrame([variables], dtype=object), "steps": model.steps}[kind]


@pytest.mark.parametrize("kind", ["indexed", "dict", "frame", "steps"])
def test_pyomo_matches_indexes_keys_and_columns_with_the_features(kind):
    model = pyo.ConcreteModel()
    embedded = embed(model, named_pipeline(), inputs_of(kind, model))
    expected = [[POINT[name] for name in FEATURES], [2 * POINT[name] for name in FEATURES]]
    assert embedded.input_values.tolist() == (expected if kind == "steps" else expected[:1])


def test_pyomo_refuses_indexes_that_do_not_match_and_takes_other_kinds_in_order():
    model = pyo.ConcreteModel()
    model.x = pyo.Var(["price", "advert", "weather"])
    with pytest.raises(InputError, match=r"embed on .*Missing: 'season'. Surplus: 'weather'."):
        embed(model, named_pipeline(), model.x)
    model.z = pyo.Var(range(6), initialize=lambda _, i: i)
    assert embed(model, named_pipeline(), model.z).input_values.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_classifier_is_embedded_as_a_network_only():
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(2), initialize=0.0)
    with pytest.raises(InputError, match=r"is a classifier.*load_network\(classifier\)"):
        embed(model, classifier("two"), model.x)
    assert embed(model, load_network(classifier("two")), model.x).output


def test_cvxpy_and_omlt_refuse_a_classifier():
    cvxpy = pytest.importorskip("cvxpy", reason="cvxpy is not installed")
    pytest.importorskip("omlt", reason="OMLT is not installed")
    from dcembed.cvxpy import embed as embed_cvxpy
    from dcembed.omlt import DCEmbedFormulation

    x = cvxpy.Variable(2)
    with pytest.raises(InputError, match="is a classifier"):
        embed_cvxpy(classifier("two"), x)
    assert embed_cvxpy(load_network(classifier("two")), x).shape == (1,)
    with pytest.raises(InputError, match="is a classifier"):
        DCEmbedFormulation(classifier("two"))


def named_inputs(kind, cp, variables):
    """Inputs of CVXPY by name, in another order than that of the fit, for one evaluation or for two."""
    return {
        "dict": {name: variables[name][0] for name in SHUFFLED},
        "vectors": {name: variables[name] if name != "advert" else 5.0 for name in SHUFFLED},
        "series": pd.Series({name: variables[name][0] for name in SHUFFLED}, dtype=object),
        "frame": pd.DataFrame({name: [variables[name][0], variables[name][1]] for name in SHUFFLED}, dtype=object),
        "dicts": [{name: variables[name][row] for name in SHUFFLED} for row in range(2)],
    }[kind]


@pytest.mark.parametrize("kind", ["dict", "vectors", "series", "frame", "dicts"])
def test_cvxpy_matches_keys_columns_and_labels_with_the_features(kind):
    cp = pytest.importorskip("cvxpy", reason="cvxpy is not installed")
    from dcembed.cvxpy import embed as embed_cvxpy

    variables = {name: cp.Variable(2) for name in SHUFFLED}
    for name, variable in variables.items():
        variable.value = [POINT[name], 2.0 * POINT[name] if name != "advert" else 5.0]
    prediction = embed_cvxpy(named_pipeline(), named_inputs(kind, cp, variables))
    rows = [[variables[name].value[row] for name in FEATURES] for row in range(2)]
    is_single = kind in ("dict", "series")
    assert prediction.shape == ((1,) if is_single else (2, 1))
    assert prediction.inputs.value.tolist() == (rows[0] if is_single else rows)


def test_cvxpy_refuses_names_that_do_not_match():
    cp = pytest.importorskip("cvxpy", reason="cvxpy is not installed")
    from dcembed.cvxpy import embed as embed_cvxpy

    with pytest.raises(InputError, match=r"embed: the keys of the inputs .* Missing: 'season'. Surplus: 'weather'"):
        embed_cvxpy(named_pipeline(), {name: cp.Variable() for name in ("price", "advert", "weather")})
    with pytest.raises(InputError, match=r"embed: the columns of the inputs .* Missing: 'season'"):
        embed_cvxpy(named_pipeline(), pd.DataFrame({"price": [1.0], "advert": [2.0]}))
    with pytest.raises(InputError, match="the network has no names of features"):
        embed_cvxpy(load_network(classifier("two")), {"a": cp.Variable(), "b": cp.Variable()})


def test_model_files_match_a_table_of_names_with_the_features():
    import numpy as np

    from dcembed.frontends.files_ import NetworkEntry, build_embedding
    from dcembed.program.program import Program

    program = Program(cost=np.zeros(5), lb=np.zeros(5), ub=np.ones(5), column_names=["s[0]", "s[1]", "p", "y[0]", "y[1]"])
    network = load_network(named_pipeline())
    embedding = build_embedding(program, NetworkEntry(network, {"season": "s[*]", "advert": 5, "price": "p"}, "y[*]"))
    assert embedding.points(np.array([10.0, 11.0, 2.0, 0.0, 0.0])).tolist() == [[2.0, 5.0, 10.0], [2.0, 5.0, 11.0]]
    with pytest.raises(InputError, match=r"inputs: the names .* Missing: 'season'. Surplus: 'weather'"):
        build_embedding(program, NetworkEntry(network, {"weather": "s[*]", "advert": 5, "price": "p"}, "y[*]"))
    with pytest.raises(InputError, match="the network has no names of features"):
        build_embedding(program, NetworkEntry(load_network(classifier("two")), {"a": "p", "b": "p"}, "y[0]"))


def test_pyomo_refuses_an_index_of_other_names():
    model = pyo.ConcreteModel()
    model.x = pyo.Var(["a", "b", "c"])
    with pytest.raises(InputError, match=r"Missing: 'price', 'advert', 'season'. Surplus: 'a', 'b', 'c'"):
        embed(model, named_pipeline(), model.x)
