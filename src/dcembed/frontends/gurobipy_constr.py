"""`PredictorConstr`: an embedded network in a gurobipy model, what was added for it, and its values after a solve."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import gurobipy as gp
import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.embedding import Embedding
from dcembed.embedded.region import Region
from dcembed.errors import InputError, NoSolutionError
from dcembed.frontends.batches import Batch, prediction_error
from dcembed.frontends.framework import predict_outputs
from dcembed.frontends.gurobipy_classes import Added, as_entries
from dcembed.frontends.gurobipy_entries import write_entries
from dcembed.frontends.gurobipy_model import adopt, release
from dcembed.frontends.gurobipy_state import registry
from dcembed.frontends.output_type import Reading
from dcembed.frontends.probability import NO_PROBABILITIES, Probabilities


class PredictorConstr:
    """An embedded network, and its values once the model is solved. Made by `add_predictor_constr`.

    Parameters
    ----------
    gp_model, predictor, network
        Where it is, what was given and what was read.
    scores
        The predictions of the network, an MVar of shape (k, n_out).
    output
        What the host uses, an MVar of shape (k, n_out): the scores, or the classes or probabilities that belong to them.
    output_type
        Which of these.
    support
        Where the inputs belong; None for anywhere.
    """

    def __init__(
        self,
        gp_model: gp.Model,
        predictor: Any,
        reading: Reading,
        batch: Batch,
        entries: Array,
        scores: gp.MVar,
        output: gp.MVar,
        added: Added,
        labels: tuple[Any, Any] | None,
        name: str,
        support: Region | None = None,
    ) -> None:
        self.gp_model = gp_model
        self.predictor = predictor
        self.network = reading.network
        self.scores = scores
        self.output = output
        self.output_type = reading.output_type
        self.name = name
        self.support = support
        self._reading = reading
        self._batch = batch
        self._entries = entries
        self._added = added
        self._labels = labels

    @property
    def input(self) -> gp.MVar | Array:
        """Inputs of shape (k, n_in): an MVar, or an object array where expressions or numbers are among them."""
        return gp.MVar.fromlist(self._entries.tolist()) if self._batch.is_plain else self._entries

    @property
    def input_values(self) -> Any:
        """Values of the inputs, shape (k, n_in); a DataFrame where they were given as one."""
        values = self._values()[0]
        if self._labels is None:
            return values
        import pandas

        return pandas.DataFrame(values, index=self._labels[0], columns=self._labels[1])

    @property
    def output_values(self) -> Array:
        """Values of the outputs, shape (k, n_out)."""
        return self._values()[1]

    @property
    def vars(self) -> list[gp.Var]:
        """The variables that were created: the outputs, unless they were given, and what classes and probabilities need."""
        return self._added.vars

    @property
    def constrs(self) -> list[gp.Constr]:
        """The linear constraints that were added: none, but for classes."""
        return self._added.constrs

    @property
    def genconstrs(self) -> list[gp.GenConstr]:
        """The general constraints that were added: none, but for classes."""
        return self._added.genconstrs

    @property
    def qconstrs(self) -> list[gp.QConstr]:
        """The quadratic constraints that were added: none."""
        return []

    @property
    def sos(self) -> list[gp.SOS]:
        """The SOS constraint that restricts nothing."""
        return self._added.sos

    def get_error(self, eps: float | None = None) -> Array:
        """|f(input) - output| at the solution, shape (k, n_out), where f is what the user's model says now; with `eps`, entries above it are printed."""
        inputs, outputs = self._values()
        return prediction_error(predict_outputs(self.predictor, self._reading, inputs), outputs, eps)

    def print_stats(self, abbrev: bool = False, file: Any = None) -> None:
        """Print what was embedded and what was added to the model."""
        k, n_in = self._batch.shape
        label = self.name or "predictor"
        if abbrev:
            counts = f"{len(self.vars):>12} {len(self.constrs):>12} {0:>12} {len(self.genconstrs):>12}"
            print(f"{label:13} {self.output.shape!s:>14} {counts}", file=file)
            return
        print(f"{label}: {self.network!r}, evaluated {k} time{'' if k == 1 else 's'}", file=file)
        num_binaries = sum(variable.VType == gp.GRB.BINARY for variable in self.vars)
        num_constraints = len(self.constrs) + len(self.genconstrs)
        print(
            f"{len(self.vars)} variables, {num_binaries} binaries and {num_constraints} constraints added, 1 SOS that restricts nothing",
            file=file,
        )
        print(f"Input has shape {(k, n_in)}", file=file)
        print(f"Output has shape {self.output.shape}", file=file)

    def remove(self) -> None:
        """Take out of the model what `add_predictor_constr` put in; given outputs stay."""
        registered = registry(self.gp_model)
        if self not in registered:
            return
        registered.remove(self)
        for kind in (self.sos, self.genconstrs, self.constrs, self.vars):
            self.gp_model.remove(kind)
            kind.clear()
        self.gp_model.update()
        if not registered:
            release(self.gp_model)

    def embed(self, columns: list[gp.Var]) -> Embedding:
        """The embedding over the variables of the model."""
        inputs = _find_columns(self._batch.variables, columns, "input")
        outputs = _find_columns(as_entries(self.scores).reshape(-1), columns, "output")
        return self._batch.embed(self.network, inputs, outputs.reshape(self.scores.shape), len(columns), self.support)

    def probabilities(self, columns: list[gp.Var]) -> Probabilities:
        """The outputs that are probabilities, and their scores."""
        used = [self.output, self.scores] if self.output_type == "probability" else []
        found = [_find_columns(as_entries(part).reshape(-1), columns, "output") for part in used]
        return Probabilities(*found) if found else NO_PROBABILITIES

    def copy_to(self, twin: gp.Model) -> None:
        """Embed the same network at the same place of a copy of the model."""
        mine, theirs = self.gp_model.getVars(), twin.getVars()
        variables = np.empty(len(self._batch.variables), dtype=object)
        variables[:] = self._batch.variables
        matched = copy(self)
        matched.gp_model = twin
        matched.scores, matched.output = (
            gp.MVar.fromlist(_match(as_entries(part), mine, theirs, "output").tolist()) for part in (self.scores, self.output)
        )
        matched._batch = replace(self._batch, variables=_match(variables, mine, theirs, "input").tolist())
        matched._entries = write_entries(matched._batch)
        matched._added = self._added.match(self.gp_model, twin)
        registry(twin).append(matched)
        adopt(twin)

    def _values(self) -> tuple[Array, Array]:
        try:
            values = np.array(self.gp_model.getAttr("X", self._batch.variables), dtype=np.float64)
            return self._batch.values(values), np.asarray(self.output.X)
        except (gp.GurobiError, AttributeError):
            message = "The model has no solution: it was not optimized, changed since, or no feasible point was found."
            raise NoSolutionError(f"{message} Call model.optimize() first.") from None


def _find_columns(variables: Any, columns: list[gp.Var], what: str) -> Array:
    """Numbers of variables among those of the model."""
    numbers = [variable.index for variable in variables]
    for number, variable in zip(numbers, variables, strict=True):
        if not 0 <= number < len(columns) or not columns[number].sameAs(variable):
            raise InputError(
                f"optimize: the {what} variable {variable!r} of a predictor is not in the model: it was removed, or belongs to another "
                "model. Call remove() on what add_predictor_constr returned."
            )
    return np.array(numbers, dtype=np.int64)


def _match(variables: Array, mine: list[gp.Var], theirs: list[gp.Var], what: str) -> Array:
    """The variables of a copy of the model in the places of those of the model."""
    matched = np.empty(variables.shape, dtype=object)
    matched.reshape(-1)[:] = [theirs[number] for number in _find_columns(variables.reshape(-1), mine, what)]
    return matched
