"""Banded local alignment (kernels/local.h) against textbook Gotoh and parasail, on every instruction set here."""

from functools import cache, partial
from types import SimpleNamespace

import numpy as np
import pytest
from alignments import (
    MASKED,
    SCORINGS,
    decode,
    joined,
    local_cost,
    local_textbook,
    make_pairs,
    make_reference,
    oriented,
    pack,
    planes_of,
)
from kernel_bands import Reads
from local_pairs import aligned, scored

from gassst.errors import UsageError
from gassst.model.params import Scoring


def make_case(width, name):
    """Pairs, what the textbook says of them, and what the path of each costs."""
    scoring, rng = SCORINGS[name], np.random.default_rng(width)
    reference = make_reference(rng)
    reads, read_strand, band_start = make_pairs(rng, reference, 200 if width < 512 else 80, width / 64)
    reads = joined(rng, reads)
    on_strand = [oriented(reads, rs) for rs in read_strand]
    truth = local_textbook(on_strand, reference, band_start, width, scoring)
    costs = [
        found and local_cost(read, reference, found[3], found[4], scoring)
        for read, found in zip(on_strand, truth, strict=True)
    ]
    return SimpleNamespace(
        width=width, scoring=scoring, reference=reference, reads=reads, read_strand=read_strand,
        band_start=band_start, truth=truth, costs=costs,
    )  # fmt: skip


@pytest.fixture(
    scope="module",
    params=[
        *((w, "bwa") for w in (16, 32, 64, 128, 512)),
        *((64, s) for s in list(SCORINGS)[1:]),
        (16, "extremes"),
    ],
    ids=lambda param: "-".join(map(str, param)),
)
def case(request, made_once):
    width, name = request.param
    return made_once(f"local-{width}-{name}", lambda: make_case(width, name))


def test_scores_and_paths_are_textbook(backend, case):
    handle = backend(planes_of(case.reference), pack(case.reads))
    pairs = case.read_strand, case.band_start, case.width, case.scoring
    score, reached, rows, end = scored(handle, *pairs)
    also, too, position, cigars, at, runs, edits = aligned(handle, *pairs)
    np.testing.assert_array_equal(score, also)
    np.testing.assert_array_equal(reached, too)
    assert len(cigars) == runs.sum() and at[0] == 0
    for p, expected in enumerate(case.truth):
        read, path = oriented(case.reads, case.read_strand[p]), decode(cigars, at[p], runs[p])
        if expected is None:
            assert (score[p], rows[p], path) == (0, 0, [(len(read), "S")])
            continue
        assert (score[p], rows[p], end[p], position[p], path) == expected
        assert reached[p] == (path[0][1] != "S") + 2 * (path[-1][1] != "S")
        assert case.costs[p] == (score[p], edits[p], len(read))


def test_the_cases_are_not_trivial(case):
    paths = [truth[4] for truth in case.truth if truth is not None]
    ops = {op for path in paths for _, op in path}
    never = {"S"} if case.scoring.clip == 1000 else {"D"} if case.scoring.gap_open[0] == 1000 else set()
    assert ops == set("MIDS") - never
    assert sum(len(path) > 1 for path in paths) > len(paths) / 4


def results(make, reference, reads, *pairs):
    handle = make(planes_of(reference), pack(reads))
    return [*scored(handle, *pairs), *aligned(handle, *pairs)]


@cache
def some_pairs(n, width):
    """(pairs, results of the plain C code)"""
    rng = np.random.default_rng(n + width)
    reference = make_reference(rng)
    reads, read_strand, band_start = make_pairs(rng, reference, n or 1, width / 64, (1, 1000))
    pairs = reference, joined(rng, reads), read_strand[:n], band_start[:n], width, Scoring()
    return pairs, results(partial(Reads, instruction_set="generic"), *pairs)


