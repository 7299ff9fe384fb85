"""The page as text: words from `words.py`, tables from the handlers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from docs.what_goes_in import words
from docs.what_goes_in.activations import ACTIVATIONS
from docs.what_goes_in.estimators import ESTIMATORS
from docs.what_goes_in.layers import LAYERS
from docs.what_goes_in.names import known_names
from docs.what_goes_in.refusals import read_refusals
from docs.what_goes_in.rows import FRAMEWORKS, Row, Section, check_places
from docs.what_goes_in.units import find_units, relu_only_methods


def write_page() -> str:
    """The page; LookupError where a handler has no row."""
    check_places((ACTIVATIONS, *LAYERS, *ESTIMATORS), known_names())
    units = {row.title: find_units(row) for row in ACTIVATIONS.rows}
    parts = [words.HEAD, _activations(units), *map(_section, (*LAYERS, *ESTIMATORS)), _refusals(units), words.BESIDE_OTHERS]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _activations(units: dict[str, list[str] | str]) -> str:
    accepted = [row for row in ACTIVATIONS.rows if not isinstance(units[row.title], str)]
    baselines, formulations = relu_only_methods()
    methods = words.METHODS.strip().format(baselines=_join_names(baselines, "`"), formulations=_join_names(formulations, "`"))
    made_of = {row.title: ", ".join("ReLU" if name == "relu" else name for name in units[row.title]) or "none" for row in accepted}
    return "\n\n".join([f"## {ACTIVATIONS.heading}", methods, _table(accepted, {"units": made_of})])


def _section(section: Section) -> str:
    return "\n\n".join(filter(None, [f"## {section.heading}", section.words, _table(section.rows, {})]))


def _table(rows: Sequence[Row], columns: dict[str, dict[str, str]]) -> str:
    """One column for each framework that has one of the rows, after those that are given by title."""
    shown = [framework for framework in FRAMEWORKS if any(row.names(framework) for row in rows)]
    head = ["", *columns, *(FRAMEWORKS[framework] for framework in shown)]
    body = [[_title(row), *(column[row.title] for column in columns.values()), *(_cell(row, name) for name in shown)] for row in rows]
    return _lines(head, body)


def _title(row: Row) -> str:
    return row.title + (f" ({row.note})" if row.note else "")


def _cell(row: Row, framework: str) -> str:
    return _join_names(_collapse(row.names(framework)))


def _collapse(names: Iterable[str]) -> list[str]:
    """Names that differ in the number of dimensions alone, as one: conv1d, conv2d, conv3d are conv1d/2d/3d.

    Examples
    --------
    >>> _collapse(["Conv1d", "Conv2d", "Conv3d", "relu"])
    ['Conv1d/2d/3d', 'relu']
    """
    found: dict[tuple[str, str, bool], list[str]] = {}
    for name in names:
        match = re.fullmatch(r"(\w+?)([123][dD])(\w*)", name)
        before, size, behind = match.groups() if match else (name, "", "")
        found.setdefault((before, behind, bool(size)), []).append(size)
    return [before + "/".join(sizes) + behind for (before, behind, _), sizes in found.items()]


def _refusals(units: dict[str, list[str] | str]) -> str:
    refused = read_refusals()
    for row in ACTIVATIONS.rows:
        reason = units[row.title]
        if isinstance(reason, str):
            refused["torch"].setdefault(reason, []).extend(row.names("torch"))
    tables = []
    for framework, reasons in refused.items():
        body = [[_join_names(_collapse(names)), reason] for reason, names in reasons.items() if names]
        tables.append(f"### {FRAMEWORKS[framework]}\n\n" + _lines(["", "why, and what to do"], body))
    return "\n\n".join([words.REFUSED.strip(), *tables])


def _join_names(names: Iterable[str], mark: str = "") -> str:
    return ", ".join(f"{mark}{name}{mark}" for name in names)


def _lines(head: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    rows = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)
