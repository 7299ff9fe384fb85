"""Inputs and outputs of a predictor as people write them in a model: arrays of variables, linear expressions and numbers.

What a variable is depends on the modelling tool; here it is an object that the tool later gives a column number or a value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.embedding import AffineInputs, Embedding
from dcembed.embedded.region import Region
from dcembed.errors import InputError
from dcembed.network.network import Network
from dcembed.reading import as_number

# One entry as (variables, coefficients, constant).
LinearEntry = tuple[Sequence[Any], Sequence[float], float]


@dataclass(frozen=True, eq=False)
class Batch:
    """k evaluations of n_in inputs, each a linear expression in variables of the host.

    Parameters
    ----------
    variables
        One for each term, t of them.
    entry
        Which input, counted row by row, each term belongs to, shape (t,).
    coefficient
        Shape (t,).
    constant
        Shape (k, n_in).
    """

    variables: list[Any]
    entry: Array
    coefficient: Array
    constant: Array

    @property
    def shape(self) -> tuple[int, int]:
        """(k, n_in)."""
        return self.constant.shape[0], self.constant.shape[1]

    @property
    def is_plain(self) -> bool:
        """Whether every input is a variable, nothing more."""
        one_each = np.array_equal(self.entry, np.arange(self.constant.size))
        return one_each and bool((self.coefficient == 1).all()) and not self.constant.any()

    def values(self, values: Array) -> Array:
        """The inputs (k, n_in) where the variables have `values` (t,)."""
        total = np.bincount(self.entry, self.coefficient * values, minlength=self.constant.size)
        inputs: Array = total.reshape(self.shape) + self.constant
        return inputs

    def embed(self, network: Network, columns: Array, outputs: Array, num_columns: int, support: Region | None) -> Embedding:
        """The embedding where the variables are `columns` (t,) and the predictions the columns `outputs` (k, n_out)."""
        if self.is_plain:
            return Embedding(network, columns.reshape(self.shape), outputs, support)
        matrix = sp.csr_array((self.coefficient, (self.entry, columns)), shape=(self.constant.size, num_columns))
        return Embedding(network, AffineInputs(matrix, self.constant), outputs, support)


def read_batch(entries: Array, read_terms: Callable[[Any], LinearEntry]) -> Batch:
    """Take apart an object array (k, n_in) whose entries `read_terms` understands."""
    terms = [read_terms(entry) for entry in entries.reshape(-1)]
    constant = np.array([constant for _, _, constant in terms], dtype=np.float64).reshape(entries.shape)
    bad = np.argwhere(~np.isfinite(constant))
    if bad.size:
        raise InputError(f"add_predictor_constr: input {tuple(map(int, bad[0]))} is not a finite number.")
    return Batch(
        variables=[variable for variables, _, _ in terms for variable in variables],
        entry=np.repeat(np.arange(len(terms)), [len(variables) for variables, _, _ in terms]),
        coefficient=np.array([c for _, coefficients, _ in terms for c in coefficients], dtype=np.float64),
        constant=constant,
    )


def as_rows(entries: Array, width: int, what: str, k: int | None = None) -> Array:
    """Entries of any shape as (k, width): a vector is one evaluation, or k of them where `width` is 1."""
    rows = entries
    if entries.size == width and k in (None, 1):
        rows = entries.reshape(1, width)
    elif entries.ndim == 1:
        rows = entries.reshape(-1, 1)
    elif entries.ndim > 2:
        rows = entries.reshape(entries.shape[0], -1)
    if rows.ndim != 2 or rows.shape[1] != width or rows.size == 0:
        raise InputError(
            f"add_predictor_constr: the {what}s have shape {entries.shape}, but the network has {width} {what}{'' if width == 1 else 's'}: "
            f"expected ({width},) or (k, {width})."
        )
    if k is not None and rows.shape[0] != k:
        raise InputError(f"add_predictor_constr: {k} evaluations are given by the inputs, but {rows.shape[0]} by the outputs.")
    return rows


def stack(parts: Sequence[Array], what: str) -> Array:
    """Nested lists, already read, as one array of objects."""
    if not parts:
        raise InputError(f"add_predictor_constr: the {what}s are empty.")
    shapes = {part.shape for part in parts}
    if len(shapes) > 1:
        raise InputError(f"add_predictor_constr: the {what}s are nested lists of unequal shapes {sorted(shapes)}.")
    return np.stack(parts)


def as_object(value: Any) -> Array:
    """One thing as an array without axes, even if numpy would take it for a sequence."""
    entry = np.empty((), dtype=object)
    entry[()] = value
    return entry


def check_variables(outputs: Array, kind: type) -> None:
    """Raise InputError for an output that is no variable of the tool."""
    for entry in outputs.reshape(-1):
        if not isinstance(entry, kind):
            raise InputError(
                f"add_predictor_constr: an output is of type {type(entry).__name__}: {entry!r:.60}. Outputs are variables; "
                "leave output_vars out to have them created, and add a constraint for an expression."
            )


def prediction_error(expected: Array, outputs: Array, eps: float | None = None) -> Array:
    """|expected - outputs|, shape (k, n_out); with `eps`, entries above it are printed."""
    error: Array = np.abs(expected - outputs)
    if eps is not None:
        eps = as_number(eps, "get_error: eps")
        for row, column in np.argwhere(error > eps):
            print(f"evaluation {row}, output {column}: {outputs[row, column]:.9g} differs from the prediction by {error[row, column]:.3g}")
    return error
