"""What load_network accepts and refuses, and what every importer has in common."""

from __future__ import annotations

import builtins
import itertools
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from dcembed.errors import ImportMismatchError, InputError, MissingPackageError, NetworkError
from dcembed.importers import IMPORTERS, load_network
from dcembed.importers.check import check, draw_points, magnitude
from dcembed.network import NetworkBuilder, build_mlp
from dcembed.network.activations import find_activation

from .models import all_models

MODELS = all_models()


def test_network_is_returned_unchanged():
    network = build_mlp([np.eye(2)], [None])
    assert load_network(network) is network


@pytest.mark.parametrize("name", MODELS)
def test_every_importer(name):
    model, num_inputs = MODELS[name]
    network = load_network(model)
    assert (network.num_inputs, network.num_outputs) == (num_inputs, 1)
    assert network.num_hidden > 0
    assert np.ptp(network(draw_points(network))) > 0
    np.testing.assert_array_equal(load_network(model)(draw_points(network)), network(draw_points(network)))


@pytest.mark.parametrize("name", MODELS)
def test_every_importer_checks(name, monkeypatch):
    """A network that is off by a little is refused by every importer."""
    from dcembed.network.builder import NetworkBuilder

    shift = NetworkBuilder.finish
    monkeypatch.setattr(NetworkBuilder, "finish", lambda self, output: shift(self, self.shift(output, 1e-3)))
    with pytest.raises(ImportMismatchError):
        load_network(MODELS[name][0])


def test_a_zip_file_of_a_version_that_nobody_knows_is_refused_in_a_line(tmp_path):
    path = tmp_path / "net.pt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("net/data.pkl", b"")
    content = bytearray(path.read_bytes())
    # The version that is needed to extract it, in the directory at its end.
    content[content.rindex(b"PK\x01\x02") + 6] = 148
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"net\.pt"):
        load_network(path)


@pytest.mark.parametrize("suffix", [".pt", ".pth", ".pkl", ".pickle", ".joblib", ".ckpt", ".bin", ".PT"])
def test_pickles_are_refused(tmp_path, suffix, monkeypatch):
    path = tmp_path / f"model{suffix}"
    path.write_bytes(b"cos\nsystem\n(S'false'\ntR.")
    opened = builtins.open

    def refuse(file, *args, **kwargs):
        assert str(file) != str(path)
        return opened(file, *args, **kwargs)

    monkeypatch.setattr(builtins, "open", refuse)
    with pytest.raises(
        InputError, match=r"a pickle runs code when it is opened\. If you trust it, open it yourself .* dcembed\.save_network\(.*model\.npz"
    ):
        load_network(path)
    with pytest.raises(InputError, match="a pickle runs code"):
        load_network(str(path))


def test_paths():
    with pytest.raises(InputError, match=r"There is no file nowhere\.onnx"):
        load_network("nowhere.onnx")
    with pytest.raises(InputError, match=r"suffix '\.txt' are not read: model\.txt\. Accepted are:\n  Keras 3"):
        load_network("model.txt")
    with pytest.raises(InputError, match="suffix '' are not read"):
        load_network("model")


@pytest.mark.parametrize("model", [None, 3, [1, 2], {"0.weight": np.eye(2)}, np.eye(2), object()])
def test_other_objects(model):
    with pytest.raises(InputError) as info:
        load_network(model)
    assert all(importer.accepts in str(info.value) for importer in IMPORTERS)
    assert type(model).__name__ in str(info.value)


@pytest.mark.parametrize("input_shape", [0, (), (2, -1), "abc", (2, None), 2.5])
def test_bad_input_shape(input_shape):
    with pytest.raises(InputError, match="is not the shape of one point"):
        load_network(object(), input_shape=input_shape)


@pytest.mark.parametrize(("package", "suffix"), [("onnx", ".onnx"), ("safetensors", ".safetensors")])
def test_missing_package(tmp_path, monkeypatch, package, suffix):
    path = tmp_path / f"model{suffix}"
    path.write_bytes(b"")
    # An adapter that was loaded before has its package already.
    for name in [name for name in sys.modules if name.startswith("dcembed.importers.") and f"{package}_" in name.split(".")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackageError, match=rf'pip install "dcembed\[{package}\]"'):
        load_network(path)


