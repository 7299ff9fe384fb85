"""The class that a network predicts, by binaries of the output layer only: which binaries there are and what each demands of the scores.

For the largest of several scores, z_j = 1 demands t_j - t_i >= margin for every other i, and the z_j of one evaluation add up to 1. For a
score that stands for two classes, z = 1 demands t >= margin and 1 - z = 1, a binary of its own, -t >= margin. The host sees them as
indicator constraints.

The framework breaks a tie by its own rule, and a solver meets constraints up to a tolerance only. So scores closer than the margin
belong to no class here; `epsilon` sets it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcembed.arrays import Array
from dcembed.errors import InputError

# Ten times the violation that a feasible point may have by default: what is a class here is that class to the framework as well.
MARGIN = 1e-4


@dataclass(frozen=True, eq=False)
class ClassRules:
    """The binaries of one evaluation.

    Parameters
    ----------
    num_outputs
        The first of the binaries are the outputs, the others their complements.
    groups
        Binaries of which exactly one is 1.
    binary
        Which binary each rule belongs to, shape (r,).
    gain
        Shape (r, n_scores): while the binary is 1, gain @ scores >= margin.
    margin
        By how much the scores of a class lead.
    """

    num_outputs: int
    groups: list[list[int]]
    binary: Array
    gain: Array
    margin: float

    @property
    def num_binaries(self) -> int:
        """Of one evaluation."""
        return sum(map(len, self.groups))


def class_rules(num_scores: int, argmax: bool, epsilon: float | None) -> ClassRules:
    """The largest of the scores, or each score by its sign."""
    if epsilon is not None and not (isinstance(epsilon, int | float | np.number) and 0.0 <= epsilon < np.inf):
        raise InputError(f"add_predictor_constr: epsilon is {epsilon!r}; the margin between two classes is a number, at least 0.")
    margin = MARGIN if epsilon is None else float(epsilon)
    unit = np.eye(num_scores)
    if not argmax:
        pairs = [[j, num_scores + j] for j in range(num_scores)]
        return ClassRules(num_scores, pairs, np.arange(2 * num_scores), np.vstack([unit, -unit]), margin)
    duels = [(j, i) for j in range(num_scores) for i in range(num_scores) if i != j]
    gain = np.array([unit[j] - unit[i] for j, i in duels])
    return ClassRules(num_scores, [list(range(num_scores))], np.array([j for j, _ in duels]), gain, margin)


def classes_of(scores: Array, argmax: bool) -> Array:
    """The outputs (k, n_out), zeros and ones, that belong to scores; ties as scikit-learn breaks them."""
    chosen: Array = np.eye(scores.shape[1])[scores.argmax(axis=1)] if argmax else (scores > 0).astype(np.float64)
    return chosen
