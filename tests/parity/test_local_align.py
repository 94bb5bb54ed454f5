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

from gassst._core import band_widths as _band_widths
from gassst._core import local_places as _local_places
from gassst.bands.base import WIDTHS
from gassst.local.align import Aligner, leaving_cost
from gassst.local.places import Targets
from gassst.model.params import Scoring
from gassst.model.stats import Stats
from gassst.search.host import HostBackend

WIDE = 256


def make_aligner(handle, packed, reference, scoring, ends=None):
    """An Aligner of one contig, or of those between the coordinates `ends`."""
    ends = np.array(ends or [0, len(reference)], np.int64)
    contigs = SimpleNamespace(planes=planes_of(reference), starts=ends[:-1], lengths=np.diff(ends))
    context = SimpleNamespace(
        params=SimpleNamespace(scoring=scoring), lengths=packed.lengths, packed=packed, reference=contigs
    )
    return Aligner(HostBackend(context, handle, Stats()))


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


@pytest.mark.parametrize("guess", [0, 30, 10**6])
def test_what_touches_a_diagonal_is_aligned_as_in_a_wide_band(backend, case, guess):
    packed = pack(case.reads)
    handle = backend(planes_of(case.reference)).open_reads(packed)
    aligner = make_aligner(handle, packed, case.reference, case.scoring)
    k = len(case.reads)
    columns = case.read_strand, case.diagonal, case.band, np.full(k, WIDE)
    given = np.ones(k, bool)
    targets = Targets(*columns, np.full(k, guess), given)
    lines, places, cigars = aligner.align_touching(targets), aligner.score(targets), aligner.cigars
    compared = 0
    for hit, line_total, total, truth, read, c in zip(
        lines.hits, lines.total, places.total, case.truth, case.reads, case.diagonal, strict=True
    ):
        assert line_total == total
        if not touches(truth, c):
            continue
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
    assert compared > k / 2


def test_what_loses_too_little_for_a_gap_needs_no_band(backend, case):
    """Reads with an error or none, and with a masked base: the same scores and alignments as in bands."""
    rng = np.random.default_rng(6)
    reads = [case.reference[c : c + 100].copy() for c in case.diagonal]
    for read in reads:
        at = rng.integers(0, len(read), rng.integers(0, 3))
        read[at] = np.where(rng.random(len(at)) < 0.3, 4, (read[at] + 1) % 4)
    packed = pack(reads)
    handle = backend(planes_of(case.reference)).open_reads(packed)
    aligner = make_aligner(handle, packed, case.reference, case.scoring)
    k = len(reads)
    columns = case.read_strand, case.diagonal, case.band, np.full(k, WIDE), np.zeros(k, int), np.ones(k, bool)
    targets = Targets(*columns)
    places = aligner.score(targets)
    plain = (aligner.loss(places) < aligner.breaking) & (places.diagonal == case.diagonal)
    assert plain.sum() > k / 10
    without = aligner.score(replace(targets, loss=aligner.loss(places)), plain)
    for name in ("score", "total", "reached", "strand_end", "diagonal"):
        assert (getattr(without, name) == getattr(places, name)).all()
    lines, in_bands = aligner.align_places(places), aligner.align_touching(targets)
    for name in ("total", "begin", "end", "first_diagonal", "last_diagonal"):
        assert (getattr(lines, name) == getattr(in_bands, name))[plain].all()
    cigars = aligner.cigars
    for line, other in zip(lines.hits[plain], in_bands.hits[plain], strict=True):
        assert line[["position", "score", "edits"]] == other[["position", "score", "edits"]]
        assert decode(cigars, line["cigar_start"], line["cigar_runs"]) == [(100, "M")]
        assert decode(cigars, other["cigar_start"], other["cigar_runs"]) == [(100, "M")]


def test_narrow_bands_are_used_and_left(case):
    """Most alignments lose less than it costs to leave a narrow band, some lose more."""
    perfect = np.array([len(r) for r in case.reads]) * case.scoring.match + 2 * case.scoring.clip
    found = [t[0] + case.scoring.clip * sum(t[4][i][1] != "S" for i in (0, -1)) for t in case.truth]
    loss = perfect - found
    costs = [leaving_cost(case.scoring, width) for width in WIDTHS]
    assert costs == sorted(costs)
    assert len(np.unique(np.searchsorted(costs, loss, side="right"))) > 2


def test_alignments_end_where_their_contig_does(backend, case):
    """A contig's end is looked at base by base, all else 64 bases at once."""
    packed = pack(case.reads)
    handle = backend(planes_of(case.reference)).open_reads(packed)
    k, lost = len(case.reads), 0
    columns = case.read_strand, case.diagonal, case.band, np.full(k, WIDE), np.zeros(k, int)
    cut = sorted(int(c) + 70 for c in case.diagonal[::9])
    aligner = make_aligner(
        handle, packed, case.reference, case.scoring, [0, *np.unique(cut), len(case.reference)]
    )
    lines = aligner.align_touching(Targets(*columns, np.ones(k, bool)))
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


