"""The file of a seed index (docs/index-format.md): sections written and mapped, each field bounded before it is used.

Opening reads the header and the metadata only. What it leaves unread, `Integrity` verifies while the first reads are
mapped, once per file. Until then no damage may crash the process: `index/lookup.h` keeps every access inside the
arrays.
"""

from __future__ import annotations

import json
import logging
import mmap
import os
import re
import sys
import threading
import time
import zlib
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import IO, Any

import numpy as np

from gassst._core import bus_error
from gassst.errors import IndexFormatError, unreadable
from gassst.files.contigs import Contigs
from gassst.frozen import NamedTuple, frozen
from gassst.index import verified
from gassst.model.array_types import NDArray
from gassst.model.params import CONVERSIONS
from gassst.model.reference import FRONT, GAP, MAX_POSITIONS, TAIL, Reference
from gassst.workers.forks import watch_forks

try:
    from isal.isal_zlib import crc32
except ImportError:  # ten times as slow
    from zlib import crc32

log = logging.getLogger("gassst")

MIN_K, MAX_K = {1: 4, 2: 4, 4: 3}, 14  # by step
FORMAT_VERSION = 14
STEP_VERSION = 18
"""Of an index whose step is not 1: a program that knows no steps must refuse it."""
PARTS_VERSION = 19
"""Of an index in parts, and of each of them."""
CONVERTED_VERSION = 15
"""Of an index of converted seeds (`gassst.index.converted`)."""
VERSIONS = FORMAT_VERSION, CONVERTED_VERSION, STEP_VERSION, PARTS_VERSION
"""That this program reads."""
MAGIC = b"\x89GSI\r\n\x1a\n"  # as PNG's: a transfer in text mode damages it
PAGE = 4096
BYTE_ORDER = 0x01020304

# Native byte order on purpose: a file from a machine of the other one shows a reversed mark.
_HEADER = np.dtype(
    [("magic", "V8"), ("version", "u4"), ("byte_order", "u4"), ("file_bytes", "u8"), ("n_sections", "u4")]
)
_SECTION = np.dtype([("name", "S20"), ("crc32", "u4"), ("offset", "u8"), ("bytes", "u8")])
_SECTION_TABLE = 64
_HEADER_CRC = PAGE - 4
_MAX_SECTIONS = (_HEADER_CRC - _SECTION_TABLE) // _SECTION.itemsize
_BLOCK = 1 << 24  # bytes checksummed and written at once
_TICK = 0.02  # seconds: times of inodes move on in steps of up to .01
_CTIME = 4  # where it stands in the state of a file
_WAITED_FOR = 1 << 30  # bytes of an index: their checksums take .2 s, most of which a run takes to start
_CHECK_BLOCK = 1 << 20  # bytes read and checksummed at once in the background: they stay in the cache

ARRAYS: dict[str, Any] = {
    "contigs": np.uint8,
    "planes": np.uint64,
    "exception_start": np.uint32,
    "exception_length": np.uint32,
    "exception_code": np.uint8,
    "spectrum": np.float32,
    "table": np.uint32,
    "positions": np.uint32,
    "following": np.uint8,
}
"""Sections that are arrays, and the type of their elements; `following_type` has that of `following`."""
SORTED = 16
SEED_ARRAYS = ("table", "positions", "following")
"""Those of the seeds: an index in parts has them in its parts only, and these have no others."""
REFERENCE_ARRAYS = ("planes", "exception_start", "exception_length", "exception_code")
CONVERTED_ARRAYS = tuple(f"{conversion}_{name}" for conversion in CONVERSIONS for name in SEED_ARRAYS)
"""Those of an index of converted seeds: of every C read as T, and of every A read as G."""
GENOME_SECTIONS = ("contigs", *REFERENCE_ARRAYS, "spectrum")
"""Those that the parts of an index have not."""


def unit_of(step: int) -> int:
    """What positions are multiples of, and are divided by."""
    return 4 if step == 4 else 1


def most_before(step: int) -> int:
    """Most bases of a seed before the first of its positions that is in the index."""
    return {1: 0, 2: 2, 4: 3}[step]


def sorted_bases(step: int, total: int) -> int:
    """Bases after the k-mer that positions are sorted by: seeds of up to k and as many bases can be looked up.

    Step 4 has a table of shorter k-mers, and one more of them, while that leaves room for a position in 64 bits.
    """
    return SORTED + (step == 4 and total <= 1 << 32)


