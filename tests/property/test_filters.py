"""The filters lose nothing, and compute what they say; truth comes from `oracles`."""

from typing import Any, NamedTuple

import edlib
import numpy as np
import pytest
from engines import engine
from oracles import (
    MASKED,
    band_errors,
    candidate_costs,
    composition_distance,
    flank_costs,
    maximal_run,
    mutate,
    pack_planes,
    pack_reads,
    tiled_score,
    word_score,
)
from seed_candidates import Candidates

from gassst._core import thesis_filters
from gassst._core.stages import instruction_sets
from gassst._core.thesis_filters import score_table
from gassst.reads.in_memory import batch_of_records
from gassst.search.filters import FILTERS, filter_of

BOUNDS = [name for name in FILTERS if name != "duplicate"]


class FilterJobs(NamedTuple):
    """What filters look at besides the candidates."""

    limits: Any
    packed: Any
    reference_planes: Any
    gaps: int


def passed(name, candidates, batch, instruction_set=None):
    """The candidates that a filter passes."""
    one = filter_of(name, batch.gaps)
    return Candidates(*thesis_filters.passed(one, candidates, *batch[:3], instruction_set))


class Cases:
    """Reads of one length, each with a reference window and seeds of its own."""

    def __init__(self, rng, sequences, windows, start):
        n, width = windows.shape
        self.sequences, self.windows, self.start = sequences, windows, start
        self.strand = rng.integers(0, 2, n)
        self.packed = pack_reads(sequences, self.strand)
        self.reference_planes = pack_planes(windows.reshape(-1))
        self.diagonal = np.arange(n) * width + start

    def candidates(self, offset, length):
        """One candidate a read; `offset` and `length` may be arrays."""
        n = len(self.sequences)
        return Candidates(
            (2 * np.arange(n) + self.strand).astype(np.uint32),
            self.diagonal.astype(np.int64),
            np.broadcast_to(offset, n).astype(np.uint16),
            np.broadcast_to(length, n).astype(np.uint16),
        )

    def costs(self, offset, length, gaps):
        return candidate_costs(self.sequences, self.windows, self.start, offset, length, gaps)

    def batch(self, limits, gaps):
        limits = np.broadcast_to(limits, len(self.sequences)).astype(np.uint16)
        return FilterJobs(limits, self.packed, self.reference_planes, gaps)


def reads_that_pass(name, candidates, batch):
    return np.isin(np.arange(len(batch.limits)), passed(name, candidates, batch).read_strand >> 1)


def score_of(name, candidates, batch, most):
    """The bound a filter computed: the smallest limit at which it passes each candidate."""
    passes = [
        reads_that_pass(name, candidates, batch._replace(limits=np.full_like(batch.limits, e)))
        for e in range(most)
    ]
    return most - np.sum(passes, axis=0)


def random_windows(rng, n, width):
    """Half random sequence, half tandem repeats of period 1 to 6 with a few changes."""
    windows = rng.integers(0, 4, (n, width), np.uint8)
    period = rng.integers(1, 7, n) * rng.integers(0, 2, n)
    for p in range(1, 7):
        rows = np.flatnonzero(period == p)
        repeats = windows[rows][:, np.arange(width) % p]
        changed = rng.random(repeats.shape, np.float32) < rng.choice([0, 0.02, 0.1], (len(rows), 1))
        windows[rows] = np.where(changed, windows[rows], repeats)
    return windows


def mask_somewhere(rng, codes, share):
    """Single masked bases in a share of the rows, and a masked end, as at a contig's end, in as many."""
    masked, (n, width) = codes.copy(), codes.shape
    single, end = (np.flatnonzero(rng.random(n) < share) for _ in range(2))
    masked[single] = np.where(rng.random((len(single), width)) < 0.03, MASKED, masked[single])
    behind = np.arange(width) >= rng.integers(0, width + 1, (len(end), 1))
    masked[end] = np.where(behind, MASKED, masked[end])
    return masked


def flank_of(rng, windows, n):
    """Mutated flanks of `n` bases, at error rates from none to hopeless, substitutions only to gaps only."""
    cases = len(windows)
    rate = rng.choice([0, 0.02, 0.05, 0.1, 0.2, 0.4], cases)
    kinds = rng.dirichlet([0.5, 0.5, 0.5], cases)
    return mutate(rng, windows, n, rate, kinds)


