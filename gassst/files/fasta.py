"""FASTA in pieces, and lines that end: what a file says without end does not fill the memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

from gassst.errors import InputError

LONGEST_LINE = 1 << 24
"""Bytes of a line that is held as a whole; of a read, FASTX_MAX_LINE in ext/io/fastx.h."""
_BLOCK = 1 << 22  # bytes read at once: a whole block and its copies stay in the cache


def bounded_line(file: IO[bytes], path: str, number: int) -> bytes:
    """The next line, or what is left of one. Raises InputError, naming `path` and `number`, where it does not end."""
    line = file.readline(LONGEST_LINE + 1)
    if len(line) > LONGEST_LINE:
        raise InputError(f"{path}: line {number}: a line of more than {LONGEST_LINE} bytes")
    return line


def fasta_stretches(file: IO[bytes], source: str) -> Iterator[tuple[int, bool, bytes]]:
    """(line number, is it a header, text): a header line, or text of a sequence, which comes in several pieces.

    Raises InputError for a header that does not end.
    """
    line, begins = 1, True
    while block := file.read(_BLOCK):
        at = 0
        while at < len(block):
            is_header = begins and block.startswith(b">", at)
            if is_header and block.find(b"\n", at) < 0:
                block = block[at:] + bounded_line(file, source, line)
                at = 0
            end = block.find(b"\n" if is_header else b"\n>", at) + 1 or len(block)
            yield line, is_header, block[at:end]
            line += block.count(b"\n", at, end)
            begins = block.endswith(b"\n", at, end)
            at = end
