"""`add_predictor_constr` for gurobipy, with the arguments of gurobi-ml: what is embedded where in a gurobipy model.

A network adds no constraint that Gurobi sees. What is written down here is read by `gurobipy_.extract`.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import Any

import gurobipy as gp
import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.embedding import Embedding
from dcembed.errors import InputError, NoSolutionError
from dcembed.frontends.batches import Batch, LinearEntry, as_object, as_rows, check_variables, prediction_error, read_batch, stack
from dcembed.frontends.classes import ClassRules, class_rules
from dcembed.frontends.feature_names import by_name
from dcembed.frontends.foreign_keywords import ignore_foreign
from dcembed.frontends.framework import predict_outputs
from dcembed.frontends.gurobipy_classes import Added, add_classes, as_entries, tie
from dcembed.frontends.gurobipy_model import adopt, release
from dcembed.frontends.gurobipy_state import registry
from dcembed.frontends.links import opened, without_link
from dcembed.frontends.output_type import OutputType, is_argmax, read_output_type
from dcembed.frontends.probability import NO_PROBABILITIES, Probabilities
from dcembed.frontends.registered import find_registered
from dcembed.importers import load_network
from dcembed.network.network import Network

_ACCEPTED = "variables, linear expressions and numbers, in an MVar, MLinExpr, list, nested list, dict, ndarray or DataFrame"


def add_predictor_constr(
    gp_model: gp.Model,
    predictor: Any,
    input_vars: Any,
    output_vars: Any = None,
    name: str | None = "",
    verbose: bool = False,
    output_type: str | None = None,
    epsilon: float | None = None,
    **keywords: Any,
) -> Any:
    """Embed a trained network in a gurobipy model: output_vars = predictor(input_vars).

    Parameters
    ----------
    gp_model
        The model. It gets the output variables, unless they are given, and one SOS constraint on a single output, which restricts
        nothing: with it Gurobi takes the answer as a solution of the model. No binaries, but for those of classes.
        It becomes a `dcembed.gurobipy.Model`, whose `optimize()` minds the network, until `remove()` of the last one.
    predictor
        Anything `dcembed.load_network` takes, or what was registered with `register_predictor_constr`.
    input_vars
        Variables, linear expressions and numbers: an MVar or MLinExpr of shape (n_in,) or (k, n_in), a single one of them, a list,
        nested lists, a dict, an object array or a DataFrame (columns may be constants). Columns of a DataFrame are matched by name
        with the features that the model was fitted on.
    output_vars
        Variables in the same forms, shape (n_out,), (k,) or (k, n_out); None creates them, with lb = -inf.
    name
        Prefix of the names of created variables.
    verbose
        Print what was added.
    output_type
        What the outputs of a classifier stand for: "classification", "probability" or "raw"; see docs/gurobipy.md.
    epsilon
        With "classification": by how much the score of the class leads, 1e-4 by default.
    keywords
        Others of gurobi-ml are ignored with a warning.

    Returns
    -------
    A `PredictorConstr`, or what a registered function returns.
    """
    given: dict[str, Any] = {"name": name, "verbose": verbose, "output_type": output_type, "epsilon": epsilon}
    registered = find_registered(predictor)
    if registered is not None:
        passed = {key: value for key, value in given.items() if value not in (None, "", False)}
        return registered(gp_model, predictor, input_vars, output_vars, **passed, **keywords)
    return embed_predictor(gp_model, predictor, input_vars, output_vars, **given, **keywords)


def embed_predictor(
    gp_model: gp.Model,
    predictor: Any,
    input_vars: Any,
    output_vars: Any = None,
    *,
    name: str | None = None,
    verbose: bool = False,
    output_type: str | None = None,
    epsilon: float | None = None,
    **keywords: Any,
) -> PredictorConstr:
    """`add_predictor_constr` without a look at what is registered."""
    if keywords.get("out_activation_") == "identity" and output_type is None:
        keywords.pop("out_activation_")
        output_type = "raw"
    predictor = opened(predictor)
    meaning = read_output_type(predictor, output_type)
    network = load_network(without_link(predictor))
    if epsilon is not None and meaning != "classification":
        keywords["epsilon"] = epsilon
    ignore_foreign(keywords, ("gp_model", "predictor", "input_vars", "output_vars", "name", "verbose", "output_type", "epsilon"))
    rules = class_rules(network.num_outputs, is_argmax(predictor, network), epsilon) if meaning == "classification" else None
    input_vars = by_name(input_vars, network)
    entries = as_rows(_read_entries(input_vars, "input"), network.num_inputs, "input")
    batch = read_batch(entries, _read_terms)
    shape = batch.shape[0], network.num_outputs
    given = None if output_vars is None else _read_outputs(output_vars, shape)
    scores, output, added = _add_outputs(gp_model, shape, given, meaning, rules, f"{name}." if name else "")
    labels = (input_vars.index, input_vars.columns) if hasattr(input_vars, "columns") and hasattr(input_vars, "index") else None
    embedded = PredictorConstr(gp_model, predictor, network, batch, entries, scores, output, added, meaning, labels, name or "")
    registry(gp_model).append(embedded)
    adopt(gp_model)
    if verbose:
        embedded.print_stats()
    return embedded


def _read_outputs(output_vars: Any, shape: tuple[int, int]) -> gp.MVar:
    given = as_rows(_read_entries(output_vars, "output"), shape[1], "output", shape[0])
    check_variables(given, gp.Var)
    return gp.MVar.fromlist(given.tolist())


def _add_outputs(
    model: gp.Model, shape: tuple[int, int], given: gp.MVar | None, meaning: OutputType, rules: ClassRules | None, prefix: str
) -> tuple[gp.MVar, gp.MVar, Added]:
    """The columns of the predictions, those that the user sees as outputs, and all that was added for them."""
    added = Added()

    def create(label: str, **bounds: float) -> gp.MVar:
        variables = model.addMVar(shape, name=prefix + label, **bounds)
        added.vars += as_entries(variables).reshape(-1).tolist()
        return variables

    if meaning == "raw":
        scores = output = create("out", lb=-gp.GRB.INFINITY) if given is None else given
    else:
        scores = create("score", lb=-gp.GRB.INFINITY)
        output = given
    if rules is not None:
        classes = add_classes(model, rules, scores, prefix, added)
        output = classes if given is None else given
        if given is not None:
            tie(model, given, classes, prefix, added)
    elif output is None:
        output = create("probability", ub=1.0)
    model.update()
    added.sos.append(model.addSOS(gp.GRB.SOS_TYPE1, [scores[0, 0].item()]))
    model.update()
    return scores, output, added


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
    """

    def __init__(
        self,
        gp_model: gp.Model,
        predictor: Any,
        network: Network,
        batch: Batch,
        entries: Array,
        scores: gp.MVar,
        output: gp.MVar,
        added: Added,
        output_type: OutputType,
        labels: tuple[Any, Any] | None,
        name: str,
    ) -> None:
        self.gp_model = gp_model
        self.predictor = predictor
        self.network = network
        self.scores = scores
        self.output = output
        self.output_type = output_type
        self.name = name
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
        return prediction_error(predict_outputs(self.predictor, self.network, inputs, self.output_type), outputs, eps)

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
        return self._batch.embed(self.network, inputs, outputs.reshape(self.scores.shape), len(columns))

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
        matched._entries = _write_entries(matched._batch)
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


