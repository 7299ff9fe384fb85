"""What the outputs of a predictor stand for: raw scores, classes or probabilities. A classifier must be told which."""

from __future__ import annotations

from typing import Any, Literal

from dcembed.errors import InputError
from dcembed.frontends.links import is_sklearn, is_sklearn_classifier, last_link
from dcembed.network.network import Network
from dcembed.reading import as_name

OutputType = Literal["raw", "classification", "probability"]

# What gurobi-ml and PySCIPOpt-ML call the plain values of a model that is no classifier.
_PLAIN = (None, "raw", "regression", "regular")
_PROBABILITY = ("probability", "probability_1")
_CHOICES = (
    "output_type='classification' for the class (one binary for two classes or a label, one-hot binaries for more), "
    "'probability' for the probability of the second of two classes, 'raw' for the scores before the softmax or logistic function"
)


def read_output_type(predictor: Any, given: object) -> OutputType:
    """What is meant by the keyword `output_type` for this predictor; InputError where that cannot be said, or not embedded exactly."""
    if as_name(given, "add_predictor_constr: output_type") not in (*_PLAIN, "classification", *_PROBABILITY):
        raise InputError(f"add_predictor_constr: output_type is {given!r}. Accepted: {_CHOICES}.")
    link, kind = last_link(predictor), type(predictor).__name__
    if link is not None:
        return _of_classifier(link, kind, given)
    # What no importer reads is named by load_network.
    if given in _PLAIN or is_sklearn_classifier(predictor):
        return "raw"
    if given in _PROBABILITY:
        raise InputError(
            f"add_predictor_constr: output_type='{given}', but a {kind} gives no probabilities. Pass a classifier, "
            "or output_type='raw' and bound the scores."
        )
    if is_sklearn(predictor):
        raise InputError(f"add_predictor_constr: output_type='classification', but {kind} is no classifier. Leave output_type out.")
    return "classification"


def _of_classifier(link: str, kind: str, given: object) -> OutputType:
    if given == "raw" or (link == "identity" and given != "classification"):
        return "raw"
    if link == "identity":
        raise InputError(
            f"add_predictor_constr: the classes of a {kind} with out_activation_='identity' cannot be told from its scores. "
            "Set out_activation_ back to what fit made it, 'softmax' or 'logistic'."
        )
    if given in _PLAIN:
        raise InputError(f"add_predictor_constr: {kind} is a classifier, and what its outputs stand for must be said. Pass {_CHOICES}.")
    if given == "classification":
        return "classification"
    if link in ("softmax", "normalized"):
        raise InputError(
            f"add_predictor_constr: a probability of {kind} depends on all scores, so that no bounds on scores stand for it. "
            "Pass output_type='classification' for the class, or 'raw' and compare the scores: behind a softmax class i is r times as probable "
            "as class j where score i - score j = log(r). dcembed.load_network(model, outputs='probabilities') is a network of its own."
        )
    if link in ("largest", "sign"):
        raise InputError(
            f"add_predictor_constr: output_type='{given}', but the scores of {kind} have no probabilities. Pass output_type='classification' for "
            "the class, or 'raw' and bound the scores."
        )
    return "probability"


def is_argmax(predictor: Any, network: Network) -> bool:
    """Whether the class is that of the largest score; otherwise each score is one of two classes or a label, by its sign."""
    link = last_link(predictor)
    if link in ("logistic", "sign"):
        # Several logistic outputs are labels to scikit-learn; of other models one class is wanted.
        return network.num_outputs > 1 and not is_sklearn(predictor)
    if network.num_outputs == 1:
        raise InputError(
            "add_predictor_constr: output_type='classification' for a network with a single output: where one class ends and the other "
            "begins, at 0 (a logit) or at 0.5, is not known. Use output_type='raw' and an indicator constraint on the output."
        )
    return True


def refuse_classifier(predictor: Any, function: str) -> None:
    """InputError for a classifier where there is no `output_type` to say what its outputs stand for."""
    if is_sklearn(predictor) and last_link(predictor) not in (None, "identity"):
        raise InputError(
            f"{function}: {type(predictor).__name__} is a classifier, and what is embedded are its scores, not its classes. Pass "
            "dcembed.load_network(classifier) if that is what you want: the scores before the softmax or logistic function."
        )
