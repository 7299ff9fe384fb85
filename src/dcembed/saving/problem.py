"""A problem, program and embeddings together, in a file; and whether two problems are the same."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dcembed.embedded.embedding import Embedding, read_embeddings
from dcembed.errors import InputError
from dcembed.importers.archives import most_unpacked
from dcembed.program.program import Program
from dcembed.saving.embeddings import pack_embeddings, unpack_embeddings, with_checks
from dcembed.saving.packed import Packed, joined
from dcembed.saving.programs import pack_program, unpack_program


def pack_problem(program: Program, embeddings: Sequence[Embedding], who: str) -> Packed:
    """All that a problem has; `who` keeps it, for messages."""
    tied = with_checks(pack_embeddings(embeddings, who), embeddings)
    return joined(pack_program(program).within("program"), tied.within("embeddings"))


def unpack_problem(packed: Packed, path: Path) -> tuple[Program, list[Embedding]]:
    """The problem in a file; ValueError for anything else than one."""
    program = unpack_program(packed.part("program"), most_unpacked(path))
    embeddings = unpack_embeddings(packed.part("embeddings"), program.num_columns, path)
    return program, read_embeddings(program, embeddings, "load_result")


def fingerprint(program: Program, embeddings: Sequence[Embedding]) -> str:
    """A text that is the same for problems with the same numbers, whatever the names in them."""
    parts = joined(pack_program(program).within("program"), pack_embeddings(embeddings, "Result").within("embeddings"))
    digest = hashlib.blake2b(digest_size=20)
    for name in sorted(parts.arrays):
        if not name.endswith((".input_names", ".column_numbers")):
            array = np.ascontiguousarray(parts.arrays[name])
            digest.update(f"{name} {array.dtype.str} {array.shape};".encode())
            digest.update(array.data if array.size else b"")
    return digest.hexdigest()


def is_same_problem(
    one: tuple[Program, Sequence[Embedding]],
    other: tuple[Program, Sequence[Embedding]],
) -> bool:
    """Whether two problems are the same objects, or have the same numbers."""
    (program, embeddings), (second, others) = one, other
    if program is second and len(embeddings) == len(others) and all(a is b for a, b in zip(embeddings, others, strict=True)):
        return True
    shapes = [(p.num_columns, p.num_rows, p.rows.nnz, len(e)) for p, e in (one, other)]
    try:
        return shapes[0] == shapes[1] and fingerprint(*one) == fingerprint(*other)
    except InputError:
        # What an activation of the user's own computes cannot be compared.
        return False
