"""`dcembed solve`."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dcembed.cli.describe import closing_line, describe
from dcembed.cli.parser import ARCHITECTURE, FOUND, INPUT_SHAPE, NETWORK_FILES, NONE_FOUND, read_architecture
from dcembed.cli.settings import parse_value, read_options
from dcembed.errors import InputError
from dcembed.options import Options
from dcembed.screen import say
from dcembed.signals import undisturbed

if TYPE_CHECKING:
    from dcembed.arrays import Array
    from dcembed.frontends.contract import Extraction
    from dcembed.frontends.files_ import ModelFile, NetworkEntry
    from dcembed.result import Result

PICTURES = (".png", ".pdf", ".svg")
EXAMPLES = """\
examples, in the folder of the repository:
  dcembed solve examples/reactor.lp --network examples/reactor.onnx --seed 1 \\
      --inputs temperature time feed charges --outputs margin impurity
  dcembed solve examples/two_reactors.lp --time-limit 5 --quiet \\
      --embeddings examples/two_reactors.toml
exit codes: 0 a feasible point, 1 none was found, 2 bad input or unwritable file
"""


def add_command(commands: Any) -> None:
    """Add the command to those of the parser."""
    parser = commands.add_parser(
        "solve",
        help="solve a model file with networks in it",
        description="",
        epilog=EXAMPLES,
        usage="dcembed solve HOST --network FILE --inputs NAME ... --outputs NAME ...",
    )
    _add_problem(parser.add_argument_group("problem"))
    _add_start(parser.add_argument_group("start"))
    _add_search(parser.add_argument_group("time and proof"))
    _add_output(parser.add_argument_group("output"))
    parser.set_defaults(run=run)


def _add_problem(group: Any) -> None:
    add = group.add_argument
    add("host", nargs="?", metavar="HOST", help="an .lp or .mps file, gzipped or not")
    add("--network", metavar="FILE", help=NETWORK_FILES)
    add("--inputs", nargs="+", metavar="NAME", help="columns: names, patterns with * and ?, constants")
    add("--outputs", nargs="+", metavar="NAME", help="columns that stand for the predictions")
    add("--input-shape", type=int, nargs="+", metavar="N", help=INPUT_SHAPE)
    add("--architecture", nargs="+", metavar="NAME", help=ARCHITECTURE)
    add("--embeddings", metavar="FILE", help="instead: several networks in a .toml or .json file")


def _add_start(group: Any) -> None:
    group.add_argument("--start", nargs="+", metavar="FILE", help="begin from the points of solution files")
    group.add_argument("--resume", metavar="FILE", help="go on from a file of --save; it needs no HOST")


def _add_search(group: Any) -> None:
    add = group.add_argument
    add("--time-limit", type=float, metavar="SECONDS", help="end with the best point after so long")
    add("--prove", nargs="?", const=True, type=parse_value, metavar="auto", help="prove a bound: in all the time left, or auto")
    add("--gap-tol", type=float, metavar="GAP", help="gap at which a point is optimal, 1e-4 by default")
    add("--solver", metavar="NAME", help="backend; chosen by the problem if not given")
    add("--seed", type=int, metavar="N", help="of everything that is random")
    add("--threads", type=int, metavar="N", help="that solvers may use")
    add("--workers", type=int, metavar="N", help="processes for starts, prices and bounds")
    add("--option", action="append", default=[], metavar="NAME=VALUE", help="any other field of dcembed.Options")
    add("--solver-option", action="append", default=[], metavar="NAME=VALUE", help="an option of the backend")


def _add_output(group: Any) -> None:
    add = group.add_argument
    add("--quiet", action="store_true", help="no live log")
    add("--solution", metavar="FILE", help="write the point to a .json or .sol file")
    add("--save", metavar="FILE", help="write everything to an .npz file for --resume")
    add("--checkpoint", metavar="FILE", help="keep the best point so far in an .npz file")
    add("--trace", metavar="FILE", help="write the improving points to a .csv file")
    add("--plot", metavar="FILE", help="draw the run to a .png, .pdf or .svg file")


def run(arguments: argparse.Namespace) -> int:
    """Read, solve, write."""
    from dcembed.frontends import files_
    from dcembed.loading import load_result
    from dcembed.plot import plot_run, require_matplotlib

    options = read_options(arguments)
    _check_target(arguments.solution, files_.SOLUTIONS)
    _check_target(arguments.trace, (".csv",))
    _check_target(arguments.plot, PICTURES)
    _check_target(arguments.save, (".npz",))
    if arguments.plot:
        require_matplotlib()
    resumed = load_result(arguments.resume) if arguments.resume is not None else None
    extraction = _extract(arguments, resumed)
    result = _solve(extraction, options, _begin(arguments, options, extraction, resumed))
    if not options.verbose:
        say(closing_line(result))
    for target in (arguments.solution, arguments.trace, arguments.save):
        if target:
            say(f"Written: {target}")
    if arguments.plot:
        plot_run(result, arguments.plot, f"{Path(extraction.handle.host).name}: {result.status.name}")
        say(f"Picture: {arguments.plot}")
    return FOUND if result.is_feasible else NONE_FOUND


def _extract(arguments: argparse.Namespace, resumed: Result | None) -> Extraction[ModelFile]:
    """The problem: that of the files that are named, or that of the file to go on from if no host is."""
    from dcembed.frontends import files_

    if arguments.host is not None:
        written = arguments.solution, arguments.trace, arguments.save
        return files_.extract(files_.ModelFile(arguments.host, _read_networks(arguments), *written))
    if resumed is None:
        raise InputError("a host is missing. Give an .lp or .mps file, or --resume with a file that has the problem in it.")
    given = [name for name in ("network", "inputs", "outputs", "input_shape", "architecture", "embeddings") if getattr(arguments, name)]
    if given:
        raise InputError(
            f"--{given[0].replace('_', '-')} needs a host. Without one the problem is that in {arguments.resume}, networks included."
        )
    return files_.extract_saved(resumed, files_.ModelFile(arguments.resume, (), arguments.solution, arguments.trace, arguments.save))


def _solve(extraction: Extraction[ModelFile], options: Options, start: list[Result | Array] | None) -> Result:
    """Solve and write the answer before anything else is said. A run that fails may have a result with it, which is written too."""
    from dcembed.engine.solve import solve_for
    from dcembed.frontends.files_ import WORDS, restore

    try:
        result = solve_for(WORDS, extraction.program, extraction.embeddings, start, options)
    except Exception as error:
        so_far = getattr(error, "result", None)
        if so_far is not None:
            with undisturbed():
                restore(extraction, so_far)
        raise
    with undisturbed():
        return restore(extraction, result)


def _begin(
    arguments: argparse.Namespace, options: Options, extraction: Extraction[ModelFile], resumed: Result | None
) -> list[Result | Array] | None:
    """Show what was read, before the run begins from the points that were asked for."""
    from dcembed.frontends.files_ import check_resumed, read_start

    start: list[Result | Array] = [] if resumed is None else [resumed]
    start += [] if arguments.start is None else [read_start(path, extraction.program) for path in arguments.start]
    words = "" if resumed is None else check_resumed(resumed, extraction, arguments.resume)
    if options.verbose:
        describe(extraction)
    if words:
        say(words)
    return start or None


def _read_networks(arguments: argparse.Namespace) -> list[NetworkEntry] | str:
    from dcembed.frontends.files_ import NetworkEntry

    single = {"--network": arguments.network, "--inputs": arguments.inputs, "--outputs": arguments.outputs}
    given = [name for name, value in single.items() if value is not None]
    if arguments.embeddings:
        if given or arguments.input_shape or arguments.architecture:
            raise InputError(f"--embeddings stands for {', '.join(single)}; give one or the other.")
        return str(arguments.embeddings)
    if len(given) < len(single):
        missing = " and ".join(name for name in single if name not in given)
        raise InputError(f"{missing} missing. Give --network, --inputs and --outputs, or --embeddings.")
    inputs, outputs = map(_as_written, arguments.inputs), map(_as_written, arguments.outputs)
    return [NetworkEntry(arguments.network, list(inputs), list(outputs), arguments.input_shape, read_architecture(arguments))]


def _as_written(name: str) -> str:
    """A name as it is in the file, which is in UTF-8 whatever the terminal's alphabet."""
    return os.fsencode(name).decode("utf-8", "replace")


def _check_target(target: str | None, suffixes: tuple[str, ...]) -> None:
    """A file that cannot be written is a mistake to hear of before the run."""
    if target is None:
        return
    path = Path(target)
    if path.suffix.lower() not in suffixes:
        raise InputError(f"{target} is not written: its name must end with {' or '.join(suffixes)}.")
    if not path.parent.is_dir():
        raise InputError(f"{target} cannot be written: there is no folder {path.parent}.")
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InputError(f"{target} cannot be written: no permission, or it is a folder.")
