"""`dcembed.linopy.embed`: tie variables of a linopy model to the predictions of a network, over all their dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any

import linopy
import numpy as np
import xarray as xr

from dcembed.arrays import Array
from dcembed.embedded.embedding import read_support
from dcembed.embedded.region import Region
from dcembed.errors import InputError, NoSolutionError
from dcembed.frontends.batches import Batch
from dcembed.frontends.linopy_arguments import OUTPUT_DIM, read_inputs, read_outputs
from dcembed.frontends.linopy_batches import Dims, make_batch, place_name, template, where_present
from dcembed.frontends.linopy_model import EmbeddedModel, guard
from dcembed.frontends.linopy_pieces import NUMBERS, Piece, collect_dims, conform, name_axes
from dcembed.frontends.linopy_ties import Tie, ties_of
from dcembed.frontends.output_type import refuse_classifier
from dcembed.importers import load_network
from dcembed.network.network import Network
from dcembed.reading import as_name


@dataclass(frozen=True, eq=False)
class EmbeddedNetwork:
    """What `embed` returns.

    Parameters
    ----------
    model
        The model it is in.
    output
        The predictions as they were given, or the variable that was made for them.
    name
        What messages call the network; also of the variable, if one was made.
    predictor
        What the network was read from; `get_error` reads it again.
    tie
        Which variables are inputs and outputs.
    dims
        What the dimensions of the features and of the outputs are called; None for a single output.
    """

    model: linopy.Model
    output: Any
    name: str
    predictor: Any
    tie: Tie
    dims: tuple[str, str | None]

    @property
    def network(self) -> Network:
        """What is embedded."""
        return self.tie.network

    @property
    def support(self) -> Region | None:
        """Where the inputs belong; None for anywhere."""
        return self.tie.support

    @property
    def input_values(self) -> xr.DataArray:
        """Values of the inputs after a solve, over the dimensions of the evaluations and the features."""
        return self.tie.spread(self._values(self.tie.inputs), self.dims[0])

    @property
    def output_values(self) -> xr.DataArray:
        """Values of the outputs after a solve, over the dimensions of the evaluations, and of the outputs if there are several."""
        return self._outputs(self._values(self.tie.outputs))

    def get_error(self) -> xr.DataArray:
        """|f(input) - output| after a solve, where f is the predictor as it is now."""
        predicted = load_network(self.predictor)(self._values(self.tie.inputs))
        return self._outputs(np.abs(predicted - self._values(self.tie.outputs)))

    def remove(self) -> None:
        """Take the network out of the model. A variable that was made for it stays, as a free one.

        Without any network `model.solve` is linopy's own again.
        """
        ties = ties_of(self.model)
        if self.tie not in ties:
            return
        ties.remove(self.tie)
        if not ties and isinstance(self.model, EmbeddedModel):
            self.model.release()

    def _outputs(self, rows: Array) -> xr.DataArray:
        values = self.tie.spread(rows, self.dims[1] or OUTPUT_DIM)
        return values if self.dims[1] is not None else values.isel({OUTPUT_DIM: 0}, drop=True)

    def _values(self, batch: Batch) -> Array:
        if self.model.status != "ok":
            raise NoSolutionError("There is no solution: call dcembed.linopy.solve(model) first and see if its result is feasible.")
        found = [(v.labels.values.reshape(-1), v.solution.values.reshape(-1)) for _, v in self.model.variables.items()]
        labels, solution = (np.concatenate(parts) for parts in zip(*found, strict=True))
        values = np.full(max(labels.max() + 1, 1), np.nan)
        values[labels[labels >= 0]] = solution[labels >= 0]
        return batch.values(values[np.array(batch.variables, dtype=np.int64)])

    def __repr__(self) -> str:
        return (
            f"EmbeddedNetwork('{self.name}': {self.network!r}, evaluated {self.tie.inputs.shape[0]} times over {list(self.tie.where.dims)})"
        )


def embed(
    model: linopy.Model,
    network: Any,
    inputs: Any,
    outputs: Any = None,
    *,
    mask: Any = None,
    name: str | None = None,
    feature_dim: str | None = None,
    output_dim: str | None = None,
    support: Region | None = None,
) -> EmbeddedNetwork:
    """Tie `outputs` to the predictions of a network at `inputs`, at every combination of their coordinates.

    From then on `model.solve` is dcembed's, too: linopy's own would not see the network.

    Parameters
    ----------
    model
        It gets the variable of the outputs, unless they are given, and nothing else.
    network
        Anything `dcembed.load_network` takes.
    inputs
        One variable or linear expression with a dimension for the features, or a list with one for each feature; a mapping by feature
        names for a scikit-learn model that has learned them. Numbers, xarray and pandas data are constants. Dimensions
        that some inputs lack are spread over, as in linopy.
    outputs
        A variable or expression over the dimensions of the inputs, and of the outputs if there are several; or a list with one for
        each output. None makes a variable without bounds.
    mask
        Where the network is evaluated. None: wherever the inputs have variables.
    name
        Of the network in messages, and of the variable that is made; "prediction" if it is free.
    feature_dim
        The dimension of the features. None: the only one with as many coordinates as the network has inputs.
    output_dim
        The dimension of several outputs. None: the one that the inputs lack; "output" where the variable is made.
    support
        Where the inputs belong, such as `dcembed.support(data, kind="hull")` of the data that the network was trained on; None for anywhere.
        It is the same for all evaluations. The price of a soft one is in the result's objective, and not in `model.objective.value`.

    Returns
    -------
    EmbeddedNetwork
        With `output`, `input_values`, `output_values`, `get_error()` and `remove()`.
    """
    if not isinstance(model, linopy.Model):
        raise InputError(f"embed: the first argument is a linopy.Model, received {type(model).__name__}.")
    for text, what in ((name, "name"), (feature_dim, "feature_dim"), (output_dim, "output_dim")):
        as_name(text, f"embed: {what}")
    refuse_classifier(network, "embed")
    predictor, network = network, load_network(network)
    region = read_support(support, network, "embed")
    name = _free_name(model, name, outputs is None)
    pieces, feature_dim = read_inputs(model, inputs, network.num_inputs, network.input_names or (), feature_dim)
    targets: list[Piece] = []
    out_dim = output_dim if output_dim is not None or network.num_outputs == 1 else OUTPUT_DIM
    if outputs is not None:
        targets, out_dim = read_outputs(model, outputs, network.num_outputs, collect_dims(pieces), output_dim)
    known = collect_dims([*pieces, *targets])
    if out_dim in known:
        raise InputError(
            f"embed: the inputs have a dimension '{out_dim}' already. Give that of the outputs another name with output_dim=... ."
        )
    if feature_dim in known:
        feature_dim = f"{feature_dim}_of_network"
    pieces, targets = [conform(piece, known) for piece in pieces], [conform(piece, known) for piece in targets]
    where = _where(pieces, targets, known, mask)
    rows = np.flatnonzero(where.values.reshape(-1))
    if rows.size == 0:
        raise InputError("embed: the network is evaluated nowhere: every place is masked or absent.")
    batch = make_batch(pieces, known, rows)
    output = outputs
    if outputs is None:
        output = _create(model, name, where, network.num_outputs, out_dim)
        targets, _ = read_outputs(model, output, network.num_outputs, known, out_dim)
    tie = Tie(name, network, batch, make_batch(targets, known, rows), where, region)
    ties_of(model).append(tie)
    guard(model)
    return EmbeddedNetwork(model, output, name, predictor, tie, (feature_dim, out_dim))


def _where(pieces: Sequence[Piece], targets: Sequence[Piece], known: Dims, mask: Any) -> xr.DataArray:
    """Where the network is evaluated; where given outputs are masked, nothing is asked for."""
    everywhere = template(known)
    if mask is None:
        wanted = where_present(targets, known)
        there = where_present(pieces, known, wanted)
        alone = np.flatnonzero(wanted & ~there)
        if targets and alone.size:
            raise InputError(
                f"embed: the outputs are there at {place_name(known, alone[0])}, but the inputs are absent (masked or shifted in). "
                "Mask the outputs alike, or leave such places out with mask=... ."
            )
        return everywhere.copy(data=(wanted & there).reshape(everywhere.shape))
    if isinstance(mask, NUMBERS) and not isinstance(mask, bool | np.bool_):
        mask = xr.DataArray(name_axes(mask, known, "mask")).reset_coords(drop=True)
        if mask.dtype != bool or not set(mask.dims) <= set(known):
            raise InputError(
                f"embed: mask has the dimensions {list(mask.dims)} and type {mask.dtype}; expected are booleans over {list(map(str, known))}."
            )
        flags = Piece("mask", mask, mask, mask.astype(np.float64), is_data=True)
        return (conform(flags, known).constant > 0).broadcast_like(everywhere).transpose(*known)
    if not isinstance(mask, bool | np.bool_):
        raise InputError(f"embed: mask is of type {type(mask).__name__}; expected are booleans over {list(map(str, known))}.")
    return everywhere & bool(mask)


def _create(model: linopy.Model, name: str, where: xr.DataArray, width: int, dim: str | None) -> linopy.Variable:
    shape = where if dim is None else where.expand_dims({dim: np.arange(width)}, axis=-1)
    return model.add_variables(coords=shape.coords, dims=shape.dims, mask=None if bool(where.all()) else shape, name=name)


def _free_name(model: linopy.Model, name: str | None, is_created: bool) -> str:
    taken = {tie.name for tie in ties_of(model)} | set(model.variables)
    if name is not None:
        if is_created and name in model.variables:
            raise InputError(f"embed: the model has a variable '{name}' already. Give it as outputs={name}, or choose another name.")
        return name
    return next(n for n in chain(["prediction"], (f"prediction_{i}" for i in count(2))) if n not in taken)
