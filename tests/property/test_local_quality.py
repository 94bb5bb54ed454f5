"""Mapping qualities of local alignments, against the same formula in NumPy, term by term."""

from types import SimpleNamespace

import numpy as np
import pytest

from gassst.layouts import HIT
from gassst.local import rivals as local_rivals
from gassst.local.places import MUCH_CLIPPED, Lines
from gassst.local.reseed import STRIDE, PassedOver
from gassst.local.rivals import Rivals, SeedCoverage, quality_of
from gassst.params import Scoring
from gassst.search.mapq import AS_LIKELY, MATE_MODEL, chance_places

K, SEED, N_BASES = 3000, 17, 3.0e8


def expected(case, over_known, over_unseen, n_bases):
    """The weights of all other places, added up."""
    scoring, cover = case.scoring, case.coverage
    read, aligned = case.lines.read, np.maximum(case.lines.end - case.lines.begin, 1)
    mismatch = scoring.match + scoring.mismatch
    edits = np.maximum(np.ceil((aligned * scoring.match - case.lines.hits["score"]) / mismatch), 0).astype(
        int
    )
    single = case.single
    shorter, longer = np.sort([case.lines.begin, case.lengths[read] - case.lines.end], axis=0)
    clipped = np.where(single, shorter + longer * (longer <= MUCH_CLIPPED), 0)
    hidden = np.ceil(clipped * (scoring.match / mismatch)).astype(int)

    def odds(errors):
        return np.minimum((errors + MATE_MODEL.prior) / (3 * np.maximum(aligned - errors - 1, 1)), 1)

    behind = (case.lines.total + over_known - case.rivals.total) / mismatch
    known = case.rivals.count > 0
    wrong = np.where(known, case.rivals.count * odds(edits + hidden) ** np.maximum(behind, 0), 0)
    over = cover.passed_over.within(read, case.lines.begin, case.lines.end)
    seeds = np.maximum(np.floor((case.lines.end - SEED) / STRIDE) - np.ceil(case.lines.begin / STRIDE) + 1, 0)
    whole = np.maximum(np.ceil(seeds / np.ceil(SEED / STRIDE)), 1)
    apart = np.where(over > 0, np.maximum(aligned - over, 0) / (SEED + STRIDE - 1), whole)
    near = local_rivals.IN_REPEATS * np.exp(MATE_MODEL.lost_slope * edits / aligned)
    lost = (N_BASES / 1e7) ** MATE_MODEL.lost_bases
    dense = min(local_rivals.UNSEEN * lost, local_rivals.MOST_UNSEEN) * near ** np.minimum(
        over / (SEED + STRIDE - 1), 1
    )
    again = cover.reseeded[read]
    apart = np.where(again, apart, 3 * (1 - cover.share[read]))
    unseen = np.where(again, dense, 1) * odds(edits + hidden) ** (apart + over_unseen / mismatch)
    beside = np.where(known, local_rivals.BESIDE_KNOWN, local_rivals.BESIDE_NONE * odds(edits + hidden))
    beside *= (100 / aligned) ** local_rivals.LENGTH_RATE * odds(edits + hidden)
    alone = np.where(
        again,
        local_rivals.FAMILY * wrong + local_rivals.SINGLE * unseen + beside,
        wrong + cover.unseen[read],
    )
    more = np.where(longer > MUCH_CLIPPED, local_rivals.LONG_CLIP, 0)
    alone *= 1 + more * alone / (alone + local_rivals.LONG_CLIP_FROM)
    wrong = np.where(single, alone, wrong + unseen) + chance_places(aligned, edits, n_bases)
    phred = np.floor(-10 * np.log10(np.maximum(wrong / (1 + wrong), 1e-9)))
    nothing = (
        (wrong > AS_LIKELY)
        | (known & (behind <= 0))
        | again & (cover.passed_over.bases[read] - over > aligned)
    )
    return np.where(nothing, 0, np.minimum(phred, 60)).astype(int)


@pytest.fixture(params=[Scoring(), Scoring(match=2, mismatch=7, clip=9)])
def case(request):
    """Reads of which a part is aligned, some looked up with dense seeds, some with known rivals."""
    rng, scoring = np.random.default_rng(11), request.param
    lengths = rng.integers(40, 160, K).astype(np.uint32)
    clipped = rng.choice([0, 3, 15, MUCH_CLIPPED, 30], (2, K)) * (rng.random((2, K)) < 0.4)
    begin = np.minimum(clipped[0], 15 + 15 * (lengths > 80))
    end = lengths - np.minimum(clipped[1], 15 + 15 * (lengths > 80))
    hits = np.zeros(K, HIT)
    lost = rng.choice([0, 1, 2, 4], K) * (scoring.match + scoring.mismatch) + rng.integers(0, 3, K)
    hits["score"] = (end - begin) * scoring.match - lost
    total = (hits["score"] + scoring.clip).astype(np.int32)
    strand, diagonals = np.arange(0, 2 * K, 2, dtype=np.uint32), (np.zeros(K, np.uint32),) * 2
    lines = Lines(hits, strand, begin, end.astype(np.int64), total, *diagonals, np.ones(K, bool))
    count = rng.integers(0, 4, K) * (rng.random(K) < 0.5)
    rivals = Rivals(total - rng.integers(-3, 30, K).astype(np.int32), total, count)
    bases, first = rng.choice([0.0, 5, 40, 120], K), rng.integers(0, 40, K)
    passed_over = PassedOver(bases, first, first + rng.integers(0, 90, K))
    unseen = 10.0 ** -rng.integers(1, 6, K)
    coverage = SeedCoverage(rng.random(K) < 0.5, rng.choice([0, 0.25, 1.0], K), unseen, passed_over)
    single = rng.random(K) < 0.5
    return SimpleNamespace(**locals())


@pytest.mark.parametrize(("over_known", "over_unseen", "n_bases"), [(0, 0, None), (17, 17, 400.0)])
def test_qualities_are_those_of_the_formula(case, monkeypatch, over_known, over_unseen, n_bases):
    monkeypatch.setattr(local_rivals, "seed_length", lambda index: SEED)
    context = SimpleNamespace(
        params=SimpleNamespace(scoring=case.scoring),
        plan=SimpleNamespace(n_bases=N_BASES),
        lengths=case.lengths,
        index=None,
    )
    columns = over_known, over_unseen, n_bases
    found = quality_of(context, case.lines, case.rivals, case.coverage, *columns, single=case.single)
    right = expected(case, over_known, over_unseen, n_bases or N_BASES)
    assert (found == right).mean() > 0.999 and np.abs(found.astype(int) - right).max() <= 1
    assert len(np.unique(found)) > 20
