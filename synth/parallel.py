"""Several runs of a tool at a time."""

import concurrent.futures
from collections.abc import Callable, Iterable
from typing import TypeVar


__all__ = ["in_parallel"]


Item = TypeVar("Item")
Result = TypeVar("Result")


def in_parallel(call: Callable[[Item], Result], items: Iterable[Item],
                jobs: int) -> list[Result]:
    """Results of ``call`` for each item, in the items' order. ``jobs`` threads share the calls.

    If a call raises an exception, calls that have not begun are dropped. The exception is raised
    when the running calls have ended.
    """
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(call, item) for item in items]
        try:
            return [future.result() for future in futures]
        except BaseException:
            for future in futures:
                future.cancel()
            raise
