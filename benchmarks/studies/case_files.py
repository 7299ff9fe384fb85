"""An instance as plain files, which another state of dcembed can read with nothing but its public names (`case_runner.py`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.problems.instance import Instance
from dcembed import AffineInputs, Embedding, Program, save_network

Array = np.ndarray


def write_case(instance: Instance, options: dict[str, Any], folder: Path) -> None:
    """Write program, embeddings, starts and options into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(folder / "program.npz", **_program_arrays(instance.program))
    for number, embedding in enumerate(instance.embeddings):
        np.savez(folder / f"embedding_{number}.npz", **_embedding_arrays(embedding))
        save_network(embedding.network, folder / f"network_{number}.npz")
    np.savez(folder / "starts.npz", starts=np.array(instance.starts).reshape(-1, instance.program.num_columns))
    write_options(folder, options)


def write_options(folder: Path, options: dict[str, Any], method: str = "dcembed") -> None:
    """Say how the case in a folder is solved: `dcembed.solve`, or a baseline by its name, and its options."""
    (folder / "options.json").write_text(json.dumps({"method": method, "options": options}))


def _program_arrays(program: Program) -> dict[str, Array]:
    arrays = {name: np.asarray(getattr(program, name)) for name in ("cost", "offset", "row_lb", "row_ub", "lb", "ub", "integer")}
    arrays["maximize"] = np.asarray(program.maximize)
    arrays |= _matrix_arrays("rows", program.rows)
    for name in ("quadratic", "concave"):
        if getattr(program, name) is not None:
            arrays |= _matrix_arrays(name, getattr(program, name))
    if program.indicators:
        arrays |= {
            f"indicator_{name}": np.array([getattr(i, name) for i in program.indicators]) for name in ("column", "value", "lb", "ub")
        }
        arrays |= _matrix_arrays("indicator_rows", sp.vstack([i.coefficients for i in program.indicators], format="csr"))
    if program.quadratic_constraints:
        arrays["constraint_ub"] = np.array([q.ub for q in program.quadratic_constraints])
        arrays |= _matrix_arrays("constraint_quadratic", sp.vstack([q.quadratic for q in program.quadratic_constraints], format="csr"))
        arrays |= _matrix_arrays("constraint_rows", sp.vstack([q.coefficients for q in program.quadratic_constraints], format="csr"))
    if program.cones:
        cones = program.cone_rows
        arrays |= {"cone_offset": cones.offset, "cone_sizes": cones.sizes, **_matrix_arrays("cone_rows", cones.matrix)}
    return arrays


def _embedding_arrays(embedding: Embedding) -> dict[str, Array]:
    if isinstance(embedding.inputs, AffineInputs):
        return {"outputs": embedding.outputs, "offset": embedding.inputs.offset, **_matrix_arrays("matrix", embedding.inputs.matrix)}
    return {"outputs": embedding.outputs, "inputs": embedding.inputs}


def _matrix_arrays(name: str, matrix: sp.csr_array) -> dict[str, Array]:
    return {f"{name}_{part}": np.asarray(getattr(matrix, part)) for part in ("data", "indices", "indptr", "shape")}
