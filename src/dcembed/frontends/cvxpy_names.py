"""Names for the columns and rows of CVXPY's canonical form.

Columns of the user's variables are called by variable and index, such as x[3], and rows by their constraint: its label, or its number and
text. What CVXPY adds to write an expression with rows and cones, such as t >= |x|, is called by the constraint that it was added for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cvxpy
import numpy as np
from cvxpy.constraints import SOC

from dcembed.arrays import Array
from dcembed.frontends.messages import shorten

# Longer constraints are cut in names.
MAX_TEXT = 60
OBJECTIVE = "the objective"


@dataclass(frozen=True, eq=False)
class CanonicalNames:
    """One name for each column, each row that is no cone's, and each second-order cone; empty for the links to networks."""

    columns: list[str]
    rows: list[str]
    cones: list[str]


def read_names(problem: cvxpy.Problem, host: cvxpy.Problem, canonical: Any, chain: Any) -> CanonicalNames:
    """The names of the canonical form that `chain` has made of `host`, which is `problem` with links to networks behind its constraints."""
    mapped = chain.compose_var_id_map()
    users = {mapped.get(variable.id, [variable.id])[0]: variable for variable in host.variables()}
    owners = _find_owners(problem, host, canonical, chain, set(users))
    columns: list[str] = [""] * canonical.x.size
    for variable in canonical.variables:
        first = canonical.var_id_to_col[variable.id]
        if variable.id in users:
            names = _variable_names(users[variable.id], variable.size)
        else:
            names = entry_names(f"{owners.variables.get(variable.id, OBJECTIVE)}, auxiliary", variable.shape)
        columns[first : first + variable.size] = names
    rows, cones = [], []
    for constraint in canonical.constraints:
        name = owners.constraints[constraint.id]
        if isinstance(constraint, SOC):
            cones += entry_names(name, constraint.shape if constraint.num_cones() > 1 else ())
        else:
            rows += entry_names(name, constraint.shape)
    return CanonicalNames(columns, rows, cones)


def entry_names(name: str, shape: tuple[int, ...]) -> list[str]:
    """Names for the entries of an array, in CVXPY's column-major order; empty ones where there is no name."""
    size = int(np.prod(shape))
    if not shape or not name:
        return [name] * size
    return _indexed(name, np.unravel_index(np.arange(size), shape, order="F"))


def _indexed(name: str, indices: Sequence[Array]) -> list[str]:
    if len(indices) == 1:
        return [f"{name}[{index}]" for index in indices[0].tolist()]
    return [f"{name}[{','.join(index)}]" for index in zip(*(map(str, axis.tolist()) for axis in indices), strict=True)]


def _variable_names(variable: cvxpy.Variable, size: int) -> list[str]:
    """Names for the `size` columns of a variable, of which CVXPY leaves out the entries that others, or its sparsity, determine."""
    n = variable.shape[0] if variable.shape else 1
    if size == variable.size:
        return entry_names(variable.name(), variable.shape)
    if variable.attributes["diag"]:
        return _indexed(variable.name(), (np.arange(n), np.arange(n)))
    if variable.attributes["sparsity"]:
        return _indexed(variable.name(), variable.sparse_idx)
    if variable.attributes["symmetric"] and variable.ndim == 2:
        return _indexed(variable.name(), np.triu_indices(n))
    return entry_names(variable.name(), (size,))


@dataclass(frozen=True, eq=False)
class _Owners:
    """What the user calls that for which a canonical constraint, or a variable that CVXPY has added, was made; by `id`."""

    constraints: dict[int, str]
    variables: dict[int, str]


def _find_owners(problem: cvxpy.Problem, host: cvxpy.Problem, canonical: Any, chain: Any, users: set[int]) -> _Owners:
    """Added constraints share added variables with the constraint that they were made for; those of the objective are the rest."""
    mapped = chain.compose_constr_id_map()
    num_own = len(problem.constraints)
    names = ["" if number >= num_own else _constraint_name(number, each) for number, each in enumerate(host.constraints)]
    constraints = {mapped.get(each.id, each.id): name for each, name in zip(host.constraints, names, strict=True)}
    variables: dict[int, str] = {}
    waiting = [each for each in canonical.constraints if each.id not in constraints]
    if not waiting:
        return _Owners(constraints, variables)
    added = {each.id: [v.id for v in each.variables() if v.id not in users] for each in canonical.constraints}
    for each in canonical.constraints:
        if each.id in constraints:
            variables.update(dict.fromkeys(added[each.id], constraints[each.id]))
    while waiting:
        # Inner expressions come first, so that most are found in one pass from behind.
        found = len(constraints)
        for each in reversed(waiting):
            name = next((variables[number] for number in added[each.id] if number in variables), None)
            if name is not None:
                constraints[each.id] = name
                for number in added[each.id]:
                    variables.setdefault(number, name)
        waiting = [each for each in waiting if each.id not in constraints]
        if len(constraints) == found:
            constraints.update({each.id: OBJECTIVE for each in waiting})
            break
    return _Owners(constraints, variables)


def _constraint_name(number: int, constraint: Any) -> str:
    return str(constraint.label or f"constraint {number} ({shorten(constraint, MAX_TEXT)})")
