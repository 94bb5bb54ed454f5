"""Narrow bands of local alignments against the textbook in wide ones, and the compiled helpers against plain Python."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from alignments import (
    SCORINGS,
    decode,
    joined,
    local_cost,
    local_textbook,
    make_reference,
    mutated,
    oriented,
    pack,
    planes_of,
)
from local_columns import Places, lines_at, perfect
from rating import aligner_of, batch_of, found_of, packed_of, search_of

from gassst.local.align import WIDTHS, breaking_cost, leaving_cost, whole_costs
from gassst.model.params import MapParams, Scoring
from gassst.model.sam_flags import UNMAPPED

WIDE = 256
COLUMNS = "score", "total", "reached", "strand_end", "diagonal"


def make_context(packed, reference, scoring, ends=None):
    """Makes that of a batch on one contig, or on those between the coordinates `ends`."""
    ends = np.array(ends or [0, len(reference)], np.int64)
    contigs = SimpleNamespace(planes=planes_of(reference), starts=ends[:-1], lengths=np.diff(ends))
    params = MapParams(mode="local", scoring=replace(scoring, min_score=0))
    return batch_of(packed, reference=contigs, params=params)


def make_aligner(packed, reference, scoring, ends=None):
    return aligner_of(make_context(packed, reference, scoring, ends))


def best_places(context, aligner, read_strand, diagonal):
    """The best place of each read, of one whose search has found two errors on a diagonal: narrow bands come first."""
    search_of(context, aligner, found_of(read_strand, diagonal - 32, 32, 2))
    places = Places.of(aligner.places)
    order = np.lexsort((-places.total, places.read))
    places = places.take(order[np.diff(places.read[order].astype(int), prepend=-1) > 0])
    assert (places.read_strand == read_strand).all()
    return places


def lines_in_bands(aligner, case, guess):
    """The alignments of what touches the diagonals, of places that are said to lose so much (`guess`)."""
    k, lengths = len(case.diagonal), np.array([len(case.reads[i]) for i in case.read_strand >> 1])
    total = perfect(case.scoring, lengths) - guess
    ends = np.zeros(k, np.uint8), np.zeros(k, np.uint16)
    columns = case.band, np.full(k, WIDE), total, total, *ends, case.diagonal, np.ones(k, bool)
    return lines_at(aligner, Places(case.read_strand, *columns))


def gapped(rng, bases):
    """A few errors, and in every second read a gap of up to 40 bases anywhere."""
    bases = mutated(rng, bases, rng.choice([0, 0.01, 0.03, 0.08]))
    if rng.random() < 0.5:
        at, n = int(rng.integers(5, len(bases) - 5)), int(rng.integers(1, 40))
        inserted = rng.integers(0, 4, n).astype(np.uint8)
        bases = np.concatenate(
            [bases[:at], inserted if rng.random() < 0.5 else bases[:0], bases[at + n * (n & 1) :]]
        )
    return bases


def just_worth_it(rng, bases):
    """A deletion that costs a little less than to clip what is behind it; both cost about as much as leaving a band."""
    n = int(rng.integers(6, 36))
    tail = min(n + int(rng.integers(2, 9)), 70)
    return np.concatenate([bases[: len(bases) - tail - n], bases[len(bases) - tail :]])


def make_case(name):
    rng = np.random.default_rng(4)
    reference, scoring = make_reference(rng), SCORINGS[name]
    at = rng.integers(300, len(reference) - 600, 300)
    kinds = gapped, gapped, just_worth_it
    reads = joined(rng, [kinds[i % 3](rng, reference[a : a + 120]) for i, a in enumerate(at)])
    read_strand = (2 * np.arange(len(reads))).astype(np.uint32)
    last = at.astype(np.int64)  # a diagonal that most of them touch
    band = last - WIDE // 2
    truth = local_textbook(reads, reference, band, WIDE, scoring)
    return SimpleNamespace(
        reference=reference, scoring=scoring, reads=reads, read_strand=read_strand, diagonal=last, band=band,
        truth=truth,
    )  # fmt: skip


@pytest.fixture(scope="module", params=["bwa", "cheap gaps", "no bonus"])
def case(request, made_once):
    return made_once(f"bands-{request.param}", lambda: make_case(request.param))


def touches(truth, diagonal):
    """Whether the path of `local_textbook` has a base on the diagonal."""
    _, _, _, position, runs = truth
    here = position - (runs[0][0] if runs[0][1] == "S" else 0)
    for length, op in runs:
        if op == "M" and here == diagonal:
            return True
        here += {"D": length, "I": -length}.get(op, 0)
    return False


def has_gap(runs):
    return any(op in "ID" for _, op in runs)


@pytest.mark.parametrize("width", [16, 64, 256])
def test_what_touches_a_diagonal_is_aligned_as_in_a_wide_band(case, width, monkeypatch):
    monkeypatch.setattr("gassst.local.align.breaking_cost", lambda scoring: 0)
    packed = pack(case.reads)
    context = make_context(packed, case.reference, case.scoring)
    aligner = aligner_of(context)
    places = best_places(context, aligner, case.read_strand, case.diagonal)
    guess = {16: 0, 64: leaving_cost(case.scoring, 32), 256: leaving_cost(case.scoring, 128)}[width]
    lines, cigars = lines_in_bands(aligner, case, guess), aligner.cigars
    compared = 0
    for hit, line_total, total, truth, read, c in zip(
        lines.hits, lines.total, places.total, case.truth, case.reads, case.diagonal, strict=True
    ):
        if not touches(truth, c):
            continue
        assert line_total == total
        path = decode(cigars, hit["cigar_start"], hit["cigar_runs"])
        if has_gap(truth[4]) and not has_gap(path):  # of equals the one without a gap
            assert line_total == truth[0] + case.scoring.clip * sum(truth[4][i][1] != "S" for i in (0, -1))
        else:
            assert (hit["score"], hit["position"], path) == (truth[0], truth[3], truth[4])
        assert local_cost(read, case.reference, int(hit["position"]), path, case.scoring) == (
            hit["score"],
            hit["edits"],
            len(read),
        )
        compared += 1
    assert compared > len(case.reads) / 2


def test_what_loses_too_little_for_a_gap_needs_no_band(case):
    """Reads with an error or none, and with a masked base: the same scores and alignments as in bands."""
    rng = np.random.default_rng(6)
    reads = [case.reference[c : c + 100].copy() for c in case.diagonal]
    for read in reads:
        at = rng.integers(0, len(read), rng.integers(0, 3))
        read[at] = np.where(rng.random(len(at)) < 0.3, 4, (read[at] + 1) % 4)
    packed = pack(reads)
    context = make_context(packed, case.reference, case.scoring)
    aligner, case = aligner_of(context), SimpleNamespace(**{**vars(case), "reads": reads})
    k = len(reads)
    edits, diagonal = [], case.diagonal
    for read, at in zip(reads, diagonal, strict=True):
        edits.append(np.count_nonzero((read != case.reference[at : at + 100]) | (read > 3)))
    start = diagonal - 32
    search = search_of(context, aligner, found_of(case.read_strand, start, 32, edits))
    places, with_bands, traced = Places.of(aligner.places), aligner.scored, aligner.traced
    search.report(False)
    hits, cigars = aligner.rows()[0], aligner.cigars
    assert 0 < with_bands < k
    in_bands = best_places(context, aligner_of(context), case.read_strand, diagonal)
    at_once = perfect(case.scoring, packed.lengths) - in_bands.total < breaking_cost(case.scoring)
    at_once &= in_bands.diagonal == diagonal
    assert at_once.sum() > k / 10 and len(places.read) == k
    for name in COLUMNS:
        assert (getattr(places, name) == getattr(in_bands, name))[at_once].all()
    assert 0 < traced < k and len(hits) == k and not (hits["flag"] & UNMAPPED).any()
    others = lines_in_bands(aligner, case, breaking_cost(case.scoring))
    their_cigars = aligner.cigars
    for line, other in zip(hits[at_once], others.hits[at_once], strict=True):
        assert line[["position", "score", "edits"]] == other[["position", "score", "edits"]]
        assert decode(cigars, line["cigar_start"], line["cigar_runs"]) == [(100, "M")]
        assert decode(their_cigars, other["cigar_start"], other["cigar_runs"]) == [(100, "M")]


def test_narrow_bands_are_used_and_left(case):
    """Most alignments lose less than it costs to leave a narrow band, some lose more."""
    perfect = np.array([len(r) for r in case.reads]) * case.scoring.match + 2 * case.scoring.clip
    found = [t[0] + case.scoring.clip * sum(t[4][i][1] != "S" for i in (0, -1)) for t in case.truth]
    loss = perfect - found
    costs = [leaving_cost(case.scoring, width) for width in WIDTHS]
    assert costs == sorted(costs)
    assert len(np.unique(np.searchsorted(costs, loss, side="right"))) > 2


def test_alignments_end_where_their_contig_does(case):
    """A contig's end is looked at base by base, all else 64 bases at once."""
    packed = pack(case.reads)
    k, lost = len(case.reads), 0
    cut = sorted(int(c) + 70 for c in case.diagonal[::9])
    aligner = make_aligner(packed, case.reference, case.scoring, [0, *np.unique(cut), len(case.reference)])
    lines = lines_in_bands(aligner, case, breaking_cost(case.scoring))
    cigars = aligner.cigars
    for hit, begin, end in zip(lines.hits, lines.begin, lines.end, strict=True):
        read = oriented(case.reads, 2 * hit["read"])
        path = decode(cigars, hit["cigar_start"], hit["cigar_runs"])
        covered = sum(n for n, op in path if op in "MD")
        inside = np.searchsorted(cut, [hit["position"], hit["position"] + covered - 1], side="right")
        assert inside[0] == inside[1]
        truth = local_cost(read, case.reference, int(hit["position"]), path, case.scoring)
        assert truth == (hit["score"], hit["edits"], len(read))
        clips = path[0][0] * (path[0][1] == "S"), path[-1][0] * (path[-1][1] == "S")
        assert (begin, end) == (clips[0], len(read) - clips[1])
        lost += sum(clips) > 20
    assert lost > k / 20


