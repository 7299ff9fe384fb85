"""A page made of headings, paragraphs, lists, tables and pictures, as Markdown and as one self-contained HTML file."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Heading:
    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    """Text; `code` and **strong** are marked as in Markdown."""

    text: str


@dataclass(frozen=True)
class Listing:
    items: Sequence[str]


@dataclass(frozen=True)
class Table:
    """Cells are marked like paragraphs. The first column is text, the others are numbers."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Picture:
    """A file name without suffix: NAME.png is for Markdown, NAME.svg goes into the HTML page."""

    name: str
    caption: str


@dataclass(frozen=True)
class Folded:
    """Blocks behind a line that opens them."""

    title: str
    blocks: Sequence[Block]


Block = Heading | Paragraph | Listing | Table | Picture | Folded

STYLE = """
:root { color-scheme: light dark; --line: #d0d4da; --soft: #f4f6f8; --text: #1d232b; --back: #ffffff; }
@media (prefers-color-scheme: dark) { :root { --line: #3b434d; --soft: #20262d; --text: #e4e8ec; --back: #14181d; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--back); max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2, h3 { line-height: 1.2; margin-top: 2.2rem; }
.scroll { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: 0.85rem; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid var(--line); padding: 0.3rem 0.6rem; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
thead th { background: var(--soft); }
summary { cursor: pointer; padding: 0.2rem 0; }
figure { margin: 1.5rem 0; }
img { max-width: 100%; background: #ffffff; border-radius: 4px; }
figcaption { font-size: 0.9rem; opacity: 0.85; }
code { background: var(--soft); padding: 0.1rem 0.3rem; border-radius: 3px; overflow-wrap: anywhere; }
"""


def to_markdown(blocks: Sequence[Block]) -> str:
    """The page as Markdown, with pictures beside it."""
    return "\n\n".join(_markdown(block) for block in blocks) + "\n"


def to_html(blocks: Sequence[Block], folder: Path, title: str) -> str:
    """The page as one HTML file with the pictures of `folder` inside."""
    body = "\n".join(_html(block, folder) for block in blocks)
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{html.escape(title)}</title>'
    return f'<!doctype html>\n<html lang="en"><head>{head}<style>{STYLE}</style></head><body>\n{body}\n</body></html>\n'


def _markdown(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {text}"
        case Paragraph(text):
            return text
        case Listing(items):
            return "\n".join(f"- {item}" for item in items)
        case Table(head, rows):
            lines = [_line(head), "|" + "|".join([" --- ", *[" ---: "] * (len(head) - 1)]) + "|"]
            return "\n".join([*lines, *(_line(row) for row in rows)])
        case Picture(name, caption):
            return f"![{caption}]({name}.png)\n\n*{caption}*"
        case Folded(title, blocks):
            inner = "\n\n".join(_markdown(inside) for inside in blocks)
            return f"<details><summary>{html.escape(title, quote=False)}</summary>\n\n{inner}\n\n</details>"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _html(block: Block, folder: Path) -> str:
    match block:
        case Heading(text, level):
            return f"<h{level}>{_marked(text)}</h{level}>"
        case Paragraph(text):
            return f"<p>{_marked(text)}</p>"
        case Listing(items):
            return "<ul>" + "".join(f"<li>{_marked(item)}</li>" for item in items) + "</ul>"
        case Table(head, rows):
            top = "".join(f"<th>{_marked(cell)}</th>" for cell in head)
            lines = "".join("<tr>" + "".join(f"<td>{_marked(cell)}</td>" for cell in row) + "</tr>" for row in rows)
            return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table></div>'
        case Picture(name, caption):
            data = base64.b64encode((folder / f"{name}.svg").read_bytes()).decode()
            alt = html.escape(caption, quote=True)
            return f'<figure><img alt="{alt}" src="data:image/svg+xml;base64,{data}"><figcaption>{_marked(caption)}</figcaption></figure>'
        case Folded(title, blocks):
            inner = "".join(_html(inside, folder) for inside in blocks)
            return f"<details><summary>{_marked(title)}</summary>{inner}</details>"


def _marked(text: str) -> str:
    escaped = html.escape(text, quote=False)
    escaped = re.sub(r"`([^`]+)`", r"<code>\1</code>", escaped)
    return re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", escaped)
