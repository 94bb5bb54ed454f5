"""Pairs that may lie in a copy nobody looked at: they are looked up once more, as at the next sensitivity level.

Where the seeds of both mates were passed over, as they occur too often, or pass an error each, the true place may be
known of neither. What such places weigh is known (`mapq.unseen_pairs`). Few pairs have a quality below 17 by that
alone, so a closer look at them costs little. Others would keep theirs: known rivals stay, and what is sure stays so.

Mates that were cut at the end of a short fragment hold the same bases. Where they differ, one of them has an error, and
a copy of a repeat that has the wrong base fits the pair as well as the true place does: it fits the other mate. Where
most seeds were passed over, that copy may not be known. Usual mates hold other bases, and need two such errors.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gassst._core import read_through as _read_through
from gassst.local.read_through import fragments_of
from gassst.search.arrays import I64, BatchResult, Bool, GlobalResult
from gassst.search.context import BatchContext, PairContext

# Share of a mate's seeds that were passed over from which on its pair is looked up again. Of 600,000 mates of human133
# with adapters and 0.5 % errors (seeds 4301 to 4303) 16 of 2,285 above it were wrong with MAPQ 20 or more, for 0 of
# 13,777 below.
MOST_PASSED_OVER = 0.5
# Mapping quality up to which another place is known to be as likely.
EVEN = 3
# And from which on a pair without errors has no copy as good. Places of some of their buckets were not scored.
DOUBTED = 30


def in_doubt(found: GlobalResult, pairs: PairContext, hidden: float | None) -> Bool:
    """bool[n]: mates whose place is not certain because of what was not looked at.

    `hidden`: of the level's `Preset`.
    """
    doubt = np.zeros(len(found.summary), bool)
    if hidden is not None:
        # The mates of a pair may weigh known places in other ways.
        doubt = found.proper & (np.maximum(found.hidden, found.hidden[pairs.partner]) >= hidden)
    if pairs.same_bases:
        doubt |= _cut_in_doubt(found, pairs)
    return doubt & pairs.paired


def _cut_in_doubt(found: GlobalResult, pairs: PairContext) -> Bool:
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
    return (may_have_rivals | found.left_to_local) & (hidden | hidden[partner])


def looked_closer(context: BatchContext, rows: I64) -> BatchContext:
    """The batch of some reads (int64[k], ascending) of a batch, searched as at the next sensitivity level.

    On the host, as `fragments_of` leaves the device out: that knows the plan of the run alone.
    """
    closer = replace(context, plan=context.plan.next_level())
    return fragments_of(closer, rows, context.lengths[rows].astype(np.uint16))


def put_back(result: BatchResult, again: BatchResult, rows: I64) -> BatchResult:
    """The result of a batch with that of some of its reads (int64[k], ascending) that were looked up `again`.

    `result` has them unmapped.
    """
    own = again.hits.copy()
    own["read"] = rows[own["read"]]
    own["cigar_start"] += np.uint32(len(result.cigars))
    hits, summary = _read_through.put_back(result, again, own, rows)
    summary[rows] = again.summary  # of whole reads, as elsewhere
    return BatchResult(hits, summary, np.concatenate([result.cigars, again.cigars]))
