"""Parameters of a mapping run: every default lives here, once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from .errors import UsageError

MAX_READ_LENGTH = 1000
MIN_READ_LENGTH = 20
MAX_GAPS = 248  # eight words of diagonals hold 2 * 248 + 16
MAX_ERRORS = 255
MAX_INSERT = 1_000_000
ORIENTATIONS = ("fr", "rf", "ff")
DEFAULT_FILTERS: tuple[str, ...] = ()  # a filter costs more than the bands it saves (docs/benchmarks.md)


class Level(NamedTuple):
    """What a sensitivity level (-s) means; the levels and what each costs and brings are in docs/benchmarks.md.

    occurrences : a seed that occurs more often than this many times 1 + its expected chance occurrences is passed over.
    occurrences_short : the same for seeds of less than 20 bases, which are looked up where longer ones found no good
        alignment: what they find often is not what is missing.
    strata : a stage of seeds is left out where every alignment with fewer than best + strata errors has been
        seen: 0, no better one can exist; 1, all equally good ones are known; 2, the second-best stratum is known too.
    share : a stage is left out, too, where an alignment has been found, and one with as many errors would have shown in
        the seeds of the stage before in all but this share of cases; 0, as `strata` says.
    share_alone : the same where no other band came within two errors of the best: hardly a repeat.
    step : the stage of overlapping seeds takes every one of them, or every step-th.
    """

    occurrences: int | None
    occurrences_short: int | None
    strata: int
    share: float
    share_alone: float
    step: int


LEVELS = (
    Level(16, 16, 0, 0.7, 1.0, 4),
    Level(256, 16, 0, 0.3, 0.7, 3),
    Level(256, 64, 1, 0.2, 0.5, 1),
    Level(1024, 1024, 1, 0.05, 0.05, 1),
    Level(8192, 8192, 2, 0.0, 0.0, 1),
    Level(None, None, 2, 0.0, 0.0, 1),
)

INSERT_RANGE = f"must be MEAN,SD of more than 0 and up to {MAX_INSERT}"


def _is_insert(insert: tuple[float, ...]) -> bool:
    return len(insert) == 2 and all(0 < value <= MAX_INSERT for value in insert)  # false for NaN, too


@dataclass(frozen=True)
class MapParams:
    """What a mapping run does; `None` means chosen from read length and reference (see `seeding.py`).

    Attributes
    ----------
    seed_length : int or None
        Shortest seed `w` in bases (option -w).
    min_identity : float or None
        Least identity in % (option -p): a read of m bases may have floor(m * (100 - p) / 100) errors.
    gaps : int or None
        Inserted and deleted bases up to which no alignment is missed (option -g): the half-width of the band.
    sensitivity : int
        0..5 (option -s): index of `LEVELS`. At 5 no seed is passed over.
    max_hits : int
        Alignments reported for a read at the most (option -k).
    all_hits : bool
        Report every alignment within the error limit (option --all).
    threads, device, batch_size, memory
        Worker threads; OpenCL device (see `opencl.choose`); reads per batch; bytes the index may keep resident.
    filters : tuple of str
        Names of `cascade.FILTERS`, in the order in which they are run.
    insert : (float, float) or None
        Mean and standard deviation of the insert size of pairs, outer ends (option --insert); None: learned.
    orientation : str
        Of the mates of a pair (options --fr, --rf, --ff).
    """

    seed_length: int | None = None
    min_identity: float | None = None
    gaps: int | None = None
    sensitivity: int = 2
    max_hits: int = 1
    all_hits: bool = False
    threads: int = 2
    device: str | None = None
    batch_size: int = 16384
    memory: int | None = None
    filters: tuple[str, ...] = DEFAULT_FILTERS
    insert: tuple[float, float] | None = None
    orientation: str = "fr"

    def verify(self) -> MapParams:
        """Return self; raise UsageError on the first value out of its range."""
        checks = (
            (self.seed_length is None or 4 <= self.seed_length <= 30, "-w must be from 4 to 30 bases"),
            (self.min_identity is None or 50 <= self.min_identity <= 100, "-p must be from 50 to 100 %"),
            (self.gaps is None or 0 <= self.gaps <= MAX_GAPS, f"-g must be from 0 to {MAX_GAPS}"),
            (0 <= self.sensitivity <= 5, "-s must be from 0 to 5"),
            (1 <= self.max_hits <= 0xFFFFFFFF, "-k must be at least 1 and less than 2^32"),
            (self.threads >= 1, "-t must be at least 1"),
            (self.batch_size >= 1, "--batch-size must be at least 1"),
            (self.memory is None or self.memory >= 1 << 20, "--memory must be at least 1M"),
            (self.insert is None or _is_insert(self.insert), f"--insert {INSERT_RANGE}"),
            (self.orientation in ORIENTATIONS, f"orientation must be one of {', '.join(ORIENTATIONS)}"),
        )
        for holds, message in checks:
            if not holds:
                raise UsageError(message)
        return self
