"""Several runs of a tool at a time."""

import concurrent.futures


__all__ = ["in_parallel"]


def in_parallel(call, items, jobs) -> list:
    """What ``call`` returns for each item, in their order; ``jobs`` calls at a time, each in a thread.

    If one raises an exception, those that have not begun are dropped, and the exception is raised
    when the others have ended.
    """
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(call, item) for item in items]
        try:
            return [future.result() for future in futures]
        except BaseException:
            for future in futures:
                future.cancel()
            raise
