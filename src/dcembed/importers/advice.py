"""What to do about layers that cannot be embedded: what helps is different for a jump, for an index and for a layer nobody knows."""

from __future__ import annotations

import re
from collections.abc import Sequence

# Where the lists of what is accepted are; in a message they would be longer than the rest.
PAGE = 'in the page "What goes in" of the documentation (docs/what_goes_in.md)'

_INDEX = (
    "An index is no number that can be optimized over: give that input a value (inputs={'name': value, ...}), or take its one-hot code as "
    "input, for which a table is a linear layer."
)
_JUMP = (
    "A jump cannot be embedded: pass the part of the model before it and write the jump in the optimization model with a binary variable, "
    "or use a continuous layer in its place (clamp, soft shrinkage, hard sigmoid, softmax) and retrain."
)

# Words in what is refused, and what helps then; None where the words say it themselves. The first row that fits a problem is the one for it.
_ADVICE: tuple[tuple[str, str | None], ...] = (
    (r"only continuous functions", _JUMP),
    (r"looks up", _INDEX),
    (
        r"\baccepted\b|[;.:] (call|choose|do that|embed|export|fit|give|it can|leave|load|open|pass|take them out|use|write)\b",
        None,
    ),
    (
        r"\brandom|dropout|\btraining|evaluation mode",
        "Nothing random can be embedded: put the model into evaluation mode (model.eval()), and take random layers out of it.",
    ),
    (r"lookup|\bindex|\bindices|embedding|categor|one.?hot", _INDEX),
    (
        r"with the batch itself|running stat|mixes",
        "A layer that looks at the whole batch is no function of one point: use statistics from training (running mean and variance), or a "
        "normalization of each point (layer, group or instance normalization).",
    ),
    (
        r"\bjump|not continuous|discontinu|\brounds?\b|rounding_mode|\bfloor|\bceil|\bsign\b|argmax|argmin|\bcompare|hard.?shrink|^step\b|\bstep function|heaviside|"
        r"threshold",
        _JUMP,
    ),
    (
        r"\bcomplex|fft|fourier",
        "Complex numbers are not known here: a Fourier transform of a real value is a linear map, so write it as two products with constant "
        "matrices.",
    ),
    (
        r"^lambda\b|\bcustom|\bcode\b",
        "Code that is part of a model is not run: write it with layers that are known, or compute it before the model.",
    ),
)

_OTHERWISE = "Replace what is listed by layers that are accepted, or pass the part of the model before it."


def advise(problems: Sequence[str]) -> list[str]:
    """One sentence for every kind of problem that does not say itself what to do, in the order in which they come.

    Examples
    --------
    >>> advise(["layer 3, 'head': ArgMax"])[0].partition(":")[0]
    'A jump cannot be embedded'
    >>> advise(["layer 3, 'head': Zeta"])
    ['Replace what is listed by layers that are accepted, or pass the part of the model before it.']
    >>> advise(["layer 3, 'head': Pad (pads in the mode 'x'; accepted are constant, reflect and edge)"])
    []
    """
    found = (_advise_one(problem) for problem in problems)
    return list(dict.fromkeys(advice for advice in found if advice is not None))


def _advise_one(problem: str) -> str | None:
    # What the user calls a layer says nothing of what it is.
    _, _, said = problem.partition("': ")
    words = (said or problem).lower()
    return next((advice for pattern, advice in _ADVICE if re.search(pattern, words)), _OTHERWISE)
