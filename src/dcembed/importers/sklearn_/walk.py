"""Walk through a fitted model: estimators inside estimators, each handed to what knows its class.

A class is known by its name and that it is scikit-learn's, so that nothing but the user's own classes is imported. A subclass of the
user's is taken as the class that it comes from, as long as it computes with the same methods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, Literal

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from dcembed.errors import NetworkError
from dcembed.importers.lowering import UNKNOWN, Layer, Lowering
from dcembed.importers.operations import Unsupported
from dcembed.importers.sklearn_.frame import Frame, as_numbers, computed
from dcembed.importers.sklearn_.inputs import Inputs
from dcembed.network.builder import NetworkBuilder, Tensor

Method = Literal["transform", "predict", "scores", "probabilities"]
Handler = Callable[[NetworkBuilder, Any, Tensor], Tensor]

# What an estimator computes with; a subclass that has another one is another estimator.
_METHODS = ("predict", "transform", "predict_proba", "decision_function")


@dataclass(frozen=True)
class Tables:
    """What is known, by the name of the class.

    Parameters
    ----------
    methods
        For each method the handlers (builder, estimator, numbers) -> numbers; numbers have shape (1, n).
    columns
        Transformers that look at what columns are: (walk, estimator, frame) -> frame.
    composites
        Estimators made of others: (walk, method, estimator, frame) -> frame.
    refusals
        Why a class cannot be embedded, and what to do.
    """

    methods: Mapping[Method, Mapping[str, Handler]]
    columns: Mapping[str, Callable[..., Frame]]
    composites: Mapping[str, Callable[..., Any]]
    refusals: Callable[[Any], str | None]


@dataclass(frozen=True)
class Encoded:
    """An encoder that was met: its `place`-th column is one of the model's."""

    encoder: Any
    place: int


@dataclass(frozen=True)
class Walk:
    """Where we are in a model.

    Parameters
    ----------
    lowering, tables, inputs
        What is built, what is known, and what the model's columns are.
    path
        Names of the estimators around this one.
    encoded
        Encoders on the model's own columns, found on the way.
    """

    lowering: Lowering
    tables: Tables
    inputs: Inputs
    path: str = ""
    encoded: dict[int, list[Encoded]] = field(default_factory=dict)
    counter: Iterator[int] = field(default_factory=count)

    @property
    def builder(self) -> NetworkBuilder:
        """What the network grows in."""
        return self.lowering.builder

    def run(self, method: Method, estimator: Any, frame: Any, name: str = "") -> Any:
        """The columns that a method of an estimator gives, or UNKNOWN where they cannot be had."""
        path = "__".join(part for part in (self.path, name) if part)
        composite = find(self.tables.composites, estimator)
        if composite is not None:
            return composite(replace(self, path=path), method, estimator, frame)
        return self._apply_at(path, estimator, self._handler(method, estimator, path), frame)

    def apply(self, handler: Handler, estimator: Any, frame: Any, name: str = "") -> Any:
        """The columns that a handler makes of numbers."""
        path = "__".join(part for part in (self.path, name) if part)
        return self._apply_at(path, estimator, _by_numbers(handler, estimator), frame)

    def refuse(self, estimator: Any, reason: str) -> Any:
        """UNKNOWN, with a reason in the list of what cannot be embedded."""
        return self._apply_at(self.path, estimator, _refuse(reason), UNKNOWN)

    def _apply_at(self, path: str, estimator: Any, operation: Callable[..., Any] | None, frame: Any) -> Any:
        kind = type(estimator).__name__
        return self.lowering.apply(Layer(next(self.counter), path or kind, kind), operation, frame)

    def _handler(self, method: Method, estimator: Any, path: str) -> Callable[..., Any] | None:
        reason = self.tables.refusals(estimator)
        if reason is not None:
            return _refuse(reason)
        by_columns = find(self.tables.columns, estimator) if method == "transform" else None
        by_numbers = find(self.tables.methods[method], estimator)
        if by_columns is None and by_numbers is None:
            return None
        require_fitted(estimator, path or type(estimator).__name__)
        if by_columns is not None:
            # What columns are is not known behind a step that cannot be embedded.
            return lambda builder, value: by_columns(self, estimator, value) if isinstance(value, Frame) else UNKNOWN
        return _by_numbers(by_numbers, estimator)


def _by_numbers(handler: Handler, estimator: Any) -> Callable[..., Any]:
    return lambda builder, value: computed(handler(builder, estimator, as_numbers(_as_frame(value))))


def find(table: Mapping[str, Any], estimator: Any) -> Any:
    """The entry of the estimator's class, or of the class of scikit-learn that it inherits all its methods from."""
    base = next((base for base in type(estimator).__mro__ if base.__module__.partition(".")[0] == "sklearn"), None)
    if base is None or any(_owner(type(estimator), method) is not _owner(base, method) for method in _METHODS):
        return None
    return table.get(base.__name__)


def _owner(kind: type, method: str) -> type | None:
    """The class that defines a method."""
    return next((base for base in kind.__mro__ if method in vars(base)), None)


def require_fitted(estimator: Any, name: str) -> None:
    """NetworkError for an estimator that has no weights yet."""
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        raise NetworkError(
            f"The scikit-learn model is not fitted: '{name}' ({type(estimator).__name__}) has no weights. Call fit first."
        ) from None


def _refuse(reason: str) -> Callable[..., Any]:
    def refuse(builder: NetworkBuilder, value: Any) -> Any:
        raise Unsupported(reason)

    return refuse


def _as_frame(value: Any) -> Frame:
    """Where a step before cannot be embedded, a single number stands for its columns."""
    return value if isinstance(value, Frame) else computed(value)
