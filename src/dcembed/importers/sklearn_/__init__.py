"""Read fitted models of scikit-learn.

Regressors become their predictions, transformers what they transform to, and classifiers their scores: what `decision_function` gives, or,
for an MLPClassifier, what goes into the softmax or logistic function: one logit for two classes (positive means the second of `classes_`),
one score per class for more, one logit per label for multilabel problems. With `outputs="probabilities"` a classifier becomes
what `predict_proba` gives.

A column that is encoded (OneHotEncoder, OrdinalEncoder, TargetEncoder) is one input for each of its categories, 1 for the category that
the column has and 0 for the others, called as OneHotEncoder calls its columns: `color_red`. The model that embeds the network holds them
binary and their sum at 1. With `inputs={"color": "red"}` the column is a constant and no input.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sklearn.base import is_classifier, is_regressor

from dcembed.errors import InputError
from dcembed.importers.lowering import Lowering
from dcembed.importers.parallel_stages import join_stages
from dcembed.importers.request import Request
from dcembed.importers.sklearn_.classifiers import Link, find_link
from dcembed.importers.sklearn_.comparison import compare
from dcembed.importers.sklearn_.encoders import agree
from dcembed.importers.sklearn_.inputs import Inputs, first_frame, read_inputs
from dcembed.importers.sklearn_.tables import TABLES
from dcembed.importers.sklearn_.walk import Method, Walk, find
from dcembed.importers.sklearn_.wrappers import last_estimator
from dcembed.network.network import Network

PROBABILITIES = "probabilities"


def load(model: Any, request: Request) -> Network:
    """Read a fitted model; the number of inputs is known from the fit, so `input_shape` is not needed."""
    request.allow_only("scikit-learn model", "inputs", "fixed", "outputs")
    method = _choose_method(model, request)
    inputs = read_inputs(model, request)
    walk, result = _walk(model, method, inputs)
    if walk.encoded:
        # Only now is it known which columns are categories: they are inputs of another kind from the start.
        inputs = replace(inputs, categories={column: agree(found) for column, found in walk.encoded.items()})
        walk, result = _walk(model, method, inputs)
    walk.lowering.raise_problems()
    network = join_stages(walk.lowering.finish(result.entries))
    return compare(replace(network, input_names=inputs.network_names), model, method, inputs)


def _walk(model: Any, method: Method, inputs: Inputs) -> tuple[Walk, Any]:
    """A walk through the model, and the columns at its end."""
    lowering = Lowering("scikit-learn", "", (1, inputs.size), advice=_ADVICE)
    walk = Walk(lowering, TABLES, inputs)
    return walk, walk.run(method, model, first_frame(lowering.builder, inputs))


def _choose_method(model: Any, request: Request) -> Method:
    if request.outputs is not None and request.outputs != (PROBABILITIES,):
        raise InputError(
            f"load_network: outputs is {', '.join(map(repr, request.outputs))}. Of a scikit-learn classifier 'probabilities' and 'logits' can be "
            "had; the outputs of other models have no names. Leave it out."
        )
    if is_classifier(model):
        _check_logits(model, request)
        return "probabilities" if request.outputs else "scores"
    if request.outputs or request.logits:
        asked = PROBABILITIES if request.outputs else "logits"
        raise InputError(f"load_network: outputs='{asked}', but a {type(model).__name__} is no classifier. Leave it out.")
    if is_regressor(model):
        return "predict"
    return "scores" if hasattr(model, "decision_function") else "transform" if hasattr(model, "transform") else "predict"


def link_of(model: Any) -> Link | None:
    """How the classes of a classifier follow from its scores; None for one that is not fitted, or has no scores that can be read."""
    last = last_estimator(model)
    if find(TABLES.methods["scores"], last) is None and type(last).__name__ != "OneVsRestClassifier":
        return None
    return find_link(last) if hasattr(last, "classes_") else None


def _check_logits(model: Any, request: Request) -> None:
    """Scores are what is given anyway; whether they are logits is known of some."""
    if request.logits and link_of(model) not in ("softmax", "logistic"):
        raise InputError(
            f"load_network: outputs='logits', but the {type(last_estimator(model)).__name__} does not end in a softmax or logistic function. "
            "Leave outputs out for its scores."
        )


_ADVICE = (
    "Accepted are multilayer perceptrons, linear and kernel models, Gaussian processes, votes, bags and stacks of them, and in front of them "
    "scalers, encoders, imputers, selectors, polynomial features, decompositions and column transformers.\n"
    "Replace what is listed, or pass the part of the model that goes without it."
)
