"""The class that a network predicts, in a gurobipy model: binaries and indicator constraints that Gurobi sees as well."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import gurobipy as gp
import numpy as np

from dcembed.arrays import Array
from dcembed.frontends.classes import ClassRules


@dataclass(eq=False)
class Added:
    """What a predictor added to a model; emptied when it is removed."""

    vars: list[gp.Var] = field(default_factory=list)
    constrs: list[gp.Constr] = field(default_factory=list)
    genconstrs: list[gp.GenConstr] = field(default_factory=list)
    sos: list[gp.SOS] = field(default_factory=list)

    def match(self, model: gp.Model, twin: gp.Model) -> Added:
        """The same in a copy of the model."""
        readers = gp.Model.getVars, gp.Model.getConstrs, gp.Model.getGenConstrs, gp.Model.getSOSs
        parts = self.vars, self.constrs, self.genconstrs, self.sos
        return Added(*(_counterparts(part, read(model), read(twin)) for part, read in zip(parts, readers, strict=True)))


def add_classes(model: gp.Model, rules: ClassRules, scores: gp.MVar, prefix: str, added: Added) -> gp.MVar:
    """Binaries (k, n_out) of the classes that belong to `scores` (k, n_scores)."""
    k = scores.shape[0]
    binaries = model.addMVar((k, rules.num_binaries), vtype=gp.GRB.BINARY, name=f"{prefix}class")
    added.vars += as_entries(binaries).reshape(-1).tolist()
    for row in range(k):
        chosen, score = as_entries(binaries)[row], as_entries(scores)[row]
        for group in rules.groups:
            added.constrs.append(model.addConstr(gp.quicksum(chosen[group]) == 1, name=f"{prefix}one_class[{row}]"))
        for binary, gain in zip(rules.binary, rules.gain, strict=True):
            lead = gp.LinExpr([(gain[j], score[j]) for j in np.flatnonzero(gain)])
            rule = model.addGenConstrIndicator(
                chosen[binary], True, lead, gp.GRB.GREATER_EQUAL, rules.margin, name=f"{prefix}leads[{row},{binary}]"
            )
            added.genconstrs.append(rule)
    return binaries[:, : rules.num_outputs]


def tie(model: gp.Model, outputs: gp.MVar, classes: gp.MVar, prefix: str, added: Added) -> None:
    """Outputs that the user gave, of whatever type, equal to the classes."""
    rows = zip(as_entries(outputs).reshape(-1), as_entries(classes).reshape(-1), strict=True)
    added.constrs += [model.addConstr(output == binary, name=f"{prefix}is_class[{number}]") for number, (output, binary) in enumerate(rows)]


def as_entries(variables: gp.MVar) -> Array:
    """An object array of the variables."""
    return np.array(variables.tolist(), dtype=object).reshape(variables.shape)


def _counterparts(part: list[Any], mine: list[Any], theirs: list[Any]) -> list[Any]:
    """By place: each thing of a model is one object, and a general constraint does not know its number."""
    place = {id(thing): number for number, thing in enumerate(mine)}
    return [theirs[place[id(thing)]] for thing in part]
