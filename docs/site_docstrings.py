"""Docstrings are written for people who read the source: |F| is an absolute value there, and *args are arguments.

To Sphinx both are marks. They are escaped, but for what stands between backticks or in an example. Methods that are wrapped as they are in another
package, like most of `dcembed.gurobipy.Model`, are described there.
"""

import re

from sphinx.application import Sphinx

MARKS = re.compile(r"(`[^`]*`)|([|*])")


def escape_marks(_: Sphinx, __: str, ___: str, ____: object, _____: object, lines: list[str]) -> None:
    """Escape the bars and stars of one docstring, in place."""
    is_example = False
    for number, line in enumerate(lines):
        # An example, with what it prints, ends at the next empty line.
        is_example = line.lstrip().startswith(">>>") or (is_example and bool(line.strip()))
        if not is_example:
            lines[number] = MARKS.sub(lambda mark: mark[1] or f"\\{mark[2]}", line)


def skip_methods_of_others(_: Sphinx, __: str, ___: str, member: object, skip: bool, ____: object) -> bool:
    """Whether a member is left out: as Sphinx says, or because another package has written it."""
    home = getattr(member, "__module__", None) or "dcembed"
    return skip or (callable(member) and home.partition(".")[0] != "dcembed")


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    # Before napoleon makes marks of its own.
    app.connect("autodoc-process-docstring", escape_marks, priority=100)
    app.connect("autodoc-skip-member", skip_methods_of_others)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
