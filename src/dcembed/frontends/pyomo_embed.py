"""`dcembed.pyomo.embed`: note on a Pyomo block that a network ties its outputs to its inputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, count
from typing import Any

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp
from pyomo.common.modeling import unique_component_name
from pyomo.core.base.block import BlockData
from pyomo.core.base.component import ComponentData
from pyomo.core.base.indexed_component import IndexedComponent
from pyomo.gdp.disjunct import Disjunct, DisjunctData

from dcembed.arrays import Array
from dcembed.embedded.embedding import read_support
from dcembed.embedded.region import Region
from dcembed.errors import InputError
from dcembed.frontends.feature_names import by_name
from dcembed.frontends.output_type import refuse_classifier
from dcembed.frontends.pyomo_component import NetworkConstraint
from dcembed.importers import load_network
from dcembed.network.network import Network

COMPONENT = "dcembed_network"


class Source:
    """What the user gave for a network. It is neither copied nor pickled with a model: a framework's own model may allow neither."""

    def __init__(self, given: Any = None) -> None:
        self.given = given

    def __deepcopy__(self, memo: Any) -> Source:
        return self

    def __reduce__(self) -> tuple[type[Source], tuple[()]]:
        return Source, ()


@dataclass(frozen=True, eq=False)
class EmbeddedNetwork:
    """What `embed` returns.

    Parameters
    ----------
    block
        Name of the block.
    network
        The network.
    input, output
        Pyomo expressions, k rows of n_in and of n_out entries.
    source
        What the network was read from; `get_error` reads it again.
    component
        What stands for the network on the block. Deactivating it deactivates the network, and other solvers take the model again.
    support
        Where the inputs belong; None for anywhere.
    """

    block: str
    network: Network
    input: tuple[tuple[Any, ...], ...]
    output: tuple[tuple[Any, ...], ...]
    source: Source
    component: NetworkConstraint
    support: Region | None = None

    @property
    def input_values(self) -> Array:
        """Values of the inputs after a solve, shape (k, n_in)."""
        return _values(self.input)

    @property
    def output_values(self) -> Array:
        """Values of the outputs after a solve, shape (k, n_out)."""
        return _values(self.output)

    def get_error(self) -> Array:
        """|output - prediction| of what was embedded, as it is now, shape (k, n_out)."""
        network = self.network if self.source.given is None else load_network(self.source.given)
        error: Array = np.abs(self.output_values - network(self.input_values))
        return error

    def remove(self) -> None:
        """Take the network off its block. Outputs that were created stay, as free variables."""
        self.component.parent_block().del_component(self.component)

    def __repr__(self) -> str:
        return f"EmbeddedNetwork({self.network} on '{self.block}', evaluated {len(self.input)} times)"


def embed(block: Any, network: Any, inputs: Any, outputs: Any = None, support: Region | None = None) -> EmbeddedNetwork:
    """Tie `outputs` to the predictions of a network at `inputs`, for `SolverFactory("dcembed")`.

    Parameters
    ----------
    block
        A Pyomo block or model. It gets a component that stands for the network: deleting or deactivating the block does so with the
        network, and any other solver, writer or transformation that comes across it raises an error.
    network
        Anything `dcembed.load_network` takes.
    inputs
        n_in variables, linear expressions, parameters or numbers; k rows of them for k evaluations; or an indexed component,
        whose members are taken in the order of its index set and cut into rows of n_in. Indexes, keys of a dict and columns of a
        DataFrame that are the names of the features the model was fitted on are matched with them.
    outputs
        n_out variables or linear expressions, or k rows of them, or an indexed component. None creates variables without bounds:
        `block.outputs[j]`, or `block.outputs[i, j]` where inputs has k rows; `outputs_2` and so on if
        the block has such a component already.
    support
        Where the inputs belong, such as `dcembed.support(data, kind="hull")` of the data that the network was trained on; None for anywhere.
        Inputs are kept there always, as predictions hold always: also where a disjunct is off whose constraints alone use the outputs. Where that is too
        much, have points of that state among the data, or give the region a weight.

    Returns
    -------
    EmbeddedNetwork
        With `input`, `output`, `input_values`, `output_values` and `get_error()`.
    """
    _check_block(block)
    refuse_classifier(network, f"embed on '{block.name}'")
    source, network = Source(network), load_network(network)
    region = read_support(support, network, f"embed on '{block.name}'")
    inputs = _by_name(inputs, network, block)
    rows = _as_rows(inputs, network.num_inputs, "inputs", block)
    if outputs is None:
        is_batch = not _is_flat(inputs) or len(rows) > 1
        targets = _create_outputs(block, len(rows), network.num_outputs, is_batch)
    else:
        targets = _as_rows(outputs, network.num_outputs, "outputs", block)
    if len(targets) != len(rows):
        raise InputError(
            f"embed on '{block.name}': inputs has {len(rows)} rows but outputs has {len(targets)}. Give one row of outputs for each row of inputs."
        )
    component = NetworkConstraint()
    component.embedded = embedded = EmbeddedNetwork(block.name, network, rows, targets, source, component, region)
    block.add_component(unique_component_name(block, COMPONENT), component)
    return embedded


