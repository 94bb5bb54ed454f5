"""Parameters of a mapping run: every default lives here, once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from numbers import Real
from typing import TYPE_CHECKING, Literal

from gassst.errors import ParameterError
from gassst.workers.thread_count import MAX_THREADS, usable_threads

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

INDEX_STEPS = (1, 2, 4)  # distances in bases between the positions that an index may have
MAX_READ_LENGTH = 4000
MIN_READ_LENGTH = 15
SPECIFIC_LENGTH = 20  # of a read that says itself where it lies; no shorter part is cut out of another read
MAX_GAPS = 248  # eight words of diagonals hold 2 * 248 + 16
MAX_ERRORS = 255
LONGEST_TEMPLATE = 20_000  # of a pair, in bases; mates further apart are never proper
ORIENTATIONS = ("fr", "rf", "ff")
# At these values the largest sum in a cell of the local kernel is 32,040: it fits 16 bits (kernels/local.h).
MAX_MATCH = 10
MAX_PENALTY = 1000
MAX_LOCAL_SCORE = 10_000  # of the whole read: that of 1,000 bases at MAX_MATCH
LEAST_SCORE = 30  # of a local alignment that is reported, unless another is asked for: that of bwa mem
MODES = ("global", "local")
METH_LIBRARIES = ("directional", "non-directional", "pbat")
METH_TAGS = ("bwa-meth", "bismark")
AUTO = "auto"  # of the filters, those that pay
DEFAULT_FILTERS: tuple[str, ...] = (AUTO,)


INSERT_RANGE = f"must be MEAN,SD of more than 0 and up to {LONGEST_TEMPLATE:,}"
THREADS_RANGE = f"must be from 1 to {MAX_THREADS}"
LEAST_MEMORY = "must be at least 1M (1,048,576 bytes)"
NO_DEVICE = "none"  # of `MapParams.device`
METH_FILTERS = "must be auto or band32 for methylation"
LOCAL_BEST = "is not for local mode, which reports best alignments"


def _is_pair(values: object, least: float, most: float) -> bool:
    """Whether these are two numbers within these bounds; a NaN is not."""
    if not isinstance(values, tuple | list) or len(values) != 2:
        return False
    return all(isinstance(value, Real) and least <= float(value) <= most for value in values)


def _is_insert(values: tuple[float, float]) -> bool:
    return _is_pair(values, 0, LONGEST_TEMPLATE) and all(values)


@dataclass(frozen=True)
class Scoring:
    """Costs of a local alignment, in bwa's convention: a gap of length k costs open + k * extend.

    match : score of two equal bases (-A).
    mismatch : penalty of two that differ (-B); a masked base against anything costs 1, as N does in bwa.
    gap_open, gap_extend : penalties of a deletion and of an insertion.
    clip : bonus for each end of the read that is reached (-L); not part of the score that is reported.
    min_score : least score of an alignment that is reported (-T); a concordant mate adds to it what it is worth. None:
        `LEAST_SCORE`, but a read too short for that must fit without an error, and a single read that fits end to end
        is reported regardless of its score (`MapParams.reports_whole_reads`).
    """

    match: int = 1
    mismatch: int = 4
    gap_open: tuple[int, int] = (6, 6)
    gap_extend: tuple[int, int] = (1, 1)
    clip: int = 5
    min_score: int | None = None

    @property
    def least_score(self) -> int:
        """The least score of an alignment that is reported."""
        return LEAST_SCORE if self.min_score is None else self.min_score

    def perfect(self, lengths: NDArray[np.integer]) -> NDArray[np.int64]:
        """int64[n]: the total (score, and bonus of both ends) of reads without an error; `lengths` in bases."""
        return lengths.astype("int64") * self.match + 2 * self.clip

    def verify(self) -> Scoring:
        """Return self; raise ParameterError on the first value out of its range: a read's score is kept in 16 bits."""
        most = MAX_PENALTY
        checks = (
            ("match", 1 <= self.match <= MAX_MATCH, f"must be from 1 to {MAX_MATCH}"),
            ("mismatch", 0 <= self.mismatch <= most, f"must be from 0 to {most}"),
            (
                "gap_open",
                _is_pair(self.gap_open, 0, most),
                f"must be from 0 to {most}, for both kinds of gaps",
            ),
            (
                "gap_extend",
                _is_pair(self.gap_extend, 1, most),
                f"must be from 1 to {most}, for both kinds of gaps",
            ),
            ("clip", 0 <= self.clip <= most, f"must be from 0 to {most}"),
            ("min_score", 0 <= self.least_score <= 0x7FFF, "must be from 0 to 32767"),
        )
        for name, holds, complaint in checks:
            if not holds:
                raise ParameterError(name, complaint)
        return self


