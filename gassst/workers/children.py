"""Processes that must not outlive the one that started them."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


@cache
def _libc() -> Any:
    return ctypes.CDLL(None)


def die_with_parent(parent: int) -> None:
    """From here on, the calling process is killed when process `parent` ends, by kill -9, too; Linux only.

    The system watches the thread that started this process: that thread must live as long as its process is needed.
    """
    if sys.platform.startswith("linux"):
        with suppress(OSError, AttributeError):
            _libc().prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it has ended already
        os._exit(1)


@contextmanager
def adopting_orphans() -> Iterator[None]:
    """In its body, descendants whose parent has ended become children of this process; Linux only."""

    def adopt(does: int) -> None:
        if sys.platform.startswith("linux"):
            with suppress(OSError, AttributeError):
                _libc().prctl(_PR_SET_CHILD_SUBREAPER, does, 0, 0, 0)

    adopt(1)
    try:
        yield
    finally:
        adopt(0)


def end_with_stdin() -> None:
    """From here on, the calling process ends when its standard input does: with the process that holds the other end.

    Unlike `die_with_parent` this works on any system, and whichever thread started the process; but the thread that
    waits needs the GIL now and then.
    """
    threading.Thread(target=_wait_for_end_of_stdin, name="gassst-parent", daemon=True).start()


def _wait_for_end_of_stdin() -> None:
    with suppress(OSError):
        while os.read(0, 4096):
            pass
    os._exit(1)
