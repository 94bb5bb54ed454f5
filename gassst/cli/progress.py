"""Progress on stderr: a line that renews itself on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from gassst.cli.console import STDERR, Console
from gassst.files import interrupt

if TYPE_CHECKING:
    from gassst.files.input_progress import InputProgress
    from gassst.model.stats import Stats


class Progress:
    """Called with the running `Stats` after every batch; a context manager that removes its line.

    Parameters
    ----------
    inputs : InputProgress, optional
        Knows the share of the input that is done. Without it, or where an input has no size, only counts are
        shown.
    quiet : bool
        Show nothing.
    """

    TERMINAL_SECONDS, PLAIN_SECONDS = 0.5, 30.0

    def __init__(self, inputs: InputProgress | None = None, quiet: bool = False, console: Console = STDERR):
        self._inputs, self._quiet, self._console = inputs, quiet, console
        self._terminal = console.can_renew
        self._start = self._last = time.monotonic()

    def __enter__(self) -> Progress:
        interrupt.on_stop(self._console.wipe)
        return self

    def __exit__(self, *exception: object) -> None:
        self._console.wipe()
        interrupt.settled(self._console.wipe)

    @property
    def seconds(self) -> float:
        """Since the run began."""
        return time.monotonic() - self._start

    def __call__(self, stats: Stats) -> None:
        share = self._inputs.share_done(stats.reads) if self._inputs else None
        self.show(share, lambda seconds: _counts(stats, seconds))

    def show(self, share: float | None, counts: Callable[[float], str]) -> None:
        """Say what share of the input is done, and what `counts` makes of the seconds since the run began."""
        now = time.monotonic()
        interval = self.TERMINAL_SECONDS if self._terminal else self.PLAIN_SECONDS
        if self._quiet or now - self._last < interval:
            return
        self._last = now
        seconds = now - self._start
        left = f"{int(100 * share)} %, {clock(seconds * (1 - share) / share)} left, " if share else ""
        line = f"gassst: {left}{counts(seconds)}"
        if self._terminal:
            self._console.renew(line)
        else:
            self._console.say(line)


def _counts(stats: Stats, seconds: float) -> str:
    speed = stats.reads / max(seconds, 1e-9)
    mapped = 100 * stats.mapped / max(stats.reads, 1)
    return f"{stats.reads:,} reads, {speed:,.0f} reads/s, {mapped:.2f} % mapped"


def clock(seconds: float) -> str:
    """'0:07', '12:34', '1:02:03'."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
