"""Workers: calls, their results, and their end."""

import threading
from contextlib import closing

import numpy as np

from gassst.workers.threads import Workers


def scaled(factor, array):
    return factor * array


def test_calls_are_made_with_their_arguments():
    with closing(Workers(3)) as workers:
        futures = [workers.submit(scaled, 2, np.arange(i)) for i in range(0, 20_000, 1000)]
        for i, future in enumerate(futures):
            assert future.result().tolist() == list(range(0, 2000 * i, 2))


def test_the_end_waits_for_no_call():
    """Those that have not begun are dropped."""
    begun, may_end = threading.Event(), threading.Event()

    def wait():
        begun.set()
        may_end.wait()

    workers = Workers(1)
    under_way, waiting = workers.submit(wait), workers.submit(wait)
    begun.wait()
    workers.close()
    assert waiting.cancelled() and not under_way.done()
    may_end.set()
    assert under_way.result() is None
