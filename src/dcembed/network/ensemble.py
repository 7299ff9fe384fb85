"""Networks that share their inputs as one network: the stages of all members, and behind them what is made of their predictions.

    f = combination(f_1, ..., f_M),    f_m the predictions of member m

Every member keeps stages of its own. Blocks of all members side by side would be mostly zeros, and cost more than the members do.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dcembed.arrays import Array, Matrix
from dcembed.errors import InputError, NetworkError
from dcembed.network.affine import Affine, check_affine
from dcembed.network.chunks import slices
from dcembed.network.network import CHUNK_ENTRIES, Network, read_points
from dcembed.reading import as_flag, as_number, as_numbers, require, show

# What is made of the predictions of all members. "at_most": the value that so many members do not exceed; "at_least": the one
# that so many reach.
COMBINATIONS = ("mean", "max", "min", "mean_deviation", "at_most", "at_least", "members")


@dataclass(frozen=True, eq=False, kw_only=True)
class Ensemble(Network):
    """Several networks with the same inputs as one: a `Network` that knows its members. `dcembed.ensemble` makes it.

    Parameters
    ----------
    num_inputs, stages, output, input_names, activations
        As of every `Network`: the stages of all members, one member after the other, and those of the combination behind them.
    members
        The predictions of all members over the same stages, M * n_out rows: those of the first member, of the second, and so on.
    weights
        Of the members in their mean, shape (M,); they are not negative, and their sum is 1.
    combination
        "mean", "max", "min", "mean_deviation", "at_most" and "at_least" (the two senses of an agreement), or "members".
    parameter
        k of "mean_deviation", how many members agree in "at_most" and "at_least"; 0 for the others.
    as_rows
        Whether a run writes the combination as rows and binaries of the host where it can.

    Examples
    --------
    >>> import dcembed
    >>> up, down = (dcembed.build_mlp([[[1.0]], [[slope]]], [None, None]) for slope in (1.0, -1.0))
    >>> worst = dcembed.ensemble([up, down], output="max")
    >>> worst
    Ensemble(max of 2 members, 1 inputs -> 1 -> 1 -> 1 -> 1 outputs)
    >>> worst([[2.0]])
    array([[2.]])
    """

    members: Affine
    weights: Array
    combination: str
    parameter: float = 0.0
    as_rows: bool = False

    def __post_init__(self) -> None:
        Network.__post_init__(self)
        require(self.members, Affine, "Ensemble: members")
        object.__setattr__(self, "weights", as_numbers(self.weights, "Ensemble: weights").reshape(-1))
        object.__setattr__(self, "parameter", as_number(self.parameter, "Ensemble: parameter"))
        object.__setattr__(self, "as_rows", as_flag(self.as_rows, "Ensemble: as_rows"))
        _check(self)

    @property
    def num_members(self) -> int:
        """M."""
        return self.weights.size

    @cached_property
    def networks(self) -> tuple[Network, ...]:
        """The members as networks of their own, each with all inputs of the ensemble."""
        size = self.members.num_rows // self.num_members
        return tuple(_member(self, slice(start, start + size)) for start in range(0, self.members.num_rows, size))

    @cached_property
    def num_held(self) -> int:
        """What an evaluation holds for each point: one member at a time, and the predictions of all."""
        return self.members.num_rows + max(network.num_entries for network in self.networks)

    def forward(self, points: Array) -> Array:
        """The predictions at some points at once, (k, num_inputs) to (k, num_outputs): members first, then numbers are compared.

        The stages of the combination give the same up to rounding; passing through each of them takes longer.
        """
        return combine(self, _stack(self, points))

    def __repr__(self) -> str:
        described = Network.__repr__(self).removeprefix("Network(")
        return f"Ensemble({_describe(self)}, {described}"


def member_values(ensemble: Ensemble, points: npt.ArrayLike) -> Array:
    """Predictions of every member at `points` (k, num_inputs), in one pass: shape (k, M, n_out). One point gives (M, n_out).

    Examples
    --------
    >>> import dcembed
    >>> lines = [dcembed.build_mlp([[[slope]]], [None]) for slope in (1.0, 2.0, 4.0)]
    >>> member_values(dcembed.ensemble(lines), [[0.5], [1.0]])[:, :, 0]
    array([[0.5, 1. , 2. ],
           [1. , 2. , 4. ]])
    """
    require(ensemble, Ensemble, "member_values: ensemble")
    given = read_points(ensemble, points)
    batch = np.atleast_2d(given)
    values = np.empty((batch.shape[0], ensemble.num_members, ensemble.members.num_rows // ensemble.num_members))
    for chunk in slices(batch.shape[0], ensemble.num_held, CHUNK_ENTRIES):
        values[chunk] = _stack(ensemble, batch[chunk])
    return values if given.ndim == 2 else values[0]


def combine(ensemble: Ensemble, values: Array) -> Array:
    """The outputs of the ensemble (k, num_outputs), given the predictions of its members (k, M, n_out).

    mean: sum_m w_m f_m;  mean_deviation: mean + parameter * sum_m w_m |f_m - mean|;  at_most: the parameter-th smallest;
    at_least: the parameter-th largest.

    Examples
    --------
    >>> import dcembed
    >>> lines = [dcembed.build_mlp([[[slope]]], [None]) for slope in (1.0, 2.0, 4.0)]
    >>> combine(dcembed.ensemble(lines, output="agreement", agree=2), np.array([[[5.0], [3.0], [4.0]]]))
    array([[4.]])
    """
    name, rank = ensemble.combination, round(ensemble.parameter)
    if name == "members":
        return values.reshape(values.shape[0], -1)
    if name in ("max", "min"):
        extreme: Array = values.max(axis=1) if name == "max" else values.min(axis=1)
        return extreme
    if name in ("at_most", "at_least"):
        place = rank - 1 if name == "at_most" else ensemble.num_members - rank
        ranked: Array = np.partition(values, place, axis=1)[:, place]
        return ranked
    mean: Array = np.einsum("m,kmo->ko", ensemble.weights, values)
    if name == "mean":
        return mean
    spread: Array = np.einsum("m,kmo->ko", ensemble.weights, np.abs(values - mean[:, None]))
    spread *= ensemble.parameter
    return np.add(mean, spread, out=spread)


def _stack(ensemble: Ensemble, points: Array) -> Array:
    """The predictions of all members, shape (k, M, n_out)."""
    return np.stack([network.forward(points) for network in ensemble.networks], axis=1)


def _member(ensemble: Ensemble, rows: slice) -> Network:
    """The network behind some rows of the members: the stages that these need, with numbers of their own."""
    output = _rows(ensemble.members, rows)
    used, pending = set[int](), [output]
    while pending:
        new = {source for source in pending.pop().weights if source > 0} - used
        used |= new
        pending += [ensemble.stages[source - 1] for source in new]
    number = {0: 0} | {source: place for place, source in enumerate(sorted(used), start=1)}
    stages = tuple(_renumbered(ensemble.stages[source - 1], number) for source in sorted(used))
    activations = tuple(ensemble.activations[source - 1] for source in sorted(used))
    return Network(ensemble.num_inputs, stages, _renumbered(output, number), ensemble.input_names, activations)


def _renumbered(affine: Affine, number: dict[int, int]) -> Affine:
    return Affine({number[source]: block for source, block in affine.weights.items()}, affine.bias)


def _rows(affine: Affine, rows: slice) -> Affine:
    """Some rows of a map, without the sources that they do not use."""
    taken = {source: block[rows] for source, block in affine.weights.items()}
    return Affine({source: block for source, block in taken.items() if _is_used(block)}, affine.bias[rows])


def _is_used(block: Matrix) -> bool:
    return bool(np.any(block.data if sp.issparse(block) else block))


def _describe(ensemble: Ensemble) -> str:
    count, name, parameter = f"{ensemble.num_members} members", ensemble.combination, ensemble.parameter
    if name == "mean_deviation":
        return f"mean {'+' if parameter >= 0 else '-'} {abs(parameter):g} mean absolute deviations of {count}"
    if name in ("at_most", "at_least"):
        return f"{name.replace('_', ' ')} by {parameter:g} of {count}"
    return f"all {count}" if name == "members" else f"{name} of {count}"


def _check(ensemble: Ensemble) -> None:
    weights, rows = ensemble.weights, ensemble.members.num_rows
    if not isinstance(ensemble.combination, str) or ensemble.combination not in COMBINATIONS:
        raise InputError(f"Ensemble: combination is {show(ensemble.combination)}. Accepted are {', '.join(COMBINATIONS)}.")
    if weights.size == 0 or not (weights >= 0).all() or abs(weights.sum() - 1.0) > 1e-9:
        raise InputError(f"Ensemble: weights is not accepted: one for each member, with the sum 1, is expected, received {show(weights)}.")
    expected = rows if ensemble.combination == "members" else rows / weights.size
    if rows % weights.size or ensemble.num_outputs != expected:
        raise NetworkError(
            f"An ensemble of {weights.size} members with {ensemble.num_outputs} outputs has predictions of members with {rows} rows. "
            "Each member has as many as the ensemble, or all of them together where they are its outputs."
        )
    if not np.isfinite(ensemble.parameter):
        raise InputError(f"Ensemble: parameter is not accepted: a finite number is expected, received {ensemble.parameter}.")
    if ensemble.combination in ("at_most", "at_least") and ensemble.parameter not in range(1, weights.size + 1):
        raise InputError(f"Ensemble: parameter is {ensemble.parameter:g}; from 1 to all {weights.size} members can agree.")
    check_affine(ensemble.members, "the members", [ensemble.num_inputs, *ensemble.widths])