def random_cases(rng, n, m, offset, length, gaps):
    """Candidates as hostile as they come: repeats, gaps on seams, masked bases, contig ends."""
    start = m + gaps
    windows = random_windows(rng, n, 3 * m + 2 * gaps)
    before, behind = windows[:, : start + offset][:, ::-1], windows[:, start + offset + length :]
    left, right = flank_of(rng, before, offset), flank_of(rng, behind, m - offset - length)
    windows[:, : start + offset] = mask_somewhere(rng, before, 0.1)[:, ::-1]
    windows[:, start + offset + length :] = mask_somewhere(rng, behind, 0.1)
    seed = windows[:, start + offset : start + offset + length]
    left, right = mask_somewhere(rng, left, 0.03), mask_somewhere(rng, right, 0.03)
    return Cases(rng, np.concatenate([left[:, ::-1], seed, right], axis=1), windows, start)


def shapes(rng):
    """(reads, read length, seed offset, seed length, gaps): seeds at the start, at the end and between."""
    rounds = {20: 6, 36: 6, 60: 5, 100: 4, 150: 3, 300: 3, 500: 3}
    for m, times in rounds.items():
        n = 20000 if m <= 100 else 150_000 // m
        for i in range(times):
            length = int(rng.integers(8, min(m, 40)))
            offset = (0, m - length)[i] if i < 2 else int(rng.integers(0, m - length + 1))
            yield n, m, offset, length, int(rng.choice([0, 1, 2, 4, 7, 15, 16]))


# ---- The oracle itself ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_oracle_agrees_with_edlib(seed):
    rng = np.random.default_rng(seed)
    n = 15 + seed
    reference = mask_somewhere(rng, random_windows(rng, 200, 3 * n), 0.2)
    read = flank_of(rng, reference, n)
    letters = np.frombuffer(b"ACGTN", np.uint8), np.frombuffer(b"ACGTn", np.uint8)
    expected = [
        edlib.align(letters[0][a].tobytes(), letters[1][b].tobytes(), mode="SHW")["editDistance"]
        for a, b in zip(read, reference[:, : 2 * n], strict=True)
    ]
    assert flank_costs(read, reference, n).tolist() == expected


# ---- Nothing is lost --------------------------------------------------------------------------------------


def test_no_filter_rejects_an_alignment_within_the_limit():
    """With limit = the true cost, over 400,000 hostile candidates."""
    rng = np.random.default_rng(20100)
    total = exact = 0
    for n, m, offset, length, gaps in shapes(rng):
        cases = random_cases(rng, n, m, offset, length, gaps)
        costs = cases.costs(offset, length, gaps)
        candidates, batch = cases.candidates(offset, length), cases.batch(costs, gaps)
        for name in FILTERS:
            lost = ~reads_that_pass(name, candidates, batch)
            assert not lost.any(), (name, m, offset, length, gaps, np.flatnonzero(lost)[:5])
        total += n
        exact += np.count_nonzero(costs == 0)
    assert total >= 400_000
    assert exact >= 4_000


def test_filters_do_reject():
    rng = np.random.default_rng(5)
    cases = Cases(
        rng, rng.integers(0, 4, (5000, 100), np.uint8), rng.integers(0, 4, (5000, 120), np.uint8), 10
    )
    shares = {
        name: 1 - reads_that_pass(name, cases.candidates(40, 12), cases.batch(3, 3)).mean() for name in BOUNDS
    }
    assert (
        shares["tnw4-4"] > 0.1
        and shares["fd"] > 0.7
        and shares["tnw4-16"] > 0.98
        and shares["tnw5-full"] > 0.999
        and shares["band32"] > 0.999
    )


@pytest.mark.parametrize("second", [3, 12, 30, 41])
def test_every_seed_has_a_survivor_that_stands_for_it(second):
    """Two seeds on one diagonal, limit = the cost through one: the cascade keeps one that covers it."""
    rng = np.random.default_rng(second)
    n, m, first, length, gaps = 8000, 80, 20, 11, 5
    cases = random_cases(rng, n, m, first, length, gaps)
    again = rng.random(n) < 0.7
    columns = np.arange(cases.start + second, cases.start + second + length)
    cases.sequences[again, second : second + length] = cases.windows[np.ix_(again, columns)]
    cases = Cases(rng, cases.sequences, cases.windows, cases.start)
    facing = cases.windows[:, cases.start : cases.start + m]
    offsets = sorted((first, second))
    costs = {o: cases.costs(o, length, gaps) for o in offsets}
    a, b = (cases.candidates(o, length) for o in offsets)
    columns = (np.stack([getattr(a, f), getattr(b, f)], axis=1).reshape(-1) for f in vars(a))
    candidates = Candidates(*columns)
    survivors = {o: run_cascade(cases, candidates, costs[o], gaps) for o in offsets}
    for read in range(n):
        runs = {o: maximal_run(cases.sequences[read], facing[read], o, o + length) for o in offsets}
        if runs[offsets[0]] == runs[offsets[1]] and runs[offsets[0]]:
            assert costs[offsets[0]][read] == costs[offsets[1]][read]
        for o in offsets:
            if runs[o]:
                assert runs[o] in survivors[o].get(read, ()), (read, o, runs)


