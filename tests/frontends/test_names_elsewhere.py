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
