"""The description of a model in a Keras file: rebuilt from the parts that are known to hold no code.

Keras makes objects of the classes that a description names, also of classes that run code. So nothing of it is passed on but layers and
operations that are known here, each by its name in Keras, and plain values. Initializers, regularizers, constraints, optimizers and losses
are left out: no prediction depends on them.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from dcembed.errors import NetworkError, UnsupportedLayerError
from dcembed.importers.keras_.backend import keras
from dcembed.importers.keras_.files.sizes import check_sizes, enlarges
from dcembed.importers.keras_.functions.table import OPERATIONS
from dcembed.importers.keras_.layers.activations import FUNCTIONS, REFUSED
from dcembed.importers.keras_.layers.refusals import REASONS
from dcembed.importers.keras_.layers.table import ACCEPTED, FOLLOWED, LAYERS
from dcembed.network.growth import Growth

# Problems that a message lists.
MOST_SHOWN = 20

# Files name classes by what they are exported as, which may be another name.
_KNOWN = {name: kind for name, kind in vars(keras.layers).items() if isinstance(kind, type) and kind in {*LAYERS, *FOLLOWED}}
REFUSED_LAYERS = {kind.__name__: reason for kind, reason in REASONS.items()} | {
    "Lambda": "holds code, which is not run; open the file yourself if you trust it, and pass the live model"
}
_MODELS = ("Sequential", "Functional", "Model")
_ACTIVATIONS = {*FUNCTIONS, *REFUSED, "swish", "hard_swish", "threshold"}
_POLICIES = ("float16", "bfloat16", "float32", "float64", "mixed_float16", "mixed_bfloat16")
_NUMBERS = ("float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool")
# Settings that change weights after training; they make room for more of them, or round.
_LATER = ("lora_rank", "quantization_config", "gptq_config", "awq_config")
# Layers that make room for weights without asking an initializer: the file has to say for which shape, or nothing in it makes values larger.
_UNASKED = ("Normalization", "RMSNormalization", "AdditiveAttention")


@dataclass(frozen=True)
class Cleaning:
    """One description on its way.

    Parameters
    ----------
    initializer
        Makes the room for weights.
    growth
        How large values may become.
    enlarges
        Whether something in the model may make values larger than those that weights are for.
    problems
        What was found that is not accepted.
    """

    path: Path
    initializer: Any
    growth: Growth
    enlarges: bool = False
    problems: list[str] = field(default_factory=list)


def clean_model(description: Any, cleaning: Cleaning) -> dict[str, Any]:
    """The description of a whole model; raises an error that names all parts of it that are not accepted."""
    name = description.get("class_name") if isinstance(description, dict) else None
    if not isinstance(description, dict) or not isinstance(description.get("config"), dict):
        raise NetworkError(f"{cleaning.path} is damaged: its description is not that of a Keras model. Save the model again.")
    if name not in _MODELS:
        raise UnsupportedLayerError(
            f"{cleaning.path} holds a model of the class {_show(name)}, whose code is not in the file. Open the file yourself where that class "
            "is at hand, and pass the live model; dcembed.save_network(dcembed.load_network(model), ...) keeps it in a file that is read."
        )
    try:
        cleaned = _clean_layer(description, replace(cleaning, enlarges=enlarges(description)))
    except RecursionError:
        raise NetworkError(f"{cleaning.path} is damaged: its description is nested too deeply. Save the model again.") from None
    _raise_problems(cleaning)
    return cleaned


def _raise_problems(cleaning: Cleaning) -> None:
    problems = list(dict.fromkeys(cleaning.problems))
    if not problems:
        return
    count = "1 part that is" if len(problems) == 1 else f"{len(problems)} parts that are"
    more = [f"  and {len(problems) - MOST_SHOWN} more"] if len(problems) > MOST_SHOWN else []
    lines = "\n".join([*(f"  {problem}" for problem in problems[:MOST_SHOWN]), *more])
    raise UnsupportedLayerError(
        f"{cleaning.path} was not opened by Keras: it has {count} not known to be safe and embeddable:\n{lines}\nAccepted are {ACCEPTED}."
    )


# Layers, operations and models.


def _clean_layer(item: dict[str, Any], cleaning: Cleaning) -> dict[str, Any]:
    name, inner = item.get("class_name"), item.get("config")
    module = _find_module(item)
    if module is None:
        cleaning.problems.append(f"{_label(item)}: {_reason(name)}")
        return {}
    if not isinstance(inner, dict):
        cleaning.problems.append(f"{_label(item)}: it has no description")
        return {}
    _check_shapes(item, cleaning)
    cleaned: dict[str, Any] = {"class_name": name, "config": _clean_settings(inner, cleaning) | _initializers(name, cleaning)}
    if "module" in item:
        cleaned |= {"module": module, "registered_name": None}
    cleaned |= {part: _clean_value(item[part], cleaning) for part in ("build_config", "inbound_nodes") if part in item}
    return cleaned | ({"name": item["name"]} if isinstance(item.get("name"), str) else {})


def _initializers(name: Any, cleaning: Cleaning) -> dict[str, Any]:
    """All that a layer asks for room: one that the file leaves out would make room for any size."""
    parameters = inspect.signature(_KNOWN[name]).parameters if name in _KNOWN else ()
    return {parameter: cleaning.initializer for parameter in parameters if parameter.endswith("_initializer")}


def _find_module(item: dict[str, Any]) -> str | None:
    """The module of Keras that the class is in; None for one that is not Keras' own, or not known."""
    name, module = item.get("class_name"), item.get("module", "keras")
    if not isinstance(name, str) or not isinstance(module, str) or module.partition(".")[0] != "keras":
        return None
    if item.get("registered_name") not in (None, name):
        return None
    if f"{module}.{name}" in OPERATIONS:
        return module
    if name in _KNOWN:
        return "keras.layers"
    return {"Sequential": "keras", "Functional": _functional_module(), "Model": "keras"}.get(name)


