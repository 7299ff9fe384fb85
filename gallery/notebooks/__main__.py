"""Write the notebooks of the gallery from its scripts: `python -m gallery.notebooks`."""

from __future__ import annotations

from gallery.notebooks.conversion import NAMES, notebook_path, notebook_text

for name in NAMES:
    notebook_path(name).write_text(notebook_text(name), encoding="utf-8")
    print(f"{name}.ipynb is written.")
