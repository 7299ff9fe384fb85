"""The parts of a Markdown page, each as text; a paragraph is its own text."""

from __future__ import annotations

import html
from collections.abc import Sequence


def page(blocks: Sequence[str]) -> str:
    """Blocks one below the other."""
    return "\n\n".join(blocks) + "\n"


def heading(text: str, level: int = 2) -> str:
    return f"{'#' * level} {text}"


def listing(items: Sequence[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def table(head: Sequence[str], rows: Sequence[Sequence[str]], num_texts: int = 1) -> str:
    """The first columns are text, the others are numbers."""
    rule = "|" + "|".join([*[" --- "] * num_texts, *[" ---: "] * (len(head) - num_texts)]) + "|"
    return "\n".join([_line(head), rule, *(_line(row) for row in rows)])


def picture(file: str, caption: str) -> str:
    """A picture that lies beside the page, with its caption below it."""
    return f"![{caption}]({file})\n\n*{caption}*"


def folded(title: str, blocks: Sequence[str]) -> str:
    """Blocks behind a line that opens them."""
    inner = "\n\n".join(blocks)
    return f"<details><summary>{html.escape(title, quote=False)}</summary>\n\n{inner}\n\n</details>"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
