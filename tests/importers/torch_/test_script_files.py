"""Files of TorchScript: those that would run code, hostile code, and damaged ones."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from dcembed.errors import DcembedError, InputError, NetworkError, UnsupportedLayerError  # noqa: E402
from dcembed.importers import load_network  # noqa: E402
from dcembed.importers.torch_.script import code  # noqa: E402
from importers.torch_.files import (  # noqa: E402
    Payload,
    assert_reads,
    change,
    make_model,
    members_of,
    save_script,
    write_members,
)

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("suffix", [".pt", ".pth", ".ts", ".jit", ".torchscript"])
def test_torchscript_file(tmp_path, suffix):
    assert_reads(load_network(save_script(make_model(), str(tmp_path / f"model{suffix}"))))


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
    "a list that is extended by itself": "a = [1]\nfor i in range(22):\n  b = torch.extend(a, a)\nreturn torch.add(input, torch.len(a))",
    "a text in a text": "a = 'b'\nfor i in range(22):\n  a = torch.format('{}{}', a, a)\nreturn torch.add(input, torch.len(a))",
    "lists in lists": "a = [1]\nfor i in range(21):\n  a = [a, a]\nreturn torch.add(input, torch.len(a))",
    "tuples in tuples": "a = (1,)\nfor i in range(21):\n  a = (a, a)\nb = {a: 1}\nreturn torch.add(input, torch.len(b))",
    "a list in itself": "a = annotate(List[int], [])\nb = torch.append(a, a)\nreturn torch.add(input, torch.len(a))",
    "lists that are returned": "a = [input]\nfor i in range(21):\n  a = [a, a]\nreturn a",
    "a long range": "return torch.add(input, torch.len(torch.list(range(3000000))))",
    "repetitions": "return torch.add(input, torch.sum(torch.repeat_interleave(torch.tensor([60000000]))))",
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
    monkeypatch.setattr(code, "MOST_OPERATORS", 200)
    with pytest.raises(DcembedError) as info:
        load_network(with_code(tmp_path, write, HOSTILE[name]), input_shape=3)
    assert len(str(info.value)) < 1500
    assert not (tmp_path / "made").exists()


# Torch itself crashes on them, or reads what is not there.
CRASHING = {
    "an index far outside, sparse": (
        "a = torch._sparse_coo_tensor_unsafe(torch.tensor([[100000000000]]), torch.tensor([1.5]), [4])\nb = torch.to_dense(a)\n"
        "return torch.add(input, torch.sum(b))"
    ),
    "an index far outside, rows": (
        "a = torch.sparse_csr_tensor(torch.tensor([0, 1]), torch.tensor([100000000000]), torch.tensor([1.5]), [1, 4])\n"
        "return torch.add(input, torch.mv(a, torch.ones([4])))"
    ),
    "a gradient": (
        "a = torch.max_pool2d_with_indices_backward(torch.ones([1, 1, 1, 1]), torch.ones([1, 1, 2, 2]), [2, 2], [2, 2], [0, 0], [1, 1], "
        "False, torch.tensor([[[[1000000000000]]]]))\nreturn torch.add(input, torch.sum(a))"
    ),
    "a sequence of points": (
        "a = torch._sobol_engine_ff_(torch.tensor([0]), 1000, torch.tensor([[0]]), 100000000, 0)\nreturn torch.add(input, torch.sum(a))"
    ),
    "bags that begin before the list": (
        "a, b, c, d, = torch.embedding_bag(torch.ones([3, 2]), torch.tensor([0, 1]), torch.tensor([0, -100000000000]))\n"
        "return torch.add(input, torch.sum(a))"
    ),
    "losses": (
        "a = torch.ctc_loss(torch.zeros([2, 1, 3]), torch.tensor([[10000000000]]), [2], [1])\nreturn torch.add(input, torch.sum(a))"
    ),
    "too few channels": (
        "a, b, c, = torch._native_batch_norm_legit_no_training(torch.ones([2, 10000000]), torch.ones([1]), torch.ones([1]), torch.ones([1]), "
        "torch.ones([1]), 0.1, 0.00001)\nreturn torch.add(input, torch.sum(a))"
    ),
    "too few norms": (
        "a, b, = torch._weight_norm_interface(torch.ones([10000000, 2]), torch.ones([1]), 0)\nreturn torch.add(input, torch.sum(a))"
    ),
}
LOAD = """
import sys, dcembed
for path in sys.argv[1:]:
    try:
        dcembed.load_network(path, input_shape=3)
        print("read", flush=True)
    except dcembed.DcembedError as error:
        print("refused:", " ".join(str(error).split()), flush=True)
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What is said of each of the files, by one process for all, which would end with a signal at the first that is run."""
    paths = []
    for number, text in enumerate(CRASHING.values()):
        folder = tmp_path_factory.mktemp(f"crashing{number}")
        paths.append(str(with_code(folder, partial(write_members, folder), text)))
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", LOAD, *paths], capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout, done.stderr[-1000:])
    return dict(zip(CRASHING, done.stdout.splitlines(), strict=True))


@pytest.mark.parametrize("name", CRASHING)
def test_kernels_that_trust(name, told):
    assert re.search(r"^refused: .*(not among the operators of torch that compute|do not belong together)", told[name]), told[name]


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
