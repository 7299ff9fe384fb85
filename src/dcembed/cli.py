"""The command line: `dcembed solve`, `dcembed info` and `dcembed doctor`.

Exit codes: 0 a feasible point was found, 1 none was found, 2 bad input or a file that cannot be written.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import fields
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from dcembed.errors import DcembedError, InputError, MissingPackageError
from dcembed.gap import show_gap
from dcembed.options import Options
from dcembed.screen import complain, finish_screen, prepare_screen, say
from dcembed.signals import endings_as_interrupts, undisturbed
from dcembed.version import __version__

if TYPE_CHECKING:
    from dcembed.arrays import Array
    from dcembed.embedded.embedding import AffineInputs
    from dcembed.frontends.contract import Extraction
    from dcembed.frontends.files_ import ModelFile, NetworkEntry
    from dcembed.result import Result

FOUND, NONE_FOUND, BAD_INPUT = 0, 1, 2
NETWORK_FILES = "an .onnx, .keras, .h5, .npz, .safetensors or .nnet file"
ARCHITECTURE = "activation between the layers of an .npz or .safetensors file that does not say it, or one for each hidden layer"
PICTURES = (".png", ".pdf", ".svg")
# Options that no text stands for.
IN_PYTHON_ONLY = {
    "callback": "a callback is a Python function",
    "stop": "a threading.Event is a Python object",
    "executor": "an executor is a Python object; workers=2 begins processes of our own",
}


class _Parser(argparse.ArgumentParser):
    """One line for a mistake, not the whole usage."""

    def error(self, message: str) -> NoReturn:
        complain(f"{message} (see {self.prog} --help)", self.prog)
        sys.exit(BAD_INPUT)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    prepare_screen()
    try:
        arguments = _build_parser().parse_args(argv)
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


def _build_parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="dcembed", description="Trained neural networks inside optimization models.", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"dcembed {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="{solve,info,doctor}")
    _add_solve(
        commands.add_parser("solve", help="solve a model file with networks in it", allow_abbrev=False, epilog=__doc__.splitlines()[-1])
    )
    info = commands.add_parser("info", help="describe a network file", allow_abbrev=False)
    info.add_argument("network", help=NETWORK_FILES)
    info.add_argument("--input-shape", type=int, nargs="+", metavar="N", help="shape of one point, where the file does not say it")
    info.add_argument("--architecture", nargs="+", metavar="NAME", help=ARCHITECTURE)
    info.set_defaults(run=_info)
    doctor = commands.add_parser("doctor", help="say what is installed, which solvers work, and what each extra adds", allow_abbrev=False)
    doctor.set_defaults(run=_doctor)
    return parser


def _add_solve(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("host", nargs="?", help="an .lp or .mps file, gzipped or not; linear or quadratic objective. --resume alone has its own")
    add("--network", help=NETWORK_FILES)
    add("--inputs", nargs="+", metavar="NAME", help="columns of the inputs: names, patterns with * and ?, numbers for constants")
    add("--outputs", nargs="+", metavar="NAME", help="columns that stand for the predictions")
    add("--input-shape", type=int, nargs="+", metavar="N", help="shape of one point, where the network file does not say it")
    add("--architecture", nargs="+", metavar="NAME", help=ARCHITECTURE)
    add("--embeddings", metavar="FILE", help="a .toml or .json file with several embeddings, instead of the five above")
    add("--start", nargs="+", metavar="FILE", help="begin from the points of solution files, one after the other")
    add(
        "--resume",
        metavar="FILE",
        help="go on from an .npz file of --save or --checkpoint: its point and its bound, and its problem if no host is given",
    )
    add("--time-limit", type=float, metavar="SECONDS")
    add(
        "--prove",
        nargs="?",
        const=True,
        type=_parse_value,
        metavar="auto",
        help="prove a bound on the optimum in all that is left of the time; --prove=auto for at most as long as the search took",
    )
    add("--gap-tol", type=float, metavar="GAP", help="relative gap to the bound at which a point counts as optimal, 1e-4 if not given")
    add("--solver", help="backend of the subproblems; chosen by the problem if not given")
    add("--seed", type=int)
    add("--threads", type=int)
    add("--workers", type=int, help="processes that starts, prices and bounds are computed in")
    add("--quiet", action="store_true", help="no live log")
    add("--option", action="append", default=[], metavar="NAME=VALUE", help="any other option of dcembed.Options; may be repeated")
    add("--solver-option", action="append", default=[], metavar="NAME=VALUE", help="an option of the backend; may be repeated")
    add("--solution", metavar="FILE", help="write the point to a .json or .sol file")
    add("--save", metavar="FILE", help="write everything, the problem too, to an .npz file that --resume and dcembed.load_result read")
    add("--checkpoint", metavar="FILE", help="keep the best point so far in such a file while the run goes on")
    add("--trace", metavar="FILE", help="write the improving points to a .csv file")
    add("--plot", metavar="FILE", help="draw the run to a .png, .pdf or .svg file")
    parser.set_defaults(run=_solve)


# doctor


def _doctor(arguments: argparse.Namespace) -> int:
    from dcembed.doctor import describe

    text, works = describe()
    say(text)
    return FOUND if works else NONE_FOUND


# solve


def _solve(arguments: argparse.Namespace) -> int:
    from dcembed.frontends import files_
    from dcembed.loading import load_result
    from dcembed.plot import plot_run, require_matplotlib

    options = _read_options(arguments)
    _check_target(arguments.solution, files_.SOLUTIONS)
    _check_target(arguments.trace, (".csv",))
    _check_target(arguments.plot, PICTURES)
    _check_target(arguments.save, (".npz",))
    if arguments.plot:
        require_matplotlib()
    resumed = load_result(arguments.resume) if arguments.resume is not None else None
    extraction = _extract(arguments, resumed)
    result = _run(extraction, options, _begin(arguments, options, extraction, resumed))
    if not options.verbose:
        say(_closing_line(result))
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


def _run(extraction: Extraction[ModelFile], options: Options, start: list[Result | Array] | None) -> Result:
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
        _describe(extraction)
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
    return [NetworkEntry(arguments.network, list(inputs), list(outputs), arguments.input_shape, _read_architecture(arguments))]


def _read_architecture(arguments: argparse.Namespace) -> str | list[str] | None:
    """One name is that of all hidden layers."""
    names: list[str] | None = arguments.architecture
    return names[0] if names and len(names) == 1 else names


def _as_written(name: str) -> str:
    """A name as it is in the file, which is in UTF-8 whatever the terminal's alphabet."""
    return os.fsencode(name).decode("utf-8", "replace")


