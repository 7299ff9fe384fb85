"""A script of the gallery as a notebook, made by the converter of sphinx-gallery, which also makes those that the site offers for download."""

from __future__ import annotations

import json
from pathlib import Path

from sphinx_gallery.gen_gallery import DEFAULT_GALLERY_CONF
from sphinx_gallery.notebook import jupyter_notebook
from sphinx_gallery.py_source_parser import split_code_and_text_blocks

FOLDER = Path(__file__).parent
NAMES = ("heat_pump", "prices", "yield_pipeline")


def notebook_path(name: str) -> Path:
    """Where the notebook of a script is."""
    return FOLDER / f"{name}.ipynb"


def notebook_text(name: str) -> str:
    """The notebook of a script, without outputs, as JSON. It does not depend on the Python that writes it."""
    script = FOLDER.parent / f"{name}.py"
    _, blocks = split_code_and_text_blocks(script)
    notebook = jupyter_notebook(blocks, DEFAULT_GALLERY_CONF, script.parent)
    del notebook["metadata"]["language_info"]["version"]
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
