"""Files of torch that tests break."""

from __future__ import annotations

import zipfile
from functools import partial

import pytest


@pytest.fixture
def saved(tmp_path):
    """The members of a good file."""
    torch = pytest.importorskip("torch")
    from importers.torch_.files import export_model

    torch.export.save(export_model(), tmp_path / "good.pt2")
    with zipfile.ZipFile(tmp_path / "good.pt2") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture
def write(tmp_path):
    pytest.importorskip("torch")
    from importers.torch_.files import write_members

    return partial(write_members, tmp_path)
