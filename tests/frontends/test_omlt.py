"""OMLT blocks: networks that OMLT loads, with scaling and bounds, solved without binaries."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.frontends.problems import ConvexQP, NeuralMILP, NeuralMIQP, solved

import dcembed
from dcembed.errors import ImportMismatchError, InputError, NetworkError, UnsupportedLayerError

pyo = pytest.importorskip("pyomo.environ")
omlt = pytest.importorskip("omlt")
from omlt.io import load_onnx_neural_network  # noqa: E402
from omlt.neuralnet import NetworkDefinition, ReluBigMFormulation  # noqa: E402
from omlt.neuralnet.layer import ConvLayer2D, DenseLayer, IndexMapper, InputLayer, PoolingLayer2D  # noqa: E402
from tests.frontends.pyomo_models import written  # noqa: E402

from dcembed.omlt import DCEmbedFormulation, load_definition  # noqa: E402
from dcembed.omlt import load_onnx_neural_network as load_remembered  # noqa: E402
from dcembed.omlt import load_onnx_neural_network_with_bounds as load_remembered_with_bounds  # noqa: E402


def define(layers, **settings) -> NetworkDefinition:
    definition = NetworkDefinition(**settings)
    for layer in layers:
        definition.add_layer(layer)
    for before, after in itertools.pairwise(layers):
        definition.add_edge(before, after)
    return definition


def as_definition(network: dcembed.Network, **settings) -> NetworkDefinition:
    """An MLP in OMLT's words."""
    layers = [InputLayer([network.num_inputs])]
    for index, affine in enumerate((*network.stages, network.output)):
        weights = affine.weights[index]
        weights = weights if isinstance(weights, np.ndarray) else weights.toarray()
        activation = "relu" if index < len(network.stages) else "linear"
        layers.append(DenseLayer([weights.shape[1]], [weights.shape[0]], weights.T, affine.bias, activation=activation))
    return define(layers, **settings)


def solve(model, **options):
    results = pyo.SolverFactory("dcembed").solve(model, **options)
    pyo.assert_optimal_termination(results)


