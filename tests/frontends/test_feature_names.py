"""Named inputs are matched with the features that a model was fitted on; what does not match is refused."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed")
pd = pytest.importorskip("pandas", reason="pandas is not installed")

from tests.frontends.learned import FEATURES, named_pipeline  # noqa: E402
from tests.frontends.tools import TOOLS, Gurobi  # noqa: E402

from dcembed import build_mlp, load_network, save_network  # noqa: E402
from dcembed.errors import InputError, NetworkError  # noqa: E402
from dcembed.frontends.feature_names import by_name  # noqa: E402
from dcembed.network.network import Network  # noqa: E402

POINT = {"price": 0.4, "advert": 5.0, "season": 50.0}
SHUFFLED = ["season", "price", "advert"]


def solved(tool, inputs_of, predictor=None):
    """A model whose price is free and whose other inputs are fixed, as a frame, series or dict in the wrong order."""
    host = tool()
    columns = {name: [host.var(0.0, 1.0) if name == "price" else host.var(value, value)] for name, value in POINT.items()}
    embedded = host.embed(named_pipeline() if predictor is None else predictor, inputs_of(columns))
    host.minimize(embedded.output[0, 0])
    return host, embedded, {name: host.value(column[0]) for name, column in columns.items()}


KINDS = {
    "frame": lambda columns: pd.DataFrame(columns)[SHUFFLED],
    "series": lambda columns: pd.Series({name: columns[name][0] for name in SHUFFLED}, dtype=object),
    "dict": lambda columns: {name: columns[name][0] for name in SHUFFLED},
    "tuples": lambda columns: {(0, name): columns[name][0] for name in SHUFFLED},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tool", TOOLS)
def test_the_pipeline_predicts_what_was_found_whatever_the_order_of_the_columns(tool, kind):
    _, embedded, found = solved(tool, KINDS[kind])
    expected = named_pipeline().predict(pd.DataFrame({name: [found[name]] for name in FEATURES}))
    assert embedded.output_values[0, 0] == pytest.approx(expected[0], abs=1e-5)
    assert np.abs(embedded.get_error()).max() < 1e-5


@pytest.mark.parametrize("tool", TOOLS)
def test_a_loaded_network_keeps_the_names(tool, tmp_path):
    network = load_network(named_pipeline())
    assert network.input_names == tuple(FEATURES)
    save_network(network, tmp_path / "named.npz")
    again = load_network(tmp_path / "named.npz")
    assert again.input_names == tuple(FEATURES)
    _, embedded, found = solved(tool, KINDS["frame"], again)
    expected = named_pipeline().predict(pd.DataFrame({name: [found[name]] for name in FEATURES}))
    assert embedded.output_values[0, 0] == pytest.approx(expected[0], abs=1e-5)


def test_the_input_values_can_be_handed_to_predict():
    _, embedded, _ = solved(Gurobi, KINDS["frame"])
    assert list(embedded.input_values.columns) == FEATURES
    assert named_pipeline().predict(embedded.input_values) == pytest.approx(embedded.output_values[:, 0], abs=1e-5)
    _, embedded, _ = solved(Gurobi, KINDS["series"])
    assert list(embedded.input_values.columns) == FEATURES


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["price", "advert", "weather"], "Missing: 'season'. Surplus: 'weather'."),
        (["price", "advert"], "Missing: 'season'. Expected"),
        ([*FEATURES, "weather"], "Surplus: 'weather'. Expected"),
        (["price", "price", "advert", "season"], "Twice: 'price'"),
        ([2, 1, 0], "Surplus: 2, 1, 0"),
    ],
)
def test_columns_that_do_not_match_are_named(tool, columns, message):
    host = tool()
    frame = pd.DataFrame([[host.var(0, 1) for _ in columns]], columns=columns, dtype=object)
    with pytest.raises(InputError, match=message):
        host.embed(named_pipeline(), frame)


@pytest.mark.parametrize("tool", TOOLS)
def test_a_dict_whose_keys_are_other_names_is_refused_and_one_with_numbers_is_taken_in_order(tool):
    host = tool()
    inputs = [host.var(value, value) for value in POINT.values()]
    with pytest.raises(InputError, match=r"keys of the inputs .* Missing: 'season'"):
        host.embed(named_pipeline(), dict(zip(["price", "advert", "weather"], inputs, strict=True)))
    with pytest.raises(InputError, match=r"Missing: 'price', 'advert', 'season'. Surplus: 'a', 'b', 'c'"):
        host.embed(named_pipeline(), dict(zip("abc", inputs, strict=True)))
    embedded = host.embed(named_pipeline(), dict(enumerate(inputs)))
    host.minimize(embedded.output[0, 0])
    assert embedded.get_error().max() < 1e-5


def test_columns_that_pandas_numbered_are_taken_by_position_with_a_warning():
    host = Gurobi()
    frame = pd.DataFrame([[host.var(value, value) for value in POINT.values()]], dtype=object)
    with pytest.warns(UserWarning, match="numbered, but the model was fitted with names"):
        embedded = host.embed(named_pipeline(), frame)
    host.minimize(embedded.output[0, 0])
    assert embedded.output_values[0, 0] == pytest.approx(named_pipeline().predict(pd.DataFrame([POINT]))[0], abs=1e-5)


def test_without_names_on_either_side_everything_is_by_position():
    plain = build_mlp([[[1.0, 2.0]]], [None])
    frame = pd.DataFrame({"b": [1.0], "a": [2.0]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert by_name(frame, plain) is frame
        assert by_name([1.0, 2.0], load_network(named_pipeline())) == [1.0, 2.0]


def test_a_series_is_a_column_for_a_network_with_one_input():
    single = Network(1, (), build_mlp([[[2.0]]], [None]).output, ("price",))
    unnamed = pd.Series([1.0, 2.0, 3.0])
    assert list(by_name(unnamed, single)["price"]) == [1.0, 2.0, 3.0]
    assert by_name(pd.Series({"price": 4.0}), single).shape == (1, 1)
    with pytest.raises(InputError, match="Surplus: 'season'"):
        by_name(pd.Series([1.0, 2.0], name="season"), single)


def test_a_network_has_as_many_names_as_inputs():
    output = build_mlp([[[1.0, 2.0]]], [None]).output
    for names in (["a"], ["a", "a"], ["a", "b", "b"]):
        with pytest.raises(NetworkError, match="2 inputs, but"):
            Network(2, (), output, names)


@pytest.mark.parametrize("tool", TOOLS)
def test_the_error_is_measured_against_the_model_as_it_is_now(tool):
    import copy

    pipeline = copy.deepcopy(named_pipeline())
    _, embedded, _ = solved(tool, KINDS["frame"], pipeline)
    pipeline[-1].intercepts_[-1] += 2.5
    assert embedded.get_error() == pytest.approx(np.array([[2.5]]), abs=1e-5)
