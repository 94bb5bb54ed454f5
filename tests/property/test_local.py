"""--mode local: reads with adapters, bad tails, long gaps, and of two places, against how they were made."""

from __future__ import annotations

import brute_force as bf
import numpy as np
import pytest

import gassst
from gassst.local.align import PAIR_BONUS
from gassst.model.params import Scoring
from gassst.model.reference import Reference
from gassst.reads.in_memory import batch_of_pairs, batch_of_records

M = 100
FLAG_REVERSE, FLAG_SUPPLEMENTARY = 0x10, 0x800


@pytest.fixture(scope="module")
def genome() -> dict[str, bytes]:
    """Random bases: every stretch of 20 is unique. `end` is short, for reads that hang over its ends."""
    rng = np.random.default_rng(3)
    contigs = {
        "a": bf.random_bases(rng, 150_000),
        "b": bf.random_bases(rng, 50_000),
        "end": bf.random_bases(rng, 300),
    }
    contigs["a"] = contigs["a"][:70_000] + b"N" * 30 + contigs["a"][70_030:]
    return contigs


@pytest.fixture(scope="module")
def index(genome):
    return gassst.Index.build(Reference.from_sequences(list(genome.items())))


@pytest.fixture(scope="module")
def local_mapper(index):
    def make(**options):
        return gassst.Mapper(index, mode="local", **{"device": "none", **options})

    return make


def piece(rng, genome, length):
    """(contig, start, reverse, bases) of a stretch without N."""
    name = str(rng.choice(["a", "a", "b"]))
    while True:
        at = int(rng.integers(len(genome[name]) - length))
        bases = genome[name][at : at + length]
        if b"N" not in bases:
            reverse = bool(rng.random() < 0.5)
            return name, at, reverse, bf.reverse_complement(bases) if reverse else bases


def substituted(rng, bases, at):
    """The bases with others at these positions."""
    bases = bytearray(bases)
    for i in at:
        bases[i] = int(rng.choice([b for b in b"ACGT" if b != bases[i]]))
    return bytes(bases)


def primaries(mapper, reads):
    found = {s.query_name: s for s in mapper.map(reads) if not s.flag & 0x900}
    assert len(found) == len(reads)
    return [found[name] for name, _, _ in reads]


def named(sequences):
    return [(f"r{i}", s.decode(), "I" * len(s)) for i, s in enumerate(sequences)]


def clips(segment):
    """Clipped bases before and after the aligned part of the read as sequenced."""
    first, last = segment.cigartuples[0], segment.cigartuples[-1]
    both = [run[1] if run[0] in (4, 5) else 0 for run in (first, last)]
    return both[::-1] if segment.is_reverse else both


def written_score(segment, genome, scoring):
    """(AS, NM) of a record by its CIGAR and bases."""
    read, contig = segment.query_sequence.encode(), genome[segment.reference_name]
    score = edits = i = 0
    at = segment.reference_start
    for op, length in segment.cigartuples:
        if op == 0:
            for x, y in zip(read[i : i + length], contig[at : at + length], strict=True):
                masked, differs = ord("N") in (x, y), x != y or x == ord("N")
                score += -1 if masked else -scoring.mismatch if differs else scoring.match
                edits += differs
        elif op in (1, 2):
            score -= scoring.gap_open[op == 1] + length * scoring.gap_extend[op == 1]
            edits += length
        i += length if op in (0, 1, 4) else 0
        at += length if op in (0, 2) else 0
    assert i == len(read)
    return score, edits


def test_adapters_are_clipped(local_mapper, genome):
    rng = np.random.default_rng(1)
    truth, reads = [], []
    for i in range(300):
        k = 10 + i % 31
        contig, at, reverse, bases = piece(rng, genome, M - k)
        truth.append((contig, at, reverse, k))
        reads.append(bases + bf.random_bases(rng, k))
    exact = 0
    for segment, (contig, at, reverse, k) in zip(primaries(local_mapper(), named(reads)), truth, strict=True):
        before, after = clips(segment)
        assert (segment.reference_name, segment.is_reverse, before) == (contig, reverse, 0)
        assert abs(after - k) <= 8  # an adapter may go on as the genome does
        exact += abs(after - k) <= 2
        end = at + M - k
        assert abs((segment.reference_end - end) if reverse else (segment.reference_start - at)) == 0
        assert segment.get_tag("AS") >= M - k
    assert exact > 270


