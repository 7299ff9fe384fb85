"""Where the trained networks of the experiments are, and what trains one that is not there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.problems.data import MissingDataError
from dcembed import Network, load_network
from dcembed.importers.weights.arrays_ import FORMAT_KEY

NETWORKS = Path(__file__).parent.parent / "networks"
NETWORKS_VARIABLE = "DCEMBED_NETWORKS"


def own_folder() -> Path:
    """Where networks are put that are trained: the folder named by DCEMBED_NETWORKS, else benchmarks/networks."""
    return Path(os.environ.get(NETWORKS_VARIABLE) or NETWORKS)


def network_file(name: str) -> Path:
    """Where a network is: in the own folder, else in benchmarks/networks; one that is in neither will be in the own folder."""
    own, shipped = own_folder() / name, NETWORKS / name
    return shipped if shipped.is_file() and not own.is_file() else own


def require_network(path: Path, command: str) -> Path:
    """The file of a trained network; the error has the command that trains it, a module of this package and its arguments."""
    if not path.is_file():
        raise MissingDataError(f"The experiment needs {path.name}. Train it: python -m benchmarks.problems.{command}")
    return path


def load_trained(path: Path, command: str, architecture: Any = None) -> Network:
    """The network in a file; the error has the command that trains it.

    `architecture` is for files of weights alone: what `save_network` has written says itself what it is.
    """
    with np.load(require_network(path, command)) as archive:
        says_itself = FORMAT_KEY in archive
    return load_network(path, architecture=None if says_itself else architecture)
