"""What the parsers of all commands share: help that fits a screen, one line for a mistake, exit codes."""

from __future__ import annotations

import argparse
import difflib
import sys
from typing import Any, NoReturn

from dcembed.screen import complain

FOUND, NONE_FOUND, BAD_INPUT = 0, 1, 2
NETWORK_FILES = ".onnx, .keras, .h5, .npz, .safetensors or .nnet"
ARCHITECTURE = "activations that a file of weights does not say"
# How alike an option must be to one that does not exist to have been meant.
NEAR = 0.75
INPUT_SHAPE = "shape of one point, where the file says none"


class Help(argparse.RawDescriptionHelpFormatter):
    """Help of 80 columns, an option in a line."""

    def __init__(self, prog: str, **settings: Any) -> None:
        super().__init__(prog, **{**settings, "max_help_position": 30, "width": 80})
        # All help begins in one column, that of commands too.
        self._action_max_length = 14

    def _format_args(self, action: argparse.Action, default_metavar: str) -> str:
        """NAME ... is what argparse says as NAME [NAME ...]."""
        if action.nargs == argparse.ONE_OR_MORE:
            return f"{action.metavar or default_metavar} ..."
        return super()._format_args(action, default_metavar)


class Parser(argparse.ArgumentParser):
    """One line for a mistake, not the whole usage; options are written out.

    Parameters
    ----------
    prog, description, epilog, usage
        As argparse has them.
    """

    def __init__(self, prog: str, description: str, epilog: str, usage: str) -> None:
        super().__init__(
            prog=prog, description=description, epilog=epilog, usage=usage, formatter_class=Help, allow_abbrev=False, add_help=False
        )
        # A line of the screen is too dear to say that there is help to those who read it.
        self.add_argument("-h", "--help", action="help", help=argparse.SUPPRESS)

    def parse_known_args(self, *args: Any, **settings: Any) -> Any:
        """Everything has to be known, and it is the command itself that says what is not: the whole knows no options of its commands."""
        namespace, unknown = super().parse_known_args(*args, **settings)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return namespace, unknown

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and where to read what is right."""
        complain(f"{message}{self._meant(message)} (see {self.prog} --help)", self.prog)
        sys.exit(BAD_INPUT)

    def _meant(self, message: str) -> str:
        """The option that was meant by one that does not exist, if it is near."""
        given = next((word.partition("=")[0] for word in message.split() if word.startswith("--")), "")
        known = [option for action in self._actions for option in action.option_strings]
        near = difflib.get_close_matches(given, known, n=1, cutoff=NEAR) if message.startswith("unrecognized arguments") else []
        return f"; did you mean {near[0]}?" if near else ""


def read_architecture(arguments: argparse.Namespace) -> str | list[str] | None:
    """One name is that of all hidden layers."""
    names: list[str] | None = arguments.architecture
    return names[0] if names and len(names) == 1 else names
