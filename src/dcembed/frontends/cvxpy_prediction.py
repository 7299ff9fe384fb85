"""`dcembed.cvxpy.embed`: the predictions of a network as a CVXPY variable."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import cvxpy
import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.embedding import read_support
from dcembed.embedded.region import Region
from dcembed.errors import InputError
from dcembed.frontends.feature_names import by_name
from dcembed.frontends.messages import shorten
from dcembed.frontends.output_type import refuse_classifier
from dcembed.importers import load_network
from dcembed.network.network import Network
from dcembed.reading import as_name, check_places

# The name by which `problem.solve` finds dcembed.
METHOD = "dcembed"
# Longer expressions are cut in messages.
MAX_TEXT = 160
_ACCEPTED = "an expression, an array, or a list (of lists of equal length) of scalar expressions and numbers; cvxpy.hstack joins vectors"
_NUMBERS = itertools.count()
_IS_READ: ContextVar[bool] = ContextVar("_IS_READ", default=False)


class Prediction(cvxpy.Variable):  # type: ignore[misc]  # CVXPY has no types
    """The predictions of a network at X. To CVXPY it is a variable like any other; `solve(method="dcembed")` makes it f(X)."""

    def __init__(self, network: Network, inputs: cvxpy.Expression, name: str | None, support: Region | None) -> None:
        shape = (*inputs.shape[:-1], network.num_outputs)
        super().__init__(shape, name=name or f"prediction{next(_NUMBERS)}")
        self.network = network
        self.inputs = inputs
        self.support = support

    @property
    def canonical_form(self) -> Any:
        """What CVXPY builds its matrices from: refused to solvers, which would solve the problem without the network."""
        if not _IS_READ.get():
            raise self._without_network()
        return self.canonicalize()

    def save_value(self, val: Array | None, sparse_path: bool = False) -> None:
        """Take no value: only solvers that do not know the network call this with one, and `f.value = ...`, which means nothing."""
        if val is not None:
            raise self._without_network()
        super().save_value(val, sparse_path)

    def restore(self, val: Array) -> None:
        """Take a value that is the network's."""
        super().save_value(val)

    def _without_network(self) -> InputError:
        return InputError(
            f'{self.name()} is the prediction of a network, which problem.solve(method="{METHOD}") alone can read: other methods, and '
            "problem.get_problem_data, would take it for a free variable."
        )


@contextmanager
def read_predictions() -> Iterator[None]:
    """Let CVXPY build matrices with predictions in them, for dcembed itself."""
    token = _IS_READ.set(True)
    try:
        yield
    finally:
        _IS_READ.reset(token)


def embed(network: Any, X: Any, name: str | None = None, support: Region | None = None) -> Prediction:
    """The predictions of a network as a CVXPY expression.

    Parameters
    ----------
    network
        A `Network`, or anything `load_network` takes.
    X
        Inputs, affine in the variables: shape (n_in,) for one evaluation, (k, n_in) for k of them. Lists (of lists) of expressions
        and numbers are stacked. Where the model was fitted with names, a dict from them to scalars, or to vectors of k entries, a
        DataFrame or a Series may be in any order.
    name
        Name of the predictions in CVXPY's printouts, "prediction0" and so on by default.
    support
        Where the inputs belong, such as `dcembed.support(data, kind="hull")` of the data that the network was trained on; None for anywhere.
        Nothing of it enters the problem; the price of a soft one is in the result's objective, and not in `problem.value`.

    Returns
    -------
    An expression of shape (n_out,) or (k, n_out), to be used in objectives and constraints like any other affine expression.
    """
    as_name(name, "embed: name")
    if sp.issparse(X):
        check_places(X, "embed: X")
    refuse_classifier(network, "embed")
    network = load_network(network)
    region = read_support(support, network, "embed")
    try:
        inputs = _stacked(_in_order(X, network))
    except InputError:
        raise
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(
            f"embed: X is {_ACCEPTED}, received {type(X).__name__}, which cannot be stacked ({shorten(error, MAX_TEXT)})."
        ) from None
    n = network.num_inputs
    if inputs.ndim not in (1, 2) or inputs.shape[-1] != n:
        raise InputError(f"embed: X has shape {inputs.shape}, but the network has {n} inputs: expected ({n},) or (k, {n}).")
    if not inputs.is_affine() or inputs.is_complex():
        raise InputError(
            f"embed: X is not real and affine in the variables: {shorten(inputs, MAX_TEXT)}. Give the network affine expressions."
        )
    return Prediction(network, inputs, name, region)


def predictions_in(problem: cvxpy.Problem) -> list[Prediction]:
    """Predictions in the problem, and those that are inputs of others."""
    found: dict[int, Prediction] = {}
    waiting = list(problem.variables())
    while waiting:
        variable = waiting.pop(0)
        if isinstance(variable, Prediction) and variable.id not in found:
            found[variable.id] = variable
            waiting += variable.inputs.variables()
    return list(found.values())


def _in_order(X: Any, network: Network) -> Any:
    """X without names: by those of the network, one column for each entry of a dict that is a vector."""
    if isinstance(X, Mapping) and network.input_names is None:
        raise InputError("embed: X has names, but the network has no names of features. Give a list in their order.")
    named = by_name(X, network, "embed")
    if isinstance(named, Mapping):
        named = list(named.values())
    if hasattr(named, "to_numpy"):
        rows = named.to_numpy()
        # A Series is one evaluation.
        return rows[0] if not hasattr(X, "columns") and len(rows) == 1 else rows
    if isinstance(X, Mapping) and any(np.ndim(entry) if not isinstance(entry, cvxpy.Expression) else entry.ndim for entry in named):
        return _side_by_side(named)
    return named


def _side_by_side(entries: Sequence[Any]) -> cvxpy.Expression:
    """Vectors of k entries as columns; a scalar is the same in all rows."""
    vectors = [cvxpy.Expression.cast_to_const(entry) for entry in entries]
    k = max(vector.size for vector in vectors)
    return cvxpy.vstack([vector if vector.ndim else vector * np.ones(k) for vector in vectors]).T


def _stacked(X: Any) -> cvxpy.Expression:
    """X as one expression; lists, and arrays of expressions, are stacked."""
    if isinstance(X, np.ndarray) and X.dtype == object:
        X = X.tolist()
    if isinstance(X, Sequence) and not isinstance(X, str):
        if any(isinstance(row, Sequence) or getattr(row, "ndim", 0) for row in X):
            return cvxpy.vstack([_stacked(row) for row in X])
        return cvxpy.hstack(X)
    return cvxpy.Expression.cast_to_const(X)
