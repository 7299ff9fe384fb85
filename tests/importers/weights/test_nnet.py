"""Networks in .nnet files."""

from __future__ import annotations

import numpy as np
import pytest

from dcembed.errors import ImportMismatchError, InputError, NetworkError
from dcembed.importers import load_network, save_network
from dcembed.importers.weights import chain

from ..models import draw_layers

SIZES = (5, 6, 4, 3)
WEIGHTS, BIASES = draw_layers(SIZES)
MEANS, RANGES = np.array([19791.0, 0.0, 0.5, 650.0, 600.0, 7.5]), np.array([60261.0, 6.28, 6.28, 1100.0, 1200.0, 373.9])


def lines(normalization=None):
    """As the ACAS Xu networks are written."""
    head = [f"{len(SIZES) - 1},{SIZES[0]},{SIZES[-1]},{max(SIZES)},", ",".join(map(str, SIZES)) + ",", "0,"]
    head += normalization or [row(np.zeros(5)), row(np.full(5, 1000.0)), row(MEANS), row(RANGES)]
    body = []
    for weight, bias in zip(WEIGHTS, BIASES, strict=True):
        body += [*map(row, weight), *(row([value]) for value in bias)]
    return ["// Neural Network File Format", "// The second line of it", *head, *body]


def row(values):
    return ",".join(repr(float(value)) for value in values) + ","


def write(tmp_path, text):
    path = tmp_path / "network.nnet"
    path.write_text("\n".join(text) + "\n")
    return path


def forward(points, means=MEANS, ranges=RANGES):
    value = (points - means[:5]) / ranges[:5]
    for index, (weight, bias) in enumerate(zip(WEIGHTS, BIASES, strict=True)):
        value = (np.maximum(value, 0) if index else value) @ weight.T + bias
    return value * ranges[5:] + means[5:]


POINTS = MEANS[:5] + RANGES[:5] * np.random.default_rng(0).normal(size=(30, 5))


def test_raw_units(tmp_path):
    network = load_network(write(tmp_path, lines()))
    assert (network.num_inputs, network.widths, network.num_outputs) == (5, (6, 4), 3)
    np.testing.assert_allclose(network(POINTS), forward(POINTS), rtol=1e-10, atol=1e-8)
    save_network(network, tmp_path / "network.npz")
    np.testing.assert_array_equal(load_network(tmp_path / "network.npz")(POINTS), network(POINTS))


def test_inputs_are_not_clipped(tmp_path):
    far = POINTS + 1e6
    np.testing.assert_allclose(load_network(write(tmp_path, lines()))(far), forward(far), rtol=1e-10)


def test_other_ways_to_write_it(tmp_path):
    network = load_network(write(tmp_path, lines()))
    bare = [line.rstrip(",").replace(",", ", ") for line in lines() if not line.startswith("//")]
    spaced = [text for line in lines() for text in (line, "")]
    for text in (bare, spaced, [line + "\r" for line in lines()]):
        np.testing.assert_array_equal(load_network(write(tmp_path, text))(POINTS), network(POINTS))


def test_one_mean_and_range_for_each_output(tmp_path):
    means, ranges = np.concatenate([MEANS, [1.0, -2.0]]), np.concatenate([RANGES, [10.0, 20.0]])
    network = load_network(write(tmp_path, lines([row(np.zeros(5)), row(np.ones(5)), row(means), row(ranges)])))
    np.testing.assert_allclose(network(POINTS), forward(POINTS, means, ranges), rtol=1e-10, atol=1e-8)


def test_single_zeros_stand_for_no_normalization(tmp_path):
    network = load_network(write(tmp_path, lines(["0,"] * 4)))
    points = POINTS / 1000.0
    np.testing.assert_allclose(network(points), forward(points, np.zeros(6), np.ones(6)), rtol=1e-10)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a.clear(), "ends before the numbers of layers"),
        (lambda a: a.__setitem__(2, "3,5,3,"), "line 3: expected are the numbers of layers, .*, 4 of them, received 3"),
        (lambda a: a.__setitem__(2, "4,5,3,6,"), "line 3: 4 layers, 5 inputs and 3 outputs do not fit the sizes 5, 6, 4, 3"),
        (lambda a: a.__setitem__(3, "5,6.5,4,3,"), "line 4: the sizes of the layers are positive whole numbers"),
        (lambda a: a.__setitem__(3, "5,1000000000000,4,3,"), "line 4: .* no larger than the file"),
        (
            lambda a: a.__setitem__(3, "five"),
            "line 4: expected are the sizes of the layers, numbers with commas between them, received 'five'",
        ),
        (lambda a: a.__setitem__(5, "1,2,"), "line 6: expected are the least values of the inputs, 5 of them, received 2"),
        (lambda a: a.__setitem__(7, row(MEANS[:5])), "line 8: expected are the means .*, 6 or 8 of them, received 5"),
        (lambda a: a.__setitem__(8, row([0.0] * 6)), "line 9: a range is zero"),
        (lambda a: a.__setitem__(9, "1,2,3,4,"), "line 10: expected are the weights of unit 1 of layer 1, 5 of them, received 4"),
        (lambda a: a.__setitem__(9, "1,2,3,nan,4,"), "line 10: there are NaN or infinite entries among the weights of unit 1"),
        (lambda a: a.__setitem__(15, "1,2,"), "line 16: expected are biases, that of unit 1 of layer 1, 1 of them, received 2"),
        (lambda a: a.pop(), "ends before biases, that of unit 3 of layer 3"),
        (lambda a: a.append("1.0,"), "all layers are read, but '1.0,' follows"),
    ],
)
def test_malformed_files(tmp_path, change, message):
    text = lines()
    change(text)
    with pytest.raises(NetworkError, match=message):
        load_network(write(tmp_path, text))


def test_what_does_not_apply(tmp_path):
    path = write(tmp_path, lines())
    with pytest.raises(InputError, match=r"architecture does not apply to a \.nnet file"):
        load_network(path, architecture="relu")
    with pytest.raises(InputError, match=r"logits.* does not apply to a \.nnet file"):
        load_network(path, outputs="logits")


def test_wrong_import_is_noticed(tmp_path, monkeypatch):
    build = chain.build_chain
    monkeypatch.setattr("dcembed.importers.weights.nnet_.build_chain", lambda one: build(chain.Chain(one.layers, [chain.LINEAR] * 3)))
    with pytest.raises(ImportMismatchError, match="does not reproduce the file"):
        load_network(write(tmp_path, lines()))
