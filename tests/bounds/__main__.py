"""`python -m tests.bounds`: bounds of random problems beside their best feasible points, and the mutations that these tests catch."""

from __future__ import annotations

import argparse
import time
from collections import Counter

import numpy as np
from rich.console import Console
from rich.table import Table

from . import steps
from .random_problems import HOSTS, draw
from .steps import STEPS, prove_steps, prove_whole
from .truth import ALLOWED, best_of, excess, least_possible


class Campaign:
    """What was seen so far."""

    def __init__(self) -> None:
        self.problems: Counter[str] = Counter()
        self.bounds: Counter[tuple[str, str]] = Counter()
        self.tight: Counter[tuple[str, str]] = Counter()
        self.wrong: list[tuple[int, str, float]] = []
        self.features: Counter[str] = Counter()
        self.errors: list[tuple[int, str]] = []
        self.num_closed = self.num_grids = 0

    def look(self, seed: int, with_whole: bool) -> None:
        """One problem."""
        drawn = draw(seed)
        self.features.update(set(drawn.features))
        host = drawn.features[0]
        self.problems[host] += 1
        proved = prove_steps(drawn, start=drawn.witness if seed % 2 else None)
        bounds = dict(proved.bounds)
        if with_whole:
            result, _ = prove_whole(drawn, 2.0)
            bounds["prove"] = drawn.program.sense * result.bound
            proved.points += [result.x] if result.x is not None else []
        best = best_of(drawn, proved.points, seed)
        for step, bound in bounds.items():
            beyond = excess(bound, best)
            self.bounds[host, step] += bool(np.isfinite(bound))
            self.tight[host, step] += abs(beyond) <= 1e-4
            if beyond > ALLOWED:
                self.wrong.append((seed, step, beyond))
        if with_whole:
            self._look_below(seed, least_possible(drawn), best, bounds["prove"], drawn.program.sense * result.objective, result)

    def _look_below(self, seed, least, best, bound, objective, result) -> None:
        """The other side: a feasible point is not below the grid less its margin, and a closed gap means that no point is much better."""
        self.num_grids += bool(np.isfinite(least))
        if result.is_feasible and objective < least - 1e-5 * max(1.0, abs(least)):
            self.wrong.append((seed, "point below the grid", (least - objective) / max(1.0, abs(least))))
        if result.status.name == "OPTIMAL":
            self.num_closed += 1
            if objective > best + 1.01e-4 * abs(objective) + 1e-7:
                self.wrong.append((seed, "closed gap", objective - best))

    def table(self) -> Table:
        """Problems, bounds, and how many of these are within 1e-4 of the best feasible point."""
        table = Table("host", "problems", *(f"{step}: bounds / tight" for step in (*STEPS, "prove")))
        for host in HOSTS:
            cells = [f"{self.bounds[host, step]} / {self.tight[host, step]}" for step in (*STEPS, "prove")]
            table.add_row(host, str(self.problems[host]), *cells)
        return table


def main() -> None:
    """Run, and print what was seen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--every", type=int, default=7, help="every so manieth problem is proved as a whole, too")
    parser.add_argument("--boxes", type=int, default=steps.TREE_BOXES, help="boxes of a tree at most")
    parser.add_argument("--mutations", action="store_true", help="break every step instead, and count the problems until it is seen")
    arguments = parser.parse_args()
    console = Console(width=160)
    if arguments.mutations:
        from .mutations import table_of_mutations

        console.print(table_of_mutations())
        return
    steps.TREE_BOXES = arguments.boxes
    campaign, began = Campaign(), time.monotonic()
    for seed in range(arguments.first, arguments.first + arguments.problems):
        try:
            campaign.look(seed, seed % arguments.every == 0)
        except Exception as error:
            # An error is a failure like a wrong bound; the others are looked at all the same.
            campaign.errors.append((seed, repr(error)))
        if seed % 200 == 199:
            print(
                f"{seed + 1 - arguments.first} problems, {time.monotonic() - began:.0f} s, wrong: {campaign.wrong}, errors: {campaign.errors}",
                flush=True,
            )
    console.print(campaign.table())
    print(", ".join(f"{name} {number}" for name, number in campaign.features.most_common()))
    print(f"{sum(campaign.problems.values())} problems, {campaign.num_closed} gaps closed, {campaign.num_grids} grids with a margin")
    print(f"wrong: {campaign.wrong or 'none'}; errors: {campaign.errors or 'none'}")


if __name__ == "__main__":
    main()
