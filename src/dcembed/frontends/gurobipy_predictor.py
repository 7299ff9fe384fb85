"""`add_predictor_constr` for gurobipy, with the arguments of gurobi-ml: what is embedded where in a gurobipy model.

A network adds no constraint that Gurobi sees. What is written down here is read by `gurobipy_.extract`.
"""

from __future__ import annotations

from typing import Any

import gurobipy as gp

from dcembed.embedded.embedding import read_support
from dcembed.embedded.region import Region
from dcembed.frontends.batches import as_rows, check_variables, read_batch
from dcembed.frontends.classes import ClassRules, class_rules
from dcembed.frontends.feature_names import by_name
from dcembed.frontends.foreign_keywords import ignore_foreign
from dcembed.frontends.gurobipy_classes import Added, add_classes, as_entries, tie
from dcembed.frontends.gurobipy_constr import PredictorConstr
from dcembed.frontends.gurobipy_entries import read_entries, read_terms
from dcembed.frontends.gurobipy_model import adopt
from dcembed.frontends.gurobipy_state import registry
from dcembed.frontends.output_type import Reading, read_predictor
from dcembed.frontends.registered import find_registered
from dcembed.reading import as_flag, as_name, require


def add_predictor_constr(
    gp_model: gp.Model,
    predictor: Any,
    input_vars: Any,
    output_vars: Any = None,
    name: str | None = "",
    verbose: bool = False,
    output_type: str | None = None,
    epsilon: float | None = None,
    support: Region | None = None,
    **keywords: Any,
) -> Any:
    """Embed a trained network in a gurobipy model: output_vars = predictor(input_vars).

    Parameters
    ----------
    gp_model
        The model. It gets the output variables, unless they are given, and one SOS constraint on a single output, which restricts
        nothing: with it Gurobi takes the answer as a solution of the model. No binaries, but for those of classes.
        It becomes a `dcembed.gurobipy.Model`, whose `optimize()` minds the network, until `remove()` of the last one.
    predictor
        Anything `dcembed.load_network` takes, or what was registered with `register_predictor_constr`.
    input_vars
        Variables, linear expressions and numbers: an MVar or MLinExpr of shape (n_in,) or (k, n_in), a single one of them, a list,
        nested lists, a dict, an object array or a DataFrame (columns may be constants). Columns of a DataFrame are matched by name
        with the features that the model was fitted on.
    output_vars
        Variables in the same forms, shape (n_out,), (k,) or (k, n_out); None creates them, with lb = -inf.
    name
        Prefix of the names of created variables.
    verbose
        Print what was added.
    output_type
        What the outputs stand for, which a classifier of scikit-learn must be told: "classification", "probability" or "raw"; by default
        what the model gives. See docs/gurobipy.md.
    epsilon
        With "classification": by how much the score of the class leads, 1e-4 by default.
    support
        Where the inputs belong, such as `dcembed.support(data, kind="hull")` of the data that the network was trained on; None for anywhere.
        Gurobi sees nothing of it; the price of a soft one is in the result's objective, and not in `model.ObjVal`.
    keywords
        Others of gurobi-ml are ignored with a warning.

    Returns
    -------
    A `PredictorConstr`, or what a registered function returns.
    """
    given: dict[str, Any] = {"name": name, "verbose": verbose, "output_type": output_type, "epsilon": epsilon, "support": support}
    registered = find_registered(predictor)
    if registered is not None:
        # A margin of 0 is given, though it equals False.
        passed = {key: value for key, value in given.items() if value is not None and value is not False and value != ""}
        return registered(gp_model, predictor, input_vars, output_vars, **passed, **keywords)
    return embed_predictor(gp_model, predictor, input_vars, output_vars, **given, **keywords)


def embed_predictor(
    gp_model: gp.Model,
    predictor: Any,
    input_vars: Any,
    output_vars: Any = None,
    *,
    name: str | None = None,
    verbose: bool = False,
    output_type: str | None = None,
    epsilon: float | None = None,
    support: Region | None = None,
    **keywords: Any,
) -> PredictorConstr:
    """`add_predictor_constr` without a look at what is registered."""
    require(gp_model, gp.Model, "add_predictor_constr: gp_model")
    as_name(name, "add_predictor_constr: name")
    verbose = verbose is not None and as_flag(verbose, "add_predictor_constr: verbose")
    if keywords.get("out_activation_") == "identity" and output_type is None:
        keywords.pop("out_activation_")
        output_type = "raw"
    reading = read_predictor(predictor, output_type)
    network, meaning = reading.network, reading.output_type
    region = read_support(support, network, "add_predictor_constr")
    if epsilon is not None and meaning != "classification":
        keywords["epsilon"] = epsilon
    ignore_foreign(keywords, ("gp_model", "predictor", "input_vars", "output_vars", "name", "verbose", "output_type", "epsilon", "support"))
    rules = class_rules(network.num_outputs, reading.argmax, epsilon) if meaning == "classification" else None
    input_vars = by_name(input_vars, network)
    entries = as_rows(read_entries(input_vars, "input"), network.num_inputs, "input")
    batch = read_batch(entries, read_terms)
    shape = batch.shape[0], network.num_outputs
    given = None if output_vars is None else _read_outputs(output_vars, shape)
    scores, output, added = _add_outputs(gp_model, shape, given, reading, rules, f"{name}." if name else "")
    labels = (input_vars.index, input_vars.columns) if hasattr(input_vars, "columns") and hasattr(input_vars, "index") else None
    embedded = PredictorConstr(gp_model, predictor, reading, batch, entries, scores, output, added, labels, name or "", region)
    registry(gp_model).append(embedded)
    adopt(gp_model)
    if verbose:
        embedded.print_stats()
    return embedded


def _read_outputs(output_vars: Any, shape: tuple[int, int]) -> gp.MVar:
    given = as_rows(read_entries(output_vars, "output"), shape[1], "output", shape[0])
    check_variables(given, gp.Var)
    return gp.MVar.fromlist(given.tolist())


def _add_outputs(
    model: gp.Model, shape: tuple[int, int], given: gp.MVar | None, reading: Reading, rules: ClassRules | None, prefix: str
) -> tuple[gp.MVar, gp.MVar, Added]:
    """The columns of the predictions, those that the user sees as outputs, and all that was added for them."""
    added = Added()

    def create(label: str, **bounds: float) -> gp.MVar:
        variables = model.addMVar(shape, name=prefix + label, **bounds)
        added.vars += as_entries(variables).reshape(-1).tolist()
        return variables

    if reading.is_direct:
        scores = output = create("out", lb=-gp.GRB.INFINITY) if given is None else given
    else:
        scores = create("score", lb=-gp.GRB.INFINITY)
        output = given
    if rules is not None:
        classes = add_classes(model, rules, scores, prefix, added)
        output = classes if given is None else given
        if given is not None:
            tie(model, given, classes, prefix, added)
    elif output is None:
        output = create("probability", ub=1.0)
    model.update()
    added.sos.append(model.addSOS(gp.GRB.SOS_TYPE1, [scores[0, 0].item()]))
    model.update()
    return scores, output, added
