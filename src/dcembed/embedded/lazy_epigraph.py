"""The lazy epigraph: one column theta per part, no hidden unit in the solver.

Tangent cuts theta_p >= G_p(w^) + g'(w - w^) take the place of the epigraph rows; they are added where a solution violates them.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.epigraph import Epigraph
from dcembed.embedded.measurements import num_measurements


def build_lazy(embedded: EmbeddedProgram) -> Epigraph:
    """One column per part. Unit weights and units are nonnegative, so theta is too."""
    size = num_measurements(embedded)
    kept = sp.hstack([sp.csr_array((size, 0)), *(embedded.part_sums[measured.number] for measured in embedded.networks)], format="csr")
    num_parts = kept.shape[1]
    empty = np.zeros(0)
    return Epigraph(
        lb=np.zeros(num_parts),
        on_host=sp.csr_array((0, embedded.host.num_columns)),
        on_auxiliary=sp.csr_array((0, num_parts)),
        row_lb=empty,
        kept=kept,
    )
