"""A look at the first read of a file, before anything is mapped."""

from __future__ import annotations

import os
from contextlib import suppress

from gassst.errors import InputError
from gassst.files.source import Source

HEADER_BYTES = 1 << 12  # of the first read: its name is shorter


def first_line(path: str) -> str:
    """The first line of a file, decompressed, as far as it is a header. Raises InputError."""
    buffer = memoryview(bytearray(HEADER_BYTES))
    size = 0
    with Source(path) as source:
        while size < len(buffer) and b"\n" not in bytes(buffer[:size]):
            added = source.readinto(buffer[size:])
            if not added:
                break
            size += added
    return bytes(buffer[:size]).partition(b"\n")[0].decode("utf-8", "replace").rstrip("\r")


def peeked_line(path: str) -> str:
    """The same; "" of what cannot be read, or not twice."""
    with suppress(InputError, OSError):
        return first_line(path) if os.path.isfile(path) else ""
    return ""


def first_name(path: str) -> str:
    """The name of the first read as its records have it, without /1 or /2; "" where it cannot be known."""
    line = peeked_line(path)
    name = line[1:].split(maxsplit=1)[0] if line[1:].strip() and line[0] in "@>" else ""
    return name.removesuffix("/1").removesuffix("/2") if len(name) > 2 else name
