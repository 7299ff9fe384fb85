"""Files that are damaged, foreign or made to do harm end in one InputError that says what is wrong, and cost next to nothing."""

from __future__ import annotations

import io
import json
import re
import zipfile

import numpy as np
import pytest

import dcembed
from dcembed import Embedding, Program, QuadraticConstraint
from dcembed.errors import InputError
from problems import level_problem, quiet, random_mlp


@pytest.fixture(scope="module")
def content(tmp_path_factory) -> dict[str, bytes]:
    """The members of a good file."""
    program, _ = level_problem(9)
    curved = Program(cost=program.cost, lb=-2, ub=[2, 2, 9], quadratic_constraints=[QuadraticConstraint(np.diag([1.0, 1, 0]), ub=9.0)])
    result = dcembed.solve(curved, Embedding(random_mlp(9, (2, 8, 6, 1)), [0, 1], [2]), options=quiet(max_iterations=2))
    path = tmp_path_factory.mktemp("good") / "result.npz"
    result.save(path)
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(members: dict[str, bytes], kind: int = zipfile.ZIP_STORED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", kind) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return stream.getvalue()


def array(values, kind=None) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asarray(values, dtype=kind), allow_pickle=True)
    return stream.getvalue()


def claim(shape, kind="<f8", data=b"") -> bytes:
    """An array whose head says more than is there."""
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": kind, "fortran_order": False, "shape": shape})
    return stream.getvalue() + data


def refused(tmp_path, data: bytes) -> str:
    path = tmp_path / "result.npz"
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        dcembed.load_result(path)
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message
    return message


MEMBERS = {
    "missing": ("program.cost.npy", None, "cost is missing"),
    "no points": ("run.point0.npy", None, "points to point|is missing|outside"),
    "object array": ("program.cost.npy", array([None, 1.0], object), "which is"),
    "size claimed": ("program.cost.npy", claim((10**6, 10**6)), "which is 8000000000000 bytes, but 0 are there"),
    "negative shape": ("program.cost.npy", claim((-1,)), "shape"),
    "texts for numbers": ("program.cost.npy", array(["a", "b", "c"]), "cost has type <U1"),
    "complex": ("program.lb.npy", array([1j, 0, 0]), "lb has type complex128"),
    "a matrix for a vector": ("program.lb.npy", array(np.zeros((3, 3))), r"shape \(3, 3\)"),
    "bounds that cross": ("program.lb.npy", array([5.0, 0.0, 0.0]), "the bounds of column 0 cross"),
    "a column outside": ("program.quadratics.quadratic.columns.npy", array([0, 10**8]), "outside of 0 to 2"),
    "a negative row": ("program.quadratics.quadratic.rows.npy", array([-1, 1]), "outside of 0 to 2"),
    "rows out of order": ("program.quadratics.quadratic.rows.npy", array([1, 0]), "out of order"),
    "not convex": ("program.quadratics.quadratic.values.npy", array([-1.0, 1.0]), "not convex"),
    "more constraints than matrices": ("program.quadratics.ub.npy", array([1.0, 1.0]), "not as many names"),
    "an output outside": ("embeddings.outputs.npy", array([7]), "outside of 0 to 2"),
    "no evaluations": ("embeddings.evaluations.npy", array([0]), "as many as none can be"),
    "endless evaluations": ("embeddings.evaluations.npy", array([2**62]), "as many as none can be"),
    "another network": ("embeddings.network.npy", array([1]), "outside of 0 to 0"),
    "other weights": ("embeddings.network0.layer1.bias.npy", array(np.ones(8)), "damaged"),
    "weights that are none": ("embeddings.network0.layer1.bias.npy", array(np.full(8, np.nan)), "damaged"),
    "a short point": ("run.point0.npy", array([1.0]), "has 1 entries"),
    "a point of nothing": ("run.point0.npy", array([np.nan] * 3), "perhaps not finite"),
    "a point that is not there": ("run.x.npy", array([-2]), "points to point -2"),
    "a trace of triples": ("run.incumbents.npy", array(np.zeros((1, 3))), "shape"),
    "steps without numbers": ("run.history.objective.npy", array(np.zeros(1)), "different lengths"),
    "words that are not there": ("run.history.kind.npy", array([99]), "outside of"),
}


@pytest.mark.parametrize("case", MEMBERS)
def test_a_member_that_is_wrong(tmp_path, content, case):
    name, data, words = MEMBERS[case]
    members = {key: value for key, value in content.items() if key != name}
    assert name in content
    message = refused(tmp_path, packed(members if data is None else {**members, name: data}))
    assert re.search(words, message), message


