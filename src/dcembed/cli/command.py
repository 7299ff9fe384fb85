"""The command `dcembed`: which commands there are, and what becomes of mistakes.

Exit codes: 0 a feasible point was found, 1 none was found, 2 bad input or a file that cannot be written.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from dcembed.cli import completion, doctor, info, solve
from dcembed.cli.parser import BAD_INPUT, NONE_FOUND, Parser
from dcembed.errors import DcembedError
from dcembed.screen import complain, finish_screen, prepare_screen
from dcembed.signals import endings_as_interrupts
from dcembed.version import __version__

EXAMPLES = """\
examples, in the folder of the repository:
  dcembed doctor
  dcembed info examples/reactor.onnx
  dcembed solve examples/two_reactors.lp --time-limit 5 \\
      --embeddings examples/two_reactors.toml

dcembed COMMAND --help says more; docs/command_line.md says all.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    prepare_screen()
    try:
        arguments = build_parser().parse_args(argv)
        with endings_as_interrupts():
            return int(arguments.run(arguments))
    except SystemExit as stop:
        return int(stop.code or 0)
    except (DcembedError, OSError) as error:
        complain(_one_line(error))
        return BAD_INPUT
    except MemoryError:
        complain("this needs more memory than there is.")
        return BAD_INPUT
    except KeyboardInterrupt:
        complain("interrupted before a point was found")
        return NONE_FOUND
    finally:
        finish_screen()


def build_parser() -> argparse.ArgumentParser:
    """The parser of the command with those of all commands below it."""
    parser = Parser("dcembed", "Trained neural networks inside optimization models.", EXAMPLES, "dcembed COMMAND ...")
    parser.add_argument("--version", action="version", version=f"dcembed {__version__}", help="say the version")
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND", title="commands", parser_class=Parser, prog="dcembed"
    )
    solve.add_command(commands)
    info.add_command(commands)
    doctor.add_command(commands)
    completion.add_command(commands, parser)
    return parser


def _one_line(error: BaseException) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return "; ".join(line.strip().rstrip(";") for line in str(error).splitlines() if line.strip()).replace(":; ", ": ")
