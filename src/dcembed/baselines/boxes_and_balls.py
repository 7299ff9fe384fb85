"""Sets whose nearest points are known without a solver: a box, cut by Euclidean balls over different columns.

The nearest point of box and ball together lies, after clipping, on the way from a point to the centre of the ball; how far is found by
halving. Everything is batched, in torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dcembed.arrays import Array
from dcembed.errors import InputError
from dcembed.program.balls import Ball, find_balls
from dcembed.program.program import Program

# Halvings of the way to the centre, as many as float64 has digits, and pulls in lower precision.
NUM_HALVINGS, NUM_PULLS = 53, 4


@dataclass(frozen=True, eq=False)
class Region:
    """lb <= w <= ub within balls that share no columns; bounds are finite where the balls make them so."""

    lb: Array
    ub: Array
    balls: tuple[Ball, ...]

    @property
    def center(self) -> Array:
        """A point in the middle of the box and of the balls."""
        w = (self.lb + self.ub) / 2
        for ball in self.balls:
            w[ball.columns] = np.clip(ball.center, self.lb[ball.columns], self.ub[ball.columns])
        return w

    @property
    def reach(self) -> Array:
        """How far a step may go in each column: half the box, in a ball less, so that all together go about its radius."""
        reach = (self.ub - self.lb) / 2
        for ball in self.balls:
            reach[ball.columns] = np.minimum(reach[ball.columns], 2 * ball.radius / np.sqrt(ball.columns.size))
        return reach


def read_region(host: Program, what: str) -> Region:
    """The feasible points of a host that has nothing but bounds and balls; `what` asks for it, in the message of the error."""
    cure = "Use dcembed.solve or another baseline for it."
    if host.num_rows:
        raise InputError(f"{what} takes boxes and balls only, but this host has {host.num_rows} rows without predictions. {cure}")
    balls = find_balls(host)
    columns = np.concatenate([np.zeros(0, dtype=np.int64), *(ball.columns for ball in balls if ball is not None)])
    if None in balls or np.unique(columns).size < columns.size:
        raise InputError(f"{what} takes boxes and balls only, but this host has a curved constraint that is no ball of its own. {cure}")
    found = tuple(ball for ball in balls if ball is not None)
    lb, ub = host.lb.copy(), host.ub.copy()
    for ball in found:
        lb[ball.columns] = np.maximum(lb[ball.columns], ball.center - ball.radius)
        ub[ball.columns] = np.minimum(ub[ball.columns], ball.center + ball.radius)
    return Region(lb, ub, found)


class TorchRegion:
    """A region as tensors of one precision."""

    def __init__(self, region: Region, dtype: Any) -> None:
        import torch

        self._lb, self._ub = (torch.tensor(bound, dtype=dtype) for bound in (region.lb, region.ub))
        self._balls = [(torch.tensor(ball.columns), torch.tensor(ball.center, dtype=dtype), ball.radius) for ball in region.balls]
        self.reach = torch.tensor(region.reach, dtype=dtype)

    def project(self, points: Any) -> Any:
        """The nearest points of the region, (k, n)."""
        nearest = points.clamp(self._lb, self._ub)
        for columns, center, radius in self._balls:
            lb, ub, target = self._lb[columns], self._ub[columns], points[:, columns]
            outside = (nearest[:, columns] - center).norm(dim=1) > radius
            if outside.any():
                nearest[outside.nonzero(), columns] = _pull(target[outside], center, radius, lb, ub)
        return nearest

    def sample(self, number: int, generator: Any) -> Any:
        """Random points: uniform in the box, in a ball uniform in direction and in distance from its centre."""
        import torch

        share = torch.rand((number, self._lb.numel()), generator=generator, dtype=self._lb.dtype)
        points = self._lb + share * (self._ub - self._lb)
        for columns, center, radius in self._balls:
            direction = torch.randn((number, columns.numel()), generator=generator, dtype=self._lb.dtype)
            distance = radius * torch.rand((number, 1), generator=generator, dtype=self._lb.dtype)
            points[:, columns] = center + distance * direction / direction.norm(dim=1, keepdim=True)
        return self.project(points)

    def directions(self, gradient: Any) -> Any:
        """Steepest steps of the length that a column can go: the sign in a box, the normed gradient in a ball."""
        step = gradient.sign() * self.reach
        for columns, _, radius in self._balls:
            own = gradient[:, columns]
            step[:, columns] = 2 * radius * own / own.norm(dim=1, keepdim=True).clamp_min(1e-30)
        return step


def _pull(points: Any, center: Any, radius: float, lb: Any, ub: Any) -> Any:
    """Points outside a ball, pulled towards its centre and clipped, until they are on its surface.

    In low precision by a few pulls that would be exact without clipping; what is reported is projected in float64, by halving.
    """
    import torch

    way = center - points
    outside = points.new_zeros((points.shape[0], 1))

    def distance(share: Any) -> Any:
        return ((points + share * way).clamp(lb, ub) - center).norm(dim=1, keepdim=True)

    if points.dtype != torch.float64:
        for _ in range(NUM_PULLS):
            outside = 1 - (1 - outside) * (radius / distance(outside)).clamp_max(1.0)
        return (points + outside * way).clamp(lb, ub)
    inside = torch.ones_like(outside)
    for _ in range(NUM_HALVINGS):
        middle = (inside + outside) / 2
        is_outside = distance(middle) > radius
        inside, outside = torch.where(is_outside, inside, middle), torch.where(is_outside, middle, outside)
    return (points + inside * way).clamp(lb, ub)