DEFAULT_SCORING = Scoring()


@dataclass(frozen=True)
class MapParams:
    """What a mapping run does; `None` means chosen from read length and reference (see `search.plan`).

    Attributes
    ----------
    seed_length : int or None
        Shortest seed `w` in bases (option -w).
    min_identity : float or None
        Least identity in % (option -p): a read of m bases may have floor(m * (100 - p) / 100) errors.
    gaps : int or None
        Inserted and deleted bases that every alignment may have (option -g): the half-width of the band.
    min_length : int or None
        Fewest bases of a read that is mapped (option --min-length). None: `MIN_READ_LENGTH`, and fewer of a mate that
        its partner places.
    sensitivity : int
        0..5 (option -s): index of `presets.PRESETS`. Level 5 skips no seed.
    max_hits : int
        Most alignments reported for a read (option -k).
    all_hits : bool
        Report every alignment within the error limit (option --all).
    strata : bool
        With `all_hits`, report of each read only the alignments with the fewest errors, up to `max_hits`
        (option --strata).
    threads : int
        Worker threads (option -t), by default one for each core that this process may use.
    device, batch_size, memory
        OpenCL device (see `gpu.opencl_engine.choose`); most reads of a batch; bytes the index may keep resident.
    processes : int or None
        That the threads of `Mapper.map_file` are spread over; 1 is this process alone. None: by their number
        (`workers.layout`).
    filters : tuple of str
        Names of `search.filters.FILTERS`, in the order in which they are run, or "auto": "band32", and with `all_hits`
        "flanks" before it.
    insert : (float, float) or None
        Mean and standard deviation of the insert size of pairs, outer ends (option --insert); None: learned.
    orientation : str or None
        Of the mates of a pair (options --fr, --rf, --ff). None: learned with the insert size, "fr" where that is given.
    mode : str or None
        "global": a read is aligned from its first base to its last; "local": ends may be clipped (option --mode). None:
        local, as clipped ends are what variant callers need (docs/benchmarks/pairs.md). Global where all hits are asked
        for, and for single reads where `min_identity` is, which limits whole reads.
    scoring : Scoring
        Of local alignments.
    pairing, mate_rescue : bool
        Place mates together (not with option -P); look for a mate around its partner (not with --no-rescue).
    five_prime : bool
        Of a split read the 5'-most part is the primary alignment (option -5).
    alt_aware : bool
        Treat contigs that the index marks as ALT by the rules of `gassst.mapping.alt`, not as part of the primary
        assembly.
    meth : str or None
        The library of reads that bisulfite or enzymes converted (option --meth-library); None: they are not converted.
    """

    seed_length: int | None = None
    min_identity: float | None = None
    gaps: int | None = None
    min_length: int | None = None
    sensitivity: int = 2
    max_hits: int = 1
    all_hits: bool = False
    strata: bool = False
    threads: int = field(default_factory=usable_threads)
    processes: int | None = None
    device: str | None = None
    batch_size: int | None = None
    memory: int | None = None
    filters: tuple[str, ...] = DEFAULT_FILTERS
    mode: Literal["global", "local"] | None = None
    scoring: Scoring = DEFAULT_SCORING
    alt_aware: bool = True
    pairing: bool = True
    mate_rescue: bool = True
    five_prime: bool = False
    insert: tuple[float, float] | None = None
    orientation: Literal["fr", "rf", "ff"] | None = None
    meth: Literal["directional", "non-directional", "pbat"] | None = None

    def reads_per_batch(
        self, processes: int = 1, on_device: bool = False, is_served: bool = False, is_ready: bool = False
    ) -> int:
        """`batch_size`, or what suits so many processes: small batches cost more per read, large ones memory.

        A device that searches whole batches (`on_device`) needs more of them at once. One that a process drives
        (`is_served`) gets those of several processes together, and small ones go there sooner once it is ready. Where
        the host makes local ends most of the work stays there, and batches are the usual ones. A device that `is_ready`
        from the beginning gets large ones: no worker is at one of them on the host when the others could be there.
        """
        usual = 32_768 if processes == 1 else 24_576
        if is_served and processes > 1:
            early = usual if self.mode == "local" else 16_384
            return self.batch_size or (98_304 if is_ready else early)
        return self.batch_size or (49_152 if on_device or is_served else usual)

    @property
    def longest_read(self) -> int:
        """Bases of the longest read that a search takes."""
        if self.mode != "local":
            return MAX_READ_LENGTH
        return min(MAX_READ_LENGTH, MAX_LOCAL_SCORE // self.scoring.match)

    @property
    def reports_whole_reads(self) -> bool:
        """Whether a single read that fits end to end within `min_identity` is reported regardless of its score."""
        return self.mode != "local" or self.scoring.min_score is None

    def for_single(self) -> MapParams:
        """The parameters of a run on single reads: their mode is chosen."""
        is_whole = self.all_hits or self.min_identity is not None
        return replace(self, mode=self.mode or ("global" if is_whole else "local"))

    @property
    def orientations(self) -> tuple[str, ...]:
        """What the mates of a library may have, the usual one first."""
        return ORIENTATIONS if self.orientation is None else (self.orientation,)

    def for_pairs(self) -> MapParams:
        """The parameters of a run on pairs: their mode is chosen."""
        return replace(self, mode=self.mode or ("global" if self.all_hits else "local"))

    def verify(self) -> MapParams:
        """Return self; raise ParameterError on the first value out of its range."""
        checks = (
            (
                "seed_length",
                self.seed_length is None or 4 <= self.seed_length <= 30,
                "must be from 4 to 30 bases",
            ),
            (
                "min_identity",
                self.min_identity is None or 50 <= self.min_identity <= 100,
                "must be from 50 to 100 %",
            ),
            ("gaps", self.gaps is None or 0 <= self.gaps <= MAX_GAPS, f"must be from 0 to {MAX_GAPS}"),
            (
                "min_length",
                self.min_length is None or MIN_READ_LENGTH <= self.min_length <= MAX_READ_LENGTH,
                f"must be from {MIN_READ_LENGTH} to {MAX_READ_LENGTH}",
            ),
            ("sensitivity", 0 <= self.sensitivity <= 5, "must be from 0 to 5"),
            ("max_hits", 1 <= self.max_hits <= 0xFFFFFFFF, "must be at least 1 and less than 2^32"),
            ("threads", 1 <= self.threads <= MAX_THREADS, THREADS_RANGE),
            ("processes", self.processes is None or 1 <= self.processes <= MAX_THREADS, THREADS_RANGE),
            ("batch_size", self.batch_size is None or self.batch_size >= 1, "must be at least 1"),
            ("memory", self.memory is None or self.memory >= 1 << 20, LEAST_MEMORY),
            ("insert", self.insert is None or _is_insert(self.insert), INSERT_RANGE),
            (
                "orientation",
                self.orientation in (None, *ORIENTATIONS),
                f"must be one of {', '.join(ORIENTATIONS)}",
            ),
            ("mode", self.mode in (None, *MODES), f"must be {' or '.join(MODES)}"),
            ("scoring", isinstance(self.scoring, Scoring), "must be a gassst.Scoring"),
            ("all_hits", self.mode != "local" or not self.all_hits, LOCAL_BEST),
            ("meth", self.meth in (None, *METH_LIBRARIES), f"must be one of {', '.join(METH_LIBRARIES)}"),
            ("device", self.meth is None or self.device in (None, NO_DEVICE), "must be none for methylation"),
            ("all_hits", self.meth is None or not self.all_hits, "is not for methylation"),
            ("filters", self.meth is None or set(self.filters) <= {AUTO, "band32"}, METH_FILTERS),
            ("strata", self.all_hits or not self.strata, "is a choice among all hits: it needs all_hits"),
        )
        for name, holds, complaint in checks:
            if not holds:
                raise ParameterError(name, complaint)
        self.scoring.verify()
        return self
