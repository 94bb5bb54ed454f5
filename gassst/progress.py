"""Progress on stderr: a line that renews itself on a terminal, a quiet line now and then elsewhere."""

from __future__ import annotations

import sys
import time

from .stats import Stats


class Progress:
    """Called with the running `Stats` after every batch; a context manager that ends its line."""

    TERMINAL_SECONDS, PLAIN_SECONDS = 0.5, 30.0

    def __init__(self, quiet: bool = False, stream=None):
        self.stream = stream or sys.stderr
        self.quiet = quiet
        self.terminal = self.stream.isatty()
        self.start = self.last = time.monotonic()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *exc) -> None:
        if self.terminal and not self.quiet:
            print(file=self.stream)

    def __call__(self, stats: Stats) -> None:
        now = time.monotonic()
        interval = self.TERMINAL_SECONDS if self.terminal else self.PLAIN_SECONDS
        if self.quiet or now - self.last < interval:
            return
        self.last = now
        speed = stats.reads / max(now - self.start, 1e-9)
        mapped = 100 * stats.mapped / max(stats.reads, 1)
        line = f"gassst: {stats.reads:,} reads, {speed:,.0f} reads/s, {mapped:.2f} % mapped"
        print(f"\r{line}  " if self.terminal else line, end="" if self.terminal else "\n", file=self.stream, flush=True)
