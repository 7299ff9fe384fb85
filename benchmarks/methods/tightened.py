"""Big-M with tightened bounds, as `dcembed.baselines.obbt.solve` does it, with a word to the watch when its clock begins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.harness.watch import watch_of
from dcembed import Embedding, Options, Program, Result
from dcembed.baselines import big_m, obbt


def solve(program: Program, embeddings: Sequence[Embedding], start: Sequence[np.ndarray], options: Options) -> Result:
    """Tighten the bounds, then start the clock and solve the exact encoding with them."""
    tight = obbt.tighten_bounds(program, embeddings)
    watch_of(options).begin(preparation_seconds=tight.seconds)
    return big_m.solve(program, embeddings, start, options, tight.bounds, tight.seconds)
