"""Links to files that are not pages of the site themselves.

Pages link to files where they are in the repository, so that the links work there too. A Markdown file elsewhere that some page includes
(`../benchmarks/results/big.md`) is that page here. All other files (`../examples/mpc.py`) are downloads, which MyST sees to.
"""

import re
from os.path import normpath
from pathlib import Path

from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

LINK = re.compile(r"\]\((?![a-z]+:|#|/)([^)\s]+)\)")


def read_from_its_folder(_: Sphinx, file: Path, __: str, text: list[str]) -> None:
    """Links in an included file begin in the folder of that file, not in that of the page: write them from the folder of all pages."""
    text[0] = LINK.sub(lambda link: f"](/{normpath(file.parent / link[1])})", text[0])


class LinksToIncludedFiles(SphinxPostTransform):
    """Links to included files lead to the pages that include them."""

    # Before MyST looks for the pages.
    default_priority = 5

    def run(self, **_: object) -> None:
        """Go over the links of one page."""
        including = {file: page for page, files in self.env.included.items() for file in files}
        for link in self.document.findall(addnodes.pending_xref):
            if link.get("refdomain") == "doc" and link["reftarget"] in including:
                link["reftarget"] = including[link["reftarget"]]


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("include-read", read_from_its_folder)
    app.add_post_transform(LinksToIncludedFiles)
    app.setup_extension("site_formulas")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
