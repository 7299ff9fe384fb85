"""Pickles in files of torch: what torch writes is read as Python would read it, everything else is refused and does nothing."""

from __future__ import annotations

import collections
import io
import os
import pickle
import struct
import zipfile

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from dcembed.errors import DcembedError, InputError, NetworkError  # noqa: E402
from dcembed.importers import load_network  # noqa: E402
from dcembed.importers.torch_.files import pickles  # noqa: E402
from dcembed.importers.torch_.files.archive import read_nested  # noqa: E402
from dcembed.importers.torch_.files.objects import Record  # noqa: E402


def no_storage(key):
    raise AssertionError(key)


def read(content):
    return pickles.read_pickle(content, no_storage, "net.pt")


def text(value):
    return b"X" + struct.pack("<I", len(value)) + value


def saved(value):
    stream = io.BytesIO()
    torch.save(value, stream)
    return stream.getvalue()


# What is read.

PLAIN = {
    "numbers": [0, 255, 256, 65536, -1, -(2**31), 2**31, 2**63 - 1, -(2**63), 0.5, float("inf"), True, False, None],
    "text": ["", "größe", "x" * 300, "two\nlines"],
    "containers": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), [], [[]], {}, {"a": {"b": 1}}, {1: 2, 0.5: 3}],
    "the same twice": (lambda inner: [inner, inner, {"again": inner}])([1.5, (2,)]),
    "many": [list(range(3000)), {str(k): k for k in range(3000)}],
    "ordered": collections.OrderedDict(b=1, a=2),
}


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("name", PLAIN)
def test_plain_values(name, protocol):
    value = read(pickle.dumps(PLAIN[name], protocol=protocol))
    assert value == PLAIN[name]
    assert list(value) == list(PLAIN[name])


def test_values_are_shared():
    inner = [1]
    first, second = read(pickle.dumps([inner, inner], protocol=2))
    assert first is second


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16, torch.int64, torch.uint8, torch.bool])
def test_tensors(dtype):
    whole = (10 * torch.randn(4, 6)).to(dtype)
    value = {
        "whole": whole,
        "turned": whole.T,
        "part": whole[1:3, ::2],
        "none": whole[:0],
        "one": whole[2, 3],
        "wide": whole[:1].expand(5, 6),
    }
    found = read_nested(saved(value), "net.pt2")
    assert all(torch.equal(found[name], value[name]) and found[name].dtype is dtype for name in value)


def test_parameters_and_states():
    """A state has a version for every module beside its entries."""
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    found = read_nested(saved([nn.Parameter(torch.ones(2)), model.state_dict()]), "net.pt2")
    assert torch.equal(found[0], torch.ones(2))
    assert list(found[1]) == list(model.state_dict())
    assert all(torch.equal(value, model.state_dict()[name]) for name, value in found[1].items())


def test_objects_of_the_file():
    """Classes of a file may have names in any language, and their objects may refer to each other."""
    content = b"\x80\x02c__torch__.net\nGr\xc3\xb6\xc3\x9fe\n)\x81q\x00}(" + text(b"own") + b"h\x00" + text(b"size") + b"K\x03ub."
    record = read(content)
    assert isinstance(record, Record)
    assert record.kind == "__torch__.net.Größe"
    assert record.attributes["own"] is record
    assert record.attributes["size"] == 3


def test_classes_in_other_languages(tmp_path):
    class Größe(nn.Module):
        def forward(self, x):
            return torch.relu(x)

    torch.jit.save(torch.jit.script(Größe()), str(tmp_path / "net.pt"))
    np.testing.assert_allclose(load_network(tmp_path / "net.pt", input_shape=2)([-1.0, 2.0]), [0.0, 2.0])


# What is refused.

MKDIR = [f"c{os.mkdir.__module__}\nmkdir\n".encode(), text(os.mkdir.__module__.encode()) + text(b"mkdir") + b"\x93"]


