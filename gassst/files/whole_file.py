"""Files that appear as a whole or not at all: indexes, statistics, reports, plots."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from gassst.files.destination import Destination


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A binary file that takes its name when the block ends well; else what was there before stays.

    "-" is standard output. Raises OutputError when the file cannot be written.
    """
    target = Destination(path)
    try:
        with target.errors(), os.fdopen(target.open(), "wb") as file:
            yield file
        target.commit()
    except BaseException:
        target.discard()
        raise


@contextmanager
def held_text(path: str | os.PathLike[str], text: str) -> Iterator[None]:
    """Write `text` in UTF-8 before the block, to a file that takes its name after it, by the rules of `whole_file`."""
    with whole_file(path) as file:
        file.write(_encoded(text))
        file.flush()
        yield


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` in UTF-8, by the rules of `whole_file`."""
    with held_text(path, text):
        pass


def _encoded(text: str) -> bytes:
    """Names of files may hold bytes that are no text, and JSON halves of characters: both are shown by numbers."""
    return text.encode("utf-8", "backslashreplace")
