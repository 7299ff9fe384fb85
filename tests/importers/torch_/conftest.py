"""Files of torch that tests break."""

from __future__ import annotations

import zipfile

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
    def write(members, name="changed.pt2", **options):
        path = tmp_path / name
        with zipfile.ZipFile(path, "w", **options) as archive:
            for member, content in members.items():
                archive.writestr(member, content)
        return path

    return write
