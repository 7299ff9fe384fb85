"""Plain fields of any dataclass go into a file and come back, by their declarations alone."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace

import numpy as np
import pytest

from dcembed.errors import InputError
from dcembed.saving.plain import pack_plain, pack_table, unpack_plain, unpack_table


@dataclass(frozen=True)
class Thing:
    flag: bool
    count: int
    size: float
    name: str
    names: tuple[str, ...] = ()
    words: list[str] | None = None
    more: list[str] = None
    other: object = None


THING = Thing(True, 3, -np.inf, "a ö", ("b", ""), None, ["c"], object())


def through_json(record):
    return json.loads(json.dumps(record, allow_nan=False))


@pytest.mark.parametrize("size", [0.1, 1e-300, np.inf, -np.inf, np.nan, np.float64(2.5)])
def test_plain_fields_come_back(size):
    thing = replace(THING, size=size)
    record = pack_plain(thing)
    assert set(record) == {"flag", "count", "size", "name", "names", "more"}
    again = unpack_plain(Thing, through_json(record), "thing")
    assert again["size"] == size or np.isnan(size)
    assert {**again, "size": 0} == {"flag": True, "count": 3, "size": 0, "name": "a ö", "names": ("b", ""), "more": ["c"]}


def test_what_is_not_there_keeps_its_default_and_what_is_unknown_is_left():
    assert unpack_plain(Thing, {"flag": False, "new": 3}, "thing") == {"flag": False}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("flag", 2),
        ("flag", "yes"),
        ("count", 1.5),
        ("count", None),
        ("size", [1]),
        ("size", "big"),
        ("name", 3),
        ("names", "ab"),
        ("more", [[1]]),
    ],
)
def test_a_value_of_another_type_is_named(name, value):
    with pytest.raises(InputError, match=rf"^thing\.{name} is not accepted"):
        unpack_plain(Thing, {name: value}, "thing")


def test_a_table_has_a_column_for_each_field():
    things = [replace(THING, count=number, name=f"n{number % 2}") for number in range(5)]
    packed = pack_table(things, Thing)
    assert packed.record["name"] == ["n0", "n1"]
    rows = unpack_table(packed, Thing)
    assert [row["name"] for row in rows] == [thing.name for thing in things]
    assert [row["count"] for row in rows] == list(range(5))
    assert set(rows[0]) == {field.name for field in fields(Thing)} - {"names", "words", "more", "other"}
    assert unpack_table(pack_table([], Thing), Thing) == []
