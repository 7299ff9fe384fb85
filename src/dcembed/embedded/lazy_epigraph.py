"""The lazy epigraph: one column theta per part, no hidden unit in the solver.

Tangent cuts theta_p >= G_p(w^) + g'(w - w^) take the place of the epigraph rows; they are added where a solution violates them.
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.epigraph import Epigraph
from dcembed.embedded.measurements import num_measurements
from dcembed.sparse import beside, empty_rows


def build_lazy(embedded: EmbeddedProgram) -> Epigraph:
    """One column per part. Unit weights and units are nonnegative, so theta is too."""
    size = num_measurements(embedded)
    kept = reduce(beside, (embedded.part_sums[measured.number] for measured in embedded.networks), empty_rows(size, 0))
    num_parts = kept.shape[1]
    empty = np.zeros(0)
    return Epigraph(
        lb=np.zeros(num_parts),
        on_host=empty_rows(0, embedded.host.num_columns),
        on_auxiliary=empty_rows(0, num_parts),
        row_lb=empty,
        kept=kept,
    )
