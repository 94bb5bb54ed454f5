"""SIGINT, SIGTERM and SIGHUP end the process at once and leave no unfinished file behind.

Python's own handlers run between two instructions of the main thread, which may be deep in compiled code. So
the signals are blocked in every thread, and one thread does nothing but wait for them.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress

from gassst._core import bus_error

Undo = Callable[[], object]

WATCHED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""A process that such a signal ends has the exit code 128 + its number."""

_undos: list[Undo] = []
_stopping = threading.Event()
_MESSAGES: dict[int, bytes] = {
    signal.SIGINT: b"gassst: interrupted\n",
    signal.SIGTERM: b"gassst: terminated\n",
}


def on_stop(undo: Undo) -> None:
    """`undo` is called, from another thread, if the process is told to stop before `settled(undo)`."""
    _undos.append(undo)


def settled(undo: Undo) -> None:
    """There is nothing left to undo; without effect for what was not announced."""
    with suppress(ValueError):
        _undos.remove(undo)


def watch() -> None:
    """Take the signals over, for the rest of the process; called before any other thread begins."""
    # What a shell has set to be ignored, as for `nohup` or `command &` in a script, stays so.
    watched = {s for s in WATCHED if signal.getsignal(s) is not signal.SIG_IGN}
    signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    threading.Thread(target=_wait, args=(watched,), name="gassst-signals", daemon=True).start()


def hold() -> None:
    """Wait for the end, if the process is stopping: what fails meanwhile is not to be reported."""
    if bus_error.is_ending() or _stopping.is_set():
        threading.Event().wait()


def _wait(watched: set[signal.Signals]) -> None:
    number = signal.sigwait(watched)
    _stopping.set()
    for undo in reversed(_undos):
        with suppress(Exception):
            undo()
    with suppress(OSError):
        os.write(2, _MESSAGES.get(number, b""))
    os._exit(128 + number)
