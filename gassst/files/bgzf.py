"""BGZF, the container of BAM: gzip blocks of at most 64 KiB, each with its own size in its header."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    from typing_extensions import Buffer


def optional(name: str) -> ModuleType | None:
    """A library that has no wheel for some platforms."""
    try:
        return import_module(name)
    except ImportError:
        return None


BLOCK_SIZE = 0xFF00  # bytes before compression, as htslib has it: a stored block still fits into 64 KiB
END_OF_FILE = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
DEFAULT_LEVEL = 1

_MAX_DEFLATED = 0x10000 - 18  # beside the header
_HEADER = struct.Struct(
    "<4BI2BH2B2H"
)  # magic, method, flags; time; hints; extra: its size, BC, 2, block size - 1
_TRAILER = struct.Struct("<2I")
_LEVELS_OF_ISAL = range(1, 4)

Deflate = Callable[["Buffer"], bytes]


def deflater(level: int = DEFAULT_LEVEL) -> Deflate:
    """A function that makes DEFLATE data of a block, followed by checksum and size, as in gzip.

    It releases the GIL, and threads may share it.

    Level 0 stores. Levels 1 to 3 are those of ISA-L: the first is ten times as fast as zlib's level 6 and writes
    7 % more. Levels 4 to 9 are those of zlib-ng. Where one of these libraries is missing, zlib takes its place.
    """
    if level == 0:
        return _stored
    igzip = optional("isal.igzip_lib") if level in _LEVELS_OF_ISAL else None
    if igzip is not None:
        return lambda data: igzip.compress(data, level, igzip.COMP_GZIP_NO_HDR)
    return _deflater_of(optional("zlib_ng.zlib_ng") or zlib, level)


def _deflater_of(library: ModuleType, level: int) -> Deflate:
    def deflate(data: Buffer) -> bytes:
        stream = library.compressobj(level, library.DEFLATED, -15)
        return stream.compress(data) + stream.flush() + _trailer(data)

    return deflate


def _stored(data: Buffer) -> bytes:
    """One stored block, the last: no more than 65,535 bytes."""
    size = memoryview(data).nbytes
    return struct.pack("<BHH", 1, size, size ^ 0xFFFF) + bytes(data) + _trailer(data)


def _trailer(data: Buffer) -> bytes:
    return _TRAILER.pack(zlib.crc32(data), memoryview(data).nbytes)


def blocks(data: Buffer, deflate: Deflate) -> Iterator[bytes]:
    """The blocks of `data`, each of `BLOCK_SIZE` bytes of it but the last; `END_OF_FILE` is not among them."""
    view = memoryview(data).cast("B")
    for start in range(0, len(view), BLOCK_SIZE):
        yield block(view[start : start + BLOCK_SIZE], deflate)


def block(data: Buffer, deflate: Deflate) -> bytes:
    """One block of at most `BLOCK_SIZE` bytes; what does not shrink is stored."""
    deflated = deflate(data)
    if len(deflated) > _MAX_DEFLATED:
        deflated = _stored(data)
    return _HEADER.pack(31, 139, 8, 4, 0, 0, 255, 6, 66, 67, 2, len(deflated) + 17) + deflated
