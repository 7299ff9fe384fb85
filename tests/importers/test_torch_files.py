"""Files of torch: .pt2 and TorchScript, older ones, broken ones, and those that would run code."""

from __future__ import annotations

import io
import json
import os
import pickle
import subprocess
import zipfile

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.export import Dim  # noqa: E402

from dcembed.errors import DcembedError, InputError, NetworkError, UnsupportedLayerError  # noqa: E402
from dcembed.importers import load_network  # noqa: E402
from dcembed.importers.torch_.files import archive as torch_archive  # noqa: E402
from dcembed.importers.torch_.script import code as torchscript  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


def make_model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


def export(model=None, count=2):
    return torch.export.export(model or make_model(), (torch.zeros(count, 3),), dynamic_shapes=({0: Dim.AUTO},))


def assert_same(network, model=None):
    points = np.random.default_rng(0).normal(size=(5, 3))
    with torch.no_grad():
        expected = (model or make_model()).double()(torch.tensor(points)).numpy()
    np.testing.assert_allclose(network(points), expected, atol=1e-9)


@pytest.fixture
def saved(tmp_path):
    """The members of a good file."""
    torch.export.save(export(), tmp_path / "good.pt2")
    with zipfile.ZipFile(tmp_path / "good.pt2") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture
def write(tmp_path):
    def write(members, name="changed.pt2", **options):
        path = tmp_path / name
        with zipfile.ZipFile(path, "w", **options) as archive:
            for member, content in members.items():
                archive.writestr(member, content)
        return path

    return write


