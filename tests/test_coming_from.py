"""The pages in docs/coming_from show the scripts beside them and what these print; with dcembed a plan is as good as before, and holds."""

from __future__ import annotations

import functools
import importlib.util
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "coming_from"

# What the scripts of a page import, and the network that they optimize over.
PACKAGES = {
    "gurobi_ml": ("gurobipy", "gurobi_ml", "onnx"),
    "omlt": ("omlt", "pyomo", "onnx"),
    "pyscipopt_ml": ("pyscipopt", "pyscipopt_ml", "onnx"),
    "casadi": ("casadi",),
    "dccp": ("dccp", "cvxpy", "clarabel", "onnx"),
}
SMOOTH = ("casadi",)
TOOLS = sorted(PACKAGES)
KINDS = ("before", "after")

AREA, SOIL = np.array([10.0, 14.0, 8.0]), np.array([0.2, 0.5, 0.9])
# Exact solvers end within 1e-4 of the optimum, relative to it, and plans are printed with five digits.
CLOSE, PRINTED = 5e-3, 1e-3


@dataclass(frozen=True)
class Shown:
    """A script as a page shows it."""

    code: str
    printed: str


def read_page(tool):
    """What is shown of both scripts, by their names."""
    blocks = re.findall(r"`(\w+\.py)`:\n\n```python\n(.*?)```\n\n```text\n(.*?)```", (FOLDER / f"{tool}.md").read_text(), re.DOTALL)
    return {name: Shown(code, printed) for name, code, printed in blocks}


@functools.cache
def run(tool, kind):
    """What a script prints."""
    for package in PACKAGES[tool]:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    path = FOLDER / f"{tool}_{kind}.py"
    ended = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=300, cwd=ROOT)
    if ended.returncode != 0 and "GurobiError" in ended.stderr and "license" in ended.stderr.lower():
        pytest.skip("Gurobi has no licence that carries this model")
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def find_line(printed):
    lines = re.findall(r"^objective .*$", printed, re.MULTILINE)
    assert len(lines) == 1, printed
    return lines[0]


NUMBER = r"-?\d+(?:\.\d*)?(?:e[-+]?\d+)?"


def read_objective(printed):
    return float(re.match(rf"objective ({NUMBER})", find_line(printed))[1])


def read_plan(printed):
    """Water and nitrogen of the three fields."""
    plan = [np.array(re.findall(NUMBER, re.search(rf"{name} \[(.*?)\]", printed)[1]), dtype=float) for name in ("water", "nitrogen")]
    assert [values.shape for values in plan] == [(3,), (3,)]
    return plan


def load_layers(tool):
    """The weights of the network, read without dcembed."""
    if tool in SMOOTH:
        stored = np.load(FOLDER / "harvest_tanh.npz")
        return [(stored[f"W{number}"], stored[f"b{number}"]) for number in (1, 2, 3)]
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    stored = {
        tensor.name: onnx.numpy_helper.to_array(tensor).astype(float) for tensor in onnx.load(FOLDER / "harvest.onnx").graph.initializer
    }
    return [(stored[f"W{number}"], stored[f"b{number}"]) for number in (1, 2, 3)]


def predict(tool, water, nitrogen):
    """The harvest of each field, in plain numpy."""
    hidden = np.column_stack([water, nitrogen, SOIL])
    *layers, (weights, bias) = load_layers(tool)
    for inner, inner_bias in layers:
        values = hidden @ inner.T + inner_bias
        hidden = np.tanh(values) if tool in SMOOTH else np.maximum(values, 0.0)
    return (hidden @ weights.T + bias)[:, 0]


def test_every_page_has_its_scripts_and_is_in_the_index():
    pages = sorted(path.stem for path in FOLDER.glob("*.md") if path.stem != "index")
    assert pages == TOOLS
    scripts = sorted(path.name for path in FOLDER.glob("*.py") if not path.name.startswith("train_"))
    assert scripts == sorted(f"{tool}_{kind}.py" for tool in TOOLS for kind in KINDS)
    linked = re.findall(r"\]\((\w+)\.md\)", (FOLDER / "index.md").read_text())
    assert sorted(linked) == TOOLS
    assert "(docs/coming_from/index.md)" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("tool", TOOLS)
def test_a_page_shows_its_scripts_as_they_are(tool):
    shown = read_page(tool)
    assert list(shown) == [f"{tool}_{kind}.py" for kind in KINDS]
    for name, script in shown.items():
        assert script.code == (FOLDER / name).read_text(), f"{tool}.md shows another {name}"
    assert (FOLDER / f"{tool}.md").read_text().count("```python") == len(KINDS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tool", TOOLS)
def test_a_script_prints_what_its_page_shows(tool, kind):
    shown, printed = read_page(tool)[f"{tool}_{kind}.py"].printed, run(tool, kind)
    theirs, ours = find_line(shown), find_line(printed)
    assert re.sub(NUMBER, "#", ours) == re.sub(NUMBER, "#", theirs)
    np.testing.assert_allclose(
        np.array(re.findall(NUMBER, ours), dtype=float), np.array(re.findall(NUMBER, theirs), dtype=float), rtol=0, atol=CLOSE
    )
    # The lines are of the same kinds, whatever the numbers on them; what Gurobi says about its licence comes before them.
    kinds = [[re.match(r"\w+", line)[0] for line in text[text.index("objective ") :].splitlines()] for text in (printed, shown)]
    assert kinds[0] == kinds[1]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tool", TOOLS)
def test_a_plan_is_worth_what_its_script_says(tool, kind):
    printed = run(tool, kind)
    water, nitrogen = read_plan(printed)
    worth = 0.2 * AREA @ predict(tool, water, nitrogen) - 0.03 * AREA @ water - 0.1 * AREA @ nitrogen
    assert read_objective(printed) == pytest.approx(worth, abs=CLOSE)


@pytest.mark.parametrize("tool", TOOLS)
def test_with_dcembed_a_plan_is_no_worse_and_holds(tool):
    before, after = run(tool, "before"), run(tool, "after")
    assert read_objective(after) >= read_objective(before) - 1e-4 * abs(read_objective(before))
    assert "feasible: True" in after
    assert float(re.search(rf"violation ({NUMBER})", after)[1]) <= 1e-5
    water, nitrogen = read_plan(after)
    assert (water >= 0.0).all()
    assert (water <= 6.0).all()
    assert (nitrogen >= 0.0).all()
    assert (nitrogen <= 2.0).all()
    assert AREA @ water <= 70.0 + PRINTED
    assert AREA @ nitrogen <= 30.0 + PRINTED
    assert (predict(tool, water, nitrogen) >= 2.0 - PRINTED).all()
