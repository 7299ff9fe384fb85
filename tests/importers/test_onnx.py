"""Import of ONNX models."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

from dcembed.errors import ImportMismatchError, InputError, NetworkError, UnsupportedLayerError  # noqa: E402
from dcembed.importers import load_network, operations  # noqa: E402
from dcembed.importers.onnx_ import files as onnx_files  # noqa: E402
from dcembed.importers.onnx_ import operators as onnx_operators  # noqa: E402

from .models import build_onnx  # noqa: E402

DATA = Path(os.environ.get("DCEMBED_DATA", Path(__file__).parents[3] / "shared" / "data"))
RNG = np.random.default_rng(0)
CONSTANTS = {
    "W": RNG.normal(size=(4, 3)),
    "V": RNG.normal(size=(3, 4)),
    "S": RNG.normal(size=(4, 4)),
    "b": RNG.normal(size=4),
    "row": RNG.normal(size=(1, 4)),
    "p": np.array([0.5, 1.0, 2.0, 0.25]),
    "low": np.array(-0.4),
    "high": np.array(0.6),
    "one": np.array(1.0),
    "true": np.array(True),
    "grid": np.array([0, 2, 2]),
    "flat": np.array([0, -1]),
    "axes1": np.array([1]),
    "axes2": np.array([2]),
    "index1": np.array(1),
    "half": np.array(0.5),
}


def node(kind, inputs, outputs="y", **attributes):
    return helper.make_node(kind, inputs.split(), outputs.split(), **attributes)


def make(nodes, shape=("batch", 3), opset=17, output="y", double=False, outputs=None, constants=None):
    """A model from "x" to `output`; constants that the nodes name become initializers."""
    names = {name for item in nodes for name in item.input}
    kind = TensorProto.DOUBLE if double else TensorProto.FLOAT
    values = {name: value for name, value in (CONSTANTS | (constants or {})).items() if name in names}
    cast = [value.astype(np.float64 if double else np.float32) if value.dtype.kind == "f" else value for value in values.values()]
    tensors = [numpy_helper.from_array(np.asarray(value), name) for name, value in zip(values, cast, strict=True)]
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", kind, shape)],
        [helper.make_tensor_value_info(name, kind, None) for name in outputs or [output]],
        tensors,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def assert_same(model, batch=40):
    """The import agrees with the model in its own precision, at points of its own."""
    network = load_network(model)
    points = 2.0 * RNG.normal(size=(batch, network.num_inputs)).astype(np.float32)
    expected = ReferenceEvaluator(model).run(None, {"x": points})[0].reshape(batch, -1)
    np.testing.assert_allclose(network(points), expected, rtol=1e-4, atol=1e-4)
    return network


HIDDEN = node("Gemm", "x W b", "h", transB=1)


def test_initializers_among_the_inputs():
    model = build_onnx()
    model.graph.input.extend(
        helper.make_tensor_value_info(tensor.name, TensorProto.FLOAT, list(tensor.dims)) for tensor in model.graph.initializer
    )
    assert load_network(model).num_inputs == 2


@pytest.mark.parametrize(
    ("shape", "batch"), [(("batch", 3), 40), ((None, 3), 40), ((1, 3), 1), ((8, 3), 8)], ids=["named", "unnamed", "one", "fixed"]
)
def test_batch_axis(shape, batch):
    network = assert_same(make([HIDDEN, node("Relu", "h", "r"), node("Gemm", "r S", "y")], shape), batch=batch)
    assert network.widths == (4,)


def test_fixed_batch_in_a_reshape():
    model = make(
        [HIDDEN, node("Reshape", "h eight", "g"), node("Relu", "g", "r"), node("Flatten", "r")],
        (8, 3),
        constants={"eight": np.array([8, 2, 2])},
    )
    assert_same(model, batch=8)


def test_reshape_for_one_point_with_free_batch_axis():
    network = load_network(make([HIDDEN, node("Reshape", "h single", "g"), node("Gemm", "g S")], constants={"single": np.array([1, 4])}))
    assert network.num_outputs == 4


def test_no_batch_axis():
    model = make([node("MatMul", "W x", "m"), node("Add", "m b", "a"), node("Relu", "a")], (3,))
    network = load_network(model)
    points = RNG.normal(size=(5, 3))
    expected = np.maximum(points @ CONSTANTS["W"].T + CONSTANTS["b"], 0)
    np.testing.assert_allclose(network(points), expected, atol=1e-5)


def test_input_shape():
    free = make([node("Flatten", "x", "f"), node("Gemm", "f V")], ("batch", "n"))
    with pytest.raises(InputError, match=r"input 'x' has axes of unknown size"):
        load_network(free)
    assert load_network(free, input_shape=3).num_inputs == 3
    grid = make([node("Relu", "x")], (2, 3))
    assert load_network(grid).num_inputs == 3
    assert load_network(grid, input_shape=(2, 3)).num_inputs == 6
    with pytest.raises(InputError, match=r"does not fit"):
        load_network(grid, input_shape=(5,))
    unranked = make([node("Gemm", "x V")], None)
    assert load_network(unranked, input_shape=3).num_inputs == 3


def test_double_model():
    model = make([HIDDEN, node("Relu", "h")], double=True)
    points = RNG.normal(size=(9, 3))
    np.testing.assert_allclose(load_network(model)(points), ReferenceEvaluator(model).run(None, {"x": points})[0], atol=1e-12)


def test_local_functions_are_inlined():
    body = [node("Relu", "a", "r"), node("Add", "r a", "c")]
    function = helper.make_function("custom", "Residual", ["a"], ["c"], body, [helper.make_opsetid("", 17)])
    plain = make([HIDDEN, helper.make_node("Residual", ["h"], ["y"], domain="custom")])
    model = helper.make_model(
        plain.graph, functions=[function], opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("custom", 1)], ir_version=9
    )
    assert_same(model)


def test_all_unsupported_nodes_are_named():
    nodes = [
        HIDDEN,
        node("Floor", "h", "s"),
        node("Greater", "s low", "g"),
        node("Where", "g h b", "m"),
        helper.make_node("Fancy", ["m"], ["f"], domain="my.ops", name="fancy"),
        helper.make_node("FusedMatMul", ["f", "S"], ["u"], domain="com.microsoft"),
    ]
    nodes += [node("Cast", "u", "i", to=TensorProto.INT64), node("RandomUniformLike", "i")]
    with pytest.raises(UnsupportedLayerError) as info:
        load_network(make(nodes))
    lines = str(info.value).splitlines()
    assert lines[0] == "The ONNX model has 6 layers that cannot be embedded:"
    assert lines[1].startswith("  layer 1, 's': Floor (jumps; only continuous functions can be embedded.")
    assert lines[2].startswith("  layer 3, 'm': Where (chooses by a computed value between two that may differ where the choice changes")
    assert lines[3] == "  layer 4, 'fancy': my.ops.Fancy"
    assert lines[4].startswith("  layer 5, 'u': com.microsoft.FusedMatMul (was put there by an optimizer of another runtime.")
    assert lines[5].startswith("  layer 6, 'i': Cast (converts a computed value to INT64; conversions between floating-point types")
    assert lines[6].startswith("  layer 7, 'y': RandomUniformLike (draws random numbers.")
    assert lines[-1].startswith("Accepted are Abs, Add, ai.onnx.ml.ArrayFeatureExtractor")


@pytest.mark.parametrize(
    ("nodes", "reason"),
    [
        ([HIDDEN, node("BatchNormalization", "h p b b p", "y m v", training_mode=1)], "training mode"),
        ([HIDDEN, node("Dropout", "h half true")], "training mode"),
        ([node("RandomNormal", "", "r", shape=[1, 3]), node("Add", "x r")], "RandomNormal"),
        ([HIDDEN, node("Add", "h b", axis=1, broadcast=1)], "arguments are not known"),
        ([HIDDEN, node("ThresholdedRelu", "h", alpha=1.0)], "jumps from 0 to 1 at 1"),
        ([HIDDEN, node("Shrink", "h", lambd=0.5, bias=0.0)], r"jumps by 0\.5"),
        ([HIDDEN, node("LpNormalization", "h", p=2)], "divides by a norm that can be zero"),
        ([HIDDEN, node("Hardmax", "h")], "Hardmax .jumps; only continuous"),
        ([HIDDEN, node("Scan", "h", num_scan_inputs=1)], "goes through a sequence with a body of its own"),
        ([HIDDEN, node("ArgMax", "h")], "Choose the scores before it with outputs="),
        ([HIDDEN, node("Cast", "h", "i", to=TensorProto.INT32), node("Gather", "S i")], "converts a computed value to INT32"),
        ([HIDDEN, node("Gather", "S h")], "looks up rows of a table by the input"),
        ([HIDDEN, node("QuantizeLinear", "h one", "q"), node("Identity", "q")], "Pass the model before it was quantized"),
    ],
)
def test_unsupported_use(nodes, reason):
    with pytest.raises(UnsupportedLayerError, match=reason):
        load_network(make(nodes))


def test_trees_are_refused_with_who_takes_them():
    tree = helper.make_node("TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml")
    model = make([tree])
    model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 3))
    with pytest.raises(UnsupportedLayerError, match=r"gurobi-machinelearning, PySCIPOpt-ML, OMLT or MathOptAI"):
        load_network(model)


def test_a_divisor_of_both_signs_is_refused():
    with pytest.raises(ImportMismatchError, match=r"a divisor has to keep its sign|quotients or exponentials in it are defined at"):
        load_network(make([HIDDEN, node("Div", "one h")]))


def test_batch_mixing_is_refused():
    with pytest.raises(NetworkError, match="mixes the points"):
        load_network(make([HIDDEN, node("Concat", "h h", axis=0)]))


def test_broken_graphs():
    with pytest.raises(NetworkError, match="input 'nowhere' is not computed"):
        load_network(make([node("Relu", "nowhere")]))
    with pytest.raises(NetworkError, match="The output 'z' of the ONNX graph is not computed"):
        load_network(make([node("Relu", "x")], output="z"))
    with pytest.raises(NetworkError, match=r"At layer 0, 'y': Gemm\. A linear layer takes 4 features"):
        load_network(make([node("Gemm", "x W", transB=0)]))
    with pytest.raises(NetworkError, match="The network is empty"):
        load_network(make([]))
    model = make([HIDDEN], output="h")
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.INT64
    with pytest.raises(NetworkError, match="has type INT64"):
        load_network(model)
    with pytest.raises(InputError, match="GraphProto is not a model"):
        load_network(model.graph)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_nonfinite_weights(value):
    weight = CONSTANTS["W"].copy()
    weight[1, 1] = value
    with pytest.raises(NetworkError, match="NaN or infinite"):
        load_network(make([node("Gemm", "x N b", "h", transB=1), node("Relu", "h")], constants={"N": weight}))


def test_wrong_import_is_noticed(monkeypatch):
    monkeypatch.setitem(onnx_operators.OPERATORS, "Relu", lambda builder, x: operations.leaky_relu(builder, x, 1e-4))
    with pytest.raises(ImportMismatchError, match="does not reproduce the ONNX model"):
        load_network(build_onnx())


def test_model_is_untouched():
    model = build_onnx()
    before = model.SerializeToString()
    load_network(model)
    assert model.SerializeToString() == before


# Files.


def test_file(tmp_path):
    path = tmp_path / "model.onnx"
    onnx.save(build_onnx(), path)
    points = RNG.normal(size=(5, 2))
    np.testing.assert_array_equal(load_network(path)(points), load_network(build_onnx())(points))
    np.testing.assert_array_equal(load_network(str(path))(points), load_network(path)(points))


@pytest.mark.parametrize("content", [b"", b"not an onnx file", b"\x08\x07\x12\x04abcd\xff\xff", b"\x00" * 50])
def test_corrupt_file(tmp_path, content):
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    with pytest.raises(NetworkError, match=r"model\.onnx is not"):
        load_network(path)


def test_truncated_file(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(build_onnx().SerializeToString()[:-40])
    with pytest.raises(NetworkError):
        load_network(path)


def save_external(folder, location):
    """A model whose weights are in another file of its folder, with the location rewritten."""
    path = folder / "model.onnx"
    onnx.save(build_onnx(), path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    model = onnx.load(path, load_external_data=False)
    for tensor in model.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = location
    path.write_bytes(model.SerializeToString())
    return path


def test_external_data_inside(tmp_path):
    points = RNG.normal(size=(5, 2))
    network = load_network(save_external(tmp_path, "weights.bin"))
    np.testing.assert_array_equal(network(points), load_network(build_onnx())(points))


def test_external_data_missing(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        load_network(save_external(tmp_path, "elsewhere.bin"))


@pytest.mark.parametrize("location", ["../secret.bin", "sub/../../secret.bin", "ABSOLUTE", "link.bin", "folder/secret.bin", ""])
def test_external_data_outside_is_never_read(tmp_path, monkeypatch, location):
    folder = tmp_path / "model"
    folder.mkdir()
    secret = tmp_path / "secret.bin"
    secret.write_bytes(b"\x00" * 4096)
    (folder / "link.bin").symlink_to(secret)
    (folder / "folder").symlink_to(tmp_path, target_is_directory=True)
    path = save_external(folder, str(secret) if location == "ABSOLUTE" else location)

    def refuse(*args, **kwargs):
        raise AssertionError("external data was read")

    monkeypatch.setattr(onnx_files.external_data_helper, "load_external_data_for_tensor", refuse)
    with pytest.raises(InputError, match="outside the folder of the model; it was not opened"):
        load_network(path)


def test_proto_with_external_data(tmp_path):
    path = save_external(tmp_path, "weights.bin")
    with pytest.raises(InputError, match=r"Pass the path of the \.onnx file"):
        load_network(onnx.load(path, load_external_data=False))


def test_published_network():
    path = DATA / "neur2sp_pooling_nnp.onnx"
    if not path.exists():
        pytest.skip(f"{path} is not here; set DCEMBED_DATA to the folder with the data files")
    network = load_network(path)
    assert network.num_inputs == 19
    assert network.widths == (64,)
    points = RNG.uniform(size=(20, 19))
    np.testing.assert_allclose(network(points), load_network(path.with_suffix(".npz"), architecture="relu")(points), rtol=1e-9)


ACTIVATIONS = st.sampled_from(["Relu", "LeakyRelu", "Identity", "Abs", "residual"])


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 5), ACTIVATIONS), min_size=1, max_size=4), st.integers(0, 1000))
def test_random_architecture(layers, seed):
    rng = np.random.default_rng(seed)
    nodes, constants, value, width = [], {}, "x", 3
    for index, (size, activation) in enumerate(layers):
        constants |= {f"W{index}": rng.normal(size=(size, width)), f"c{index}": rng.normal(size=size)}
        nodes.append(node("Gemm", f"{value} W{index} c{index}", f"a{index}", transB=1))
        nodes.append(node("Relu" if activation == "residual" else activation, f"a{index}", f"z{index}"))
        value, width = f"z{index}", size
        if activation == "residual":
            nodes.append(node("Add", f"a{index} z{index}", f"s{index}"))
            value = f"s{index}"
    assert_same(make(nodes, output=value, constants=constants))