RECORDS = {
    "format of the future": (lambda record: record.update(format=99), "in a format that this version"),
    "no format": (lambda record: record.pop("format"), "in a format that this version"),
    "no run": (lambda record: record.pop("run"), "no record of the run"),
    "a list for a run": (lambda record: record.update(run=[]), "no record of the run"),
    "unknown status": (lambda record: record["run"].update(status="GREAT"), "GREAT"),
    "a number for a text": (lambda record: record["run"].update(solver=3), "result.solver is not accepted"),
    "a text for a number": (lambda record: record["run"].update(bound="high"), "result.bound is not accepted"),
    "a tolerance below zero": (lambda record: record["run"].update(feasibility_tol=-1.0), "its tolerance is -1.0"),
    "an endless tolerance": (lambda record: record["run"].update(feasibility_tol="inf"), "its tolerance is inf"),
    "no bound": (lambda record: record["run"].update(bound="nan"), "its bound nan"),
    "no sizes": (lambda record: record["run"].update(sizes={}), "missing"),
    "one name": (lambda record: record["program"].update(columns=["a"]), "column_names has 1 names"),
    "a huge number": (lambda record: record["run"].update(seconds=10**400), "result.seconds"),
}


@pytest.mark.parametrize("case", RECORDS)
def test_a_record_that_is_wrong(tmp_path, content, case):
    change, words = RECORDS[case]
    record = json.loads(content["dcembed.json"])
    change(record)
    assert words in refused(tmp_path, packed({**content, "dcembed.json": json.dumps(record).encode()}))


@pytest.mark.parametrize("text", [b"[]", b"{", b"\xff\xfe", b"[" * 100_000, b"3", b'{"format": 1' + b"0" * 5000 + b"}"])
def test_a_record_that_is_none(tmp_path, content, text):
    refused(tmp_path, packed({**content, "dcembed.json": text}))


def test_a_bomb_is_not_unpacked(tmp_path, content):
    bomb = packed({**content, "run.zeros.npy": claim((10**8,), "|u1", bytes(10**8))}, zipfile.ZIP_DEFLATED)
    assert len(bomb) < 10**6
    assert "unpack" in refused(tmp_path, bomb)


def test_constraints_that_take_more_room_than_the_file(tmp_path, content):
    # A million quadratic constraints on a million columns need no entries, and would need all the memory there is.
    record = json.loads(content["dcembed.json"])
    record["program"]["quadratics"] = [None] * 100_000
    wide = {
        name: array(np.zeros(100_000)) for name in ("program.cost.npy", "program.lb.npy", "program.ub.npy", "program.quadratics.ub.npy")
    }
    wide["program.integer.npy"] = array(np.zeros(100_000, dtype=bool))
    members = {**content, **wide, "dcembed.json": json.dumps(record).encode()}
    assert "take more room than the size of the file explains" in refused(tmp_path, packed(members))


def test_inputs_that_are_higher_than_their_constants(tmp_path):
    network = random_mlp(0, (2, 3, 1))
    program = Program(cost=np.ones(4), lb=-1, ub=9)
    embeddings = [Embedding(network, dcembed.AffineInputs(np.eye(4)[:2]), [column]) for column in (2, 3)]
    path = tmp_path / "result.npz"
    dcembed.solve(program, embeddings, options=quiet(max_iterations=0)).save(path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["embeddings.heights.npy"] = array([2, 10**12])
    assert "not as high as their constants say" in refused(tmp_path, packed(members))


def test_a_name_that_is_there_twice(tmp_path, content):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in content.items():
            archive.writestr(name, data)
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("run.x.npy", array([0]))
    assert "some twice" in refused(tmp_path, stream.getvalue())


def test_every_cut_of_a_file_is_refused(tmp_path, content):
    whole = packed(content)
    for end in [0, 1, 10, *np.linspace(20, len(whole) - 1, 40).astype(int)]:
        refused(tmp_path, whole[:end])


def test_files_of_others(tmp_path):
    assert "There is no file" in refused_path(tmp_path / "nowhere.npz")
    (tmp_path / "folder.npz").mkdir()
    assert "is a folder" in refused_path(tmp_path / "folder.npz")
    (tmp_path / "text.npz").write_text("hello")
    assert "damaged, or not a result" in refused_path(tmp_path / "text.npz")
    np.savez(tmp_path / "other.npz", W1=np.ones((2, 2)))
    assert "is not a result that dcembed saved" in refused_path(tmp_path / "other.npz")
    dcembed.save_network(random_mlp(0, (2, 3, 1)), tmp_path / "net.npz")
    assert "networks are read by load_network" in refused_path(tmp_path / "net.npz")


def refused_path(path) -> str:
    with pytest.raises(InputError) as caught:
        dcembed.load_result(path)
    return str(caught.value)
