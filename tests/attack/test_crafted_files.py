"""Files made to do harm: each is refused in one line with exit code 2, and costs next to nothing."""

from __future__ import annotations

import gzip
import io
import itertools
import json
import zipfile
from itertools import pairwise

import numpy as np
import pytest

from dcembed.cli import main

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from tests.attack.mutants import MOST_BYTES, peak_memory  # noqa: E402

node = helper.make_node


def model(nodes, weights=(), shape=("n", 2), functions=()):
    value = helper.make_tensor_value_info
    arrays = [numpy_helper.from_array(np.asarray(array), name) for name, array in dict(weights).items()]
    inputs, outputs = [value("x", TensorProto.DOUBLE, list(shape))], [value("y", TensorProto.DOUBLE, None)]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    bodies = [helper.make_function("own", name, ["p"], ["q"], body, opsets) for name, body in dict(functions).items()]
    graph = helper.make_graph(list(nodes), "net", inputs, outputs, arrays)
    return helper.make_model(graph, opset_imports=opsets, functions=bodies, ir_version=9).SerializeToString()


def call(name, source, target):
    return node(name, [source], [target], domain="own")


def laughs(depth):
    """Each function calls the one before ten times."""
    functions = {"F0": [node("Relu", ["p"], ["q"])]}
    for level in range(1, depth + 1):
        names = ["p", *(f"t{number}" for number in range(9)), "q"]
        functions[f"F{level}"] = [call(f"F{level - 1}", one, other) for one, other in pairwise(names)]
    return model([call(f"F{depth}", "x", "y")], functions=functions)


def doubled(times):
    names = ["x", *(f"c{number}" for number in range(times - 1)), "y"]
    return model(node("Concat", [one, one], [other], axis=1) for one, other in pairwise(names))


def fibonacci(times):
    names = ["x", "c", *(f"f{number}" for number in range(times)), "y"]
    later = (node("Concat", [names[i - 1], names[i - 2]], [names[i]], axis=1) for i in range(2, len(names)))
    return model([node("Concat", ["x", "x"], ["c"], axis=1), *later])


def constant(kind, inputs, weights):
    return model([node(kind, inputs, ["c"]), node("Add", ["x", "c"], ["y"])], weights)


def loop(body, carried="x"):
    """As often as a 64-bit number says."""
    value = helper.make_tensor_value_info
    inputs = [value("turn", TensorProto.INT64, []), value("go", TensorProto.BOOL, []), value("h", TensorProto.DOUBLE, None)]
    inner = helper.make_graph(body, "body", inputs, [value("on", TensorProto.BOOL, None), value("r", TensorProto.DOUBLE, None)])
    nodes = [node("Loop", ["n", "", carried], ["z"], body=inner), node("Add", ["x", "z"], ["y"])]
    return model(nodes, {"n": np.array(2**62), "w": np.ones((1, 2))})


COLUMN, ROW, LARGE = np.ones((20_000, 1)), np.ones((1, 20_000)), np.array([100_000, 100_000])

