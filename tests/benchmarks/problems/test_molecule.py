"""Molecules of atoms and bonds."""

from __future__ import annotations

import numpy as np
import pytest

import dcembed
from benchmarks.problems.molecule import (
    NUM_INPUTS,
    NUM_SLOTS,
    WIDTHS,
    Molecule,
    boiling_point,
    build_molecule,
    describe,
    draw_molecule,
    hydrogens,
    load_molecule,
)
from dcembed.embedded.verify import predict
from dcembed.program.derive import keep_rows
from problems import quiet


def chain(*kinds: int, order: float = 1.0) -> Molecule:
    orders = np.zeros((NUM_SLOTS, NUM_SLOTS))
    for i in range(len(kinds) - 1):
        orders[i, i + 1] = orders[i + 1, i] = order if i == 0 else 1.0
    return Molecule(np.array([*kinds, *[-1] * (NUM_SLOTS - len(kinds))]), orders)


def test_known_molecules_have_their_hydrogens_and_connectivity():
    butane, butanol, butene = chain(0, 0, 0, 0), chain(0, 0, 0, 0, 2), chain(0, 0, 0, 0, order=2.0)
    assert hydrogens(butane)[:4].tolist() == [3, 2, 2, 3]
    assert hydrogens(butene).sum() == 8
    # Randic's index of butane is 1.914.
    assert boiling_point(butane) == pytest.approx(1.5 + 1.1 * 1.9142, abs=1e-3)
    assert boiling_point(butanol) > boiling_point(chain(0, 0, 0, 0, 0)) + 1.0


def test_what_is_drawn_satisfies_all_rows_but_the_limits_of_an_instance():
    instance, rng = build_molecule(0), np.random.default_rng(2)
    # The last two rows are mass and logP.
    plain = keep_rows(instance.program, np.arange(instance.program.num_rows - 2))
    seen = set()
    for _ in range(200):
        molecule = draw_molecule(rng)
        features = describe(molecule)
        w = predict(instance.embeddings, np.concatenate([features, hydrogens(molecule), [0.0]]))
        if features[-5] >= 4:
            assert dcembed.verify(plain, instance.embeddings, w).violation <= 1e-9
        seen.add(int(features[-1]))
    assert seen == {0, 1, 2}


@pytest.mark.parametrize("seed", range(5))
def test_butane_is_always_feasible(seed):
    instance = build_molecule(seed)
    assert dcembed.verify(instance.program, instance.embeddings, instance.starts[0]).violation <= 1e-9
    assert instance.program.num_integers == 130


def test_the_stored_network_has_its_shape_and_has_learned():
    network = load_molecule()
    assert (network.num_inputs, network.widths, network.num_outputs) == (NUM_INPUTS, WIDTHS, 1) == (135, (43, 10), 1)
    rng = np.random.default_rng(5)
    drawn = [draw_molecule(rng) for _ in range(500)]
    values = np.array(list(map(boiling_point, drawn)))
    assert np.mean((network(np.array(list(map(describe, drawn))))[:, 0] - values) ** 2) < 0.1 * np.var(values)


def test_a_few_steps_find_something_that_boils_higher():
    instance = build_molecule(1)
    (start,) = instance.starts
    result = dcembed.solve(instance.program, instance.embeddings, start, quiet(max_iterations=2))
    assert result.is_feasible
    assert result.objective < instance.program.objective(start)


def test_a_seed_has_the_same_limits_and_another_one_has_others():
    one, again, other = (build_molecule(seed).program.row_ub for seed in (1, 1, 2))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


def test_training_gets_closer():
    pytest.importorskip("torch")
    from benchmarks.problems import train_molecule

    fitted = train_molecule.train(num_steps=60, num_samples=600)
    assert fitted.error < 0.7
    assert fitted.network.widths == load_molecule().widths