def random_bands(rng):
    """Bands of 40 reads, grouped by read, and one of each read that has any."""
    counts = rng.integers(0, 60, 40)
    start = np.concatenate([[0], np.cumsum(counts)])
    read = np.repeat(np.arange(40), counts)
    h = len(read)
    bands = SimpleNamespace(
        read_strand=(2 * read + rng.integers(0, 2, h) * (read % 3 > 0)).astype(np.uint32),
        band_start=(1000 + 8 * rng.integers(0, 200 // (1 + 99 * (read % 2)))).astype(np.int64),
        end=rng.integers(0, 4, h).astype(np.uint16),
        edits=rng.integers(0, 5, h).astype(np.uint16),
    )
    chosen = np.where(counts > 0, start[:-1] + rng.integers(0, np.maximum(counts, 1)), -1)
    return bands, start, chosen


def test_known_places_are_the_best_of_each_diagonal():
    rng = np.random.default_rng(1)
    bands, start, chosen = random_bands(rng)
    flip, worse = rng.integers(0, 2, 40).astype(np.uint8), 3
    wanted = (rng.random(40) < 0.8) & (chosen >= 0)
    reported, first = chosen[wanted], np.concatenate([[0], np.cumsum(wanted)])
    found = SimpleNamespace(bands=bands, rows=reported, start=first)
    rows, given = _local_places.known_places(found, worse, flip)
    expected = []
    for r in np.flatnonzero(wanted):

        def key(i, r=r):
            strand = bands.read_strand[i] & 1
            return i != chosen[r], bands.edits[i], strand ^ flip[r], bands.band_start[i]

        best = {}
        for i in sorted(range(start[r], start[r + 1]), key=key):
            if bands.edits[i] > bands.edits[chosen[r]] + worse:
                continue
            best.setdefault((bands.read_strand[i], int(bands.band_start[i]) + int(bands.end[i])), i)
        expected += list(best.values())[:32]
    same = [bands.read_strand, bands.band_start, bands.edits]
    assert [[c[i] for c in same] for i in rows] == [[c[i] for c in same] for i in expected]
    read = bands.read_strand[rows] >> 1
    assert (given == (rows == chosen[read])).all() and given.sum() == wanted.sum()
    assert len(expected) < wanted.sum() * 32 and max(np.bincount(bands.read_strand[rows] >> 1)) == 32


def test_the_width_of_a_band_follows_from_the_loss():
    rng = np.random.default_rng(6)
    k, widths, leaving = 500, np.array(WIDTHS), 10 + 8 * np.arange(len(WIDTHS))
    loss, most = rng.integers(0, 60, k), rng.choice([64, 128, 512], k)
    width = _band_widths.expected_widths(loss, most, leaving, widths)
    assert width.tolist() == [
        min(next((w for w, cost in zip(WIDTHS, leaving, strict=True) if x < cost), WIDTHS[-1]), m)
        for x, m in zip(loss.tolist(), most.tolist(), strict=True)
    ]
    diagonal = rng.integers(5000, 6000, k)
    read_strand, band_start = np.arange(k, dtype=np.uint32), diagonal - 40
    lengths, scoring = rng.integers(30, 90, k).astype(np.uint32), SCORINGS["cheap gaps"]
    targets = SimpleNamespace(read_strand=read_strand, diagonal=diagonal, band_start=band_start, width=most)
    context = SimpleNamespace(lengths=lengths, params=SimpleNamespace(scoring=scoring))
    widened = 0
    for w in (64, 128):
        rows, strands, first = _band_widths.bands_of_width(width, w, targets)
        assert rows.tolist() == np.flatnonzero(width == w).tolist()
        assert strands.tolist() == read_strand[rows].tolist()
        assert first.tolist() == np.where(most[rows] == w, band_start[rows], diagonal[rows] - w // 2).tolist()
        score, reached = (
            rng.integers(0, 60, rows.size).astype(np.int32),
            rng.integers(0, 4, rows.size).astype(np.uint8),
        )
        perfect = lengths[strands >> 1] * scoring.match + 2 * scoring.clip
        lost = perfect - (score + scoring.clip * np.array([0, 1, 1, 2])[reached])
        again = rows[(lost >= 40) & (most[rows] > w)]
        expected = width.copy()
        expected[again] = 2 * w
        _band_widths.widen_unproved(width, rows, (score, reached), 40, context, targets)
        assert width.tolist() == expected.tolist()
        widened += 0 < again.size < rows.size
    assert widened


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
    context = SimpleNamespace(lengths=packed.lengths, params=SimpleNamespace(scoring=scoring))
    columns = (2 * np.arange(k)).astype(np.uint32), np.array(diagonal, np.int64)
    targets = Targets(*columns, columns[1] - 32, np.full(k, 64), np.zeros(k, int), np.ones(k, bool))
    widths = np.full(k, width, np.uint16)
    found, reached = (inside - 2 * scoring.clip).astype(np.int32), np.full(k, 3, np.uint8)
    leaving = leaving_cost(scoring, width)
    _band_widths.widen_unproved(widths, np.arange(k), (found, reached), leaving, context, targets)
    leaves = outside >= inside
    assert (widths[leaves] == 2 * width).all() and leaves.sum() > 20
    lost = scoring.perfect(packed.lengths) - inside
    proved = lost < leaving
    assert proved.sum() > 20 and (widths[proved] == width).all()


def test_what_was_found_goes_to_its_rows():
    rng = np.random.default_rng(8)
    rows, first = np.array([4, 0, 2]), np.array([100, 200, 300])
    types = np.int32, np.uint8, np.uint16, np.uint16
    found = tuple(rng.integers(1, 60, 3).astype(t) for t in types)
    into = tuple(np.zeros(5, t) for t in (np.int32, np.uint8, np.uint16, np.int64))
    _band_widths.store_scores(rows, first, found, into)
    for column, values in zip(into, (*found[:3], first + found[3]), strict=True):
        assert column[rows].tolist() == values.tolist()
        assert column[[1, 3]].tolist() == [0, 0]
