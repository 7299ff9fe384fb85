"""What "auto" means: the formulation and the decomposition that fit the problem."""

from __future__ import annotations

from dataclasses import replace

from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.options import Options

# Numbers that the split of all boxes may hold, about 1 GB. The open units of a box are not known in advance; half of all is ample.
MAX_LOCAL_ENTRIES = 125_000_000


def choose(options: Options, embedded: EmbeddedProgram) -> Options:
    """The options with every "auto" decided."""
    formulation = "lazy" if options.formulation == "auto" else options.formulation
    decomposition = options.decomposition
    if decomposition == "auto":
        decomposition = "local" if formulation == "lazy" and _is_worth_a_local_split(embedded) else "global"
    return replace(options, formulation=formulation, decomposition=decomposition)


def _is_worth_a_local_split(embedded: EmbeddedProgram) -> bool:
    """Deep enough to gain by it, small enough to afford it.

    With one stage the components are sums of single units; whether a settled unit is substituted or linearized makes no difference.
    """
    deep = any(len(measured.network.stages) > 1 for measured in embedded.networks)
    entries = sum(measured.num_blocks * (measured.network.num_hidden / 2) ** 2 for measured in embedded.networks)
    return deep and entries <= MAX_LOCAL_ENTRIES