def build_qp():
    p = ConvexQP
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(4), bounds=(-1, 1))
    m.nn = omlt.OmltBlock(range(2))
    for i in range(2):
        m.nn[i].build_formulation(DCEmbedFormulation(as_definition(p.network)))
        m.nn[i].limit = pyo.Constraint(expr=m.nn[i].outputs[0] <= p.limit)
    m.link = pyo.Constraint(range(4), rule=lambda m, i: m.nn[i // 2].inputs[i % 2] == m.x[i])
    m.total = pyo.Constraint(expr=sum(m.x.values()) == p.total)
    m.o = pyo.Objective(expr=0.5 * sum((m.x[i] - p.target[i]) ** 2 for i in range(4)))
    return m


def build_milp():
    p = NeuralMILP
    m = pyo.ConcreteModel()
    m.z = pyo.Var(range(2), domain=pyo.Binary)
    m.b = pyo.Var(domain=pyo.Binary)
    m.nn = omlt.OmltBlock()
    m.nn.build_formulation(DCEmbedFormulation(as_definition(p.network, scaled_input_bounds={0: (0, 1), 1: (0, 1)})))
    y = m.nn.outputs[0]
    m.level = pyo.Constraint(expr=y - p.level >= -20 * (1 - m.b))
    m.open = pyo.Constraint(range(2), rule=lambda m, i: m.nn.inputs[i] <= m.z[i])
    m.few = pyo.Constraint(expr=m.z[0] + m.z[1] <= 1 + m.b)
    m.o = pyo.Objective(expr=y + p.reward * m.b - sum(p.cost[i] * m.z[i] for i in range(2)), sense=pyo.maximize)
    return m


def build_miqp():
    p = NeuralMIQP
    m = pyo.ConcreteModel()
    m.k = pyo.Var(domain=pyo.Integers, bounds=(0, 3))
    m.nn = omlt.OmltBlock()
    m.nn.build_formulation(DCEmbedFormulation(p.network))
    x = m.nn.inputs
    for i in range(2):
        x[i].setlb(-1)
        x[i].setub(1)
    m.tie = pyo.Constraint(expr=m.nn.outputs[0] == p.slope * m.k + p.intercept)
    m.o = pyo.Objective(expr=sum((x[i] - p.center[i]) ** 2 for i in range(2)) + 0.1 * m.k)
    return m


@pytest.mark.parametrize(
    ("build", "problem"), [(build_qp, ConvexQP), (build_milp, NeuralMILP), (build_miqp, NeuralMIQP)], ids=["QP", "MILP", "MIQP"]
)
def test_the_same_objective_as_the_matrix_form(build, problem, tmp_path):
    expected = solved(problem)
    m = build()
    before = written(m, tmp_path / "before.lp")
    solve(m, max_starts=1)
    assert abs(m.o.sense * pyo.value(m.o) - expected.objective) < 1e-6
    assert written(m, tmp_path / "after.lp") == before


SCALING = {"offset_inputs": [1.0, 20.0], "factor_inputs": [2.0, 30.0], "offset_outputs": [5.0], "factor_outputs": [4.0]}


def test_scaling_and_bounds_come_along():
    network = NeuralMIQP.network
    bounds = {0: (0.0, 4.0), 1: (-5.0, 40.0)}
    definition = as_definition(network, scaling_object=omlt.OffsetScaling(**SCALING), unscaled_input_bounds=bounds)
    m = pyo.ConcreteModel()
    m.nn = omlt.OmltBlock()
    m.nn.build_formulation(DCEmbedFormulation(definition))
    assert [v.bounds for v in m.nn.inputs.values()] == [pytest.approx(bounds[0]), pytest.approx(bounds[1])]
    m.o = pyo.Objective(expr=m.nn.outputs[0])
    solve(m)
    x = np.array([m.nn.inputs[0].value, m.nn.inputs[1].value])
    scaled = (x - SCALING["offset_inputs"]) / SCALING["factor_inputs"]
    assert m.nn.outputs[0].value == pytest.approx(5.0 + 4.0 * network(scaled[None])[0, 0])
    assert [pyo.value(m.nn.scaled_inputs[i]) for i in range(2)] == pytest.approx(scaled)
    assert pyo.value(m.nn.scaled_outputs[0]) == pytest.approx(network(scaled[None])[0, 0])


class Doubling:
    """A scaling that OMLT knows nothing about, and that cannot be undone."""

    def get_scaled_input_expressions(self, variables):
        return {key: 2 * variable for key, variable in variables.items()}

    def get_unscaled_output_expressions(self, variables):
        return {key: 3 * variable for key, variable in variables.items()}


def test_a_scaling_of_the_user_gets_its_bounds_as_rows():
    network = NeuralMIQP.network
    definition = as_definition(network, scaling_object=Doubling(), scaled_input_bounds={0: (-1, 1), 1: (-1, 0.5)})
    m = pyo.ConcreteModel()
    m.nn = omlt.OmltBlock()
    m.nn.build_formulation(DCEmbedFormulation(definition))
    m.o = pyo.Objective(expr=m.nn.outputs[0] - 100 * m.nn.inputs[1])
    solve(m)
    assert m.nn.inputs[1].value == pytest.approx(0.25, abs=1e-5)
    x = 2 * np.array([[m.nn.inputs[0].value, m.nn.inputs[1].value]])
    assert m.nn.outputs[0].value == pytest.approx(3 * network(x)[0, 0])


def test_a_network_that_omlt_reads_from_onnx(tmp_path):
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(1)
    weights = {"w1": rng.normal(size=(2, 6)), "b1": rng.normal(size=6), "w2": rng.normal(size=(6, 1)), "b2": rng.normal(size=1)}
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["a"], name="first"),
        helper.make_node("Add", ["a", "b1"], ["b"], name="bias1"),
        helper.make_node("Relu", ["b"], ["c"], name="relu"),
        helper.make_node("MatMul", ["c", "w2"], ["d"], name="second"),
        helper.make_node("Add", ["d", "b2"], ["y"], name="bias2"),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 1])],
        [numpy_helper.from_array(value.astype(np.float32), name) for name, value in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    onnx.save(model, str(tmp_path / "net.onnx"))
    definition = load_onnx_neural_network(model, input_bounds={0: (-1, 1), 1: (-1, 1)})
    points = rng.normal(size=(5, 2))
    assert load_definition(definition)(points) == pytest.approx(dcembed.load_network(tmp_path / "net.onnx")(points), abs=1e-6)
    m = pyo.ConcreteModel()
    m.nn = omlt.OmltBlock()
    m.nn.build_formulation(DCEmbedFormulation(definition))
    m.o = pyo.Objective(expr=m.nn.outputs[0])
    solve(m)
    assert not [v for v in m.component_data_objects(pyo.Var) if not v.is_continuous()]
    best = m.nn.outputs[0].value

    # OMLT's own big-M formulation, solved by HiGHS, has the same optimum here.
    exact = pyo.ConcreteModel()
    exact.nn = omlt.OmltBlock()
    exact.nn.build_formulation(ReluBigMFormulation(definition))
    exact.o = pyo.Objective(expr=exact.nn.outputs[0])
    pyo.SolverFactory("appsi_highs").solve(exact)
    assert best == pytest.approx(pyo.value(exact.o), abs=1e-5)


@pytest.mark.filterwarnings("ignore:The OMLT network was compared")
def test_convolutions_and_pooling_of_a_channel():
    rng = np.random.default_rng(3)
    image = InputLayer([1, 6, 6])
    convolution = ConvLayer2D([1, 6, 6], [1, 5, 5], [1, 1], rng.normal(size=(1, 1, 2, 2)), activation="relu")
    pooling = PoolingLayer2D([1, 5, 5], [1, 3, 3], [2, 2], "max", (2, 2), 1)
    flat = DenseLayer([9], [2], rng.normal(size=(9, 2)), rng.normal(size=2), input_index_mapper=IndexMapper([1, 3, 3], [9]))
    definition = define([image, convolution, pooling, flat])
    network = load_definition(definition)
    assert (network.num_inputs, network.num_outputs) == (36, 2)
    x = rng.normal(size=(1, 6, 6))
    value = x
    for layer in (image, convolution, pooling, flat):
        value = layer.eval_single_layer(value)
    assert network(x.reshape(1, -1))[0] == pytest.approx(value)
    m = pyo.ConcreteModel()
    m.nn = omlt.OmltBlock()
    m.nn.build_formulation(DCEmbedFormulation(definition))
    assert m.nn.inputs[0, 5, 5].name == "nn.inputs[0,5,5]"
    for v in m.nn.inputs.values():
        v.setlb(-1)
        v.setub(1)
    m.o = pyo.Objective(expr=m.nn.outputs[0] - m.nn.outputs[1])
    solve(m)
    point = np.array([v.value for v in m.nn.inputs.values()])
    assert [m.nn.outputs[j].value for j in range(2)] == pytest.approx(network(point[None])[0], abs=1e-6)


@pytest.mark.parametrize("activation", ["sigmoid", "tanh", "softplus"])
def test_smooth_activations_of_omlt(activation):
    rng = np.random.default_rng(0)
    layers = [
        InputLayer([2]),
        DenseLayer([2], [4], rng.normal(size=(2, 4)), rng.normal(size=4), activation=activation),
        DenseLayer([4], [1], rng.normal(size=(4, 1)), np.zeros(1), activation="linear"),
    ]
    m = pyo.ConcreteModel()
    m.nn = omlt.OmltBlock()
    m.nn.build_formulation(DCEmbedFormulation(define(layers)))
    for v in m.nn.inputs.values():
        v.setlb(-1)
        v.setub(1)
    m.o = pyo.Objective(expr=m.nn.outputs[0])
    solve(m)
    network = load_definition(define(layers))
    assert [str(each) for each in network.activations] == [activation]
    grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, 201)] * 2), axis=-1).reshape(-1, 2)
    assert m.nn.outputs[0].value <= network(grid).min() + 1e-4