class Payload:
    """Makes a folder when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def torch_save(value):
    stream = io.BytesIO()
    torch.save(value, stream)
    return stream.getvalue()


def change(members, ending, edit):
    """The members with one of them changed: JSON by an edit in place, or replaced."""
    (name,) = [name for name in members if name.endswith(ending)]
    if callable(edit):
        data = json.loads(members[name])
        edit(data)
        edit = json.dumps(data).encode()
    return {**members, name: edit}


def first_weight(data):
    return next(iter(data["config"].values()))


def nodes(data):
    return data["graph_module"]["graph"]["nodes"]


# Good files.


def test_good_file(saved, write):
    assert_same(load_network(write(saved)))
    assert_same(load_network(str(write(saved, "UPPER.PT2"))))


def test_torch_itself_reads_the_same(tmp_path):
    """What torch.export.load makes of a file, where that is safe."""
    torch.export.save(export(), tmp_path / "program.pt2")
    assert_same(load_network(tmp_path / "program.pt2"), torch.export.load(tmp_path / "program.pt2").module())


def test_older_formats(saved, write):
    """Of torch before 2.8, which saved states as pickles of tensors."""
    from torch._export.serde.serialize import serialize

    parts = serialize(export())
    older = {
        "serialized_exported_program.json": parts.exported_program,
        "serialized_state_dict.pt": parts.state_dict,
        "serialized_constants.pt": parts.constants,
        "serialized_example_inputs.pt": b"never looked at",
        "version": b"8.0",
    }
    assert_same(load_network(write(older)))
    between = {name: content for name, content in saved.items() if "/data/weights/" not in name and "/data/constants/" not in name}
    folder = next(iter(saved)).partition("/")[0]
    between |= {f"{folder}/data/weights/model.pt": parts.state_dict, f"{folder}/data/constants/model.pt": parts.constants}
    assert_same(load_network(write(between)))


def test_views_of_one_storage(tmp_path):
    """Weights that are transposed, tied, or pieces of a larger tensor."""

    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            both = torch.randn(6, 3)
            self.first, self.second = nn.Parameter(both[:4]), nn.Parameter(both[4:])
            self.register_buffer("turned", torch.randn(4, 2).T)

        def forward(self, x):
            return torch.relu(x @ self.first.T) @ self.turned.T + x @ self.second.T

    torch.export.save(export(Tied()), tmp_path / "tied.pt2")
    assert_same(load_network(tmp_path / "tied.pt2"), Tied())


def test_package_is_needed(tmp_path, monkeypatch):
    """What a .pt file is, is found out without torch."""
    (tmp_path / "model.pt").write_bytes(b"")
    code = "import sys; sys.modules['torch'] = None\nimport dcembed\ntry: dcembed.load_network('model.pt')\nexcept dcembed.DcembedError as e: print(e)"
    said = subprocess.run([os.sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "a pickle runs code when it is opened" in said


# Files that would run code.


def test_example_inputs_are_never_opened(saved, write, tmp_path):
    path = write(change(saved, "sample_inputs/model.pt", torch_save(Payload(tmp_path / "made"))))
    assert_same(load_network(path))
    assert not (tmp_path / "made").exists()
    with pytest.raises(Exception, match=""):
        torch.export.load(path)
    assert (tmp_path / "made").exists(), "the payload works, if somebody opens it"


@pytest.mark.parametrize("folder", ["weights", "constants"])
def test_pickled_weights(saved, write, tmp_path, folder):
    members = dict(saved)
    prefix = f"{next(iter(saved)).partition('/')[0]}/data/{folder}/"
    members[f"{prefix}tensor_9"] = torch_save(Payload(tmp_path / "made"))
    entry = {"path_name": "tensor_9", "is_param": False, "use_pickle": True, "tensor_meta": None}
    path = write(change(members, f"model_{folder}_config.json", lambda data: data["config"].update({"x": entry})))
    with pytest.raises(InputError, match=r"its pickle asks for \w+\.mkdir, and a pickle runs what it asks for.*save_network.*ONNX"):
        load_network(path)
    assert not (tmp_path / "made").exists()


def test_older_pickles(write, tmp_path):
    from torch._export.serde.serialize import serialize

    parts = serialize(export())
    for name in ("serialized_state_dict.pt", "serialized_constants.pt"):
        members = {
            "serialized_exported_program.json": parts.exported_program,
            "serialized_state_dict.pt": parts.state_dict,
            "serialized_constants.pt": parts.constants,
        }
        with pytest.raises(InputError, match=r"asks for \w+\.mkdir"):
            load_network(write({**members, name: torch_save({"a": Payload(tmp_path / "made")})}))
    assert not (tmp_path / "made").exists()


def test_pickles_of_tensors_are_read(saved, write):
    """Tensors that torch has pickled, as it does with those of classes of their own."""
    weight = make_model()[0].weight.detach()
    members = {**saved, f"{next(iter(saved)).partition('/')[0]}/data/weights/tensor_9": torch_save(weight)}

    def edit(data):
        first_weight(data).update(path_name="tensor_9", use_pickle=True)

    assert_same(load_network(write(change(members, "model_weights_config.json", edit))))


@pytest.mark.parametrize(
    "target", ["torch.ops.aten.from_file.default", "torch.ops.aten.save.default", "os.mkdir", "torch.ops.my.own.default"]
)
def test_operators_that_do_something_else(saved, write, tmp_path, target):
    def edit(data):
        argument = {"name": "filename", "arg": {"as_string": str(tmp_path / "made")}, "kind": 1}
        shared = {"name": "shared", "arg": {"as_bool": True}, "kind": 1}
        size = {"name": "size", "arg": {"as_int": 10}, "kind": 1}
        nodes(data)[1].update(target=target, inputs=[argument, shared, size])

    with pytest.raises(UnsupportedLayerError, match=target.removeprefix("torch.ops.")):
        load_network(write(change(saved, "models/model.json", edit)))
    assert not (tmp_path / "made").exists()


def test_names_are_no_code(saved, write, tmp_path):
    """Names, sizes and comments in which there is code are nothing but text."""
    code = f"__import__('os').mkdir({str(tmp_path / 'made')!r})"

    def edit(data):
        text = (
            json.dumps(data["graph_module"]["graph"]).replace('"linear"', json.dumps(code)).replace('"tanh"', json.dumps(f"tanh\n{code}"))
        )
        data["graph_module"]["graph"] = json.loads(text)
        for meta in data["graph_module"]["graph"]["tensor_values"].values():
            for axis in meta["sizes"]:
                if "as_expr" in axis:
                    axis["as_expr"]["expr_str"] = code
        data["guards_code"] = [code]

    assert_same(load_network(write(change(saved, "models/model.json", edit))))
    assert not (tmp_path / "made").exists()


# Broken files.


def truncate(members, write):
    path = write(members)
    path.write_bytes(path.read_bytes()[:-200])
    return path


BROKEN = {
    "no archive": lambda members, write: _bytes(write, b"something else"),
    "empty": lambda members, write: _bytes(write, b""),
    "cut off": truncate,
    "nothing in it": lambda members, write: write({"a/b": b""}),
    "no graph": lambda members, write: write({name: content for name, content in members.items() if "models/" not in name}),
    "no weights": lambda members, write: write({name: content for name, content in members.items() if "weight_0" not in name}),
    "graph is no JSON": lambda members, write: write(change(members, "models/model.json", b"{")),
    "graph is a list": lambda members, write: write(change(members, "models/model.json", b"[]")),
    "graph without nodes": lambda members, write: write(change(members, "models/model.json", lambda data: nodes(data).clear())),
    "deep JSON": lambda members, write: write(change(members, "models/model.json", b"[" * 100_000)),
    "weights too short": lambda members, write: write(change(members, "weights/weight_0", b"1234")),
    "unknown type": lambda members, write: write(
        change(members, "model_weights_config.json", lambda data: first_weight(data)["tensor_meta"].update(dtype=99))
    ),
    "negative size": lambda members, write: write(
        change(
            members,
            "model_weights_config.json",
            lambda data: first_weight(data)["tensor_meta"].update(sizes=[{"as_int": -4}, {"as_int": 3}]),
        )
    ),
    "strides of zero": lambda members, write: write(change(members, "model_weights_config.json", _huge)),
    "weights of another shape": lambda members, write: write(
        change(
            members,
            "model_weights_config.json",
            lambda data: first_weight(data)["tensor_meta"].update(sizes=[{"as_int": 3}, {"as_int": 4}]),
        )
    ),
    "no such value": lambda members, write: write(
        change(members, "models/model.json", lambda data: nodes(data)[1]["inputs"][0]["arg"].update(as_tensor={"name": "nobody"}))
    ),
    "no such overload": lambda members, write: write(
        change(members, "models/model.json", lambda data: nodes(data)[1].update(target="torch.ops.aten.tanh.nothing"))
    ),
    "a huge constant": lambda members, write: write(change(members, "models/model.json", _huge_constant)),
    "a huge value": lambda members, write: write(change(members, "models/model.json", _huge_value)),
}


def _bytes(write, content):
    path = write({})
    path.write_bytes(content)
    return path


def _huge(data):
    first_weight(data)["tensor_meta"].update(sizes=[{"as_int": 10**7}, {"as_int": 10**5}], strides=[{"as_int": 0}, {"as_int": 0}])


def _huge_constant(data):
    size = {"name": "size", "arg": {"as_ints": [10**6, 10**6]}, "kind": 1}
    value = {"name": "fill_value", "arg": {"as_float": 1.0}, "kind": 1}
    nodes(data)[1].update(target="torch.ops.aten.full.default", inputs=[size, value])


def _huge_value(data):
    times = {"name": "repeats", "arg": {"as_ints": [10**5, 10**5]}, "kind": 1}
    nodes(data)[1].update(target="torch.ops.aten.repeat.default", inputs=[nodes(data)[1]["inputs"][0], times])


@pytest.mark.parametrize("name", BROKEN)
def test_broken(name, saved, write):
    """One line, of our own, and soon."""
    with pytest.raises((InputError, NetworkError, UnsupportedLayerError)) as info:
        load_network(BROKEN[name](saved, write))
    assert len(str(info.value)) < 2000


def test_nonfinite_weights(saved, write):
    weight = np.full(12, np.nan, dtype=np.float32).tobytes()
    with pytest.raises(NetworkError, match="NaN or infinite"):
        load_network(write(change(saved, "weights/weight_0", weight)))


def test_compressed_numbers(saved, write, monkeypatch):
    """Compressed bytes could be of any size."""
    monkeypatch.setattr(torch_archive, "MOST_TEXT", 10)
    with pytest.raises(NetworkError, match="compressed; torch stores numbers as they are"):
        load_network(write(saved, compression=zipfile.ZIP_DEFLATED))


def test_which_program(saved, write):
    folder = next(iter(saved)).partition("/")[0]
    with pytest.raises(InputError, match=r"holds 2 programs: .*model.*; one is accepted"):
        load_network(write({**saved, f"{folder}/models/other.json": b"{}"}))
    compiled = {f"{folder}/data/aotinductor/model/a.so": b"", f"{folder}/archive_format": b"pt2"}
    with pytest.raises(InputError, match=r"machine code of AOTInductor.*torch\.export\.save"):
        load_network(write(compiled))


# Files of TorchScript.


def save_script(model, path):
    torch.jit.save(torch.jit.script(model), path)
    return path


def members_of(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.parametrize("suffix", [".pt", ".pth", ".ts", ".jit", ".torchscript"])
def test_torchscript_file(tmp_path, suffix):
    assert_same(load_network(save_script(make_model(), str(tmp_path / f"model{suffix}"))))


def test_other_pickles_stay_closed(tmp_path):
    """A state, a whole module, a plain pickle: none of them is opened."""
    torch.save(make_model().state_dict(), tmp_path / "state.pt")
    torch.save(make_model(), tmp_path / "module.pth")
    (tmp_path / "plain.pt").write_bytes(pickle.dumps(Payload(tmp_path / "made")))
    for name in ("state.pt", "module.pth", "plain.pt"):
        with pytest.raises(InputError, match=r"is not opened: .* a pickle runs code.*live model.*dcembed\.save_network.*ONNX"):
            load_network(tmp_path / name)
    assert not (tmp_path / "made").exists()


class Writes(nn.Module):
    """Writes a file whenever torch.jit.load opens it."""

    def __init__(self, path: str):
        super().__init__()
        self.weight = torch.ones(3)
        self.path = path

    @torch.jit.export
    def __getstate__(self):
        return (self.weight, self.path, self.training)

    @torch.jit.export
    def __setstate__(self, state: tuple[torch.Tensor, str, bool]) -> None:
        self.weight = state[0]
        self.path = state[1]
        self.training = state[2]
        torch.save(self.weight, self.path)

    def forward(self, x):
        return torch.relu(x * self.weight)


class WritesForward(nn.Module):
    def __init__(self, path: str):
        super().__init__()
        self.path = path

    def forward(self, x):
        torch.save(x, self.path)
        return torch.relu(x)


def test_code_of_the_file_is_not_run(tmp_path):
    made = tmp_path / "made"
    path = save_script(Writes(str(made)), str(tmp_path / "writes.pt"))
    with pytest.raises(NetworkError, match=r"is stored in a form of its own.*that code is not run"):
        load_network(path, input_shape=3)
    assert not made.exists()
    torch.jit.load(path)
    assert made.exists(), "the payload works, if somebody opens it with torch"


def test_operators_that_write(tmp_path):
    made = tmp_path / "made"
    path = save_script(WritesForward(str(made)), str(tmp_path / "writes.pt"))
    for options in ({}, {"input_shape": 3}):
        with pytest.raises(UnsupportedLayerError, match=r"calls torch\.save, which is not among the operators"):
            load_network(path, **options)
    assert not made.exists()


@pytest.mark.parametrize("member", ["data.pkl", "constants.pkl"])
def test_pickles_inside(tmp_path, write, member):
    good = members_of(save_script(make_model(), str(tmp_path / "good.pt")))
    path = write(change(good, f"/{member}", pickle.dumps(Payload(tmp_path / "made"))), "changed.pt")
    with pytest.raises(InputError, match=rf"{member} is not read: its pickle asks for \w+\.mkdir"):
        load_network(path)
    assert not (tmp_path / "made").exists()


def code_of_the_model(members):
    """The member with the code of nn.Sequential; its name depends on what was scripted before."""
    (name,) = [name for name in members if "/container" in name and name.endswith(".py")]
    return name


def with_code(tmp_path, write, code):
    """A file whose forward pass is this text."""
    good = members_of(save_script(make_model(), str(tmp_path / "good.pt")))
    name = code_of_the_model(good)
    lines = good[name].decode().splitlines()
    start = next(index for index, line in enumerate(lines) if "def forward" in line)
    body = [f"    {line}" for line in code.splitlines()]
    return write({**good, name: "\n".join([*lines[: start + 2], *body, ""]).encode()}, "changed.pt")


HOSTILE = {
    "a loop without end": "x = input\nwhile True:\n  x = torch.relu(x)\nreturn x",
    "an empty loop without end": "while True:\n  pass\nreturn input",
    "a huge constant": "return torch.add(input, torch.sum(torch.zeros([1000000, 1000000])))",
    "a huge list": "return torch.add(input, torch.len(torch.mul([1], 10000000000)))",
    "a growing list": "a = [1]\nfor i in range(60):\n  a = torch.add(a, a)\nreturn torch.add(input, torch.len(a))",
    "a huge number": "return torch.add(input, torch.pow(10, 10000000000))",
    "a growing number": "a = 10\nfor i in range(60):\n  a = torch.mul(a, a)\nreturn torch.add(input, a)",
    "calls itself": "return (self).forward(input, )",
    "reads what is not there": "return torch.relu(self.nobody)",
    "calls what is not there": "return __torch__.nobody(input, )",
    "attributes of Python": "return input.__class__",
    "functions of Python": "return eval('1')",
    "an import": "import os\nreturn input",
    "functions inside": "return (lambda: input)()",
    "comprehensions": "return [x for x in input]",
    "another name space": "return ops.my.own(input)",
    "files": "return torch.from_file('made', True, 10)",
    "attributes that change": "self.training = True\nreturn input",
    "not Python": "return (",
    "deeply nested": "return " + "(" * 5000 + "input" + ")" * 5000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_code(name, tmp_path, write, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(torchscript, "MOST_OPERATORS", 200)
    with pytest.raises(DcembedError) as info:
        load_network(with_code(tmp_path, write, HOSTILE[name]), input_shape=3)
    assert len(str(info.value)) < 1500
    assert not (tmp_path / "made").exists()


def test_harmless_code(tmp_path, write):
    """The way to change a file works, so that the test above says something."""
    network = load_network(with_code(tmp_path, write, "return torch.relu(torch.add(input, 1.5))"), input_shape=3)
    np.testing.assert_allclose(network([-2.0, 0.0, 1.0]), [0.0, 1.5, 2.5])


@pytest.mark.parametrize("ending", ["data.pkl", "constants.pkl", None])
def test_damaged_script(tmp_path, write, ending):
    good = members_of(save_script(make_model(), str(tmp_path / "good.pt")))
    with pytest.raises((InputError, NetworkError)):
        load_network(write(change(good, ending or code_of_the_model(good), b"\x80\x02garbage"), "changed.pt"))


def test_missing_storage(tmp_path, write):
    good = members_of(save_script(make_model(), str(tmp_path / "good.pt")))
    with pytest.raises(NetworkError, match="has no 'data/0' in it"):
        load_network(write({name: content for name, content in good.items() if not name.endswith("data/0")}, "changed.pt"))
