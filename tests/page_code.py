"""The code on a page, run as a reader would who types it from top to bottom.

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
NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")
# What Gurobi says about its licence.
FOREIGN = ("Restricted license", "Set parameter")


@dataclass(frozen=True)
class Block:
    """Code in Python, or for a shell where its output is shown; `shown` is None where the page does not say what it prints."""

    language: str
    code: str
    shown: str | None


def find_blocks(page: str) -> list[Block]:
    """The code of a page. What it prints is in the block of text that follows at once."""
    fences = list(FENCE.finditer(page))
    blocks = []
    for number, fence in enumerate(fences):
        following = fences[number + 1] if number + 1 < len(fences) else None
        is_shown = following is not None and following[1] == "text" and not page[fence.end() : following.start()].strip()
        blocks.append(Block(fence[1], fence[2], following[2] if following and is_shown else None))
    return [block for block in blocks if block.language == "python" or (block.language == "sh" and block.shown is not None)]


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
        return subprocess.run(["sh", "-e", "-c", block["code"]], capture_output=True, text=True, check=True).stdout
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(block["code"], "<page>", "exec"), names)
    return printed.getvalue()


if __name__ == "__main__":
    known: dict[str, object] = {"__name__": "__main__"}
    answers = [_run(block, known) for block in json.loads(sys.stdin.read())]
    # Libraries below Python may have printed something before.
    print("\n" + json.dumps(answers))
