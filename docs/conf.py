"""The site of the documentation: `make docs` builds it into build/docs.

Sphinx with MyST, since the pages are Markdown and the docstrings NumPy style: autodoc and napoleon read these from the objects themselves,
with what they inherit. mkdocs, the other tool that one would pick, has had no release since 2024, and mkdocs-material is in maintenance.

The scripts of gallery/ are run by sphinx-gallery, which makes pages of them with their output and pictures, in docs/gallery. A script that fails
fails the build. One that has not changed since the last build is not run again; `-D sphinx_gallery_conf.run_stale_examples=True` runs all.
"""

import sys
from pathlib import Path

from dcembed import __version__

sys.path.insert(0, str(Path(__file__).parent))

project = "dcembed"
author = "dcembed contributors"
copyright = "dcembed contributors, Apache-2.0"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    # Our own, beside this file.
    "site_docstrings",
    "site_formulas",
    "site_links",
]

# Pages. GitHub and MyST both take ```math for a formula.
myst_heading_anchors = 4
myst_fence_as_directive = ["math"]
# Quotes stay as they are typed.
smartquotes = False

# Reference: what is public is in `__all__`, in the order in which a reader meets it.
autodoc_member_order = "bysource"
autodoc_typehints = "none"
# Methods that only repeat those of gurobipy or linopy are described there.
autodoc_inherit_docstrings = False
autoclass_content = "class"
napoleon_use_rtype = False
napoleon_attr_annotations = False
default_role = "py:obj"
add_module_names = False
python_maximum_signature_line_length = 100

# Gallery: every script of the folder is run, whatever its name. Pages say nothing of the machine and of the time that it took.
sphinx_gallery_conf = {
    "examples_dirs": "../gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "min_reported_time": float("inf"),
    "write_computation_times": False,
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "capture_repr": (),
}

html_theme = "furo"
html_title = f"dcembed {release}"
html_show_sphinx = False
# The text of a page is not copied beside it.
html_copy_source = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
