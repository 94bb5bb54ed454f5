"""How many copies the substrings of a genome have: against copies that were planted, and in every kind of index."""

import numpy as np
import pytest

from gassst.errors import IndexFormatError
from gassst.index.build_parts import build_parts
from gassst.index.seed_index import SeedIndex
from gassst.index.spectrum import LENGTHS, Spectrum
from gassst.model.reference import Reference


def random_bases(rng, n):
    return np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, n)]


def changed(rng, bases, every):
    """With another base at every so many-th place."""
    changed = bases.copy()
    at = np.arange(every // 2, len(bases), every)
    codes = np.searchsorted(np.frombuffer(b"ACGT", np.uint8), changed[at])
    changed[at] = np.frombuffer(b"ACGT", np.uint8)[(codes + rng.integers(1, 4, at.size)) % 4]
    return changed


def reverse_complement(bases):
    return np.frombuffer(bytes(bases).translate(bytes.maketrans(b"ACGT", b"TGCA"))[::-1], np.uint8)


@pytest.fixture(scope="module")
def reference():
    """A half of the bases has a copy with an error in 50 bases; a quarter of them two more, one on the other strand."""
    rng = np.random.default_rng(3)
    unique, twice, often = random_bases(rng, 40_000), random_bases(rng, 10_000), random_bases(rng, 5_000)
    copies = [changed(rng, twice, 50), changed(rng, often, 25), reverse_complement(changed(rng, often, 33))]
    return Reference.from_sequences(
        [("a", bytes(np.concatenate([unique, twice, often, *copies]))), ("b", b"ACGTN")]
    )


def share_of(reference, *bases):
    return sum(bases) / int(reference.lengths[0])


def test_shares_are_those_of_planted_copies(reference):
    shares = SeedIndex.build(reference).spectrum.shares
    for i, m in enumerate(LENGTHS[1:4], 1):
        single, beside = shares[0, 0, i], shares[0, 1, i]
        # Every substring of what is there twice has its copy m / 50 errors away, but at the ends of it.
        own = slice(m // 50, -(-m // 50) + 1)
        assert share_of(reference, 20_000) - 0.06 < single[own].sum() < share_of(reference, 35_000) + 0.06
        assert single[0] == 0 and single.sum() == pytest.approx(share_of(reference, 35_000), abs=0.07)
        assert beside.sum() <= 1.2
    assert shares[1, 0, 3].sum() == pytest.approx(share_of(reference, 35_000), abs=0.08)


@pytest.mark.parametrize("step", [2, 4])
def test_it_is_the_same_for_every_step_and_in_parts(reference, step, tmp_path):
    shares = SeedIndex.build(reference).spectrum.shares
    assert np.array_equal(SeedIndex.build(reference, step=step).spectrum.shares, shares)
    build_parts(reference, tmp_path / "parts.gsi", parts=3, step=step)
    assert np.array_equal(SeedIndex.open(tmp_path / "parts.gsi").spectrum.shares, shares)


def test_exact_copies_say_nothing(reference):
    text = bytes(random_bases(np.random.default_rng(4), 3_000))
    shares = SeedIndex.build(Reference.from_sequences([("a", text), ("b", text)])).spectrum.shares
    assert not shares.any()


@pytest.mark.parametrize("text", [b"A", b"ACGT" * 10, b"N" * 400 + b"ACGTACCA", b"A" * 4000])
def test_of_a_genome_with_little_to_count(text):
    shares = SeedIndex.build(Reference.from_sequences([("a", text)])).spectrum.shares
    assert shares.shape == Spectrum.SHAPE and np.isfinite(shares).all()


def test_what_no_share_can_be_is_refused(reference, tmp_path):
    index = SeedIndex.build(reference)
    index.spectrum.shares[0, 0, 0, 5] = np.nan
    index.save(tmp_path / "bad.gsi")
    with pytest.raises(IndexFormatError, match="section spectrum holds no shares"):
        SeedIndex.open(tmp_path / "bad.gsi")
