"""Descriptions in .h5 files, which older versions of Keras have written, in today's form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dcembed.errors import NetworkError

# What older versions call the shape of an input.
_OLD_SHAPE = "batch_input_shape"


def modernize(value: Any, path: Path) -> Any:
    """A description with input layers of their own, and without what Keras 3 reads wrongly from such files."""
    if isinstance(value, list):
        return [modernize(part, path) for part in value]
    if not isinstance(value, dict):
        return value
    parts = {key: modernize(part, path) for key, part in value.items()}
    settings = parts.get("config")
    if "class_name" not in parts or not isinstance(settings, dict):
        return parts
    _check_axis(parts, settings, path)
    return {**parts, "config": _modernize_settings(value, parts["class_name"], settings)}


def _modernize_settings(before: dict[str, Any], name: Any, settings: dict[str, Any]) -> dict[str, Any]:
    kept = {key: part for key, part in settings.items() if key != _OLD_SHAPE}
    if name == "InputLayer" and _OLD_SHAPE in settings:
        return {**kept, "batch_shape": settings[_OLD_SHAPE]}
    if name == "Sequential" and isinstance(kept.get("layers"), list):
        return {**kept, "layers": [*_input_layer(before["config"]["layers"]), *kept["layers"]]}
    return kept


def _input_layer(layers: list[Any]) -> list[dict[str, Any]]:
    """The shape of the input is among the settings of the first layer, where Keras 3 takes the batch axis for one more."""
    first = layers[0] if layers and isinstance(layers[0], dict) else {}
    settings = first.get("config")
    if first.get("class_name") == "InputLayer" or not isinstance(settings, dict) or _OLD_SHAPE not in settings:
        return []
    return [{"class_name": "InputLayer", "config": {"batch_shape": settings[_OLD_SHAPE], "name": f"{settings.get('name')}_input"}}]


def _check_axis(item: dict[str, Any], settings: dict[str, Any], path: Path) -> None:
    """Keras leaves out several axes without a word, and takes the last one."""
    axis = settings.get("axis")
    if "module" not in item and isinstance(axis, list) and len(axis) > 1:
        raise NetworkError(
            f"{path}: {item['class_name']} '{settings.get('name')}' works along the axes {axis}, and Keras does not read several axes from such "
            "a file. Save the model as a .keras file."
        )
