"""The first page of an index, its sections and its metadata. The checksums of the page and of its texts are made
to fit: a fuzzer finds no CRC-32."""

import struct
import zlib
from pathlib import Path

from gassst.errors import IndexFormatError
from gassst.index import file as index_file

HEAD = 600  # bytes of the page that an input has, the rest of it is zero


def with_checksums(data: bytes) -> bytes:
    page, rest = bytearray(data[:HEAD].ljust(index_file.PAGE, b"\0")), data[HEAD:]
    struct.pack_into("=Q", page, 16, len(page) + len(rest))
    row = struct.Struct("=20sIQQ")
    for at in range(64, 64 + 10 * row.size, row.size):
        name, _, start, size = row.unpack_from(page, at)
        if name.rstrip(b"\0") in (b"metadata", b"contigs") and start >= len(page):
            text = rest[start - len(page) : start - len(page) + size]
            row.pack_into(page, at, name, zlib.crc32(text), start, size)
    struct.pack_into("=I", page, index_file.PAGE - 4, zlib.crc32(page[:-4]))
    return bytes(page + rest)


def one(data: bytes, folder: Path) -> bool:
    path = folder / "x.gsi"
    path.write_bytes(with_checksums(data[1:]) if data[:1] == b"c" else data[1:])
    try:
        with open(path, "rb") as file:
            mapped = index_file.map_sections(file, str(path))
        sections = mapped.sections
        metadata = index_file.Metadata.of(sections, mapped.version, str(path))
        names = [name for name in index_file.ARRAYS if name in sections]
        index_file.typed_arrays(sections, names, metadata.step, str(path))
        for contigs in (metadata.alt, metadata.circular):
            assert max(contigs or [0]) < len(metadata.contigs)
    except IndexFormatError:
        return False
    return True