ONNX = {
    "calls itself": (model([call("F", "x", "y")], functions={"F": [call("F", "p", "q")]}), "calls itself"),
    "calls back": (model([call("F", "x", "y")], functions={"F": [call("G", "p", "q")], "G": [call("F", "p", "q")]}), "calls itself"),
    "billion laughs": (laughs(11), "write out to more than 10^9 nodes"),
    "doubling": (doubled(30), "A concatenation of 2 values would take"),
    "fibonacci": (fibonacci(60), "A concatenation of 2 values would take"),
    "constant of shape": (constant("ConstantOfShape", ["s"], {"s": LARGE}), "10,000,000,000 numbers"),
    "expand": (constant("Expand", ["w", "s"], {"w": [[1.0]], "s": LARGE}), "10,000,000,000 numbers"),
    "tile": (constant("Tile", ["w", "s"], {"w": [[1.0]], "s": LARGE}), "10,000,000,000 numbers"),
    "range": (constant("Range", ["a", "b", "s"], {"a": 0.0, "b": 1e12, "s": 1.0}), "1,000,000,000,000 numbers"),
    "outer product": (constant("MatMul", ["u", "v"], {"u": COLUMN, "v": ROW}), "400,000,000 numbers"),
    "outer sum": (constant("Add", ["u", "v"], {"u": COLUMN, "v": ROW}), "400,000,000 numbers"),
    "outer layers": (
        model([node("MatMul", ["x", "u"], ["c"]), node("MatMul", ["c", "v"], ["y"])], {"u": COLUMN, "v": ROW}, ("n", 20_000)),
        "400,020,000 numbers",
    ),
    "resize": (constant("Resize", ["w", "", "s"], {"w": [[1.0]], "s": [1e5, 1e5]}), "10,000,000,000 numbers"),
    "pad": (constant("Pad", ["w", "s"], {"w": [[1.0]], "s": np.array([0, 0, 0, 10**10])}), "10,000,000,001 numbers"),
    "one hot": (
        constant("OneHot", ["w", "d", "v"], {"w": np.array([[1]]), "d": np.array(10**10), "v": [0.0, 1.0]}),
        "10,000,000,000 numbers",
    ),
    "endless loop": (loop([node("Relu", ["h"], ["r"]), node("Identity", ["go"], ["on"])]), "runs more than 500 times"),
    "doubling loop": (loop([node("Concat", ["h", "h"], ["r"], axis=1), node("Identity", ["go"], ["on"])]), "A concatenation of 2 values"),
    "doubling constants": (
        loop([node("Concat", ["h", "h"], ["r"], axis=1), node("Identity", ["go"], ["on"])], carried="w"),
        "A constant made by Concat would take",
    ),
    "convolution": (
        model([node("Conv", ["x", "k"], ["y"])], {"k": np.ones((64, 1, 3, 3))}, (1, 1, 900, 900)),
        "A convolution with a kernel of shape (64, 1, 3, 3) would take",
    ),
    "wide windows": (model([node("AveragePool", ["x"], ["y"], kernel_shape=[10**9], pads=[10**9, 10**9])], shape=(1, 1, 4)), "numbers"),
    "wide largest": (model([node("MaxPool", ["x"], ["y"], kernel_shape=[10**9], pads=[10**9, 10**9])], shape=(1, 1, 4)), "numbers"),
    "wide padding": (model([node("Pad", ["x", "p"], ["y"])], {"p": np.array([0, 0, 0, 10**12])}), "A padded value would take"),
    "wide steps": (
        model([node("ConvTranspose", ["x", "k"], ["y"], strides=[10**12])], {"k": np.ones((1, 1, 2))}, (1, 1, 4)),
        "A transposed convolution would take",
    ),
    "wide sizes": (model([node("Resize", ["x", "", "", "s"], ["y"])], {"s": np.array([1, 10**12])}, (1, 2)), "would take"),
    "wide repetition": (model([node("Tile", ["x", "r"], ["y"])], {"r": np.array([1, 10**12])}), "A repeated value would take"),
    "wide shape": (model([node("Expand", ["x", "r"], ["y"])], {"r": np.array([10**6, 10**6, 1, 2])}), "would take"),
    "wide sums": (
        model(
            [node("Reshape", ["x", "a"], ["p"]), node("Reshape", ["x", "b"], ["q"]), node("Add", ["p", "q"], ["y"])],
            {"a": np.array([-1, 1]), "b": np.array([1, -1])},
            (1, 90_000),
        ),
        "8,100,000,000 numbers",
    ),
    "long sums": (model([node("CumSum", ["x", "a"], ["y"])], {"a": np.array(1)}, (1, 90_000)), "Sums along an axis would take"),
    "claimed input": (model([node("Relu", ["x"], ["y"])], shape=("n", 2**40)), "1,099,511,627,776 numbers"),
    "name": (model([node("MatMul", ["x", "WWW"], ["y"])], {"WWW": np.ones((2, 1))}).replace(b"WWW", b"\xff\xc3\x28"), "cannot be read"),
    "operation": (model([node("Identity", ["x"], ["y"])]).replace(b"Identity", b"Ident\xffty"), "cannot be read"),
}


def npz(arrays):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            content = io.BytesIO()
            if not isinstance(array, bytes):
                np.save(content, array)
            archive.writestr(f"{name}.npy", array if isinstance(array, bytes) else content.getvalue())
    return stream.getvalue()


def claim(shape, kind="<f8", content=b""):
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + content


def saved(indices=(0, 1), indptr=(0, 1, 2), width=30_000, **others):
    arrays = {
        "dcembed_format": 1,
        "num_inputs": width,
        "num_stages": 0,
        "check_points": np.zeros((1, width)),
        "check_values": np.zeros((1, 2)),
    }
    block = {"data": np.ones(len(indices)), "indices": np.array(indices), "indptr": np.array(indptr), "shape": np.array([2, width])}
    layer = {"layer1.bias": np.zeros(2), **{f"layer1.source0.{part}": array for part, array in block.items()}}
    return npz({name: np.asarray(array) for name, array in {**arrays, **layer, **others}.items()})


