"""`dcembed completion`: a script for a shell that completes commands, options, files and names of solvers. shtab writes it."""

from __future__ import annotations

import argparse
import functools
import importlib
from typing import Any

from dcembed.cli.parser import FOUND
from dcembed.errors import MissingPackageError
from dcembed.screen import say

SHELLS = ("bash", "zsh", "fish")
EXAMPLES = """\
examples:
  eval "$(dcembed completion bash)"         in ~/.bashrc
  eval "$(dcembed completion zsh)"          in ~/.zshrc, after compinit
  dcembed completion fish | source          in ~/.config/fish/config.fish
"""
# Of arguments that are files, what their names end with.
FILES = {
    "host": ("*.lp", "*.mps", "*.lp.gz", "*.mps.gz"),
    "network": ("*.onnx", "*.onnx.gz", "*.keras", "*.h5", "*.npz", "*.safetensors", "*.nnet", "*.pt2", "*.pt"),
    "embeddings": ("*.toml", "*.json"),
    "start": ("*.json", "*.sol"),
    "resume": ("*.npz",),
    "solution": ("*.json", "*.sol"),
    "save": ("*.npz",),
    "checkpoint": ("*.npz",),
    "trace": ("*.csv",),
    "plot": ("*.png", "*.pdf", "*.svg"),
}


def add_command(commands: Any, whole: argparse.ArgumentParser) -> None:
    """Add the command to those of the parser `whole`, which it completes."""
    parser = commands.add_parser(
        "completion",
        help="print a script that completes in your shell",
        description="A script for your shell: TAB completes commands, options, files and solvers.",
        epilog=EXAMPLES,
        usage="dcembed completion SHELL",
    )
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=" or ".join(SHELLS))
    parser.set_defaults(run=functools.partial(run, whole))


def run(whole: argparse.ArgumentParser, arguments: argparse.Namespace) -> int:
    """Print the script."""
    try:
        shtab = importlib.import_module("shtab")
    except ImportError:
        raise MissingPackageError(
            'Completion needs shtab, which writes the script. Install it with: pip install "dcembed[completion]"'
        ) from None
    _tell_values(whole, shtab)
    say(shtab.complete(whole, arguments.shell))
    return FOUND


def _tell_values(parser: argparse.ArgumentParser, shtab: Any) -> None:
    """What the arguments of all commands take, beyond what parsing needs to know."""
    from dcembed.solvers.table import BACKENDS

    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _tell_values(command, shtab)
        elif action.dest == "solver":
            action.choices = sorted(BACKENDS)
        elif action.dest == "prove":
            action.choices = ["auto"]
        elif action.dest in FILES:
            action.complete = shtab.glob(*FILES[action.dest])  # type: ignore[attr-defined]  # where shtab looks for it
