"""The reference genome: FASTA -> bit planes, names, lengths, checksums, and what planes cannot hold."""

from __future__ import annotations

import logging
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gassst._core import seed_index as _seed_index
from gassst.errors import InputError, UsageError, unreadable
from gassst.files.contigs import Contigs
from gassst.files.fasta import fasta_stretches
from gassst.files.inflate import open_input
from gassst.frozen import NamedTuple, field, frozen, replace
from gassst.model.array_types import I32, I64, U8, U32, U64, Bool, Structs
from gassst.model.params import INDEX_STEPS

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

log = logging.getLogger("gassst")
FRONT = 4608
"""Masked bases before the first contig: the longest read and the widest band fit in, whichever of its ends maps."""
GAP = 512
"""Masked bases between contigs: more than the 255 errors an alignment may have."""
TAIL = FRONT
"""Masked bases after the last contig, for the same reason."""
MAX_POSITIONS = 2**32 - 1
"""Of an index, which has them in steps, as uint32: `total` is at most as many for each base of the step."""
MAX_TOTAL = max(INDEX_STEPS) * MAX_POSITIONS
"""Largest `total`."""
MAX_CONTIG = 2**31 - 1
"""Bases of a contig that SAM and BAM can hold."""

RENAME = "; `gassst index --rename` changes it"
# SAM's reference names: printable, but none of \\ , " ' ` ( ) [ ] { } < >, and neither * nor = at the beginning.
_NO_NAMES = re.compile(r"[^0-9A-Za-z!#$%&*+./:;=?@^_|~\n-]|\n[*=\n]")
_NOT_IN_NAMES = r"[^0-9A-Za-z!#$%&*+./:;=?@^_|~-]|^[*=]"

_LETTERS = np.frombuffer(b"ACGT", np.uint8)
_BASES = b"ACGTURYSWKMBDHVN"
_BLANKS = b" \t\v\f\r\n"


def _upper_case_table() -> bytes:
    """For bytes.translate: bases to upper case, blanks to newlines, anything else to NUL."""
    table = bytearray(256)
    for letter in _BASES:
        table[letter] = table[letter | 0x20] = letter
    for blank in _BLANKS:
        table[blank] = 0x0A
    return bytes(table)


_UPPER_CASE = _upper_case_table()


class Exceptions(NamedTuple):
    """Runs of one letter other than A, C, G, T inside contigs, by ascending coordinate."""

    start: I64
    """int64[r], concatenated coordinate of the first base."""
    length: U32
    """uint32[r], in bases."""
    code: U8
    """uint8[r], the upper-case ASCII letter."""


class ReferenceArrays(NamedTuple):
    """What a record needs to know of the reference (docs/pipeline.md).

    `exception_*` are runs of masked bases sorted by `exception_start` (concatenated coordinate) with their
    upper-case ASCII letter; the padding between contigs is not among them.
    """

    planes: U64  # [n, 3]
    starts: I64  # [contigs]
    lengths: I64  # [contigs]
    exception_start: I64
    exception_length: U32
    exception_code: U8
    circular: Bool | None = None  # [contigs]


