"""Mates that hold the same bases, those of a short fragment: what one of them shows of the rivals of both."""

from types import SimpleNamespace

import numpy as np

import gassst
from gassst.io.reference import Reference
from gassst.layouts import READ_SUMMARY
from gassst.local import hidden_copies
from gassst.search.arrays import Bands
from gassst.tools.foreign import ADAPTERS

M = 150
COMPLEMENT = str.maketrans("ACGT", "TGCA")


def random_bases(rng, n):
    return "".join(rng.choice(list("ACGT"), n))


def test_cut_pairs_are_in_doubt_where_seeds_that_were_passed_over_may_hide_a_copy():
    rng = np.random.default_rng(2)
    n = 400
    partner = np.arange(n) ^ 1
    mapped = np.repeat(rng.random(n // 2) < 0.8, 2)
    edits = rng.integers(0, 2, n).astype(np.uint16)
    columns = {name: np.zeros(n, np.uint32) for name in Bands.__dataclass_fields__} | {"edits": edits}
    found = SimpleNamespace(
        summary=np.zeros(n, READ_SUMMARY),
        bands=SimpleNamespace(**columns),
        rows=np.flatnonzero(mapped),
        start=np.concatenate([[0], np.cumsum(mapped)]),
        proper=mapped & np.repeat(rng.random(n // 2) < 0.8, 2),
        left_to_local=np.repeat(rng.random(n // 2) < 0.1, 2),
        passed_over=rng.choice([0, 0.4, 0.6, 1], n),
        quality=rng.choice(np.array([0, 3, 4, 29, 30, 60], np.uint8), n),
        hidden=np.zeros(n),
    )
    paired = np.repeat(rng.random(n // 2) < 0.9, 2)
    pairs = SimpleNamespace(partner=partner, paired=paired, same_bases=True)
    doubt = hidden_copies.in_doubt(found, pairs, None)
    assert np.array_equal(doubt, hidden_copies.in_doubt(found, pairs, 0.1))
    for r in range(n):
        two = [r, r ^ 1]
        has_error = any(mapped[i] and edits[i] for i in two)
        doubted = has_error or min(found.quality[two]) < 30
        is_open = found.proper[r] and doubted and max(found.quality[two]) > 3
        hidden = max(found.passed_over[two]) > 0.5
        assert doubt[r] == (paired[r] and hidden and (is_open or found.left_to_local[r]))
    assert 20 < doubt.sum() < n - 20


def test_a_fragment_that_two_families_of_copies_share_is_at_none_of_them():
    """One mate has an error that makes it a copy of the other family. Seeds of 300 copies are passed over."""
    rng = np.random.default_rng(3)
    stem = random_bases(rng, 52)
    families = [stem[:9] + base + stem[10:] for base in "AC"]
    text = "".join(families[i % 2] + random_bases(rng, 40) for i in range(1200))
    unique = random_bases(rng, 60_000)
    sequences = [("copies", text.encode()), ("unique", unique.encode())]
    index = gassst.Index.build(Reference.from_sequences(sequences))
    first, last = [], []

    def add(one, other):
        for reads, bases, adapter in zip((first, last), (one, other), ADAPTERS["truseq"], strict=True):
            reads.append((f"p{len(reads)}", (bases + adapter + random_bases(rng, M))[:M], "I" * M))

    for at in range(0, 50_000, 500):
        add(unique[at : at + 90], unique[at : at + 90].translate(COMPLEMENT)[::-1])
    for _ in range(20):
        add(families[0], families[1].translate(COMPLEMENT)[::-1])
    mapper = gassst.Mapper(index, device="none", insert=(90.0, 20.0))
    records = [r for r in mapper.map(first, last) if not r.flag & 0x900]
    assert min(r.mapping_quality for r in records[:200]) >= 40
    assert max(r.mapping_quality for r in records[200:]) <= 3