def test_layers_that_cannot_be_embedded_are_all_listed():
    rng = np.random.default_rng(0)
    layers = [
        InputLayer([2]),
        DenseLayer([2], [3], rng.normal(size=(2, 3)), np.zeros(3), activation="softmax"),
        DenseLayer([3], [3], rng.normal(size=(3, 3)), np.zeros(3), activation="relu"),
        DenseLayer([3], [1], rng.normal(size=(3, 1)), np.zeros(1), activation="elu"),
    ]
    with pytest.raises(UnsupportedLayerError) as error:
        DCEmbedFormulation(define(layers))
    assert str(error.value).splitlines()[:3] == [
        "The OMLT model has 2 layers that cannot be embedded:",
        "  layer 1, 'DenseLayer(input_size=[2], output_size=[3])': DenseLayer (activation softmax)",
        "  layer 3, 'DenseLayer(input_size=[3], output_size=[1])': DenseLayer (activation elu)",
    ]
    pooled = define([InputLayer([2, 4, 4]), PoolingLayer2D([2, 4, 4], [2, 2, 2], [2, 2], "max", (2, 2), 1)])
    with pytest.raises(UnsupportedLayerError, match="pools several channels"):
        load_definition(pooled)
    two = NetworkDefinition()
    two.add_layer(InputLayer([2]))
    two.add_layer(InputLayer([2]))
    with pytest.raises(NetworkError, match="The OMLT network has 2 input layers; one is accepted"):
        load_definition(two)


