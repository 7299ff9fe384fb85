"""`dcembed doctor`: what is here, what works, what is missing, and how to add it."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from dcembed import doctor
from dcembed.cli import main
from dcembed.errors import SolverLimitError
from dcembed.solvers import BACKENDS
from dcembed.solvers.base import SolverFailure

PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def test_it_says_what_is_here_in_79_columns(capsys):
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("dcembed ")
    assert max(map(len, lines)) <= 79
    for name in BACKENDS:
        assert any(line.startswith(f"  {name} ") for line in lines)
    assert next(line for line in lines if line.startswith("  highs ")).endswith("works, for LP, MILP")


def test_every_extra_of_the_package_is_named():
    extras = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert {extra.name for extra in doctor.EXTRAS} == set(extras) - {"docs", "bench", "test", "dev"}
    for extra in doctor.EXTRAS:
        assert any(needed.lower().startswith(extra.package.lower()) for needed in extras[extra.name])


def test_what_is_missing_has_its_command(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "find_version", lambda package: None)
    monkeypatch.setattr(doctor, "is_installed", lambda backend: backend.name in ("highs", "piqp"))
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert 'not installed: pip install "dcembed[scip]"' in out
    assert 'as in: pip install "dcembed[torch]"' in out


class Broken:
    """A solver that fails, or that its licence leaves at a size."""

    def __init__(self, error: Exception, size: int) -> None:
        self._error, self._size = error, size

    def __call__(self, program, options):
        if program.num_columns >= self._size:
            raise self._error
        return BACKENDS["highs"].open(program, options)


@pytest.mark.parametrize(
    ("error", "size", "words"),
    [
        (SolverFailure("no library"), 1, "fails: no library"),
        (SolverLimitError("too large"), 100, "its licence is for small problems"),
        (SolverFailure("no memory"), 100, "but fails on larger problems"),
    ],
)
def test_a_solver_that_does_not_work_is_found_out(error, size, words):
    said = doctor.try_backend(replace(BACKENDS["highs"], open=Broken(error, size)))
    assert words in said
    assert said.startswith("works") == (size > 1)


def test_without_a_solver_for_every_run_the_exit_code_says_so(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "is_installed", lambda backend: False)
    assert main(["doctor"]) == 1
    assert "not installed: pip install highspy" in capsys.readouterr().out
