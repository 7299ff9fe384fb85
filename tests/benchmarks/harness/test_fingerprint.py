"""Records are tied to the source that made them."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

import dcembed
from benchmarks.harness import fingerprint as module
from benchmarks.harness.fingerprint import PACKAGE, fingerprint, hash_source
from benchmarks.methods.method import BASELINE_ROOMS, ENGINE_ROOMS, PROBLEM_ROOMS
from benchmarks.methods.table import METHODS

QP = "qp", "64x3", 0
OTHERS = [name for name, method in METHODS.items() if method.rooms == PROBLEM_ROOMS]
OF_ENGINE = [name for name, method in METHODS.items() if "engine" in method.rooms]
# What says something about runs, or brings problems to them in other ways than the benchmarks do.
NOT_RUN = {
    *("__init__.py", "__main__.py", "cli", "cvxpy.py", "gurobipy.py", "linopy.py", "omlt.py", "pyomo.py", "pyscipopt.py", "frontends"),
    *(
        "doctor.py",
        "errors.py",
        "loading.py",
        "plot",
        "prices",
        "reading.py",
        "result.py",
        "saving",
        "screen.py",
        "status.py",
        "tables.py",
        # No experiment has regions of data or ensembles.
        "ensembles",
        "support",
        "version.py",
        "words.py",
        "writing.py",
    ),
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A copy of dcembed in the place of the imported one."""
    copied = tmp_path / "dcembed"
    shutil.copytree(PACKAGE, copied, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(module, "PACKAGE", copied)
    return copied


@pytest.fixture
def benchmarks_folder(tmp_path, monkeypatch):
    """A copy of the benchmarks' own code in the place of the imported one."""
    copied = tmp_path / "benchmarks"
    shutil.copytree(module.BENCHMARKS, copied, ignore=shutil.ignore_patterns("__pycache__", "results", "networks"))
    monkeypatch.setattr(module, "BENCHMARKS", copied)
    return copied


@pytest.fixture(autouse=True)
def every_change_is_seen(monkeypatch):
    """As in a new process."""
    monkeypatch.setattr(module, "_hash_once", hash_source)


def change_one_byte(path) -> None:
    content = bytearray(path.read_bytes())
    content[-2] ^= 1
    path.write_bytes(bytes(content))


def test_the_fingerprint_is_of_the_package_that_is_imported():
    assert PACKAGE.samefile(dcembed.__path__[0])
    assert fingerprint(*QP, "dcembed") == fingerprint(*QP, "dcembed")


def test_one_byte_of_one_file_changes_the_hash_of_a_folder(package):
    before = hash_source(package)
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "solve.pyc").write_bytes(b"1")
    assert hash_source(package) == before
    change_one_byte(package / "engine" / "solve.py")
    changed = hash_source(package)
    assert changed != before
    change_one_byte(package / "engine" / "solve.py")
    assert hash_source(package) == before
    (package / "options.py").rename(package / "choices.py")
    assert hash_source(package) not in (before, changed)


def test_a_folder_without_source_has_no_fingerprint(tmp_path):
    with pytest.raises(FileNotFoundError, match="no source in"):
        hash_source(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("file", "touched"),
    [
        ("engine/solve.py", set(OF_ENGINE)),
        ("bounds/tree.py", set(OF_ENGINE)),
        ("baselines/oracle.py", set(METHODS) - set(OF_ENGINE) - set(OTHERS)),
        ("run/journal.py", set(METHODS) - set(OTHERS)),
        ("program/tightening.py", set(METHODS)),
        ("run/log.py", set()),
        ("run/voice.py", set()),
        ("frontends/cases.py", set()),
    ],
)
def test_a_room_matters_to_the_methods_that_run_it(package, file, touched):
    before = {name: fingerprint(*QP, name) for name in METHODS}
    change_one_byte(package / file)
    assert {name for name in METHODS if fingerprint(*QP, name) != before[name]} == touched


def test_every_room_is_run_or_said_not_to_be():
    there = {path.name for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert there == {*ENGINE_ROOMS, *BASELINE_ROOMS, *NOT_RUN}
    assert not NOT_RUN & {*ENGINE_ROOMS, *BASELINE_ROOMS}
    assert all((PACKAGE / name).is_file() for name in module.TELLING)


@pytest.mark.parametrize(
    ("file", "touched"),
    [
        ("peers/host.py", set(OTHERS) - {"greedy"}),
        ("methods/greedy.py", {"greedy"}),
        ("problems/instance.py", set(METHODS)),
        ("harness/outcome.py", set(METHODS)),
        ("harness/job.py", set(METHODS)),
        # What an instance is built with counts, what others are built with does not.
        ("problems/trained.py", set(METHODS)),
        ("problems/data.py", set(METHODS)),
        ("problems/avoidance.py", set()),
        # The tables count row by row, and what only draws does not count at all.
        ("methods/table.py", set()),
        ("problems/experiments.py", set()),
        ("report/charts.py", set()),
    ],
)
def test_code_of_the_benchmarks_matters_to_the_methods_that_it_is_of(benchmarks_folder, file, touched):
    before = {name: fingerprint(*QP, name) for name in METHODS}
    change_one_byte(benchmarks_folder / file)
    assert {name for name in METHODS if fingerprint(*QP, name) != before[name]} == touched


def test_what_the_module_of_an_instance_imports_matters(benchmarks_folder):
    before = fingerprint("boxes", "10", 0, "greedy")
    change_one_byte(benchmarks_folder / "problems" / "avoidance.py")
    assert fingerprint("boxes", "10", 0, "greedy") != before


def test_formulations_of_one_package_are_told_apart(monkeypatch):
    before = fingerprint(*QP, "omlt-partition")
    monkeypatch.setitem(METHODS, "omlt-partition", replace(METHODS["omlt-complementarity"], name="omlt-partition"))
    assert fingerprint(*QP, "omlt-partition") != before


def test_a_small_size_has_the_settings_of_its_own_experiment(monkeypatch):
    small, large = fingerprint("qp", "8x2x2", 0, "dcembed"), fingerprint(*QP, "dcembed")
    monkeypatch.setitem(METHODS, "dcembed", replace(METHODS["dcembed"], settings=lambda experiment: {}))
    assert fingerprint("qp", "8x2x2", 0, "dcembed") != small
    assert fingerprint(*QP, "dcembed") == large


def test_instance_data_settings_and_packages_matter(monkeypatch, tmp_path):
    before = fingerprint(*QP, "omlt")
    assert len({before, fingerprint("qp", "64x3", 1, "omlt"), fingerprint("qp", "64x6", 0, "omlt")}) == 3
    monkeypatch.setitem(METHODS, "omlt", replace(METHODS["omlt"], settings=lambda experiment: {"seed": 1}))
    other_settings = fingerprint(*QP, "omlt")
    monkeypatch.setattr(module, "_version", lambda package: f"{package} 99")
    assert len({before, other_settings, fingerprint(*QP, "omlt")}) == 3
