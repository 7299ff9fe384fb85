"""Keras on a backend that is installed, and its weights as numpy arrays.

Keras takes the backend named by KERAS_BACKEND or by its own settings, TensorFlow if there are none, and cannot be imported where that one is
not installed. Whoever passes a live model has chosen a backend; who reads a file may not even know that there is one.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from dcembed.arrays import Array
from dcembed.errors import MissingPackageError

BACKENDS = ("tensorflow", "torch", "jax")
VARIABLE = "KERAS_BACKEND"


def _import_keras() -> ModuleType:
    if sys.modules.get("keras") is not None:
        return sys.modules["keras"]
    if importlib.util.find_spec("keras") is None:
        raise ModuleNotFoundError("No module named 'keras'", name="keras")
    given = os.environ.get(VARIABLE)
    backend = given or _installed_backend()
    try:
        os.environ[VARIABLE] = backend
        return importlib.import_module("keras")
    except ModuleNotFoundError as error:
        raise MissingPackageError(
            f"Keras cannot be imported with the backend '{backend}': {error}. Install that package, or set {VARIABLE} to another one."
        ) from None
    finally:
        # What was not given is not left behind for processes that are started from here.
        if given is None:
            del os.environ[VARIABLE]


def _installed_backend() -> str:
    """The one that Keras would take, if it is installed, else another one."""
    names = [_configured_backend(), *BACKENDS]
    for name in names:
        if name == "numpy" or importlib.util.find_spec(name) is not None:
            return name
    raise MissingPackageError(
        f'Keras needs one of the packages {", ".join(BACKENDS)}, and none is installed. Run: pip install "dcembed[torch]"'
    )


def _configured_backend() -> str:
    folder = Path(os.environ.get("KERAS_HOME", Path.home() / ".keras"))
    try:
        name = json.loads((folder / "keras.json").read_text()).get("backend", BACKENDS[0])
    except (OSError, ValueError, AttributeError):
        name = BACKENDS[0]
    return name if isinstance(name, str) and name.isidentifier() else BACKENDS[0]


keras: Any = _import_keras()


def as_array(weight: Any) -> Array:
    """A weight in float64."""
    return np.asarray(keras.ops.convert_to_numpy(weight), dtype=np.float64)


def as_plain(value: Any) -> Any:
    """Constants of the backend as numpy arrays; everything else as it is."""
    if isinstance(value, keras.Variable) or keras.ops.is_tensor(value):
        return keras.ops.convert_to_numpy(value)
    return value
