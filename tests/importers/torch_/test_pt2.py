"""Files of torch.export: .pt2 of all ages, and those that would run code."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from dcembed.errors import InputError, UnsupportedLayerError  # noqa: E402
from dcembed.importers import load_network  # noqa: E402
from importers.torch_.files import (  # noqa: E402
    Payload,
    assert_reads,
    change,
    export_model,
    first_weight,
    make_model,
    nodes,
    torch_save,
)

pytestmark = pytest.mark.filterwarnings("ignore")


def test_good_file(saved, write):
    assert_reads(load_network(write(saved)))
    assert_reads(load_network(str(write(saved, "UPPER.PT2"))))


def test_torch_itself_reads_the_same(tmp_path):
    """What torch.export.load makes of a file, where that is safe."""
    torch.export.save(export_model(), tmp_path / "program.pt2")
    assert_reads(load_network(tmp_path / "program.pt2"), torch.export.load(tmp_path / "program.pt2").module())


def test_older_formats(saved, write):
    """Of torch before 2.8, which saved states as pickles of tensors."""
    from torch._export.serde.serialize import serialize

    parts = serialize(export_model())
    older = {
        "serialized_exported_program.json": parts.exported_program,
        "serialized_state_dict.pt": parts.state_dict,
        "serialized_constants.pt": parts.constants,
        "serialized_example_inputs.pt": b"never looked at",
        "version": b"8.0",
    }
    assert_reads(load_network(write(older)))
    between = {name: content for name, content in saved.items() if "/data/weights/" not in name and "/data/constants/" not in name}
    folder = next(iter(saved)).partition("/")[0]
    between |= {f"{folder}/data/weights/model.pt": parts.state_dict, f"{folder}/data/constants/model.pt": parts.constants}
    assert_reads(load_network(write(between)))


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

    torch.export.save(export_model(Tied()), tmp_path / "tied.pt2")
    assert_reads(load_network(tmp_path / "tied.pt2"), Tied())


def test_package_is_needed(tmp_path, monkeypatch):
    """What a .pt file is, is found out without torch."""
    (tmp_path / "model.pt").write_bytes(b"")
    code = "import sys; sys.modules['torch'] = None\nimport dcembed\ntry: dcembed.load_network('model.pt')\nexcept dcembed.DcembedError as e: print(e)"
    said = subprocess.run([os.sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "a pickle runs code when it is opened" in said


def test_example_inputs_are_never_opened(saved, write, tmp_path):
    path = write(change(saved, "sample_inputs/model.pt", torch_save(Payload(tmp_path / "made"))))
    assert_reads(load_network(path))
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

    parts = serialize(export_model())
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

    assert_reads(load_network(write(change(members, "model_weights_config.json", edit))))


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

    assert_reads(load_network(write(change(saved, "models/model.json", edit))))
    assert not (tmp_path / "made").exists()
