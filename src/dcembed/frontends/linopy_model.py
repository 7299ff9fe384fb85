"""The class of linopy models with networks: `model.solve` minds them.

linopy's own solve does not see the networks. So `embed` gives the model a class whose `solve` is dcembed's, and which says so where the
model would leave Python without them; a copy of the model has them, too. `remove` gives the class back.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import linopy

from dcembed.errors import InputError
from dcembed.frontends.linopy_solve import forget_result, solve
from dcembed.frontends.linopy_ties import ties_of
from dcembed.options import Options

# What linopy's solve takes to carry a model to a solver; nothing here depends on it.
CARRIAGE = frozenset(
    {
        "explicit_coordinate_names",
        "set_names",
        "keep_files",
        "env",
        "sanitize_zeros",
        "sanitize_infinities",
        "slice_size",
        "progress",
        "reformulate_sos",
    }
)
# Options of solvers that are options of ours.
SAME = {
    "TimeLimit": "time_limit",
    "timelimit": "time_limit",
    "limits/time": "time_limit",
    "MIPGap": "gap_tol",
    "mip_rel_gap": "gap_tol",
    "limits/gap": "gap_tol",
    "Threads": "threads",
    "Seed": "seed",
    "random_seed": "seed",
    "OutputFlag": "verbose",
    "output_flag": "verbose",
    "log_to_console": "verbose",
    "LogToConsole": "verbose",
}
# These take every kind of problem; which solver is best otherwise is known once the problem is.
NAMED_SOLVERS = ("gurobi", "scip")
BACKENDS = (*NAMED_SOLVERS, "highs", "piqp", "clarabel")


def _leaves(name: str) -> str:
    return (
        f"model.{name}: networks are embedded in the model, and what is asked for would be without them. Solve it with model.solve() or "
        "dcembed.linopy.solve(model). Take them out with remove(), or use linopy.Model.copy(model), which is the model without them."
    )


def _refused(name: str) -> Callable[..., Any]:
    def method(self: EmbeddedModel, *args: Any, **kwargs: Any) -> Any:
        raise InputError(_leaves(name))

    return method


def _warned(name: str) -> Callable[..., Any]:
    def method(self: EmbeddedModel, *args: Any, **kwargs: Any) -> Any:
        warnings.warn(f"model.{name}: the embedded networks are not in what is written, but the rest of the model is.", stacklevel=2)
        return getattr(super(EmbeddedModel, self), name)(*args, **kwargs)

    return method


class EmbeddedModel(linopy.Model):  # type: ignore[misc]  # linopy's types are not read
    """A linopy model with networks, made of yours by `embed`; `solve` minds them."""

    __slots__ = ()

    def solve(
        self, solver_name: str | None = None, io_api: str | None = None, *, remote: Any = None, mock_solve: bool = False, **arguments: Any
    ) -> tuple[str, str]:
        """Solve with `dcembed.linopy.solve`; the arguments of linopy's solve and `dcembed.Options` are accepted.

        Returns
        -------
        tuple
            Status and termination condition, as of linopy's solve.
        """
        if remote is not None:
            raise InputError("solve: a remote solver would not see the embedded networks. Leave out remote=...")
        if mock_solve:
            status: tuple[str, str] = super().solve(mock_solve=True)
            return status
        if not ties_of(self):
            raise InputError("solve: the networks of this model were lost, as they are by pickling. Embed them again.")
        solve(self, **_translate(solver_name, arguments))
        return self.status, self.termination_condition

    def copy(self, *args: Any, **kwargs: Any) -> linopy.Model:
        """A copy with the networks."""
        return self._with_networks(super().copy(*args, **kwargs))

    def __copy__(self) -> linopy.Model:
        return self._with_networks(super().__copy__())

    def __deepcopy__(self, memo: dict[int, Any]) -> linopy.Model:
        return self._with_networks(super().__deepcopy__(memo))

    def _with_networks(self, twin: linopy.Model) -> linopy.Model:
        ties_of(twin).extend(ties_of(self))
        guard(twin)
        return twin

    def release(self) -> None:
        """Make it the model it was, whose solve is linopy's own."""
        plain: Any = next(base for base in type(self).__mro__ if not issubclass(base, EmbeddedModel))
        self.__class__ = plain
        forget_result(self)

    # What linopy's solvers are given.
    matrices = property(_refused("matrices"))
    get_problem_file = _refused("get_problem_file")
    to_highspy = _refused("to_highspy")
    to_gurobipy = _refused("to_gurobipy")
    to_mosek = _refused("to_mosek")
    to_xpress = _refused("to_xpress")
    to_cupdlpx = _refused("to_cupdlpx")
    to_cuopt = _refused("to_cuopt")
    dualize = _refused("dualize")
    # What people read, too.
    to_file = _warned("to_file")
    to_netcdf = _warned("to_netcdf")
    to_block_files = _warned("to_block_files")


@functools.cache
def _guarded(kind: Any) -> Any:
    return EmbeddedModel if kind is linopy.Model else type(kind.__name__, (EmbeddedModel, kind), {"__slots__": ()})


def guard(model: linopy.Model) -> None:
    """Make the solve of a model dcembed's."""
    if not isinstance(model, EmbeddedModel):
        kind: Any = type(model)
        model.__class__ = _guarded(kind)


def _convert(name: str, value: Any) -> Any:
    """The value of an option as ours: solvers have 0 for as many threads as they like, and numbers for yes and no."""
    if name == "verbose":
        return bool(value)
    return max(value, 1) if name == "threads" else value


def _translate(solver_name: str | None, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of linopy's solve as ours; what has no meaning here is named in one warning."""
    known = {*Options.__dataclass_fields__, "start"}
    options, ignored = {}, []
    for key, value in arguments.items():
        name = SAME.get(key, key)
        if name in known and (name != "solver" or value in BACKENDS):
            options[name] = _convert(name, value)
        elif key not in CARRIAGE and value is not None:
            ignored.append(f"{key}={value!r}")
    if solver_name in NAMED_SOLVERS:
        options.setdefault("solver", solver_name)
    elif solver_name not in (None, "highs", "dcembed"):
        ignored.append(f"solver_name={solver_name!r}")
    if ignored:
        warnings.warn(f"solve: networks are embedded, so dcembed solves the model; ignored: {', '.join(ignored)}.", stacklevel=3)
    return options
