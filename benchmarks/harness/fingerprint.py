"""A fingerprint of all that a run depends on: a record is taken instead of a run only if both have the same one.

It covers the code of the method (the rooms of dcembed that a method of ours runs; for packages of others their wrapper here, the part of
dcembed that hands them the problem, and their versions), the code and data of the instance, with the modules of problems that it is built with,
the clock and the measuring of points. The tables of methods and experiments are covered row by row, so that a new row leaves the records of
the others as they are.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

import dcembed
from benchmarks.methods.method import CORE, Method
from benchmarks.methods.table import METHODS
from benchmarks.problems.experiments import Experiment, experiment_of

PACKAGE = Path(dcembed.__file__).parent
BENCHMARKS = Path(__file__).resolve().parent.parent
# Code that every run goes through; a method and an instance add their own.
COMMON = ("harness/job.py", "harness/outcome.py", "methods/method.py")
# What instances are built of.
PROBLEMS = "benchmarks.problems."
LENGTH = 16
# What runs say, and to whom, makes no difference to where they go.
TELLING = ("run/heartbeat.py", "run/log.py", "run/table.py", "run/voice.py")


def fingerprint(family: str, size: str, trial: int, method: str) -> str:
    """The fingerprint of a method on an instance, with the code and the packages that are imported here."""
    experiment, chosen = experiment_of(family, size), METHODS[method]
    return combine(
        [
            *(_hash_once(PACKAGE / room, tuple(PACKAGE / name for name in TELLING)) for room in chosen.rooms),
            *(_hash_once(BENCHMARKS / source) for source in (*COMMON, *chosen.sources)),
            *(_hash_once(BENCHMARKS / source) for source in sources_of(inspect.getmodule(experiment.build).__name__)),
            *(_hash_once(file) for file in experiment.files(size, trial)),
            _row(chosen, experiment),
            *(_version(package) for package in (*CORE, *chosen.packages)),
        ]
    )


@functools.cache
def sources_of(module: str) -> tuple[str, ...]:
    """The files of a module of problems and of those that it imports, directly or through others."""
    found, waiting = set(), [module]
    while waiting:
        source = Path(*waiting.pop().split(".")[1:]).with_suffix(".py").as_posix()
        if source in found:
            continue
        found.add(source)
        imports = (node for node in ast.walk(ast.parse((BENCHMARKS / source).read_text())) if isinstance(node, ast.ImportFrom))
        waiting += [node.module for node in imports if node.module and node.module.startswith(PROBLEMS)]
    return tuple(sorted(found))


def hash_source(path: Path, without: tuple[Path, ...] = ()) -> str:
    """Hash of a file, or of the names and contents of all Python files in a folder and below it, without some of them."""
    if path.is_file():
        return hashlib.sha256(path.read_bytes()).hexdigest()
    files = sorted(set(path.rglob("*.py")) - set(without))
    if not files:
        raise FileNotFoundError(f"There is no source in {path.name}: the records of its code could not be told from others.")
    return combine(part for file in files for part in (file.relative_to(path).as_posix(), hash_source(file)))


def combine(parts: Iterable[str]) -> str:
    """One short hash of several texts in their order."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:LENGTH]


# Code that is imported does not change any more; a sweep asks for it hundreds of times.
_hash_once = functools.cache(hash_source)


def _row(method: Method, experiment: Experiment) -> str:
    """What the tables say about a run: the function that is called and the options it gets."""
    return f"{method.name} {method.solve.__module__}.{method.solve.__qualname__} {sorted(method.settings(experiment).items())}"


@functools.cache
def _version(package: str) -> str:
    """The version of the distribution that an importable package comes from; nothing for parts of dcembed, whose source is hashed."""
    names = _distributions().get(package, [])
    return f"{package} {[metadata.version(name) for name in sorted(set(names)) if name != 'dcembed']}"


@functools.cache
def _distributions() -> dict[str, list[str]]:
    return dict(metadata.packages_distributions())
