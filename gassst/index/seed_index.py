"""The seed index: built from a reference, saved as one file, opened by mmap (docs/index-format.md)."""

from __future__ import annotations

import json
import logging
import math
import os
import stat
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, nullcontext, suppress
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any, TypeVar

import numpy as np

from gassst._core import seed_index as _seed_index
from gassst.errors import IndexFormatError, InputError, OutputError, UsageError, unreadable
from gassst.files.whole_file import whole_file
from gassst.frozen import field, frozen
from gassst.index.converted import LETTERS, ConvertedSeeds
from gassst.index.copies import measured
from gassst.index.file import (
    CONVERTED_ARRAYS,
    CONVERTED_VERSION,
    FORMAT_VERSION,
    MAX_K,
    REFERENCE_ARRAYS,
    SEED_ARRAYS,
    SORTED,
    STEP_VERSION,
    Integrity,
    Metadata,
    Section,
    check_arrays,
    check_section,
    cut_bases,
    drop_from_memory,
    exception_type,
    following_type,
    map_sections,
    require,
    shortest_seed,
    sorted_bases,
    typed_arrays,
    unit_of,
    write,
)
from gassst.index.lookup import IndexParts, WholeIndex
from gassst.index.parts import IndexPart, open_part, replacing
from gassst.index.reference_files import fasta_beside
from gassst.index.spectrum import Spectrum
from gassst.model.array_types import I64, U8, U32, U64, Structs
from gassst.model.params import CONVERSIONS, INDEX_STEPS
from gassst.model.reference import MAX_POSITIONS, Exceptions, Reference, contig_starts, padded_total
from gassst.version import __version__
from gassst.workers.thread_count import MAX_THREADS, usable_threads

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

log = logging.getLogger("gassst")

T = TypeVar("T")
Told = Callable[[str], None]
"""Is called with what has been done."""


Sized = Callable[[int, int], None]
"""Is called with the bytes that an index takes, about: on disk, and of memory while it is built."""
ALL_POSITIONS = 1_000_000_000
"""Bases of the largest reference of which an index has all positions by default; of larger ones it has half of them."""
_PROGRAM = 40_000_000  # bytes of a process that has indexed nothing yet


_OF_ENGINE = {
    "table", "positions", "following", "parts", "converted", "conversion", "kmers", "letters", "plan_k",
    "integrity", "trust", "verify_open", "drop_from_memory", "fasta_bytes", "fasta_path",
}  # fmt: skip


def _of_interface(names: Iterable[str]) -> list[str]:
    """What belongs to the interface; the arrays, and what searches ask of them, belong to the engine."""
    return [name for name in names if name not in _OF_ENGINE]


class _Interface(type):
    """Shows completions of its class the names of the interface alone."""

    def __dir__(cls) -> list[str]:
        return _of_interface(super().__dir__())


