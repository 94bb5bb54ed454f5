"""What whole reads lose along one diagonal, and which are the best alignments, against the textbook."""

from types import SimpleNamespace

import numpy as np
import pytest
from alignments import SCORINGS, local_textbook, make_reference, pack, planes_of
from local_columns import Places, lines_at, perfect
from rating import aligner_of, batch_of, found_of, search_of

from gassst.local.align import breaking_cost
from gassst.model.params import MapParams, Scoring

LENGTH, WIDTH = 60, 34  # diagonals on either side: 17, one more than what is claimed
MASKED = 4


def repetitive(rng, size):
    """Bases of which every second stretch of 150 repeats a unit of 2 to 9 bases, with a few errors."""
    bases = make_reference(rng, size)
    for at in range(0, size - 150, 300):
        unit = rng.integers(0, 4, rng.integers(2, 10)).astype(np.uint8)
        bases[at : at + 150] = np.resize(unit, 150)
        wrong = at + rng.integers(0, 150, 6)
        bases[wrong] = rng.integers(0, 4, 6)
    return bases


def read_near(rng, reference, at):
    """A read with up to 4 mismatches, crowded at one end or anywhere; now and then with a gap, or a masked base."""
    read = reference[at : at + LENGTH].copy()
    kind = rng.random()
    if kind < 0.3:
        gap, split = int(rng.integers(1, 6)), int(rng.integers(3, LENGTH - 3))
        read = np.concatenate([reference[at : at + split], reference[at + split + gap :][: LENGTH - split]])
        if rng.random() < 0.5:
            inserted = rng.integers(0, 4, gap).astype(np.uint8)
            read = np.concatenate([reference[at : at + split], inserted, reference[at + split :]])[:LENGTH]
    n, span = int(rng.integers(0, 5)), int(rng.choice([6, 14, LENGTH]))
    wrong = rng.integers(0, span, n)
    wrong = LENGTH - 1 - wrong if rng.random() < 0.5 else wrong
    read = read.copy()
    read[wrong] = (read[wrong] + rng.integers(1, 4, n)) % 4
    if rng.random() < 0.05:
        read[rng.integers(0, LENGTH)] = MASKED
    return read


def known_by(case, some):
    """An aligner that knows `some` (bool[k]) of the reads, each at one place: on the diagonal `at`, with as many
    errors as mismatches."""
    reads = [read for read, is_one in zip(case.reads, some, strict=True) if is_one]
    packed, ends = pack(reads), np.array([len(case.reference)])
    contigs = SimpleNamespace(planes=planes_of(case.reference), starts=np.zeros(1, np.int64), lengths=ends)
    context = batch_of(packed, reference=contigs, params=MapParams(mode="local", scoring=case.scoring))
    aligner = aligner_of(context)
    found = found_of(2 * np.arange(len(reads)), case.at[some] - 30, 30, case.edits[some])
    search_of(context, aligner, found)
    return aligner


def textbook(reference, reads, at, scoring):
    """Highest total of each read within 17 diagonals, and what of all of it on the middle one."""
    found = local_textbook(reads, reference, at - WIDTH // 2, WIDTH, scoring)
    total = [t[0] + scoring.clip * ((t[4][0][1] != "S") + (t[4][-1][1] != "S")) if t else 0 for t in found]
    return np.array(total), [t[4] if t else None for t in found]


@pytest.fixture(scope="module", params=["bwa", "cheap gaps", "no bonus"])
def case(request):
    rng, scoring = np.random.default_rng(5), SCORINGS[request.param]
    reference = repetitive(rng, 64 * 94)
    at = rng.integers(100, len(reference) - 300, 400)
    reads = [read_near(rng, reference, int(a)) for a in at]
    unequal = [(r != reference[a : a + LENGTH]) | (r == MASKED) for r, a in zip(reads, at, strict=True)]
    return SimpleNamespace(
        scoring=scoring,
        reference=reference,
        reads=reads,
        at=at,
        edits=np.array([u.sum() for u in unequal]),
        truth=textbook(reference, reads, at, scoring),
    )


def test_whole_reads_are_told_from_their_score(case):
    k = len(case.reads)
    aligner = known_by(case, np.ones(k, bool))
    before = aligner.traced
    unequal = [(r != case.reference[a : a + LENGTH]) for r, a in zip(case.reads, case.at, strict=True)]
    masked = [
        (r == MASKED) | (case.reference[a : a + LENGTH] == MASKED)
        for r, a in zip(case.reads, case.at, strict=True)
    ]
    scoring = case.scoring
    score = [
        np.where(m, -1, np.where(u, -scoring.mismatch, scoring.match)).sum()
        for u, m in zip(unequal, masked, strict=True)
    ]
    rng = np.random.default_rng(1)
    total = (np.array(score) + 2 * scoring.clip).astype(np.int32)
    off = rng.integers(0, 3, k).astype(np.int32)
    reached = rng.integers(2, 4, k).astype(np.uint8)
    strands = 2 * np.arange(k)
    columns = strands, strands, np.full(k, 64), total, total + off, reached, np.full(k, LENGTH, np.uint16)
    at = case.at
    places = Places(*columns, at, np.ones(k, bool))
    whole = (off == 0) & (reached == 3)
    plain = perfect(scoring, np.full(k, LENGTH)) - places.total < breaking_cost(scoring)
    lines = lines_at(aligner, places.take(whole | plain))
    assert aligner.traced == before and (lines.hits["cigar_runs"] == 1).all()
    assert (whole & ~plain).sum() > 20
    for row in np.flatnonzero(~whole & ~plain)[:50]:
        before = aligner.traced
        lines_at(aligner, places.take(np.array([row])))
        assert aligner.traced > before


def test_what_needs_no_band_is_the_best_alignment(case):
    scoring, edits = case.scoring, case.edits
    least = breaking_cost(scoring)
    clear = np.array([(read != MASKED).all() for read in case.reads])
    clear &= [(case.reference[at : at + LENGTH] != MASKED).all() for at in case.at]
    clear &= edits * (scoring.match + scoring.mismatch) < least
    aligner = known_by(case, clear)
    places = Places.of(aligner.places)
    assert aligner.scored == 0 and clear.sum() > 20
    whole = LENGTH * scoring.match + 2 * scoring.clip - edits * (scoring.match + scoring.mismatch)
    assert (places.total == whole[clear]).all() and (places.total == case.truth[0][clear]).all()
    assert known_by(case, ~clear).scored >= (~clear).sum()


@pytest.mark.parametrize("first", [True, False])
def test_an_end_that_loses_as_much_clipped_is_clipped(first):
    """A read with one error, at its end: what loses as much as that is no less than what a clipped end loses."""
    scoring = Scoring(clip=4)
    assert breaking_cost(scoring) == scoring.match + scoring.mismatch
    reference = np.random.default_rng(3).integers(0, 4, 640).astype(np.uint8)
    read = reference[200 : 200 + LENGTH].copy()
    read[0 if first else -1] = (read[0 if first else -1] + 1) % 4
    case = SimpleNamespace(
        scoring=scoring, reference=reference, reads=[read], at=np.array([200]), edits=np.array([1])
    )
    (place,) = Places.of(known_by(case, np.ones(1, bool)).places).rows
    assert place["total"] == LENGTH - 1 + scoring.clip and place["score"] == LENGTH - 1
    assert place["reached"] == (2 if first else 1)
