"""Networks of a set of which some members are chosen, as those of Neur2RO and Neur2BiLO: an encoder for every member, sums, and a head.

    f(x) = head( (1/n) sum_i x_i e(features_i),  (1/n) sum_i (1 - x_i) g(features_i) ),    (e, g) = encoder(features_i)

For binaries x this is the same as encoding (features_i, x_i). Features are constants of an instance, so that the encoder is run once and the
sums are affine in x: what is embedded is the head alone, with one hidden layer.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.problems.trained import load_trained, network_file
from dcembed import AffineInputs, Network

# Units of the encoder's hidden layer, numbers that it gives for a chosen and as many for another member, units of the head.
ENCODER_WIDTH, CODE_SIZE, HEAD_WIDTH = 32, 8, 64
PARTS = ("encoder", "head")


def encoder_path(problem: str, part: str) -> Path:
    """Where the encoder or the head of a problem is."""
    return network_file(f"{problem}_{part}.npz")


def load_part(problem: str, part: str) -> Network:
    """The encoder or the head of a problem; the error has the command that trains both."""
    return load_trained(encoder_path(problem, part), f"train_{problem}")


def encode(encoder: Network, features: np.ndarray, columns: np.ndarray, num_columns: int) -> AffineInputs:
    """Inputs of the head for k sets of n members, features (k, n, m), of which the binaries in `columns` (n,) choose some."""
    sets, members, size = features.shape
    codes = encoder(features.reshape(-1, size)).reshape(sets, members, 2, CODE_SIZE) / members
    chosen, others = codes[:, :, 0], codes[:, :, 1]
    # Entry (k, c) of the inputs: codes of the chosen first, then those of the others.
    slopes = np.concatenate([chosen, -others], axis=2).transpose(0, 2, 1).reshape(-1)
    rows = np.repeat(np.arange(sets * 2 * CODE_SIZE), members)
    matrix = sp.csr_array((slopes, (rows, np.tile(columns, sets * 2 * CODE_SIZE))), shape=(sets * 2 * CODE_SIZE, num_columns))
    return AffineInputs(matrix, np.concatenate([np.zeros((sets, CODE_SIZE)), others.sum(axis=1)], axis=1))
