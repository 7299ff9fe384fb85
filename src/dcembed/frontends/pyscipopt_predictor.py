"""`add_predictor_constr` for PySCIPOpt, with the arguments of PySCIPOpt-ML: what is embedded where in a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyscipopt

from dcembed.arrays import Array
from dcembed.embedded.embedding import Embedding
from dcembed.errors import InputError, NoSolutionError, OptionError
from dcembed.frontends.batches import Batch, LinearEntry, as_object, as_rows, check_variables, prediction_error, read_batch, stack
from dcembed.frontends.pyscipopt_plugin import hook, register, unregister
from dcembed.importers import load_network
from dcembed.network.network import Network


def add_predictor_constr(
    scip_model: pyscipopt.Model,
    predictor: Any,
    input_vars: Any,
    output_vars: Any = None,
    unique_naming_prefix: str = "p_",
    **unknown: object,
) -> PredictorConstr:
    """Embed a trained network in a PySCIPOpt model: output_vars = predictor(input_vars).

    Parameters
    ----------
    scip_model
        The model. Its problem gets the output variables, unless they are given, and nothing else; SCIP gets two plugins, by which
        `scip.optimize()` solves the model with the network in it.
    predictor
        Anything `dcembed.load_network` takes.
    input_vars
        Variables, linear expressions and numbers in lists, nested lists or arrays of shape (n_in,) or (k, n_in).
    output_vars
        Variables, shape (n_out,), (k,) or (k, n_out); None creates them, without bounds.
    unique_naming_prefix
        Of the names of created variables.
    """
    if unknown:
        known = "scip_model, predictor, input_vars, output_vars, unique_naming_prefix"
        raise OptionError(
            f"add_predictor_constr: unknown argument {next(iter(unknown))!r}. Accepted: {known}. "
            "A classifier gives its raw scores, and no formulation is chosen: no unit enters the model."
        )
    network = load_network(predictor)
    entries = as_rows(_read_entries(input_vars, "input"), network.num_inputs, "input")
    batch = read_batch(entries, read_terms)
    shape = batch.shape[0], network.num_outputs
    if output_vars is None:
        output = scip_model.addMatrixVar(shape, lb=None, ub=None, name=f"{unique_naming_prefix}out")
    else:
        output = as_rows(_read_entries(output_vars, "output"), network.num_outputs, "output", shape[0])
        check_variables(output, pyscipopt.Variable)
    predictor_constr = PredictorConstr(network, batch, entries, output, output_vars is None)
    predictor_constr.predictor = predictor
    register(scip_model, predictor_constr)
    return predictor_constr


class PredictorConstr:
    """An embedded network, and its values after `dcembed.pyscipopt.optimize`. Made by `add_predictor_constr`.

    Parameters
    ----------
    network
        What is embedded.
    predictor
        What the user gave; `get_error` reads it again.
    input
        Entries of shape (k, n_in).
    output
        Variables of shape (k, n_out).
    """

    def __init__(self, network: Network, batch: Batch, entries: Array, output: Array, created: bool) -> None:
        self.network = network
        self.predictor: Any = network
        self.input = entries
        self.output = output
        self._batch = batch
        self._created = created
        self._point: tuple[Array, Array] | None = None

    @property
    def input_values(self) -> Array:
        """Values of the inputs at the best point of the last run, shape (k, n_in)."""
        return self._values()[0]

    @property
    def output_values(self) -> Array:
        """Values of the outputs at the best point of the last run, shape (k, n_out)."""
        return self._values()[1]

    def get_error(self, eps: float | None = None) -> Array:
        """|f(input) - output| at that point, shape (k, n_out), where f is the predictor as it is now; with `eps`, entries above it are printed."""
        inputs, outputs = self._values()
        return prediction_error(load_network(self.predictor), inputs, outputs, eps)

    def remove(self) -> None:
        """Take the network out of the model. Its output variables stay, as free ones."""
        unregister(self)

    def print_stats(self, file: Any = None) -> None:
        """Print what was embedded and what was added to the model."""
        num_created = self.output.size if self._created else 0
        print(f"{self.network!r}\nConstraints created: 0\nVariables created: {num_created}, binaries 0", file=file)
        print(f"Input Shape:  {self._batch.shape}\nOutput Shape: {self.output.shape}", file=file)

    def embed(self, numbers: Mapping[int, int], num_columns: int) -> Embedding:
        """The embedding over the columns, which `numbers` gives for the variables' pointers."""
        inputs = column_numbers(self._batch.variables, numbers, "an input of a predictor")
        outputs = column_numbers(np.asarray(self.output, dtype=object).reshape(-1), numbers, "an output of a predictor")
        return self._batch.embed(self.network, inputs, outputs.reshape(self.output.shape), num_columns)

    @property
    def variables(self) -> list[Any]:
        """Those of the inputs, one per term, then those of the outputs."""
        return [*self._batch.variables, *np.asarray(self.output, dtype=object).reshape(-1)]

    def holds(self, value: Callable[[Any], float], tolerance: float) -> bool:
        """Whether the outputs are the predictions where `value` gives the values of variables."""
        values = np.array([value(variable) for variable in self.variables], dtype=np.float64)
        inputs, outputs = np.split(values, [len(self._batch.variables)])
        error = np.abs(self.network(self._batch.values(inputs)).reshape(-1) - outputs)
        return bool((error <= tolerance * np.maximum(1.0, np.abs(outputs))).all())

    def keep(self, point: tuple[Array, Array] | None) -> None:
        """Set the values of inputs and outputs; None for no solution."""
        self._point = point

    def _values(self) -> tuple[Array, Array]:
        if self._point is None:
            raise NoSolutionError("There is no solution: call dcembed.pyscipopt.optimize(scip) first and see if its result is feasible.")
        return self._point


def registry(scip: pyscipopt.Model) -> list[PredictorConstr]:
    """What was embedded in a model, in order. Nothing of a PredictorConstr refers to its model, so that the model can be freed."""
    return hook(scip).predictors


def column_numbers(variables: Any, numbers: Mapping[int, int], what: str) -> Array:
    """Columns of variables."""
    for variable in variables:
        if variable.ptr() not in numbers:
            raise InputError(f"optimize: the variable '{variable.name}', {what}, is not in the model.")
    return np.array([numbers[variable.ptr()] for variable in variables], dtype=np.int64)


def read_terms(entry: Any) -> LinearEntry:
    """A variable, linear expression or number as (variables, coefficients, constant)."""
    if isinstance(entry, pyscipopt.Variable):
        return [entry], [1.0], 0.0
    if isinstance(entry, pyscipopt.Expr) and entry.degree() <= 1:
        terms = [(term.vartuple, float(coefficient)) for term, coefficient in entry.terms.items()]
        linear = [(variables[0], coefficient) for variables, coefficient in terms if variables]
        return [v for v, _ in linear], [c for _, c in linear], sum(c for variables, c in terms if not variables)
    if isinstance(entry, int | float | np.number):
        return [], [], float(entry)
    raise InputError(
        f"add_predictor_constr: an input is of type {type(entry).__name__} and not linear: {entry!r:.60}. "
        "Accepted are variables, linear expressions and numbers, in lists, nested lists or arrays."
    )


def _read_entries(value: Any, what: str) -> Array:
    if isinstance(value, list | tuple):
        return stack([_read_entries(part, what) for part in value], what)
    return np.array(value, dtype=object) if isinstance(value, np.ndarray) else as_object(value)
