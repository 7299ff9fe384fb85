"""A table with texts among its columns, models that are fitted to it, and its rows as points of a network."""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import StandardScaler

COLORS, SIZES = ("blue", "green", "red"), ("L", "M", "S")
NUMBERS = ["area", "age"]
TEXTS = ["color", "size"]


@functools.cache
def data():
    rng = np.random.default_rng(1)
    n = 90
    return pd.DataFrame(
        {
            "color": rng.choice(COLORS, n, p=[0.5, 0.4, 0.1]),
            "area": rng.normal(50.0, 10.0, n),
            "size": rng.choice(SIZES, n),
            "rooms": rng.integers(1, 5, n),
            "age": rng.uniform(0.0, 3.0, n),
        }
    )


def target(table):
    return 0.1 * table["area"] + table["rooms"] - 2.0 * (table["color"] == "red") + table["age"] ** 2


def fit(model, table=None, y=None):
    table = data() if table is None else table
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(table, target(data()) if y is None else y)


def columns(encoder, **options):
    return ColumnTransformer([("numbers", StandardScaler(), NUMBERS), ("texts", encoder, TEXTS)], **options)


def as_points(network, table):
    """A table of the model as points of the network, by the names of its inputs."""
    points = np.zeros((len(table), network.num_inputs))
    for place, name in enumerate(network.input_names):
        if name in table.columns:
            # A column of texts that is no category is one that the model does not look at.
            points[:, place] = pd.to_numeric(table[name], errors="coerce").fillna(0.0)
        else:
            column, _, category = name.rpartition("_")
            points[:, place] = table[column].astype(str) == category
    return points
