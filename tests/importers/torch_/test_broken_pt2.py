"""Files of torch.export that are broken, or ask for more than they hold."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest

torch = pytest.importorskip("torch")


from dcembed.errors import InputError, NetworkError, UnsupportedLayerError  # noqa: E402
from dcembed.importers import load_network, torch_  # noqa: E402
from dcembed.importers.torch_.files import archive  # noqa: E402
from dcembed.importers.torch_.recording import watch  # noqa: E402
from dcembed.network.growth import Growth  # noqa: E402
from importers.torch_.files import (  # noqa: E402
    change,
    first_weight,
    nodes,
)

pytestmark = pytest.mark.filterwarnings("ignore")


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
    monkeypatch.setattr(archive, "MOST_TEXT", 10)
    with pytest.raises(NetworkError, match="compressed; torch stores numbers as they are"):
        load_network(write(saved, compression=zipfile.ZIP_DEFLATED))


def test_unpacked_numbers(saved, write, monkeypatch):
    """All members together stay in proportion to the file, however small each of them is."""
    monkeypatch.setattr(archive, "ALWAYS_READ", 10)
    folder = next(iter(saved)).partition("/")[0]
    bombs = {f"{folder}/extra/{number}": bytes(10**6) for number in range(8)}
    with pytest.raises(NetworkError, match=r"unpacks from [\d,]+ to 8,[\d,]+ bytes, which no trained weights do"):
        load_network(write({**saved, **bombs}, compression=zipfile.ZIP_DEFLATED))


@pytest.mark.parametrize(("left", "right"), [({"as_string": "ab"}, {"as_int": 3}), ({"as_int": 2**40}, {"as_int": 2**40})])
def test_functions_are_of_sizes(saved, write, left, right):
    """Texts and lists times a number would be of any size."""

    def edit(data):
        given = [{"name": name, "arg": value, "kind": 1} for name, value in (("a", left), ("b", right))]
        nodes(data)[1].update(target="_operator.mul", inputs=given)

    with pytest.raises(NetworkError, match=r"computes _operator\.mul of .*, which are no sizes"):
        load_network(write(change(saved, "models/model.json", edit)))


def test_comparison_is_guarded(saved, write, monkeypatch):
    """Many points are compared together, and one of them fits."""
    assert load_network(write(saved)).num_inputs == 3
    monkeypatch.setattr(torch_, "ALWAYS_ALLOWED", 50)
    monkeypatch.setattr(torch_, "MOST_GROWTH", 0)
    monkeypatch.setattr(watch, "TOGETHER", Growth(50))
    with pytest.raises(NetworkError, match="numbers, and at most 50 are accepted"):
        load_network(write(saved))


def test_which_program(saved, write):
    folder = next(iter(saved)).partition("/")[0]
    with pytest.raises(InputError, match=r"holds 2 programs: .*model.*; one is accepted"):
        load_network(write({**saved, f"{folder}/models/other.json": b"{}"}))
    compiled = {f"{folder}/data/aotinductor/model/a.so": b"", f"{folder}/archive_format": b"pt2"}
    with pytest.raises(InputError, match=r"machine code of AOTInductor.*torch\.export\.save"):
        load_network(write(compiled))
