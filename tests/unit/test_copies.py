"""Copies of a place: what those weigh that were not seen, which seeds lead to them, and which are listed."""

from types import SimpleNamespace

import brute_force as bf
import numpy as np
import pysam
import pytest
from rating import alike, rated_wholes, rater

import gassst
from gassst._core.read_search import MOST_SCORED
from gassst.index.miss_model import NO_SEEDS, SeedsLooked, Stage, stage_misses
from gassst.index.spectrum import DIFFERENCES
from gassst.model.params import LEAST_SHARE, MAX_ERRORS, MapParams, Scoring
from gassst.model.reference import Reference
from gassst.search.host import HostBackend
from gassst.search.plan import SearchPlan

M, W = 60, 15
DISJOINT = SeedsLooked.of(
    W, stage_misses(M, (Stage(W, M // W, False),))[0]
)  # without the rule for disjoint ones


def weighed(m, errors, odds, seeds):
    """Weighs the copies of one read."""
    some = rater([seeds], alike(odds))
    rated_wholes(some, [m], [[errors]])
    [case] = some.cases.kept
    return SimpleNamespace(**{name: np.array(case[name]) for name in ("missed", "both", "lost")})


def drawn(rng, n, differences, errors):
    """Errors of n reads at the place and at a copy, and whether a disjoint seed is free of them: int64[n], bool[n]."""
    order = rng.random((n, M)).argpartition(differences, axis=1)
    differs = np.zeros((n, M), bool)
    np.put_along_axis(differs, order[:, :differences], True, axis=1)
    order = rng.random((n, M)).argpartition(errors, axis=1)
    is_error = np.zeros((n, M), bool)
    np.put_along_axis(is_error, order[:, :errors], True, axis=1)
    like_copy = differs & is_error & (rng.random((n, M)) < 1 / 3)
    at_copy = (differs | is_error) & ~like_copy
    clean = [~wrong.reshape(n, M // W, W).any(axis=2) for wrong in (is_error, at_copy)]
    return at_copy.sum(axis=1), *(some.any(axis=1) for some in clean)


@pytest.mark.parametrize("differences", [1, 3, 8])
@pytest.mark.parametrize("errors", [0, 2, 6])
def test_weights_are_those_of_random_reads(differences, errors):
    odds, n = 0.2, 200_000
    rng = np.random.default_rng(differences * 10 + errors)
    found, leads, leads_to_copy = drawn(rng, n, differences, errors)
    weight = odds ** (found - errors).astype(float)
    some = weighed(M, errors, odds, DISJOINT)
    every = weighed(M, errors, odds, NO_SEEDS)
    assert every.missed[differences] == pytest.approx(weight.mean(), rel=0.05, abs=2e-5)
    # What both places miss is estimated.
    near = {"rel": 0.3, "abs": 2e-3}
    assert some.missed[differences] == pytest.approx((weight * ~leads_to_copy).mean(), **near)
    assert some.both[differences] == pytest.approx((weight * ~leads_to_copy * ~leads).mean(), **near)
    assert some.lost[0] == pytest.approx((~leads).mean(), abs=0.03)


def test_seeds_that_lead_to_a_place_lead_to_its_exact_copies():
    for errors in range(10):
        some = weighed(M, errors, 0.02, DISJOINT)
        assert some.missed[0] == some.both[0]


def test_where_no_seed_was_looked_up_everything_is_missed():
    some = weighed(M, 3, 0.02, NO_SEEDS)
    assert np.array_equal(some.missed, some.both) and (some.missed > 0).all() and some.lost[0] == 1


def test_no_alignment_with_fewer_errors_than_are_complete_is_missed():
    missed = np.r_[np.zeros(5), np.ones(20)]
    assert not weighed(M, 2, 0.02, SeedsLooked.of(W, missed)).missed[:2].any()


@pytest.mark.parametrize("m", [1, 20, 36, 250, 4000])
def test_any_read_has_finite_weights(m):
    for errors in {0, 1, min(m // 5, 200), min(m, MAX_ERRORS)}:
        some, every = weighed(m, errors, 0.3, DISJOINT), weighed(m, errors, 0.3, NO_SEEDS)
        for column in (some.missed, some.both):
            assert column.shape == (DIFFERENCES,) and np.isfinite(column).all() and (column >= 0).all()
        assert (some.both <= some.missed).all() and (some.missed <= every.missed + 1e-12).all()


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


BASES = "ACGT"


def with_errors(bases, places):
    changed = list(bases)
    for at in places:
        changed[at] = BASES[(BASES.index(changed[at]) + 1) % 4]
    return "".join(changed)


def rows_of(m):
    """Length and number of the disjoint seeds, and of those at every few bases, of reads of `m` bases."""
    plan = SearchPlan(MapParams(), 15, 10**8)
    plan.prepare(np.array([m]))
    return [(int(plan.seed_length[row, m]), int(plan.seed_count[row, m])) for row in (-2, -1)]


def test_a_copy_that_is_listed_has_one_of_the_disjoint_seeds_without_an_error():
    scoring = Scoring()
    for length in range(30, 400, 7):
        errors = int(round((1 - LEAST_SHARE) * 1000) * length * scoring.match) // (
            1000 * (scoring.match + scoring.mismatch)
        )
        (bases, number), _ = rows_of(length)
        assert number == errors + 1 and number * bases <= length


@pytest.fixture
def looks(monkeypatch):
    """Note of how many reads the last seeds that lead to copies were looked up, and how many bands were scored."""
    looks, own = [], HostBackend.placed

    def placed(self, pairs, found):
        search = own(self, pairs, found)
        aligner = search.ends

        class Noted:
            def add_copies(self):
                before = aligner.scored
                looks.append((search.add_copies(), aligner.scored - before))

            def __getattr__(self, name):
                return getattr(search, name)

        return Noted()

    monkeypatch.setattr(HostBackend, "placed", placed)
    return looks


@pytest.fixture
def places(tmp_path):
    """First bases of all records of a read."""

    def of(index, read, **options):
        (tmp_path / "r.fq").write_text(f"@r\n{read}\n+\n{'I' * len(read)}\n")
        gassst.Mapper(index, device="none", **options).map_file(tmp_path / "r.fq", tmp_path / "r.sam")
        with pysam.AlignmentFile(tmp_path / "r.sam") as file:
            return sorted(record.reference_start for record in file)

    return of


def index_of(*pieces):
    rng = np.random.default_rng(3)
    text, starts = "", []
    for piece in pieces:
        text += "".join(rng.choice(list(BASES), 500))
        starts.append(len(text))
        text += piece
    text += "".join(rng.choice(list(BASES), 500))
    return gassst.Index.build(Reference.from_sequences([("c", text.encode())])), starts


READ = "".join(np.random.default_rng(8).choice(list(BASES), 100))


@pytest.mark.parametrize("errors", [(10, 30, 50, 70), (5, 45, 62, 93), (19, 39, 59, 79)])
def test_a_copy_with_four_mismatches_is_listed_and_no_dense_seed_looked_up(looks, places, errors):
    index, starts = index_of(READ, with_errors(READ, errors))
    assert places(index, READ, max_hits=3) == starts
    assert looks[-1][0] == 0


def test_a_copy_with_two_gaps_is_listed(looks, places):
    copy = READ[:33] + READ[34:66] + "A" + READ[66:]
    index, starts = index_of(READ, copy)
    assert places(index, READ, max_hits=3) == starts


def test_dense_seeds_are_looked_up_where_several_disjoint_ones_occur_too_often(looks, places):
    ends = READ[:20], READ[80:]
    index, starts = index_of(READ, with_errors(READ, (50, 70)), *(end for end in ends for _ in range(300)))
    assert places(index, READ, max_hits=3) == starts[:2]
    assert looks[-1][0] == 1


def test_for_all_copies_dense_seeds_alone_are_looked_up(looks, places):
    index, starts = index_of(READ, with_errors(READ, range(4, 100, 12)))
    assert places(index, READ, all_hits=True, mode="local") == starts
    assert looks[-1][0] == 1


def test_places_that_the_search_has_scored_are_not_scored_again(looks, places):
    index, starts = index_of(READ, with_errors(READ, (10, 30, 50, 70)))
    assert places(index, READ, max_hits=3) == starts
    assert looks[-1] == (0, 2)  # the other copy: its place, its alignment
