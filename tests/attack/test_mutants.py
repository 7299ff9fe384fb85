"""Broken files are refused in one line, within a second and 200 MB; a short run of the mutator."""

from __future__ import annotations

import sys

import pytest

pytest.importorskip("onnx")
pytest.importorskip("safetensors")
pytest.importorskip("torch")

from tests.attack.mutants import SLOW, mutate, run
from tests.attack.specimens import make_specimens

from repetitions import IS_LONG


def test_mutants_are_the_same_for_the_same_seed():
    for specimen in make_specimens():
        mutants = [mutate(specimen.content, seed, specimen.name) for seed in range(20)]
        assert mutants == [mutate(specimen.content, seed, specimen.name) for seed in range(20)], specimen.name
        assert sum(mutant != specimen.content for mutant in mutants) > 15, specimen.name


@pytest.mark.skipif(sys.platform == "win32", reason="measures memory the Unix way")
def test_no_mutant_gets_through():
    report = run(seconds=60, seed=1, most=800 if IS_LONG else 400)
    assert [failure for failure in report.failures if not failure.problem.startswith(SLOW)] == []
    assert report.refused > report.read > 0