def test_bad_tails_are_clipped_or_aligned_but_placed(local_mapper, genome):
    rng = np.random.default_rng(2)
    truth, reads = [], []
    for i in range(200):
        contig, at, reverse, bases = piece(rng, genome, M)
        k = 10 + i % 31
        truth.append((contig, reverse, at + M if reverse else at))
        reads.append(
            substituted(rng, bases, np.flatnonzero(rng.random(M) < np.where(np.arange(M) >= M - k, 0.4, 0)))
        )
    for segment, (contig, reverse, five_prime) in zip(
        primaries(local_mapper(), named(reads)), truth, strict=True
    ):
        assert (segment.reference_name, segment.is_reverse) == (contig, reverse)
        assert (segment.reference_end if reverse else segment.reference_start) == five_prime
        assert clips(segment)[0] == 0


@pytest.mark.parametrize("kind", ["deletion", "insertion"])
def test_long_gaps_are_one_gap(local_mapper, genome, kind):
    rng = np.random.default_rng(3)
    truth, reads = [], []
    for i in range(160):
        k, cut = 1 + i % 20, int(rng.integers(35, 45))
        contig, at, reverse, bases = piece(rng, genome, M + k if kind == "deletion" else M - k)
        truth.append((contig, at, reverse, k, len(bases)))
        middle = b"" if kind == "deletion" else bf.random_bases(rng, k)
        reads.append(bases[:cut] + middle + bases[cut + (k if kind == "deletion" else 0) :])
    one_gap = cut_short = 0
    for segment, (contig, at, reverse, k, span) in zip(
        primaries(local_mapper(), named(reads)), truth, strict=True
    ):
        assert (segment.reference_name, segment.is_reverse) == (contig, reverse)
        if (segment.reference_start, segment.reference_end) != (at, at + span):
            assert clips(segment) == [0, 8]  # by chance the last bases are the first ones of an adapter
            cut_short += 1
            continue
        gaps = [(op, length) for op, length in segment.cigartuples if op]
        one_gap += gaps == [(2 if kind == "deletion" else 1, k)]
        assert segment.get_tag("AS") >= (M if kind == "deletion" else M - k) - 6 - k
    assert cut_short < 2
    assert one_gap > 150  # an inserted base may be a mismatch as well


def test_both_parts_of_a_split_read_are_found(local_mapper, genome):
    rng = np.random.default_rng(4)
    truth, reads = [], []
    for i in range(200):
        cut = 35 + i % 31
        parts = [piece(rng, genome, cut), piece(rng, genome, M - cut)]
        truth.append((cut, parts))
        reads.append(parts[0][3] + parts[1][3])
    rows: dict[str, list] = {}
    for segment in local_mapper().map(named(reads)):
        rows.setdefault(segment.query_name, []).append(segment)
    for i, (cut, parts) in enumerate(truth):
        segments = rows[f"r{i}"]
        assert [s.flag & ~FLAG_REVERSE for s in segments] == [0, FLAG_SUPPLEMENTARY]
        segments.sort(key=lambda s: clips(s)[0])
        for segment, (contig, at, reverse, bases) in zip(segments, parts, strict=True):
            assert (segment.reference_name, segment.is_reverse) == (contig, reverse)
            assert min(abs(segment.reference_start - at), abs(segment.reference_end - at - len(bases))) == 0
            assert segment.mapping_quality >= 20
        assert abs(clips(segments[0])[1] - (M - cut)) <= 8 and abs(clips(segments[1])[0] - cut) <= 8
        longer = max(cut, M - cut)
        assert next(s for s in rows[f"r{i}"] if not s.flag & FLAG_SUPPLEMENTARY).get_tag("AS") >= longer - 1


def test_no_alignment_leaves_its_contig(local_mapper, genome):
    rng = np.random.default_rng(7)
    end = genome["end"]
    reads = [bf.random_bases(rng, k) + end[: M - k] for k in range(1, 41)]
    reads += [end[k - M :] + bf.random_bases(rng, k) for k in range(1, 41)]
    for i, segment in enumerate(primaries(local_mapper(), named(reads))):
        k = i % 40 + 1
        assert segment.reference_name == "end"
        assert segment.reference_start <= 8 if i < 40 else segment.reference_end >= len(end) - 8
        assert sum(clips(segment)) >= k  # all that is outside
        assert written_score(segment, genome, Scoring())[0] == segment.get_tag("AS")


