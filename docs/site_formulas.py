"""Formulas as MathML, which every browser shows by itself.

The other way, MathJax, is a script that a page loads from another server: without a network its formulas stay LaTeX. docutils, which Sphinx is built on,
translates LaTeX to MathML. A command that it does not know is a warning, and so an error of `make docs`.
"""

import re

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

FIRST_CELL = re.compile(r'(<mtr>\s*)<mtd style="text-align: left">')

logger = logging.getLogger(__name__)


def write_inline(translator: HTML5Translator, node: nodes.math) -> None:
    """Write a formula in a line of text."""
    translator.body.append(_translate(node, as_block=False))
    raise nodes.SkipNode


def write_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on lines of its own, in a box that can be scrolled where it is wider than the page."""
    translator.body.append(f'<div class="math-wrapper" style="overflow-x: auto">{_translate(node, as_block=True)}</div>\n')
    raise nodes.SkipNode


def _translate(node: nodes.Element, *, as_block: bool) -> str:
    try:
        return _align(tex2mathml(node.astext(), as_block=as_block))
    except MathError as error:
        logger.warning("formula that docutils cannot translate to MathML: %s", error, location=node)
        return f"<code>{node.astext()}</code>"


def _align(formula: str) -> str:
    """Lines of a formula that is aligned at `&`: what comes before it is right-aligned, what follows left-aligned."""
    if "ams-align" not in formula:
        return formula
    left = formula.replace("<mtd>", '<mtd style="text-align: left">')
    return FIRST_CELL.sub(r'\1<mtd style="text-align: right">', left)


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx, which takes this renderer where it is the only one beside its own MathJax."""
    app.add_html_math_renderer("mathml", (write_inline, None), (write_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