def following_type(step: int) -> Any:
    """Type of the elements of `following`."""
    return np.uint16 if step == 4 else np.uint8


def exception_type(step: int) -> Any:
    """Type of the elements of `exception_start`."""
    return np.uint32 if step == 1 else np.int64


class Section(NamedTuple):
    """Where a section lies in the file, its CRC-32, and its bytes (uint8[n])."""

    name: str
    crc32: int
    offset: int
    data: NDArray[np.uint8]


# --- write --------------------------------------------------------------------------------------------------


def write(file: IO[bytes], contents: dict[str, NDArray[Any]], version: int) -> int:
    """Header last: a file left over from a crash has none. Returns the CRC-32 of the header: an identity."""
    rows = []
    file.write(bytes(PAGE))
    for name, array in contents.items():
        offset = _aligned(file.tell())
        file.write(bytes(offset - file.tell()))
        rows.append((name, write_array(file, array), offset, array.nbytes))
    file_bytes = file.tell()
    header = np.array((MAGIC, version, BYTE_ORDER, file_bytes, len(rows)), _HEADER)
    page = header.tobytes().ljust(_SECTION_TABLE, b"\0") + np.array(rows, _SECTION).tobytes()
    page = page.ljust(_HEADER_CRC, b"\0")
    file.seek(0)
    header_crc = zlib.crc32(page)
    file.write(page + np.uint32(header_crc).tobytes())
    return header_crc


def write_array(file: IO[bytes], array: NDArray[Any]) -> int:
    """Returns the CRC-32 of what was written."""
    data = array.reshape(-1).view(np.uint8)
    crc = 0
    for at in range(0, len(data), _BLOCK):
        block = data[at : at + _BLOCK].data
        crc = crc32(block, crc)
        file.write(block)
    return crc