def test_copies_leave_no_confidence(genome, small_index):
    twice = [*genome.items(), *((f"{n}_copy", s) for n, s in genome.items())]
    mapper = gassst.Mapper(gassst.Index.build(Reference.from_sequences(twice)), mode="local", device="none")
    rng = np.random.default_rng(8)
    reads = named([piece(rng, genome, 70)[3] + bf.random_bases(rng, 30) for _ in range(60)])
    segments = primaries(mapper, reads)
    assert {s.mapping_quality for s in segments} == {0}
    assert all(s.get_tag("XS") == s.get_tag("AS") for s in segments)
    assert 10 < sum(s.reference_name.endswith("_copy") for s in segments) < 50  # drawn, not always the first


def test_among_equal_places_the_one_of_the_global_search_stays(genome):
    twice = [*genome.items(), *((f"{n}_copy", s) for n, s in genome.items())]
    index = gassst.Index.build(Reference.from_sequences(twice))
    rng = np.random.default_rng(12)
    reads = named([substituted(rng, piece(rng, genome, M)[3], [30, 60]) for _ in range(60)])
    found = [primaries(gassst.Mapper(index, mode=mode, device="none"), reads) for mode in ("global", "local")]
    places = [[(s.reference_name, s.reference_start, s.cigarstring) for s in segments] for segments in found]
    assert places[0] == places[1]


@pytest.fixture(scope="module")
def poor(genome):
    """Reads of 40 bases with three errors, which score 25, and one of 25 bases without any; where each begins."""
    rng = np.random.default_rng(12)
    truth, reads = [], []
    for _ in range(60):
        contig, at, _, bases = piece(rng, genome, 40)
        reads.append(substituted(rng, bases, [9, 20, 31]))
        truth.append((contig, at))
    contig, at, _, bases = piece(rng, genome, 25)
    return named([*reads, bases]), [*truth, (contig, at)]


def test_a_single_read_that_fits_as_a_whole_is_mapped_whatever_it_scores(index, local_mapper, genome, poor):
    reads, truth = poor
    found = primaries(local_mapper(), reads)
    by_errors = primaries(gassst.Mapper(index, mode="global", device="none"), reads)
    for s, whole, (contig, at) in zip(found, by_errors, truth, strict=True):
        assert (s.reference_name, s.reference_start) == (contig, at)
        assert s.cigartuples == [(0, s.query_length)]
        assert (s.get_tag("AS"), s.get_tag("NM")) == written_score(s, genome, Scoring())
        assert s.mapping_quality == whole.mapping_quality >= 20
    assert [s.get_tag("AS") for s in found] == [25] * 61


def test_what_is_asked_of_scores_holds_for_every_read(local_mapper, poor):
    """Not for mates, of which one that fits as a whole was never enough; a short one without errors still is."""
    reads, _ = poor
    asked = local_mapper(scoring=Scoring(min_score=26))
    assert all(s.is_unmapped for s in primaries(asked, reads))
    assert [asked.map_one(bases) for _, bases, _ in reads] == [[]] * len(reads)
    assert all(s.is_mapped for s in primaries(local_mapper(scoring=Scoring(min_score=25)), reads))
    mates = local_mapper(pairing=False)._engine.map_batch(batch_of_pairs(reads[:60], reads[:60]))[0]
    assert (mates.hits["flag"] & 0x4).all()
    short = local_mapper(pairing=False)._engine.map_batch(batch_of_pairs(reads[60:], reads[60:]))[0]
    assert not (short.hits["flag"] & 0x4).any()


def test_a_whole_read_of_two_places_says_so(genome):
    rng = np.random.default_rng(13)
    copy = substituted(rng, genome["b"], [1020])
    contigs = [("b", genome["b"]), ("copy", copy), ("same", genome["b"][:2000])]
    mapper = gassst.Mapper(
        gassst.Index.build(Reference.from_sequences(contigs)),
        mode="local",
        device="none",
        max_hits=3,
        sensitivity=4,
    )
    read = substituted(rng, genome["b"][1000:1040], [9, 25, 31])
    rows = list(mapper.map(named([read])))
    assert [s.get_tag("AS") for s in rows] == [25, 25, 20]
    assert {s.get_tag("XS") for s in rows if not s.is_secondary} == {25}
    assert [s.mapping_quality for s in rows] == [0, 0, 0]
    assert [s.is_secondary for s in rows] == [False, True, True]


