"""The code on a page, run as a reader would who types it from top to bottom.

All Python of a page is run, and what a shell is told where the page shows what it answers. What a block prints is in the block of text that follows it at
once. An HTML comment may hold a block as well, one that sets up what readers have already and need not see:

    <!--
    ```python
    dcembed.save_network(net, "net.npz")
    ```
    -->

A block that cannot be run anywhere has its reason in a comment before it: `<!-- not run: needs a cluster with SLURM -->`.

Run as a script it takes blocks of code as JSON on its standard input and writes what each has printed, again as JSON.
"""

from __future__ import annotations

import io
import json
import math
import os
import re
import subprocess
import sys
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path

FENCE = re.compile(r"^```(python|sh|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# Whatever begins a block of Python to a reader, however it is written.
PYTHON = re.compile(
    r"^[ \t>]*(?:`{3,}|~{3,})[ \t]*\{?(?:code-block\}|code\})?[ \t]*(?:python|py|ipython|pycon)\b", re.MULTILINE | re.IGNORECASE
)
NOT_RUN = re.compile(r"<!-- not run: ([^\n]+) -->\n+\Z")
NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")
# What Gurobi says about its licence.
FOREIGN = ("Restricted license", "Set parameter")


@dataclass(frozen=True)
class Block:
    """Code in Python, or for a shell where its output is shown.

    `shown` is None where the page does not say what it prints, `not_run` the reason why nothing runs it, None where something does.
    """

    language: str
    code: str
    shown: str | None
    not_run: str | None = None


def find_blocks(page: str) -> list[Block]:
    """The code of a page, from top to bottom."""
    fences = list(FENCE.finditer(page))
    blocks = []
    for number, fence in enumerate(fences):
        following = fences[number + 1] if number + 1 < len(fences) else None
        is_shown = following is not None and following[1] == "text" and not page[fence.end() : following.start()].strip()
        reason = NOT_RUN.search(page, 0, fence.start())
        blocks.append(Block(fence[1], fence[2], following[2] if following and is_shown else None, reason[1] if reason else None))
    return [block for block in blocks if block.language == "python" or (block.language == "sh" and block.shown is not None)]


def count_python(page: str) -> int:
    """How many blocks of Python a reader sees, by the marks that begin them."""
    return len(PYTHON.findall(page))


def run_blocks(blocks: list[Block], folder: Path) -> list[str]:
    """What each block prints, all run one after the other by a Python of their own in `folder`."""
    environment = {**os.environ, "PATH": str(Path(sys.executable).parent) + os.pathsep + os.environ["PATH"], "OMP_NUM_THREADS": "1"}
    asked = json.dumps([asdict(block) for block in blocks])
    command = [sys.executable, __file__]
    run = subprocess.run(command, input=asked, capture_output=True, text=True, timeout=300, cwd=folder, env=environment)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


def says_the_same(printed: str, shown: str, rel_tol: float = 1e-3) -> bool:
    """Whether words are the same, and numbers but for the last digits that are shown."""
    ours, theirs = _without_foreign(printed), _without_foreign(shown)
    if _words(ours) != _words(theirs):
        return False
    pairs = zip(NUMBER.findall(ours), NUMBER.findall(theirs), strict=True)
    return all(math.isclose(float(one), float(other), rel_tol=rel_tol, abs_tol=1e-6) for one, other in pairs)


def _words(text: str) -> str:
    """All but the numbers, and the spaces that arrays are aligned with."""
    return "".join(NUMBER.sub("#", text).split())


def _without_foreign(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith(FOREIGN))


def _run(block: dict[str, str], names: dict[str, object]) -> str:
    if block["language"] == "sh":
        run = subprocess.run(["sh", "-e", "-c", block["code"]], capture_output=True, text=True)
        if run.returncode != 0:
            raise SystemExit(f"{block['code']}ends with code {run.returncode} and says\n{run.stderr}")
        return run.stdout
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(block["code"], "<page>", "exec"), names)
    return printed.getvalue()


if __name__ == "__main__":
    known: dict[str, object] = {"__name__": "__main__"}
    answers = [_run(block, known) for block in json.loads(sys.stdin.read())]
    # Libraries below Python may have printed something before.
    print("\n" + json.dumps(answers))
