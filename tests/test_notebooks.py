"""The notebooks of the gallery are its scripts, and run in Jupyter with the live log."""

from __future__ import annotations

import json
import re

import pytest

pytest.importorskip("sphinx_gallery")
from gallery.notebooks.conversion import NAMES, notebook_path, notebook_text


def all_notebooks(test):
    return pytest.mark.parametrize("name", NAMES)(test)


def text_of(output):
    return "".join(output["text"])


@all_notebooks
def test_a_notebook_is_what_its_script_is_now(name):
    written = notebook_path(name).read_text(encoding="utf-8")
    assert written == notebook_text(name), "run python -m gallery.notebooks"
    assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in json.loads(written)["cells"])


@all_notebooks
def test_a_notebook_runs_and_its_log_is_one_area_of_text(name):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    notebook = nbformat.read(notebook_path(name), as_version=4)
    # A cell that raises ends this with its traceback. Text that follows text is shown as one, as Jupyter does.
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", coalesce_streams=True).execute()
    outputs = [cell["outputs"] for cell in notebook["cells"] if cell["cell_type"] == "code"]

    solved = [cell for cell in outputs if any(output["output_type"] == "stream" and "at work" in text_of(output) for output in cell)]
    assert len(solved) == 1
    # What a call returns is shown below its log.
    shown = [output for output in solved[0] if output["output_type"] != "execute_result"]
    assert [(output["output_type"], output.get("name")) for output in shown] == [("stream", "stdout")]
    log = text_of(shown[0])
    assert re.search(r"^Status +(?:OPTIMAL|LOCALLY_SOLVED|TIME_LIMIT)$", log, re.MULTILINE)
    assert re.search(r"^Point +.*\(feasible, tolerance", log, re.MULTILINE)
    pictures = [output for cell in outputs for output in cell if "image/png" in output.get("data", {})]
    assert pictures
