"""The command lines that train networks."""

from __future__ import annotations

import sys

import pytest

from benchmarks.problems.commitment import load_commitment_network
from benchmarks.problems.qp import load_qp_network, network_path
from benchmarks.problems.trained import NETWORKS_VARIABLE

pytest.importorskip("torch")

from benchmarks.problems import train_avoidance, train_commitment, train_qp
from benchmarks.problems.training_command import run_training


@pytest.mark.parametrize(
    ("words", "said"),
    [([], ["0 in 7", "1 in 7"]), (["1"], ["1 in 7"]), (["1", "0", "--epochs", "3"], ["1 in 3", "0 in 3"])],
)
def test_names_and_steps(monkeypatch, capsys, words, said):
    monkeypatch.setattr(sys, "argv", ["train", *words])
    run_training("", range(2), 7, lambda number, steps: f"{number + 0} in {steps}", unit="epochs")
    assert capsys.readouterr().out.splitlines() == said


def test_a_trained_network_is_where_it_is_looked_for(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("benchmarks.problems.trained.NETWORKS", tmp_path)
    monkeypatch.setattr(sys, "argv", ["train", "cost", "--steps", "2"])
    train_commitment.main()
    assert "commitment cost: validation error" in capsys.readouterr().out
    assert load_commitment_network("cost").widths == train_commitment.WIDTHS
    monkeypatch.setattr(sys, "argv", ["train", "2", "--steps", "1"])
    train_avoidance.main()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["avoidance_2.npz", "commitment_cost.npz"]


def test_a_missing_network_is_trained_into_the_folder_of_ones_own(monkeypatch, tmp_path):
    monkeypatch.setenv(NETWORKS_VARIABLE, str(tmp_path / "made" / "own"))
    monkeypatch.setattr(sys, "argv", ["train", "7x1", "--trials", "3", "--steps", "1", "--batch", "10"])
    train_qp.main()
    path = network_path(7, 1, 3)
    assert path == tmp_path / "made" / "own" / "qp_7x1_3.npz"
    assert load_qp_network(7, 1, 3).widths == (7,)
