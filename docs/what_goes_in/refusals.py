"""What does not go in: the tables of reasons of the importers, the other way round."""

from __future__ import annotations

from collections.abc import Mapping

from sklearn.utils import all_estimators

from dcembed.importers import trees
from dcembed.importers.keras_.files.config import REFUSED_LAYERS
from dcembed.importers.keras_.layers import activations as keras_activations
from dcembed.importers.keras_.layers import refusals as keras_refusals
from dcembed.importers.onnx_.operators.refused import REFUSED, reason
from dcembed.importers.sklearn_ import refusals as sklearn_refusals
from dcembed.importers.torch_.aten import REASONS as ATEN_REASONS
from docs.what_goes_in.names import keras_function


def read_refusals() -> dict[str, dict[str, list[str]]]:
    """By framework: reasons, and the names that each of them is given for."""
    functions = {keras_function(name): words for name, words in keras_refusals.OPERATIONS.items()}
    keras = REFUSED_LAYERS | functions | keras_activations.REFUSED
    microsoft = reason("com.microsoft", "FusedConv")
    assert microsoft is not None
    return {
        "torch": _turn(ATEN_REASONS),
        "onnx": _turn(REFUSED | {"operators of com.microsoft": microsoft}),
        "keras": _turn(keras),
        "sklearn": _turn(dict.fromkeys(_trees(), trees.WHO_DOES) | sklearn_refusals.REASONS | _wrappers()),
    }


def _turn(reasons: Mapping[str, str]) -> dict[str, list[str]]:
    return {words: [name for name in reasons if reasons[name] == words and not name.startswith("_")] for words in reasons.values()}


def _trees() -> list[str]:
    """Classes are asked for by an instance; how it would be made does not matter."""
    kinds = [kind for _, kind in all_estimators() if trees.why_not_trees(kind.__new__(kind)) is not None]
    return [*(kind.__name__ for kind in kinds), *(f"all of {name}" for name in trees.PACKAGES)]


def _wrappers() -> dict[str, str]:
    return {f"models of {name}": words for name, words in sklearn_refusals.WRAPPERS.items()}
