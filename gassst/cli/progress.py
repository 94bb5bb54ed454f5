"""Progress on stderr: a line that renews itself on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from gassst.stats import Stats


def say(text: str, end: str = "\n", stream: TextIO | None = None) -> None:
    """Print on stderr; that nobody can read it any more is no reason to fail."""
    with suppress(OSError, ValueError):
        print(text, end=end, file=stream or sys.stderr, flush=True)


class Progress:
    """Called with the running `Stats` after every batch; a context manager that ends its line."""

    TERMINAL_SECONDS, PLAIN_SECONDS = 0.5, 30.0

    def __init__(self, quiet: bool = False, stream: TextIO | None = None):
        self.stream = stream or sys.stderr
        self.quiet = quiet
        self.terminal = self.stream.isatty()
        self.line_open = False
        self.start = self.last = time.monotonic()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *exception: object) -> None:
        if self.line_open:
            say("", stream=self.stream)

    def __call__(self, stats: Stats) -> None:
        now = time.monotonic()
        interval = self.TERMINAL_SECONDS if self.terminal else self.PLAIN_SECONDS
        if self.quiet or now - self.last < interval:
            return
        self.last = now
        self.line_open = self.terminal
        line = f"gassst: {self._text(stats, now - self.start)}"
        say(f"\r{line}  " if self.terminal else line, "" if self.terminal else "\n", self.stream)

    @staticmethod
    def _text(stats: Stats, seconds: float) -> str:
        speed = stats.reads / max(seconds, 1e-9)
        mapped = 100 * stats.mapped / max(stats.reads, 1)
        return f"{stats.reads:,} reads, {speed:,.0f} reads/s, {mapped:.2f} % mapped"