NPZ = {
    "index too large": (saved(indices=(10**9, 1)), "indices must be < 30000"),
    "index negative": (saved(indices=(-5, 1)), "indices must be >= 0"),
    "rows out of order": (saved(indptr=(0, 10**9, 2)), "is damaged"),
    "rows beyond the end": (saved(indptr=(0, 1, 10**9)), "is damaged"),
    "stages claimed": (saved(num_stages=10**15), "is damaged"),
    "stages negative": (saved(num_stages=-3), "is damaged"),
    "numbers as text": (saved(num_stages="two"), "is damaged"),
    "size claimed": (npz({"W1": claim((10**6, 10**6))}), "which is 8000000000000 bytes, but 0 are there"),
    "size of nothing": (npz({"W1": claim((0, 10**12))}), "a matrix of numbers (outputs, inputs) is accepted"),
    "pickle": (npz({"W1": claim((1, 1), "|O", b"\x80\x04N.")}), "is not a readable .npz file"),
    "spaces": (npz({"W1": np.ones((2, 2)), "W2": np.ones((1, 2)), "activations": np.array("a" + " " * 5000 + "!")}), "is not the name"),
    "bomb": (npz({"W1": claim((10**8,), "|u1", bytes(10**8))}), "which no trained weights do"),
    "zlib": (npz({"W1": np.ones((9, 9))})[:60] + b"\xff" * 20 + npz({"W1": np.ones((9, 9))})[80:], "is not a readable .npz file"),
}


def safetensors(arrays, **metadata):
    head, data = {"__metadata__": metadata} if metadata else {}, b""
    for name, array in arrays.items():
        head[name] = {"dtype": "F64", "shape": array.shape, "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(head).encode()
    return len(text).to_bytes(8, "little") + text + data


LETTERS = "abcdefghijklmn"
MANY = ["".join(letters) for letters in itertools.islice(itertools.product("abcdefghij", repeat=3), 400)]
SPACES = "a" + " " * 5000 + "!"
SAFETENSORS = {
    "one does not fit": (
        safetensors({**{f"{letter}.weight": np.ones((3, 3)) for letter in LETTERS}, "z.weight": np.ones((5, 7))}),
        "too many ways to try all of them",
    ),
    "long number": (safetensors({"l²" + "1" * 5000 + ".weight": np.ones((2, 2)), "m.weight": np.ones((2, 2))}), "in more than one order"),
    "many names": (safetensors({f"{name}.weight": np.ones((1, 1)) for name in MANY}), "too many ways to try all of them"),
    "spaces": (
        safetensors({"0.weight": np.ones((2, 2)), "1.weight": np.ones((1, 2))}, activation=SPACES),
        "is not the name of an activation",
    ),
    "size of nothing": (safetensors({"a.weight": np.ones((0, 10**12))}), "not empty"),
}

ONNX_GZIP = {
    "cut": (gzip.compress(model([node("Relu", ["x"], ["y"])]))[:-12], "cannot be unpacked"),
    "bomb": (gzip.compress(bytes(10**8)), "unpack to more than 50000000, which no trained weights do"),
    "no model": (gzip.compress(b"\x08\x09"), "holds no graph"),
}

LP = b"Minimize\n obj: x\nSubject To\n c: x + y >= 1\nEnd\n"
GZIP = {
    "cut": (gzip.compress(LP * 500)[:100], "cannot be read: Compressed file ended"),
    "zlib": (gzip.compress(LP * 500)[:30] + b"\xff" * 9 + gzip.compress(LP * 500)[39:], "cannot be read: "),
    "bomb": (gzip.compress(LP + b" " * 10**8), "unpack to more than 50000000, which no model does"),
}

FILES = [
    (f"a{suffix}", *case)
    for suffix, cases in ((".onnx", ONNX), (".onnx.gz", ONNX_GZIP), (".npz", NPZ), (".safetensors", SAFETENSORS), (".lp.gz", GZIP))
    for case in cases.values()
]
NAMES = [
    f"{suffix}-{name}"
    for suffix, cases in (("onnx", ONNX), ("onnx.gz", ONNX_GZIP), ("npz", NPZ), ("safetensors", SAFETENSORS), ("gz", GZIP))
    for name in cases
]


@pytest.mark.parametrize(("name", "content", "message"), FILES, ids=NAMES)
def test_a_crafted_file_costs_nothing(tmp_path, monkeypatch, capfd, name, content, message):
    monkeypatch.chdir(tmp_path)
    if name.endswith("safetensors"):
        pytest.importorskip("safetensors")
    (tmp_path / name).write_bytes(content)
    before = peak_memory(reset=True)
    host = ["solve", name, "--network", "none.npz", "--inputs", "x", "--outputs", "y"]
    assert main(host if name.endswith(".lp.gz") else ["info", name]) == 2
    assert peak_memory() - before < MOST_BYTES
    said = capfd.readouterr().err
    assert message in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("pattern", ["a*" * 30 + "b", "*a" * 30 + "?b", "q" * 100_000])
def test_patterns_take_no_time(tmp_path, monkeypatch, capfd, pattern):
    monkeypatch.chdir(tmp_path)
    names = " + ".join(f"{'a' * 60}{number}" for number in range(50))
    (tmp_path / "a.lp").write_text(f"Minimize\n obj: y\nSubject To\n c: {names} >= 1\nEnd\n")
    np.savez(tmp_path / "net.npz", W1=np.ones((1, 1)))
    assert main(["solve", "a.lp", "--network", "net.npz", "--inputs", pattern, "--outputs", "y"]) == 2
    assert capfd.readouterr().err.count("\n") == 1
