"""Sequences of a file some at a time, and their names in messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from gassst.errors import InputError

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
