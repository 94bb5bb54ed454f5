"""Parameters of a mapping run: every default lives here, once."""

from __future__ import annotations

from numbers import Real
from typing import Any, Literal

from gassst.errors import ParameterError
from gassst.frozen import TypedDict, field, frozen, replace
from gassst.model.options import MACHINE, Values, at_least, between, described, one_of, option, verify
from gassst.workers.thread_count import MAX_THREADS, usable_threads

INDEX_STEPS = (1, 2, 4)  # distances in bases between the positions that an index may have
MAX_READ_LENGTH = 4000
MIN_READ_LENGTH = 15
SPECIFIC_LENGTH = 20  # of a read that says itself where it lies; no shorter part is cut out of another read
MAX_GAPS = 248  # eight words of diagonals hold 2 * 248 + 16
MAX_ERRORS = 255
STRETCH = 4096  # reads of an input that are judged by one library; batches have whole ones
EVERY_HIT = 0xFFFFFFFF  # of `MapParams.max_hits`
MOST_LISTED = 1 << 14  # alignments of a part of a read in local mode; places of a read are sorted by 15 bits
LEAST_SHARE = 0.8  # of the best score, which an alignment needs to be listed by -k: that of XA of bwa mem
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
CONVERSIONS = {"ct": 1, "ga": 2}
"""C that became T, G that became A: the numbers of `gassst/gpu/kernels/planes.h`."""
AUTO = "auto"  # of the filters, those that pay
DEFAULT_FILTERS: tuple[str, ...] = (AUTO,)


NO_DEVICE = "none"  # of `MapParams.device`
SMALL_RNA: dict[str, Any] = {"min_identity": 94.0, "max_hits": 50, "sensitivity": 3, "strata": True}
"""What --preset small-rna means unless it is said otherwise: up to 16 bases no error, up to 33 one."""
ANCIENT: dict[str, Any] = {"mode": "global", "min_length": LEAST_SCORE}
"""The same of --preset ancient: clipped ends would hide the damage, and shorter reads fit somewhere by chance."""
THREADS = between(1, MAX_THREADS)


def _is_pair(values: object, least: float, most: float) -> bool:
    """Whether these are two numbers within these bounds; a NaN is not."""
    if not isinstance(values, tuple | list) or len(values) != 2:
        return False
    return all(isinstance(value, Real) and least <= float(value) <= most for value in values)


def _both(least: int) -> Values:
    """The penalties of both kinds of gaps."""
    complaint = f"must be from {least} to {MAX_PENALTY}, for both kinds of gaps"
    return Values(lambda values: _is_pair(values, least, MAX_PENALTY), complaint)


INSERT = Values(
    lambda values: _is_pair(values, 0, LONGEST_TEMPLATE) and all(values),
    f"must be MEAN,SD of more than 0 and up to {LONGEST_TEMPLATE:,}",
)


@described
@frozen()
class Scoring:
    """Costs of a local alignment, in bwa's convention: a gap of length k costs open + k * extend.

    A masked base against anything costs 1, as N does in bwa. The bonus of the ends is not part of the score that is
    reported. Without `min_score`, a read too short for `LEAST_SCORE` must fit without an error.

    Attributes
    ----------
    """

    match: int = option(
        1, "-A, --match N", f"Set the score of a match, 1 to {MAX_MATCH}.", between(1, MAX_MATCH)
    )
    mismatch: int = option(4, "-B, --mismatch N", "Set the penalty of a mismatch.", between(0, MAX_PENALTY))
    gap_open: tuple[int, int] = option(
        (6, 6),
        "--gap-open N[,N]",
        "Set the penalty for opening a gap; two numbers are for deletions and for insertions (default: 6).",
        _both(0),
    )
    gap_extend: tuple[int, int] = option(
        (1, 1),
        "-E, --gap-extend N[,N]",
        "Set the penalty for each base of a gap, likewise (default: 1).",
        _both(1),
    )
    clip: int = option(
        5,
        "-L, --clip-penalty BONUS",
        "Set the bonus for each end of the read that the alignment reaches.",
        between(0, MAX_PENALTY),
    )
    min_score: int | None = option(
        None,
        "-T, --min-score N",
        "Report local alignments with at least this score; a concordant mate adds 17 to it (default: "
        f"{LEAST_SCORE}, and single reads that fit end to end within -p).",
        between(0, 0x7FFF),
    )

    @property
    def least_score(self) -> int:
        """The least score of an alignment that is reported."""
        return LEAST_SCORE if self.min_score is None else self.min_score

    def verify(self) -> Scoring:
        """Return self; raise ParameterError on the first value out of its range: a read's score is kept in 16 bits."""
        verify(self)
        return self


DEFAULT_SCORING = Scoring()


