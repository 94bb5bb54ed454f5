"""What the search keeps on a device: columns by number, and the handles that one pass gives to the next.

The kernels (`gassst/gpu/kernels/search.h`) get the numbers of the columns as definitions. A handle names
buffers. Nobody but the passes of `gpu.backend` looks into them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from gassst._core.read_search import MOST_SCORED
from gassst.model.layouts import NO_SCORE
from gassst.model.params import MAX_READ_LENGTH
from gassst.search.plan import SearchPlan

if TYPE_CHECKING:
    from gassst.gpu.device import Memory

STATE = ("BEST", "LIMIT", "COMPLETE", "PLANNED", "CAPPED", "LOOKED")
"""Columns of the state of the reads: uint16[columns, n], as `Stages.take` reads them."""
PLAN = (
    "SEED_LENGTH",
    "SEED_COUNT",
    "SEED_EVERY",
    "DISJOINT",
    "SETTLED",
    "ERRORS",
    "BAND_WORDS",
    "GIVEN_UP",
)
"""Columns of the plan of a stage by read length: int16[columns, MAX_READ_LENGTH + 1], as `SearchPlan` has them.

GIVEN_UP: 1 where a single read without a place does not take the stage."""
COUNTERS = (
    "ACTIVE",  # reads that take part
    "ANCHORS",  # occurrences of their seeds
    "OVERFLOW",  # not 0: something did not fit
    "MANY",  # reads with more than FEW anchors
    "CANDIDATES",  # anchors, merged, without the known ones
    "TOP_BUCKETS",
    "LISTED",  # anchors for the narrow band
    "REJECTED",  # by the narrow band
    "BANDS",
    "PASSED",  # occurrences that the narrow band lets pass, where all places are wanted
    "MANY_PASSED",  # reads with more than FEW of them
    "GAPPED",  # alignments that need a traceback
    "RUNS",  # room for their runs
    "KEPT",  # bands within the limits, those of all stages in the counts of the first
    "LACKING",  # there, too: not 0 where anchors of a stage did not fit
    "ENDS",  # and places with clipped ends in bands of each of ENDS_WIDTHS
)
"""Counts of a stage: uint32[]."""
ENDS_WIDTHS = 3
"""Widths of the bands of local alignments, from 16 diagonals on, each twice the one before."""

GROUP = 64
"""Work-items of a group in passes that count."""
FEW = 48
"""Anchors of a read that one work-item sorts."""
NEAR = 2048
"""Anchors of a read that a work-group sorts in local memory."""
MOST_ANCHORS = 1 << 26
"""Of a read, before they are merged. With as many the batch is left to the host."""


def definitions() -> list[str]:
    """Options of the compiler that define what the kernels take from here."""
    numbers = {name: i for names in (STATE, PLAN, COUNTERS) for i, name in enumerate(names)}
    numbers |= {
        "GROUP": GROUP,
        "FEW": FEW,
        "NEAR": NEAR,
        "LENGTHS": MAX_READ_LENGTH + 1,
        "NO_SCORE": NO_SCORE,
        "ENDS_WIDTHS": ENDS_WIDTHS,
        "MOST_SCORED": MOST_SCORED,
    }
    return [f"-D{name}={number}" for name, number in numbers.items()] + [f"-DMOST_ANCHORS={MOST_ANCHORS}u"]


def plan_columns(plan: SearchPlan, stage: int, given_up: np.ndarray) -> np.ndarray:
    """int16[len(PLAN), MAX_READ_LENGTH + 1]. `given_up`: bool[MAX_READ_LENGTH + 1]."""
    settled = plan.settled[stage] if stage < plan.MAX_STAGES else np.full_like(plan.settled[0], -1)
    seeds = (row[stage] for row in (plan.seed_length, plan.seed_count, plan.seed_every, plan.disjoint))
    return np.array([*seeds, settled, plan.errors, plan.words, given_up], np.int16)


@dataclass(frozen=True, eq=False, repr=False)
class DeviceReads:
    """Reads that take part in a stage, of which the device alone knows how many there are.

    `numbers`: buffer of uint32[n]; `counters`: of the stage."""

    stage: int
    numbers: Memory
    counters: Memory
    plan: Memory


@dataclass(frozen=True, eq=False, repr=False)
class DeviceSeeds:
    """Seeds of a stage: `width` of them at most in each read; buffers by seed, then by read."""

    reads: DeviceReads
    width: int
    lo: Memory
    count: Memory
    looked: Memory
    at: Memory
    segment: Memory
    many: Memory


@dataclass(frozen=True, eq=False, repr=False)
class DeviceAnchors:
    """Anchors of a stage: buffers of uint64[room], the read of each; segments by read."""

    reads: DeviceReads
    room: int
    anchors: Memory
    owner: Memory
    segment: Memory


@dataclass(frozen=True, eq=False, repr=False)
class DeviceBands:
    """Bands of a stage: of the top buckets, or of all other buckets. Columns have `room` rows; `bands` uint32[a, 2]."""

    reads: DeviceReads
    is_top: bool
    room: int
    pairs: Memory
    bands: Memory
    found: Memory
    kept: Memory


@dataclass(eq=False, repr=False)
class DeviceState:
    """What is known of the reads of a batch, on a device.

    Attributes
    ----------
    columns : buffer of uint16[len(STATE), n]
    number : buffer of uint32[n]
        Bands of each read within the limits.
    stages : list of DeviceAnchors
        Of the stages so far: they tell which buckets were seen.
    bands : list of DeviceBands
    """

    columns: Memory
    number: Memory
    stages: list[DeviceAnchors] = field(default_factory=list)
    bands: list[DeviceBands] = field(default_factory=list)
