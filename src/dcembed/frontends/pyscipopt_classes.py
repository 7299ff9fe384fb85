"""The outputs of a predictor in a PySCIPOpt model; those of classes are binaries and indicator constraints that SCIP sees as well."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyscipopt

from dcembed.arrays import Array
from dcembed.frontends.classes import ClassRules
from dcembed.frontends.output_type import Reading


@dataclass(frozen=True)
class Added:
    """How much a predictor added to a model, and the constraints, which go with it."""

    num_variables: int = 0
    num_binaries: int = 0
    constraints: tuple[Any, ...] = ()

    @property
    def num_constraints(self) -> int:
        """How many constraints were added."""
        return len(self.constraints)


def add_outputs(
    scip: pyscipopt.Model, shape: tuple[int, int], given: Array | None, rules: ClassRules | None, reading: Reading, prefix: str
) -> tuple[Array, Array, Added]:
    """The variables of the predictions, those that the user sees as outputs, and how much was added for them."""
    if reading.is_direct:
        scores = _create(scip, shape, f"{prefix}out") if given is None else given
        return scores, scores, Added(scores.size if given is None else 0)
    scores = _create(scip, shape, f"{prefix}score")
    if rules is not None:
        classes, constraints = _add_classes(scip, rules, scores, prefix)
        num_binaries = shape[0] * rules.num_binaries
        if given is not None:
            constraints += _tie(scip, given, classes, prefix)
        return scores, classes if given is None else given, Added(scores.size + num_binaries, num_binaries, tuple(constraints))
    output = _create(scip, shape, f"{prefix}probability", lb=0, ub=1) if given is None else given
    return scores, output, Added(scores.size + (scores.size if given is None else 0))


def _add_classes(scip: pyscipopt.Model, rules: ClassRules, scores: Array, prefix: str) -> tuple[Array, list[Any]]:
    """Binaries (k, n_out) of the classes that belong to `scores` (k, n_scores), and the constraints that say so."""
    constraints: list[Any] = []
    binaries = _create(scip, (scores.shape[0], rules.num_binaries), f"{prefix}class", vtype="B", lb=0, ub=1)
    for row, (chosen, score) in enumerate(zip(binaries, scores, strict=True)):
        sums = [pyscipopt.quicksum(chosen[j] for j in group) for group in rules.groups]
        constraints += [scip.addCons(total == 1, name=f"{prefix}one_class_{row}") for total in sums]
        for number, (binary, gain) in enumerate(zip(rules.binary, rules.gain, strict=True)):
            behind = pyscipopt.quicksum(-float(gain[j]) * score[j] for j in np.flatnonzero(gain))
            name = f"{prefix}leads_{row}_{number}"
            constraints.append(scip.addConsIndicator(behind <= -rules.margin, binvar=chosen[binary], name=name))
    return binaries[:, : rules.num_outputs], constraints


def _tie(scip: pyscipopt.Model, outputs: Array, classes: Array, prefix: str) -> list[Any]:
    """Outputs that the user gave, of whatever type, equal to the classes."""
    pairs = zip(outputs.reshape(-1), classes.reshape(-1), strict=True)
    return [scip.addCons(output - binary == 0, name=f"{prefix}is_class_{number}") for number, (output, binary) in enumerate(pairs)]


def _create(scip: pyscipopt.Model, shape: tuple[int, int], name: str, vtype: str = "C", lb: Any = None, ub: Any = None) -> Array:
    variables: Array = scip.addMatrixVar(shape, vtype=vtype, lb=lb, ub=ub, name=name)
    return variables
