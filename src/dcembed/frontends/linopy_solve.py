"""`dcembed.linopy.solve`, and the result of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

import linopy
import numpy as np
import xarray as xr

from dcembed.arrays import Array
from dcembed.errors import InputError
from dcembed.frontends import linopy_
from dcembed.frontends.contract import Extraction, solve_model
from dcembed.frontends.linopy_ import LinopyModel
from dcembed.frontends.linopy_ties import ties_of
from dcembed.options import Options
from dcembed.result import Result

_RESULTS: WeakKeyDictionary[linopy.Model, Result] = WeakKeyDictionary()


def solve(model: linopy.Model, time_limit: float = np.inf, start: Any = None, load_infeasible: bool = False, **options: Any) -> Result:
    """Find a good feasible point of a linopy model with embedded networks, and put it where linopy's own solve does.

    Afterwards `variable.solution`, `model.solution` and `model.objective.value` are those of the best feasible point, `model.status` is
    "ok" and `model.termination_condition` "suboptimal", or what else ended the run; "optimal" only where `Options.prove` has proved it.
    Without a feasible point the status is "warning" or "aborted". There are no dual values. Bound and gap are in the result.

    Parameters
    ----------
    model
        With at least one network from `embed`. Nothing of it is changed but its solution.
    time_limit
        Seconds.
    start
        Values by the names of the variables, to begin from: `model.solution`, another Dataset, or a mapping to numbers and arrays.
        Predictions may be left out. Or a `Result` to go on from.
    load_infeasible
        Put the point that is nearest to feasible into `variable.data.solution` where none is feasible. `variable.solution` still says that
        there is no solution, as linopy has it.
    options
        Of `dcembed.Options`.

    Returns
    -------
    The `Result`.
    """
    if not ties_of(model):
        raise InputError("solve: no network is embedded in the model. Call dcembed.linopy.embed first, or model.solve() for linopy.")
    settings = Options(time_limit=time_limit, **options)
    begin = None if start is None else lambda extraction: read_start(extraction, start)
    result = solve_model(linopy_, model, settings, begin, load_infeasible=load_infeasible)
    _RESULTS[model] = result
    return result


def result_of(model: linopy.Model) -> Result:
    """The `Result` of the last solve of a model with networks."""
    if model not in _RESULTS:
        raise InputError("result_of: the model was not solved by dcembed. Call model.solve() or dcembed.linopy.solve(model) first.")
    return _RESULTS[model]


def forget_result(model: linopy.Model) -> None:
    """Drop what `result_of` gives: the model is solved by others again."""
    _RESULTS.pop(model, None)


def read_start(extraction: Extraction[LinopyModel], start: Any) -> Array | Result:
    """A point of the program from values by the names of variables; a result is left as it is."""
    if isinstance(start, Result):
        return start
    if not isinstance(start, Mapping | xr.Dataset):
        raise InputError(
            f"solve: start has values by the names of variables, such as model.solution, or is a Result; received {type(start).__name__}."
        )
    model, labels = extraction.handle.model, extraction.handle.labels
    values = np.full(labels.max(initial=-1) + 1, np.nan)
    for name, variable in model.variables.items():
        if name in start:
            given = xr.DataArray(start[name]).broadcast_like(variable.labels).transpose(*variable.labels.dims).values
            there = variable.labels.values >= 0
            values[variable.labels.values[there]] = given[there]
    point = np.zeros(extraction.program.num_columns)
    point[: labels.size] = values[labels]
    for embedding in extraction.embeddings:
        point[embedding.outputs] = np.nan_to_num(point[embedding.outputs])
    missing = np.flatnonzero(np.isnan(point))
    if missing.size:
        raise InputError(f"solve: start has no value of {extraction.program.column_label(int(missing[0]))}.")
    return point