@frozen(eq=False)
class Reference:
    """Contigs in one concatenated coordinate, as docs/pipeline.md defines it.

    Bits of the last row of `planes` past `total` are masked.
    """

    planes: U64 = field(repr=False)
    """uint64[ceil(total / 64), 3], low bit, high bit and mask of 64 bases a row."""
    total: int
    """Bases and masked padding together."""
    contigs: Contigs = field(repr=False)
    """Their names are first words of FASTA headers. M5 is that of the upper-case sequence as in the file: U stays U."""
    starts: I64 = field(repr=False)
    """int64[c], concatenated coordinate of base 0 of each contig."""
    exceptions: Exceptions = field(repr=False)
    alt: Bool | None = field(default=None, repr=False)
    """bool[c], contigs that are ALT; None where none is."""
    circular: Bool | None = field(default=None, repr=False)
    """bool[c], contigs whose last base is followed by their first one; None where none is."""

    @property
    def names(self) -> Sequence[str]:
        """Names of the contigs."""
        return self.contigs.names

    @property
    def lengths(self) -> I64:
        """int64[c], bases of each contig."""
        return self.contigs.lengths

    @property
    def described(self) -> str:
        """How many contigs and bases it has, in words."""
        contigs = "1 contig" if len(self.names) == 1 else f"{len(self.names):,} contigs"
        return f"{contigs}, {int(self.lengths.sum()):,} bases"

    def __repr__(self) -> str:
        return f"<Reference: {self.described}>"

    @property
    def arrays(self) -> ReferenceArrays:
        """What records need of it."""
        return ReferenceArrays(self.planes, self.starts, self.lengths, *self.exceptions, self.circular)

    @classmethod
    def from_fasta(
        cls, path: str | os.PathLike[str], told: Callable[[str], None] | None = None, rename: bool = False
    ) -> Reference:
        """Read FASTA, plain or compressed by its content; lower case, IUPAC letters and CRLF are fine.

        Raises InputError, naming file, contig and line. Errors are a character that is not a base, text before the
        first header, and a file without contigs. So are a contig without bases or without a name, a name that SAM
        forbids, and two contigs of one name. A damaged or cut file, a contig that BAM cannot hold,
        and more than 2^34 - 4 padded bases are errors, too.
        `told` is called with how much has been read. With `rename`, names that SAM forbids are changed: `_` stands for
        what they may not contain, and a name that occurs again gets a number.
        """
        renamed = _Renamed(os.fspath(path)) if rename else None
        reference = cls._assemble(_read_fasta(path, told, renamed), os.fspath(path))
        if renamed is not None:
            renamed.say(len(reference.names))
        return reference

    @classmethod
    def from_sequences(cls, contigs: Iterable[tuple[str, bytes]], source: str = "reference") -> Reference:
        """As `from_fasta`, from (name, sequence) pairs; `source` stands for the file in messages."""
        cleaned = ((name, _clean(sequence, source, name, 1)) for name, sequence in contigs)
        return cls._assemble(cleaned, source)

    @classmethod
    def _assemble(cls, contigs: Iterable[tuple[str, bytes | bytearray]], source: str) -> Reference:
        import hashlib  # 3 ms that opening an index need not spend

        packer, lengths, md5 = _Packer(), dict[str, int](), []
        for name, text in contigs:
            if not are_contig_names([name]):
                raise InputError(f"{source}: contig {name!r}: SAM does not allow this name")
            if name in lengths:
                raise InputError(f"{source}: contig {name}: two contigs have this name{RENAME}")
            if not text:
                raise InputError(f"{source}: contig {name}: no sequence")
            if len(text) > MAX_CONTIG:
                raise InputError(
                    f"{source}: contig {name}: {len(text):,} bases, more than the {MAX_CONTIG:,} of BAM: divide it"
                )
            if packer.total + GAP + len(text) > MAX_TOTAL:
                raise InputError(
                    f"{source}: contig {name}: more than {MAX_TOTAL:,} bases up to here, with {GAP} between contigs: "
                    "divide the reference into files of whole contigs, and index and map to each"
                )
            md5.append(hashlib.md5(text, usedforsecurity=False).hexdigest())
            packer.add(text.replace(b"U", b"T") if b"U" in text else text)
            lengths[name] = len(text)
        if not lengths:
            raise InputError(f"{source}: no contig")
        found = Contigs.of(lengths, lengths.values(), md5)
        return cls(packer.planes(), packer.total, found, contig_starts(found.lengths), packer.exceptions())

    def with_alt(self, path: str | os.PathLike[str]) -> Reference:
        """This reference, with the contigs that a list names marked as ALT.

        The name is the first word of each line; lines that begin with "@" do not count. The .alt file of bwa will do.
        Raises InputError where it cannot be read, or names no contig of the reference.
        """
        try:
            with open(path, encoding="ascii", errors="replace") as file:
                lines = [line.split() for line in file if not line.startswith("@")]
        except OSError as error:
            raise unreadable(os.fspath(path), error) from error
        names = {words[0] for words in lines if words}
        names |= {re.sub(_NOT_IN_NAMES, "_", name) for name in names}  # as an index may have renamed them
        alt = np.array([name in names for name in self.names])
        if not alt.any():
            raise InputError(f"{os.fspath(path)}: it does not name any contig of the reference")
        return replace(self, alt=alt)

    def with_circular(self, names: Sequence[str]) -> Reference:
        """This reference, with the contigs of these names marked as circular; "all" names all.

        Raises UsageError for a name that no contig has.
        """
        circular = np.full(len(self.names), "all" in names)
        for name in set(names) - {"all"}:
            if name not in self.names:
                raise UsageError(f"circular: no contig has the name {name!r}")
            circular[self.names.index(name)] = True
        return replace(self, circular=circular)

    @cached_property
    def unmasked(self) -> int:
        """How many bases are A, C, G or T."""
        return int(self.lengths.sum()) - int(self.exceptions.length.sum(dtype=np.int64))

    def exceptions_sound(self) -> bool:
        """Whether each run of another letter lies inside a contig, behind the one before."""
        start, length, code = self.exceptions
        end, contig = start + length, contig_before(self.starts, start)
        inside = (contig >= 0) & (end <= (self.starts + self.lengths)[contig]) & (length > 0)
        sound = inside.all() and (start[1:] >= end[:-1]).all() and np.isin(code, list(_BASES[4:])).all()
        return bool(sound)

    def sequence(self, contig: int, start: int = 0, end: int | None = None) -> bytes:
        """Upper-case bases [start, end) of a contig given by index; U reads T.

        Raises ValueError unless 0 <= start <= end <= its length.
        """
        length = int(self.lengths[contig])
        end = length if end is None else end
        if not 0 <= start <= end <= length:
            raise ValueError(f"contig {self.names[contig]}: {start}..{end} is not within its {length} bases")
        first = int(self.starts[contig]) + start
        return bases_between(self.planes, self.exceptions, first, first + end - start).tobytes()

    def contig_of(self, positions: ArrayLike) -> I32:
        """Index of the contig that each concatenated coordinate lies in, int32, -1 in the padding."""
        positions = np.asarray(positions, np.int64)
        contig = contig_before(self.starts, positions)
        within = (contig >= 0) & (positions - self.starts[contig] < self.lengths[contig])
        return np.where(within, contig, -1).astype(np.int32)


