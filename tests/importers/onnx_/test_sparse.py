"""Sparse weights of ONNX models, and sizes that stay sparse."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("onnx")

from onnx import helper, numpy_helper

from dcembed.errors import NetworkError
from dcembed.importers import load_network
from dcembed.network import build_mlp

from .models import draw, make, node

RNG = np.random.default_rng(4)
W = RNG.normal(size=(3, 4))


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


def test_sizes_stay_sparse():
    """A convolution holds its weights at every place, and no more."""
    constants = {"k": RNG.normal(size=(8, 3, 3, 3))}
    network = load_network(make([node("Conv", "x k", "c"), node("Relu", "c")], ("batch", 3, 16, 16), 17, constants))
    assert network.stages[0].weights[0].nnz == 8 * 14 * 14 * 27
