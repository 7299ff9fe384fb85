"""Valid files of every kind that is read, small, to be broken."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from tests.frontends.hosts import milp_lp, miqp_mps, qp_lp
from tests.frontends.problems import ConvexQP

import dcembed

HOST = "good.lp"
NETWORK = "good.npz"
SOLVE = ("--network", NETWORK, "--inputs", "x*", "--outputs", "y*", "--time-limit", "0", "--quiet")


@dataclass(frozen=True)
class Specimen:
    """A file and the command that reads it; `{}` stands for its path."""

    name: str
    content: bytes
    command: tuple[str, ...]


def make_specimens() -> list[Specimen]:
    info, host = ("info", "{}"), ("solve", "{}", *SOLVE)
    brackets = qp_lp().replace("x0", "x[0,1]").replace("x1", "x[-1,1]")
    written = "\\ LP format - for model browsing. Use MPS format to capture full model detail.\n" + brackets
    arrays = {"W1": np.ones((3, 2)), "b1": np.zeros(3), "W2": np.ones((1, 3)), "mean": np.zeros(2), "std": np.ones(2)}
    arrays["activations"] = np.array(["tanh"])
    solution = {"columns": {f"x{number}": 0.5 for number in range(4)}}
    entries = {"embedding": [{"network": NETWORK, "inputs": [["x0", "x1"], ["x2", 0.5]], "outputs": [["y0"], ["y1"]]}]}
    toml = f'[[embedding]]\nnetwork = "{NETWORK}"\ninputs = ["x*"]\noutputs = ["y*"]\ninput_shape = 2\n'
    return [
        Specimen("saved.npz", _saved(), info),
        Specimen("layers.npz", _npz(arrays), info),
        Specimen("net.safetensors", _safetensors(), info),
        Specimen("net.nnet", _nnet(), info),
        Specimen("net.onnx", _onnx(functions=False), info),
        Specimen("functions.onnx", _onnx(functions=True), info),
        Specimen("program.pt2", _pt2(), info),
        Specimen("script.pt", _torchscript(), info),
        Specimen("image.onnx", _onnx_image(), info),
        Specimen("table.onnx", _onnx_table(), info),
        Specimen("net.onnx.gz", gzip.compress(_onnx(functions=False), mtime=0), info),
        Specimen("qp.lp", qp_lp().encode(), host),
        Specimen("milp.lp", milp_lp().encode(), host),
        Specimen("brackets.lp", brackets.encode(), host),
        Specimen("written.lp", written.encode("latin-1"), host),
        Specimen("miqp.mps", miqp_mps().encode(), host),
        Specimen("qp.lp.gz", gzip.compress(qp_lp().encode(), mtime=0), host),
        Specimen("miqp.mps.gz", gzip.compress(miqp_mps().encode(), mtime=0), host),
        Specimen("start.json", json.dumps(solution).encode(), ("solve", HOST, *SOLVE, "--start", "{}")),
        Specimen("start.sol", b"# a\nx0 0.5\nx1 0.25\ny0 1e-3\n", ("solve", HOST, *SOLVE, "--start", "{}")),
        Specimen("result.npz", _result(), ("solve", "--resume", "{}", "--time-limit", "0", "--quiet")),
        Specimen("entries.json", json.dumps(entries).encode(), ("solve", HOST, "--embeddings", "{}", *SOLVE[-3:])),
        Specimen("entries.toml", toml.encode(), ("solve", HOST, "--embeddings", "{}", *SOLVE[-3:])),
    ]


def _npz(arrays: dict[str, np.ndarray]) -> bytes:
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


def _saved() -> bytes:
    """With sparse blocks: a skip connection and an output of many zeros."""
    import tempfile
    from pathlib import Path

    builder = dcembed.NetworkBuilder((12,))
    hidden = builder.relu(builder.linear(builder.input, np.eye(12)[::-1], np.ones(12)))
    network = builder.finish(builder.add(builder.input, hidden))
    with tempfile.TemporaryDirectory() as folder:
        dcembed.save_network(network, f"{folder}/a.npz")
        return (Path(folder) / "a.npz").read_bytes()


def _result() -> bytes:
    """A result of a host with all kinds of constraints."""
    import tempfile
    from pathlib import Path

    unit = np.eye(5)
    program = dcembed.Program(
        cost=[1.0, -1.0, 0.5, 0.0, 1.0],
        quadratic=np.diag([1.0, 2.0, 0.0, 0.0, 0.0]),
        concave=np.diag([0.5, 0.0, 0.0, 0.0, 0.0]),
        rows=[[1.0, 1.0, 0.0, 0.0, 0.5], [0.0, 1.0, 1.0, 0.0, 0.0]],
        row_ub=[2.0, 1.5],
        lb=[-1, -1, 0, -1, -9],
        ub=[1, 1, 1, 1, 9],
        integer=[2],
        indicators=[dcembed.Indicator(2, 1, unit[0], ub=0.5, name="on")],
        quadratic_constraints=[dcembed.QuadraticConstraint(np.diag([1.0, 1.0, 0, 0, 0]), unit[1], 4.0)],
        cones=[dcembed.ConeConstraint(unit[:2], [9.0, 0.0], names=["cone"])],
        column_names=["x0", "x1", "z", "t", "y"],
    )
    embeddings = [
        dcembed.Embedding(dcembed.build_mlp([np.ones((3, 2)), np.ones((1, 3))], [None, None], "tanh"), [0, 1], [4]),
        dcembed.Embedding(
            dcembed.build_mlp([np.ones((2, 1)), np.ones((1, 2))], [None, None]), dcembed.AffineInputs(unit[[0]], [[0.5]]), [3]
        ),
    ]
    result = dcembed.solve(program, embeddings, options={"verbose": False, "max_starts": 1, "max_iterations": 3})
    # Nothing of the time of day is in the file: the same seeds make the same mutants.
    plain = replace(result, seconds=1.0, bound=-1e3, bounds=[(1.0, -1e3)], history=[replace(r, seconds=0.5) for r in result.history])
    with tempfile.TemporaryDirectory() as folder:
        replace(plain, incumbents=[(0.5, objective) for _, objective in result.incumbents]).save(f"{folder}/a.npz")
        return (Path(folder) / "a.npz").read_bytes()


def _safetensors() -> bytes:
    """Written by hand: the length of the head, the head, the numbers."""
    arrays = {"first.weight": np.ones((3, 2)), "first.bias": np.zeros(3), "last.weight": np.ones((1, 3))}
    head, data = {"__metadata__": {"activation": "tanh"}}, b""
    for name, array in arrays.items():
        head[name] = {"dtype": "F64", "shape": array.shape, "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(head).encode()
    return len(text).to_bytes(8, "little") + text + data


def _nnet() -> bytes:
    numbers = ["2,2,1,3,", "2,3,1,", "0,", "-1,-1,", "1,1,", "0.5,0.5,2.0,", "2.0,4.0,10.0,"]
    return "\n".join(
        ["// A comment", *numbers, "1.0,-0.5,", "2.0,1.5,", "0.25,3e-1,", *["0.5,"] * 3, "1.0,-1.0,2.0,", "0.125,", ""]
    ).encode()


def _onnx(functions: bool) -> bytes:
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(0)
    kind = ("Layer", "own") if functions else ("Relu", "")
    nodes = [
        helper.make_node("Constant", [], ["s"], value=numpy_helper.from_array(np.array([1, -1]), "s")),
        helper.make_node("MatMul", ["x", "w1"], ["a"], name="first"),
        helper.make_node(kind[0], ["a"], ["b"], name="bend", domain=kind[1]),
        helper.make_node("Concat", ["b", "a"], ["c"], axis=1),
        helper.make_node("Reshape", ["c", "s"], ["d"]),
        helper.make_node("Gemm", ["d", "w2", "v2"], ["y"], name="second", alpha=0.5),
    ]
    shapes = {"w1": (2, 5), "w2": (10, 1), "v2": (1,)}
    weights = [numpy_helper.from_array(rng.normal(size=shape).astype(np.float32), name) for name, shape in shapes.items()]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "net", [value("x", TensorProto.FLOAT, ["n", 2])], [value("y", TensorProto.FLOAT, ["n", 1])], weights)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    body = [helper.make_node("Relu", ["p"], ["q"])]
    own = [helper.make_function("own", "Layer", ["p"], ["q"], body, opsets[:1])] if functions else []
    return helper.make_model(graph, opset_imports=opsets, functions=own, ir_version=9).SerializeToString()


def _pt2() -> bytes:
    import torch

    stream = io.BytesIO()
    torch.export.save(torch.export.export(_module(), (torch.zeros(2, 2),), dynamic_shapes=({0: torch.export.Dim.AUTO},)), stream)

    def without_places(name: str, content: bytes) -> bytes:
        """Where the code of the model was, and what it was, is different everywhere."""
        if not name.endswith("models/model.json"):
            return content
        data = json.loads(content)
        for node in data["graph_module"]["graph"]["nodes"]:
            node["metadata"] = {}
        return json.dumps(data).encode()

    return _pack(
        {name: without_places(name, content) for name, content in _unpack(stream.getvalue()).items() if "sample_inputs" not in name}
    )


def _torchscript() -> bytes:
    import torch

    stream = io.BytesIO()
    torch.jit.save(torch.jit.script(_module()), stream)
    return _pack({name: content for name, content in _unpack(stream.getvalue()).items() if not name.endswith(".debug_pkl")})


def _module() -> Any:
    import torch

    module = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
    for parameter in module.parameters():
        torch.nn.init.constant_(parameter, 0.5)
    return module


def _unpack(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _pack(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            # By its name alone an entry would have the time of day in it.
            archive.writestr(zipfile.ZipInfo(name), content)
    return stream.getvalue()


def _onnx_image() -> bytes:
    """Convolution, pooling, normalization, padding, resizing and softmax of a small image, as of opset 13."""
    from onnx import TensorProto, helper, numpy_helper

    node = helper.make_node
    nodes = [
        node("Pad", ["x", "p"], ["a"]),
        node("Conv", ["a", "k", "s"], ["b"], strides=[2, 1], dilations=[1, 1]),
        node("BatchNormalization", ["b", "s", "s", "s", "v"], ["c"], epsilon=0.1),
        node("Elu", ["c"], ["d"], alpha=0.5),
        node("MaxPool", ["d"], ["e"], kernel_shape=[2, 2], pads=[0, 1, 0, 0]),
        node("Resize", ["e", "", "f"], ["g"], mode="linear"),
        node("AveragePool", ["g"], ["h"], kernel_shape=[2, 2], strides=[2, 2]),
        node("ReduceMean", ["h"], ["i"], axes=[2, 3], keepdims=0),
        node("Split", ["i"], ["j", "l"], axis=1),
        node("Concat", ["l", "j"], ["m"], axis=1),
        node("Softmax", ["m"], ["y"], axis=1),
    ]
    rng = np.random.default_rng(0)
    weights = {
        "p": np.array([0, 0, 1, 1, 0, 0, 1, 0]),
        "k": rng.normal(size=(2, 1, 3, 2)).astype(np.float32),
        "s": np.ones(2, dtype=np.float32),
        "v": np.ones(2, dtype=np.float32),
        "f": np.array([1.0, 1.0, 2.0, 2.0], dtype=np.float32),
    }
    tensors = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "net", [value("x", TensorProto.FLOAT, ["n", 1, 5, 4])], [value("y", TensorProto.FLOAT, None)], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8).SerializeToString()


def _onnx_table() -> bytes:
    """Named columns, a scaler, a loop and a branch by constants, a classifier and its labels."""
    from onnx import TensorProto, helper, numpy_helper

    node, value = helper.make_node, helper.make_tensor_value_info
    turns = [value("t", TensorProto.INT64, []), value("g", TensorProto.BOOL, []), value("h", TensorProto.FLOAT, None)]
    body = helper.make_graph(
        [node("Relu", ["h"], ["r"]), node("Identity", ["g"], ["o"])],
        "b",
        turns,
        [value("o", TensorProto.BOOL, []), value("r", TensorProto.FLOAT, None)],
    )
    then = helper.make_graph([node("Neg", ["d"], ["u"])], "u", [], [value("u", TensorProto.FLOAT, None)])
    other = helper.make_graph([node("Tanh", ["d"], ["w"])], "w", [], [value("w", TensorProto.FLOAT, None)])
    nodes = [
        node("Concat", ["age", "size"], ["a"], axis=1),
        node("Scaler", ["a"], ["c"], domain="ai.onnx.ml", offset=[1.0, 2.0], scale=[0.5, 0.25]),
        node("Loop", ["n", "", "c"], ["d"], body=body),
        node("If", ["k"], ["e"], then_branch=then, else_branch=other),
        node(
            "LinearClassifier",
            ["e"],
            ["l", "p"],
            domain="ai.onnx.ml",
            coefficients=[1.0, -1.0],
            intercepts=[0.5],
            classlabels_ints=[0, 1],
            post_transform="LOGISTIC",
        ),
        node("ZipMap", ["p"], ["y"], domain="ai.onnx.ml", classlabels_int64s=[0, 1]),
    ]
    tensors = [numpy_helper.from_array(np.array(2), "n"), numpy_helper.from_array(np.array(False), "k")]
    inputs = [value(name, TensorProto.FLOAT, ["n", 1]) for name in ("age", "size")]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    graph = helper.make_graph(nodes, "net", inputs, [value("y", TensorProto.FLOAT, None)], tensors)
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


def good_files() -> dict[str, bytes]:
    """What the commands of the specimens need besides the broken file."""
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        dcembed.save_network(ConvexQP.network, f"{folder}/a.npz")
        network = (Path(folder) / "a.npz").read_bytes()
    return {HOST: qp_lp().encode(), NETWORK: network}
