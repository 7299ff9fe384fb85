"""Python processes that this one starts: how they find what this one finds.

Such a process imports from where this one does, the current folder last, hears none of the environment variables for Python, and does not
run the user's script again.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import IO

# The package without what its front door imports, which takes longer than all the rest.
_START = """
import importlib, json, sys, types
sys.path[:] = json.loads(sys.argv[1])
package = sys.modules["dcembed"] = types.ModuleType("dcembed")
package.__path__ = [sys.argv[2]]
importlib.import_module(sys.argv[3]).serve()
"""


def can_start() -> bool:
    """Whether this process can start others; a program that Python is frozen into starts nothing but itself."""
    return bool(sys.executable) and not getattr(sys, "frozen", False)


def command(module: str) -> list[str]:
    """An isolated Python (-I) that calls `serve` of a module; what happens to lie in the current folder stands behind everything else."""
    paths = sorted((path for path in sys.path if Path(path).is_absolute()), key=_is_current)
    return [sys.executable, "-I", "-c", _START, json.dumps(paths), str(Path(__file__).parent), module]


def take_output() -> IO[bytes]:
    """In such a process: standard output for its answers alone; what others print goes to standard error."""
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    try:
        os.dup2(2, 1)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return answers


def _is_current(path: str) -> bool:
    with contextlib.suppress(OSError):
        return Path(path).samefile(Path.cwd())
    return False
