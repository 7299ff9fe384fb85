"""Links to files that are not pages of the site themselves.

Pages link to files where they are in the repository, so that the links work there too. A Markdown file elsewhere that some page includes
(`../benchmarks/results/big.md`) is that page here, and a script of the gallery (`../gallery/prices.py`) is the page that is made of it. All other files
(`../examples/mpc.py`) are downloads, which MyST sees to.
"""

import re
from os.path import normpath
from pathlib import Path

from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

SCRIPT = re.compile(r"^/?\.\./gallery/(\w+)\.py$")
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


class LinksToTheGallery(SphinxPostTransform):
    """Links to scripts of the gallery lead to their pages, and those to its header lead to the page that lists them."""

    default_priority = LinksToIncludedFiles.default_priority

    def run(self, **_: object) -> None:
        """Go over the links of one page: to MyST the header is a page, and a script is a download."""
        for link in self.document.findall(addnodes.pending_xref):
            if link.get("refdomain") == "doc" and link["reftarget"].endswith("/gallery/GALLERY_HEADER"):
                link["reftarget"] = "gallery/index"
        for link in list(self.document.findall(addnodes.download_reference)):
            if script := SCRIPT.match(link["reftarget"]):
                link.replace_self(make_refnode(self.app.builder, self.env.docname, f"gallery/{script[1]}", "", link.children))


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("include-read", read_from_its_folder)
    app.add_post_transform(LinksToIncludedFiles)
    app.add_post_transform(LinksToTheGallery)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
