"""Completion by the shell itself: bash sources the script and says what it would offer."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from dcembed.cli import main
from dcembed.solvers.table import BACKENDS

ASK = """
source ./script
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
COMP_LINE="$*"
COMP_POINT=${#COMP_LINE}
registered=$(complete -p dcembed)
for word in $registered; do [ "$before" = -F ] && called=$word; before=$word; done
"$called" dcembed "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def offered(tmp_path, capsys):
    """A function from the words of a line, the last of which is not complete, to what bash offers for it."""
    pytest.importorskip("shtab")
    if shutil.which("bash") is None:
        pytest.skip("needs bash")
    assert main(["completion", "bash"]) == 0
    (tmp_path / "script").write_text(capsys.readouterr().out)
    for name in ("host.lp", "host.mps.gz", "net.onnx", "net.npz", "notes.txt", "list.toml", "out.json"):
        (tmp_path / name).touch()
    (tmp_path / "models").mkdir()

    def ask(*words):
        command = ["bash", "--norc", "--noprofile", "-c", ASK, "bash", "dcembed", *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert done.stderr == ""
        return {line.strip().rstrip("/") for line in done.stdout.split("\n") if line.strip()}

    return ask


def test_commands_are_completed(offered):
    assert offered("so") == {"solve"}
    assert offered("") >= {"solve", "info", "doctor", "completion"}
    assert offered("completion", "") >= {"bash", "zsh", "fish"}


def test_options_are_completed(offered):
    assert offered("solve", "--tim") == {"--time-limit"}
    assert offered("solve", "host.lp", "--so") == {"--solver", "--solver-option", "--solution"}
    assert offered("info", "--in") == {"--input-shape"}
    assert offered("info", "--tim") == set()


def test_values_are_completed(offered):
    assert offered("solve", "--solver", "") >= set(BACKENDS)
    assert offered("solve", "--solver", "hi") == {"highs"}


def test_files_are_completed_by_what_they_are_for(offered):
    assert offered("solve", "ho") == {"host.lp", "host.mps.gz"}
    assert offered("solve", "host.lp", "--network", "n") == {"net.onnx", "net.npz"}
    assert offered("solve", "host.lp", "--embeddings", "l") == {"list.toml"}
    assert offered("solve", "host.lp", "--start", "o") == {"out.json"}
    assert offered("info", "n") == {"net.onnx", "net.npz"}
    assert "models" in offered("info", "m")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_one_that_it_reads(shell, tmp_path, capsys):
    pytest.importorskip("shtab")
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(word in script for word in ("solve", "doctor", "time-limit", "highs"))
    if shutil.which(shell) is not None:
        (tmp_path / "script").write_text(script)
        done = subprocess.run([shell, "-n", "script"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")


def test_without_shtab_the_message_has_the_command(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 2
    expected = 'dcembed: Completion needs shtab, which writes the script. Install it with: pip install "dcembed[completion]"\n'
    assert capsys.readouterr().err == expected


def test_solving_does_not_wait_for_the_library():
    code = "import sys; from dcembed.cli import main; main(['solve', '--help']); sys.exit('shtab' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60).returncode == 0
