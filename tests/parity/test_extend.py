"""Banded alignment against textbook DP, edlib and parasail, on every instruction set this machine has."""

from functools import cache, partial
from types import SimpleNamespace

import numpy as np
import pytest
from alignments import (
    MASKED,
    band_rows,
    decode,
    edit_cost,
    edit_path,
    make_pairs,
    make_reference,
    oriented,
    pack,
    planes_of,
)
from kernel_bands import Reads

WORDS = 1, 2, 4, 8


def make_textbook(words):
    """Pairs, the last row of each one's matrix, and its paths to the best and to any end."""
    rng = np.random.default_rng(words)
    reference = make_reference(rng)
    reads, read_strand, band_start = make_pairs(rng, reference, 250, words)
    on_strand = [oriented(reads, rs) for rs in read_strand]
    matrices = band_rows(on_strand, reference, band_start, words)
    last = np.array([rows[-1] for rows in matrices], int)
    any_end = np.random.default_rng(1).integers(0, 64 * words, len(last))
    ends = {"best": last.argmin(axis=1), "any": any_end}
    given = list(zip(matrices, on_strand, band_start.tolist(), strict=True))
    paths = {
        which: [
            edit_path(rows, read, reference, start, end)
            for (rows, read, start), end in zip(given, chosen, strict=True)
        ]
        for which, chosen in ends.items()
    }
    return SimpleNamespace(
        words=words, reference=reference, reads=reads, read_strand=read_strand, band_start=band_start,
        last=last, ends=ends, paths=paths,
    )  # fmt: skip


@pytest.fixture(scope="module", params=WORDS)
def textbook(request, made_once):
    return made_once(f"textbook-{request.param}", lambda: make_textbook(request.param))