@described
@frozen()
class MapParams:
    """What a mapping run does; `None` means chosen from read length and reference (see `search.plan`).

    Attributes
    ----------
    threads : int
        Worker threads (-t), by default one for each core that this process may use.
    scoring : Scoring
        Of local alignments.
    """

    meth: Literal["directional", "non-directional", "pbat"] | None = option(
        None,
        "--meth-library",
        "Say which strands a library for --meth has. Of a directional one, C became T in first reads and G became "
        "A in their mates; pbat is the reverse. Of a non-directional one, each template shows it itself "
        "(default: directional).",
        values=one_of(*METH_LIBRARIES),
        group="alignment",
    )
    preset: Literal["hic", "small-rna", "ancient"] | None = option(
        None,
        "--preset",
        "Set several options for a kind of data. For Hi-C, hic is -5, -P and --no-rescue. small-rna is --strata, -k "
        f"{SMALL_RNA['max_hits']}, -p 94, -s 3 and the --adapter of usual kits; a collapsed read (name_x12) counts as "
        f"its name says. For merged ancient DNA, ancient is --mode global and --min-length {ANCIENT['min_length']}.",
        values=one_of("hic", "small-rna", "ancient"),
        group="alignment",
    )
    mode: Literal["global", "local"] | None = option(
        None,
        "--mode",
        "Align locally or globally. Local alignments may clip or split a read, global ones align all of it "
        "(default: local, but global with --all, and for single reads with -p).",
        values=one_of(*MODES),
        group="alignment",
    )
    min_identity: float | None = option(
        None,
        "-p, --min-identity PERCENT",
        "Report whole reads with at least this identity; in local mode, parts of other reads too "
        "(default: 80, more where chance hits would be likely).",
        between(50, 100, " %"),
        group="alignment",
    )
    min_length: int | None = option(
        None,
        "--min-length BASES",
        f"Leave reads with fewer bases unmapped (default: {MIN_READ_LENGTH}; with --preset ancient "
        f"{ANCIENT['min_length']}).",
        between(MIN_READ_LENGTH, MAX_READ_LENGTH),
        group="alignment",
    )
    gaps: int | None = option(
        None,
        "-g, --gaps BASES",
        "Look for whole reads with at least this many inserted and deleted bases; local mode finds longer gaps "
        "as far as the score pays (default: 15, with --all the error limit).",
        between(0, MAX_GAPS),
        group="alignment",
    )
    alt_aware: bool = option(
        True,
        "-j, --no-alt",
        "Treat ALT contigs as part of the primary assembly. By default, primary alignments avoid ALT contigs "
        "if possible, and ALT copies do not lower MAPQ.",
        group="alignment",
    )
    strand: Literal["+", "-"] | None = option(
        None,
        "--strand",
        "Search one strand only: reads align as they are (+) or as reverse complements (-). Of pairs it is the strand "
        "of the first mate; the second aligns to the other one, or with --ff to the same (default: both).",
        values=one_of("+", "-"),
        group="alignment",
    )
    max_hits: int = option(
        1,
        "-k, --max-hits K",
        "Report up to this many alignments per read, or per part of a split one. In local mode each has at least four "
        "fifths of the best score (default: {default}; with --strata all, with --preset small-rna "
        f"{SMALL_RNA['max_hits']}).",
        Values(lambda value: 1 <= value <= EVERY_HIT, "must be at least 1 and less than 2^32"),
        group="alignment",
        excludes="hits",
    )
    all_hits: bool = option(
        False,
        "--all",
        "Report every alignment within the error limit; with --mode local, every one that scores -T.",
        group="alignment",
        excludes="hits",
    )
    strata: bool = option(
        False,
        "--strata",
        "Report all alignments with the fewest errors of the read, or up to -k of them, and none with more. For "
        "single reads, which are aligned end to end.",
        group="alignment",
    )
    sensitivity: int = option(
        2,
        "-s, --sensitivity 0..5",
        "Trade speed for sensitivity: 0 is fastest, 5 skips no seed "
        f"(default: {{default}}; with --preset small-rna {SMALL_RNA['sensitivity']}).",
        between(0, 5),
        group="sensitivity",
    )
    seed_length: int | None = option(
        None,
        "-w, --seed-length BASES",
        "Use seeds of at least this many bases (default: by read length and -p).",
        between(4, 30, " bases"),
        group="sensitivity",
    )
    filters: tuple[str, ...] = option(
        DEFAULT_FILTERS,
        "--filters F1,F2,..",
        "Run these filters in this order before alignment; 'auto' runs band32, 'none' runs none "
        f"(default: {','.join(DEFAULT_FILTERS)}). They reject only candidates beyond the error limit.",
        group="sensitivity",
    )
    insert: tuple[float, float] | None = option(
        None,
        "--insert MEAN,SD",
        "Set the insert size between the outer ends of mates (default: learned from the first reads).",
        INSERT,
        group="pairs",
        excludes="insert",
    )
    pairing: bool = option(
        True,
        "-P, --no-pairing",
        "Map each mate on its own. Flags and tags still describe the pair.",
        group="pairs",
    )
    mate_rescue: bool = option(
        True, "--no-rescue", "Do not search for a mate near its partner.", group="pairs"
    )
    five_prime: bool = option(
        False,
        "-5, --five-prime",
        "Make the part nearest to the 5' end of a split read primary.",
        group="pairs",
    )
    orientation: Literal["fr", "rf", "ff"] | None = option(
        None,
        "--fr, --rf, --ff",
        {
            "fr": "Expect mates that face each other (default: learned from the first pairs).",
            "rf": "Expect mates that face away from each other.",
            "ff": "Expect mates on the same strand.",
        },
        values=one_of(*ORIENTATIONS),
        group="pairs",
        excludes="orientation",
    )
    device: str | None = option(
        None,
        "--device NAME",
        "Use an OpenCL device: gpu, cpu, part of a name or an index such as 0:1. With none, CPU "
        "code does all the work (default: auto, a GPU where it is faster; `gassst devices` lists all).",
        group=MACHINE,
    )
    batch_size: int | None = option(
        None,
        "--batch-size READS",
        "Parse this many reads at once in a thread (default: 8192, 4096 with --all, more for a device). "
        "Mapped are multiples of 4,096: larger numbers are rounded down, smaller batches joined. The first batch "
        "has 1,024, and the first and last ones of several threads are smaller.",
        between(1, 1 << 24),  # `_core.reads.MAX_READS`
        group=MACHINE,
    )
    memory: int | None = option(
        None,
        "--memory SIZE",
        "Use the index in parts of this size, such as 500M or 4G (default: all of it at once).",
        at_least(1 << 20, "must be at least 1M (1,048,576 bytes)"),
        group=MACHINE,
    )
    threads: int = field(default_factory=usable_threads, metadata={"group": MACHINE})
    scoring: Scoring = DEFAULT_SCORING

    def reads_per_batch(self, on_device: bool = False) -> int:
        """`batch_size`, or what is usual: small batches cost more per read, large ones memory. A device needs more
        at once. Where all positions are wanted, a read in a repeat may have a hundred thousand."""
        return self.batch_size or (49_152 if on_device else STRETCH if self.exhaustive else 8192)

    @property
    def exhaustive(self) -> bool:
        """Whether every position of whole reads is searched for. Local mode looks for the best ones first."""
        return self.all_hits and self.mode != "local"

    @property
    def most_hits(self) -> int:
        """Most alignments of a part of a read in local mode."""
        return MOST_LISTED if self.all_hits else min(self.max_hits, MOST_LISTED)

    @property
    def longest_read(self) -> int:
        """Bases of the longest read that a search takes."""
        most = MAX_READ_LENGTH
        return min(most, MAX_LOCAL_SCORE // self.scoring.match) if self.mode == "local" else most

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
        return self if self.mode else replace(self, mode="global" if self.all_hits else "local")

    def verify(self) -> MapParams:
        """Return self; raise ParameterError on the first value out of its range."""
        is_meth = self.meth is not None
        verify(self)
        checks = (
            ("threads", THREADS.hold(self.threads), THREADS.complaint),
            ("device", not is_meth or self.device in (None, NO_DEVICE), "must be none for methylation"),
            (
                "filters",
                not is_meth or set(self.filters) <= {AUTO, "band32"},
                "must be auto or band32 for methylation",
            ),
            ("strata", self.exhaustive or not self.strata, "is a choice among all hits of whole reads"),
        )
        for name, holds, complaint in checks:
            if not holds:
                raise ParameterError(name, complaint)
        self.scoring.verify()
        return self


class MapOptions(TypedDict, total=False):
    """The fields of `MapParams`, as arguments of `Mapper`. Of `threads`, None is the default, too."""

    meth: Literal["directional", "non-directional", "pbat"] | None
    preset: Literal["hic", "small-rna", "ancient"] | None
    mode: Literal["global", "local"] | None
    min_identity: float | None
    min_length: int | None
    gaps: int | None
    alt_aware: bool
    strand: Literal["+", "-"] | None
    max_hits: int
    all_hits: bool
    strata: bool
    sensitivity: int
    seed_length: int | None
    filters: tuple[str, ...]
    insert: tuple[float, float] | None
    pairing: bool
    mate_rescue: bool
    five_prime: bool
    orientation: Literal["fr", "rf", "ff"] | None
    device: str | None
    batch_size: int | None
    memory: int | None
    threads: int | None
    scoring: Scoring
