"""What all starts of a run share: the problem, the settings, and what is computed from them once. Nothing in it changes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.copies import replace
from dcembed.embedded.blocks import Blocks, find_blocks
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.epigraph import Epigraph
from dcembed.embedded.lazy_epigraph import build_lazy
from dcembed.embedded.measured_network import MeasuredNetwork
from dcembed.embedded.measurements import input_box, kept_affine, largest_kept
from dcembed.embedded.room import require_room_for_tangents
from dcembed.embedded.shared_epigraph import build_shared
from dcembed.embedded.two_path_epigraph import build_two_path
from dcembed.engine.shelf import Shelf
from dcembed.engine.subproblem import Reach, Subproblem
from dcembed.errors import InputError
from dcembed.options import Options
from dcembed.program.derive import have_same_bounds
from dcembed.program.indicators import missing_bound
from dcembed.program.tightening import Box, tighten
from dcembed.solvers import choose_backend
from dcembed.solvers.base import Backend, SessionOptions
from dcembed.solvers.failover import Solver

FORMULATIONS = {"lazy": build_lazy, "shared": build_shared, "two-path": build_two_path}

# Masters are solved to this, and to this share of the feasibility tolerance: their solutions are candidates, and are measured.
ROUGH, ROUGH_SHARE = 1e-6, 0.1
# Numbers that the split of all boxes may hold, about 1 GB. The open units of a box are not known in advance; half of all is ample.
MAX_LOCAL_ENTRIES = 125_000_000


@dataclass(frozen=True, eq=False)
class Problem:
    """An embedded problem with every choice made.

    Parameters
    ----------
    embedded
        The problem.
    options
        The settings, every "auto" decided; without what is the journal's to call, to hear and to write, so that the problem can be sent to others.
    subproblem
        What all subproblems have in common.
    box
        Bounds of the columns that the rows of the host imply.
    solver
        The backend that a start begins with.
    blocks
        What the problem falls into; None where it does not, or where that is not to be used.
    is_narrow
        Whether most integers are held, around a point: masters with exact units come first then, since they are often all of it.
    given
        The settings as they were before every "auto" was decided.
    is_whole
        Whether there was time for all of `box`.
    shelf
        Where sessions come from and go to; None where each is opened and closed.
    """

    embedded: EmbeddedProgram
    options: Options
    subproblem: Subproblem
    box: Box
    solver: Solver
    blocks: Blocks | None = None
    is_narrow: bool = False
    given: Options | None = None
    is_whole: bool = True
    shelf: Shelf | None = None

    def __getstate__(self) -> dict[str, object]:
        """The problem as it is sent to others: sessions stay here."""
        return {**vars(self), "shelf": None, "given": None}

    @cached_property
    def kept_affine(self) -> tuple[sp.csr_array, Array]:
        """The affine part of every G in the split for the whole input space."""
        return kept_affine(self.embedded)

    @cached_property
    def reach(self) -> Reach | None:
        """How far the measurements go over the whole host, where restrictions are behind indicators."""
        if not self.has_switched_rows:
            return None
        return Reach(self.box, largest_kept(self.embedded, *self.box))

    @property
    def host_box(self) -> Box:
        """The bounds that the host itself gives, and its predictions."""
        return Box(self.embedded.bounded_host.lb, self.embedded.bounded_host.ub)

    @property
    def has_tangents(self) -> bool:
        """Whether there are steps on plain tangents: something continuous moves a network, and the user has not switched them off."""
        embedded = self.embedded
        moves = not bool(embedded.integer[embedded.input_columns].all())
        return self.options.tangents and self.options.formulation == "lazy" and moves

    @property
    def has_switched_rows(self) -> bool:
        """Whether a neural restriction is behind an indicator."""
        return self.embedded.restrictions.is_switched


def carried_by(problem: Problem, backend: Backend | None) -> Problem:
    """The problem for further starts, in the solver that carried the last one to its end."""
    if backend is None or backend.name == problem.solver.backend.name:
        return problem
    return replace(problem, solver=problem.solver.moved_to(backend))


def solver_for(problem: Problem, problem_class: str) -> Solver:
    """For a part of the problem that is of another class: the solver that was asked for if it takes that, else the best for it."""
    current = problem.solver.backend
    if problem.options.solver is not None and problem_class in current.classes:
        return problem.solver
    backend = choose_backend(problem_class)
    return problem.solver if backend.name == current.name else problem.solver.moved_to(backend)


def build_problem(
    embedded: EmbeddedProgram, options: Options, is_over: Callable[[], bool] = lambda: False, known: Problem | None = None
) -> Problem:
    """Decide what is open and compute what starts share; bounds are made no tighter as soon as `is_over()`.

    `known` is the problem of the same structure with other numbers, if there is one: what follows from the structure is taken from it.
    InputError where tangents, or what the options ask for, would take more memory than there may be.
    """
    if known is None:
        require_room_for_tangents(embedded)
    chosen = known.options if known is not None and known.given is options else _choose(options, embedded).plain
    problem = Problem(
        embedded=embedded,
        options=chosen,
        given=options,
        subproblem=Subproblem(embedded, _epigraph(embedded, chosen, known)),
        box=_box(embedded, chosen, is_over, known),
        solver=Solver(
            choose_backend(embedded.host.problem_class, options.solver),
            SessionOptions(
                options.threads_each, options.seed, dict(options.solver_options), min(ROUGH, ROUGH_SHARE * options.feasibility_tol)
            ),
        ),
    )
    if is_over():
        # Bounds that rows imply may not have been found, and nothing will be solved that needs them.
        return replace(problem, is_whole=False)
    if problem.has_switched_rows:
        _check_reach(problem)
    if not (problem.has_tangents and chosen.columns):
        return problem
    looked_for = known is not None and known.has_tangents and known.options.columns
    return replace(problem, blocks=known.blocks if known is not None and looked_for else find_blocks(embedded))


def _epigraph(embedded: EmbeddedProgram, options: Options, known: Problem | None) -> Epigraph:
    # Only the lazy one is without the bounds of units.
    if known is not None and options.formulation == known.options.formulation == "lazy":
        return known.subproblem.epigraph
    return FORMULATIONS[options.formulation](embedded)


def _box(embedded: EmbeddedProgram, options: Options, is_over: Callable[[], bool], known: Problem | None) -> Box:
    host = embedded.bounded_host
    if options.search == "local" and not options.prove and _are_bounds_enough(embedded):
        return Box(host.lb, host.ub)
    if known is not None and known.is_whole and have_same_bounds(host, known.embedded.bounded_host):
        return known.box
    return tighten(host, is_over)


def _are_bounds_enough(embedded: EmbeddedProgram) -> bool:
    """Whether one walk can do without what rows imply: nothing is switched on or off by it, and inputs have ends of their own."""
    host, columns = embedded.bounded_host, embedded.input_columns
    return not embedded.integer.any() and bool(np.isfinite(host.lb[columns]).all() and np.isfinite(host.ub[columns]).all())


def _choose(options: Options, embedded: EmbeddedProgram) -> Options:
    """The options with every "auto" decided."""
    formulation = "lazy" if options.formulation == "auto" else options.formulation
    decomposition = options.decomposition
    if decomposition == "auto":
        decomposition = "local" if formulation == "lazy" and _is_worth_a_local_split(embedded) else "global"
    elif decomposition == "local":
        _require_room_for_local(embedded)
    return dataclasses.replace(options, formulation=formulation, decomposition=decomposition)


def _is_worth_a_local_split(embedded: EmbeddedProgram) -> bool:
    """Deep or curved enough to gain by it, small enough to afford it.

    With one stage of ReLU units the components are sums of single units; whether a settled unit is substituted or linearized makes no
    difference.
    """
    networks = [measured.network for measured in embedded.networks]
    gains = any(len(network.stages) > 1 or not network.is_piecewise_linear for network in networks)
    return gains and _all_local_entries(embedded) <= MAX_LOCAL_ENTRIES


def _require_room_for_local(embedded: EmbeddedProgram) -> None:
    """InputError if local splits that were asked for take too much."""
    entries = _all_local_entries(embedded)
    if entries > MAX_LOCAL_ENTRIES:
        evaluations = sum(measured.num_blocks for measured in embedded.networks)
        units = sum(measured.network.num_hidden for measured in embedded.networks)
        raise InputError(
            f"Options: decomposition='local' holds how open units depend on one another in every evaluation: about {entries:,.0f} numbers for "
            f"{evaluations:,} evaluations of {len(embedded.networks)} networks with {units:,} units, and {MAX_LOCAL_ENTRIES:,} are accepted. "
            "Use decomposition='global', or 'auto', which chooses it here."
        )


def _all_local_entries(embedded: EmbeddedProgram) -> float:
    return sum(_local_entries(measured) for measured in embedded.networks)


def _local_entries(measured: MeasuredNetwork) -> float:
    """Numbers in the split of all boxes: how open units depend on one another and on the inputs."""
    num_open = measured.network.num_hidden / 2
    return measured.num_blocks * num_open * (num_open + measured.network.num_inputs)


def _check_reach(problem: Problem) -> None:
    """An input without bounds leaves a network behind an indicator without a largest value: name its column."""
    embedded, (lb, ub) = problem.embedded, problem.box
    if all(np.isfinite(side).all() for measured in embedded.networks for side in input_box(measured, lb, ub)):
        return
    endless = np.isinf(largest_kept(embedded, lb, ub)) & np.concatenate([[False], embedded.restrictions.indicator >= 0])
    for measured in embedded.networks:
        maps = measured.map_of[measured.terms.block[endless[measured.terms.measurement]]]
        for column in measured.maps[measured.rows_of(maps).reshape(-1)].indices:
            if np.isinf(lb[column]) or np.isinf(ub[column]):
                raise missing_bound(embedded.host, int(column), "lower" if np.isinf(lb[column]) else "upper")