@pytest.mark.parametrize("n", [0, 1, 33, 300])
@pytest.mark.parametrize("width", [16, 64, 256])
def test_all_backends_return_the_same_bytes(backend, n, width):
    pairs, expected = some_pairs(n, width)
    for ours, theirs in zip(results(backend, *pairs), expected, strict=True):
        assert (ours.dtype, ours.shape, ours.tobytes()) == (theirs.dtype, theirs.shape, theirs.tobytes())


@cache
def mixed_groups():
    """(reference, reads, read_strand, band_start): twelve groups of 64 pairs. Three have a read that belongs elsewhere,
    and loses more than a byte holds. Three have reads of many lengths."""
    rng = np.random.default_rng(12)
    reference = rng.integers(0, 4, 6000).astype(np.uint8)
    at = rng.integers(0, 5000, 12 * 64)
    reads = [reference[s + 32 : s + 182].copy() for s in at]
    for read in reads:
        read[rng.integers(0, 150, 2)] = rng.integers(0, 5, 2)
    for group in (1, 2, 7):
        reads[64 * group + int(rng.integers(64))] = rng.integers(0, 4, 150).astype(np.uint8)
    for p in (p for group in (0, 7, 11) for p in range(64 * group, 64 * group + 64)):
        reads[p] = np.delete(reads[p], slice(20, 23))[: rng.integers(1, 148)]
    return reference, reads, 2 * np.arange(len(reads)), at


@cache
def mixed_groups_by_plain_c(width):
    reference, reads, *pairs = mixed_groups()
    return bytes_of(Reads(planes_of(reference), pack(reads), "generic"), *pairs, width, Scoring())


def bytes_of(handle, *pairs):
    return [array.tobytes() for array in (*scored(handle, *pairs), *aligned(handle, *pairs))]


@pytest.mark.parametrize("width", [16, 64, 512])
def test_groups_that_lose_more_than_a_byte_give_the_same_bytes(backend, width):
    """Lanes of bytes and, where one does not do, of 16 bits."""
    reference, reads, *pairs = mixed_groups()
    handle = backend(planes_of(reference), pack(reads))
    assert bytes_of(handle, *pairs, width, Scoring()) == mixed_groups_by_plain_c(width)


def test_the_longest_reads_at_the_highest_scores_do_not_overflow(backend):
    rng = np.random.default_rng(2)
    reference = rng.integers(0, 4, 3000).astype(np.uint8)
    scoring = Scoring(
        match=10, mismatch=1000, gap_open=(1000, 1000), gap_extend=(1000, 1000), clip=1000
    ).verify()
    reads = [reference[500:1500].copy(), 3 - reference[500:1500], np.full(1000, MASKED, np.uint8)]
    handle = backend(planes_of(reference), pack(reads))
    score, reached, rows, end = scored(handle, [0, 2, 4], [480] * 3, 64, scoring)
    assert (score[0], rows[0], end[0]) == (10_000, 1000, 20)
    expected = local_textbook(reads[1:], reference, [480] * 2, 64, scoring)
    assert [score[p] for p in (1, 2)] == [found[0] for found in expected]


def test_beyond_the_reference_all_is_masked(backend):
    reference = np.zeros(64 * 4, np.uint8)
    handle = backend(planes_of(reference), pack([np.zeros(100, np.uint8)]))
    starts = np.array([0, 100, 200, 256, 2**32 - 1])
    score, _, rows, _ = scored(handle, [0] * 5, starts, 64, Scoring(clip=0))
    assert score.tolist() == [100, 100, 56, 0, 0]
    assert rows.tolist() == [100, 100, 56, 0, 0]


@pytest.mark.parametrize(
    "wrong, said",
    [
        ({"match": 0}, "^match "), ({"match": 11}, "^match "), ({"mismatch": -1}, "^mismatch "),
        ({"gap_open": (6, 1001)}, "^gap_open "), ({"gap_extend": (0, 1)}, "^gap_extend "),
        ({"clip": 1001}, "^clip "), ({"min_score": -1}, "^min_score "),
    ],
)  # fmt: skip
def test_scores_that_would_overflow_are_refused(wrong, said):
    with pytest.raises(UsageError, match=said):
        Scoring(**wrong).verify()