def embedded_networks(model: Any) -> Iterator[EmbeddedNetwork]:
    """Networks on the active blocks of a model, in the order of its blocks. One inside a disjunct is refused."""
    for constraint in model.component_data_objects(pyo.Constraint, active=True, descend_into=(pyo.Block, Disjunct)):
        if isinstance(constraint, NetworkConstraint):
            _refuse_disjunct(constraint.parent_block(), model)
            yield constraint.embedded


@contextmanager
def without_networks(model: Any) -> Iterator[None]:
    """Leave the networks of a model out for a while, to write or to solve what is left of it with other tools.

    Examples
    --------
    >>> with without_networks(m):  # doctest: +SKIP
    ...     m.write("host.lp")
    """
    blocks = (pyo.Block, Disjunct)
    found = [c for c in model.component_data_objects(pyo.Constraint, active=True, descend_into=blocks) if isinstance(c, NetworkConstraint)]
    for constraint in found:
        constraint.deactivate()
    try:
        yield
    finally:
        for constraint in found:
            constraint.activate()


def _refuse_disjunct(block: Any, model: Any) -> None:
    above = block
    while above is not None:
        if isinstance(above, DisjunctData):
            raise InputError(
                f"A network is embedded on '{block.name}', inside the disjunct '{above.name}'. A prediction holds always, not only when "
                "the disjunct is on. Embed on a block outside and use the outputs in the constraints of the disjunct."
            )
        above = None if above is model else above.parent_block()


def _check_block(block: Any) -> None:
    if isinstance(block, IndexedComponent) and not isinstance(block, BlockData):
        raise InputError(f"embed: '{block.name}' is an indexed {block.ctype.__name__}. Give one member of it, such as {block.name}[1].")
    if not isinstance(block, BlockData):
        raise InputError(f"embed: the first argument is a Pyomo block or model, received {type(block).__name__}.")
    if not block.is_constructed():
        raise InputError(
            f"embed: '{block.name}' is abstract, or not yet ready in a BuildAction. Embed in the rule of a Block of the abstract model, "
            "Block(rule=lambda b: embed(b, network, b.model().x)), or in the concrete model that create_instance() makes."
        )


def _by_name(inputs: Any, network: Network, block: Any) -> Any:
    """Features in the order of the fit, where inputs and network have names; an indexed component has those of its index."""
    named = by_name(dict(inputs.items()) if _is_indexed(inputs) else inputs, network, f"embed on '{block.name}'")
    return inputs if isinstance(named, Mapping) else named


def _as_rows(value: Any, width: int, what: str, block: Any) -> tuple[tuple[Any, ...], ...]:
    """k rows of `width` entries."""
    items = _items(value)
    if items and all(not _is_flat_item(item) for item in items):
        rows = [_items(item) for item in items]
    elif _is_indexed(value) or width == 1:
        rows = [items[first : first + width] for first in range(0, len(items), width)]
    else:
        rows = [items]
    for number, row in enumerate(rows):
        if len(row) != width:
            where = f"row {number} of {what}" if len(rows) > 1 else what
            raise InputError(f"embed on '{block.name}': {where} has {len(row)} entries but the network has {width} {what}.")
        for item in row:
            _check_entry(item, what, block)
    if not rows:
        raise InputError(f"embed on '{block.name}': {what} is empty; the network has {width} {what}.")
    return tuple(tuple(row) for row in rows)


def _items(value: Any) -> list[Any]:
    """Members of a list, array, table or indexed component; a single expression is a list of one."""
    if _is_indexed(value) or isinstance(value, Mapping):
        return list(value.values())
    if _is_flat_item(value):
        return [value]
    if sp.issparse(value):
        raise InputError("embed: a sparse matrix has no place among inputs and outputs. Give a list or an array, such as matrix.toarray().")
    return list(value.to_numpy() if hasattr(value, "to_numpy") else value)


def _is_indexed(value: Any) -> bool:
    return isinstance(value, IndexedComponent) and value.is_indexed()


def _is_flat_item(value: Any) -> bool:
    """One expression or number. Pyomo's scalars are components as well, so they are looked at first."""
    if _is_indexed(value):
        return False
    if isinstance(value, ComponentData | IndexedComponent | str) or hasattr(value, "is_expression_type"):
        return True
    return not isinstance(value, Iterable) or (isinstance(value, np.ndarray) and value.ndim == 0)


def _is_flat(value: Any) -> bool:
    return all(_is_flat_item(item) for item in _items(value))


def _check_entry(item: Any, what: str, block: Any) -> None:
    is_number = isinstance(item, int | float | np.number)
    if not is_number and not (hasattr(item, "is_numeric_type") and item.is_numeric_type()):
        raise InputError(
            f"embed on '{block.name}': {what} has an entry of type {type(item).__name__}. Variables, linear expressions, parameters and numbers are accepted."
        )


def _create_outputs(block: Any, k: int, width: int, is_batch: bool) -> tuple[tuple[Any, ...], ...]:
    free = (name for name in chain(["outputs"], (f"outputs_{number}" for number in count(2))) if not hasattr(block, name))
    name = next(free)
    block.add_component(name, pyo.Var(range(k), range(width)) if is_batch else pyo.Var(range(width)))
    variable = block.component(name)
    return tuple(tuple(variable[(i, j) if is_batch else j] for j in range(width)) for i in range(k))


def _values(rows: tuple[tuple[Any, ...], ...]) -> Array:
    return np.array([[pyo.value(entry) for entry in row] for row in rows], dtype=np.float64)
