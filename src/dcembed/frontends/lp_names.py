"""Names in LP files that HiGHS does not read, such as x[1,2]: replaced by plain ones, with the way back.

In a file of Gurobi's, blanks stand between any two words, so that whatever is no number and no sign is a name: a+b, 1x or free too. In
other files blanks may be left out, and only names with brackets are replaced: a name, and at once a bracket.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

# The first line that Gurobi writes.
GUROBI = "\\ LP format - for model browsing"

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_SIGNS = frozenset(["+", "-", "*", "/", "^2", "^", "[", "]", "/2", "<=", ">=", "=<", "=>", "=", "<", ">", "->", ":", "::"])
# What HiGHS takes for a name in any place.
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.,(){}!#$%&;?@'~]*")
# Words that begin a section, and those that stand for a bound.
_SECTIONS = re.compile(
    r"(max|maximum|maximize|min|minimum|minimize|subject|such|st|s\.t\.|st\.|to|that|bounds?|bin|binary|binaries|gen|general|generals"
    r"|integers?|semi|semis|sos|sos1|sos2|end|free|inf|infinity|s1|s2)",
    re.IGNORECASE,
)
_LIMITS = re.compile(r"[+-]?(inf|infinity)", re.IGNORECASE)
_OTHER = r"\s+\-*/^<>=:\[\]\\"
_BRACKETED = re.compile(rf"[^{_OTHER}\d.][^{_OTHER}]*(?:\[[^\s\[\]]*\][^{_OTHER}]*)+")
_COMMENT = re.compile(r"\\.*")


@dataclass
class Names:
    """The plain names that were given, by the file's own.

    Parameters
    ----------
    prefix
        Of every plain name; nothing in the file has it.
    plain
        The file's name -> the plain one.
    """

    prefix: str
    plain: dict[str, str] = field(default_factory=dict)

    def give(self, name: str) -> str:
        """A plain name in place of `name`."""
        return self.plain.setdefault(name, f"{self.prefix}{len(self.plain)}")

    def originals(self) -> dict[str, str]:
        """The way back: the plain name -> the file's own."""
        return {plain: name for name, plain in self.plain.items()}


def replace_names(text: str) -> tuple[str, dict[str, str]]:
    r"""The text with plain names, and the file's own name of each that was replaced.

    Examples
    --------
    >>> text, originals = replace_names("Minimize\n obj: 2 x[1,2] + y\nSubject To\n c[1]: x[1,2] + y >= 1\nEnd")
    >>> print(text)
    Minimize
     obj: 2  name0  + y
    Subject To
      name1 :  name0  + y >= 1
    End
    >>> originals
    {'name0': 'x[1,2]', 'name1': 'c[1]'}
    """
    names = Names(_unused_prefix(text))
    if text.startswith(GUROBI):
        return _replace_words(text, names), names.originals()
    if "[" not in text:
        return text, {}
    plain = _BRACKETED.sub(lambda match: f" {names.give(match[0])} ", _COMMENT.sub("", text))
    return (plain, names.originals()) if names.plain else (text, {})


def _unused_prefix(text: str) -> str:
    prefix = "name"
    while prefix in text:
        prefix += "_"
    return prefix


def _replace_words(text: str, names: Names) -> str:
    lines, section = [], ""
    for line in _COMMENT.sub("", text).splitlines():
        if line and not line[0].isspace():
            section = line.strip().lower()
            lines.append(line)
        else:
            words = line.split()
            lines.append(" " + " ".join(_replace_word(word, words, section, names) for word in words))
    return "\n".join(lines) + "\n"


def _replace_word(word: str, words: list[str], section: str, names: Names) -> str:
    if word in _SIGNS or _NUMBER.fullmatch(word) or (section == "bounds" and _is_limit(word, words)):
        return word
    name, colon = (word[:-1], ":") if word.endswith(":") else (word, "")
    is_plain = _PLAIN.fullmatch(name) and not _SECTIONS.fullmatch(name)
    return (name if is_plain else names.give(name)) + colon


def _is_limit(word: str, words: list[str]) -> bool:
    """Whether a word of the bounds is no name, as the second one in `free free`."""
    return _LIMITS.fullmatch(word) is not None or (word.lower() == "free" and len(words) == 2 and word is words[1])
