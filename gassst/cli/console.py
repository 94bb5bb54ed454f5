"""Messages on stderr, and one line that renews itself there while a run goes on."""

from __future__ import annotations

import logging
import os
import sys
import threading
from contextlib import suppress
from typing import TextIO

LONGEST_MESSAGE = 2000
"""Characters of a message; two paths are shorter, but a name in a file may have megabytes."""
ERASE_LINE = "\r\x1b[K"  # also erases what was typed behind it, such as ^C


def one_line(text: str) -> str:
    """A message as one line of text alone: cut in its middle where it is long, and with no command to a terminal."""
    if len(text) > LONGEST_MESSAGE:
        half = LONGEST_MESSAGE // 2
        text = f"{text[:half]} ... {text[-half:]}"
    text = " ".join(text.splitlines())
    return text if text.isprintable() else "".join(c if c.isprintable() else _visible(c) for c in text)


def _visible(character: str) -> str:
    return character.encode("unicode_escape").decode()


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
        self._shown = False  # whether the cursor is on a line that can be renewed
        self._lock = threading.Lock()  # the log is written to by any thread

    @property
    def can_renew(self) -> bool:
        """Whether this is a terminal that understands ERASE_LINE."""
        return (self._stream or sys.stderr).isatty() and os.environ.get("TERM") != "dumb"

    def say(self, text: str) -> None:
        """Print whole lines."""
        with self._lock:
            self._write(f"{self._wiped()}{text}\n")

    def renew(self, text: str) -> None:
        """Show `text` in place of what `renew` has shown before; only where `can_renew`."""
        import shutil  # 2 ms, which runs without a terminal need not spend

        # A line that wraps cannot be overwritten.
        text = one_line(text)[: shutil.get_terminal_size().columns - 1]
        with self._lock:
            self._write(ERASE_LINE + text)
            self._shown = True

    def wipe(self) -> None:
        """Remove what `renew` has shown."""
        with self._lock:
            self._write(self._wiped())

    def _wiped(self) -> str:
        erase = ERASE_LINE if self._shown else ""
        self._shown = False
        return erase

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError):
            print(text, end="", file=self._stream or sys.stderr, flush=True)


STDERR = Console()


class ConsoleHandler(logging.Handler):
    """Log records as lines on stderr."""

    def emit(self, record: logging.LogRecord) -> None:
        text = self.format(record)
        STDERR.say(
            text if record.levelno <= logging.DEBUG else one_line(text)
        )  # logs of compilers have lines
