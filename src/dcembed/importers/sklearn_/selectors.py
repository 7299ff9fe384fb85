"""Transformers that choose columns, and those that leave them as they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcembed.importers.sklearn_.frame import Frame, as_numbers, computed, take
from dcembed.importers.sklearn_.functions import apply_function
from dcembed.importers.sklearn_.walk import Walk

SELECTORS = (
    "SelectKBest",
    "SelectPercentile",
    "SelectFpr",
    "SelectFdr",
    "SelectFwe",
    "GenericUnivariateSelect",
    "SelectFromModel",
    "SequentialFeatureSelector",
    "VarianceThreshold",
    "RFE",
    "RFECV",
)


def select(walk: Walk, selector: Any, frame: Frame) -> Frame:
    """The columns that the selector supports."""
    chosen: Frame = take(walk.builder, frame, np.flatnonzero(selector.get_support()))
    return chosen


def call(walk: Walk, transformer: Any, frame: Frame) -> Frame:
    """A known function of every entry; without one the columns stay what they are."""
    if transformer.func is None:
        return frame
    return computed(apply_function(walk.builder, transformer.func, transformer.kw_args, as_numbers(frame)))


COLUMNS = {**dict.fromkeys(SELECTORS, select), "FunctionTransformer": call}
