"""Work that is cut into parts, done by a crew: by this process until others are there, by them then, and by this one again where they fail."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from dcembed.crew.crew import POLL_SECONDS, Crew, Errand, Part, Task
from dcembed.crew.task import Missing, Shared
from dcembed.crew.watch import Here, Timer
from dcembed.errors import DcembedError

# A part that another process has not done after so many seconds, and so many times what it took here, is done here.
LATE_SECONDS, LATE_FACTOR = 5.0, 10.0


def share_out(crew: Crew, function: Task, shared: Shared, parts: Sequence[Part], timer: Timer) -> list[Any]:
    """function(shared, watch, *part) of all parts, in order."""
    here, answers = Here(timer), list[Any]()
    while len(answers) < len(parts) and not _is_for_others(crew, shared, len(parts) - len(answers)):
        answers.append(function(shared.value, here, *parts[len(answers)]))
    return answers + _done_elsewhere(crew, function, shared, parts[len(answers) :], timer)


def _is_for_others(crew: Crew, shared: Shared, num_left: int) -> bool:
    """Whether so many parts are shared out now: one alone is done here."""
    return num_left > 1 and crew.is_there() and crew.can_send(shared)


def _done_elsewhere(crew: Crew, function: Task, shared: Shared, parts: Sequence[Part], timer: Timer) -> list[Any]:
    """Parts for others who are there; where they are busy, or fail, this process does some."""
    here, are_busy = Here(timer), crew.are_busy
    errands = [crew.send(function, shared, part, timer) for part in parts]
    answers: list[Any] = [None] * len(parts)
    longest = 0.0
    for number in reversed(range(len(parts))):
        errand = errands[number]
        # With something else to do for all of the others there is time for it here; else one more would be in their way.
        if errand is None or (are_busy and crew.take_back(errand)):
            began = time.monotonic()
            answers[number] = function(shared.value, here, *parts[number])
            errands[number], longest = None, max(longest, time.monotonic() - began)
    patience = max(LATE_SECONDS, LATE_FACTOR * longest)
    for number, errand in enumerate(errands):
        if errand is not None:
            answer = _waited_for(crew, errand, timer, patience)
            answers[number] = function(shared.value, here, *parts[number]) if isinstance(answer, Missing) else answer
    return answers


def _waited_for(crew: Crew, errand: Errand, timer: Timer, patience: float) -> Any:
    """The answer to a part; Missing where nothing comes of it elsewhere."""
    deadline, missing = time.monotonic() + patience, Missing(errand.shared.key)
    while time.monotonic() < deadline and timer.ended() is None:
        answer = crew.answer(errand, POLL_SECONDS)
        if isinstance(answer, DcembedError):
            raise answer
        if isinstance(answer, BaseException):
            crew.hear_of(answer)
            # Where it is no accident, it happens here, too.
            return missing
        again = crew.send_again(errand, timer) if isinstance(answer, Missing) and errand.num_tries == 1 else None
        if answer is not None and again is None:
            return answer
        errand = again or errand
    crew.call_back(errand)
    return missing
