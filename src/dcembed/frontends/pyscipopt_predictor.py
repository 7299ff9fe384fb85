"""`add_predictor_constr` for PySCIPOpt, with the arguments of PySCIPOpt-ML: what is embedded where in a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyscipopt
from scipy.special import expit

from dcembed.arrays import Array
from dcembed.embedded.embedding import Embedding, read_support
from dcembed.embedded.region import Region
from dcembed.errors import InputError, NoSolutionError
from dcembed.frontends.batches import Batch, LinearEntry, as_object, as_rows, check_variables, prediction_error, read_batch, stack
from dcembed.frontends.classes import class_rules
from dcembed.frontends.feature_names import by_name
from dcembed.frontends.foreign_keywords import ignore_foreign
from dcembed.frontends.framework import predict_outputs
from dcembed.frontends.output_type import Reading, read_predictor
from dcembed.frontends.probability import NO_PROBABILITIES, Probabilities
from dcembed.frontends.pyscipopt_classes import Added, add_outputs
from dcembed.frontends.pyscipopt_plugin import hook, model_of, register, unregister
from dcembed.reading import as_name, as_number, require


def add_predictor_constr(
    scip_model: pyscipopt.Model,
    predictor: Any,
    input_vars: Any,
    output_vars: Any = None,
    unique_naming_prefix: str = "p_",
    output_type: str | None = None,
    epsilon: float | None = None,
    support: Region | None = None,
    **keywords: Any,
) -> PredictorConstr:
    """Embed a trained network in a PySCIPOpt model: output_vars = predictor(input_vars).

    Parameters
    ----------
    scip_model
        The model. Its problem gets the output variables, unless they are given, and nothing else, but for classes and probabilities;
        SCIP gets two plugins, by which `scip.optimize()` solves the model with the network in it.
    predictor
        Anything `dcembed.load_network` takes.
    input_vars
        Variables, linear expressions and numbers in lists, nested lists or arrays of shape (n_in,) or (k, n_in), dicts or DataFrames.
        Columns of a DataFrame are matched by name with the features that the model was fitted on.
    output_vars
        Variables, shape (n_out,), (k,) or (k, n_out); None creates them, without bounds.
    unique_naming_prefix
        Of the names of created variables.
    output_type
        What the outputs stand for, which a classifier of scikit-learn must be told: "classification", "probability" or "raw"; by default
        what the model gives. See docs/pyscipopt.md.
    epsilon
        With "classification": by how much the score of the class leads, 1e-4 by default.
    support
        Where the inputs belong, such as `dcembed.support(data, kind="hull")` of the data that the network was trained on; None for anywhere.
        Nothing of it enters SCIP's problem, and SCIP takes no solution outside of one that must not be left. SCIP's objective knows nothing of the price
        of a soft one; see docs/pyscipopt.md.
    keywords
        Others of PySCIPOpt-ML are ignored with a warning.
    """
    require(scip_model, pyscipopt.Model, "add_predictor_constr: scip_model")
    as_name(unique_naming_prefix, "add_predictor_constr: unique_naming_prefix")
    reading = read_predictor(predictor, output_type)
    network, meaning = reading.network, reading.output_type
    region = read_support(support, network, "add_predictor_constr")
    if epsilon is not None and meaning != "classification":
        keywords["epsilon"] = epsilon
    own = "scip_model", "predictor", "input_vars", "output_vars", "unique_naming_prefix", "output_type", "epsilon", "support"
    ignore_foreign(keywords, own)
    rules = class_rules(network.num_outputs, reading.argmax, epsilon) if meaning == "classification" else None
    entries = as_rows(_read_entries(by_name(input_vars, network), "input"), network.num_inputs, "input")
    batch = read_batch(entries, read_terms)
    shape = batch.shape[0], network.num_outputs
    given = None
    if output_vars is not None:
        given = as_rows(_read_entries(output_vars, "output"), network.num_outputs, "output", shape[0])
        check_variables(given, pyscipopt.Variable)
    scores, output, added = add_outputs(scip_model, shape, given, rules, reading, unique_naming_prefix or "")
    predictor_constr = PredictorConstr(predictor, reading, batch, entries, scores, output, added, region)
    register(scip_model, predictor_constr)
    return predictor_constr


class PredictorConstr:
    """An embedded network, and its values after `dcembed.pyscipopt.optimize`. Made by `add_predictor_constr`.

    Parameters
    ----------
    predictor, network
        What was given, and what was read.
    input
        Entries of shape (k, n_in).
    scores
        The predictions of the network, variables of shape (k, n_out).
    output
        What the host uses, variables of shape (k, n_out): the scores, or the classes or probabilities that belong to them.
    output_type
        Which of these.
    support
        Where the inputs belong; None for anywhere.
    """

    def __init__(
        self,
        predictor: Any,
        reading: Reading,
        batch: Batch,
        entries: Array,
        scores: Array,
        output: Array,
        added: Added,
        support: Region | None = None,
    ) -> None:
        self.predictor = predictor
        self.network = reading.network
        self.input = entries
        self.scores = scores
        self.output = output
        self.output_type = reading.output_type
        self.support = support
        self._reading = reading
        self._batch = batch
        self._added = added
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
        """|f(input) - output| at that point, shape (k, n_out), where f is what the user's model says now; with `eps`, entries above it are printed."""
        inputs, outputs = self._values()
        return prediction_error(predict_outputs(self.predictor, self._reading, inputs), outputs, eps)

    def remove(self) -> None:
        """Take the network out of the model, and the constraints of its classes. Its variables stay, as free ones."""
        scip = model_of(self)
        if scip is None:
            return
        if self._added.constraints and scip.getStageName() != "PROBLEM":
            raise InputError(
                f"remove: SCIP is in the stage {scip.getStageName()}, in which the constraints of the classes cannot be taken out. Nothing was "
                "changed. Call scip.freeTransform() after a solve, then remove()."
            )
        unregister(scip, self)
        for constraint in self._added.constraints:
            scip.delCons(constraint)

    def print_stats(self, file: Any = None) -> None:
        """Print what was embedded and what was added to the model."""
        added = self._added
        print(f"{self.network!r}\nConstraints created: {added.num_constraints}", file=file)
        print(f"Variables created: {added.num_variables}, binaries {added.num_binaries}", file=file)
        print(f"Input Shape:  {self._batch.shape}\nOutput Shape: {self.output.shape}", file=file)

    def embed(self, numbers: Mapping[int, int], num_columns: int) -> Embedding:
        """The embedding over the columns, which `numbers` gives for the variables' pointers."""
        inputs = column_numbers(self._batch.variables, numbers, "an input of a predictor")
        outputs = column_numbers(np.asarray(self.scores, dtype=object).reshape(-1), numbers, "an output of a predictor")
        return self._batch.embed(self.network, inputs, outputs.reshape(self.scores.shape), num_columns, self.support)

    def probabilities(self, numbers: Mapping[int, int]) -> Probabilities:
        """The outputs that are probabilities, and their scores."""
        if self.output_type != "probability":
            return NO_PROBABILITIES
        parts = [np.asarray(part, dtype=object).reshape(-1) for part in (self.output, self.scores)]
        return Probabilities(*(column_numbers(part, numbers, "an output of a predictor") for part in parts))

    def keep(self, values: Mapping[int, float] | None) -> None:
        """Take inputs and outputs from the values of all variables, by pointer; None for no solution."""
        if values is None:
            self._point = None
            return
        inputs = np.array([values[variable.ptr()] for variable in self._batch.variables], dtype=np.float64)
        outputs = np.array([values[variable.ptr()] for variable in np.asarray(self.output, dtype=object).reshape(-1)])
        self._point = self._batch.values(inputs), outputs.reshape(self.output.shape)

    @property
    def variables(self) -> list[Any]:
        """Those of the inputs, one per term, then those of the predictions and of the probabilities that belong to them."""
        parts = [self.scores, self.output] if self.output_type == "probability" else [self.scores]
        return [*self._batch.variables, *(variable for part in parts for variable in np.asarray(part, dtype=object).reshape(-1))]

    def holds(self, value: Callable[[Any], float], tolerance: float) -> bool:
        """Whether scores are the predictions, probabilities those of the scores, and inputs where they must be; `value` gives the values of variables."""
        values = np.array([value(variable) for variable in self.variables], dtype=np.float64)
        given, outputs = np.split(values, [len(self._batch.variables)])
        inputs = self._batch.values(given)
        expected = self.network(inputs).reshape(-1)
        if self.output_type == "probability":
            expected = np.concatenate([expected, expit(outputs[: expected.size])])
        is_predicted = bool((np.abs(expected - outputs) <= tolerance * np.maximum(1.0, np.abs(outputs))).all())
        return is_predicted and (
            self.support is None or self.support.weight is not None or bool((self.support.excess(inputs) <= tolerance).all())
        )

    @property
    def has_price(self) -> bool:
        """Whether inputs may be outside of their support at a price, of which SCIP's objective knows nothing."""
        return self.support is not None and bool(self.support.weight)

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
        return [], [], as_number(entry, "add_predictor_constr: an input")
    raise InputError(
        f"add_predictor_constr: an input is of type {type(entry).__name__} and not linear: {entry!r:.60}. "
        "Accepted are variables, linear expressions and numbers, in lists, nested lists, arrays, dicts or DataFrames."
    )


def _read_entries(value: Any, what: str) -> Array:
    if isinstance(value, Mapping):
        value = list(value.values())
    if hasattr(value, "to_numpy"):
        value = value.to_numpy(dtype=object)
    if isinstance(value, list | tuple):
        return stack([_read_entries(part, what) for part in value], what)
    return np.array(value, dtype=object) if isinstance(value, np.ndarray) else as_object(value)
