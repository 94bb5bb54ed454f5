"""Mates that hold the same bases, those of a short fragment: what one of them shows of the rivals of both."""

from types import SimpleNamespace

import numpy as np

import gassst
from gassst.io.reference import Reference
from gassst.layouts import NO_SCORE, READ_SUMMARY
from gassst.local import hidden_copies
from gassst.search.arrays import Bands
from gassst.search.mapq import copies_of_same_bases
from gassst.tools.foreign import ADAPTERS

M = 150
COMPLEMENT = str.maketrans("ACGT", "TGCA")


def random_bases(rng, n):
    return "".join(rng.choice(list("ACGT"), n))


def with_errors(rng, bases, n):
    codes = list(bases)
    for i in rng.choice(6, n, replace=False):  # few places, so that errors meet differences
        codes[i] = "ACGT"[("ACGT".index(codes[i]) + rng.integers(1, 4)) % 4]
    return "".join(codes)


def distance(one, other):
    return sum(a != b for a, b in zip(one, other, strict=True))


def test_copies_of_one_mate_weigh_no_more_than_all_places_of_the_pair():
    """Every place is compared with both mates; the weight is that of all places but the chosen one."""
    rng = np.random.default_rng(1)
    exact = 0
    for _ in range(400):
        fragment = random_bases(rng, 40)
        copies = [with_errors(rng, fragment, rng.integers(0, 3)) for _ in range(rng.integers(1, 30))]
        mates = [with_errors(rng, fragment, rng.integers(0, 3)) for _ in range(2)]
        errors = np.array([[distance(copy, mate) for copy in copies] for mate in mates])
        chosen = int(errors.sum(axis=0).argmin())
        odds = np.full(2, 0.01)
        further = errors.sum(axis=0) - errors[:, chosen].sum()
        truth = (odds[0] ** further).sum() - 1
        summary = np.zeros(2, READ_SUMMARY)
        summary["best"] = errors.min(axis=1)
        summary["n_best"] = (errors == errors.min(axis=1)[:, None]).sum(axis=1)
        lengths, partner = np.full(2, 40, np.uint32), np.array([1, 0])
        weight = copies_of_same_bases(summary, lengths, errors[:, chosen], partner, odds)
        assert weight[0] == weight[1] <= truth * (1 + 1e-9) + 1e-12
        exact += weight[0] >= 1
    assert exact > 20


def test_mates_of_other_lengths_and_without_a_place_say_less():
    summary = np.zeros(4, READ_SUMMARY)
    summary["best"], summary["n_best"] = [0, 1, NO_SCORE, 0], [9, 1, 0, 3]
    lengths, partner = np.array([50, 52, 50, 50], np.uint32), np.array([1, 0, 3, 2])
    chosen = np.array([0, 1, NO_SCORE, NO_SCORE])
    weight = copies_of_same_bases(summary, lengths, chosen, partner, np.full(4, 0.1))
    assert np.allclose(weight, [8 * 0.1**2] * 2 + [3, 3])


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


def test_copies_of_one_mate_count_for_both_where_its_errors_hide_the_place_of_the_other():
    """One mate is read as one of 100 copies, the other as a place of its own: four errors at either.

    No place of the second mate is known beside a copy, so that its own place alone looks sure. That the mates hold the
    same bases says what it would cost there.
    """
    rng = np.random.default_rng(4)
    rare = random_bases(rng, 80)
    common = "".join(b.translate(COMPLEMENT) if i in (10, 30, 50, 70) else b for i, b in enumerate(rare))
    text = "".join(random_bases(rng, 100) + common for _ in range(100))
    unique = random_bases(rng, 20_000)
    sequences = [("copies", text.encode()), ("rare", (unique[:900] + rare + unique[900:]).encode())]
    index = gassst.Index.build(Reference.from_sequences(sequences))
    bases = [(common, rare), (rare, common), (rare, rare)]
    bases += [(unique[at : at + 80],) * 2 for at in range(2000, 18_000, 500)]
    reads = [[], []]
    for i, (one, other) in enumerate(bases):
        sides = one, other.translate(COMPLEMENT)[::-1]
        for mate, (side, adapter) in enumerate(zip(sides, ADAPTERS["nextera"], strict=True)):
            reads[mate].append((f"p{i}", (side + adapter + random_bases(rng, M))[:M], "I" * M))
    mapper = gassst.Mapper(index, device="none", insert=(90.0, 30.0))
    quality = [r.mapping_quality for r in mapper.map(*reads) if not r.flag & 0x900]
    assert quality[:4] == [0, 0, 0, 0]
    assert min(quality[4:]) >= 40
