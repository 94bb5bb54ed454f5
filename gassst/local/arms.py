"""How much an alignment may lose that a narrow band is still proved to hold, by arms of bases at the ends of the read.

An alignment A touches a diagonal and leaves the band around it. It can be cut where it last leaves the `INNER` ones
next to that one. The cut one lies in the band, so it loses as much as the best one there, L. If A loses no more than
L, what was cut off scores at least as much as the gaps on its way cost. So it has many bases, few mismatches, and no
base on a diagonal nearby; and it goes to the end of the read, or to a clipped end close to that. Arms are stretches
of bases side by side at the end of the read. A mismatch or a gap spoils one of them, an insertion a few. Where more
arms lie in what was cut off than can be spoiled, one fits without an error on a diagonal further away. Where none
does, no such A exists (`ext/align/band_widths.pyx`). `proved_loss` goes through all ways out of the band. Both ends
of the read are alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gassst.params import Scoring

INNER = 3  # a piece on a diagonal nearer than this is in the band, and behind a gap that is usual
MOST_AWAY = 56  # diagonals of which one word of bits and an arm tell


class Arms(NamedTuple):
    """`number` arms of `bases` each at either end of a read."""

    bases: int
    number: int


ARMS = {
    16: (Arms(8, 1), Arms(7, 2), Arms(6, 3)),
    32: (Arms(8, 1), Arms(8, 3), Arms(8, 4), Arms(7, 5)),
    64: (Arms(8, 2),),
}
"""By the width of the band: more and shorter arms prove more. By chance one read in 600 has an arm of the first
kind that fits, one in 13 of Arms(6, 3), and one in 25 of Arms(7, 5)."""


@cache
def proofs(scoring: Scoring, width: int) -> NDArray[np.int64]:
    """int64[t, 3]: bases and number of the arms to use, and the least loss that they do not prove; this ascends."""
    rows = [(*arms, proved_loss(scoring, width, arms)) for arms in ARMS.get(width, ())]
    best = [row for i, row in enumerate(rows) if row[2] > max([0, *(x[2] for x in rows[:i])])]
    return np.array(best, np.int64).reshape(-1, 3)


def proved_loss(scoring: Scoring, width: int, arms: Arms) -> int:
    """The least loss that such arms do not prove in bands of this width: 0 where they prove nothing."""
    (open_d, open_i), (extend_d, extend_i) = scoring.gap_open, scoring.gap_extend
    if 0 in scoring.gap_open:
        return 0
    out, back, insertion = width // 2, width // 2 - INNER + 1, extend_i + scoring.match
    proved = min(
        # There and back again.
        open_d + open_i + min(out * extend_d + back * insertion, out * insertion + back * extend_d),
        # Out of the band at both ends.
        2 * min(open_d + out * extend_d, open_i + out * insertion),
        # Further away than the bits tell.
        min(scoring.gap_open) + (MOST_AWAY + 1) * min(scoring.gap_extend),
    )
    for loss, bases, clipped, spoiled in _ways_out(scoring, out, arms.bases, proved):
        whole = min(arms.number, (clipped + bases) // arms.bases) - -(-clipped // arms.bases)
        if whole <= spoiled:
            proved = min(proved, loss)
    return proved


def _ways_out(scoring: Scoring, half: int, arm: int, limit: int) -> Iterator[tuple[int, int, int, int]]:
    """Ways out of a band that lose less than `limit`: what they lose, and of what is cut off the least bases, the bases
    clipped behind it, and the most arms (of `arm` bases) that are spoiled.

    It is behind `gaps` gaps. One more is before it where the cut is not on the diagonal that is touched. Between these
    gaps may be inserted bases, which deletions make up for where these lead out.
    """
    match, each, opened = scoring.match, scoring.match + scoring.mismatch, min(scoring.gap_open)
    (extend_d, extend_i), insertion = scoring.gap_extend, scoring.gap_extend[1] + scoring.match
    for before, by_insertion, gaps in product((0, 1), (False, True), range(1, limit // opened + 1)):
        away = half - before * (INNER - 1)
        for mismatches, inserted in product(range(limit // each + 1), range(limit // insertion + 1)):
            if gaps == 1 and inserted:
                continue
            loss, cost = (gaps + before) * opened + mismatches * each, gaps * opened + mismatches * each
            if by_insertion:
                loss += half * insertion
                cost += away * extend_i
            else:
                loss += (half + inserted) * extend_d + inserted * insertion
                cost += (away + inserted) * extend_d + inserted * extend_i
            if loss >= limit:
                if by_insertion:
                    break
                continue
            spoiled = mismatches + gaps - 1 + max(inserted + arm - 2, 0) // arm
            yield loss, max(-(-(cost - scoring.clip) // match), 1) + inserted, 0, spoiled
            for clipped in range(1, (limit - 1 - loss - scoring.clip) // match + 1):
                yield loss + scoring.clip + clipped * match, -(-cost // match) + inserted, clipped, spoiled
