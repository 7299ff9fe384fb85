"""The contract of the rooms, who may import whom (`[tool.importlinter]` in pyproject.toml): it holds, and it can fail."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import grimp
import numpy as np
import pytest
import scipy.sparse as sp

ROOT = Path(__file__).resolve().parent.parent
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]

# Contract, room where the import is planted, what is imported.
FORBIDDEN = [
    ("layers", "network", "dcembed.program"),
    ("layers", "run", "dcembed.engine"),
    ("layers", "run", "dcembed.bounds"),
    ("layers", "bounds", "dcembed.engine"),
    ("layers", "bounds", "dcembed.baselines"),
    ("layers", "embedded", "dcembed.options"),
    ("hosts", "program", "dcembed.network"),
    ("hosts", "program", "dcembed.embedded"),
    ("hosts", "solvers", "dcembed.network"),
    ("hosts", "solvers", "dcembed.embedded"),
    ("importers", "importers", "dcembed.solvers"),
    ("frontends", "frontends", "dcembed.solvers"),
    ("frontends", "frontends", "keras"),
    ("frontends", "frontends", "onnx"),
    ("frontends", "frontends", "sklearn"),
    ("frontends", "frontends", "torch"),
    ("adapters", "frontends", "dcembed.importers.torch_"),
    ("baselines", "baselines", "dcembed.engine"),
]


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package, to plant imports in."""
    target = tmp_path / "dcembed"
    shutil.copytree(ROOT / "src" / "dcembed", target, ignore=shutil.ignore_patterns("__pycache__"))
    return target


def _lint(package: Path, *contracts: str) -> tuple[bool, str]:
    """Whether the contracts (all of them, if none is named) are kept by this copy, and what the linter says."""
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"]
    command += ["--config", str(ROOT / "pyproject.toml"), "--no-cache", *(f"--contract={name}" for name in contracts)]
    environment = {name: value for name, value in os.environ.items() if name != "FORCE_COLOR"}
    environment |= {"PYTHONPATH": str(package.parent), "NO_COLOR": "1", "COLUMNS": "200"}
    run = subprocess.run(command, capture_output=True, text=True, timeout=200, cwd=package.parent, env=environment, check=False)
    assert "Contracts:" in run.stdout, run.stdout + run.stderr
    return run.returncode == 0, run.stdout


def test_the_package_keeps_its_contracts(package):
    kept, said = _lint(package)
    assert kept, said


@pytest.mark.parametrize(("contract", "room", "imported"), FORBIDDEN, ids=lambda value: value)
def test_a_forbidden_import_breaks_its_contract(package, contract, room, imported):
    (package / room / "planted.py").write_text(f"import {imported}\n")
    kept, said = _lint(package, contract)
    assert not kept
    # Not some other import: this one.
    assert f"dcembed.{room}.planted -> {imported} (l.1)" in said


def test_imports_inside_functions_count(package):
    (package / "program" / "planted.py").write_text("def late():\n    import dcembed.network\n")
    kept, said = _lint(package, "hosts")
    assert not kept
    assert "dcembed.program.planted -> dcembed.network (l.2)" in said


def test_a_cycle_breaks_its_contract(package):
    (package / "network" / "planted_one.py").write_text("import dcembed.network.planted_two\n")
    (package / "network" / "planted_two.py").write_text("import dcembed.network.planted_one\n")
    kept, said = _lint(package, "cycles")
    assert not kept
    assert "No cycles are allowed in dcembed.network." in said
    assert ".planted_one -> .planted_two" in said or ".planted_two -> .planted_one" in said


def test_a_new_room_must_be_given_its_place(package):
    (package / "planted.py").write_text("")
    kept, said = _lint(package, "layers")
    assert not kept
    assert "planted" in said


def test_every_contract_is_shown_to_fail():
    assert {contract["id"] for contract in CONTRACTS} == {contract for contract, _, _ in FORBIDDEN} | {"cycles"}


def test_no_module_imports_itself_through_others():
    """The contract on cycles compares modules side by side; this one also sees those between a room and its own modules."""
    graph = grimp.build_graph("dcembed", cache_dir=None)
    names = sorted(graph.modules)
    number = {name: index for index, name in enumerate(names)}
    edges = np.array([(number[name], number[other]) for name in names for other in graph.find_modules_directly_imported_by(name)])
    matrix = sp.csr_array((np.ones(len(edges)), edges.T), shape=(len(names), len(names)))
    _, component = sp.csgraph.connected_components(matrix, connection="strong")
    cycles = [[name for name in names if component[number[name]] == label] for label in np.flatnonzero(np.bincount(component) > 1)]
    assert not cycles, f"These modules import one another: {cycles}"
