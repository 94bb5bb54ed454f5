"""Copies of a place whose seeds the errors of a read have broken: the reference where the read lies leads to them."""

import brute_force as bf
import numpy as np
import pytest

import gassst
from gassst._core.read_search import MOST_SCORED
from gassst.model.reference import Reference

LENGTH, FLANK, COPIES = 75, 400, 40


def element_at(genome, i, size):
    """Where copy i begins."""
    return FLANK + i * (size + FLANK)


@pytest.fixture(scope="module", params=[1, 2])
def world(request):
    """A genome with a family of copies 2 % apart, and its index, of every position or of every second one."""
    rng = np.random.default_rng(5)
    element = bf.random_bases(rng, 600)
    copies = []
    for _ in range(COPIES):
        copy = bytearray(element)
        for at in rng.choice(len(copy), 6, replace=False):
            copy[at] = rng.choice([base for base in b"ACGT" if base != copy[at]])
        copies.append(bytes(copy))
    genome = bf.random_bases(rng, FLANK) + b"".join(copy + bf.random_bases(rng, FLANK) for copy in copies)
    index = gassst.Index.build(Reference.from_sequences([("g", genome)]), threads=1, step=request.param)
    return rng, genome, copies, index


def reads_of(world, n, reverse):
    """Reads of copies that differ from theirs in each seed of 25 bases, one of them as another copy does."""
    rng, genome, copies, _ = world
    found = []
    while len(found) < n:
        i, j = rng.choice(COPIES, 2, replace=False)
        at = int(rng.integers(600 - LENGTH))
        own, other = (copies[k][at : at + LENGTH] for k in (i, j))
        apart = [k for k in range(LENGTH) if own[k] != other[k]]
        if not 1 <= len(apart) <= 2:
            continue
        read = bytearray(own)
        read[apart[0]] = other[apart[0]]
        # The seed with that base is the only one that is left without an error, and leads to the other copy.
        for part in {0, 1, 2} - {apart[0] // 25}:
            place = 25 * part + int(rng.integers(5, 20))
            if place in apart:
                break
            read[place] = rng.choice([base for base in b"ACGT" if base not in (own[place], other[place])])
        else:
            text = bf.reverse_complement(bytes(read)) if reverse else bytes(read)
            found.append((text.decode(), element_at(genome, int(i), 600) + at))
    return found


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("mode", ["local", "global"])
def test_a_copy_that_no_seed_leads_to_is_a_rival(world, mode, reverse):
    reads = reads_of(world, 40, reverse)
    mapper = gassst.Mapper(world[3], mode=mode, device="none", threads=1)
    mapped = list(mapper.map([text for text, _ in reads]))
    sure = [hit.mapping_quality >= 20 for hit in mapped]
    right = [abs(hit.reference_start - at) <= 10 for hit, (_, at) in zip(mapped, reads, strict=True)]
    assert not any(a and not b for a, b in zip(sure, right, strict=True)), np.mean(sure)


@pytest.mark.parametrize("mode", ["local", "global"])
def test_all_copies_count_where_they_are_more_than_are_scored(mode):
    """One copy in `many` has a read; all others differ by a base, another one each."""
    rng, many, quality = np.random.default_rng(8), 70, {}
    for n in (MOST_SCORED, many):
        element = bf.random_bases(rng, LENGTH)
        copies = [bytearray(element) for _ in range(n)]
        for at, copy in enumerate(copies[1:]):
            copy[at] = ord("A") if copy[at] != ord("A") else ord("C")
        genome = b"".join(bf.random_bases(rng, FLANK) + bytes(copy) for copy in copies)
        index = gassst.Index.build(Reference.from_sequences([("g", genome)]), threads=1)
        [hit] = gassst.Mapper(index, mode=mode, device="none", threads=1).map([element.decode()])
        assert hit.reference_start == FLANK
        quality[n] = hit.mapping_quality
    fewer = 10 * np.log10((many - 1) / (MOST_SCORED - 1))
    assert quality[MOST_SCORED] - quality[many] == pytest.approx(fewer, abs=1)


def test_a_gap_that_the_search_may_miss_is_no_reason_to_be_sure():
    """A band of 64 diagonals may hold a deletion of more than `-g` bases at one copy, and not at the others."""
    rng, size = np.random.default_rng(9), 500
    element = bf.random_bases(rng, size)
    copies = [bytearray(element) for _ in range(COPIES)]
    for copy in copies:
        at = int(rng.integers(size))
        copy[at] = rng.choice([base for base in b"ACGT" if base != copy[at]])
    genome = bf.random_bases(rng, FLANK) + b"".join(
        bytes(copy) + bf.random_bases(rng, FLANK) for copy in copies
    )
    reads = []
    for n in range(120):
        copy, gap, at = copies[n % COPIES], int(rng.integers(17, 32)), int(rng.integers(size - 182))
        cut = at + int(rng.integers(40, 110))
        reads.append((copy[at:cut] + copy[cut + gap : at + 150 + gap]).decode())
    index = gassst.Index.build(Reference.from_sequences([("g", genome)]), threads=1)
    mapped = list(gassst.Mapper(index, device="none", threads=1).map(reads))
    assert max(hit.mapping_quality for hit in mapped) < 30
