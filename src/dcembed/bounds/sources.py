"""All functions of a problem, kind by kind."""

from __future__ import annotations

from dcembed.bounds.concave_squares import ConcaveSquares
from dcembed.bounds.functions import Source
from dcembed.bounds.network_terms import NetworkTerms
from dcembed.bounds.shared_decisions import SharedDecisions
from dcembed.embedded.embedded_program import EmbeddedProgram


def find_sources(embedded: EmbeddedProgram) -> list[Source]:
    """All functions of a problem."""
    sources: list[Source] = []
    for measured in embedded.networks:
        if measured.plain.terms.part.size:
            sources.append(NetworkTerms(measured.plain))
        if measured.collapsed is not None:
            sources += [SharedDecisions(measured, measured.collapsed, is_convex) for is_convex in (True, False)]
    return sources if embedded.concave is None else [*sources, ConcaveSquares(embedded.concave)]