def _read_entries(value: Any, what: str) -> Array:
    """An array of objects of the shape that was meant."""
    if isinstance(value, gp.MVar):
        return np.array(value.tolist(), dtype=object)
    if isinstance(value, gp.MLinExpr):
        entries = np.empty(value.shape, dtype=object)
        for index in np.ndindex(value.shape):
            entries[index] = value[index].item() if index else value.item()
        return entries
    if isinstance(value, Mapping):
        return _read_entries(_rows_of_mapping(value), what)
    if isinstance(value, list | tuple):
        return stack([_read_entries(part, what) for part in value], what)
    if hasattr(value, "to_numpy"):
        value = value.to_numpy(dtype=object)
    return value.astype(object) if isinstance(value, np.ndarray) else as_object(value)


def _rows_of_mapping(mapping: Mapping[Any, Any]) -> list[Any]:
    """The values; where the keys are tuples, those that differ in the last place only are one row."""
    if not all(isinstance(key, tuple) for key in mapping):
        return list(mapping.values())
    rows: dict[tuple[Any, ...], list[Any]] = {}
    for key, value in mapping.items():
        rows.setdefault(key[:-1], []).append(value)
    return list(rows.values()) if len(rows) > 1 else list(mapping.values())


def _read_terms(entry: Any) -> LinearEntry:
    if isinstance(entry, gp.Var):
        return [entry], [1.0], 0.0
    if isinstance(entry, gp.LinExpr):
        terms = range(entry.size())
        return [entry.getVar(i) for i in terms], [entry.getCoeff(i) for i in terms], entry.getConstant()
    if isinstance(entry, int | float | np.number):
        return [], [], float(entry)
    raise InputError(f"add_predictor_constr: an input is of type {type(entry).__name__}: {entry!r:.60}. Accepted are {_ACCEPTED}.")


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


def _write_entries(batch: Batch) -> Array:
    """Inputs (k, n_in) as expressions, or as variables where they are nothing more."""
    entries = np.empty(batch.constant.size, dtype=object)
    entries[:] = batch.variables if batch.is_plain else [gp.LinExpr(constant) for constant in batch.constant.reshape(-1)]
    for variable, number, coefficient in [] if batch.is_plain else zip(batch.variables, batch.entry, batch.coefficient, strict=True):
        entries[number] += coefficient * variable
    return entries.reshape(batch.shape)
