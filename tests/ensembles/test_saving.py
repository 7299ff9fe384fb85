"""An ensemble in a file is an ensemble again."""

from __future__ import annotations

import numpy as np
import pytest

import dcembed
from dcembed.errors import ImportMismatchError, NetworkError
from dcembed.network.ensemble import Ensemble, member_values
from random_networks import random_members


@pytest.fixture
def ensemble() -> Ensemble:
    return dcembed.ensemble(random_members(np.random.default_rng(0), 7, 2, 2), output="agreement", agree=5, sense=">=")


def _arrays(ensemble, tmp_path) -> dict:
    dcembed.save_network(ensemble, tmp_path / "whole.npz")
    with np.load(tmp_path / "whole.npz") as file:
        return dict(file)


@pytest.mark.parametrize(
    "settings",
    [{"output": "mean"}, {"output": "mean_deviation", "k": -2.0}, {"output": "agreement", "agree": 3}, {"output": "members"}],
    ids=lambda settings: settings["output"],
)
def test_everything_is_kept(tmp_path, settings):
    rng = np.random.default_rng(1)
    ensemble = dcembed.ensemble(random_members(rng, 6, 2, 2), **settings)
    dcembed.save_network(ensemble, tmp_path / "e.npz")
    again = dcembed.load_network(tmp_path / "e.npz")
    points = rng.standard_normal((5, 2))
    assert isinstance(again, Ensemble)
    assert (again.combination, again.parameter) == (ensemble.combination, ensemble.parameter)
    assert np.array_equal(again.weights, ensemble.weights)
    assert np.array_equal(again(points), ensemble(points))
    assert np.array_equal(member_values(again, points), member_values(ensemble, points))


def test_a_result_keeps_it_too(tmp_path):
    ensemble = dcembed.ensemble(random_members(np.random.default_rng(0), 3), output="max")
    program = dcembed.Program(cost=[0.0, 0.0, 1.0], lb=[-1, -1, -np.inf], ub=[1, 1, np.inf])
    result = dcembed.solve(program, dcembed.Embedding(ensemble, [0, 1], [2]), options={"verbose": False, "max_starts": 1})
    result.save(tmp_path / "run.npz")
    again = dcembed.load_result(tmp_path / "run.npz")
    assert again.objective == pytest.approx(result.objective)


def test_without_what_is_of_the_ensemble_it_is_read_as_a_network(ensemble, tmp_path):
    arrays = {key: value for key, value in _arrays(ensemble, tmp_path).items() if not key.startswith(("ensemble.", "members."))}
    np.savez(tmp_path / "plain.npz", **arrays)
    network = dcembed.load_network(tmp_path / "plain.npz")
    assert type(network) is dcembed.Network
    assert np.allclose(network([[0.3, 0.4]]), ensemble([[0.3, 0.4]]))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("ensemble.combination", np.array("median")),
        ("ensemble.combination", np.array(3)),
        ("ensemble.parameter", np.array(99.0)),
        ("ensemble.parameter", np.array([1.0, 2.0])),
        ("ensemble.parameter", np.array(np.nan)),
        ("ensemble.weights", np.array([0.5, -0.5])),
        ("ensemble.weights", np.zeros(0)),
        ("ensemble.weights", np.full(5, 0.2)),
        ("members.bias", np.zeros(3)),
        ("members.bias", np.full(14, np.nan)),
        ("ensemble.weights", None),
        ("members.bias", None),
    ],
)
def test_damaged_files_are_named(ensemble, tmp_path, key, value):
    arrays = _arrays(ensemble, tmp_path)
    arrays.pop(key)
    if value is not None:
        arrays[key] = value
    np.savez(tmp_path / "damaged.npz", **arrays)
    with pytest.raises(NetworkError, match=r"damaged\.npz"):
        dcembed.load_network(tmp_path / "damaged.npz")


@pytest.mark.parametrize("part", ["members", "output"])
def test_other_numbers_are_noticed(ensemble, tmp_path, part):
    arrays = _arrays(ensemble, tmp_path)
    key = "members.bias" if part == "members" else f"layer{len(ensemble.stages) + 1}.bias"
    np.savez(tmp_path / "other.npz", **{**arrays, key: arrays[key] + 1.0})
    with pytest.raises(ImportMismatchError):
        dcembed.load_network(tmp_path / "other.npz")
