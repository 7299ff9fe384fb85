"""Names of Pyomo's variables and constraints, many at a time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyomo.core.base.component import index_repr


def component_names(components: Iterable[Any]) -> list[str]:
    """What `component.name` is of each; the name of an indexed component is made once for all of its members."""
    bases: dict[int, str] = {}
    names = []
    for component in components:
        parent = component.parent_component()
        base = bases.get(id(parent))
        if base is None:
            base = bases[id(parent)] = parent.name
        names.append(base if parent is component else base + index_repr(component.index()))
    return names
