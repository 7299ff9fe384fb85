"""The examples in the docstrings of the package print what they show."""

from __future__ import annotations

import ast
import doctest
import importlib
from pathlib import Path
from types import ModuleType

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src"


def _find_modules() -> list[str]:
    """The modules with examples, found without importing anything."""
    files = [path for path in sorted((SOURCE / "dcembed").rglob("*.py")) if ">>> " in path.read_text()]
    return [".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__") for path in files]


def _try_import(name: str) -> ModuleType | None:
    """None where an optional package is not installed; a broken import of our own is an error."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if (error.name or "").partition(".")[0] == "dcembed":
            raise
        return None


def _imported_by(test: doctest.DocTest) -> set[str]:
    """What the examples of a docstring import."""
    nodes = [node for example in test.examples for node in ast.walk(ast.parse(example.source))]
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    return set(names)


@pytest.mark.parametrize("name", _find_modules())
def test_the_examples_of_a_module_print_what_they_show(name):
    module = _try_import(name)
    if module is None:
        pytest.skip(f"{name} needs a package that is not installed")
    tests = [test for test in doctest.DocTestFinder().find(module, name) if test.examples]
    assert tests, f"{name} has '>>>' in its source, but no example in a docstring."
    possible = [test for test in tests if all(_try_import(package) for package in _imported_by(test))]
    if not possible:
        pytest.skip(f"the examples of {name} need packages that are not installed")
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    report: list[str] = []
    for test in possible:
        runner.run(test, out=report.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(report)


def test_the_calls_a_newcomer_meets_first_have_examples():
    modules = _find_modules()
    assert {"dcembed.network.network", "dcembed.network.builder", "dcembed.network.bounds"} <= set(modules)
    assert {"dcembed.importers", "dcembed.importers.weights.arrays_", "dcembed.program.program"} <= set(modules)
