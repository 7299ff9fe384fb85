"""How often tests do what differs by a seed alone, or by a size: seldom, unless `DCEMBED_REPETITIONS` says how often."""

from __future__ import annotations

import os

_GIVEN = os.environ.get("DCEMBED_REPETITIONS")
# Whether a run is to look at everything.
IS_LONG = _GIVEN is not None


def repetitions(usual: int) -> int:
    """So many as are asked for, else the usual number."""
    return int(_GIVEN) if _GIVEN is not None else usual
