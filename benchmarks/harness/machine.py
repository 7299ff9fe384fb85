"""What a run was made with: processor, system and versions. No names of hosts, users or folders."""

from __future__ import annotations

import contextlib
import os
import platform
from importlib import metadata
from pathlib import Path

import psutil

PACKAGES = (
    "dcembed",
    "numpy",
    "scipy",
    "highspy",
    "piqp",
    "ipyopt",
    "pyscipopt",
    "gurobipy",
    "gurobi-machinelearning",
    "omlt",
    "pyomo",
    "PySCIPOpt-ML",
    "torch",
)


def describe_machine() -> str:
    """Processor, number of cores, memory, system and Python."""
    parts = [_processor(), f"{os.cpu_count()} cores", f"{psutil.virtual_memory().total / 2**30:.0f} GiB"]
    return ", ".join([*parts, f"{platform.system()} {platform.machine()}", f"Python {platform.python_version()}"])


def describe_versions() -> str:
    """The packages that can matter, with their versions."""
    found = []
    for name in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found.append(f"{name} {metadata.version(name)}")
    return ", ".join(found)


def _processor() -> str:
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line for line in lines if line.startswith("model name")).split(":", 1)[1].strip()
    return platform.processor() or "unknown processor"
