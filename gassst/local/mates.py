"""Local alignments of pairs: where one mate has a place, the other is looked for around it, clipped or not.

Pairs that the whole-read search settled keep their places. Of the others, a mate without a concordant place is scored
in every band of the windows that the insert sizes leave around the best places of its partner. Of all concordant pairs
of places the best one is taken, if it costs less than `PAIR_BONUS` in score.
"""

from __future__ import annotations

import numpy as np

from gassst.local.align import Aligner
from gassst.model.array_types import F64, U8, U32
from gassst.model.rules import optional
from gassst.search.context import PairContext
from gassst.search.host import RESCUE_PLACES
from gassst.search.paired import EDIT_PHRED

# Score that a concordant place is worth: bwa's -U.
PAIR_BONUS = 17
# Bases in a row that a band must have in common with a mate to be scored. Of 17,804 bands in the windows of real
# E. coli mates 780 have them, and all that score 13 or more; of human ones all that score 16 or more
# (lab/constants.md).
RUN = 9


@optional(
    "placed-together",
    "Chooses the places of both mates together, by their scores.",
    instead=lambda aligner, pairs, decided: (np.empty(0, np.uint32), np.zeros(len(decided))),
)
def pair_up(aligner: Aligner, pairs: PairContext, decided: U8) -> tuple[U32, F64]:
    """Place mates together where the best concordant pair of places costs less than it is worth.

    The aligner knows the places that are found beside mates, and the new lines of mates that move.

    Parameters
    ----------
    decided : uint8[n]
        1 for mates that keep their place.

    Returns
    -------
    joined : uint32[j]
        Reads that lie beside their mate by what the scores of both say; both mates of a pair.
    wrong : float64[n]
        Of the joined: weight of all other known pairs of places, relative to those with the place that is reported.
    """
    return aligner.compiled.pair_up(pairs, decided, PAIR_BONUS, EDIT_PHRED, RESCUE_PLACES, RUN)