@cache
def _functional_module() -> str:
    """What keras.Model makes of inputs and outputs is an object of a class that has no public name."""
    inputs = keras.Input((1,))
    return str(type(keras.Model(inputs, inputs)).__module__)


def _reason(name: Any) -> str:
    reason = REFUSED_LAYERS.get(name) if isinstance(name, str) else None
    return reason or "it is not a layer or operation of Keras that is known here"


def _label(item: dict[str, Any]) -> str:
    inner = item.get("config")
    name = item.get("name") or (inner.get("name") if isinstance(inner, dict) else None)
    module = item.get("module")
    place = f" of {_show(module)}" if isinstance(module, str) and module.partition(".")[0] != "keras" else ""
    return f"{_show(item.get('class_name'))}{place}" + (f" '{_show(name)}'" if name else "")


def _show(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= 60 else text[:60] + " ..."


def _check_shapes(item: dict[str, Any], cleaning: Cleaning) -> None:
    """Those of inputs, and those that layers are built for."""
    name, inner = item["class_name"], item["config"]
    check_sizes([inner.get("batch_shape"), item.get("build_config")], cleaning.growth)
    if name in _UNASKED and inner.get("mean") is None and "build_config" not in item and cleaning.enlarges:
        cleaning.problems.append(f"{_label(item)}: the file does not say what shape it is built for")
    for setting in _LATER:
        if inner.get(setting) is not None:
            cleaning.problems.append(f"{_label(item)}: {setting} is set; save the model without it, with the weights merged")
    if inner.get("sparse") or inner.get("ragged"):
        cleaning.problems.append(f"{_label(item)}: it takes sparse or ragged values; dense ones are accepted")


# Their settings.


def _clean_settings(settings: dict[str, Any], cleaning: Cleaning) -> dict[str, Any]:
    return {key: _clean_setting(key, value, cleaning) for key, value in settings.items() if key != "compile_config"}


def _clean_setting(key: str, value: Any, cleaning: Cleaning) -> Any:
    if key.endswith("_initializer"):
        return cleaning.initializer
    if key.endswith(("_regularizer", "_constraint")):
        return None
    if key == "dtype":
        return _clean_policy(value, cleaning)
    if key.endswith("activation"):
        return _clean_activation(value, cleaning)
    return _clean_value(value, cleaning)


def _clean_policy(value: Any, cleaning: Cleaning) -> Any:
    inner = value.get("config") if isinstance(value, dict) else None
    name = inner.get("name") if isinstance(inner, dict) else value
    if name is not None and name not in _POLICIES:
        cleaning.problems.append(f"dtype {_show(name)}: accepted are {', '.join(_POLICIES)}")
    return name


def _clean_activation(value: Any, cleaning: Cleaning) -> Any:
    """A name, the description of a function of Keras, or that of a layer."""
    if isinstance(value, dict) and value.get("class_name") != "function":
        return _clean_value(value, cleaning)
    name = value.get("config") if isinstance(value, dict) else value
    module = value.get("module") if isinstance(value, dict) else None
    if name is not None and (name not in _ACTIVATIONS or module not in (None, "builtins", "keras.activations")):
        cleaning.problems.append(f"activation {_show(name)}: accepted are {', '.join(FUNCTIONS)}")
        return None
    return name


def _clean_value(value: Any, cleaning: Cleaning) -> Any:
    if isinstance(value, list):
        return [_clean_value(part, cleaning) for part in value]
    if not isinstance(value, dict):
        return value
    if "class_name" in value:
        return _clean_object(value, cleaning)
    return {key: _clean_setting(key, part, cleaning) for key, part in value.items()}


def _clean_object(item: dict[str, Any], cleaning: Cleaning) -> Any:
    name, inner = item["class_name"], item.get("config")
    if name in ("__keras_tensor__", "__slice__", "__ellipsis__"):
        return {"class_name": name, "config": _clean_value(inner, cleaning)}
    if name in ("__tensor__", "__numpy__"):
        if not isinstance(inner, dict) or inner.get("dtype") not in _NUMBERS or not _is_numbers(inner.get("value")):
            cleaning.problems.append(f"{name}: constants are arrays of numbers")
            return None
        return {"class_name": name, "config": {"value": inner["value"], "dtype": inner["dtype"]}}
    if name == "DTypePolicy":
        return _clean_policy(item, cleaning)
    return _clean_layer(item, cleaning)


def _is_numbers(value: Any) -> bool:
    return all(_is_numbers(part) for part in value) if isinstance(value, list) else isinstance(value, bool | int | float)
