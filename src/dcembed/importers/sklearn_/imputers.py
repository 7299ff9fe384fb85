"""Imputers. An input of a network is never missing, so they leave it as it is; a constant that is missing is filled in."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcembed.importers import operations as ops
from dcembed.importers.operations import Unsupported
from dcembed.importers.sklearn_.frame import Constant, Frame, Source, computed, is_missing, is_number, join, take
from dcembed.importers.sklearn_.walk import Walk
from dcembed.network.affine import Affine
from dcembed.network.builder import Tensor


def fill(walk: Walk, imputer: Any, frame: Frame) -> Frame:
    """A SimpleImputer."""
    _check_sign(imputer)
    filled = [_fill_in(imputer, source, value) for source, value in zip(frame.sources, imputer.statistics_, strict=True)]
    # A column that had no value at all at the fit is dropped, or zero.
    kept = [
        place for place, value in enumerate(imputer.statistics_) if not is_missing(value) or getattr(imputer, "keep_empty_features", False)
    ]
    columns = take(walk.builder, _with_constants(frame, filled), kept)
    return _with_indicator(walk, imputer, columns, frame)


def fill_nothing(walk: Walk, imputer: Any, frame: Frame) -> Frame:
    """A KNNImputer or IterativeImputer, which look at other columns where one is missing."""
    _check_sign(imputer)
    for source in frame.sources:
        if isinstance(source, Constant) and _is_sign(imputer, source.value):
            raise Unsupported(f"fills in the missing '{source.name}' by the other columns; give it a value, or use a SimpleImputer")
    if len(imputer.get_feature_names_out()) != len(frame.sources) + _num_indicators(imputer):
        raise Unsupported("drops columns that had no value at the fit; drop them before it")
    return _with_indicator(walk, imputer, frame, frame)


def indicate(walk: Walk, indicator: Any, frame: Frame) -> Frame:
    """A MissingIndicator: 0 for all inputs, 1 for constants that are missing."""
    _check_sign(indicator)
    missing = [isinstance(source, Constant) and _is_sign(indicator, source.value) for source in frame.sources]
    return computed(ops.as_tensor(np.array([missing], dtype=np.float64)[:, indicator.features_]))


def _with_indicator(walk: Walk, imputer: Any, columns: Frame, before: Frame) -> Frame:
    if not _num_indicators(imputer):
        return columns
    joined: Frame = join(walk.builder, [columns, indicate(walk, imputer.indicator_, before)])
    return joined


def _num_indicators(imputer: Any) -> int:
    indicator = getattr(imputer, "indicator_", None)
    return 0 if indicator is None else len(indicator.features_)


def _check_sign(imputer: Any) -> None:
    """A number that stands for a missing value is one that an input may have."""
    if is_number(imputer.missing_values):
        raise Unsupported(
            f"takes {imputer.missing_values!r} for a missing value, which is a number like any other to an optimizer, so that the imputer "
            "jumps there; fit it with missing_values=numpy.nan"
        )


def _is_sign(imputer: Any, value: Any) -> bool:
    sign = imputer.missing_values
    return is_missing(value) if is_missing(sign) else bool(value == sign)


def _fill_in(imputer: Any, source: Source, value: Any) -> Source:
    is_gap = isinstance(source, Constant) and _is_sign(imputer, source.value)
    return Constant(source.name, 0 if is_missing(value) else value) if is_gap and isinstance(source, Constant) else source


def _with_constants(frame: Frame, sources: list[Source]) -> Frame:
    """The frame with other constants."""
    bias = frame.entries.affine.bias.copy()
    for place, source in enumerate(sources):
        if isinstance(source, Constant):
            bias[place] = float(source.value) if is_number(source.value) else 0.0
    return Frame(Tensor(Affine(frame.entries.affine.weights, bias), frame.entries.shape), tuple(sources))


COLUMNS = {"SimpleImputer": fill, "KNNImputer": fill_nothing, "IterativeImputer": fill_nothing, "MissingIndicator": indicate}
