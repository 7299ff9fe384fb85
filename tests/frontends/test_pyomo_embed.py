"""`dcembed.pyomo.embed`: what goes in, and what happens to it with its block."""

from __future__ import annotations

import numpy as np
import pytest
from tests.frontends.problems import make_network

import dcembed
from dcembed.errors import InputError

pyo = pytest.importorskip("pyomo.environ")

from tests.frontends.pyomo_models import NETWORK, box_model, build_qp, solve  # noqa: E402

import dcembed.pyomo  # noqa: E402


def test_outputs_that_are_expressions_have_names_too():
    m = box_model()
    m.y = pyo.Var()
    dcembed.pyomo.embed(m.nn, NETWORK, inputs=m.x, outputs=[m.y - 1])
    m.o = pyo.Objective(expr=m.y)
    program = dcembed.pyomo.extract(m).program
    assert program.column_names[-1] == program.row_names[-1] == "Output 0 of the network on 'nn'"


def test_inputs_are_variables_expressions_parameters_and_numbers():
    m = box_model()
    m.p = pyo.Param(initialize=0.3, mutable=True)
    m.more = pyo.Block()
    first = dcembed.pyomo.embed(m.nn, NETWORK, inputs=[2 * m.x[0] - m.x[1] + m.p, 0.25])
    second = dcembed.pyomo.embed(m.more, NETWORK, inputs=[m.p, m.x[1]])
    m.o = pyo.Objective(expr=m.nn.outputs[0] + m.more.outputs[0])
    for value in (0.3, -0.6):
        m.p.value = value
        solve(m)
        x = [m.x[0].value, m.x[1].value]
        assert first.input_values == pytest.approx(np.array([[2 * x[0] - x[1] + value, 0.25]]))
        assert second.input_values == pytest.approx(np.array([[value, x[1]]]))
        assert first.get_error().max() < 1e-9
        assert second.get_error().max() < 1e-9


def test_outputs_may_be_expressions_or_shared_or_fixed():
    m = box_model()
    m.y = pyo.Var()
    m.t = pyo.Var(bounds=(-10, 10))
    a = dcembed.pyomo.embed(m, NETWORK, inputs=m.x, outputs=[m.y])
    b = dcembed.pyomo.embed(m.nn, make_network(2, (3,), 5), inputs=m.x, outputs=[m.y])
    c = dcembed.pyomo.embed(m.nn, make_network(2, (3,), 6), inputs=m.x, outputs=[m.t - 2 * m.x[0] + 1])
    m.o = pyo.Objective(expr=m.t)
    pyo.assert_optimal_termination(solve(m))
    for embedded in (a, b, c):
        assert embedded.get_error().max() < 1e-5
    level = m.y.value
    m.x[0].value = m.x[1].value = None
    m.y.fix(level)
    pyo.assert_optimal_termination(solve(m))
    assert m.y.value == level
    assert a.get_error().max() < 1e-5


def test_fixed_inputs_are_honoured():
    m = box_model()
    embedded = dcembed.pyomo.embed(m.nn, NETWORK, inputs=m.x)
    m.o = pyo.Objective(expr=m.nn.outputs[0] - 5 * m.x[0])
    m.x[0].fix(-0.4)
    solve(m)
    assert m.x[0].value == -0.4
    assert embedded.get_error().max() < 1e-9
    m.x.fix(0.3)
    solve(m)
    assert embedded.output_values == pytest.approx(NETWORK(np.full((1, 2), 0.3)))


def test_batches():
    m = box_model()
    m.z = pyo.Var(range(3), range(2), bounds=(-1, 1))
    rows = [[m.z[i, 0], m.z[i, 1] + 0.1] for i in range(3)]
    created = dcembed.pyomo.embed(m.nn, NETWORK, inputs=rows)
    assert [v.name for row in created.output for v in row] == ["nn.outputs[0,0]", "nn.outputs[1,0]", "nn.outputs[2,0]"]
    whole = dcembed.pyomo.embed(m.nn, NETWORK, inputs=m.z)
    assert whole.output[0][0].name == "nn.outputs_2[0,0]"
    assert whole.input[1] == (m.z[1, 0], m.z[1, 1])
    arrays = dcembed.pyomo.embed(m, NETWORK, inputs=np.array(rows, dtype=object), outputs=m.nn.outputs)
    assert len(arrays.input) == 3
    m.o = pyo.Objective(expr=sum(m.nn.outputs.values()) + sum(m.nn.outputs_2.values()))
    solve(m)
    assert max(e.get_error().max() for e in (created, whole, arrays)) < 1e-5


