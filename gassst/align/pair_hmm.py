"""`gassst.align.forward`, `viterbi` and `posterior`: how likely reads are, given haplotypes.

The pair HMM of variant callers, in the parametrisation of GATK's PairHMM (Poplin et al. 2017). A base's quality says
how likely it is wrong. Three more qualities say how likely a gap opens or continues there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gassst._core.pair_hmm import PairHmmBatch, instruction_sets
from gassst.align.alphabets import DNA
from gassst.align.products import verified_pairs
from gassst.align.sequences import Sequences, read_sequences
from gassst.errors import InputError, UsageError
from gassst.workers.allocator import available_memory
from gassst.workers.tasks import ProgressBar, is_device, run_all, run_problems, thread_count

Floats = NDArray[np.float64]

FORMS = ("double", "single", "log")
MAX_QUALITY = 254
LEAST_OPENING = 3.02  # of two kinds of gaps: with less a read would be more likely to open one than not
BITS = np.array([1, 2, 4, 8] + [15] * (len(DNA) - 4), np.uint8)
"""Of codes: a base of several letters matches all, as N does."""
MOST_LANES = 16  # of any vector
LARGEST_TABLE = 1 << 31  # bytes of what `posterior` returns
PAIR_BYTES = 80  # of a pair: its indexes, their order, its result


@dataclass(frozen=True)
class HmmPath:
    """The most probable alignment of a read to a haplotype."""

    log10: float
    """Of its probability; the read begins with equal probability at each base of the haplotype."""
    begin: int
    """Its first base on the haplotype, from 0."""
    cigar: str
    """Runs of M, I and D."""


@dataclass(frozen=True)
class GapQualities:
    """Phred qualities of gaps: one number each, or like the qualities of the bases a list or an array for each read.

    By default those of GATK.
    """

    insertion: Any = 45
    """That an insertion opens behind a base."""
    deletion: Any = 45
    """That a deletion opens there."""
    extension: Any = 10
    """That a gap goes on."""


GATK_GAPS = GapQualities()


def forward(
    reads: Any,
    haplotypes: Any,
    qualities: Any = None,
    gaps: GapQualities = GATK_GAPS,
    *,
    pairs: ArrayLike | None = None,
    form: Literal["double", "single", "log"] = "double",
    device: str | None = None,
    threads: int | None = None,
) -> Floats:
    """log10 of the probability of each read, given each haplotype: the sum over all alignments.

    Parameters
    ----------
    reads, haplotypes : path, iterable, Sequences
        DNA, as `read_sequences` takes it. N and other ambiguous letters match every base.
    qualities : int, list of str or arrays
        Phred qualities of the bases of each read, text as in FASTQ (Phred + 33), or one for all. By default those that
        the reads come with.
    gaps : GapQualities
        Phred qualities of insertions and deletions; by default those of GATK.
    pairs : int[n, 2], optional
        Indexes of a read and a haplotype each.
    form : str
        "double" and "single": numbers of this precision, scaled as they get small. "log": logarithms, slow. Single is
        accurate to about 1e-5.
    device : str, optional
        An OpenCL device, as `gassst map --device` names it. By default compiled code does the work.
    threads : int, optional
        All cores by default.

    Returns
    -------
    float64[reads, haplotypes], or float64[n] of pairs; -inf where no alignment has any probability.

    Raises
    ------
    UsageError
        For parameters that make no sense.
    InputError
        For sequences that are empty or no DNA; for qualities that do not fit the reads, or are missing.
    DeviceError
        For a device that is not there or fails.
    """
    job = _Job(reads, haplotypes, qualities, gaps, pairs)
    return job.log10(False, form, device, threads)


def viterbi(
    reads: Any,
    haplotypes: Any,
    qualities: Any = None,
    gaps: GapQualities = GATK_GAPS,
    *,
    pairs: ArrayLike | None = None,
    form: Literal["double", "single", "log"] = "double",
    device: str | None = None,
    threads: int | None = None,
) -> Floats:
    """log10 of the probability of the most probable alignment of each read to each haplotype.

    Parameters, results and errors are those of `forward`.
    """
    job = _Job(reads, haplotypes, qualities, gaps, pairs)
    return job.log10(True, form, device, threads)


def viterbi_paths(
    reads: Any,
    haplotypes: Any,
    qualities: Any = None,
    gaps: GapQualities = GATK_GAPS,
    *,
    pairs: ArrayLike | None = None,
    threads: int | None = None,
) -> list[HmmPath]:
    """The most probable alignment of each read to each haplotype, read by read, or of each of `pairs`.

    Parameters and errors are those of `forward`. Of several the one that prefers pairs to insertions to deletions, from
    its last base on.
    """
    job, count = _Job(reads, haplotypes, qualities, gaps, pairs), thread_count(threads)
    largest = np.sort(job.cells())[-count:]
    if largest.sum() > available_memory():
        raise UsageError(
            f"viterbi_paths: the largest pairs take {largest.sum() / 2**30:.1f} GiB of memory on {count} threads"
        )
    return job.each(job.path, threads)


def posterior(
    reads: Any,
    haplotypes: Any,
    qualities: Any = None,
    gaps: GapQualities = GATK_GAPS,
    *,
    pairs: ArrayLike | None = None,
    threads: int | None = None,
) -> list[Floats]:
    """Of each base of a read and each base of a haplotype the probability that they are paired, given the read.

    Parameters and errors are those of `forward`.

    Returns
    -------
    A list of float64[bases of the read, bases of the haplotype], for each read with each haplotype, read by read, or
    for each of `pairs`. A row sums to 1 less the probability that its base is inserted. NaN where no alignment has any
    probability.
    """
    job = _Job(reads, haplotypes, qualities, gaps, pairs)
    size = 8 * int(job.cells().sum())
    if size > LARGEST_TABLE:
        raise UsageError(f"posterior: the tables take {size / 2**30:.1f} GiB; ask for fewer pairs at a time")
    return job.each(job.posterior, threads)


class _Job:
    """Verified input."""

    def __init__(
        self, reads: Any, haplotypes: Any, qualities: Any, gaps: GapQualities, pairs: ArrayLike | None
    ):
        if not isinstance(gaps, GapQualities):
            raise UsageError(f"gaps: GapQualities(insertion, deletion, extension), not {gaps!r}")
        first = read_sequences(reads, DNA, "reads")
        second = read_sequences(haplotypes, DNA, "haplotypes")
        base = _phred(_own_qualities(first) if qualities is None else qualities, first, "qualities")
        insertion = _phred(gaps.insertion, first, "gaps.insertion", LEAST_OPENING)
        deletion = _phred(gaps.deletion, first, "gaps.deletion", LEAST_OPENING)
        extension = _phred(gaps.extension, first, "gaps.extension")
        self.read_lengths, self.haplotype_lengths = first.lengths, second.lengths
        self.pairs = _pairs(pairs, len(first), len(second))
        self.shape = (len(first), len(second)) if pairs is None else (len(self.pairs),)
        self.arrays = (
            BITS[first.codes],
            first.offsets,
            steps_of(base, insertion, deletion, extension),
            BITS[second.codes],
            second.offsets,
        )
        self.batch = PairHmmBatch(*self.arrays)

    def cells(self) -> NDArray[np.int64]:
        """int64[n], bases of the read times bases of the haplotype of each pair."""
        return self.read_lengths[self.pairs[:, 0]] * self.haplotype_lengths[self.pairs[:, 1]]

    def log10(self, largest: bool, form: str, device: str | None, threads: int | None) -> Floats:
        """Of all pairs, in tasks of pairs of like lengths."""
        if form not in FORMS:
            raise UsageError(f"form {form!r}: must be {', '.join(FORMS)}")
        count, on_device = thread_count(threads), is_device(device)
        if not len(self.pairs):
            return np.empty(self.shape)
        read, haplotype = self.read_lengths[self.pairs[:, 0]], self.haplotype_lengths[self.pairs[:, 1]]
        order = np.lexsort((haplotype, read))
        pairs, found = np.ascontiguousarray(self.pairs[order]), np.empty(len(order))
        cells = (read * haplotype)[order].astype(float)
        if on_device:
            from gassst.align.pair_hmm_device import device_logs

            device_logs(self.arrays, pairs, largest, form, str(device), count, found)
        else:
            name = instruction_sets()[0]

            def run(a: int, b: int) -> None:
                self.batch.logs(pairs[a:b], largest, form, name, found[a:b])

            run_problems(cells, run, count, self.batch.stop, ProgressBar(None, 1.0), MOST_LANES)
        result = np.empty(len(order))
        result[order] = found / np.log(10)
        return result.reshape(self.shape)

    def each(self, function: Callable[[int], Any], threads: int | None) -> list[Any]:
        """Of each pair what `function` makes of its number."""
        found: list[Any] = [None] * len(self.pairs)

        def run(i: int) -> None:
            found[i] = function(i)

        tasks = ((1.0, partial(run, i)) for i in range(len(found)))
        run_all(tasks, thread_count(threads), self.batch.stop, ProgressBar(None, 1.0))
        return found

    def path(self, i: int) -> HmmPath:
        """The best alignment of a pair."""
        log_probability, begin, steps = self.batch.path(self.pairs, i)
        runs = groupby("MID"[step] for step in steps.tolist())
        cigar = "".join(f"{sum(1 for _ in run)}{step}" for step, run in runs)
        return HmmPath(float(log_probability / np.log(10)), begin, cigar)

    def posterior(self, i: int) -> Floats:
        """The table of a pair."""
        log_probability, table = self.batch.posterior(*self.pairs[i].tolist())
        if log_probability == -np.inf:
            table[:] = np.nan
        return table


def steps_of(base: Floats, insertion: Floats, deletion: Floats, extension: Floats) -> Floats:
    """Probabilities at each base: float64[bases, 9], as `hmm_step` of `ext/pairwise/pair_hmm.h` has them."""
    wrong, opened, lost, goes_on = (
        10.0 ** (-quality / 10) for quality in (base, insertion, deletion, extension)
    )
    leaves = 1 - goes_on
    steps = (1 - wrong, wrong / 3, 1 - opened - lost, opened, lost, leaves, goes_on, leaves, goes_on)
    return np.ascontiguousarray(np.column_stack(steps))


def _own_qualities(reads: Sequences) -> list[bytes]:
    found = reads.qualities or [None] * len(reads)
    for number, quality in enumerate(found, 1):
        if quality is None:
            raise InputError(f"reads: sequence {number} ({reads.names[number - 1]}) has no qualities")
    return [quality for quality in found if quality is not None]


def _phred(value: Any, reads: Sequences, name: str, least: float = 0) -> Floats:
    """float64[bases of all reads], none below `least`."""
    if np.isscalar(value) and not isinstance(value, (str, bytes)):
        flat: NDArray[Any] = np.full(len(reads.codes), value)
    else:
        if isinstance(value, (str, bytes, os.PathLike)) or not isinstance(value, (Sequence, np.ndarray)):
            raise UsageError(f"{name}: one number, or a list with the qualities of each read")
        if len(value) != len(reads):
            raise InputError(f"{name}: of {len(value)} reads; there are {len(reads)}")
        parts = [_phred_of(item) for item in value]
        for number, (part, length) in enumerate(zip(parts, reads.lengths.tolist(), strict=True), 1):
            if part.shape != (length,):
                raise InputError(f"{name}: read {number} has {part.size} of them and {length} bases")
        flat = np.concatenate(parts)
    if flat.dtype.kind not in "iuf" or not (np.isfinite(flat) & (flat >= 0) & (flat <= MAX_QUALITY)).all():
        raise InputError(f"{name}: qualities must be numbers from 0 to {MAX_QUALITY}")
    if (flat < least).any():
        raise InputError(f"{name}: must be at least 4: below, opening a gap is likelier than not")
    return flat.astype(np.float64)


def _phred_of(item: Any) -> NDArray[Any]:
    if isinstance(item, str):
        item = item.encode("utf-8", "surrogateescape")
    if isinstance(item, (bytes, bytearray)):
        return np.frombuffer(bytes(item), np.uint8).astype(np.int16) - 33
    return np.asarray(item)


def _pairs(pairs: ArrayLike | None, reads: int, haplotypes: int) -> NDArray[np.int32]:
    """int32[n, 2]. Raises UsageError for anything but indexes, and for more pairs than fit into memory."""
    if pairs is not None:
        return verified_pairs(pairs, reads, haplotypes, ("reads", "haplotypes")).astype(np.int32)
    size = PAIR_BYTES * reads * haplotypes
    if size > available_memory():
        raise UsageError(f"{reads:,} reads x {haplotypes:,} haplotypes take {size / 2**30:.1f} GiB of memory")
    grid = np.indices((reads, haplotypes), np.int32).reshape(2, -1).T
    return np.ascontiguousarray(grid)
