"""A region of data as a table of a TOML or JSON file: `support = { data = "train.csv", kind = "hull" }`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dcembed.embedded.region import Region
from dcembed.errors import InputError
from dcembed.importers import load_network
from dcembed.network.network import Network
from dcembed.reading import show
from dcembed.support import Support, support
from dcembed.support.data_files import read_data_file

# What `dcembed.support` takes of what can be written into a file.
KEYS = ("data", "kind", "weight", "coverage", "points", "clusters", "shape", "network", "threshold", "targets", "discrete", "seed")


def read_region(table: Any, folder: Path) -> Support | None:
    """The region that a table asks for, None for no table; its paths are relative to `folder`."""
    if table is None:
        return None
    if not isinstance(table, dict) or "data" not in table:
        raise InputError(
            f'support: a table with data is expected, such as {{ data = "train.csv", kind = "hull" }}; received {show(table)}.'
        )
    unknown = [key for key in table if key not in KEYS]
    if unknown:
        raise InputError(f"support: there is no key {unknown[0]!r}. Accepted: {', '.join(KEYS)}.")
    given = {key: value for key, value in table.items() if value is not None}
    for key in ("data", "network"):
        if key in given and not isinstance(given[key], str):
            raise InputError(f"support: {key} is not accepted: the path of a file is expected, received {show(given[key])}.")
    data, targets = read_data_file(folder / given.pop("data"), given.pop("targets", None))
    if "network" in given:
        given["network"] = load_network(folder / given["network"])
    return support(data, targets=targets, **given)


def in_order_of(region: Region | None, network: Network, names: Sequence[str | None]) -> Region | None:
    """A region whose data has just the names of the columns that are the inputs, in their order; any other as it is.

    A network that knows the names of its features has its own order, in which regions are put where they are embedded.
    """
    own = region.data.names if isinstance(region, Support) else None
    columns = [name for name in names if name is not None]
    if region is None or own is None or network.input_names is not None or len(columns) != len(own) or set(own) != set(columns):
        return region
    return region.for_names(tuple(columns))