def _read_options(arguments: argparse.Namespace) -> Options:
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
        read[name] = _parse_value(text.strip())
    return read


def _parse_value(text: str) -> Any:
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


def _describe(extraction: Extraction[ModelFile]) -> None:
    """Which columns go where: patterns should hold no surprise."""
    from dcembed.frontends.files_ import column_names

    program, names = extraction.program, column_names(extraction.program)
    say(f"{extraction.handle.host}: {program}, {'maximized' if program.maximize else 'minimized'}")
    for embedding in extraction.embeddings:
        points = embedding.affine_inputs(program.num_columns)
        num_inputs, num_outputs = embedding.network.num_inputs, embedding.network.num_outputs
        say(f"  {embedding.network}")
        shown = min(3, embedding.num_evaluations)
        for row in range(shown):
            entries = [_show_entry(points, row, j, num_inputs, names) for j in range(min(6, num_inputs))]
            outputs = [names[column] for column in embedding.outputs[row][:6]]
            say(f"    {_join(outputs, num_outputs)} = f({_join(entries, num_inputs)})")
        if embedding.num_evaluations > shown:
            say(f"    ... {embedding.num_evaluations} evaluations")
    say()


def _show_entry(points: AffineInputs, row: int, j: int, width: int, names: Sequence[str]) -> str:
    line, constant = points.matrix[[row * width + j]], points.offset[row, j]
    terms = [
        names[column] if factor == 1.0 else f"{factor:g} {names[column]}" for column, factor in zip(line.indices, line.data, strict=True)
    ]
    shown = [*terms[:3], *(["..."] if len(terms) > 3 else []), *([f"{constant:g}"] if constant or not terms else [])]
    return " + ".join(shown)