@pytest.mark.parametrize("words", WORDS)
def test_score_is_the_least_of_the_profile(backend, words):
    """Many last rows: ties and minima everywhere in a word, which the bytewise scan has to get right."""
    rng = np.random.default_rng(words)
    reference = make_reference(rng)
    read_strand = rng.integers(0, 800, 10_000 // words).astype(np.uint32)
    band_start = rng.integers(0, len(reference), len(read_strand))
    reads = [rng.integers(0, 4, rng.integers(4, 60)).astype(np.uint8) for _ in range(400)]
    handle = backend(planes_of(reference), pack(reads))
    best, end = handle.score(read_strand, band_start, words)
    profile = handle.profile(read_strand, band_start, words)
    np.testing.assert_array_equal(best, profile.min(axis=1))
    np.testing.assert_array_equal(end, profile.argmin(axis=1))


@pytest.mark.parametrize("words", WORDS)
def test_reads_without_an_error_end_on_the_leftmost_diagonal_that_fits(backend, words):
    """In repeats several do. Beside the ends of the reference, and with masked bases, it is as anywhere else."""
    rng, n = np.random.default_rng(words), 2000
    reference = make_reference(rng)[:3000]
    for at, unit in ((300, 1), (900, 7), (1500, 40)):
        reference[at : at + 400] = np.resize(rng.integers(0, 4, unit), 400)
    start = rng.integers(0, len(reference) - 15, n)
    reads = [reference[s : s + rng.integers(15, 160)].copy() for s in start]
    for read in reads[::3]:
        read[rng.integers(0, len(read))] = rng.integers(0, 5)
    band_start = np.maximum(start - rng.integers(0, 64 * words, n), 0)
    read_strand = 2 * np.arange(n, dtype=np.uint32)
    handle = backend(planes_of(reference), pack(reads))
    best, end = handle.score(read_strand, band_start, words)
    profile = handle.profile(read_strand, band_start, words)
    assert ((profile == 0).sum(axis=1) > 1).sum() > 100
    np.testing.assert_array_equal(best, profile.min(axis=1))
    np.testing.assert_array_equal(end, profile.argmin(axis=1))


def open_case(backend, case):
    return backend(planes_of(case.reference), pack(case.reads))


def test_score_and_profile_are_textbook(backend, textbook):
    handle = open_case(backend, textbook)
    best, end = handle.score(textbook.read_strand, textbook.band_start, textbook.words)
    np.testing.assert_array_equal(best, textbook.last.min(axis=1))
    np.testing.assert_array_equal(end, textbook.last.argmin(axis=1))
    profile = handle.profile(textbook.read_strand, textbook.band_start, textbook.words)
    np.testing.assert_array_equal(profile, textbook.last)


@pytest.mark.parametrize("most", [0, 12])
def test_errors_above_the_limit_are_not_told(backend, textbook, most):
    limit = np.random.default_rng(most).integers(0, most + 1, len(textbook.reads)).astype(np.uint16)
    pairs = textbook.read_strand, textbook.band_start, textbook.words
    best, end = open_case(backend, textbook).score(*pairs, limit)
    known, at = textbook.last.min(axis=1), textbook.last.argmin(axis=1)
    above = known > limit[textbook.read_strand >> 1]
    assert above.any()
    np.testing.assert_array_equal(best, np.where(above, 0xFFFF, known))
    np.testing.assert_array_equal(end, np.where(above, 0, at))


@cache
def made_pairs(words):
    rng = np.random.default_rng(words)
    reference = make_reference(rng)
    return reference, *make_pairs(rng, reference, 300, words, (30, 200))


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("most", [0, 10, 40, 100])
def test_groups_that_end_early_hold_no_band_within_a_limit(backend, words, most):
    """Bands of other bases with a few of the read's own among them: groups end after 32 rows, after 64, or not."""
    rng, (reference, reads, own_strand, own_start) = np.random.default_rng(most), made_pairs(words)
    read_strand = np.repeat(own_strand, 10).astype(np.uint32)
    band_start = rng.integers(0, len(reference), len(read_strand))
    band_start[::23] = np.repeat(own_start, 10)[::23]
    limit = rng.integers(most // 2, most + 1, len(reads)).astype(np.uint16)
    handle = backend(planes_of(reference), pack(reads))
    best, end = handle.score(read_strand, band_start, words)
    within = best <= limit[read_strand >> 1]
    found = handle.score(read_strand, band_start, words, limit)
    np.testing.assert_array_equal(found, [np.where(within, best, 0xFFFF), np.where(within, end, 0)])


def whole_width(errors):
    """Diagonals of the band of kernels/local_start.h, by the most of some errors."""
    return max(16, 1 << int(2 * errors.max()).bit_length())


def least_gaps(read, reference, first, width):
    """(errors, gaps) of the best alignment that ends in the middle of a band: every cell in turn."""
    nowhere = (10_000, 0)
    row = [((0, 0), nowhere, nowhere)] * width  # at all, by an insertion, by a deletion

    def more(cost, errors, gaps):
        return cost[0] + errors, cost[1] + gaps

    for i, base in enumerate(read):
        above, row = [*row, (nowhere,) * 3], []
        for c in range(width):
            at = first + i + c
            differs = not (at < len(reference) and reference[at] == base != MASKED)
            insertion = min(more(above[c + 1][0], 1, 1), more(above[c + 1][1], 1, 0))
            deletion = min(more(row[-1][0], 1, 1), more(row[-1][2], 1, 0)) if c else nowhere
            row.append((min(more(above[c][0], differs, 0), insertion, deletion), insertion, deletion))
    return row[width // 2][0]


@pytest.mark.parametrize("which", ["best", "any"])
def test_whole_reads_have_the_fewest_errors_and_of_these_the_fewest_gaps(backend, textbook, which):
    """Wherever the end is, and however many errors that takes."""
    edits = textbook.last[np.arange(250), textbook.ends[which]]
    some = np.flatnonzero(edits < 64)[::40]
    ends, edits = textbook.ends[which][some], edits[some]
    width, read_strand = whole_width(edits), textbook.read_strand[some]
    first = textbook.band_start[some] + ends + 512 - width // 2
    reference = np.pad(textbook.reference, (512, 1024), constant_values=MASKED)
    handle = backend(planes_of(reference), pack(textbook.reads))
    middle = np.full(len(ends), width // 2)
    position, errors, cigars, at, runs = handle.align(read_strand, first, width, middle, edits)
    assert (errors <= edits).all() and len(cigars) == runs.sum()
    for p, own in enumerate(read_strand):
        read, path = oriented(textbook.reads, own), decode(cigars, at[p], runs[p])
        last = int(first[p]) + width // 2 + len(read)
        assert edit_cost(read, reference, int(position[p]), path) == (errors[p], len(read), last)
        gaps = sum(op != "M" for _, op in path)
        assert (errors[p], gaps) == least_gaps(read, reference, int(first[p]), width)
        assert all(a[1] != b[1] for a, b in zip(path, path[1:], strict=False)) and min(path)[0] > 0
        assert path[0][1] != "D"


def results(make, reference, reads, read_strand, band_start, words):
    handle = make(planes_of(reference), pack(reads))
    best, end = handle.score(read_strand, band_start, words)
    return [best, end, handle.profile(read_strand, band_start, words)]


@cache
def some_pairs(n, words):
    """(pairs, results of the plain C code)"""
    rng = np.random.default_rng(n + words)
    reference = make_reference(rng)
    reads, read_strand, band_start = make_pairs(rng, reference, n or 1, words, (30, 200))
    pairs = reference, reads, read_strand[:n], band_start[:n], words
    return pairs, results(partial(Reads, instruction_set="generic"), *pairs)


@pytest.mark.parametrize("n", [0, 1, 7, 1000])
@pytest.mark.parametrize("words", WORDS)
def test_all_backends_return_the_same_bytes(backend, n, words):
    pairs, expected = some_pairs(n, words)
    for ours, theirs in zip(results(backend, *pairs), expected, strict=True):
        assert (ours.dtype, ours.shape, ours.tobytes()) == (theirs.dtype, theirs.shape, theirs.tobytes())


def test_masked_bases_never_match(backend):
    reference = np.full(400, MASKED, np.uint8)
    read = np.full(70, MASKED, np.uint8)
    handle = backend(planes_of(reference), pack([read, np.zeros(70, np.uint8)]))
    best, end = handle.score([0, 1, 2, 3], [64] * 4, 1)
    assert best.tolist() == [70] * 4 and end.tolist() == [0] * 4


def test_beyond_the_reference_all_is_masked(backend):
    reference = np.zeros(64 * 4, np.uint8)
    handle = backend(planes_of(reference), pack([np.zeros(100, np.uint8)]))
    starts = np.array([0, 100, 200, 256, 10_000, 2**32 - 1])
    best, _ = handle.score([0] * 6, starts, 1)
    expected = [rows[-1].min() for rows in band_rows([np.zeros(100, np.uint8)] * 6, reference, starts, 1)]
    assert best.tolist() == expected
    assert best.tolist() == [0, 0, 44, 100, 100, 100]


def test_empty_read(backend):
    reads = [np.zeros(0, np.uint8), np.zeros(5, np.uint8)]
    handle = backend(planes_of(np.zeros(256, np.uint8)), pack(reads))
    best, end = handle.score([0, 2], [0, 0], 1)
    position, _, cigars, _, runs = handle.align([0, 2], [0, 0], 16, end, best)
    assert best.tolist() == position.tolist() == [0, 0]
    assert (runs.tolist(), cigars.tolist()) == ([0, 1], [5 << 4])