def bases_between(planes: U64, exceptions: Exceptions, first: int, last: int) -> U8:
    """Upper-case letters of the coordinates first .. last - 1, uint8[last - first], all of one contig."""
    rows = planes[first >> 6 : (last + 63) >> 6]
    low, high = (np.unpackbits(rows[:, i].copy().view(np.uint8), bitorder="little") for i in (0, 1))
    text: U8 = _LETTERS[low | high << 1][first & 63 :][: last - first]
    starts, lengths, letters = exceptions
    left, right = np.searchsorted(starts, [first, last])
    for run in range(max(int(left) - 1, 0), int(right)):
        begin = int(starts[run]) - first
        text[max(begin, 0) : max(begin + int(lengths[run]), 0)] = letters[run]
    return text


def contig_before(starts: I64, positions: Structs) -> I64:
    """Index of the last contig that begins at or before each coordinate, int64[k], -1 before the first one.

    `starts` int64[c], ascending. In compiled code `ext/common/contigs.h` has the same.
    """
    return np.searchsorted(starts, positions.astype(np.int64), side="right") - 1


def contig_starts(lengths: I64) -> I64:
    """Concatenated coordinate of base 0 of each contig, int64[c]."""
    starts = np.cumsum(lengths + GAP)
    starts -= lengths
    starts += FRONT - GAP
    return starts