@pytest.mark.parametrize("name", MKDIR, ids=["GLOBAL", "STACK_GLOBAL"])
@pytest.mark.parametrize("member", ["data.pkl", "constants.pkl"])
def test_a_file_that_would_run_code(name, member, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.jit.save(torch.jit.script(nn.Linear(3, 2)), "good.pt")
    attack = b"\x80\x02" + name + text(b"made") + b"\x85R."
    with zipfile.ZipFile("good.pt") as good, zipfile.ZipFile("bad.pt", "w") as bad:
        for entry in good.namelist():
            bad.writestr(entry, attack if entry.endswith(member) else good.read(entry))
    with pytest.raises(InputError, match=rf"{member} is not read: its pickle asks for \w+\.mkdir, and a pickle runs what it asks for"):
        load_network("bad.pt")
    assert not (tmp_path / "made").exists()
    pickle.loads(attack)
    assert (tmp_path / "made").exists(), "the attack works, if somebody unpickles it"


NAMES = [
    "os system",
    "builtins eval",
    "builtins getattr",
    "torch load",
    "torch._utils _rebuild_tensor",
    "collections.OrderedDict update",
    "torch os",
]


@pytest.mark.parametrize("name", NAMES)
def test_names(name):
    module, own = name.split()
    with pytest.raises(InputError, match=rf"asks for {module}\.{own}, .*Accepted are tensors and plain numbers\..*save_network.*ONNX"):
        read(f"c{module}\n{own}\n)R.".encode())


ORDERED, CLASS = b"ccollections\nOrderedDict\n", b"c__torch__\nNet\n"
REFUSED = {
    "instances by name": (b"(ios\nsystem\n.", r"has the instruction b'i' at byte 1, which torch does not write"),
    "instances of the stack": (b"(" + CLASS + b"o.", "has the instruction b'o'"),
    "extensions": (b"\x82\x01.", r"has the instruction b'\\x82' at byte 0"),
    "text of other protocols": (b"S'a'\n.", "has the instruction b'S'"),
    "bytes": (b"C\x01a.", "has the instruction b'C'"),
    "sets": (b"\x8f.", r"has the instruction b'\\x8f'"),
    "no instruction": (b"\xff.", r"has the instruction b'\\xff'"),
    "long numbers": (b"\x8a\x09" + bytes(9) + b".", "a whole number of 9 bytes, and at most 8"),
    "very long numbers": (b"\x8b\xff\xff\xff\x7f", r"has the instruction b'\\x8b'"),
    "another version": (b"\x80\x09N.", "of version 9"),
    "calls of numbers": (b"K\x01)R.", "calls a int"),
    "calls of classes": (CLASS + b")R.", "calls a RecordClass"),
    "calls with arguments": (ORDERED + b"]\x85R.", "TypeError"),
    "objects of functions": (ORDERED + b")\x81.", "makes an object of a Function"),
    "objects with arguments": (CLASS + b"K\x01\x85\x81.", "gives arguments to its class"),
    "attributes of functions": (ORDERED + b"}b.", "A Function has no attributes"),
    "attributes of numbers": (b"K\x01}b.", "A int has no attributes"),
    "attributes in another form": (CLASS + b")\x81K\x01b.", "in a form of its own"),
    "entries of a tuple": (b")K\x01a.", "adds entries to a tuple"),
    "keys of a list": (b"]K\x01K\x02s.", "sets entries of a list"),
    "keys that are lists": (b"})K\x01s.", "neither text nor numbers"),
    "a key without value": (b"}(K\x01u.", "damaged"),
    "another persistent value": (text(b"module") + b"NN\x87Q.", "not a storage of numbers"),
    "a tensor of numbers": (b"ctorch._utils\n_rebuild_tensor_v2\n(K\x01K\x00))tR.", "made of a int"),
    "a name that is none": (b"K\x01K\x02\x93.", "no name"),
    "a name of two lines": (text(b"os\nor not") + text(b"system") + b"\x93.", "no name"),
    "a long name": (text(b"o" * 1000) + text(b"system") + b"\x93.", "no name"),
    "nothing stored": (b"h\x07.", "damaged"),
    "nothing on the stack": (b"a.", "takes more values than there are"),
    "no mark": (b"e.", "damaged"),
    "nothing": (b"", "ends too early"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    content, words = REFUSED[name]
    with pytest.raises(NetworkError, match=words) as info:
        read(content)
    assert len(str(info.value).splitlines()) == 1


def test_every_truncation():
    content = pickle.dumps([1, 2.5, "text", (1, 2), {"a": [None, True]}, 2**40], protocol=2)
    for end in range(len(content)):
        with pytest.raises(NetworkError, match="ends too early"):
            read(content[:end])


def test_every_other_instruction():
    """All bytes but those that torch writes; what torch writes needs arguments, or is damaged here."""
    for code in range(256):
        if bytes([code]) not in pickles._INSTRUCTIONS and code != ord("."):
            with pytest.raises(NetworkError, match="has the instruction"):
                read(bytes([code]) + b"N.")


def repeated(levels):
    """Lists of two that are the same: two to the power of levels entries in a few bytes."""
    return b"]" + b"".join(b"q%c](h%ch%ce" % (k, k, k) for k in range(levels)) + b"."


DEEP = {
    "lists": b"]" * 100_000 + b"a" * 99_999 + b".",
    "tuples": b")" + b"\x85" * 100_000 + b".",
    "marks": b"(" * 100_000 + b"t" * 100_000 + b".",
    "objects": (CLASS + b")\x81}" + text(b"a")) * 1000 + b"N" + b"sb" * 1000 + b".",
    "in itself": b"]q\x00h\x00a.",
    "again and again": repeated(40),
}


@pytest.mark.parametrize("name", DEEP)
def test_deep(name):
    with pytest.raises(NetworkError, match="more than 60 deep in each other"):
        read(DEEP[name])


def test_shared_lists_are_read():
    assert len(read(repeated(10))) == 2


def test_number_of_instructions(monkeypatch):
    monkeypatch.setattr(pickles, "MOST_INSTRUCTIONS", 10)
    assert read(b"N" * 9 + b".") is None
    with pytest.raises(NetworkError, match="has more than 10 instructions"):
        read(b"N" * 10 + b".")


def test_views_stay_in_proportion():
    """A thousand copies of one storage of a hundred thousand numbers."""
    whole = torch.zeros(100_000)
    with pytest.raises(NetworkError, match=r"at most .* are accepted of a file"):
        read_nested(saved([whole[k:] for k in range(1000)]), "net.pt2")


@pytest.mark.parametrize(
    "sizes", [b"(K\x01K\x02t", b"\x8a\x08" + bytes([255] * 7) + b"\x7f\x85", b"(" + b"K\x01" * 100 + b"t", b"J\xff\xff\xff\xff\x85"]
)
def test_sizes_that_cannot_be(sizes):
    storage = b"(" + text(b"storage") + b"ctorch\nFloatStorage\n" + text(b"0") + text(b"cpu") + b"K\x04tQ"
    content = b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K\x00" + sizes + sizes.replace(b"K\x01", b"K\x00") + b"tR."
    with pytest.raises(DcembedError):
        pickles.read_pickle(content, lambda key: bytes(4), "net.pt")
