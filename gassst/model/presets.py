"""What the sensitivity levels -s 0 to 5 mean: every threshold of the search that a level sets, by name."""

from __future__ import annotations

from gassst.frozen import frozen

EXTRA_STRATA = 2
"""Strata that count beyond the best one: enough to tell how far the second best is."""


@frozen()
class Preset:
    """The thresholds of one sensitivity level; lab/sensitivity.md shows what each level costs and finds.

    Attributes
    ----------
    occurrences : int or None
        A seed is passed over when it occurs more often than this many times one plus its occurrences by chance.
        None passes over nothing.
    strata : int
        A stage of seeds is left out when every alignment with fewer than best + strata errors has been seen.
        0: no better one can exist; 1: all equally good ones are known; 2: the second-best stratum is known.
    missed : float
        A stage is also left out when the stage before misses at most this share of alignments as good as the best.
    """

    occurrences: int | None
    strata: int
    missed: float


# Measured at each level (lab/sensitivity.md).
PRESETS: tuple[Preset, ...] = (
    Preset(occurrences=32, strata=0, missed=0.8),
    Preset(occurrences=256, strata=0, missed=0.5),
    Preset(occurrences=256, strata=1, missed=0.25),
    Preset(occurrences=1024, strata=1, missed=0.05),
    Preset(occurrences=8192, strata=2, missed=0.0),
    Preset(occurrences=None, strata=2, missed=0.0),
)  # fmt: skip
