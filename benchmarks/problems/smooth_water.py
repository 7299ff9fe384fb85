"""Water treatment with a smooth classifier, trained like the other one but for its activation.

Its weights are stored; the samples are not, so that the candidates are found again from the data: those of label 0 that it rejects.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.problems.data import data_file
from benchmarks.problems.instance import Instance
from benchmarks.problems.trained import load_trained, network_file
from benchmarks.problems.water import MARGIN, NUM_FEATURES, budgets, treatment_instance
from dcembed import Network


def smooth_path(activation: str) -> Path:
    """Where a classifier is."""
    return network_file(f"water_{activation}.npz")


def load_smooth_classifier(activation: str) -> Network:
    """A classifier on raw features, whose output is the logit; the error has the command that trains it."""
    return load_trained(smooth_path(activation), f"train_water --activation {activation}")


def build_smooth_water(activation: str, num_samples: int, cohort: int) -> Instance:
    """The first samples of a cohort under the budgets of the paper."""
    network = load_smooth_classifier(activation)
    table = np.genfromtxt(data_file("water_quality.csv"), delimiter=",", skip_header=1)
    features = table[:, :NUM_FEATURES]
    pool = np.flatnonzero((table[:, -1] == 0) & (network(features)[:, 0] < MARGIN))
    samples = features[np.random.RandomState(cohort).permutation(pool)[:num_samples]]
    return treatment_instance(network, samples, np.concatenate(budgets()), f"water {activation} N={num_samples} cohort {cohort}")