def onnx_file(path, nodes, shape, constants, outputs=1):
    """A float32 model from x, of this shape, to y."""
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper, numpy_helper

    graph = helper.make_graph(
        [helper.make_node(kind, inputs, [output], name=f"{kind}_{output}", **more) for kind, inputs, output, more in nodes],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, *shape])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, outputs])],
        [numpy_helper.from_array(np.asarray(v), name) for name, v in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, str(path))
    return model


def convolution_file(path, biases):
    numpy_helper = pytest.importorskip("onnx.numpy_helper")
    rng = np.random.default_rng(2)
    f32 = np.float32
    constants = {"k": rng.normal(size=(1, 1, 2, 2)).astype(f32), "w": rng.normal(size=(9, 1)).astype(f32)}
    constants |= {"kb": np.array([0.7], f32), "b": np.array([0.25], f32)}
    settings = {"kernel_shape": [2, 2], "strides": [1, 1], "group": 1}
    nodes = [
        ("Constant", [], "s", {"value": numpy_helper.from_array(np.array([-1, 9]), "s")}),
        ("Conv", ["x", "k", "kb"] if biases else ["x", "k"], "c", settings),
        ("Relu", ["c"], "r", {}),
        ("Reshape", ["r", "s"], "f", {}),
        ("MatMul", ["f", "w"], "m", {}),
        ("Add", ["m", "b"], "y", {}),
    ]
    return onnx_file(path, nodes, (1, 4, 4), constants)


AT_HAND = {
    "remembered": lambda path, model: DCEmbedFormulation(load_remembered(model)),
    "with bounds": lambda path, model: DCEmbedFormulation(load_remembered_with_bounds(str(path))),
    "path": lambda path, model: DCEmbedFormulation(load_onnx_neural_network(model), onnx=str(path)),
    "model": lambda path, model: DCEmbedFormulation(load_onnx_neural_network(model), onnx=model),
}


