"""Names of single variables and constraints as linopy prints them: `power[2030-01-01 00:00:00, north]`."""

from __future__ import annotations

from itertools import product

import xarray as xr


def entry_names(name: str, labels: xr.DataArray) -> list[str]:
    """One name for each entry, in row-major order; a scalar has the name alone."""
    if not labels.dims:
        return [name]
    indexes = labels.indexes
    parts = [
        [_text(entry) for entry in indexes[dim]] if dim in indexes else list(map(str, range(labels.sizes[dim]))) for dim in labels.dims
    ]
    return [f"{name}[{', '.join(place)}]" for place in product(*parts)]


def _text(entry: object) -> str:
    return ", ".join(map(str, entry)) if isinstance(entry, tuple) else str(entry)
