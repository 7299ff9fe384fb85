"""What the command line says about predictions before it solves: nothing that would surprise is left unsaid."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dcembed
from dcembed.cli import main

# f(a, b) = a - 3 b, which tells its inputs apart.
PLAIN = dcembed.build_mlp([np.array([[1.0, -3.0]])], [None])
HOST = "Minimize\n obj: y + 0 a + 0 b\nSubject To\n c: a + b <= 9\nBounds\n 0 <= a <= 1\n 0 <= b <= 2\n{}End\n"


@pytest.fixture
def named(tmp_path, monkeypatch):
    """A network that was fitted on b, then a, and hosts that have a, then b."""
    dcembed.save_network(replace(PLAIN, input_names=("b", "a")), tmp_path / "net.npz")
    (tmp_path / "free.lp").write_text(HOST.format(" y free\n"))
    (tmp_path / "default.lp").write_text(HOST.format(""))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("inputs", [["?"], ["a", "b"], ["b", "a"]])
def test_columns_with_the_names_of_features_are_put_in_their_order(named, inputs, capsys, tmp_path):
    host = tmp_path / "free.lp"
    host.write_text(host.read_text().replace("y", "why"))
    assert main(["solve", "free.lp", "--network", "net.npz", "--inputs", *inputs, "--outputs", "why", "--option", "max_starts=1"]) == 0
    said = capsys.readouterr().out
    assert "why = f(b, a)" in said
    # b - 3 a is least at a = 1, b = 0.
    assert "objective -3," in said


def test_names_of_features_are_shown(named, capsys):
    assert main(["info", "net.npz"]) == 0
    assert "named    b, a" in capsys.readouterr().out


def test_bounds_that_a_file_gives_without_a_word_are_said(named, capsys):
    run = ["--network", "net.npz", "--inputs", "a", "b", "--outputs", "y", "--option", "max_starts=1"]
    assert main(["solve", "default.lp", *run]) == 0
    said = capsys.readouterr().out
    assert "y >= 0, as columns of files are by default; 'y free' among the bounds lets predictions be negative" in said
    assert main(["solve", "free.lp", *run]) == 0
    assert "by default" not in capsys.readouterr().out
