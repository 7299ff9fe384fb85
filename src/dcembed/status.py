"""Why a run ended, and what is said about it: a status whose value is its help text."""

from __future__ import annotations

from enum import Enum

from dcembed.words import PYTHON, Words


class Status(Enum):
    """Why a run ended. The value is the help text, with what to do next in braces, which every tool has its own words for.

    Whether the point is feasible is `Result.is_feasible`, always measured.
    """

    OPTIMAL = (
        "The point is feasible, and a certified bound proves that no feasible point is better by more than {gap_tol} (of an exact baseline it is "
        "the word of its solver that does)."
    )
    LOCALLY_SOLVED = (
        "The procedure has converged: around this feasible point no subproblem promises a better one. It is a local solution; "
        "better points may exist. {prove} bounds how much better, other starts may find one."
    )
    LOCALLY_INFEASIBLE = (
        "The violation stopped shrinking at the largest penalty before a feasible point was found. This proves nothing about "
        "the problem; try other starts, a larger {max_penalty} or a larger {feasibility_tol}."
    )
    TIME_LIMIT = "The time limit was reached; the best point so far is returned. Raise {time_limit} to go on from it with {go_on}."
    ITERATION_LIMIT = (
        "The iteration limit was reached; the best point so far is returned. Raise {max_iterations}, or go on from it with {go_on}."
    )
    INFEASIBLE = (
        "No point satisfies all constraints: a certified bound proves it, or, from an exact baseline, its solver found the exact encoding of the "
        "networks infeasible, to its tolerances."
    )
    HOST_INFEASIBLE = "The solver found the host infeasible, even without any row that has a prediction in it. Check its rows and bounds."
    OUTSIDE_SUPPORT = (
        "Rows and bounds of the host have points, but none of them has its inputs where the data are: the support and the host do not meet. The reason "
        "names the region and how far it is. Check units and order of the data, take more of it, or give the support a weight."
    )
    UNBOUNDED = "The objective is unbounded in a subproblem. Bound the columns, above all those the network's inputs depend on."
    NUMERICAL_ERROR = (
        "The solver failed on several subproblems in a row; the best point so far is returned. Try another solver, or bring rows and "
        "columns to similar sizes."
    )
    INTERRUPTED = (
        "The run was interrupted by Ctrl-C, by the callback, by a request to stop or by an error; the best point so far is returned. "
        "Go on from it with {go_on}."
    )

    @property
    def help(self) -> str:
        """What the status means and what to do next, in the words of Python."""
        return self.help_in(PYTHON)

    def help_in(self, words: Words) -> str:
        """The same in the words of the tool in use."""
        return words.fill_in(self.value)


# What is said where a run was ended before it had a feasible point, and where a local solution has its bound already.
_ENDED = {
    Status.TIME_LIMIT: "The time limit was reached",
    Status.ITERATION_LIMIT: "The iteration limit was reached",
    Status.INTERRUPTED: "The run was interrupted by Ctrl-C, by the callback, by a request to stop or by an error",
}
_NOTHING_YET = " before a feasible point was found. More time or other starts may find one, and {prove} may prove that there is none."
_NEAREST = " The point that is nearest to feasible is {nearest}."
_BOUNDED = (
    "The procedure has converged: around this feasible point no subproblem promises a better one. It is a local solution; no other is better "
    "than the bound. More time for the proof may close the gap."
)


def help_for(status: Status, words: Words, has_point: bool, is_feasible: bool, has_bound: bool) -> str:
    """What a status means and what to do next, by whether there is a point, whether that is feasible, and whether there is a bound."""
    text = status.value
    if status in _ENDED and not is_feasible:
        text = _ENDED[status] + _NOTHING_YET
    elif status is Status.LOCALLY_SOLVED and has_bound:
        text = _BOUNDED
    return words.fill_in(text + (_NEAREST if has_point and not is_feasible else ""))