class _Packer:
    """Planes and exceptions of contigs, of which no more than one is in memory as text."""

    def __init__(self) -> None:
        self.total = FRONT + TAIL - GAP
        self._planes = np.empty((0, 3), np.uint64)
        self._runs = [Exceptions(np.empty(0, np.int64), np.empty(0, np.uint32), np.empty(0, np.uint8))]

    def add(self, text: bytes | bytearray) -> None:
        start = self.total - TAIL + GAP
        self.total += GAP + len(text)
        if self._rows > len(self._planes):
            self._resize(self._rows + len(self._planes) // 8)
        if _seed_index.pack(text, start, self._planes):
            self._runs.append(Exceptions(*_seed_index.exceptions(text, start)))

    def planes(self) -> U64:
        """When all contigs have been added."""
        self._resize(self._rows)
        return self._planes

    def exceptions(self) -> Exceptions:
        """Returns those of all contigs."""
        return Exceptions(*(np.concatenate(parts) for parts in zip(*self._runs, strict=True)))

    @property
    def _rows(self) -> int:
        return -(-self.total // 64)

    def _resize(self, rows: int) -> None:
        """In place, so that a large array is not in memory twice. What is new is masked."""
        before = len(self._planes)
        self._planes.resize((rows, 3), refcheck=False)
        self._planes[before:, 2] = ~np.uint64(0)


# --- FASTA --------------------------------------------------------------------------------------------------


def padded_total(path: str | os.PathLike[str]) -> int:
    """`Reference.total` of a FASTA, in the time of reading it. Raises OSError; what is wrong in it is not said here."""
    bases = contigs = 0
    source = os.fspath(path)
    with open_input(source) as file:
        for _, is_header, text in fasta_stretches(file, source):
            contigs += is_header
            bases += 0 if is_header else len(text.translate(None, _BLANKS))
    return FRONT + TAIL - GAP + bases + contigs * GAP


class _Renamed:
    """Changes names that SAM forbids, and counts them."""

    def __init__(self, path: str):
        self._path, self._taken, self._changed, self._example = path, Counter[str](), 0, ""

    def __call__(self, name: str) -> str:
        new = plain = re.sub(_NOT_IN_NAMES, "_", name)
        while self._taken[new]:
            self._taken[plain] += 1
            new = f"{plain}_{self._taken[plain]}"
        self._taken[new] = 1
        if new != name:
            self._changed += 1
            self._example = self._example or f"{name} is {new}"
        return new

    def say(self, contigs: int) -> None:
        log.info(
            "%s: %d of %d contigs renamed: %s", self._path, self._changed, contigs, self._example or "none"
        )


def _read_fasta(
    path: str | os.PathLike[str],
    told: Callable[[str], None] | None = None,
    renamed: Callable[[str], str] | None = None,
) -> Iterator[tuple[str, bytearray]]:
    """Contigs of a file: name and clean upper-case sequence, which may be empty."""
    source = os.fspath(path)
    name = None
    sequence = bytearray()
    size = 0
    with open_input(source) as file:
        for line, is_header, text in fasta_stretches(file, source):
            if is_header:
                if name is not None:
                    yield name, sequence
                name, sequence = _contig_name(text, source, line, renamed), bytearray()
            elif name is not None:
                sequence += _clean(text, source, name, line)
                size += len(text)
                if told is not None:
                    told(f"{size / 1e6:,.0f} MB of FASTA read")
            elif not text.isspace():
                raise InputError(f"{source}: line {line}: text before the first '>': not a FASTA file")
    if name is not None:
        yield name, sequence


def are_contig_names(names: Sequence[str]) -> bool:
    """Whether SAM allows these names of reference sequences."""
    lines = "\n".join(["", *names, ""])
    return lines.count("\n") == len(names) + 1 and _NO_NAMES.search(lines) is None


def _contig_name(header: bytes, source: str, line: int, renamed: Callable[[str], str] | None = None) -> str:
    words = header[1:].split(None, 1)
    if not words:
        raise InputError(f"{source}: line {line}: a contig without a name")
    name = words[0].decode("utf-8", "backslashreplace")
    if renamed is not None:
        return renamed(name)
    if not are_contig_names([name]):
        raise InputError(f"{source}: line {line}: contig {name!r}: SAM does not allow this name{RENAME}")
    return name


def _clean(text: bytes, source: str, name: str, line: int) -> bytes:
    """Upper case, without line ends and blanks."""
    upper = text.translate(_UPPER_CASE)
    at = upper.find(0)
    if at >= 0:
        line += text.count(b"\n", 0, at)
        raise InputError(f"{source}: contig {name}: line {line}: {chr(text[at])!r} is not a base")
    return upper.replace(b"\n", b"")