@pytest.mark.parametrize("given", AT_HAND)
def test_biases_that_omlt_drops_are_found_where_the_file_is_at_hand(given, tmp_path):
    path = tmp_path / "net.onnx"
    model = convolution_file(path, biases=True)
    words = r"does not reproduce the ONNX model that OMLT has read.*drops the biases of convolutions"
    with pytest.raises(ImportMismatchError, match=words):
        AT_HAND[given](path, model)


def test_without_biases_nothing_is_lost(tmp_path):
    model = convolution_file(tmp_path / "net.onnx", biases=False)
    formulation = DCEmbedFormulation(load_remembered(model))
    assert formulation.compared_with == "OMLT's evaluation of the definition and the ONNX model"


def test_without_the_file_it_is_told_what_was_compared(tmp_path):
    model = convolution_file(tmp_path / "net.onnx", biases=True)
    with pytest.warns(
        UserWarning, match=r"was compared with OMLT's evaluation of the definition alone\. OMLT's convolutions have no biases"
    ):
        formulation = DCEmbedFormulation(load_onnx_neural_network(model))
    assert formulation.compared_with == "OMLT's evaluation of the definition"


def dense_file(path):
    rng = np.random.default_rng(5)
    constants = {"w": rng.normal(size=(2, 6)), "b": rng.normal(size=6), "v": rng.normal(size=(6, 1)), "c": rng.normal(size=1)}
    nodes = [
        ("MatMul", ["x", "w"], "a", {}),
        ("Add", ["a", "b"], "p", {}),
        ("Relu", ["p"], "r", {}),
        ("MatMul", ["r", "v"], "d", {}),
        ("Add", ["d", "c"], "y", {}),
    ]
    return onnx_file(path, nodes, (2,), {name: value.astype(np.float32) for name, value in constants.items()})


def test_a_reader_that_drops_biases_of_dense_layers_is_found_too(tmp_path):
    definition = load_remembered(dense_file(tmp_path / "net.onnx"))
    assert "ONNX" in DCEmbedFormulation(definition).compared_with
    dense = next(layer for layer in definition.layers if isinstance(layer, DenseLayer))
    dense._DenseLayer__biases = np.zeros(6)
    with pytest.raises(ImportMismatchError, match="OMLT's reader has left something out"):
        DCEmbedFormulation(definition)
    with pytest.raises(InputError, match="onnx is for a NetworkDefinition"):
        DCEmbedFormulation(NeuralMIQP.network, onnx=tmp_path / "net.onnx")


def test_a_script_for_omlt(tmp_path):
    """As in OMLT's notebooks: a file with bounds beside it, a block, links, an objective; checked with onnxruntime."""
    onnxruntime = pytest.importorskip("onnxruntime")
    from omlt.io import write_onnx_model_with_bounds

    path = tmp_path / "net.onnx"
    write_onnx_model_with_bounds(str(path), dense_file(path), input_bounds=[(-2, 2), (-1, 3)])
    network_definition = load_remembered_with_bounds(str(path))

    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(2))
    model.y = pyo.Var()
    model.nn = omlt.OmltBlock()
    model.nn.build_formulation(DCEmbedFormulation(network_definition))

    @model.Constraint(range(2))
    def connect_inputs(mdl, i):
        return mdl.x[i] == mdl.nn.inputs[i]

    @model.Constraint()
    def connect_outputs(mdl):
        return mdl.y == mdl.nn.outputs[0]

    model.obj = pyo.Objective(expr=model.y)
    with pytest.raises(InputError, match=r"SolverFactory\(\"dcembed\"\) alone can read"):
        pyo.SolverFactory("appsi_highs").solve(model)
    results = pyo.SolverFactory("dcembed").solve(model, tee=False)
    pyo.assert_optimal_termination(results)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (predicted,) = session.run(None, {"x": np.array([[pyo.value(model.x[i]) for i in range(2)]], dtype=np.float32)})
    assert predicted[0, 0] == pytest.approx(pyo.value(model.y), abs=1e-4)
