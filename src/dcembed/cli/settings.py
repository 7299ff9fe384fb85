"""What the options of `dcembed solve` say, as `Options`."""

from __future__ import annotations

import argparse
import json
from dataclasses import fields
from typing import Any

from dcembed.errors import InputError
from dcembed.options import Options

# Options that no text stands for.
IN_PYTHON_ONLY = {
    "callback": "a callback is a Python function",
    "stop": "a threading.Event is a Python object",
    "executor": "an executor is a Python object; workers=2 begins processes of our own",
}


def read_options(arguments: argparse.Namespace) -> Options:
    """The options of a run; what is given twice, or on no command line, is an error."""
    flags = {
        name: getattr(arguments, name) for name in ("time_limit", "prove", "gap_tol", "solver", "seed", "threads", "workers", "checkpoint")
    }
    settings = {name: value for name, value in flags.items() if value is not None}
    if arguments.quiet:
        settings["verbose"] = False
    settings |= _read_pairs(arguments.option, "--option", settings)
    for name, what in IN_PYTHON_ONLY.items():
        if name in settings:
            raise InputError(f"--option {name}: {what}; it cannot be given on the command line.")
    if arguments.solver_option:
        settings["solver_options"] = _read_pairs(arguments.solver_option, "--solver-option", {})
    return Options(**settings)


def _read_pairs(pairs: list[str], flag: str, given: dict[str, Any]) -> dict[str, Any]:
    read: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        name = name.strip().replace("-", "_") if flag == "--option" else name.strip()
        if not equals or not name:
            raise InputError(
                f"{flag} {pair}: NAME=VALUE is expected" + (f"; the names are {_option_names()}." if flag == "--option" else ".")
            )
        if name in read or name in given:
            raise InputError(f"{flag} {pair}: {name} is given twice.")
        read[name] = parse_value(text.strip())
    return read


def parse_value(text: str) -> Any:
    """A JSON value (number, true, false, null, object), or Python's spelling of it, or else the text itself."""
    plain = {"True": True, "False": False, "None": None, "inf": float("inf")}
    if text in plain:
        return plain[text]
    try:
        return json.loads(text)
    except ValueError:
        return text


def _option_names() -> str:
    return ", ".join(field.name for field in fields(Options) if field.name not in IN_PYTHON_ONLY)
