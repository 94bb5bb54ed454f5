"""The parts of an index that is kept in several files, each with the seeds that begin with a range of k-mers.

A seed lies in one part with all of its occurrences. So parts can be looked up one after the other,
and no result differs from that of an index in one piece. Parts of contigs would not do: how often a seed
occurs, and whether a read is settled, depends on the whole reference (docs/guide/large-references.md).
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from gassst.errors import IndexFormatError, InputError, unreadable
from gassst.frozen import field, frozen
from gassst.index.file import (
    PARTS_VERSION,
    SEED_ARRAYS,
    Integrity,
    Metadata,
    Section,
    check_arrays,
    check_section,
    cut_bases,
    drop_from_memory,
    map_sections,
    require,
    shortest_seed,
    typed_arrays,
)
from gassst.model.array_types import U32, Structs
from gassst.model.reference import Reference


@frozen(eq=False)
class IndexPart:
    """The seeds that begin with some of the k-mers.

    Arrays are as those of `SeedIndex`, but `table` begins with the first of these k-mers, and counts positions from
    the first one of the part.
    """

    reference: Reference
    """The whole reference: positions of a part lie anywhere in it."""
    k: int
    step: int
    kmers: tuple[int, int]
    """First k-mer of the part, and the one behind the last."""
    table: U32 = field(repr=False)
    positions: U32 = field(repr=False)
    following: Structs = field(repr=False)
    conversion = 0
    path: str
    integrity: Integrity | None = field(repr=False)
    """None of a part that is being built."""
    _sections: tuple[Section, ...] = field(repr=False)

    @property
    def shortest_seed(self) -> int:
        """As `SeedIndex.shortest_seed`: no such seed lies in two parts."""
        return shortest_seed(self.k, self.step, cut_bases(self.k, self.step, self.reference.total))

    def drop_from_memory(self) -> None:
        """As `SeedIndex.drop_from_memory`."""
        drop_from_memory(self.positions)

    def check(self) -> None:
        """As `SeedIndex.check`."""
        for section in self._sections:
            check_section(section, self.path)
        check_arrays(self.table, self.positions, self.reference, self.step, self.path)


def part_path(path: str, number: int) -> str:
    """The file of a part, from 1, of the index at `path`: ref.gsi -> ref.part1.gsi."""
    root, suffix = os.path.splitext(path)
    return f"{root}.part{number}{suffix}"


def part_files(path: str) -> list[str]:
    """The files that are there under the names of parts of the index at `path`."""
    root, suffix = os.path.splitext(path)
    folder, begin = os.path.split(f"{root}.part")
    try:
        names = [
            name for name in os.listdir(folder or ".") if name.startswith(begin) and name.endswith(suffix)
        ]
    except OSError:
        return []
    found = [name for name in names if name[len(begin) : len(name) - len(suffix)].isdecimal()]
    return [os.path.join(folder, name) for name in sorted(found)]


def written_parts(path: str) -> list[str]:
    """The parts that were written with the index at `path`, as far as they are there; [] where there is no such index.

    A part is known by the checksum that the index has of it: other files of such names are none of ours.
    """
    try:
        with open(path, "rb") as file:
            mapped = map_sections(file, path)
            rows = Metadata.of(mapped.sections, mapped.version, path).parts or []
    except (OSError, InputError):
        return []
    named = [(part_path(path, number), row[3]) for number, row in enumerate(rows, 1)]
    return [part for part, header_crc in named if _has_header(part, header_crc)]


def _has_header(path: str, header_crc: int) -> bool:
    try:
        with open(path, "rb") as file:
            return map_sections(file, path).header_crc == header_crc
    except (OSError, InputError):
        return False


@contextmanager
def replacing(path: str, parts: int = 0) -> Iterator[None]:
    """To be held while the files of an index, in so many parts, take their names. Then the parts of an index that was
    there before are removed.

    No other process replaces an index in the same folder meanwhile: files of two would be mixed up.
    """
    with ExitStack() as stack:
        with suppress(OSError):  # a file system without locks for folders
            folder = os.open(os.path.dirname(os.path.realpath(path)), os.O_RDONLY)
            stack.callback(os.close, folder)
            fcntl.flock(folder, fcntl.LOCK_EX)
        before = written_parts(path)
        yield
        for part in set(before) - {part_path(path, number) for number in range(1, parts + 1)}:
            with suppress(OSError):  # one that cannot be removed stays: no index names it
                os.unlink(part)


def open_part(
    index_path: str, number: int, reference: Reference, metadata: Metadata, check: bool | None
) -> IndexPart:
    """Map a part into memory, from 1, of the index at `index_path`; `check` is as for `SeedIndex.open`.

    Raises InputError where the file cannot be read, IndexFormatError where it is not the part that belongs here.
    """
    assert metadata.parts is not None
    first, last, n, header_crc = metadata.parts[number - 1]
    path, k, step = part_path(index_path, number), metadata.k, metadata.step
    try:
        with open(path, "rb") as file:
            mapped = map_sections(file, path)
            integrity = Integrity(file, mapped, path, at_once=check is None)
    except OSError as error:
        raise unreadable(path, error) from error
    if mapped.version != PARTS_VERSION or mapped.header_crc != header_crc or "table" not in mapped.sections:
        raise IndexFormatError(f"{path}: not the part that was written with the index: build both again")
    held = tuple(mapped.sections.values())
    array = typed_arrays(mapped.sections, SEED_ARRAYS, step, path)
    table, positions, following = (array[name] for name in SEED_ARRAYS)
    shapes = {
        "table": len(table) == last - first + 1,
        "positions": len(positions) == n,
        "following": len(following) == n,
    }
    require(path, shapes, "has a wrong size")
    require(path, {"table": (int(table[0]), int(table[-1])) == (0, n)}, "is not of this index")
    return IndexPart(reference, k, step, (first, last), table, positions, following, path, integrity, held)
