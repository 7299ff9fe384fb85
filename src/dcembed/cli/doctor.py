"""`dcembed doctor`."""

from __future__ import annotations

import argparse
from typing import Any

from dcembed.cli.parser import FOUND, NONE_FOUND
from dcembed.screen import say

EXAMPLES = """\
examples:
  dcembed doctor
  dcembed doctor > report.txt

Exit code 0 if HiGHS and PIQP solve, which every run needs, 1 if not.
"""


def add_command(commands: Any) -> None:
    """Add the command to those of the parser."""
    parser = commands.add_parser(
        "doctor",
        help="say what is installed and which solvers work",
        description="Versions, solvers tried on a small problem, how far their licences go, and what\neach extra would add. Its output belongs into a report of a mistake.",
        epilog=EXAMPLES,
        usage="dcembed doctor",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Say what is here."""
    from dcembed.doctor import describe

    text, works = describe()
    say(text)
    return FOUND if works else NONE_FOUND