def run_cascade(cases, candidates, limits, gaps):
    batch = cases.batch(limits, gaps)
    order = ["tnw4-4", "duplicate", "fd", "tnw4-16", "tnw5-full", "duplicate"]
    kept = candidates
    for name in order:
        kept = passed(name, kept, batch)
    seeds = {}
    rows = zip(kept.read_strand.tolist(), kept.offset.tolist(), kept.length.tolist(), strict=True)
    for read_strand, offset, length in rows:
        seeds.setdefault(read_strand >> 1, []).append((offset, offset + length))
    return seeds


# ---- Each filter computes what it says --------------------------------------------------------------------


@pytest.mark.parametrize("tile", [1, 2, 3, 4, 5])
def test_score_table_is_textbook_dp(tile):
    rng = np.random.default_rng(tile)
    table = score_table(tile)
    weights = 4 ** np.arange(tile)
    words = rng.integers(0, 4, (1500, 2, tile))
    words[::3, 1, 1:] = words[::3, 0, :-1]  # some shifted by one
    for x, y in words:
        assert table[x @ weights, y @ weights] == word_score(tuple(x.tolist()), tuple(y.tolist()))
    assert table.shape == (4**tile, 4**tile) and not table.flags.writeable


def flanks(cases, read, offset, length):
    """(left, right) pairs of (read, reference) as tuples from the seed outwards, masked bases as A."""
    row, window = cases.sequences[read] % MASKED, cases.windows[read][cases.start :] % MASKED
    window, end = window[: len(row)], offset + length
    return [
        [tuple(s.tolist()) for s in (row[:offset][::-1], window[:offset][::-1])],
        [tuple(s.tolist()) for s in (row[end:], window[end:])],
    ]


@pytest.mark.parametrize("name, tile, most", [("tnw4-4", 4, 4), ("tnw4-16", 4, 16), ("tnw5-full", 5, 500)])
@pytest.mark.parametrize(
    "m, offset, length, gaps", [(36, 9, 12, 2), (70, 33, 14, 9), (90, 0, 40, 20), (66, 60, 6, 5)]
)
def test_tiled_score_is_the_recursion(name, tile, most, m, offset, length, gaps):
    rng = np.random.default_rng(m)
    cases = random_cases(rng, 150, m, offset, length, gaps)
    candidates = cases.candidates(offset, length)
    scores = score_of(name, candidates, cases.batch(0, gaps), 8 if name == "tnw4-4" else m)
    for read, score in enumerate(scores):
        sides = flanks(cases, read, offset, length)
        assert score == sum(tiled_score(a[:most], b[:most], tile, gaps) for a, b in sides)


@pytest.mark.parametrize("name, tile", [("tnw4-16", 4), ("tnw5-full", 5)])
def test_a_gap_of_a_whole_tile_costs_its_bases(name, tile):
    """Next to the seed, on either side, inserted or deleted: the longest shift that the square allows."""
    rng, seed, gaps = np.random.default_rng(tile), 8, tile
    longer, shorter = (np.repeat(codes, tile) for codes in ([0, 1], [1, 2]))  # from the seed outwards
    offset = len(longer)
    m, start = 2 * offset + seed, gaps
    sequences, windows = np.full((4, m), 3, np.uint8), np.full((4, m + 2 * gaps), 3, np.uint8)
    for row in range(4):
        pair = (longer, shorter) if row & 1 else (shorter, longer)
        for codes, flank in zip((sequences[row], windows[row, start : start + m]), pair, strict=True):
            if row & 2:
                codes[offset + seed :] = flank
            else:
                codes[:offset] = flank[::-1]
    cases = Cases(rng, sequences, windows, start)
    scores = score_of(name, cases.candidates(offset, seed), cases.batch(0, gaps), m)
    assert scores.tolist() == [tile] * 4
    for row, score in enumerate(scores):
        sides = flanks(cases, row, offset, seed)
        assert score == sum(tiled_score(a, b, tile, gaps) for a, b in sides)


