"""Several runs of a tool at a time."""

import concurrent.futures


__all__ = ["in_parallel"]


def in_parallel(call, items, jobs) -> list:
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
