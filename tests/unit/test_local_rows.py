"""What a batch with local ends reports, against NumPy."""

import numpy as np

from gassst._core import local_rows as _local_rows
from gassst.local.places import Lines
from gassst.local.rivals import Rivals
from gassst.model.layouts import HIT, NO_SCORE, NO_SUBOPTIMAL
from gassst.model.params import Scoring

READS, LENGTH = 60, 80


def random_lines(rng, reads):
    k = len(reads)
    strands = (2 * reads + rng.integers(0, 2, k)).astype(np.uint32)
    hits = np.zeros(k, HIT)
    hits["read"], hits["edits"], hits["score"] = reads, rng.integers(0, 9, k), rng.integers(20, 80, k)
    begin, end = rng.integers(0, 20, k), rng.integers(60, LENGTH + 1, k)
    diagonal = rng.integers(0, 1000, k)
    total = (hits["score"] + rng.integers(0, 11, k)).astype(np.int32)
    return Lines(hits, strands, begin, end, total, diagonal, diagonal, np.ones(k, bool))


def test_summaries():
    rng = np.random.default_rng(1)
    reads = rng.permutation(READS)
    primary = random_lines(rng, reads[30:50])
    primary.hits["part"][[3, 7, 19]] = 2, 3, 1
    total = (primary.total + rng.integers(-1, 2, 20)).astype(np.int32)
    rivals = Rivals(total, rng.integers(20, 80, 20).astype(np.int32), rng.integers(0, 3, 20))
    summary = _local_rows.summarise(READS, primary, rivals)
    for i, r in enumerate(primary.read):
        score, rival, count = primary.hits["score"][i], rivals.score[i], rivals.count[i]
        tied = count > 0 and total[i] >= primary.total[i]
        suboptimal = rival if total[i] > primary.total[i] else min(rival, score)
        counts = (1 + count, 0) if tied else (1, count)
        row = {3: READS + 1, 7: READS + 2, 19: READS}.get(i, r)
        assert summary[row].tolist() == (primary.hits["edits"][i], NO_SCORE, *counts, 0, suboptimal)
    assert len(summary) == READS + 3
    for r in [*reads[:30], *reads[50:], *primary.read[[3, 7, 19]]]:
        assert summary[r].tolist() == (NO_SCORE, NO_SCORE, 0, 0, 0, NO_SUBOPTIMAL)


def test_rows_are_in_the_order_of_reads_then_of_parts():
    rng = np.random.default_rng(2)
    parts = [random_lines(rng, rng.integers(0, READS, k)).hits for k in (50, 0, 30, 7)]
    rows, count = _local_rows.in_order(parts, READS)
    together = np.concatenate(parts)
    assert (rows == together[np.argsort(together["read"], kind="stable")]).all()
    assert (count == np.bincount(together["read"], minlength=READS)).all()


def test_parts_of_strands_and_their_loss():
    rng, scoring = np.random.default_rng(3), Scoring()
    lines = random_lines(rng, np.arange(READS))
    begin, end, loss = _local_rows.parts_of_strands(lines, np.full(READS, LENGTH, np.uint32), scoring)
    reverse = lines.read_strand & 1 == 1
    assert (begin == np.where(reverse, LENGTH - lines.end, lines.begin)).all()
    assert (end == np.where(reverse, LENGTH - lines.begin, lines.end)).all()
    assert np.allclose(loss, (lines.end - lines.begin - lines.hits["score"]) / 5)
