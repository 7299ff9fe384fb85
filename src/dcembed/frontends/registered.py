"""Predictors that the user embeds by a function of their own, as in gurobi-ml."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_REGISTERED: dict[type | str, Callable[..., Any]] = {}


def register_predictor_constr(predictor: type | str, predictor_constr: Callable[..., Any]) -> None:
    """Have `add_predictor_constr` hand predictors of a class to a function or class of the user's.

    Parameters
    ----------
    predictor
        The class, or its name.
    predictor_constr
        Called with the arguments of `add_predictor_constr`; what it returns is returned. What it adds to the model must be of the kinds
        that dcembed takes.
    """
    _REGISTERED[predictor] = predictor_constr


def find_registered(predictor: Any) -> Callable[..., Any] | None:
    """What was registered for the class of a predictor, one of its bases or its name."""
    kind = type(predictor)
    return next((_REGISTERED[key] for key in (*kind.__mro__, kind.__name__) if key in _REGISTERED), None)