def test_keras_is_missing(tmp_path):
    (tmp_path / "model.keras").write_bytes(b"")
    code = (
        "import sys; sys.modules['keras'] = None\n"
        "import dcembed\n"
        "try: dcembed.load_network(sys.argv[1])\n"
        "except dcembed.errors.MissingPackageError as error: print(error)"
    )
    out = subprocess.run([sys.executable, "-c", code, str(tmp_path / "model.keras")], capture_output=True, text=True, check=True)
    assert 'pip install "dcembed[keras]"' in out.stdout


def test_no_framework_is_imported():
    """Not by the import, nor by looking at an object that is none of theirs."""
    code = (
        "import sys, dcembed.importers as i\n"
        "try: i.load_network(object())\n"
        "except i.InputError: pass\n"
        "print([m for m in ('torch', 'onnx', 'keras', 'sklearn', 'safetensors') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


# The check itself.

NETWORK = build_mlp([[[1.0, -1.0], [0.5, 2.0]], [[1.0, 1.0]]], [[0.1, -0.2], [0.3]])


def test_check_passes_and_returns_the_network():
    assert check(NETWORK, NETWORK, "model") is NETWORK


def test_check_reports_the_worst_point():
    place = draw_points(NETWORK)[5]

    def wrong(points):
        return NETWORK(points) + 0.25 * (points == place).all(axis=1, keepdims=True)

    with pytest.raises(ImportMismatchError, match=r"at 1 of \d+ points\. Worst at x = \[.*\]: .*difference 0\.25, tolerance \d"):
        check(NETWORK, wrong, "model")


def test_check_refuses_nan_shapes_and_failures():
    with pytest.raises(ImportMismatchError):
        check(NETWORK, lambda points: np.full((len(points), 1), np.nan), "model")
    with pytest.raises(ImportMismatchError, match="gives 1 outputs where the model gives 2"):
        check(NETWORK, lambda points: np.zeros((len(points), 2)), "model")
    with pytest.raises(NetworkError, match="mixes the points of a batch"):
        check(NETWORK, lambda points: np.zeros((3, 1)), "model")
    with pytest.raises(ImportMismatchError, match="mixes the points of a batch: it gives other values for them together than one by one"):
        check(NETWORK, lambda points: NETWORK(points) + points.mean() - points.mean(axis=1, keepdims=True), "model")

    def fail(points):
        raise RuntimeError("out of order")

    with pytest.raises(NetworkError, match=r"The model itself fails on a batch .* RuntimeError: out of order"):
        check(NETWORK, fail, "model")


def test_single_precision_passes_and_wrong_imports_do_not():
    """Rounding in float32 stays below the tolerance in wide and deep networks; one part in ten thousand does not."""
    for sizes in ((5, 512, 512, 1), (5, *[64] * 12, 1)):
        rng = np.random.default_rng(0)
        weights = [rng.normal(scale=(2 / n) ** 0.5, size=(m, n)).astype(np.float32) for n, m in itertools.pairwise(sizes)]

        def single(points, weights=weights):
            value = points.astype(np.float32)
            for index, weight in enumerate(weights):
                value = (np.maximum(value, 0) if index else value) @ weight.T
            return value

        network = build_mlp(weights, [None] * len(weights))
        check(network, single, "model", precision="float32")
        with pytest.raises(ImportMismatchError):
            check(network, lambda points, single=single: 1.01 * single(points), "model", precision="float32")


def test_magnitude_is_capped_in_deep_networks():
    weights = [np.array([[1.0, -1.0], [-1.0, 1.0]])] * 40
    network = build_mlp(weights, [np.array([1.0, 2.0])] * 40)
    assert magnitude(network, np.ones((1, 2)))[0] < 1e5


def test_points_lie_on_both_sides_of_far_kinks():
    network = build_mlp([[[1.0, 0.0], [0.0, 2.0]], [[1.0, 1.0]]], [[-1000.0, 5000.0], [0.0]])
    points = draw_points(network)
    for unit in (points[:, 0] - 1000.0, 2 * points[:, 1] + 5000.0):
        assert unit.min() < 0 < unit.max()


def test_a_point_far_out_on_a_polynomial_does_not_loosen_the_others():
    builder = NetworkBuilder((1,))
    value = builder.input
    for _ in range(3):
        value = builder.activate(value, find_activation("square"))
    network = builder.finish(value)
    with pytest.raises(ImportMismatchError):
        check(network, lambda points: network(points) + 30.0, "model", precision="float32")
