"""The command line: `dcembed solve`, `dcembed info`, `dcembed doctor` and `dcembed completion`, a file for each."""

from dcembed.cli.command import main

__all__ = ["main"]
