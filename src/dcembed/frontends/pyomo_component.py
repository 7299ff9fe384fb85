"""The component that stands for a network on a Pyomo block.

To Pyomo it is a constraint, so that every solver, writer and transformation comes across it. `SolverFactory("dcembed")` knows what it is;
whatever else asks for its expression gets an error. Without it they would leave the network out and say nothing.
"""

from __future__ import annotations

import sys
from typing import Any, NoReturn

from pyomo.core.base.constraint import ScalarConstraint

from dcembed.errors import InputError


class NetworkConstraint(ScalarConstraint):  # type: ignore[misc]  # Pyomo has no types
    """outputs = network(inputs), which no other solver can be told.

    Its value, `component()`, is the largest |output - prediction|.

    Parameters
    ----------
    embedded
        The `EmbeddedNetwork`.
    """

    embedded: Any = None

    def __init__(self) -> None:
        super().__init__(doc='a network, for SolverFactory("dcembed")')
        self._data[None] = self

    def to_bounded_expression(self, evaluate_bounds: bool = False) -> NoReturn:
        """Refuse."""
        raise InputError(
            f"The model has a network in it, '{self.name}', which SolverFactory(\"dcembed\") alone can read: other solvers, files and "
            'transformations would leave it out. Call SolverFactory("dcembed").solve(model); or, to go on without the network, deactivate '
            f"'{self.name}' first."
        )

    @property
    def expr(self) -> NoReturn:
        """Refuse."""
        self.to_bounded_expression()

    def __call__(self, exception: Any = True) -> float:
        """Compute the largest |output - prediction|."""
        return float(self.embedded.get_error().max())

    def display(self, prefix: str = "", ostream: Any = None) -> None:
        """Print what it is."""
        if self.active:
            (ostream or sys.stdout).write(f"{prefix}{self.local_name} : {self.embedded!r}\n")

    def _pprint(self) -> tuple[Any, ...]:
        """What `pprint` shows."""
        return [("Size", 1), ("Active", self.active), ("Network", repr(self.embedded))], None, None, None
