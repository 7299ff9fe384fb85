"""Files are written whole or not at all, and nothing else is left beside them."""

from __future__ import annotations

import os
import signal
import stat
import time

import pytest

from dcembed import writing
from dcembed.errors import InputError
from dcembed.writing import write_text, write_whole


@pytest.fixture(params=["nameless", "named", "nameless for good"])
def kind(request, monkeypatch) -> str:
    """Where the system has files without names, and where it has none."""
    if request.param == "named":
        monkeypatch.setattr(writing, "_open_nameless", lambda folder: None)
    if request.param == "nameless for good":
        monkeypatch.setattr(writing, "_link", lambda descriptor, name: False)
    return request.param


def test_a_file_takes_the_place_of_what_was_there(tmp_path, kind):
    path = tmp_path / "a.txt"
    write_text(path, "one")
    assert path.read_text() == "one"
    # The mode is that of other files of the user's, and then that which the file has.
    (tmp_path / "b.txt").write_text("")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((tmp_path / "b.txt").stat().st_mode)
    path.chmod(0o600)
    write_text(path, "two")
    assert path.read_text() == "two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sorted(item.name for item in tmp_path.iterdir()) == ["a.txt", "b.txt"]


def test_what_fails_leaves_what_was_there(tmp_path, kind):
    path = tmp_path / "a.txt"
    path.write_text("one")

    def fail(stream):
        stream.write(b"tw")
        raise OSError(28, "No space left on device")

    with pytest.raises(InputError, match=r"a.txt cannot be written: No space left on device\."):
        write_whole(path, fail)
    assert path.read_text() == "one"
    assert [item.name for item in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE") or not hasattr(os, "fork"), reason="the system has no files without names")
def test_a_process_that_is_killed_while_it_writes_leaves_nothing(tmp_path):
    if writing._open_nameless(tmp_path) is None:
        pytest.skip("this folder has no files without names")
    path = tmp_path / "a.txt"
    path.write_text("one")
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:

        def stay(stream):
            stream.write(b"x" * 100_000)
            os.write(writer, b"!")
            time.sleep(60)

        write_whole(path, stay)
        os._exit(0)
    os.read(reader, 1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(reader)
    os.close(writer)
    assert path.read_text() == "one"
    assert [item.name for item in tmp_path.iterdir()] == ["a.txt"]
