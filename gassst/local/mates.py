"""Local alignments of pairs: where one mate has a place, the other is looked for around it, clipped or not.

Pairs that the whole-read search settled keep their places. Of the others, a mate without a concordant place is scored
in every band of the windows that the insert sizes leave around the best places of its partner. Of all concordant pairs
of places the best one is taken, if it costs less than `PAIR_BONUS` in score (`ext/pairing/joint.pxi`).
"""

from __future__ import annotations

from gassst.model.rules import rule
from gassst.search.host import RESCUE_PLACES
from gassst.search.paired import EDIT_PHRED

# Score that a concordant place is worth: bwa's -U.
PAIR_BONUS = 17
# Bases in a row that a band must have in common with a mate to be scored. Of 17,804 bands in the windows of real
# E. coli mates 780 have them, and all that score 13 or more; of human ones all that score 16 or more
# (lab/constants.md).
RUN = 9
TOGETHER = rule("placed-together", "Chooses the places of both mates together, by their scores.")
MATES = EDIT_PHRED, PAIR_BONUS, RESCUE_PLACES, RUN, TOGETHER
"""As `ReadSearch` takes them."""
