"""Messages on stderr, and one line that renews itself there while a run goes on."""

from __future__ import annotations

import logging
import shutil
import sys
import threading
from contextlib import suppress
from typing import TextIO


class Console:
    """Writes lines to a stream; that nobody can read them any more is no reason to fail.

    On a terminal, `renew` overwrites its own last line, and `say` removes that line before it writes.

    Parameters
    ----------
    stream : text stream, optional
        None: what `sys.stderr` is at the time of each message.
    """

    def __init__(self, stream: TextIO | None = None):
        self._stream = stream
        self._shown = 0  # characters of the line that can be renewed
        self._lock = threading.Lock()  # the log is written to by any thread

    @property
    def is_terminal(self) -> bool:
        return (self._stream or sys.stderr).isatty()

    def say(self, text: str) -> None:
        """Print whole lines."""
        with self._lock:
            self._write(f"{self._wiped()}{text}\n")

    def renew(self, text: str) -> None:
        """Show `text` in place of what `renew` has shown before; for terminals only."""
        # A line that wraps cannot be overwritten.
        text = text[: shutil.get_terminal_size().columns - 1]
        with self._lock:
            self._write("\r" + text.ljust(self._shown))
            self._shown = len(text)

    def wipe(self) -> None:
        """Remove what `renew` has shown."""
        with self._lock:
            self._write(self._wiped())

    def _wiped(self) -> str:
        blank = f"\r{' ' * self._shown}\r" if self._shown else ""
        self._shown = 0
        return blank

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError):
            print(text, end="", file=self._stream or sys.stderr, flush=True)


STDERR = Console()


class ConsoleHandler(logging.Handler):
    """Log records as lines on stderr."""

    def emit(self, record: logging.LogRecord) -> None:
        STDERR.say(self.format(record))