def test_known_places_are_the_best_of_those_found():
    """Which diagonals are looked at of 40 reads: those of distinct places with hardly more errors than the best."""
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 60, 40)
    start, read = np.concatenate([[0], np.cumsum(counts)]), np.repeat(np.arange(40), counts)
    h = len(read)
    strand = 2 * read + rng.integers(0, 2, h) * (read % 3 > 0)
    first = 1000 + 8 * rng.integers(0, np.where(read % 2, 9, 400))
    end, edits = rng.integers(0, 4, h), rng.integers(0, 7, h)
    context = batch_of(packed_of([100] * 40), flip=rng.integers(0, 2, 40).astype(np.uint8))
    aligner = aligner_of(context)
    assert whole_costs(context.params.scoring)[4] == 4  # what a mate can make up for
    search = search_of(context, aligner, found_of(strand, first, end, edits, ends=(first + end, 90)))
    looked_at = set(
        zip(aligner.places["read_strand"].tolist(), aligner.places["diagonal"].tolist(), strict=True)
    )
    rows, expected, most = search.chosen[0], set(), 0
    for r in np.flatnonzero(counts):
        mine = range(start[r], start[r + 1])
        chosen, kept = start[r] + rows[start[r]], []
        for i in sorted(mine, key=lambda i: (edits[i], strand[i] & 1 ^ context.flip[r], first[i] + end[i])):
            if edits[i] <= edits[mine].min() + 4 and all(
                strand[i] != strand[j] or abs(first[i] + end[i] - first[j] - end[j]) > 10 for j in kept
            ):
                kept.append(i)
        kept.sort(key=lambda i: i != chosen)
        expected.update((int(strand[i]), int(first[i] + end[i])) for i in kept[:32])
        most = max(most, len(kept))
    assert looked_at == expected and most > 32


