"""Where a network's inputs and outputs sit in the host."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from dcembed import AffineInputs, Embedding, Program, build_mlp
from dcembed.embedded.embedding import check_embeddings
from dcembed.errors import InputError

TWO_TO_ONE = build_mlp([np.ones((3, 2)), np.ones((1, 3))], [None, None])
TWO_TO_THREE = build_mlp([np.ones((4, 2)), np.ones((3, 4))], [None, None])
ONE_TO_ONE = build_mlp([np.ones((2, 1)), np.ones((1, 2))], [None, None])
W = np.arange(10.0) * 10


def message(function, *args) -> str:
    with pytest.raises(InputError) as caught:
        function(*args)
    return str(caught.value)


def test_a_batch_has_one_row_per_evaluation():
    embedding = Embedding(TWO_TO_THREE, [[0, 1], [1, 2]], [[3, 4, 5], [6, 7, 8]])
    assert embedding.num_evaluations == 2
    assert embedding.points(W).tolist() == [[0.0, 10.0], [10.0, 20.0]]
    assert embedding.outputs.tolist() == [[3, 4, 5], [6, 7, 8]]


def test_one_evaluation_may_be_given_flat():
    embedding = Embedding(TWO_TO_THREE, [0, 1], [3, 4, 5])
    assert embedding.inputs.shape == (1, 2)
    assert embedding.outputs.shape == (1, 3)


def test_a_single_output_may_be_one_column_per_evaluation():
    embedding = Embedding(TWO_TO_ONE, [[0, 1], [1, 2], [2, 3]], [4, 5, 6])
    assert embedding.outputs.tolist() == [[4], [5], [6]]


def test_a_network_of_one_variable_takes_columns_as_evaluations():
    embedding = Embedding(ONE_TO_ONE, [0, 1, 2], [3, 4, 5])
    assert embedding.num_evaluations == 3
    assert embedding.points(W).tolist() == [[0.0], [10.0], [20.0]]


def test_inputs_may_share_columns():
    assert Embedding(TWO_TO_ONE, [[1, 1], [1, 2]], [4, 5]).points(W).tolist() == [[10.0, 10.0], [10.0, 20.0]]


@pytest.mark.parametrize("form", [np.array, sp.csr_array, sp.coo_matrix])
def test_inputs_may_be_affine_in_the_columns(form):
    matrix = np.zeros((4, 10))
    matrix[[0, 1, 1, 3], [0, 1, 2, 9]] = [1.0, 2.0, -1.0, 0.5]
    embedding = Embedding(TWO_TO_ONE, AffineInputs(form(matrix), [[1.0, 0.0], [7.0, -1.0]]), [4, 5])
    assert embedding.points(W).tolist() == [[1.0, 0.0], [7.0, 44.0]]


def test_affine_inputs_need_no_offset():
    embedding = Embedding(TWO_TO_ONE, AffineInputs(np.eye(10)[[3, 2]]), [4])
    assert embedding.points(W).tolist() == [[30.0, 20.0]]
    assert embedding.inputs.offset.tolist() == [[0.0, 0.0]]


def test_an_offset_of_one_evaluation_may_be_flat():
    assert Embedding(TWO_TO_ONE, AffineInputs(np.eye(10)[[3, 2]], [1.0, 2.0]), [4]).points(W).tolist() == [[31.0, 22.0]]


def test_one_affine_input_may_be_given_flat():
    assert Embedding(ONE_TO_ONE, AffineInputs(np.eye(10)[3]), [4]).points(W).tolist() == [[30.0]]


def test_the_affine_map_gives_the_same_points_as_the_columns():
    embedding = Embedding(TWO_TO_ONE, [[0, 3], [3, 2]], [4, 5])
    affine = embedding.affine_inputs(10)
    assert np.array_equal((affine.matrix @ W).reshape(2, 2) + affine.offset, embedding.points(W))


def test_the_users_matrix_stays_the_users():
    matrix = sp.csr_array((np.array([1.0, 0.0]), (np.array([0, 1]), np.array([0, 1]))), shape=(2, 10))
    inputs = AffineInputs(matrix)
    matrix.data[:] = 5.0
    assert matrix.nnz == 2
    assert inputs.matrix.toarray()[0, 0] == 1.0


def test_the_printout_counts_evaluations():
    assert repr(Embedding(ONE_TO_ONE, [0], [1])) == "Embedding(Network(1 inputs -> 2 -> 1 outputs), 1 evaluation)"
    assert repr(Embedding(ONE_TO_ONE, [0, 1], [2, 3])) == "Embedding(Network(1 inputs -> 2 -> 1 outputs), 2 evaluations)"


@pytest.mark.parametrize(
    ("network", "inputs", "outputs", "expected"),
    [
        (TWO_TO_ONE, [0, 1, 2], [4], "Embedding: inputs have shape (1, 3), but the network has 2 inputs: expected (k, 2)."),
        (TWO_TO_THREE, [0, 1], [4, 5], "Embedding: outputs have shape (1, 2), but the network has 3 outputs: expected (k, 3)."),
        (TWO_TO_ONE, [[[0, 1]]], [4], "Embedding: inputs have shape (1, 1, 2), but the network has 2 inputs: expected (k, 2)."),
        (TWO_TO_ONE, 0, [4], "Embedding: inputs have shape (), but the network has 2 inputs: expected (k, 2)."),
        (TWO_TO_ONE, [0.0, 1.0], [4], "Embedding: inputs are column numbers (integers), received float64 of shape (2,)."),
        (TWO_TO_ONE, [0, 1], [True], "Embedding: outputs are column numbers (integers), received bool of shape (1,)."),
        (TWO_TO_ONE, [[0, 1], [1, 2]], [[4]], "Embedding: 2 evaluations are given by inputs, but 1 by outputs. Both count the batch."),
        (
            TWO_TO_ONE,
            AffineInputs(np.ones((3, 10))),
            [4],
            "Embedding: the input matrix has 3 rows, but the network has 2 inputs: "
            "a multiple of 2 is expected, 2 rows for each evaluation.",
        ),
        (
            TWO_TO_ONE,
            AffineInputs(np.ones((4, 10)), np.zeros((1, 2))),
            [4, 5],
            "Embedding: the input offset has shape (1, 2), expected (2, 2).",
        ),
    ],
)
def test_shapes_that_do_not_fit_are_refused_word_by_word(network, inputs, outputs, expected):
    assert message(Embedding, network, inputs, outputs) == expected


@pytest.mark.parametrize(("matrix", "offset"), [(np.full((2, 10), np.nan), None), (np.ones((2, 10)), [[0.0, np.inf]])])
def test_affine_inputs_must_be_finite(matrix, offset):
    expected = "AffineInputs: matrix and offset must be finite; NaN or infinite entries were received."
    assert message(AffineInputs, matrix, offset) == expected


@pytest.mark.parametrize(
    ("inputs", "outputs", "expected"),
    [
        ([[0, 10]], [4], "Embedding 1: inputs name column 10, but columns go from 0 to 9."),
        ([[0, -1]], [4], "Embedding 1: inputs name column -1, but columns go from 0 to 9."),
        ([[0, 1]], [12], "Embedding 1: outputs name column 12, but columns go from 0 to 9."),
        (AffineInputs(np.ones((2, 9))), [4], "Embedding 1: the input matrix has 9 columns but the program has 10."),
        (
            [[0, 1], [1, 2]],
            [4, 4],
            "Embedding 1: column 4 stands for more than one prediction. "
            "Give each prediction its own column and add a row if two must be equal.",
        ),
    ],
)
def test_columns_that_the_program_does_not_have_are_refused_word_by_word(inputs, outputs, expected):
    good = Embedding(ONE_TO_ONE, [0], [9])
    program = Program(cost=np.zeros(10))
    check_embeddings(program, [good])
    assert message(check_embeddings, program, [good, Embedding(TWO_TO_ONE, inputs, outputs)]) == expected


def test_a_column_that_stands_for_two_predictions_is_called_by_its_name():
    program = Program(cost=np.zeros(3), column_names=["a", "b", "yield"])
    twice = Embedding(ONE_TO_ONE, [[0], [1]], [[2], [2]])
    assert message(check_embeddings, program, [twice]).startswith("Embedding 0: column 'yield' stands for more than one prediction.")


def test_rows_of_one_evaluation_stand_for_all_where_they_are_the_same():
    rows, offset = np.array([[1.0, 2.0, 0.0], [0.0, 3.0, 0.0]]), np.arange(8.0).reshape(4, 2)
    short = Embedding(TWO_TO_ONE, AffineInputs(rows, offset), [4, 5, 6, 7])
    long = Embedding(TWO_TO_ONE, AffineInputs(np.tile(rows, (4, 1)), offset), [4, 5, 6, 7])
    other = Embedding(TWO_TO_ONE, AffineInputs(np.vstack([rows, rows, rows, 2 * rows]), offset), [4, 5, 6, 7])
    w = np.array([1.0, -1.0, 5.0])
    assert short.inputs.coefficients.shape == long.inputs.coefficients.shape == (2, 3)
    assert other.inputs.coefficients.shape == (8, 3)
    assert short.inputs.matrix.toarray().tolist() == long.inputs.matrix.toarray().tolist() == np.tile(rows, (4, 1)).tolist()
    assert short.points(w).tolist() == long.points(w).tolist() == (offset + rows @ w).tolist()
    for embedding in (short, long, other):
        assert embedding.predict(w).tolist() == embedding.network(embedding.points(w)).tolist()
        assert embedding.points(w, slice(1, 3)).tolist() == embedding.points(w)[1:3].tolist()
        assert embedding.points(w, np.array([3, 0])).tolist() == embedding.points(w)[[3, 0]].tolist()
