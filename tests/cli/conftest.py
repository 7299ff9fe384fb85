"""A folder to run the command in."""

from __future__ import annotations

import pytest
from tests.frontends.hosts import milp_lp, qp_lp
from tests.frontends.problems import ConvexQP, NeuralMILP

import dcembed


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with hosts and networks, which is also the current one."""
    (tmp_path / "qp.lp").write_text(qp_lp())
    (tmp_path / "milp.lp").write_text(milp_lp())
    (tmp_path / "hopeless.lp").write_text("Minimize\n obj: y\nSubject To\n c: x0 + x1 >= 5\nBounds\n x0 <= 1\n x1 <= 1\n y free\nEnd\n")
    dcembed.save_network(ConvexQP.network, tmp_path / "net.npz")
    dcembed.save_network(NeuralMILP.network, tmp_path / "milp.npz")
    monkeypatch.chdir(tmp_path)
    return tmp_path