@pytest.mark.parametrize("m, offset, length", [(36, 9, 12), (80, 33, 14), (90, 0, 50), (66, 60, 6)])
def test_frequency_distance_is_counting(m, offset, length):
    cases = random_cases(np.random.default_rng(m), 300, m, offset, length, 3)
    scores = score_of("fd", cases.candidates(offset, length), cases.batch(0, 3), 33)
    for read, score in enumerate(scores):
        sides = flanks(cases, read, offset, length)
        assert score == sum(composition_distance(a[:16], b[:16]) for a, b in sides)


def ragged_cases(rng, n, m):
    """Reads of any length up to `m`, sorted by none, and those lengths."""
    cases = random_cases(rng, n, m, 20, 15, 16)
    lengths = rng.integers(35, m + 1, n)
    lengths[::7] = 64 * (lengths[::7] // 64)
    lengths = np.maximum(lengths, 35)
    cases.strand[:] = 0
    cases.packed = pack_reads(np.where(np.arange(m) < lengths[:, None], cases.sequences, 0), cases.strand)
    cases.packed.lengths = lengths.astype(np.uint32)
    return cases, lengths


@pytest.mark.parametrize("m", [50, 64, 100, 200])
def test_narrow_band_is_textbook_dp(m):
    cases = random_cases(np.random.default_rng(m), 300, m, 13, 12, 16)
    lengths = np.full(300, m)
    expected = band_errors(cases.sequences, cases.windows, cases.start, lengths, 16, 15)
    scores = score_of("band32", cases.candidates(13, 12), cases.batch(0, 15), m)
    assert scores.tolist() == expected.tolist()


@pytest.mark.parametrize("instruction_set", instruction_sets())
def test_narrow_bands_of_reads_of_any_length_side_by_side(instruction_set):
    """In groups of which each read ends elsewhere; the rows of planes hold the bases of other strands behind it."""
    cases, lengths = ragged_cases(np.random.default_rng(32), 3001, 200)
    errors = band_errors(cases.sequences, cases.windows, cases.start, lengths, 16, 15)
    limits = np.maximum(errors - np.arange(3001) % 2, 0)
    candidates, batch = cases.candidates(20, 15), cases.batch(limits, 15)
    kept = passed("band32", candidates, batch, instruction_set)
    passes = errors <= limits
    assert kept.read_strand.tolist() == candidates.read_strand[passes].tolist()
    assert 0.4 < passes.mean() < 0.6


@pytest.mark.parametrize("instruction_set", instruction_sets())
def test_narrow_bands_at_many_places_of_one_read(instruction_set):
    """They fill all lanes, and those of several reads share the rest; most are given up before the end of the read."""
    rng = np.random.default_rng(33)
    cases, lengths = ragged_cases(rng, 60, 200)
    times = rng.integers(1, 70, 60)
    read, first = np.repeat(np.arange(60), times), np.cumsum(times) - times
    place = (read + np.arange(read.size) - first[read]) % 60
    errors = band_errors(cases.sequences[read], cases.windows[place], cases.start, lengths[read], 16, 15)
    limits = np.maximum(errors[first + rng.integers(0, times)] - np.arange(60) % 2, 0)
    column = np.ones(read.size, np.uint16)
    candidates = Candidates(
        (2 * read).astype(np.uint32), cases.diagonal[place].astype(np.int64), 20 * column, 15 * column
    )
    kept = passed("band32", candidates, cases.batch(limits, 15), instruction_set)
    passes = errors <= limits[read]
    assert kept.read_strand.tolist() == candidates.read_strand[passes].tolist()
    assert kept.diagonal.tolist() == candidates.diagonal[passes].tolist()
    assert 0.1 < passes.mean() < 0.9


def test_no_narrow_band_on_a_processor_without_it():
    cases = random_cases(np.random.default_rng(2), 5, 60, 20, 12, 4)
    with pytest.raises(ValueError, match="'sse5'"):
        passed("band32", cases.candidates(20, 12), cases.batch(3, 3), "sse5")


@pytest.mark.parametrize("gap", [-16, -15, 15, 16])
@pytest.mark.parametrize("side", ["left", "right"])
def test_one_long_gap_passes(gap, side):
    """All gap bases that are allowed, in one flank: those of the default on both sides of the band, and one more."""
    rng = np.random.default_rng(16)
    window = rng.integers(0, 4, (1, 800), np.uint8)
    first, m, offset = 150, 200, 100
    behind = window[:, first + offset :]
    before = window[:, : first + offset]
    inserted = rng.integers(0, 4, (1, max(-gap, 0)), np.uint8)
    if side == "left":
        before = np.concatenate([before[:, : -20 - max(gap, 0)], inserted, before[:, -20:]], axis=1)
    else:
        behind = np.concatenate([behind[:, :35], inserted, behind[:, 35 + max(gap, 0) :]], axis=1)
    sequences = np.concatenate([before[:, -offset:], behind[:, : m - offset]], axis=1)
    cases = Cases(rng, sequences, window, first)
    batch = cases.batch(abs(gap), abs(gap))
    assert cases.costs(offset, 15, abs(gap)).tolist() == [abs(gap)]
    assert reads_that_pass("band32", cases.candidates(offset, 15), batch).all()


def test_a_candidate_at_the_end_of_the_reference_passes():
    """Its narrow band is not all there to be looked at."""
    rng = np.random.default_rng(3)
    sequences, windows = (rng.integers(0, 4, (1, n), np.uint8) for n in (40, 500))
    for start, passes in ((0, True), (15, True), (16, False), (300, False), (449, True)):
        cases = Cases(rng, sequences, windows, start)
        assert reads_that_pass("band32", cases.candidates(10, 12), cases.batch(2, 5)) == [passes]


def test_limits_above_seven_switch_off_the_first_filter_per_candidate():
    rng = np.random.default_rng(1)
    cases = Cases(rng, np.zeros((2, 30), np.uint8), np.full((2, 60), 1, np.uint8), 10)
    assert reads_that_pass("tnw4-4", cases.candidates(10, 8), cases.batch([7, 8], 0)).tolist() == [
        False,
        True,
    ]


# ---- Duplicates -------------------------------------------------------------------------------------------


def read_with_mismatches(m, mismatches):
    window = np.random.default_rng(m).integers(0, 4, m).astype(np.uint8)
    read = window.copy()
    read[mismatches] = (read[mismatches] + 1) % 4
    return Cases(np.random.default_rng(0), read[None], window[None], 0)


def seeds(cases, pairs):
    one = cases.candidates(0, 1).take(np.zeros(len(pairs), int))
    offsets, lengths = np.array(pairs, np.uint16).reshape(-1, 2).T
    return Candidates(one.read_strand, one.diagonal, offsets.copy(), lengths.copy())


def left_over(candidates):
    return list(zip(candidates.offset.tolist(), candidates.length.tolist(), strict=True))


def test_seeds_of_one_run_are_one_grown_to_the_run():
    cases = read_with_mismatches(200, [7, 110])
    candidates = seeds(cases, [(10, 12), (11, 12), (70, 12), (98, 12), (111, 12), (150, 50)])
    assert left_over(passed("duplicate", candidates, cases.batch(5, 5))) == [(8, 102), (111, 89)]


def test_a_seed_that_is_no_exact_match_stays_as_it_is():
    cases = read_with_mismatches(60, [20])
    candidates = seeds(cases, [(10, 12), (15, 12), (21, 12)])
    assert left_over(passed("duplicate", candidates, cases.batch(5, 5))) == [(10, 12), (15, 12), (21, 39)]


# ---- Batches ----------------------------------------------------------------------------------------------


def test_result_does_not_depend_on_the_batch():
    cases = random_cases(np.random.default_rng(9), 3000, 75, 30, 12, 4)
    candidates, batch = cases.candidates(30, 12), cases.batch(4, 4)
    cuts = [0, 1, 2, 3, 25, 26, 700, 3000]
    for name in FILTERS:
        whole = passed(name, candidates, batch)
        parts = [passed(name, candidates.take(slice(*c)), batch) for c in zip(cuts, cuts[1:], strict=False)]
        for column in vars(whole):
            assert (getattr(whole, column) == np.concatenate([getattr(p, column) for p in parts])).all()


# ---- The cascade ------------------------------------------------------------------------------------------


def test_order_counts_and_table(small_index, small_reads):
    mapper = engine(small_index, device="none", mode="global", filters=FILTERS)
    stats = mapper.map_batch(batch_of_records(small_reads))[1]
    funnel, rows = stats.funnel, list(stats.funnel.as_dict().values())
    assert list(funnel.stages) == ["tnw4-4", "fd", "duplicate", "tnw4-16", "tnw5-full", "band32"]
    # Those of the bands that are scored first go into no filter.
    assert stats.candidates > rows[0]["in"] > rows[-1]["out"] > 0
    assert all(a["out"] == b["in"] for a, b in zip(rows, rows[1:], strict=False))
    assert rows[-1]["total_percent"] == pytest.approx(100 * (1 - rows[-1]["out"] / rows[0]["in"]))
    assert [line.split()[0] for line in str(funnel).splitlines()] == ["filter", *funnel.stages]
