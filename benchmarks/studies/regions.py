"""What regions of data cost: `python -m benchmarks.studies.regions`.

Each is built in a process of its own, which tells its processor seconds and by how much its peak memory has grown; then the columns and rows that it adds
to an evaluation, and how far a thinned hull may reach beyond the hull of the data, in standard deviations.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import dcembed

RESULTS = Path(__file__).resolve().parents[1] / "results" / "regions.md"
# (points, inputs), and whether they are normal, or correlated as measurements of a plant are: three things that vary, and noise.
SIZES = ((1_000, 2), (1_000, 5), (10_000, 10), (100_000, 20))
KINDS = ("box", "hull", "ellipsoid", "clusters")


def make_data(number: int, inputs: int, shape: str) -> np.ndarray:
    rng = np.random.default_rng(0)
    if shape == "normal":
        return rng.normal(size=(number, inputs))
    return rng.normal(size=(number, 3)) @ rng.normal(size=(3, inputs)) + 0.1 * rng.normal(size=(number, inputs))


def measure(number: int, inputs: int, shape: str, kind: str) -> dict[str, float]:
    """One region, in this process."""
    data = make_data(number, inputs, shape)
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    region = dcembed.support(data, kind, clusters=3 if kind == "clusters" else None)
    piece = region.piece
    seconds, after = time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    sample = data[:: max(number // 500, 1)]
    return {
        "seconds": seconds,
        "memory": (after - before) / 1024,
        "columns": piece.num_columns,
        "rows": piece.num_rows,
        "cones": int(piece.cone_sizes.size),
        "error": region.error,
        "outside": float(region.excess(sample).max()),
    }


def run(arguments: tuple[object, ...]) -> dict[str, float]:
    """The same in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.studies.regions", "--one", *map(str, arguments)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--one", nargs=4, metavar=("POINTS", "INPUTS", "SHAPE", "KIND"), help="measure one region here and print it")
    given = parser.parse_args()
    if given.one:
        number, inputs, shape, kind = given.one
        print(json.dumps(measure(int(number), int(inputs), shape, kind)))
        return
    lines = [
        "# Regions of data",
        "",
        "Made by `python -m benchmarks.studies.regions`: what it takes to build a region, one thread, and what it adds to each evaluation. The error is how far the region may reach beyond the hull of "
        "the data in one coordinate, in standard deviations; all data are inside.",
        "",
        "| data | points x inputs | kind | processor s | MiB more | columns | rows | cones | error |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for shape in ("normal", "correlated"):
        for number, inputs in SIZES:
            for kind in KINDS:
                found = run((number, inputs, shape, kind))
                assert found["outside"] <= 1e-9, "a point of the data is outside"
                counts = " | ".join(f"{found[name]:.0f}" for name in ("memory", "columns", "rows", "cones"))
                lines.append(f"| {shape} | {number:,} x {inputs} | {kind} | {found['seconds']:.2f} | {counts} | {found['error']:.2g} |")
                print(lines[-1], flush=True)
    RESULTS.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
