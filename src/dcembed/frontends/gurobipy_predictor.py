"""`add_predictor_constr` for gurobipy, with the arguments of gurobi-ml: what is embedded where in a gurobipy model.

A network adds no constraint that Gurobi sees. What is written down here is read by `gurobipy_.optimize`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gurobipy as gp
import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.embedding import Embedding
from dcembed.errors import InputError, NoSolutionError, OptionError
from dcembed.frontends.batches import Batch, LinearEntry, as_object, as_rows, check_variables, prediction_error, read_batch, stack
from dcembed.importers import load_network
from dcembed.network.network import Network

_ACCEPTED = "variables, linear expressions and numbers, in an MVar, MLinExpr, list, nested list, dict, ndarray or DataFrame"


def add_predictor_constr(
    gp_model: gp.Model,
    predictor: Any,
    input_vars: Any,
    output_vars: Any = None,
    name: str = "",
    verbose: bool = False,
    **unknown: object,
) -> PredictorConstr:
    """Embed a trained network in a gurobipy model: output_vars = predictor(input_vars).

    Parameters
    ----------
    gp_model
        The model. It gets the output variables, unless they are given, and one SOS constraint on a single output, which restricts
        nothing: with it Gurobi takes the answer as a solution of the model. No binaries.
    predictor
        Anything `dcembed.load_network` takes.
    input_vars
        Variables, linear expressions and numbers: an MVar or MLinExpr of shape (n_in,) or (k, n_in), a single one of them, a list,
        nested lists, a dict, an object array or a DataFrame (columns may be constants).
    output_vars
        Variables in the same forms, shape (n_out,), (k,) or (k, n_out); None creates them, with lb = -inf.
    name
        Prefix of the names of created variables.
    verbose
        Print what was added.
    """
    if unknown:
        known = "gp_model, predictor, input_vars, output_vars, name, verbose"
        raise OptionError(f"add_predictor_constr: unknown argument {next(iter(unknown))!r}. Accepted: {known}.")
    network = load_network(predictor)
    entries = as_rows(_read_entries(input_vars, "input"), network.num_inputs, "input")
    batch = read_batch(entries, _read_terms)
    k = batch.shape[0]
    created = output_vars is None
    if created:
        prefix = f"{name}." if name else ""
        output = gp_model.addMVar((k, network.num_outputs), lb=-gp.GRB.INFINITY, name=f"{prefix}out")
    else:
        given = as_rows(_read_entries(output_vars, "output"), network.num_outputs, "output", k)
        check_variables(given, gp.Var)
        output = gp.MVar.fromlist(given.tolist())
    gp_model.update()
    marker = gp_model.addSOS(gp.GRB.SOS_TYPE1, [output[0, 0].item()])
    gp_model.update()
    labels = (input_vars.index, input_vars.columns) if hasattr(input_vars, "columns") and hasattr(input_vars, "index") else None
    predictor_constr = PredictorConstr(gp_model, network, batch, entries, output, created, marker, labels, name)
    registry(gp_model).append(predictor_constr)
    if verbose:
        predictor_constr.print_stats()
    return predictor_constr


def registry(model: gp.Model) -> list[PredictorConstr]:
    """What was embedded in a model, in order."""
    if not hasattr(model, "_dcembed"):
        model._dcembed = []
    registered: list[PredictorConstr] = model._dcembed
    return registered


class PredictorConstr:
    """An embedded network, and its values once the model is solved. Made by `add_predictor_constr`.

    Parameters
    ----------
    gp_model, network
        Where it is and what it is.
    output
        MVar of shape (k, n_out).
    """

    def __init__(
        self,
        gp_model: gp.Model,
        network: Network,
        batch: Batch,
        entries: Array,
        output: gp.MVar,
        created: bool,
        marker: gp.SOS,
        labels: tuple[Any, Any] | None,
        name: str,
    ) -> None:
        self.gp_model = gp_model
        self.network = network
        self.output = output
        self.name = name
        self.sos = [marker]
        self._batch = batch
        self._entries = entries
        self._created = created
        self._labels = labels
        # The best point (k, n_in), (k, n_out), only where Gurobi could not be given it.
        self._point: tuple[Array, Array] | None = None

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
        """The variables that were created: the outputs, unless they were given."""
        return np.array(self.output.tolist(), dtype=object).reshape(-1).tolist() if self._created else []

    @property
    def constrs(self) -> list[gp.Constr]:
        """The linear constraints that were added: none."""
        return []

    def get_error(self, eps: float | None = None) -> Array:
        """|f(input) - output| at the solution, shape (k, n_out); with `eps`, entries above it are printed."""
        inputs, outputs = self._values()
        return prediction_error(self.network, inputs, outputs, eps)

    def print_stats(self, abbrev: bool = False, file: Any = None) -> None:
        """Print what was embedded and what was added to the model."""
        k, n_in = self._batch.shape
        label = self.name or "predictor"
        if abbrev:
            print(f"{label:13} {self.output.shape!s:>14} {len(self.vars):>12} {0:>12} {0:>12} {0:>12}", file=file)
            return
        print(f"{label}: {self.network!r}, evaluated {k} time{'' if k == 1 else 's'}", file=file)
        print(f"{len(self.vars)} variables, 0 binaries and 0 constraints added, 1 SOS that restricts nothing", file=file)
        print(f"Input has shape {(k, n_in)}", file=file)
        print(f"Output has shape {self.output.shape}", file=file)

    def remove(self) -> None:
        """Take out of the model what `add_predictor_constr` put in; given outputs stay."""
        registered = registry(self.gp_model)
        if self not in registered:
            return
        registered.remove(self)
        self.gp_model.remove(self.sos)
        self.gp_model.remove(self.vars)
        self.gp_model.update()

    def embed(self, columns: list[gp.Var]) -> Embedding:
        """The embedding over the variables of the model."""
        inputs = _find_columns(self._batch.variables, columns, "input")
        outputs = _find_columns(np.array(self.output.tolist(), dtype=object).reshape(-1), columns, "output")
        return self._batch.embed(self.network, inputs, outputs.reshape(self.output.shape), len(columns))

    def keep(self, inputs: Array, outputs: Array) -> None:
        """Remember the values of a point that Gurobi could not be given."""
        self._point = inputs, outputs

    def forget(self) -> None:
        """Drop what `keep` was given."""
        self._point = None

    def _values(self) -> tuple[Array, Array]:
        if self._point is not None:
            return self._point
        try:
            values = np.array(self.gp_model.getAttr("X", self._batch.variables), dtype=np.float64)
            return self._batch.values(values), np.asarray(self.output.X)
        except gp.GurobiError:
            message = "The model has no solution: it was not optimized, changed since, or no feasible point was found."
            raise NoSolutionError(f"{message} Call dcembed.gurobipy.optimize(model) first.") from None


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
