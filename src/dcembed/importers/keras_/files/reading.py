"""Read .keras and .h5 files without running what is in them.

The description of the model is checked and rebuilt first (`config.py`), and the weights are looked at (`weights.py`). Keras then makes
the model of what was accepted, which is read as a live one and compared with it.
"""

from __future__ import annotations

import json
import warnings
import zipfile
from pathlib import Path
from typing import Any

from dcembed.errors import DcembedError, NetworkError
from dcembed.importers.archives import DAMAGES, check_entries
from dcembed.importers.keras_.backend import keras
from dcembed.importers.keras_.files.config import Cleaning, clean_model
from dcembed.importers.keras_.files.legacy import modernize
from dcembed.importers.keras_.files.sizes import Limits, limits_of
from dcembed.importers.keras_.files.weights import Weights, load_weights, make_initializer, read_weights
from dcembed.reading import shorten

DESCRIPTION, WEIGHTS = "config.json", "model.weights.h5"
# Letters of what Keras says of a file that a message shows.
MOST_SHOWN = 300


def read_file(path: Path) -> tuple[Any, Limits]:
    """The model in a file, and how large its values may become."""
    try:
        with warnings.catch_warnings():
            # What Keras finds unusual in a file of an older version is none of the user's business here.
            warnings.simplefilter("ignore")
            return _read_archive(path) if path.suffix.lower() == ".keras" else _read_whole(path)
    except DcembedError:
        raise
    except (*DAMAGES, RecursionError) as error:
        reason = shorten(str(error), MOST_SHOWN) or "no reason is given"
        raise NetworkError(
            f"{path} cannot be read: {type(error).__name__}: {reason}. It is damaged, or of another kind; save the model again with "
            "model.save('name.keras'), or open it yourself and pass the live model."
        ) from error


def _read_archive(path: Path) -> tuple[Any, Limits]:
    with zipfile.ZipFile(path) as archive:
        entries = {entry.filename: entry for entry in archive.infolist() if entry.filename in (DESCRIPTION, WEIGHTS)}
        if len(entries) < 2:
            raise NetworkError(f"{path} is not a Keras file: it holds no {DESCRIPTION if DESCRIPTION not in entries else WEIGHTS}.")
        check_entries(list(entries.values()), path)
        description, content = json.loads(archive.read(entries[DESCRIPTION])), archive.read(entries[WEIGHTS])
    weights = read_weights(content, path)
    cleaned, limits = _clean(description, weights, path)
    model = keras.saving.deserialize_keras_object(cleaned, safe_mode=True)
    return _with_weights(model, weights, WEIGHTS, path), limits


def _read_whole(path: Path) -> tuple[Any, Limits]:
    """An HDF5 file with the description of the model as an attribute, as older versions save them."""
    weights = read_weights(path.read_bytes(), path)
    text = weights.root.attributes.get("model_config")
    if text is None or text.dtype.kind != "S" or text.size != 1:
        raise NetworkError(
            f"{path} holds weights without a description of the model. Build the model, call model.load_weights('{path.name}'), and pass it."
        )
    cleaned, limits = _clean(modernize(json.loads(text.item()), path), weights, path)
    kind = keras.Sequential if cleaned["class_name"] == "Sequential" else keras.Model
    return _with_weights(kind.from_config(cleaned["config"]), weights, "model.h5", path), limits


def _clean(description: Any, weights: Weights, path: Path) -> tuple[dict[str, Any], Limits]:
    limits = limits_of(weights.num_numbers)
    return clean_model(description, Cleaning(path, make_initializer(weights, path), limits.values)), limits


def _with_weights(model: Any, weights: Weights, name: str, path: Path) -> Any:
    if not model.built:
        raise NetworkError(f"The Keras model in {path} was saved before it had weights. Build and train it, then save it.")
    load_weights(model, weights, name)
    return model