def best_totals(equal, half, scoring):
    """Of alignments within the diagonals of `equal` (bool[m, 2 w + 1, k]) the best totals, int64[2, k].

    First of those that stay within `half` diagonals of the middle one, then of those that leave them and touch it.
    """
    m, wide, k = equal.shape
    (open_d, open_i), (extend_d, extend_i) = scoring.gap_open, scoring.gap_extend
    low = np.full((4, k), -10_000)
    best = low.copy()  # by what an alignment has done: 1 touched, 2 left
    above = [(low, low, low)] * (wide + 1)
    for i in range(m):
        row = []
        matched = inserted = deleted = low
        for x in range(-(wide // 2), wide // 2 + 1):
            at = x + wide // 2
            deleted = np.maximum(
                np.maximum(matched, inserted) - open_d - extend_d, deleted - extend_d
            )  # of the column before
            before = np.maximum.reduce(above[at])
            before[0] = np.maximum(before[0], 0 if i else scoring.clip)
            before = before + np.where(equal[i, at], scoring.match, -scoring.mismatch)
            done = (x == 0) | 2 * (not -half <= x < half)
            matched = low.copy()
            for f in range(4):
                matched[f | done] = np.maximum(matched[f | done], before[f])
            match, insertion, deletion = above[at + 1]
            inserted = np.maximum(np.maximum(match, deletion) - open_i - extend_i, insertion - extend_i)
            best = np.maximum(best, matched + (scoring.clip if i == m - 1 else 0))
            row.append((matched, inserted, deleted))
        above = [*row, (low, low, low)]
    return np.stack([np.maximum(best[0], best[1]), best[3]])


@pytest.mark.parametrize(
    "scoring", [Scoring(), Scoring(gap_open=(12, 6), gap_extend=(2, 1)), Scoring(mismatch=2, gap_open=(3, 4))]
)
def test_a_band_is_widened_where_an_alignment_leaves_it(scoring):
    """Reads with mismatches and gaps, against all alignments near the diagonal; most have a long gap."""
    rng = np.random.default_rng(9)
    k, m, width, reach = 500, 70, 16, 30
    genome = rng.integers(0, 4, 150 * (k + 2)).astype(np.uint8)
    reads, diagonal = [], []
    for i in range(k):
        at, first, g = 150 * (i + 1), int(rng.integers(5, 65)), int(rng.integers(6, 13)) * (i % 5 > 0)
        more, p = int(rng.integers(0, 3)), int(rng.integers(1, 69))
        read = np.concatenate([genome[at : at + first], genome[at + first + g : at + 100 + g]])
        if i % 3 == 0:
            read = np.concatenate(
                [genome[at : at + first], rng.integers(0, 4, g), genome[at + first : at + 100]]
            )
        read = np.delete(read, slice(p, p + more))[:m] if i % 2 else np.insert(read, p, [0] * more)[:m]
        wrong = rng.integers(0, m, rng.integers(0, 4))
        read[wrong] ^= 1
        reads.append(read.astype(np.uint8))
        diagonal.append(at + int(rng.choice([0, g])) * (1 if i % 3 else -1))
    around = np.array(diagonal)[:, None, None] + np.arange(m)[:, None] + np.arange(-reach, reach + 1)
    equal = (genome[around] == np.array(reads)[:, :, None]).transpose(1, 2, 0)
    inside, outside = best_totals(equal, width // 2, scoring)
    packed = pack(reads)
    context = make_context(packed, genome, scoring)
    aligner = aligner_of(context)
    places = best_places(context, aligner, (2 * np.arange(k)).astype(np.uint32), np.array(diagonal, np.int64))
    assert (places.total >= np.maximum(inside, outside)).all() and (outside > inside).sum() > 20
    lost = perfect(scoring, packed.lengths) - inside
    proved = lost < leaving_cost(scoring, width)
    assert proved.sum() > 20 and (places.total == inside)[proved].all()
    assert (
        k < aligner.scored <= 5 * k - 4 * proved.sum()
    )  # most in three widths, and once more beside what they score
