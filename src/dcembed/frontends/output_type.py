"""What the outputs of a predictor stand for: what it gives, scores, classes or probabilities. A classifier of scikit-learn must be told which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from dcembed.errors import InputError
from dcembed.frontends.links import Link, find_link, is_sklearn, is_sklearn_classifier, load_scores
from dcembed.importers import load_network
from dcembed.network.builder import Head
from dcembed.network.network import Network
from dcembed.reading import as_name

# "regular" is what the model gives and "raw" its scores, "probabilities" are outputs of the network themselves, and a "probability" is the
# logistic function of a score, which stays outside of the network.
OutputType = Literal["regular", "raw", "classification", "probability", "probabilities"]

# What gurobi-ml and PySCIPOpt-ML call the plain values of a model that is no classifier.
_PLAIN = (None, "regression", "regular")
_PROBABILITY = ("probability", "probability_1")
# Functions of single scores, each of which says one of two classes or a label by its sign.
_BY_SIGN: tuple[Head, ...] = ("sigmoid", "log_sigmoid", "binary")
_LOGARITHMS: tuple[Head, ...] = ("log_softmax", "log_sigmoid")
_CHOICES = (
    "output_type='classification' for the class (one binary for two classes or a label, one-hot binaries for more), "
    "'probability' for the probabilities, 'raw' for the scores before the softmax or logistic function"
)


@dataclass(frozen=True)
class Reading:
    """A predictor as it is embedded.

    Parameters
    ----------
    network
        What is embedded.
    output_type
        What the outputs that the host uses are to the outputs of the network.
    argmax
        Whether the class is that of the largest output; otherwise each one is one of two classes or a label, by its sign.
    """

    network: Network
    output_type: OutputType
    argmax: bool = True

    @property
    def is_direct(self) -> bool:
        """Whether the outputs of the network are those that the host uses."""
        return self.output_type in ("regular", "raw", "probabilities")


def read_predictor(predictor: Any, given: object) -> Reading:
    """What is meant by the keyword `output_type` for this predictor; InputError where that cannot be said."""
    if as_name(given, "add_predictor_constr: output_type") not in (*_PLAIN, "raw", "classification", *_PROBABILITY):
        raise InputError(f"add_predictor_constr: output_type is {given!r}. Accepted: {_CHOICES}.")
    link = find_link(predictor)
    if link is not None:
        return _read_classifier(predictor, link, given)
    # What no importer reads is named by load_network.
    if given in _PLAIN or is_sklearn_classifier(predictor):
        return Reading(load_network(predictor), "regular")
    if is_sklearn(predictor) and given == "classification":
        raise InputError(
            f"add_predictor_constr: output_type='classification', but {type(predictor).__name__} is no classifier. Leave output_type out."
        )
    return _read_network(predictor, given)


def _read_network(predictor: Any, given: object) -> Reading:
    """A model of another framework, whose last function says whether it has probabilities."""
    scores, heads = load_scores(predictor)
    if given == "raw":
        return Reading(scores, "raw" if heads else "regular")
    if given == "classification":
        return Reading(scores, "classification", _is_argmax(scores, heads))
    if not heads or None in heads:
        raise _no_probabilities(predictor, given)
    if set(heads) & set(_LOGARITHMS):
        raise InputError(
            f"add_predictor_constr: output_type='{given}', but the model gives logarithms of probabilities. Leave output_type out and bound "
            "these: p >= 0.9 is log(p) >= log(0.9)."
        )
    if set(heads) == {"sigmoid"}:
        return Reading(scores, "probability")
    values = load_network(predictor)
    # Outputs that end in no such function have no scores.
    if values.num_outputs != scores.num_outputs and "binary" not in heads:
        raise _no_probabilities(predictor, given)
    return Reading(values, "regular")


def _no_probabilities(predictor: Any, given: object) -> InputError:
    return InputError(
        f"add_predictor_constr: output_type='{given}', but a {type(predictor).__name__} gives no probabilities, or not in all of its outputs. "
        "Pass a classifier, or output_type='raw' and bound the scores."
    )


def _is_argmax(scores: Network, heads: tuple[Head | None, ...]) -> bool:
    if heads and all(head in _BY_SIGN for head in heads):
        return False
    if len(heads) > 1:
        raise InputError(
            f"add_predictor_constr: output_type='classification', but the model ends in several functions "
            f"({', '.join(dict.fromkeys(head or 'none of a classifier' for head in heads))}), and has no class of all of them. Pass a model that "
            "ends in one, or output_type='raw' and compare the scores in constraints."
        )
    if not heads and scores.num_outputs == 1:
        raise InputError(
            "add_predictor_constr: output_type='classification' for a network with a single output: where one class ends and the other "
            "begins, at 0 (a logit) or at 0.5, is not known. Use output_type='raw' and an indicator constraint on the output."
        )
    # A single score that is called a logit by the model itself has two classes; a softmax of one has one.
    return scores.num_outputs > 1 or None not in heads


def _read_classifier(predictor: Any, link: Link, given: object) -> Reading:
    """A classifier of scikit-learn."""
    meaning = _of_classifier(link, type(predictor).__name__, given)
    if meaning == "probabilities":
        return Reading(load_network(predictor, outputs="probabilities"), meaning)
    network = load_network(predictor)
    return Reading(network, meaning, link not in ("logistic", "sign"))


def _of_classifier(link: Link, kind: str, given: object) -> OutputType:
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
    if link in ("largest", "sign"):
        raise InputError(
            f"add_predictor_constr: output_type='{given}', but the scores of {kind} have no probabilities. Pass output_type='classification' for "
            "the class, or 'raw' and bound the scores."
        )
    return "probability" if link == "logistic" else "probabilities"


def refuse_classifier(predictor: Any, function: str) -> None:
    """InputError for a classifier of scikit-learn where there is no `output_type` to say what its outputs stand for."""
    if find_link(predictor) not in (None, "identity"):
        raise InputError(
            f"{function}: {type(predictor).__name__} is a classifier, and what its outputs stand for must be said. Pass "
            "dcembed.load_network(classifier) for the scores before the softmax or logistic function, or "
            'dcembed.load_network(classifier, outputs="probabilities").'
        )
