"""Units in which inputs are compared: those of the model's own scaler, or the spread of the data."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcembed.arrays import Array
from dcembed.errors import InputError
from dcembed.reading import as_numbers, show

# A scaler is compared at a few points with the shift and the factors that it is taken for; relative.
SAME = 1e-9
ACCEPTED = (
    "Accepted are a fitted scaler of scikit-learn that shifts and scales every column by itself (StandardScaler, MinMaxScaler, MaxAbsScaler, "
    "RobustScaler), a pipeline that begins with such, or a pair (center, scale) of vectors"
)


@dataclass(frozen=True, eq=False)
class Scale:
    """z = (x - center) / spread, shape (n_in,) each."""

    center: Array
    spread: Array

    def apply(self, x: Array) -> Array:
        """Points (k, n_in) in scaled units."""
        z: Array = (x - self.center) / self.spread
        return z


def scale_of(data: Array, is_discrete: Array) -> Scale:
    """Mean and standard deviation of every column (N, n_in); a column that is constant or discrete stays as it is."""
    center, spread = data.mean(axis=0), data.std(axis=0)
    plain = is_discrete | (spread <= 1e-12 * np.maximum(np.abs(center), 1.0))
    return Scale(np.where(is_discrete, 0.0, center), np.where(plain, 1.0, spread))


def read_scaler(scaler: Any, data: Array, names: tuple[str, ...] | None, is_discrete: Array) -> Scale:
    """What a scaler does to every column, found by asking it; InputError if it does anything else than shift and scale."""
    if isinstance(scaler, tuple) and len(scaler) == 2:
        center, spread = (as_numbers(part, f"support: scaler[{i}]").reshape(-1) for i, part in enumerate(scaler))
        if not center.size == spread.size == data.shape[1] or not (
            np.isfinite(center).all() and np.isfinite(spread).all() and (spread > 0).all()
        ):
            raise InputError(f"support: scaler is a pair of vectors with {data.shape[1]} finite entries, the second ones positive.")
        return Scale(center, spread)
    transform = _transform(scaler)
    n = data.shape[1]
    middle = data.mean(axis=0)
    step = np.where(data.std(axis=0) > 0, data.std(axis=0), 1.0)
    at, beside = (_ask(transform, points, names) for points in (middle[None], middle + np.diag(step)))
    if at.shape != (1, n) or beside.shape != (n, n):
        raise InputError(f"support: the scaler makes {at.shape[-1]} columns of {n}. {ACCEPTED}.")
    factor = np.diag(beside - at) / step
    with np.errstate(divide="ignore", invalid="ignore"):
        found = Scale(middle - at[0] / factor, 1.0 / factor)
    sample = data[:: max(len(data) // 20, 1)]
    if not (factor > 0).all() or not np.allclose(_ask(transform, sample, names), found.apply(sample), rtol=SAME, atol=SAME):
        raise InputError(f"support: the scaler does more than shift and scale every column by itself. {ACCEPTED}.")
    return Scale(np.where(is_discrete, 0.0, found.center), np.where(is_discrete, 1.0, found.spread))


def _transform(scaler: Any) -> Any:
    """The function of a scaler, or of what comes before the last step of a pipeline."""
    steps = getattr(scaler, "steps", None)
    if isinstance(steps, list) and len(steps) > 1 and not hasattr(steps[-1][1], "transform"):
        scaler = scaler[:-1]
    if not callable(getattr(scaler, "transform", None)):
        raise InputError(f"support: scaler is not accepted: received {show(scaler)}. {ACCEPTED}.")
    return scaler.transform


def _ask(transform: Any, points: Array, names: tuple[str, ...] | None) -> Array:
    with warnings.catch_warnings():
        # A scaler that was fitted on a frame warns when it is given an array.
        warnings.simplefilter("ignore")
        try:
            return np.asarray(transform(points), dtype=np.float64)
        except Exception:
            if names is None:
                raise
            import pandas

            return np.asarray(transform(pandas.DataFrame(points, columns=list(names))), dtype=np.float64)
