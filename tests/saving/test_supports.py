"""Regions in files: the same region wherever it is read, and damages that are noticed."""

from __future__ import annotations

import numpy as np
import pytest

import dcembed
from dcembed.errors import InputError
from dcembed.saving.problem import fingerprint
from support.regions import KINDS, host, make, two_clouds


def solved(region):
    program, network = host()
    return dcembed.solve(
        program, dcembed.Embedding(network, [0, 1, 2], [3], support=region), options={"verbose": False, "search": "local", "time_limit": 5}
    )


@pytest.mark.parametrize("name", KINDS)
def test_a_region_comes_back_as_it_was(name, tmp_path):
    data = two_clouds()
    region = make(name, data, targets=data[:, 0], weight=None if name == "hull" else 3.0)
    result = solved(region)
    result.save(tmp_path / "a.npz")
    again = dcembed.load_result(tmp_path / "a.npz")
    read = again.embeddings[0].support
    points = data + 2.0 * data.std(axis=0) * np.random.default_rng(0).normal(size=data.shape)
    assert np.array_equal(read.excess(points), region.excess(points))
    assert (again.objective, again.violation, again.status, again.notes) == (
        result.objective,
        result.violation,
        result.status,
        result.notes,
    )
    assert (read.label, read.weight, read.error, read.kind) == (region.label, region.weight, region.error, region.kind)
    assert str(again.support) == str(result.support)
    assert fingerprint(again.program, again.embeddings) == fingerprint(result.program, result.embeddings)
    further = dcembed.solve(
        result.program, list(result.embeddings), start=again, options={"verbose": False, "search": "local", "time_limit": 5}
    )
    assert further.program.sense * further.objective <= result.program.sense * result.objective + 1e-9


def test_another_region_is_another_problem():
    data = two_clouds()
    program, network = host()
    texts = {
        fingerprint(program, [dcembed.Embedding(network, [0, 1, 2], [3], support=region)])
        for region in (
            None,
            make("hull", data),
            make("box", data),
            make("box", data, weight=1.0),
            make("box", data, weight=2.0),
            make("box", data + 1.0),
        )
    }
    assert len(texts) == 6


def test_a_region_that_two_embeddings_have_is_kept_once(tmp_path):
    data = two_clouds()
    _, network = host()
    region = make("hull", data)
    program = dcembed.Program(
        cost=[0, 0, 0, 1.0, 1.0], lb=[-40, -900, -4, -np.inf, -np.inf], ub=[40, 900, 4, np.inf, np.inf], maximize=True
    )
    embeddings = [dcembed.Embedding(network, [0, 1, 2], [3 + i], support=region) for i in range(2)]
    result = dcembed.solve(program, embeddings, options={"verbose": False, "search": "local", "time_limit": 5})
    result.save(tmp_path / "a.npz")
    one, other = (each.support for each in dcembed.load_result(tmp_path / "a.npz").embeddings)
    assert one is other


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("support", np.array([5])),
        ("support0.spread", np.zeros(3)),
        ("support0.center", np.zeros(2)),
        ("support0.shape.is", np.array(["ball"])),
        ("support0.shape.vertices", np.zeros((4, 2))),
        ("support0.points", np.zeros(3)),
        ("support0.weight", np.array([-1.0])),
        ("support0.words", np.array(["hull"])),
    ],
)
def test_damages_are_noticed(key, value, tmp_path):
    solved(make("hull", two_clouds())).save(tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as file:
        arrays = dict(file)
    (place,) = [name for name in arrays if name.endswith(f"embeddings.{key}")]
    arrays[place] = value
    np.savez(tmp_path / "b.npz", **arrays)
    with pytest.raises(InputError, match=r"b\.npz"):
        dcembed.load_result(tmp_path / "b.npz")
