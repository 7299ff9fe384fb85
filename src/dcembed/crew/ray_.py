"""Ray as a `concurrent.futures.Executor`, which its own pool is not."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, TypeVar

from dcembed.errors import MissingPackageError

T = TypeVar("T")


class RayExecutor(Executor):
    """Tasks on a Ray cluster, for `Options(executor=...)`.

    The cluster that Ray is connected to is used; where it is connected to none, it begins one on this machine, as it always does.

    Parameters
    ----------
    num_workers
        How many tasks at a time; None for as many as the cluster has processors.
    """

    def __init__(self, num_workers: int | None = None) -> None:
        try:
            import ray
        except ImportError as error:
            raise MissingPackageError('RayExecutor needs the package ray. Install it: pip install "dcembed[ray]".') from error
        if not ray.is_initialized():
            ray.init(log_to_driver=False)
        self._do = ray.remote(_do)
        self.num_workers = num_workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._is_closed = False

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Have fn(*args, **kwargs) done on the cluster."""
        if self._is_closed:
            raise RuntimeError("This executor has been shut down.")
        future: Future[T] = self._do.remote(fn, args, kwargs).future()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more tasks; Ray goes on."""
        self._is_closed = True


def _do(function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    return function(*arguments, **named)
