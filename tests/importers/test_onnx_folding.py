"""Constants of ONNX models: folded from every operator, in any order, through branches and loops, sparse ones, and never out of proportion."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
import scipy.sparse as sp

onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from dcembed.errors import NetworkError, UnsupportedLayerError  # noqa: E402
from dcembed.importers import load_network  # noqa: E402
from dcembed.network import build_mlp  # noqa: E402

from .models import build_onnx  # noqa: E402
from .onnx_models import assert_same, draw, make, node  # noqa: E402

RNG = np.random.default_rng(4)
W = RNG.normal(size=(3, 4))
C = {"W": W, "i": np.array([1]), "s": np.array([3, 4]), "one": np.array(1.0), "q": RNG.integers(-128, 127, size=(3, 4)).astype(np.int8)}

# How a matrix for the layer is made of constants.
FOLDED = {
    "Softplus": [node("Softplus", "W", "M")],
    "Exp": [node("Exp", "W", "M")],
    "Clip": [node("Clip", "W one", "M")],
    "Elu": [node("Elu", "W", "M")],
    "Tanh": [node("Tanh", "W", "M")],
    "Softmax": [node("Softmax", "W", "M")],
    "LayerNormalization": [node("LayerNormalization", "W g", "M")],
    "CumSum": [node("CumSum", "W i", "M")],
    "Split": [node("Split", "D", "M rest", axis=0)],
    "ConstantOfShape": [node("ConstantOfShape", "s", "M")],
    "ConstantOfShape and more": [node("ConstantOfShape", "s", "z"), node("Add", "z W", "M")],
    "EyeLike": [node("EyeLike", "W", "e"), node("Add", "e W", "M")],
    "Einsum": [node("Einsum", "W g", "M", equation="ij,j->ij")],
    "Einsum of axes": [node("Einsum", "T g", "M", equation="ijk,j->ik")],
    "Range": [node("Range", "zero four one", "r"), node("Mul", "W r", "M")],
    "Resize": [node("Resize", "half _ f", "M", mode="linear")],
    "Conv": [node("Conv", "image kernel", "c"), node("Reshape", "c s", "M")],
    "Where": [node("Greater", "W one", "g1"), node("Where", "g1 W one", "M")],
    "TopK": [node("TopK", "W k", "M places", axis=1)],
    "OneHot": [node("OneHot", "places depth two", "M", axis=1)],
    "ScatterND": [node("ScatterND", "W at row", "M")],
    "DequantizeLinear": [node("DequantizeLinear", "q scale zp", "M")],
    "DequantizeLinear per column": [node("DequantizeLinear", "q g", "M", axis=1)],
    "weight norm": [node("ReduceL2", "W", "n", axes=[0]), node("Div", "W n", "u"), node("Mul", "u g", "M")],
}
MORE = {
    "g": np.array([1.0, 0.5, 2.0, 3.0]),
    "D": RNG.normal(size=(6, 4)),
    "T": RNG.normal(size=(3, 4, 4)),
    "zero": np.array(0.0),
    "four": np.array(4.0),
    "half": RNG.normal(size=(3, 2)),
    "f": np.array([1.0, 2.0]),
    "image": RNG.normal(size=(1, 1, 4, 5)),
    "kernel": RNG.normal(size=(1, 1, 2, 2)),
    "k": np.array([4]),
    "places": np.array([0, 2, 3]),
    "depth": np.array(4),
    "two": np.array([0.0, 1.5]),
    "at": np.array([[1]]),
    "row": np.ones((1, 4)),
    "scale": np.array(0.25),
    "zp": np.array(3, dtype=np.int8),
}


@pytest.mark.parametrize("name", FOLDED)
def test_folded(name):
    nodes = [*FOLDED[name], node("MatMul", "x M", "h"), node("Relu", "h")]
    names = {item for entry in nodes for item in entry.input}
    constants = {key: value for key, value in (C | MORE).items() if key in names}

    def build(double):
        return make(nodes, opset=17, constants=constants, double=double)

    # In a few cases the reference does not take doubles, or an axis in a vector, or has no such version.
    single = {
        "ConstantOfShape",
        "ConstantOfShape and more",
        "EyeLike",
        "Resize",
        "CumSum",
        "DequantizeLinear",
        "DequantizeLinear per column",
    }
    network = assert_same(build, reference=name not in single, runtime=name != "LayerNormalization")
    assert network.widths == (4,)


def test_random_numbers_are_not_folded():
    with pytest.raises(UnsupportedLayerError, match="draws random numbers"):
        load_network(make([node("RandomNormalLike", "W", "M"), node("MatMul", "x M")], constants={"W": W}))


def test_constants_defined_after_use():
    nodes = [node("MatMul", "x M", "h"), node("Relu", "h"), node("Softplus", "N", "M"), node("Neg", "W", "N")]
    network = load_network(make(nodes, constants={"W": W}))
    points = draw(network)
    np.testing.assert_allclose(network(points), np.maximum(points @ np.logaddexp(0, -W), 0))


def test_a_circle_is_refused():
    with pytest.raises(NetworkError, match="it needs its own result"):
        load_network(make([node("Add", "x b", "a"), node("Relu", "a", "b"), node("Neg", "b")]))


def test_what_no_output_needs_is_not_looked_at():
    nodes = [node("MatMul", "x W", "h"), node("ArgMax", "h", "label"), node("Relu", "h")]
    assert load_network(make(nodes, constants={"W": W})).widths == (4,)


# Branches and loops.


def branch(name, nodes):
    return helper.make_graph(nodes, name, [], [helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.DOUBLE, None)])


@pytest.mark.parametrize("taken", [True, False])
def test_branches_by_constants(taken):
    choice = helper.make_node(
        "If", ["c"], ["h"], then_branch=branch("t", [node("MatMul", "x W", "m")]), else_branch=branch("e", [node("Neg", "m0", "m1")])
    )
    model = make([node("MatMul", "x V", "m0"), choice, node("Relu", "h")], constants={"W": W, "V": 2 * W, "c": np.array(taken)})
    network = load_network(model)
    points = draw(network)
    np.testing.assert_allclose(network(points), np.maximum(points @ W if taken else -2 * points @ W, 0))


def test_branches_by_the_shape():
    """As exporters write a squeeze of an axis that may have another size."""
    nodes = [
        node("Shape", "x", "s"),
        node("Gather", "s one", "n"),
        node("Equal", "n three", "c"),
        helper.make_node(
            "If", ["c"], ["y"], then_branch=branch("t", [node("Relu", "x", "a")]), else_branch=branch("e", [node("Neg", "x", "b")])
        ),
    ]
    assert load_network(make(nodes, constants={"one": np.array(1), "three": np.array(3)})).widths == (3,)


def test_branches_by_the_input_are_refused():
    nodes = [
        node("ReduceSum", "x", "s", keepdims=0),
        node("Greater", "s zero", "c"),
        helper.make_node(
            "If", ["c"], ["y"], then_branch=branch("t", [node("Relu", "x", "a")]), else_branch=branch("e", [node("Neg", "x", "b")])
        ),
    ]
    with pytest.raises(UnsupportedLayerError, match="decides by a value that is computed from the input"):
        load_network(make(nodes, constants={"zero": np.array(0.0)}))


def loop(count="n", body=None):
    value = helper.make_tensor_value_info
    nodes = body or [node("MatMul", "h S", "m"), node("Relu", "m", "r"), node("Identity", "go", "on"), node("Identity", "r", "row")]
    inner = helper.make_graph(
        nodes,
        "body",
        [value("turn", TensorProto.INT64, []), value("go", TensorProto.BOOL, []), value("h", TensorProto.DOUBLE, None)],
        [value(name, TensorProto.DOUBLE, None) for name in ("on", "r", "row")],
    )
    return helper.make_node("Loop", [count, "go0", "x"], ["last", "rows"], body=inner)


def test_loops_of_constant_length():
    square = RNG.normal(size=(3, 3))
    nodes = [loop(), node("Transpose", "rows", "t", perm=[1, 0, 2]), node("Flatten", "t", "f"), node("Concat", "f last", axis=1)]
    network = load_network(make(nodes, constants={"S": square, "n": np.array(3), "go0": np.array(True)}))
    assert network.widths == (3, 3, 3)
    points = draw(network)
    first = np.maximum(points @ square, 0)
    second = np.maximum(first @ square, 0)
    third = np.maximum(second @ square, 0)
    np.testing.assert_allclose(network(points), np.hstack([first, second, third, third]), rtol=1e-9)


def test_loops_without_a_condition():
    model = make([loop(), node("Neg", "last")], constants={"S": np.eye(3), "n": np.array(3)})
    model.graph.node[0].input[1] = ""
    np.testing.assert_allclose(load_network(model)([[1.0, -2.0, 3.0]]), [[-1.0, 0.0, -3.0]])


def test_loops_without_end_are_refused():
    constants = {"S": np.eye(3), "n": np.array(2**40), "go0": np.array(True)}
    with pytest.raises(UnsupportedLayerError, match="runs more than 500 times"):
        load_network(make([loop(), node("Relu", "last")], constants=constants))


def test_loops_that_grow_are_refused():
    body = [node("Concat", "h h", "r", axis=1), node("Identity", "go", "on"), node("Identity", "turn", "row")]
    with pytest.raises(NetworkError, match="A concatenation of 2 values would take"):
        load_network(make([loop(body=body), node("Relu", "last")], constants={"n": np.array(100), "go0": np.array(True)}))


def test_sequences_through_a_body():
    value = helper.make_tensor_value_info
    body = helper.make_graph([node("Relu", "p", "r")], "b", [value("p", TensorProto.DOUBLE, None)], [value("r", TensorProto.DOUBLE, None)])
    nodes = [node("Neg", "x", "n"), node("SequenceConstruct", "x n", "s"), helper.make_node("SequenceMap", ["s"], ["t"], body=body)]
    network = load_network(make([*nodes, node("ConcatFromSequence", "t", axis=1)]))
    points = draw(network)
    np.testing.assert_allclose(network(points), np.maximum(np.hstack([points, -points]), 0))


# Sparse weights.


def test_sparse_initializer():
    model = make([node("MatMul", "x S", "h"), node("Relu", "h")])
    values = numpy_helper.from_array(np.array([2.0, -1.0]), "S")
    for indices in (np.array([1, 10]), np.array([[0, 1], [2, 2]])):
        del model.graph.sparse_initializer[:]
        places = numpy_helper.from_array(indices, "places")
        model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, [3, 4]))
        dense = np.zeros((3, 4))
        dense[0, 1], dense[2, 2] = 2.0, -1.0
        np.testing.assert_allclose(load_network(model)([[1.0, 2.0, -3.0]]), np.maximum(np.array([[1.0, 2.0, -3.0]]) @ dense, 0))


def test_damaged_sparse_initializer():
    model = make([node("MatMul", "x S")])
    values = numpy_helper.from_array(np.array([2.0]), "S")
    for indices, dims, said in (
        (np.array([99]), [3, 4], "is damaged"),
        (np.array([-1]), [3, 4], "is damaged"),
        (np.array([0]), [10**6, 10**6], "would take"),
    ):
        del model.graph.sparse_initializer[:]
        tensor = helper.make_sparse_tensor(values, numpy_helper.from_array(indices, "places"), [3, 4])
        tensor.dims[:] = dims
        model.graph.sparse_initializer.append(tensor)
        with pytest.raises(NetworkError, match=said):
            load_network(model)


def test_sparse_constant():
    values, places = numpy_helper.from_array(np.array([2.0], dtype=np.float32), "v"), numpy_helper.from_array(np.array([1]), "p")
    model = make([helper.make_node("Constant", [], ["c"], sparse_value=helper.make_sparse_tensor(values, places, [3])), node("Add", "x c")])
    np.testing.assert_allclose(load_network(model)(np.zeros((1, 3))), [[0.0, 2.0, 0.0]])


def pruned(size=200, share=0.01):
    weight = np.zeros((size, size))
    weight.flat[RNG.choice(size * size, int(share * size * size), replace=False)] = 1.0
    return weight


@pytest.mark.parametrize("kind", ["MatMul", "Gemm", "Gemm transposed"])
def test_pruned_weights_are_stored_sparse(kind):
    weight = pruned()
    layer = node("MatMul", "x P", "h") if kind == "MatMul" else node("Gemm", "x P", "h", transB=int(kind != "Gemm"))
    network = load_network(make([layer, node("Relu", "h")], ("batch", 200), constants={"P": weight}))
    block = network.stages[0].weights[0]
    assert sp.issparse(block)
    assert block.nnz == np.count_nonzero(weight)
    points = draw(network)
    np.testing.assert_allclose(network(points), np.maximum(points @ (weight if kind != "Gemm transposed" else weight.T), 0), atol=1e-12)


def test_dense_matrices_of_few_nonzeros_become_sparse_everywhere():
    assert sp.issparse(build_mlp([pruned()], [None]).output.weights[0])
    assert not sp.issparse(build_mlp([pruned(share=0.2)], [None]).output.weights[0])
    assert not sp.issparse(build_mlp([np.eye(20)], [None]).output.weights[0])


# Gzipped files.


def test_gzipped_file(tmp_path):
    path = tmp_path / "model.onnx.gz"
    path.write_bytes(gzip.compress(build_onnx().SerializeToString()))
    points = RNG.normal(size=(5, 2))
    np.testing.assert_array_equal(load_network(path)(points), load_network(build_onnx())(points))
    np.testing.assert_array_equal(load_network(str(path).replace(".gz", ".gz"))(points), load_network(build_onnx())(points))


def test_damaged_gzipped_file(tmp_path):
    content = gzip.compress(build_onnx().SerializeToString())
    for number, broken in enumerate((content[:-20], b"not gzip", content[:30] + b"\xff" * 9 + content[39:], gzip.compress(b"no model"))):
        path = tmp_path / f"{number}.onnx.gz"
        path.write_bytes(broken)
        with pytest.raises(NetworkError, match=rf"{number}\.onnx\.gz"):
            load_network(path)


def test_other_gzipped_files(tmp_path):
    path = tmp_path / "model.npz.gz"
    path.write_bytes(gzip.compress(b""))
    with pytest.raises(ValueError, match=r"suffix '\.npz\.gz' are not read"):
        load_network(path)