def test_batches_with_several_outputs():
    network = dcembed.build_mlp([np.eye(2), [[1.0, -1.0], [2.0, 3.0], [0.5, 1.0]]], [None, [0.0, 1.0, 2.0]])
    m = box_model()
    embedded = dcembed.pyomo.embed(m.nn, network, inputs=[[m.x[0], 0.5], [m.x[1], m.x[0]]])
    m.o = pyo.Objective(expr=m.nn.outputs[0, 0] + m.nn.outputs[1, 1] - m.nn.outputs[1, 2])
    solve(m)
    assert embedded.output_values.shape == (2, 3)
    assert embedded.get_error().max() < 1e-9


def test_a_deactivated_block_takes_its_network_along():
    m = box_model()
    m.y = pyo.Var(bounds=(-100, 100))
    dcembed.pyomo.embed(m.nn, NETWORK, inputs=m.x, outputs=[m.y])
    m.o = pyo.Objective(expr=m.y)
    m.nn.deactivate()
    solve(m)
    assert m.y.value == -100
    m.nn.activate()
    solve(m)
    assert m.y.value > -50


def test_a_clone_has_its_own_network():
    m = build_qp()
    clone = m.clone()
    solve(clone)
    assert m.x[0].value is None
    assert pyo.value(clone.distance) == pytest.approx(0.3091189773, abs=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (lambda m: (m.many, NETWORK, m.x), "embed: 'many' is an indexed Block. Give one member of it, such as many[1]."),
        (lambda m: (m.x[0], NETWORK, m.x), "embed: the first argument is a Pyomo block or model, received VarData."),
        (lambda m: (m, NETWORK, [m.x[0]]), "embed on 'unknown': inputs has 1 entries but the network has 2 inputs."),
        (
            lambda m: (m, NETWORK, [[m.x[0], m.x[1]], [m.x[0]]]),
            "embed on 'unknown': row 1 of inputs has 1 entries but the network has 2 inputs.",
        ),
        (
            lambda m: (m, NETWORK, m.x, [m.x[0], m.x[1]]),
            "embed on 'unknown': inputs has 1 rows but outputs has 2. Give one row of outputs for each row of inputs.",
        ),
        (
            lambda m: (m, NETWORK, [m.x[0], "x1"]),
            "embed on 'unknown': inputs has an entry of type str. Variables, linear expressions, parameters and numbers are accepted.",
        ),
        (lambda m: (m, NETWORK, []), "embed on 'unknown': inputs has 0 entries but the network has 2 inputs."),
    ],
)
def test_mistakes_in_embed(arguments, message):
    m = box_model()
    m.many = pyo.Block(range(2))
    with pytest.raises(InputError) as error:
        dcembed.pyomo.embed(*arguments(m))
    assert str(error.value) == message


def test_weights_changed_after_embedding_show_in_the_error():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1)).double()
    m = box_model()
    embedded = dcembed.pyomo.embed(m.nn, model, inputs=m.x)
    m.o = pyo.Objective(expr=m.nn.outputs[0])
    solve(m)
    clone = m.clone()
    assert embedded.get_error().max() <= 1e-9
    with torch.no_grad():
        model[2].bias += 0.5
    now = model(torch.tensor(embedded.input_values)).detach().numpy()
    assert embedded.get_error() == pytest.approx(np.array([[0.5]]))
    assert embedded.get_error() == pytest.approx(np.abs(now - embedded.output_values))
    # A clone has the values, and is compared with the same model of the user.
    assert clone.nn.dcembed_network() == pytest.approx(0.5)