@pytest.fixture(scope="module")
def mixed(genome, small_reads):
    """Reads of every kind, and reads of another genome."""
    rng = np.random.default_rng(10)
    sequences = []
    for i in range(120):
        bases = bf.mutate(rng, piece(rng, genome, M)[3], i % 8)
        sequences.append(bases[: 30 + i % 70] + bf.random_bases(rng, 40) if i % 2 else bases)
        sequences.append(piece(rng, genome, 45)[3] + piece(rng, genome, 55)[3])
    return [*named(sequences), *small_reads[:20]]


@pytest.fixture(scope="module")
def baseline(local_mapper, mixed):
    return [s.to_string() for s in local_mapper(max_hits=3).map(mixed)]


@pytest.mark.parametrize("threads, batch_size", [(1, 7), (2, 1), (5, 50), (2, 100_000)])
def test_threads_and_batches_change_nothing(local_mapper, mixed, baseline, threads, batch_size):
    mapper = local_mapper(max_hits=3, threads=threads, batch_size=batch_size)
    assert [s.to_string() for s in mapper.map(mixed)] == baseline


@pytest.fixture(scope="module")
def pairs(genome):
    """Pairs of 300 bases whose last mate has little to be found by: 24 to 43 bases of the genome, then others."""
    rng = np.random.default_rng(11)
    first, last, truth = [], [], []
    for i in range(200):
        contig, at, reverse, bases = piece(rng, genome, 300 + int(rng.integers(-20, 21)))
        k = 24 + i % 20
        first.append((f"p{i}", bases[:M].decode(), "I" * M))
        mate = bf.reverse_complement(bases)[:k] + bf.random_bases(rng, M - k)
        mate = substituted(rng, mate, [k // 2])
        last.append((f"p{i}", mate.decode(), "I" * M))
        truth.append((contig, at if reverse else at + len(bases), k))
    return first, last, truth


def test_nothing_below_the_least_score_is_mapped(index, pairs):
    """A mate of k bases with a mismatch scores k - 5. A concordant place is worth 17."""
    first, last, truth = pairs
    for least in (30, 36, 50):
        mapper = gassst.Mapper(
            index, mode="local", device="none", insert=(300.0, 15.0), scoring=Scoring(min_score=least)
        )
        hits = mapper._engine.map_batch(batch_of_pairs(first, last))[0].hits
        mapped = hits[hits["flag"] & 0x4 == 0]
        assert mapped["score"].min() >= least - PAIR_BONUS
        assert (mapped["flag"][mapped["score"] < least] & 0x2).all()
        lengths = np.array([k for _, _, k in truth])
        mates = np.isin(np.arange(1, 2 * len(lengths), 2), mapped["read"])
        assert mates[lengths >= least + 5 - PAIR_BONUS].all()
        alone = mapper._engine.map_batch(batch_of_records(last))[0].hits
        assert alone["score"][alone["flag"] & 0x4 == 0].min(initial=least) >= least


def test_a_mate_is_found_near_its_partner(index, pairs):
    first, last, truth = pairs
    scoring = Scoring(min_score=19)
    mapper = gassst.Mapper(index, mode="local", device="none", insert=(300.0, 15.0), scoring=scoring)
    result, stats = mapper._engine.map_batch(batch_of_pairs(first, last))
    hits, starts = result.hits, index.reference.starts
    primary = hits[np.r_[True, hits["read"][1:] != hits["read"][:-1]]]
    mates = primary[1::2]
    found = 0
    for hit, (contig, five_prime, k) in zip(mates, truth, strict=True):
        if hit["flag"] & 0x4:
            continue
        cigar = result.cigars[hit["cigar_start"] : hit["cigar_start"] + hit["cigar_runs"]]
        span = sum(int(run) >> 4 for run in cigar if run & 15 in (0, 2))
        begin = int(hit["position"]) - int(starts[index.reference.names.index(contig)])
        found += hit["flag"] & 0x2 and (begin + span if hit["strand"] else begin) == five_prime
        assert k < 30 or hit["flag"] & 0x2
    assert found >= 190
    assert stats.proper >= 190
    assert (primary["flag"][0::2] & 0x2 == mates["flag"] & 0x2).all()
