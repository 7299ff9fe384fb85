"""`dcembed.ensemble` is what numpy makes of the predictions of its members."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dcembed
from dcembed.errors import InputError, NetworkError, UnsupportedLayerError
from dcembed.network.bounds import bound
from dcembed.network.ensemble import Ensemble, member_values
from dcembed.network.network import Network
from random_networks import random_members, random_network


def as_plain(ensemble: Ensemble) -> Network:
    """The stages alone, without what an ensemble knows of its members."""
    return Network(ensemble.num_inputs, ensemble.stages, ensemble.output, ensemble.input_names, ensemble.activations)


def expected(values: np.ndarray, output: str, k: float = 1.0, agree: int = 1, sense: str = "<=") -> np.ndarray:
    """From predictions (k, M, n_out)."""
    mean = values.mean(axis=1)
    ordered = np.sort(values, axis=1)
    return {
        "mean": mean,
        "max": values.max(axis=1),
        "min": values.min(axis=1),
        "mean_deviation": mean + k * np.abs(values - mean[:, None]).mean(axis=1),
        "agreement": ordered[:, agree - 1] if sense == "<=" else ordered[:, -agree],
        "members": values.reshape(len(values), -1),
    }[output]


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(1, 11),
    num_outputs=st.integers(1, 3),
    output=st.sampled_from(["mean", "max", "min", "mean_deviation", "agreement", "members"]),
    k=st.sampled_from([2.0, -0.5, 0.0, 1.0]),
    data=st.data(),
)
def test_every_combination_is_exact(seed, count, num_outputs, output, k, data):
    rng = np.random.default_rng(seed)
    members = random_members(rng, count, 3, num_outputs)
    settings_of = {"output": output}
    if output == "mean_deviation":
        settings_of["k"] = k
    if output == "agreement":
        settings_of |= {"agree": data.draw(st.integers(1, count)), "sense": data.draw(st.sampled_from(["<=", ">="]))}
    ensemble = dcembed.ensemble(members, **settings_of)
    points = 3 * rng.standard_normal((7, 3))
    values = np.stack([member(points) for member in members], axis=1)
    wanted = expected(values, **settings_of)
    assert np.allclose(ensemble(points), wanted, rtol=1e-12, atol=1e-12)
    # The stages, which everything but an evaluation looks at, say the same.
    assert np.allclose(as_plain(ensemble)(points), wanted, rtol=1e-10, atol=1e-10)
    assert np.allclose(member_values(ensemble, points), values, rtol=1e-12, atol=1e-12)
    assert np.allclose(ensemble(points[0]), wanted[0], rtol=1e-12, atol=1e-12)
    assert member_values(ensemble, points[0]).shape == (count, num_outputs)


@pytest.mark.parametrize("output", ["max", "min", "mean_deviation", "mean"])
def test_bounds_hold(output):
    rng = np.random.default_rng(3)
    ensemble = dcembed.ensemble(random_members(rng, 6, 2, 2), output=output)
    ends = bound(ensemble, [[-1.0, -1.0]], [[1.0, 1.0]])
    points = rng.uniform(-1, 1, (200, 2))
    sources = [points]
    for stage, activation, (low, high) in zip(ensemble.stages, ensemble.activations, ends, strict=True):
        before = sum(
            sources[source] @ np.asarray(block.T.todense() if hasattr(block, "todense") else block.T)
            for source, block in stage.weights.items()
        )
        before = before + stage.bias
        assert (before >= low - 1e-9).all()
        assert (before <= high + 1e-9).all()
        sources.append(activation.value(before))


def test_the_blocks_of_members_stay_as_dense_as_they_are():
    rng = np.random.default_rng(0)
    members = [random_network(rng, 4, [30, 30], 1) for _ in range(20)]
    ensemble = dcembed.ensemble(members, output="max")
    assert ensemble.widths[:40] == (30, 30) * 20
    assert len(ensemble.stages) == 40 + 19
    assert all(isinstance(block, np.ndarray) for stage in ensemble.stages for block in stage.weights.values())


def test_a_member_that_is_there_twice_and_one_alone():
    network = random_network(np.random.default_rng(1), 2, [4], 1)
    points = np.random.default_rng(2).standard_normal((5, 2))
    for output, parameters in (("mean", {}), ("max", {}), ("mean_deviation", {"k": 3.0}), ("agreement", {"agree": 1})):
        assert np.allclose(dcembed.ensemble([network], output=output, **parameters)(points), network(points))
        assert np.allclose(dcembed.ensemble([network, network], output=output, **parameters)(points), network(points))


def test_an_ensemble_is_a_network_everywhere():
    ensemble = dcembed.ensemble(random_members(np.random.default_rng(0), 3), output="max")
    assert dcembed.load_network(ensemble) is ensemble
    assert dcembed.Embedding(ensemble, [0, 1], [2]).network is ensemble
    assert repr(ensemble).startswith("Ensemble(max of 3 members, 2 inputs -> 6 -> ")
    nested = dcembed.ensemble([ensemble, *random_members(np.random.default_rng(1), 2)], output="min")
    points = np.random.default_rng(2).standard_normal((4, 2))
    assert np.allclose(member_values(nested, points)[:, 0], ensemble(points))


def test_what_it_is_called():
    lines = [dcembed.build_mlp([[[slope]]], [None]) for slope in (1.0, 2.0, 6.0)]
    assert repr(dcembed.ensemble(lines, output="mean_deviation", k=-2)).startswith(
        "Ensemble(mean - 2 mean absolute deviations of 3 members, "
    )
    assert repr(dcembed.ensemble(lines, output="agreement", agree=2)).startswith("Ensemble(at most by 2 of 3 members, ")
    assert repr(dcembed.ensemble(lines, output="members")).startswith("Ensemble(all 3 members, ")


def test_files_and_live_models_together(tmp_path):
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnx")
    from onnx import TensorProto, helper, numpy_helper, save

    rng = np.random.default_rng(0)
    network = random_network(rng, 2, [4], 1)
    dcembed.save_network(network, tmp_path / "a.npz")
    weight = rng.standard_normal((1, 2)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["x", "w"], ["y"], transB=1)],
        "line",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 1])],
        [numpy_helper.from_array(weight, "w")],
    )
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "b.onnx")
    module = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
    ensemble = dcembed.ensemble([str(tmp_path / "a.npz"), tmp_path / "b.onnx", module, network], output="members")
    points = rng.standard_normal((5, 2))
    with torch.no_grad():
        live = module(torch.tensor(points, dtype=torch.float32)).numpy()
    assert np.allclose(ensemble(points), np.hstack([network(points), points @ weight.T, live, network(points)]), atol=1e-5)


def test_names_of_inputs_are_kept_and_compared():
    rng = np.random.default_rng(0)
    plain = random_network(rng, 2, [3], 1)
    named, other = (Network(2, plain.stages, plain.output, names) for names in (("a", "b"), ("b", "a")))
    assert dcembed.ensemble([plain, named]).input_names == ("a", "b")
    assert dcembed.ensemble([plain, plain]).input_names is None
    with pytest.raises(NetworkError, match=r"member 2 has inputs with the names b, a, but member 1 has a, b\. .*the same columns"):
        dcembed.ensemble([plain, named, other])


def _some(num_inputs: int = 2, num_outputs: int = 1) -> Network:
    return random_network(np.random.default_rng(0), num_inputs, [3], num_outputs)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"members": []}, r"empty list\. At least one"),
        ({"members": _some()}, r"received Ne?twork .*Put the members into a list"),
        ({"members": "net.onnx"}, "Put the members into a list"),
        ({"members": 3}, "a list of networks, models or paths of files is expected"),
        ({"output": "median"}, r"output is str 'median'\. Accepted are 'mean', 'max'"),
        ({"output": "max", "sense": ">="}, r"sense is '>=', but output is 'max'"),
        ({"output": "agreement", "agree": 1, "sense": "=="}, r"Accepted are '<='"),
        ({"output": "agreement"}, r"agree is missing\. Say how many of the 2 members"),
        ({"output": "agreement", "agree": 3}, r"agree is int 3, but there are 2 members: a number from 1 to 2"),
        ({"output": "agreement", "agree": 0}, "from 1 to 2"),
        ({"output": "agreement", "agree": 1.5}, "a whole number is expected"),
        ({"output": "max", "agree": 1}, r"but output is 'max'\. Pass output='agreement'"),
        ({"output": "mean", "k": 2.0}, r"k is 2, but output is 'mean'\. Pass output='mean_deviation'"),
        ({"output": "mean_deviation", "k": np.inf}, "a finite number is expected"),
        ({"output": "mean_deviation", "k": "much"}, "ensemble: k"),
    ],
)
def test_arguments_that_are_not_accepted(arguments, message):
    with pytest.raises(InputError, match=message):
        dcembed.ensemble(**({"members": [_some(), _some()]} | arguments))


def test_members_that_do_not_fit():
    with pytest.raises(NetworkError, match=r"member 1 has 3 inputs where 2 are expected\. Members share"):
        dcembed.ensemble([_some(2), _some(3)])
    with pytest.raises(NetworkError, match=r"member 2 has 2 outputs, but member 0 has 1"):
        dcembed.ensemble([_some(), _some(), _some(2, 2)])
    with pytest.raises(InputError, match=r"member 1 cannot be read\. .*not a model"):
        dcembed.ensemble([_some(), object()])
    with pytest.raises(InputError, match=r"member 0 cannot be read\. .*missing\.npz"):
        dcembed.ensemble(["missing.npz"])
    torch = pytest.importorskip("torch")
    with pytest.raises(UnsupportedLayerError, match=r"member 0 cannot be read\. .*"):
        dcembed.ensemble([torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.Hardshrink())])
