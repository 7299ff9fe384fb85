"""The loop of ONNX: the reference does not run one without a condition, and does not stack what its turns collect."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun


class Loop(OpRun):  # type: ignore[misc]
    """Runs a body again and again, with the values of the turn before."""

    op_domain = ""

    def need_context(self) -> bool:
        """The body sees all values before it."""
        return True

    def _run(
        self, count: Any, condition: Any, *carried: Any, context: Any = None, attributes: Any = None, **others: Any
    ) -> tuple[Any, ...]:
        names = list(self.body.input_names)
        values, goes_on, rows, turn = list(carried), condition is None or bool(condition), [], 0
        while goes_on and (count is None or turn < int(count)):
            inputs = dict(context or {}) | dict(zip(names, (np.array(turn), np.array(goes_on), *values), strict=True))
            again, *results = self._run_body(inputs, attributes=attributes)
            values, goes_on, turn = results[: len(values)], bool(again), turn + 1
            rows.append(results[len(values) :])
        return (*values, *(np.stack(column) for column in zip(*rows, strict=True)))