def _aligned(offset: int) -> int:
    return -(-offset // PAGE) * PAGE


# --- open ---------------------------------------------------------------------------------------------------


class Mapped(NamedTuple):
    """An index file mapped into memory: its format version, the CRC-32 of its header, its sections."""

    version: int
    header_crc: int
    sections: dict[str, Section]


def map_sections(file: IO[bytes], path: str) -> Mapped:
    """Map an index file, or a part of one, into memory. Raises IndexFormatError, naming the file as `path`."""
    size = os.fstat(file.fileno()).st_size
    page = file.read(PAGE)
    version, rows = _section_table(page, size, path)
    data = np.asarray(np.memmap(file, np.uint8, "r"))
    bus_error.watch(os.fsencode(path), data)
    sections = {name: Section(name, crc, at, data[at : at + length]) for name, crc, at, length in rows}
    wanted: tuple[str, ...] = GENOME_SECTIONS + SEED_ARRAYS
    if version == CONVERTED_VERSION:
        wanted = GENOME_SECTIONS + CONVERTED_ARRAYS
    if version == PARTS_VERSION:
        wanted = SEED_ARRAYS if "table" in sections else GENOME_SECTIONS
    missing = {"metadata", *wanted} - sections.keys()
    if missing:
        raise IndexFormatError(f"{path}: damaged index: no section {min(missing)}")
    return Mapped(version, int.from_bytes(page[_HEADER_CRC:], sys.byteorder), sections)


def is_index(path: str) -> bool:
    """Whether a file begins as an index does; False for what cannot be read, or not twice."""
    try:
        if not os.path.isfile(path):
            return False
        with open(path, "rb", buffering=0) as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def header_of(path: str) -> tuple[int, int]:
    """By the header of an index alone: its format version, and the bases of its reference with those between contigs.

    Raises OSError, and IndexFormatError where the file is no sound index.
    """
    with open(path, "rb", buffering=0) as file:
        version, rows = _section_table(file.read(PAGE), os.fstat(file.fileno()).st_size, path)
    return version, sum(length for name, _, _, length in rows if name == "planes") * 8 // 3


def _section_table(page: bytes, size: int, path: str) -> tuple[int, list[tuple[str, int, int, int]]]:
    """Format version and rows. The cheap checks come in the order in which each says most about what went wrong."""
    if not page.startswith(MAGIC):
        raise IndexFormatError(f"{path}: {_what_else(page)}")
    if size < PAGE:
        raise IndexFormatError(f"{path}: truncated index, {size} bytes of at least {PAGE}")
    header = np.frombuffer(page, _HEADER, 1)[0]
    if int(header["byte_order"]) == int.from_bytes(BYTE_ORDER.to_bytes(4, "big"), "little"):
        raise IndexFormatError(f"{path}: built on a machine of the other byte order: rebuild it here")
    version = int(header["version"])
    if version not in VERSIONS:
        age = "a newer" if version > max(VERSIONS) else "an older"
        known = f"{', '.join(map(str, VERSIONS[:-1]))} and {VERSIONS[-1]}"
        raise IndexFormatError(
            f"{path}: {age} index format ({version}, this program reads {known}): rebuild with `gassst index`"
        )
    if zlib.crc32(page[:_HEADER_CRC]) != int.from_bytes(page[_HEADER_CRC:], sys.byteorder):
        raise IndexFormatError(f"{path}: damaged index: header")
    expected = int(header["file_bytes"])
    if size != expected:
        fault = "truncated index" if size < expected else "bytes behind the end of the index"
        raise IndexFormatError(f"{path}: {fault}: {size} bytes, expected {expected}")
    n = int(header["n_sections"])
    if n > _MAX_SECTIONS:
        raise IndexFormatError(f"{path}: damaged index: {n} sections")
    rows: list[Any] = np.frombuffer(page, _SECTION, n, _SECTION_TABLE).tolist()
    named = [(name.decode("ascii", "backslashreplace"), *rest) for name, *rest in rows]
    for name, _, offset, length in named:
        if offset < PAGE or offset % PAGE or offset + length > size:
            raise IndexFormatError(f"{path}: damaged index: section {name!r} is outside the file")
    if len({name for name, *_ in named}) < n:
        raise IndexFormatError(f"{path}: damaged index: two sections have one name")
    return version, named


def _what_else(page: bytes) -> str:
    if not page:
        return "empty file, not an index"
    if page.startswith(b">"):
        return "a FASTA file, not an index: build its index with `gassst index` first"
    if page.startswith(b"\x1f\x8b"):
        return "a gzip file, not an index: if it is FASTA, build its index with `gassst index` first"
    return "not a gassst index"


def typed_arrays(
    sections: dict[str, Section], names: Sequence[str], step: int, path: str
) -> dict[str, NDArray[Any]]:
    """The named sections as arrays of their types. Raises IndexFormatError for half an element."""
    types = ARRAYS | {"following": following_type(step), "exception_start": exception_type(step)}
    types |= {name: types[name.partition("_")[2]] for name in CONVERTED_ARRAYS}
    for name in names:
        if len(sections[name].data) % np.dtype(types[name]).itemsize:
            raise IndexFormatError(f"{path}: damaged index: section {name} has a wrong size")
    return {name: sections[name].data.view(types[name]) for name in names}


def drop_from_memory(array: NDArray[Any]) -> None:
    """Give the mapped pages of the file of an array back to the system, which reads them again when needed."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        base.madvise(mmap.MADV_DONTNEED)


@frozen()
class Metadata:
    """What an index knows of its reference beside the arrays; every field is bounded."""

    contigs: Contigs
    k: int
    total: int
    fasta_bytes: int | None
    step: int
    alt: list[int] | None = None
    circular: list[int] | None = None
    parts: list[list[int]] | None = None
    """Of an index in parts: first k-mer, k-mer behind the last, positions, CRC-32 of the header, one row a part."""

    @classmethod
    def of(cls, sections: dict[str, Section], version: int, path: str) -> Metadata:
        """From the sections `metadata` and `contigs` of a file of this format version.

        Raises IndexFormatError where they are damaged or a field cannot be.
        """
        fields = json_fields(sections["metadata"], path)
        if "part" in fields:
            whole = re.sub(r"[.]part\d+(?=[.]\w+$)", "", path)
            raise IndexFormatError(f"{path}: a part of an index: name the whole one, such as {whole}")
        wanted = ("k", "total", "fasta_bytes", "alt", "circular")
        values: dict[str, Any] = {name: fields.get(name) for name in wanted}
        check_section(sections["contigs"], path)
        try:
            values["contigs"] = Contigs(sections["contigs"].data)
        except ValueError as error:
            raise IndexFormatError(f"{path}: damaged index: section contigs: {error}") from error
        values["step"] = fields.get("step") if version in (STEP_VERSION, PARTS_VERSION) else 1
        values["parts"] = fields.get("parts") if version == PARTS_VERSION else None
        if version == PARTS_VERSION and values["parts"] is None:
            values["parts"] = []
        metadata = cls(**values)
        for name, good in metadata._sound():
            if not good:
                raise IndexFormatError(f"{path}: damaged index: section metadata contains a wrong {name!r}")
        return metadata

    def _sound(self) -> list[tuple[str, bool]]:
        """Whether each field can be; later ones are looked at only where those before are sound."""
        contigs = len(self.contigs)
        total = FRONT + TAIL - GAP + int(self.contigs.lengths.sum()) + GAP * contigs if contigs else -1
        step = type(self.step) is int and self.step in MIN_K
        return [
            ("step", step),
            ("k", step and _is_int(self.k, MIN_K[self.step], MAX_K)),
            (
                "total",
                step and _is_int(self.total, 1, unit_of(self.step) * MAX_POSITIONS) and self.total == total,
            ),
            ("fasta_bytes", self.fasta_bytes is None or _is_int(self.fasta_bytes, 0, 1 << 62)),
            ("alt", self.alt is None or _are_ints(self.alt, 0, contigs - 1)),
            ("circular", self.circular is None or _are_ints(self.circular, 0, contigs - 1)),
            ("parts", self.parts is None or (step and self._parts_follow())),
        ]

    def _parts_follow(self) -> bool:
        """Whether each part begins where the one before ends, and the last one where all k-mers do."""
        end = 0
        assert self.parts is not None
        rows = self.parts
        if type(rows) is not list or not all(_are_ints(row, 0, 1 << 62) and len(row) == 4 for row in rows):
            return False
        for first, last, *_ in self.parts:
            if (
                first != end
                or last <= first
                or last % 4 ** (self.k - cut_bases(self.k, self.step, self.total))
            ):
                return False
            end = last
        return end == 4**self.k

    def mask(self, ordinals: list[int] | None) -> NDArray[np.bool_] | None:
        """bool[c], the contigs with these ordinals; None where none is."""
        if not ordinals:
            return None
        mask = np.zeros(len(self.contigs), bool)
        mask[ordinals] = True
        return mask


def cut_bases(k: int, step: int, total: int) -> int:
    """An index is cut into parts only between k-mers that differ in so many first bases, 1 to 4.

    So many bases has the shortest lookup, that of --all (`SearchPlan.shortest_seed`). Only -w asks for shorter ones.
    """
    plan_k = k + sorted_bases(step, total) - SORTED
    return min(4, max(plan_k - 2, 4) - most_before(step))


def shortest_seed(k: int, step: int, cut: int) -> int:
    """Fewest bases of a seed that is looked up in an index that is cut between k-mers that differ in `cut` first bases.

    At step 2, seeds of k - 2 bases have one of their positions in the index at least.
    """
    return max(cut + most_before(step), k - 2 if step == 2 else 0)


def json_fields(section: Section, path: str) -> dict[str, Any]:
    """What is in the section `metadata`. Raises IndexFormatError where it is damaged."""
    check_section(section, path)
    try:
        fields = json.loads(section.data.tobytes())
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise IndexFormatError(f"{path}: damaged index: section metadata is not a JSON object")
    return fields


def _is_int(value: object, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most


def _are_ints(value: object, least: int, most: int) -> bool:
    """Whether it is a list of such integers. Of millions each look counts, so `map` takes them."""
    if type(value) is not list or not set(map(type, value)) <= {int}:
        return False
    return not value or least <= min(value) and max(value) <= most


# --- check --------------------------------------------------------------------------------------------------


def require(path: str | None, holds: dict[str, bool], complaint: str) -> None:
    """Raises IndexFormatError for the first section of which something does not hold."""
    for name, good in holds.items():
        if not good:
            raise IndexFormatError(f"{path or 'index'}: damaged index: section {name} {complaint}")


def check_arrays(
    table: NDArray[np.uint32],
    positions: NDArray[np.uint32],
    reference: Reference,
    step: int,
    path: str | None,
) -> None:
    """What must hold of the arrays of any index. Raises IndexFormatError that names the section."""
    in_range = True
    if len(positions):
        unit = unit_of(step)
        first, last = unit * int(positions.min()), unit * int(positions.max())
        in_range = first >= FRONT and last < reference.total - TAIL
    require(path, {"positions": in_range}, "is not of this reference")
    require(path, {"table": bool((table[:-1] <= table[1:]).all())}, "is not ascending")


def check_section(section: Section, path: str) -> None:
    """Raises IndexFormatError where the bytes in memory are not those that were written."""
    crc = 0
    for at in range(0, len(section.data), _BLOCK):
        crc = crc32(section.data[at : at + _BLOCK].data, crc)
    if crc != section.crc32:
        raise IndexFormatError(f"{path}: damaged index: section {section.name}")


class Integrity:
    """Whether an open index file is, and stays, what was written: checksums once, in a thread of its own.

    It reads the file and not the mapping, so that the pages do not count as this process's memory. A file that was
    found intact before and has not been written to since is not read again (`gassst.index.verified`). With `at_once`
    False checksums are verified only where the file was changed while it was in use. `parts` are verified with it.
    """

    def __init__(
        self,
        file: IO[bytes],
        mapped: Mapped,
        path: str,
        at_once: bool = True,
        parts: Sequence[Integrity] = (),
    ):
        self._fd = os.dup(file.fileno())
        self._sections, self._header_crc = tuple(mapped.sections.values()), mapped.header_crc
        self._path, self._parts = path, parts
        self._state = self._state_of_file()
        self._lock = threading.Lock()
        self._verdict: Future[None] | None = None
        self._is_over = self._is_damaged = False
        if not at_once:
            self._pass()
        watch_forks(self)

    def _pass(self) -> None:
        self._verdict = Future()
        self._verdict.set_result(None)
        self._is_over = True

    def after_fork(self) -> None:
        """The thread that checks is not in a child; what it has found is."""
        self._lock, self._verdict = threading.Lock(), None
        if self._is_over and not self._is_damaged:
            self._pass()

    def start(self) -> None:
        """Begin, unless it has begun. Any thread may call this and `wait`."""
        with self._lock:
            if self._verdict is None and verified.is_known(self._state):
                self._pass()
            elif self._verdict is None:
                self._verdict = Future()
                threading.Thread(target=self._run, name="gassst-check", daemon=True).start()

    def watch(self) -> None:
        """Begin, unless it has begun, and return. Raises what the check has found up to now, as `wait`."""
        if self._verdict is None:
            self.start()
        elif self._is_damaged:
            self._verdict.result()

    def wait(self) -> None:
        """Return once every section is known to be intact, now. Raises IndexFormatError or InputError."""
        self.start()
        assert self._verdict is not None
        self._verdict.result()
        if self._state_of_file() != self._state:  # it may only have been touched
            self._check_all()

    def settle(self) -> None:
        """`wait`, at the end of a run. What is left of a large file is not waited for: the log says so."""
        self.start()
        assert self._verdict is not None
        if self._bytes() <= _WAITED_FOR or self._verdict.done():
            self.wait()
        else:
            text = "%s: the run was over before all of the index was verified: `gassst index --check` does it once"
            log.warning(text, self._path)

    def _bytes(self) -> int:
        return sum(len(section.data) for section in self._sections) + sum(
            part._bytes() for part in self._parts
        )

    def trust(self, header_crc: int) -> None:
        """This process has written the file whose header has this checksum: unless it is another now, none reads it."""
        if self._header_crc == header_crc:
            self.remember()

    def remember(self) -> None:
        """Note for later runs that the file is intact.

        A file that was written just now is waited for: the next write to it must have another time.
        """
        age = time.time() - self._state[_CTIME] / 1e9
        time.sleep(min(max(_TICK - age, 0), _TICK))
        if self._state_of_file() == self._state:
            verified.remember(self._state)

    def _state_of_file(self) -> tuple[Any, ...]:
        info = os.fstat(self._fd)
        own = info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns, self._header_crc
        return *own, *(part._state_of_file() for part in self._parts)

    def _run(self) -> None:
        verdict = self._verdict
        assert verdict is not None
        try:
            self._check_all()
            self.remember()
            self._is_over = True
            verdict.set_result(None)
        except BaseException as error:
            self._is_damaged = True
            verdict.set_exception(error)

    def _check_all(self) -> None:
        buffer = memoryview(bytearray(_CHECK_BLOCK))
        try:
            for section in self._sections:
                self._check(section, buffer)
        except OSError as error:
            raise unreadable(self._path, error) from error
        for part in self._parts:
            part._check_all()

    def _check(self, section: Section, buffer: memoryview) -> None:
        crc, at, end = 0, section.offset, section.offset + len(section.data)
        while at < end:
            size = os.preadv(self._fd, [buffer[: end - at]], at)
            if not size:
                raise IndexFormatError(f"{self._path}: the index was cut while it was in use")
            crc, at = crc32(buffer[:size], crc), at + size
        if crc != section.crc32:
            raise IndexFormatError(f"{self._path}: damaged index: section {section.name}")

    def __del__(self) -> None:
        with suppress(AttributeError, OSError):
            os.close(self._fd)