@frozen(eq=False)
class SeedIndex(metaclass=_Interface):
    """Every occurrence of every seed of 1 to `longest_seed` bases; arrays as docs/index-format.md defines them.

    An index never changes: any number of mappers, threads and forked processes can share it. It pickles where it has a
    file, as `path`. As a context manager it is closed at the end.
    """

    reference: Reference
    k: int
    """Bases of the k-mers that `table` is over."""
    table: U32 = field(repr=False)
    """uint32[4**k + 1]: positions of k-mer x are `positions[table[x]:table[x + 1]]`."""
    positions: U32 = field(repr=False)
    """uint32[p], coordinates of unmasked bases, or of those that `step` keeps. They are sorted by k-mer, the
    bases behind it, and coordinate."""
    following: Structs = field(repr=False)
    """uint8[p], the 4 bases behind the k-mer of each position. With step 2 two of them, then the two before the
    position; with step 4 uint16[p], five of them and the three before it."""
    step: int = 1
    """1, 2 or 4: positions of every base, of about every second or of every fourth."""
    path: str | None = None
    """The file it was opened from, else None."""
    fasta_bytes: int | None = None
    """Size of the FASTA file it was built from, as on disk; None where it was built from something else."""
    fasta_path: str | None = None
    """The FASTA file, of an index that was built by this process."""
    integrity: Integrity | None = field(default=None, repr=False)
    """The check of the file that is still to be made; None where there is none to make."""
    _sections: tuple[Section, ...] = field(default=(), repr=False)
    parts: tuple[IndexPart, ...] = field(default=(), repr=False)
    """Of an index in parts, all of them. Its `table`, `positions` and `following` are empty."""
    converted: tuple[ConvertedSeeds, ...] = field(default=(), repr=False)
    """The seeds of both conversions, in an index for methylation. It contains no other seeds."""
    conversion = 0
    _is_closed: bool = field(default=False, repr=False)

    @classmethod
    def build(
        cls,
        reference: Reference | str | os.PathLike[str],
        threads: int | None = None,
        alt: str | os.PathLike[str] | None = None,
        step: int | None = None,
        told: Callable[[str], None] | None = None,
        sized: Callable[[int, int], None] | None = None,
        meth: bool = False,
        rename: bool = False,
        circular: Sequence[str] = (),
    ) -> SeedIndex:
        """Index a reference, or a FASTA file, with `threads` threads (all that this process may use if None).

        The index is the same for any number of threads. Building takes about 6 bytes per base with step 1, 4 with
        step 2 and 3 with step 4. A reference that is one single repeat takes 8 bytes more per position. `alt` is a
        list of ALT contigs (`Reference.with_alt`); None takes the one that `alt_list` finds beside the FASTA. A `step`
        of None is 1 up to 10^9 bases, 2 up to 2^32 - 1, and 4 above.

        Raises InputError as these do and `Reference.from_fasta` does, and for a reference of masked letters only.
        Raises UsageError unless 1 <= threads <= 1024 and the step is one that the reference allows. `told` is called
        again and again with what is done. `sized` is called once, before seeds are sorted, with the bytes that the
        index takes on disk, and those of memory to build it.

        `meth` makes an index for reads of which bisulfite or enzymes converted bases, and for no others. It has two
        sets of seeds (`index.converted`), and raises UsageError with another step than 1 and for a reference with ALT
        contigs.

        `rename` changes names of contigs that SAM forbids, as `Reference.from_fasta` does. `circular` names contigs
        that are circular, as for `Reference.with_circular`.
        """
        if meth and step not in (1, None):
            raise UsageError("an index for methylation has the position of every base: step must be 1")
        source = IndexSource.of(reference, threads, alt, 1 if meth else step, told, rename, circular)
        step = source.step
        size, k = source.fasta_bytes, source.k
        path = None if size is None or isinstance(reference, Reference) else os.fspath(reference)
        of_file: dict[str, Any] = {"step": step, "fasta_bytes": size, "fasta_path": path}
        how = source.reference, k, source.threads, step
        if not meth:
            counted = Counted.of(*how)
            source.tell_size(sized, bytes_of_seeds(k, step, counted.positions))
            return cls(source.reference, k, *_all_sorted(counted, told), **of_file)
        if source.reference.alt is not None:
            raise UsageError("an index for methylation is for a reference without ALT contigs")
        source.tell_size(sized, 2 * bytes_of_seeds(k, step, source.reference.unmasked))
        converted = tuple(
            ConvertedSeeds(source.reference, k, c, *_all_sorted(Counted.of(*how, conversion=c), told, c))
            for c in CONVERSIONS.values()
        )
        none = np.empty(0, np.uint32)
        return cls(source.reference, k, none, none, none, **of_file, converted=converted)

    @property
    def fasta(self) -> str | None:
        """The FASTA file that it was built from, if it lies where it lay, or beside the index; else None."""
        if self.path is None or self.fasta_bytes is None:
            return self.fasta_path
        return fasta_beside(self.path, self.fasta_bytes)

    @property
    def longest_seed(self) -> int:
        """Most bases of a seed that can be looked up; the same for every step."""
        return self.k + sorted_bases(self.step, self.reference.total)

    def __repr__(self) -> str:
        return f"<Index: {self.path or 'in memory'}, {self.reference.described}>"

    def __dir__(self) -> list[str]:
        return _of_interface(super().__dir__())

    def close(self) -> None:
        """Give the memory of the file back. Nothing can be mapped to the index any more; closing again does nothing."""
        if not self._is_closed:
            object.__setattr__(self, "_is_closed", True)
            self.drop_from_memory()

    def verify_open(self) -> None:
        """Raises UsageError once the index is closed."""
        if self._is_closed:
            raise UsageError(f"{self.path or 'index'}: the index is closed")

    def __enter__(self) -> SeedIndex:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def kmers(self) -> tuple[int, int]:
        """First k-mer, and the one behind the last."""
        return 0, 4**self.k

    @property
    def shortest_seed(self) -> int:
        """Fewest bases of a seed that a search may look up.

        Of an index in parts, a seed lies in one of them. At step 2, one of its positions at least is there.
        """
        cut = cut_bases(self.k, self.step, self.reference.total) if self.parts else 1
        return shortest_seed(self.k, self.step, cut)

    @cached_property
    def spectrum(self) -> Spectrum:
        """How many copies substrings of the reference have elsewhere: measured, or read from the file."""
        for section in self._sections:
            if section.name == "spectrum":
                return Spectrum(section.data.view(np.float32).reshape(Spectrum.SHAPE))
        return measured(IndexParts(self) if self.parts or self.converted else WholeIndex(self))

    @property
    def letters(self) -> float:
        """Equally frequent letters of seeds: chance finds one of w bases at a share `letters ** -w` of all bases."""
        return LETTERS if self.converted else 4.0

    @property
    def plan_k(self) -> int:
        """`k` of the index of this reference with step 1, so that plans of seeds are the same for every step."""
        return self.longest_seed - SORTED

    def lookup(self, seeds: ArrayLike, w: int) -> tuple[U32, U32]:
        """Ranges (lo uint32[n], hi uint32[n]) of `positions` where seeds of w bases occur.

        `seeds`: codes, 2 bits per base, the first base most significant. A range contains every occurrence of its seed
        at a position of the index; at step 4 each position times 4 is a coordinate. It may also contain coordinates
        where the seed covers masked bases, which read as A.

        Raises ValueError unless 1 <= w <= longest_seed and every seed is below 4**w, and for an index in parts.
        """
        if self.parts or self.converted:
            raise ValueError("an index in parts, or for methylation, has no one array of positions")
        seeds = np.ascontiguousarray(seeds, np.uint64)
        arrays = (self.table, self.positions, self.following.view(np.uint8), self.reference.planes)
        return _seed_index.lookup(*arrays, self.k, self.longest_seed, self.step, seeds, w)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index; at `path` appears the whole of it or, with OutputError, nothing new.

        The parts of an index that was there before are removed.
        """
        if os.fspath(path) == "-" or (os.path.exists(path) and not os.path.isfile(path)):
            raise OutputError(f"{path}: not a regular file")
        with ExitStack() as names, whole_file(path) as file:
            version = FORMAT_VERSION if self.step == 1 else STEP_VERSION
            header_crc = write(file, self._contents(), CONVERTED_VERSION if self.converted else version)
            names.enter_context(replacing(os.fspath(path)))
        with suppress(InputError):  # another process has removed it
            SeedIndex.open(path).trust(header_crc)

    def __reduce__(self) -> tuple[Any, ...]:
        if self.path is None:
            raise TypeError("an index in memory cannot be pickled: save it, and open the file")
        return SeedIndex.open, (self.path,)

    def drop_from_memory(self) -> None:
        """Give the pages of a mapped index back to the system, which reads them again when needed."""
        for piece in self.parts or self.converted:
            piece.drop_from_memory()
        drop_from_memory(self.positions)

    def _contents(self) -> dict[str, Structs]:
        arrays = dict(zip(SEED_ARRAYS, (self.table, self.positions, self.following), strict=True))
        if self.converted:
            arrays = {name: array for seeds in self.converted for name, array in seeds.sections()}
        sections = reference_sections(self.reference, self.k, self.step, self.fasta_bytes)
        return sections | {"spectrum": self.spectrum.shares} | arrays

    @classmethod
    def open(cls, path: str | os.PathLike[str], check: bool | None = None) -> SeedIndex:
        """Map an index file into memory, read-only.

        Parameters
        ----------
        path : path
        check : bool, optional
            True: verify all of it now, about a second per gigabyte. None: runs that map reads verify its checksums
            meanwhile, until one has verified all, and fail where one is wrong. A run that is over before does not wait
            for more than 1 GiB of them, and warns. No run does if this user has built or verified the file, and it was
            not written to since. False: verify no more than opening reads. In any case a run fails where the file was
            overwritten in the meantime.

        Raises
        ------
        InputError
            The file cannot be read.
        IndexFormatError
            It is not an index, has another version or byte order, or is truncated or damaged.
        """
        name = os.fspath(path)
        try:
            with open(path, "rb") as file:
                index = _opened(file, name, check)
        except OSError as error:
            raise unreadable(name, error) from error
        if check:
            index.check()
        return index

    def trust(self, header_crc: int) -> SeedIndex:
        """Note for later runs that the file is as written, if this is the checksum of its header. Returns self."""
        if self.integrity is not None:
            self.integrity.trust(header_crc)
        return self

    def check(self) -> None:
        """Verify the checksum of every section, where there is a file, and what must hold of any index.

        Raises IndexFormatError that names the section. Reads everything: about a second per gigabyte. Runs of this user
        do not verify the file again, unless it is written to.
        """
        for section in self._sections:
            check_section(section, str(self.path))
        names = self.reference.names
        require(self.path, {"contigs": len(set(names)) == len(names)}, "names one contig twice")
        _check_ends(self)
        if not (self.parts or self.converted):
            check_arrays(self.table, self.positions, self.reference, self.step, self.path)
        for seeds in self.converted:
            seeds.check(self.path)
        for part in self.parts:
            part.check()
        if self.integrity is not None:
            self.integrity.remember()


Index = SeedIndex


@frozen(eq=False)
class IndexSource:
    """What an index is built from, verified: the reference, and how."""

    reference: Reference
    k: int
    step: int
    threads: int
    fasta_bytes: int | None

    @classmethod
    def of(
        cls,
        reference: Reference | str | os.PathLike[str],
        threads: int | None,
        alt: str | os.PathLike[str] | None,
        step: int | None,
        told: Told | None = None,
        rename: bool = False,
        circular: Sequence[str] = (),
    ) -> IndexSource:
        """As `SeedIndex.build` takes them, and with its errors."""
        if step not in (None, *INDEX_STEPS):
            raise UsageError(f"step: {step} is not 1, 2 or 4")
        threads = usable_threads() if threads is None else threads
        if not 1 <= threads <= MAX_THREADS:
            raise UsageError(f"threads: {threads} is not from 1 to {MAX_THREADS}")
        source, fasta_bytes = "reference", None
        if not isinstance(reference, Reference):
            source = os.fspath(reference)
            fasta_bytes = _regular_size(source)
            if step is not None and (fasta_bytes or 0) > unit_of(step) * MAX_POSITIONS and _is_plain(source):
                _fitting_step(padded_total(source), step, source)  # before minutes go into the rest
            reference = Reference.from_fasta(reference, told, rename)
            alt = alt or alt_list(source)
        if alt is not None:
            reference = reference.with_alt(alt)
        if circular:
            reference = reference.with_circular(circular)
        if not reference.unmasked:
            raise InputError(f"{source}: it contains no A, C, G or T")
        step = _fitting_step(reference.total, step, source)
        k = base_length(reference.unmasked, step, reference.total)
        return cls(reference, k, step, threads, fasta_bytes)

    def tell_size(self, sized: Callable[[int, int], None] | None, seeds: int) -> None:
        """What `SeedIndex.build` tells of seeds that take so many bytes."""
        if sized is not None:
            sized(*self.size(seeds, seeds))

    def size(self, seeds: int, at_once: int) -> tuple[int, int]:
        """What `Sized` is told of an index whose seeds take so many bytes, and those in memory at once."""
        codes, planes = self.reference.total // 4, self.reference.planes.nbytes
        own = planes + sum(array.nbytes for array in self.reference.exceptions)
        return own + seeds, _PROGRAM + own + codes + at_once


def _is_plain(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(1) == b">"


def _fitting_step(total: int, step: int | None, source: str) -> int:
    """The step that was asked for, or the default one, once it is known that all positions have 32 bits with it."""
    least = min(
        (step for step in INDEX_STEPS if total <= unit_of(step) * MAX_POSITIONS), default=max(INDEX_STEPS)
    )
    bases = f"{source}: {total:,} bases with those between contigs"
    if step is None:
        step = max(least, 2) if total > ALL_POSITIONS else least
        if step > 1:
            log.info("%s: the index has step %d", bases, step)
    elif step < least:
        raise UsageError(f"{bases} are more than an index of step {step} holds: it takes step {least}")
    return step


def bytes_of_seeds(k: int, step: int, positions: int) -> int:
    """The bytes that `table`, `positions` and `following` take."""
    return 4 * (4**k + 1) + positions * (4 + np.dtype(following_type(step)).itemsize)


def reference_sections(
    reference: Reference, k: int, step: int, fasta_bytes: int | None, **more: Any
) -> dict[str, Structs]:
    """The sections about the reference; metadata first, so that opening reads the first pages only."""
    metadata = {
        "program": f"gassst {__version__}",
        "k": k,
        "total": reference.total,
        "fasta_bytes": fasta_bytes,
        **({"step": step} if step > 1 or more else {}),
        **more,
    }
    if reference.alt is not None:
        metadata["alt"] = np.flatnonzero(reference.alt).tolist()
    if reference.circular is not None:
        metadata["circular"] = np.flatnonzero(reference.circular).tolist()
    start, length, code = reference.exceptions
    arrays: tuple[Structs, ...] = reference.planes, start.astype(exception_type(step)), length, code
    texts = {"metadata": json_section(metadata), "contigs": reference.contigs.text}
    return texts | dict(zip(REFERENCE_ARRAYS, arrays, strict=True))


def json_section(fields: dict[str, Any]) -> U8:
    """A section `metadata`."""
    return np.frombuffer(json.dumps(fields).encode("ascii"), np.uint8)


def base_length(unmasked: int, step: int = 1, total: int = 0) -> int:
    """Largest k, 4 to 14, whose table of 4 * 4**k bytes takes at most 0.6 bytes per unmasked base. One less for step 4.

    Where step 4 has so many positions that they are sorted by no more bases than others, its k is not less.

    With 5 bytes for its position and what follows, and 3 bits for the base itself, that makes 6 at most. With step 4
    buckets are as large as with step 1, and positions are sorted by one base more.
    """
    k = 4
    while k < MAX_K and 20 * 4 ** (k + 1) <= 3 * unmasked:
        k += 1
    return k - (sorted_bases(step, total) - SORTED)


# --- build --------------------------------------------------------------------------------------------------
# Two steps, so that the second works in the cache: coordinates are scattered into parts by their first few
# bases, then each part is sorted alone. K-mer, bases behind it and coordinate are one total order, so neither
# the number of threads nor which thread sorts what can show in the result.

_PART = 1 << 16  # positions in a part, about: 8-byte entries of one part fill a quarter of a 2 MB cache
_MAX_PREFIX = 6  # 4096 parts: about a million positions, 8 MB, in each even for 2^32 of them


@frozen(eq=False)
class Counted:
    """A reference whose positions are counted by their first bases, ready to be sorted.

    Attributes
    ----------
    reference, k, step, threads
    prefix : int
        How many first bases.
    codes : uint64[]
        The reference in 2 bits per base, as `pack_codes` writes it.
    ranges : list of (int, int)
        Rows of the planes that one thread goes through.
    counts : uint32[ranges, 4**prefix]
    """

    reference: Reference
    k: int
    step: int
    threads: int
    prefix: int
    codes: U64
    ranges: list[tuple[int, int]]
    counts: U32

    @classmethod
    def of(
        cls, reference: Reference, k: int, threads: int, step: int, least: int = 1, conversion: int = 0
    ) -> Counted:
        """Counted by `least` first bases or more, after a conversion of `index.converted` if there is any."""
        planes = reference.planes
        prefix = max(least, _prefix_length(reference.unmasked // step, k))
        ranges = _split(len(planes), threads)
        codes = np.zeros(2 * len(planes) + 1, np.uint64)
        _run(lambda r: _seed_index.pack_codes(planes, *r, codes, conversion), ranges, threads)
        counts = np.zeros((len(ranges), 4**prefix), np.uint32)
        each = range(len(ranges))
        _run(
            lambda i: _seed_index.count_parts(planes, codes, *ranges[i], prefix, step, k, counts[i]),
            each,
            threads,
        )
        if not counts.any():
            raise InputError(f"{reference.described}: too short for an index of step {step}")
        return cls(reference, k, step, threads, prefix, codes, ranges, counts)

    @property
    def positions(self) -> int:
        """How many there are."""
        return int(self.counts.sum(dtype=np.int64))

    def sorted(
        self, first: int, last: int, told: Callable[[float], None] | None = None
    ) -> tuple[U32, U32, Structs]:
        """`table`, `positions` and `following` of the k-mers that begin with the prefixes first .. last - 1.

        `told` is called with the share that is sorted.
        """
        k, step, prefix, codes, ranges = self.k, self.step, self.prefix, self.codes, self.ranges
        planes, behind = self.reference.planes, sorted_bases(step, self.reference.total)
        cursors = np.full_like(self.counts, _seed_index.LEFT_OUT)
        bounds, cursors[:, first:last] = _part_bounds(self.counts[:, first:last])
        n = int(bounds[-1])
        positions = np.empty(n, np.uint32)
        _run(
            lambda i: _seed_index.scatter_parts(
                planes, codes, *ranges[i], prefix, step, k, cursors[i], positions
            ),
            range(len(ranges)),
            self.threads,
        )
        table = np.zeros((last - first) * 4 ** (k - prefix) + 1, np.uint32)
        table[-1] = n
        following = np.empty(n, following_type(step))
        beside = following.view(np.uint8)
        largest_first = np.argsort(-np.diff(bounds), kind="stable").tolist()
        _run(
            lambda i: _seed_index.sort_part(
                codes, k, behind, step, prefix, i, bounds, table, positions, beside
            ),
            largest_first,
            self.threads,
            told,
        )
        return table, positions, following


def _all_sorted(counted: Counted, told: Told | None, conversion: int = 0) -> tuple[U32, U32, Structs]:
    """`table`, `positions` and `following` of all k-mers."""
    shares = (0.0, 1.0) if not conversion else ((conversion - 1) / 2, conversion / 2)
    return counted.sorted(0, 4**counted.prefix, share_sorted(told, *shares))


def share_sorted(told: Told | None, first: float = 0.0, last: float = 1.0) -> Callable[[float], None] | None:
    """Tells of the sorting, which takes the shares from `first` to `last` of all that is sorted."""
    if told is None:
        return None
    return lambda share: told(f"{int(100 * (first + (last - first) * share))} % of the seeds sorted")


def _prefix_length(unmasked: int, k: int) -> int:
    prefix = 1
    while prefix < min(_MAX_PREFIX, k) and unmasked > _PART * 4**prefix:
        prefix += 1
    return prefix


def _split(rows: int, parts: int) -> list[tuple[int, int]]:
    cuts = [rows * i // parts for i in range(parts + 1)]
    return list(zip(cuts[:-1], cuts[1:], strict=True))


def _part_bounds(counts: U32) -> tuple[I64, U32]:
    """Where parts begin and end (int64[parts + 1]), and where each range of rows writes into each part."""
    ends = np.cumsum(counts.T, dtype=np.int64).reshape(counts.T.shape)  # by part, then by range of rows
    bounds = np.concatenate([[0], ends[:, -1]])
    return bounds, np.ascontiguousarray(ends.T - counts).astype(np.uint32)


def _run(
    function: Callable[[T], None],
    items: Sequence[T],
    threads: int,
    told: Callable[[float], None] | None = None,
) -> None:
    with ThreadPoolExecutor(threads) if threads > 1 else nullcontext() as pool:
        calls = map(function, items) if pool is None else pool.map(function, items)
        for done, _ in enumerate(calls, 1):  # an exception or interrupt here cancels what has not begun
            if told is not None:
                told(done / len(items))


def alt_list(fasta: str) -> str | None:
    """The list of ALT contigs beside a FASTA: REF.fa.alt, where bwa looks for it, also for REF.fa.gz."""
    for path in (f"{fasta}.alt", f"{fasta.removesuffix('.gz')}.alt"):
        if os.path.isfile(path):
            return path
    return None


def _regular_size(path: str) -> int | None:
    try:
        info = os.stat(path)
    except OSError:  # `Reference.from_fasta` says what is wrong with it
        return None
    return info.st_size if stat.S_ISREG(info.st_mode) else None


# --- open ---------------------------------------------------------------------------------------------------


def _opened(file: IO[bytes], path: str, check: bool | None) -> SeedIndex:
    mapped = map_sections(file, path)
    version, _, sections = mapped
    metadata = Metadata.of(sections, version, path)
    reference = _reference_of(sections, metadata, path)
    parts: tuple[IndexPart, ...] = ()
    converted: tuple[ConvertedSeeds, ...] = ()
    if version == CONVERTED_VERSION:
        of_seeds = typed_arrays(sections, CONVERTED_ARRAYS, 1, path)
        converted = tuple(
            ConvertedSeeds(reference, metadata.k, c, *(of_seeds[f"{name}_{each}"] for each in SEED_ARRAYS))
            for name, c in CONVERSIONS.items()
        )
    if metadata.parts is None and not converted:
        array = typed_arrays(sections, SEED_ARRAYS, metadata.step, path)
    else:
        array = {name: np.empty(0, np.uint32) for name in SEED_ARRAYS}
        numbers = range(1, len(metadata.parts or ()) + 1)
        parts = tuple(open_part(path, i, reference, metadata, check) for i in numbers)
    held = tuple(sections.values())
    integrity = Integrity(
        file, mapped, path, at_once=check is None, parts=[part.integrity for part in parts if part.integrity]
    )
    index = SeedIndex(
        reference,
        metadata.k,
        table=array["table"],
        positions=array["positions"],
        following=array["following"],
        step=metadata.step,
        path=path,
        fasta_bytes=metadata.fasta_bytes,
        integrity=integrity,
        parts=parts,
        converted=converted,
        _sections=held,
    )
    _check_shapes(index)
    _check_spectrum(sections["spectrum"], path)
    return index


def _reference_of(sections: dict[str, Section], metadata: Metadata, path: str) -> Reference:
    for name in ("exception_start", "exception_length", "exception_code"):
        check_section(sections[name], path)  # small, and what writes MD trusts them
    array = typed_arrays(sections, REFERENCE_ARRAYS, metadata.step, path)
    if len(array["planes"]) % 3:
        raise IndexFormatError(f"{path}: damaged index: section planes has a wrong size")
    return Reference(
        planes=array["planes"].reshape(-1, 3),
        total=metadata.total,
        contigs=metadata.contigs,
        starts=contig_starts(metadata.contigs.lengths),
        exceptions=Exceptions(
            array["exception_start"].astype(np.int64), array["exception_length"], array["exception_code"]
        ),
        alt=metadata.mask(metadata.alt),
        circular=metadata.mask(metadata.circular),
    )


# --- check --------------------------------------------------------------------------------------------------


def _check_shapes(index: SeedIndex) -> None:
    reference, n = index.reference, len(index.positions)
    shapes = {
        "planes": len(reference.planes) == -(-reference.total // 64),
        "exception_length": len(reference.exceptions.length) == len(reference.exceptions.start),
        "exception_code": len(reference.exceptions.code) == len(reference.exceptions.start),
        "table": bool(index.parts or index.converted) or len(index.table) == 4**index.k + 1,
        "following": len(index.following) == n,
    }
    for seeds in index.converted:
        shapes[f"{seeds.name}_table"] = len(seeds.table) == 4**index.k + 1
        shapes[f"{seeds.name}_following"] = len(seeds.following) == len(seeds.positions)
    require(index.path, shapes, "has a wrong size")
    require(index.path, {"exception_start": reference.exceptions_sound()}, "is not of this reference")
    _check_ends(index)


def _check_spectrum(section: Section, path: str) -> None:
    """Small, and mapping qualities trust it."""
    check_section(section, path)
    size = np.dtype(np.float32).itemsize * math.prod(Spectrum.SHAPE)
    require(path, {"spectrum": len(section.data) == size}, "has a wrong size")
    shares = section.data.view(np.float32)
    require(path, {"spectrum": bool(np.isfinite(shares).all() and (shares >= 0).all())}, "holds no shares")


def _check_ends(index: SeedIndex) -> None:
    def is_all(n: int) -> bool:
        """Whether an index may have so many positions."""
        return n == index.reference.unmasked if index.step == 1 else 0 < n <= index.reference.unmasked

    if index.parts:
        holds = {"metadata": is_all(sum(len(part.positions) for part in index.parts))}
    else:
        ends = {
            (int(seeds.table[0]), int(seeds.table[-1]), len(seeds.positions), is_all(len(seeds.positions)))
            for seeds in index.converted or (index,)
        }
        holds = {"table": all(end == (0, end[2], end[2], True) for end in ends)}
    require(index.path, holds, "is not of this reference")
