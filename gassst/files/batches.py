"""Sequences some at a time, their letters, and their names in messages; files that are read whole."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gassst.errors import InputError, MissingFileError, UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

Record = tuple[str, bytes]


def batches(records: Iterable[Record], letters: int) -> Iterator[list[Record]]:
    """Names and sequences in lists of so many letters or a few more."""
    batch: list[Record] = []
    count = 0
    for record in records:
        batch.append(record)
        count += len(record[1])
        if count >= letters:
            yield batch
            batch, count = [], 0
    if batch:
        yield batch


@contextmanager
def named(batch: list[Record]) -> Iterator[None]:
    """An InputError within about "sequence K", counted from 1, names it instead."""
    try:
        yield
    except InputError as error:
        number, _, rest = str(error).removeprefix("sequence ").partition(":")
        if not number.isdecimal():
            raise
        raise InputError(f"sequence {batch[int(number) - 1][0]}:{rest}") from None


def texts_of(sequences: Iterable[str | bytes], most: int) -> list[bytes]:
    """The letters of each sequence. Raises UsageError for what is no list of text, InputError above `most` letters."""
    if isinstance(sequences, (str, bytes)):
        raise UsageError("sequences: a list of sequences is wanted, not one")
    found = []
    for number, sequence in enumerate(sequences, 1):
        if not isinstance(sequence, (str, bytes)):
            raise UsageError(f"sequence {number}: must be str or bytes, not {type(sequence).__name__}")
        text = sequence.encode("latin-1", "replace") if isinstance(sequence, str) else sequence
        if len(text) > most:
            raise InputError(f"sequence {number}: has {len(text):,} letters; {most:,} are the limit")
        found.append(text)
    return found


def joined(sequences: Iterable[str | bytes], most: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """uint8[letters] of all, and int64[n + 1]: where each begins, and the end. Errors are those of `texts_of`."""
    parts: Any = texts_of(sequences, most) if isinstance(sequences, (str, bytes)) else list(sequences)
    try:
        text = "".join(parts).encode("latin-1", "replace")  # a byte for each letter
    except TypeError:
        parts = texts_of(parts, most)
        text = b"".join(parts)
    offsets = np.zeros(len(parts) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, parts), np.int64, len(parts)), out=offsets[1:])
    if len(parts) and np.diff(offsets).max() > most:
        texts_of(parts, most)
    return np.frombuffer(text, np.uint8), offsets


def odd_letter(
    text: NDArray[np.uint8], begins: NDArray[np.int64], is_odd: NDArray[np.bool_], letters: str
) -> InputError:
    """The error for the first letter of joined sequences that is odd."""
    at = int(is_odd.argmax())
    number = int(np.searchsorted(begins, at, "right"))
    where = f"sequence {number}: {chr(text[at])!r} at letter {at - begins[number - 1] + 1}"
    return InputError(f"{where} is not one of {letters}")


def text_of(path: str | os.PathLike[str]) -> str:
    """All text of a file. Raises InputError for one that is missing or is none."""
    try:
        return Path(path).read_text("utf-8")
    except FileNotFoundError:
        raise MissingFileError(f"{os.fspath(path)}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{os.fspath(path)}: {getattr(error, 'strerror', None) or 'is not text'}") from None