def _join(entries: list[str], total: int) -> str:
    return ", ".join([*entries, *(["..."] if total > len(entries) else [])])


def _closing_line(result: Result) -> str:
    bound = f", bound {result.bound:.9g}" if isfinite(result.bound) else ""
    if result.x is None:
        return f"{result.status.name}: no point found{bound}, {result.seconds:.2f} s"
    if bound and result.is_feasible:
        bound += f", gap {show_gap(result.gap)}"
    kind = "feasible" if result.is_feasible else "NOT feasible: " + "; ".join(map(str, result.worst_violations))
    return (
        f"{result.status.name}: objective {result.objective:.9g}, violation {result.violation:.2g} ({kind}){bound}, {result.seconds:.2f} s"
    )


# info


def _info(arguments: argparse.Namespace) -> int:
    from dcembed.importers import load_network

    path = Path(arguments.network)
    try:
        network = load_network(path, input_shape=arguments.input_shape, architecture=_read_architecture(arguments))
    except MissingPackageError:
        raise
    except DcembedError:
        _print_layers(path)
        raise
    say(f"{path}: {network}")
    say(f"  inputs   {network.num_inputs:,}")
    say(f"  outputs  {network.num_outputs:,}")
    say(f"  units    {network.num_hidden:,} in {len(network.stages)} stages: {_say_activations(network)}")
    say("  can be embedded; predictions agree with the file's own\n")
    say(f"  {'stage':<8} {'units':>9}  {'activation':<14} {'weights':>11}  reads")
    for name, activation, affine in _rows(network):
        weights = sum(int(block.nnz) if hasattr(block, "nnz") else int((block != 0).sum()) for block in affine.weights.values())
        reads = ", ".join("input" if source == 0 else f"stage {source}" for source in sorted(affine.weights)) or "nothing"
        say(f"  {name:<8} {affine.num_rows:>9,}  {activation:<14} {weights:>11,}  {reads}")
    _print_layers(path)
    return FOUND


def _say_activations(network: Any) -> str:
    """Each kind once, with how many units it has."""
    counts: dict[str, int] = {}
    for activation, width in zip(network.activations, network.widths, strict=True):
        counts[str(activation)] = counts.get(str(activation), 0) + width
    return ", ".join(f"{count:,} {name}" for name, count in counts.items()) or "none"


def _rows(network: Any) -> list[tuple[str, str, Any]]:
    pairs = enumerate(zip(network.stages, network.activations, strict=True), start=1)
    return [*((str(number), str(activation), stage) for number, (stage, activation) in pairs), ("output", "", network.output)]


def _print_layers(path: Path) -> None:
    """Operations of an ONNX file, each with whether it is known."""
    if not path.name.lower().endswith((".onnx", ".onnx.gz")) or not path.is_file():
        return
    from dcembed.importers.onnx_.layers import list_layers

    say(f"\n  {'layer':>5}  {'operation':<22} {'':<13}  name")
    for layer in list_layers(path):
        known = "supported" if layer.is_known else "NOT SUPPORTED"
        say(f"  {layer.index:>5}  {layer.kind:<22} {known:<13}  {layer.name}")


def _one_line(error: BaseException) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return "; ".join(line.strip().rstrip(";") for line in str(error).splitlines() if line.strip()).replace(":; ", ": ")


if __name__ == "__main__":
    sys.exit(main())
