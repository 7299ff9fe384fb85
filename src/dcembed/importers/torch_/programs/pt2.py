"""Programs in .pt2 files, which torch.export.save writes.

torch.export.load is not asked: it unpickles what the file tells it to, example inputs among it, and evaluates symbolic expressions. The graph
is JSON and the weights are plain bytes, so both are read here. Only operators of torch itself that compute and do nothing else become part of
a graph.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dcembed.errors import InputError, NetworkError
from dcembed.importers.torch_.files.archive import Archive, open_archive, read_nested, read_payload
from dcembed.importers.torch_.programs.program import Program
from dcembed.importers.torch_.programs.pt2_graphs import GraphReader


def read_pt2(path: Path) -> Program:
    """The program in a .pt2 file."""
    archive = open_archive(path)
    if "serialized_exported_program.json" in archive.members:
        data = archive.get_json("serialized_exported_program.json")
        weights = {**_read_older(archive, "serialized_state_dict.pt"), **_read_older(archive, "serialized_constants.pt")}
    else:
        name = _only_model(archive)
        data = archive.get_json(f"models/{name}.json")
        weights = {**_read_weights(archive, name, "weights"), **_read_weights(archive, name, "constants")}
    try:
        return _read_program(data, weights)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise NetworkError(
            f"The program in {path} is damaged: {type(error).__name__}: {error}. Export the model again, or check the download."
        ) from error


def _only_model(archive: Archive) -> str:
    names = [name[7:-5] for name in archive.members if name.startswith("models/") and name.endswith(".json")]
    if len(names) == 1:
        return names[0]
    if any(name.startswith("data/aotinductor/") for name in archive.members):
        raise InputError(
            f"{archive.path} holds machine code of AOTInductor, which cannot be read back. "
            "Save the exported program with torch.export.save(program, path) and pass that file."
        )
    raise InputError(
        f"{archive.path} holds {len(names)} programs{': ' + ', '.join(names) if names else ''}; one is accepted. "
        "Save the one that is meant with torch.export.save(program, path)."
    )


def _read_older(archive: Archive, name: str) -> dict[str, Any]:
    """Of torch before 2.8."""
    content = archive.get(name)
    return dict(read_nested(content, f"{archive.path}, {name}")) if content else {}


def _read_weights(archive: Archive, model: str, kind: str) -> dict[str, Any]:
    """One member per tensor, or, in torch 2.7 and 2.8, all of them in one."""
    folder = f"data/{kind}/"
    if f"{folder}{model}.pt" in archive.members:
        return _read_older(archive, f"{folder}{model}.pt")
    return dict(read_payload(archive, folder, archive.get_json(f"{folder}{model}_{kind}_config.json")))


def _read_program(data: Mapping[str, Any], weights: Mapping[str, Any]) -> Program:
    graph, signature = data["graph_module"]["graph"], data["graph_module"]["signature"]
    builder = GraphReader(graph, weights)
    ranges = data.get("range_constraints", {})
    inputs = []
    for spec in signature["input_specs"]:
        ((kind, value),) = spec.items()
        if kind == "user_input":
            inputs.extend(builder.add_input(value["arg"], ranges))
        else:
            builder.add_constant(kind, value)
    for node in graph["nodes"]:
        builder.add_node(node)
    chosen = [spec["user_output"]["arg"] for spec in signature["output_specs"] if "user_output" in spec]
    names = _name_outputs(data["graph_module"], len(chosen))
    return Program(builder.finish(chosen), tuple(inputs), names)


def _name_outputs(module: Mapping[str, Any], count: int) -> tuple[str, ...]:
    """By the structure of what the model returns, which is JSON in JSON."""
    whole = next((entry.get("signature") for entry in module.get("module_call_graph", []) if entry.get("fqn") == ""), None)
    try:
        names = _name_leaves(json.loads(whole["out_spec"])[1])  # type: ignore[index]
    except (KeyError, TypeError, ValueError, IndexError):
        names = []
    if len(names) != count:
        names = [(str(number),) for number in range(count)] if count > 1 else [()]
    return tuple(".".join(path) or "output" for path in names)


def _name_leaves(spec: Mapping[str, Any]) -> list[tuple[str, ...]]:
    children = spec["children_spec"]
    if not children:
        return [()] if spec.get("type") is None else []
    keys = json.loads(spec["context"]) if spec["type"] in ("builtins.dict", "collections.OrderedDict") else range(len(children))
    return [(str(key), *path) for key, child in zip(keys, children, strict=True) for path in _name_leaves(child)]
