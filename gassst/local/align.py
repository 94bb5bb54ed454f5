"""The aligner of a batch with its costs (`_core.read_search`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from gassst._core.read_search import LocalAligner
from gassst.frozen import replace
from gassst.model.array_types import I16, I32
from gassst.model.params import SPECIFIC_LENGTH, MapParams, Scoring

# Clipped bases from which a read is looked up once more and may have supplementary alignments: a stretch of 20
# bases is the shortest that occurs once in a human genome by chance. 10 to 40 place as many right
# (lab/constants.md), but a split read has no part that is shorter.
MUCH_CLIPPED = SPECIFIC_LENGTH
# Score that a concordant place is worth: bwa's -U.
PAIR_BONUS = 17
# Of whole reads, which are aligned with the fewest errors.
BY_ERRORS = Scoring(match=0, mismatch=1, gap_open=(0, 0), gap_extend=(1, 1), clip=0)
WIDTHS = tuple(16 << i for i in range(6))
"""Of the bands of local alignments, up to LOCAL_WIDTH of local_lanes.h."""


def doubled(scoring: Scoring) -> I16:
    """`scoring` (params.Scoring) as kernels/local.h takes it: int16[8], the fields of local_scoring."""
    (deletion, insertion), (longer_deletion, longer_insertion) = scoring.gap_open, scoring.gap_extend
    gaps = (deletion + longer_deletion, longer_deletion, insertion + longer_insertion, longer_insertion)
    return 2 * np.array([scoring.match, scoring.mismatch, *gaps, scoring.clip, 1], np.int16)


def leaving_cost(scoring: Scoring, width: int) -> int:
    """Least loss of an alignment that touches a diagonal and leaves the band of `width` diagonals around it."""
    reach = width // 2
    (open_d, open_i), (extend_d, extend_i) = scoring.gap_open, scoring.gap_extend
    return min(open_d + reach * extend_d, open_i + reach * (extend_i + scoring.match))


def breaking_cost(scoring: Scoring) -> int:
    """Least loss of an alignment with a gap or a clipped end: what loses less goes along one diagonal, end to end."""
    return min(leaving_cost(scoring, 2), scoring.clip + scoring.match)


def whole_costs(scoring: Scoring, mate_bonus: int = PAIR_BONUS) -> I32:
    """What whole reads lose, as kernels/local_start.h takes it: int32[5], the fields of whole_costs."""
    differs, masked = scoring.match + scoring.mismatch, scoring.match + 1
    gap = max(scoring.gap_open) + max(scoring.gap_extend) + scoring.match
    return np.array([differs, masked, gap, breaking_cost(scoring), -(-mate_bonus // differs)], np.int32)


def compiled_aligner(params: MapParams, mate_bonus: int) -> LocalAligner:
    """An aligner for one thread. `mate_bonus`: what a concordant mate adds to a score."""
    if params.mode != "local":
        params = replace(params, scoring=BY_ERRORS)
    scoring = params.scoring
    leaving = np.array([leaving_cost(scoring, width) for width in WIDTHS])
    costs = doubled(scoring), np.array(WIDTHS), leaving, whole_costs(scoring, mate_bonus)
    return LocalAligner(params, *costs, MUCH_CLIPPED, mate_bonus)


def opened_aligner(context: Any) -> LocalAligner:
    """Returns that of this thread, with a batch (search.context.BatchContext) open."""
    params = context.params
    aligner: LocalAligner = context.plan.kept("aligner", lambda: compiled_aligner(params, PAIR_BONUS), params)
    aligner.open(context)
    return aligner
