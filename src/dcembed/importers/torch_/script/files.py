"""TorchScript in files: an archive with the code as text and the weights as bytes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dcembed.errors import NetworkError
from dcembed.importers.torch_.files.archive import Archive, open_archive
from dcembed.importers.torch_.files.objects import Record
from dcembed.importers.torch_.files.pickles import read_pickle
from dcembed.importers.torch_.script.code import Script


def read_script(path: Path) -> Script:
    """The code, the constants and the weights in a file."""
    archive = open_archive(path)
    root = _read(archive, "data")
    if not isinstance(root, Record):
        raise NetworkError(f"{path} holds no module of TorchScript. Save one with torch.jit.save(module, path).")
    constants = _read(archive, "constants")
    values = list(constants) if isinstance(constants, tuple | list) else []
    return Script(dict(_functions(archive)), dict(_tuples(archive)), values, _at_inference(root))


def _read(archive: Archive, name: str) -> Any:
    return read_pickle(archive.get(f"{name}.pkl"), lambda key: _storage(archive, name, key), f"{archive.path}, {name}.pkl")


def _storage(archive: Archive, folder: str, key: str) -> bytes:
    """Older files keep all storages in one folder."""
    return archive.members[f"{folder}/{key}"] if f"{folder}/{key}" in archive.members else archive.get(f"data/{key}")


def _at_inference(record: Record, seen: set[int] | None = None) -> Record:
    """The same objects, with training switched off in all of them."""
    seen = set() if seen is None else seen
    if id(record) not in seen:
        seen.add(id(record))
        if "training" in record.attributes:
            record.attributes["training"] = False
        for value in record.attributes.values():
            if isinstance(value, Record):
                _at_inference(value, seen)
    return record


def _definitions(archive: Archive) -> Iterator[tuple[str, ast.stmt]]:
    """All functions and classes by their whole names: the path of the text and their own."""
    for member, content in archive.members.items():
        if member.startswith("code/") and member.endswith(".py"):
            prefix = member[5:-3].replace("/", ".")
            for node in ast.parse(content.decode()).body:
                if isinstance(node, ast.FunctionDef | ast.ClassDef):
                    yield f"{prefix}.{node.name}", node


def _functions(archive: Archive) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Methods are called by their class first."""
    for name, node in _definitions(archive):
        if isinstance(node, ast.FunctionDef):
            yield name, node
        elif isinstance(node, ast.ClassDef):
            yield from ((f"{name}.{item.name}", item) for item in node.body if isinstance(item, ast.FunctionDef))


def _tuples(archive: Archive) -> Iterator[tuple[str, tuple[str, ...]]]:
    for name, node in _definitions(archive):
        if isinstance(node, ast.ClassDef) and [ast.unparse(base) for base in node.bases] == ["NamedTuple"]:
            fields = [item.target for item in node.body if isinstance(item, ast.AnnAssign)]
            yield name, tuple(field.id for field in fields if isinstance(field, ast.Name))
