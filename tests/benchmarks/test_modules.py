"""Every module of the benchmarks can be imported, those too that no other test runs."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import benchmarks

NAMES = sorted(module.name for module in pkgutil.walk_packages(benchmarks.__path__, "benchmarks.") if not module.name.endswith("__main__"))


@pytest.mark.parametrize("name", NAMES)
def test_a_module_can_be_imported(name):
    importlib.import_module(name)
