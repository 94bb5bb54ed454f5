"""Pairs of cut mates that may lie in a copy nobody looked at: they are looked up once more, with more occurrences.

Both mates of a short fragment hold the same bases. Where they differ, one of them has an error, and a copy of a repeat
that has the wrong base fits the pair as well as the true place does: it fits the other mate. Where most seeds were
passed over, as they occur too often, that copy may not be known. Usual mates hold other bases, and need two such
errors.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gassst.search.arrays import Bool, GlobalResult
from gassst.search.context import BatchContext, PairContext

# Share of a mate's seeds that were passed over from which on its pair is looked up again. Of 600,000 mates of human133
# with adapters and 0.5 % errors (seeds 4301 to 4303) 16 of 2,285 above it were wrong with MAPQ 20 or more, for 0 of
# 13,777 below.
MOST_PASSED_OVER = 0.5
# Mapping quality up to which another place is known to be as likely.
EVEN = 3
# And from which on a pair without errors has no copy as good. Places of some of their buckets were not scored.
DOUBTED = 30


def in_doubt(found: GlobalResult, pairs: PairContext) -> Bool:
    """bool[n]: cut mates of which one had more seeds passed over than not, and whose place is not certain by that.

    Their pair has an error or a low quality, and no equally good place is known. Or it fits nowhere as a whole.
    """
    n, partner = len(found.summary), pairs.partner
    mapped = np.flatnonzero(np.diff(found.start))
    errors = np.zeros(n, np.int64)
    errors[mapped] = found.bands.edits[found.rows[found.start[mapped]]]
    hidden = found.passed_over > MOST_PASSED_OVER
    unsure = found.quality <= EVEN
    least_quality = np.minimum(found.quality, found.quality[partner])
    may_differ = (errors + errors[partner] > 0) | (least_quality < DOUBTED)
    may_have_rivals = found.proper & may_differ & ~(unsure & unsure[partner])
    return (may_have_rivals | found.left_to_local) & pairs.paired & (hidden | hidden[partner])


def with_more_occurrences(context: BatchContext) -> BatchContext:
    """The same batch, in which seeds may occur as often as at the next sensitivity level."""
    return replace(context, plan=context.plan.with_more_occurrences())
