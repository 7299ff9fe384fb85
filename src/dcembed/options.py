"""Settings of a run."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar, get_args

import numpy as np

from dcembed.errors import InputError, OptionError
from dcembed.reading import show
from dcembed.solvers.base import num_processors
from dcembed.solvers.table import find_backend

if TYPE_CHECKING:
    from dcembed.result import Iteration

Formulation = Literal["auto", "lazy", "shared", "two-path"]
Decomposition = Literal["auto", "local", "global"]
SearchKind = Literal["patient", "until-limit", "converge", "local"]
SolverName = Literal["highs", "piqp", "clarabel", "scip", "gurobi"]
FORMULATIONS, DECOMPOSITIONS, SEARCHES = get_args(Formulation), get_args(Decomposition), get_args(SearchKind)

PROOFS = (False, "auto", True)
# A search that a proof follows has this share of the time limit, with prove=True and with prove="auto".
SEARCH_SHARE, AUTO_SEARCH_SHARE = 0.3, 0.5
# With prove="auto" the bound may take so many times as long as the search took, and so many seconds in any case.
PROOF_SHARE, PROOF_SECONDS = 1.0, 1.0

# What solvers take for a whole number.
LARGEST = 2**31 - 1

# Processes at most: more than this is a mistake.
MAX_WORKERS = 4096

# Starts of a search that is one pass.
NUM_STARTS = 5

T = TypeVar("T")


class Stop(Protocol):
    """What a run is stopped with from outside: a `threading.Event`, or anything with its `is_set`."""

    def is_set(self) -> bool:
        """Whether the run is to end."""


def reject_unknown_names(cls: type[T]) -> type[T]:
    """Make an unknown keyword an OptionError that lists the known ones."""
    init: Callable[..., None] = cls.__init__
    # It cannot tell that `cls` is a dataclass.
    known = [f.name for f in fields(cls)]  # type: ignore[arg-type]

    @functools.wraps(init)
    def checked(self: T, *args: object, **kwargs: object) -> None:
        if args:
            raise OptionError(f"Options: options are given by name, as in Options(time_limit=60); received {show(args[0])}.")
        for name in kwargs:
            if name not in known:
                close = difflib.get_close_matches(name, known, n=1)
                hint = f" Did you mean {close[0]!r}?" if close else ""
                raise OptionError(f"Options: unknown option {name!r}.{hint} Accepted: {', '.join(known)}.")
        init(self, **kwargs)

    # A class decorator that changes how instances are made is beyond the type checker.
    cls.__init__ = checked  # type: ignore[method-assign, assignment]
    return cls


@reject_unknown_names
@dataclass(frozen=True, kw_only=True)
class Options:
    """Settings of `dcembed.solve`. An unknown name is an error.

    Parameters
    ----------
    time_limit
        Seconds for the whole run, subproblems included.
    max_iterations
        Steps from each start: a subproblem, or a tangent master and its correction.
    search
        How long the run goes on with further starts. The starts that `solve` is given come first, then where the host alone is best,
        then good and different points of the host; the best point of all is returned. "patient" ends when nothing better was found
        in 20 starts and in twice the steps it took to find the best; the last of these are made from points that were found before.
        "until-limit" goes on until the time limit, with such moves from early on; "converge" is one pass of `max_starts` starts.
        "local" is for solves again and again from a good start: one start, which ends as soon as the tangents show a local solution,
        without the look around it that the others take.
    max_starts
        Starts at most, those that `solve` is given included (these are all made); 1 is fastest. None is 5 for "converge", 1 for
        "local", and no limit otherwise.
    formulation
        How the kept convex component is held: "lazy" (one column and tangent cuts), "shared" (the paper's, one column per hidden
        unit), "two-path" (its ablation). "auto" is "lazy".
    decomposition
        Where the network is split: "global", one split for the whole input space, or "local", one for a box around the current
        point, with lazy only. "auto" is "local" for lazy on networks of more than one stage, as far as memory allows.
    tangents
        Whether steps on plain tangents of the networks go first, with lazy only; integers are held meanwhile. The first good points come
        without bounds, splits and cuts then. False is the difference-of-convex procedure alone.
    columns
        Whether a problem that falls into blocks with networks, tied by a few rows, is taken apart: points of single blocks at prices of these
        rows, combined anew; with tangents only. The log says what was found. False treats every problem as one piece.
    switches
        Whether rows with predictions, or on inputs of networks, that a large coefficient on a binary switches off (a'w + M z <= b, where
        bounds show that the row says nothing at one value of z) are read as indicators, and whether neural rows behind a binary put what
        they imply into the host: ranges of inputs, and lines below a network. False leaves all as it is written.
    initial_penalty
        tau_0. None scales it to the problem: objective change against change of the neural rows near the start.
    penalty_growth
        mu, the factor on the penalty after an infeasible candidate.
    max_penalty
        tau_max. None is 1e6 times the initial penalty.
    feasibility_tol
        eps_feas: a point is feasible when no constraint of the problem, measured, is violated by more.
    objective_tol
        eps_obj, relative to max(1, |F|): two consecutive feasible candidates of the paper's procedure that agree to this end a start; by
        default, steps that promise less are not made, and a point must be better by more to count as progress of the search.
    prove
        Whether a bound on the optimum is proved after the search: `Result.bound` and `Result.gap`. "auto" spends at most as long on it as
        the search took, or a second where that was less; True all that is left of the time limit; False nothing. It ends sooner where
        the gap is closed. The search ends after half of the time limit at the latest then ("auto"), or after 0.3 of it (True).
    gap_tol
        The gap |F - bound| / |F| that counts as closed: a feasible point with a certified bound that near is OPTIMAL.
    solver
        Backend of the subproblems: "highs", "piqp", "clarabel", "scip", "gurobi". None chooses by the problem. Where the Gurobi
        licence does not carry the size, the run goes on with another one; the log and `Result.solver` say which.
    solver_options
        Options of that solver by its own names.
    threads
        Threads the solver may use, at most as many as there are processors; with `workers` each of them has its share of these. PIQP and
        SCIP use one whatever is asked for; the log says so.
    workers
        Processes that starts, prices of blocks and bounds are computed in beside this one; they are begun when a run takes longer than
        they do, and end with it. 1 does everything here. With search="converge" the answer does not depend on it. With an `executor`, how
        many tasks it is given at a time; None is as many as it has processes, as far as it says.
    executor
        A `concurrent.futures.Executor` that does the same in place of processes of our own: `dcembed.Workers`, which many runs share, a
        `ProcessPoolExecutor`, that of a Dask client (`client.get_executor()`), of mpi4py. It is left open.
    seed
        Seed of the solver and of random starts. The same seed gives the same trace, up to where a time limit ends the run or, in a proof,
        the share of it that one way of proving has.
    callback
        Called with each `Iteration`; return True to stop. What it raises ends the run, with the result so far as `error.result`.
    stop
        A `threading.Event` that ends this run, with its best point, when another thread or the callback sets it; it is heard while a
        solver works. `dcembed.stop()` ends all runs of the process.
    checkpoint
        The path of an .npz file that has the best point and bound so far in it while the run goes on, about a second behind, so that a run
        that is killed leaves them there: `load_result` reads it. At the end it is what `Result.save` writes. A file that is there already
        gives way to a feasible point, and one about the same problem to a point that is as good; a disk that is full costs a note.
    verbose
        Print a live log: improvements, phases, and at least every few seconds that the run is alive. 2 prints every step; False nothing.
    log_file
        The path of a file that the log is appended to, whatever `verbose` says. Python's `logging` has it, too, in the logger "dcembed", where
        that listens to INFO.
    """

    time_limit: float = np.inf
    max_iterations: int = 1000
    search: SearchKind = "patient"
    max_starts: int | None = None
    formulation: Formulation = "auto"
    decomposition: Decomposition = "auto"
    tangents: bool = True
    columns: bool = True
    switches: bool = True
    initial_penalty: float | None = None
    penalty_growth: float = 10.0
    max_penalty: float | None = None
    feasibility_tol: float = 1e-5
    objective_tol: float = 1e-6
    prove: bool | Literal["auto"] = False
    gap_tol: float = 1e-4
    solver: SolverName | None = None
    solver_options: Mapping[str, object] = field(default_factory=dict)
    threads: int = 1
    workers: int | None = None
    executor: Executor | None = None
    seed: int = 0
    callback: Callable[[Iteration], bool | None] | None = None
    stop: Stop | None = None
    checkpoint: str | Path | None = None
    verbose: bool | int = True
    log_file: str | Path | None = None

    def __post_init__(self) -> None:
        _require(self, "time_limit", _is_number(self.time_limit) and self.time_limit >= 0, "a number of seconds, at least 0")
        _require(self, "max_iterations", _is_whole(self.max_iterations) and self.max_iterations >= 0, "a whole number, at least 0")
        _require(self, "search", _is_one_of(self.search, SEARCHES), f"one of {', '.join(map(repr, SEARCHES))}")
        ends = self.search != "until-limit" or self.time_limit < np.inf or self.max_starts is not None
        _require(self, "search", ends, "it a time_limit (or max_starts) to end at, or 'patient'")
        limited = self.max_starts is None or (_is_whole(self.max_starts) and self.max_starts >= 1)
        _require(self, "max_starts", limited, "a whole number, at least 1, or None")
        _require(self, "formulation", _is_one_of(self.formulation, FORMULATIONS), f"one of {', '.join(map(repr, FORMULATIONS))}")
        _require(self, "decomposition", _is_one_of(self.decomposition, DECOMPOSITIONS), f"one of {', '.join(map(repr, DECOMPOSITIONS))}")
        _require(self, "tangents", isinstance(self.tangents, bool), "True or False")
        _require(self, "columns", isinstance(self.columns, bool), "True or False")
        _require(self, "switches", isinstance(self.switches, bool), "True or False")
        fits = self.decomposition != "local" or self.formulation in ("auto", "lazy")
        _require(self, "decomposition", fits, f"'global' or 'auto' with formulation={self.formulation!r}")
        for name in ("initial_penalty", "max_penalty"):
            value = getattr(self, name)
            _require(self, name, value is None or (_is_number(value) and 0 < value < np.inf), "a positive number, or None")
        _require(self, "penalty_growth", _is_number(self.penalty_growth) and 1 < self.penalty_growth < np.inf, "a number above 1")
        _require(self, "feasibility_tol", _is_number(self.feasibility_tol) and 0 < self.feasibility_tol < np.inf, "a positive number")
        _require(self, "objective_tol", _is_number(self.objective_tol) and 0 <= self.objective_tol < np.inf, "a number, at least 0")
        proves = isinstance(self.prove, bool) or _is_one_of(self.prove, ("auto",))
        _require(self, "prove", proves, f"one of {', '.join(map(repr, PROOFS))}")
        _require(self, "gap_tol", _is_number(self.gap_tol) and 0 <= self.gap_tol < np.inf, "a number, at least 0")
        _require(self, "solver", self.solver is None or isinstance(self.solver, str), "the name of a solver, or None")
        if self.solver is not None:
            find_backend(self.solver)
        is_mapping = isinstance(self.solver_options, Mapping) and all(isinstance(name, str) for name in self.solver_options)
        _require(self, "solver_options", is_mapping, "a mapping of option names to values")
        _require(self, "threads", _is_whole(self.threads) and self.threads >= 1, "a whole number, at least 1")
        counted = self.workers is None or (_is_whole(self.workers) and 1 <= self.workers <= MAX_WORKERS)
        _require(self, "workers", counted, f"a whole number from 1 to {MAX_WORKERS}, or None")
        submits = self.executor is None or callable(getattr(self.executor, "submit", None))
        _require(self, "executor", submits, "a concurrent.futures.Executor, or None")
        _require(self, "seed", _is_whole(self.seed) and self.seed >= 0, "a whole number, at least 0")
        for name in ("max_iterations", "threads", "seed"):
            _require(self, name, getattr(self, name) <= LARGEST, f"a whole number up to {LARGEST}")
        _require(
            self, "verbose", isinstance(self.verbose, bool) or (_is_whole(self.verbose) and 0 <= self.verbose <= 2), "True, False or 2"
        )
        _require(self, "log_file", self.log_file is None or isinstance(self.log_file, str | Path), "the path of a file, or None")
        _require(self, "callback", self.callback is None or callable(self.callback), "a function of one Iteration, or None")
        kept = self.checkpoint is None or (isinstance(self.checkpoint, str | Path) and Path(self.checkpoint).suffix.lower() == ".npz")
        _require(self, "checkpoint", kept, "the path of an .npz file, or None")
        stops = self.stop is None or callable(getattr(self.stop, "is_set", None))
        _require(self, "stop", stops, "a threading.Event, or None")

    @property
    def num_starts(self) -> int | None:
        """Starts at most, None for no limit."""
        return {"converge": NUM_STARTS, "local": 1}.get(self.search) if self.max_starts is None else self.max_starts

    @property
    def search_seconds(self) -> float:
        """Seconds that a search may take that a proof follows: not all of the time limit."""
        return (AUTO_SEARCH_SHARE if self.prove == "auto" else SEARCH_SHARE) * self.time_limit

    @property
    def plain(self) -> Options:
        """The options without what belongs to this process, and is the journal's to call, to hear and to write: they can be sent to others."""
        return replace(self, callback=None, stop=None, executor=None, checkpoint=None)

    @property
    def threads_each(self) -> int:
        """Threads of a solver in each process: those of several workers are no more than there are processors."""
        workers = self.workers if self.workers is not None and self.executor is None else 1
        return max(1, min(self.threads, num_processors() // workers))

    def proof_seconds(self, searched: float) -> float:
        """Seconds that a bound may take after a search of so many; the time limit holds besides."""
        if self.prove == "auto":
            return max(PROOF_SHARE * searched, PROOF_SECONDS)
        return np.inf if self.prove else 0.0


def _is_number(value: object) -> bool:
    return isinstance(value, float | np.floating) or (_is_whole(value) and abs(value) < 10**300)  # type: ignore[arg-type]


def _is_one_of(value: object, names: tuple[str, ...]) -> bool:
    return isinstance(value, str) and value in names


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _require(options: Options, name: str, holds: bool, accepted: str) -> None:
    if not holds:
        raise InputError(f"Options: {name}={getattr(options, name)!r} is not accepted. Give {accepted}.")
