"""What is said of a line of a model file that is not read."""

from __future__ import annotations

from dcembed.errors import InputError

REMEDY = (
    "Write it as linear rows, or build the model in a tool that dcembed has a front end for; gurobipy.read, for one, reads such a file."
)


class LineError(InputError):
    """A line of a file is wrong, or has what is not read."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(f"line {line}: {message}")
