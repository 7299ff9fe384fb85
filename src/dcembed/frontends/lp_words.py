"""The words of an LP file, each with its line, by the sections that they stand in.

In files of Gurobi and SCIP blanks stand between any two words, so that whatever is no number and no sign is a name: a+b, 1x or x[a->b]. In
other files blanks may be left out; a name then begins with a letter, ends before a sign, and may have brackets with anything but blanks in them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from dcembed.frontends.lines import LineError

# How files begin that have blanks between all words.
SPACED = ("\\ LP format - for model browsing", "\\ SCIP STATISTICS")

# What Gurobi calls the constant of the objective.
CONSTANT = "Constant"

NUMBER, NAME, SIGN, LABEL = "number", "name", "sign", "label"

_DIGITS = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_WHOLE_NUMBER = re.compile(rf"[+-]?{_DIGITS}")
_SIGNS = r"<->|->|<=|=<|>=|=>|[<>=+\-*/^\[\]]|::?"
_WHOLE_SIGN = re.compile(_SIGNS)
# What Gurobi writes as one word.
_POWER = re.compile(r"\^[0-9]+")
_OTHER = r"\s+\-*/^<>=:\[\]\\"
_COMPACT = re.compile(
    rf"(?P<sign>{_SIGNS})|(?P<number>{_DIGITS})|(?P<name>[^{_OTHER}0-9.][^{_OTHER}]*(?:\[[^\s\[\]]*\][^{_OTHER}]*)*)|(?P<rest>\S+)"
)

OBJECTIVE, ROWS, BOUNDS, BINARIES, INTEGERS, END = "objective", "rows", "bounds", "binaries", "integers", "end"
SEMI, SOS, CURVES, GENERAL = "semi", "sos", "curves", "general"
# What begins a section, alone in its line or before its first words. A row may be called st too, but then a colon follows.
_HEADER = re.compile(
    rf"\s*(?:(?P<{OBJECTIVE}>(?:min|max)(?:imi[sz]e|imum)?(?:\s+multi-objectives)?)"
    rf"|(?P<{ROWS}>subject\s+to|such\s+that|s\.t\.|st\.?|lazy\s+constraints|user\s+cuts)"
    rf"|(?P<{BOUNDS}>bounds?)"
    rf"|(?P<{GENERAL}>general\s+constraints?|gencons?)"
    rf"|(?P<{BINARIES}>bin|binary|binaries)"
    rf"|(?P<{INTEGERS}>gen|generals?|int|integers?)"
    rf"|(?P<{SEMI}>semis?|semi-continuous|semi-integers?)"
    rf"|(?P<{SOS}>sos[12]?)"
    rf"|(?P<{CURVES}>pwlobj)"
    rf"|(?P<{END}>end))(?=\s|$)(?!\s*:)",
    re.IGNORECASE,
)


class Word(NamedTuple):
    """A word: what kind of word it is, its text (of a label without the colon), and the line that it stands in."""

    kind: str
    text: str
    line: int


class Section(NamedTuple):
    """A section: which one, the line of its header, that header's text, and its words."""

    kind: str
    line: int
    header: str
    words: list[Word]


def read_sections(text: str) -> list[Section]:
    r"""The sections of an LP file in their order.

    Examples
    --------
    >>> for section in read_sections("Minimize\n obj: 2 x[1,2] + y\nSubject To\n c[1]: x[1,2] >= -1\nEnd"):
    ...     print(section.kind, [word.text for word in section.words])
    objective ['obj', '2', 'x[1,2]', '+', 'y']
    rows ['c[1]', 'x[1,2]', '>=', '-', '1']
    end []
    """
    is_spaced = text.startswith(SPACED)
    split = _split_spaced if is_spaced else _split_compact
    sections: list[Section] = []
    for number, line in enumerate(text.splitlines(), 1):
        content = line.partition("\\")[0]
        header = None if is_spaced and content[:1].isspace() else _HEADER.match(content)
        if header is not None:
            sections.append(Section(str(header.lastgroup), number, header[0].strip(), []))
            content = content[header.end() :]
        if sections and sections[-1].kind == END:
            break
        words = _label(split(content, number))
        if not sections and words:
            raise LineError(number, f"{words[0].text!r} stands before the objective. An LP file begins with Minimize or Maximize.")
        if words:
            sections[-1].words.extend(words)
    return _without_constant(sections) if is_spaced else sections


def _without_constant(sections: list[Section]) -> list[Section]:
    """Gurobi writes the constant of the objective as a column that is fixed at one, and takes it for the constant when it reads it."""
    uses = [(section, at) for section in sections for at, word in enumerate(section.words) if word.kind == NAME and word.text == CONSTANT]
    if [section.kind for section, _ in uses] != [OBJECTIVE, BOUNDS]:
        return sections
    (objective, term), (bounds, bound) = uses
    if [word.text for word in bounds.words[bound + 1 : bound + 3]] != ["=", "1"]:
        return sections
    has_number = term > 0 and objective.words[term - 1].kind == NUMBER
    objective.words[term : term + 1] = [] if has_number else [Word(NUMBER, "1", objective.words[term].line)]
    del bounds.words[bound : bound + 3]
    return sections


def _split_spaced(content: str, line: int) -> Iterator[Word]:
    for text in content.split():
        if _WHOLE_NUMBER.fullmatch(text):
            if text[0] in "+-":
                yield Word(SIGN, text[0], line)
            yield Word(NUMBER, text.lstrip("+-"), line)
        elif _WHOLE_SIGN.fullmatch(text):
            yield Word(SIGN, text, line)
        elif _POWER.fullmatch(text):
            yield Word(SIGN, "^", line)
            yield Word(NUMBER, text[1:], line)
        elif text.endswith(":"):
            yield Word(NAME, text[:-1], line)
            yield Word(SIGN, ":", line)
        else:
            yield Word(NAME, text, line)


def _split_compact(content: str, line: int) -> Iterator[Word]:
    for match in _COMPACT.finditer(content):
        kind, text = str(match.lastgroup), match[0]
        if kind == "rest":
            raise LineError(line, f"{text!r} is neither a name nor a number. Names begin with a letter.")
        if kind == NAME and text[0] == "(":
            raise LineError(line, f"{text!r} begins with a parenthesis. Write products out, term by term.")
        yield Word(kind, text, line)


def _label(words: Iterator[Word]) -> list[Word]:
    """A name and a colon are a label."""
    read: list[Word] = []
    for word in words:
        if word.text == ":" and read and read[-1].kind != SIGN:
            read[-1] = Word(LABEL, read[-1].text, word.line)
        else:
            read.append(word)
    return read
