"""Help that fits a screen, with examples that run as they are typed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dcembed.cli import main
from dcembed.cli.command import build_parser

ROOT = Path(__file__).resolve().parent.parent.parent
# Lines of a screen of 80 columns.
LINES = {"": 24, "solve": 40, "info": 24, "doctor": 24, "completion": 24}


def show(command, capsys):
    assert main([*command.split(), "--help"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("command", LINES)
@pytest.mark.parametrize("columns", ["40", "80", "200"])
def test_help_fits_a_screen(command, columns, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    lines = show(command, capsys).rstrip().split("\n")
    assert len(lines) <= LINES[command]
    assert [line for line in lines if len(line) > 80] == []


def commands():
    return next(action for action in build_parser()._actions if action.dest == "command").choices


def test_every_command_and_option_is_in_the_help(capsys):
    whole = show("", capsys)
    assert set(commands()) == {command for command in LINES if command}
    for name, parser in commands().items():
        assert re.search(rf"^    {name}  +\w", whole, re.MULTILINE), name
        text = show(name, capsys)
        options = [option for action in parser._actions for option in action.option_strings if option not in ("-h", "--help")]
        # One line for each, with its words in it.
        assert [option for option in options if not re.search(rf"^  {option}( \S.*)?  +\S", text, re.MULTILINE)] == []


def test_the_options_of_solve_are_in_groups(capsys):
    assert re.findall(r"^(\S.*):$", show("solve", capsys), re.MULTILINE) == [
        "problem",
        "start",
        "time and proof",
        "output",
        "examples, in the folder of the repository",
    ]


def examples(command, capsys):
    """The commands of the help, as they stand there."""
    block = show(command, capsys).partition("in the folder of the repository:\n")[2].replace("\\\n", "")
    return [line.strip() for line in block.split("\n") if line.startswith("  dcembed ")]


@pytest.mark.skipif(sys.platform == "win32", reason="a shell")
@pytest.mark.parametrize("command", ["", "solve", "info"])
def test_the_examples_run_as_they_are_typed(command, capsys, tmp_path):
    pytest.importorskip("onnx")
    lines = examples(command, capsys)
    assert len(lines) >= 2
    (tmp_path / "dcembed").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dcembed "$@"\n')
    (tmp_path / "dcembed").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    for line in lines:
        done = subprocess.run(["sh", "-c", line], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600)
        assert (done.returncode, done.stderr) == (0, ""), line
        assert done.stdout


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (
            ["solve", "a.lp", "--timelimit", "3"],
            "dcembed solve: unrecognized arguments: --timelimit 3; did you mean --time-limit? (see dcembed solve --help)",
        ),
        (["solve", "a.lp", "--nothing-like-it"], "dcembed solve: unrecognized arguments: --nothing-like-it (see dcembed solve --help)"),
        (
            ["info", "a.onnx", "--input-shapes=3"],
            "dcembed info: unrecognized arguments: --input-shapes=3; did you mean --input-shape? (see dcembed info --help)",
        ),
    ],
)
def test_an_option_that_does_not_exist_is_told_with_the_one_that_was_meant(argv, said, capsys):
    assert main(argv) == 2
    assert said in capsys.readouterr().err
