"""`dcembed info`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from dcembed.cli.parser import ARCHITECTURE, FOUND, INPUT_SHAPE, NETWORK_FILES, read_architecture
from dcembed.errors import DcembedError, MissingPackageError
from dcembed.screen import say

EXAMPLES = """\
examples, in the folder of the repository:
  dcembed info examples/reactor.onnx
  dcembed info benchmarks/networks/admission.npz --architecture relu
"""


def add_command(commands: Any) -> None:
    """Add the command to those of the parser."""
    parser = commands.add_parser(
        "info",
        help="describe a network file",
        description="Inputs, outputs, stages and activations of a network, and for ONNX every\noperation and whether it can be embedded.",
        epilog=EXAMPLES,
        usage="dcembed info NETWORK [--input-shape N ...] [--architecture NAME ...]",
    )
    parser.add_argument("network", metavar="NETWORK", help=NETWORK_FILES)
    parser.add_argument("--input-shape", type=int, nargs="+", metavar="N", help=INPUT_SHAPE)
    parser.add_argument("--architecture", nargs="+", metavar="NAME", help=ARCHITECTURE)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Load a network, and say what is in it."""
    from dcembed.frontends.messages import shorten
    from dcembed.importers import load_network

    path = Path(arguments.network)
    try:
        network = load_network(path, input_shape=arguments.input_shape, architecture=read_architecture(arguments))
    except MissingPackageError:
        raise
    except DcembedError:
        _print_layers(path)
        raise
    say(f"{path}: {network}")
    say(f"  inputs   {network.num_inputs:,}")
    if network.input_names is not None:
        say(f"  named    {shorten(', '.join(network.input_names))}")
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
