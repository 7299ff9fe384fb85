"""Several networks as one: `dcembed.ensemble`."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcembed.ensembles.combinations import combine_members
from dcembed.ensembles.joint import Joint, stacked
from dcembed.ensembles.members import read_members
from dcembed.errors import InputError
from dcembed.network.ensemble import Ensemble
from dcembed.reading import as_flag, as_number, as_whole, show

OUTPUTS = ("mean", "max", "min", "mean_deviation", "agreement", "members")
SENSES = {"<=": "at_most", ">=": "at_least"}


def ensemble(
    members: Any, output: str = "mean", k: float = 1.0, agree: int | None = None, sense: str = "<=", as_rows: bool = False
) -> Ensemble:
    """Several networks with the same inputs as one network, which is embedded as any other.

    Parameters
    ----------
    members
        A list of anything `load_network` takes: networks, models, paths of files. Or one fitted BaggingRegressor or VotingRegressor
        of scikit-learn, whose estimators are the members, each with the columns and the weight that it has there; of a BaggingClassifier
        and a VotingClassifier with voting="soft" the members are probabilities. All members have as many inputs, and as many outputs.
    output
        What is predicted, for each output of the members:

        - "mean": their mean, weighted where a VotingRegressor has weights;
        - "max", "min": the worst case;
        - "mean_deviation": mean + k * sum_m w_m |f_m - mean|, where w_m is 1/M without weights;
        - "agreement": the value y for which y <= limit says that at least `agree` members are at most limit, which is the
          `agree`-th smallest of their predictions; with sense=">=", y >= limit says that at least `agree` members are at least limit;
        - "members": the predictions of all members, those of the first, of the second, and so on: M * n_out outputs.
    k
        How many mean absolute deviations are added to the mean; negative to subtract them.
    agree
        How many members agree, from 1 to M.
    sense
        "<=" or ">=", of the agreement.
    as_rows
        Let a run write a worst case as rows over the predictions of the members, and an agreement under a limit with a binary for each of them, where the host presses the output
        the right way (minimizes a maximum, say, or limits it from above). Otherwise, and elsewhere, they are units of the network, which came to points as good or better in nearly all that was
        measured, mostly sooner: benchmarks/results/ensembles.md. Exact methods may do better with rows.

    Returns
    -------
    Ensemble
        A `Network` with ReLU units behind those of its members; nothing is approximated. Members are evaluated in one pass.

    Examples
    --------
    >>> import dcembed
    >>> lines = [dcembed.build_mlp([[[slope]]], [None]) for slope in (1.0, 2.0, 6.0)]
    >>> dcembed.ensemble(lines)([[1.0]])
    array([[3.]])
    >>> dcembed.ensemble(lines, output="mean_deviation", k=0.5)([[1.0]])
    array([[4.]])

    At least two of three are at most 2:

    >>> dcembed.ensemble(lines, output="agreement", agree=2)([[1.0]])
    array([[2.]])
    """
    combination = _read_output(output, sense)
    read = read_members(members)
    parameter = _read_parameter(combination, k, agree, len(read.networks))
    joint = Joint()
    pairs = zip(read.networks, read.columns, strict=True)
    values = [joint.add(network, columns, read.num_inputs) for network, columns in pairs]
    # Only the mean, and distances from it, have weights; an agreement counts heads.
    result = combine_members(joint, values, read.weights, combination, parameter)
    return Ensemble(
        num_inputs=read.num_inputs,
        stages=joint.stages,
        output=result,
        input_names=read.input_names,
        activations=joint.activations,
        members=stacked(values),
        weights=read.weights,
        combination=combination,
        parameter=parameter,
        as_rows=as_flag(as_rows, "ensemble: as_rows"),
    )


def _read_output(output: Any, sense: Any) -> str:
    if not isinstance(output, str) or output not in OUTPUTS:
        raise InputError(f"ensemble: output is {show(output)}. Accepted are {', '.join(map(repr, OUTPUTS))}.")
    if not isinstance(sense, str) or sense not in SENSES:
        raise InputError(f"ensemble: sense is {show(sense)}. Accepted are '<=' (so many members are at most a limit) and '>=' (at least).")
    if output != "agreement" and sense != "<=":
        raise InputError(f"ensemble: sense is '{sense}', but output is '{output}'. It says how members agree: pass output='agreement'.")
    return SENSES[sense] if output == "agreement" else output


def _read_parameter(combination: str, k: Any, agree: Any, num_members: int) -> float:
    is_agreement = combination in SENSES.values()
    if agree is not None and not is_agreement:
        raise InputError(f"ensemble: agree is {show(agree)}, but output is '{combination}'. Pass output='agreement', or leave agree out.")
    factor = as_number(k, "ensemble: k")
    if not np.isfinite(factor):
        raise InputError(f"ensemble: k is not accepted: a finite number is expected, received {factor}.")
    if combination == "mean_deviation":
        return factor
    if factor != 1.0:
        raise InputError(f"ensemble: k is {factor:g}, but output is '{combination}'. Pass output='mean_deviation', or leave k out.")
    if not is_agreement:
        return 0.0
    if agree is None:
        raise InputError(
            f"ensemble: output is 'agreement', but agree is missing. Say how many of the {num_members} members agree, from 1 on."
        )
    count = as_whole(agree, "ensemble: agree")
    if not 1 <= count <= num_members:
        raise InputError(
            f"ensemble: agree is {show(count)}, but there are {num_members} members: a number from 1 to {num_members} is accepted."
        )
    return float(count)
