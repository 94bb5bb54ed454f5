"""Reads that run through their fragment: found, cut, and put back."""

import operator

import numpy as np
import pytest
from text_bases import random_bases, reverse_complement

import gassst
from gassst._core import read_search as compiled
from gassst._core.reads import pack
from gassst.mapping import read_through
from gassst.model.layouts import HIT, READ_SUMMARY
from gassst.model.params import CONVERSIONS, MAX_READ_LENGTH
from gassst.model.read_batch import PackedReads
from gassst.model.reference import Reference
from gassst.reads.adapters import codes_of, fragment_ends
from gassst.search.arrays import BatchResult
from gassst.tools.foreign import ADAPTERS

M = 150
SHORTEST, STEM, FIRST_PART, BASES_AN_ERROR = 20, 8, 12, 8
SOFT_CLIP = 4
CT, GA = str.maketrans("C", "T"), str.maketrans("G", "A")


def mates_of(rng, fragment, error=0.0):
    """Both mates: the fragment, the adapter, noise; each base is another one at a rate of `error`."""
    mates = []
    for mate, strand in enumerate((fragment, reverse_complement(fragment))):
        bases = np.array(list((strand + ADAPTERS["nextera"][mate] + random_bases(rng, M))[:M]))
        wrong = rng.random(M) < error
        bases[wrong] = ["ACGT"["TGCA".index(b)] for b in bases[wrong]]
        mates.append("".join(bases))
    return mates


def packed(reads):
    """PackedReads of strings, by the textbook."""
    lengths = np.array([len(bases) for bases in reads], np.uint32)
    rows = [
        row for bases in reads for strand in (bases, reverse_complement(bases)) for row in plane_rows(strand)
    ]
    words = 2 * ((lengths + 63) // 64)
    return PackedReads(
        lengths, np.array([*rows, (0, 0, 0)], np.uint64), (np.cumsum(words) - words).astype(np.uint32)
    )


def plane_rows(bases):
    for start in range(0, len(bases), 64):
        codes = ["ACGTN".index(base) for base in bases[start : start + 64]]
        yield tuple(sum((code >> plane & 1) << i for i, code in enumerate(codes)) for plane in range(3))


def differing(one, other):
    return sum(a != b or a == "N" for a, b in zip(one, other, strict=False))


def end_by_trying(one, other):
    """Where two mates end: the longest head of one that is the other's on the opposite strand, before equal stems."""
    opposite = reverse_complement(other)[::-1]
    for size in range(min(len(one), len(other)) - STEM, SHORTEST - 1, -1):
        head, reverse = one[:size], opposite[:size][::-1]
        stems = one[size : size + STEM], other[size : size + STEM]
        if differing(*stems) <= 1 and differing(head, reverse) <= size // BASES_AN_ERROR:
            return size
    return 0


def test_mates_show_where_their_fragment_ends():
    """Fragments of all sizes, errors, N, mates of two lengths, a tandem repeat, mates without a common stem."""
    rng = np.random.default_rng(2)
    reads = []
    for i in range(900):
        fragment = random_bases(rng, int(rng.integers(15, 170)))
        if i % 9 == 0:
            fragment = (fragment[:12] * 20)[: len(fragment)]
        mates = mates_of(rng, fragment, 0.03)
        if i % 9 == 1:
            mates[1] = mates[1][: len(fragment)] + random_bases(rng, M)
        if i % 9 == 2:
            mates[0] = mates[0][:30] + "N" + mates[0][31:]
        reads += [mates[0][:M], mates[1][: M - 20 * (i % 3 == 0)]]
    known = ["ACGTTGCAAC" * 2]
    rules = codes_of(tuple(known), 20), STEM, BASES_AN_ERROR, SHORTEST
    got = compiled.fragment_ends(packed(reads), *rules, np.tile(np.array([1, 2], np.uint8), len(reads) // 2))
    shared = [end_by_trying(*reads[i & ~1 : (i & ~1) + 2]) for i in range(len(reads))]
    expected = [
        end or adapter_by_trying(read, SHORTEST, known) for end, read in zip(shared, reads, strict=True)
    ]
    assert got.tolist() == expected
    assert 800 < np.count_nonzero(shared) < 1600


def adapter_by_trying(read, earliest, adapters):
    """Where an adapter begins: at every base, each adapter, letter by letter."""
    found = []
    for start in range(earliest, len(read) - STEM + 1):
        for adapter in adapters:
            unequal = [*map(operator.ne, adapter, read[start : start + len(adapter)])]
            in_first = sum(unequal[:FIRST_PART]) <= (len(unequal) >= FIRST_PART)
            if in_first and sum(unequal) <= len(unequal) // BASES_AN_ERROR:
                found.append((sum(unequal), start))
    return min(found, default=(0, 0))[1]


def test_known_adapters_are_found_where_they_begin():
    rng = np.random.default_rng(11)
    adapters = [random_bases(rng, 20) for _ in range(3)]
    reads = []
    for i in range(450):
        size = int(rng.integers(10, 190))
        bases = np.array(list(random_bases(rng, size) + adapters[i % 3] + random_bases(rng, 190)))[:190]
        for j in rng.integers(0, 22, i % 5) + size:
            if j < len(bases):
                bases[j] = "ACGTN"[rng.integers(0, 5)]
        if i % 7 == 0:
            bases[:20] = list(adapters[i % 2])
        reads.append("".join(bases))
    codes = codes_of(tuple(adapters), 20)
    for earliest in (1, SHORTEST):
        found = compiled.fragment_ends(packed(reads), codes, STEM, BASES_AN_ERROR, earliest)
        assert found.tolist() == [adapter_by_trying(read, earliest, adapters) for read in reads]
        assert 0.5 < np.count_nonzero(found) / len(found) < 0.95


@pytest.mark.parametrize("conversion", CONVERSIONS.values())
def test_adapters_of_converted_reads_are_not_converted(conversion):
    """A T may have been C in the fragment, but not in an adapter: that is found as in other reads."""
    rng = np.random.default_rng(12)
    reads = [random_bases(rng, int(rng.integers(30, 140))) + ADAPTERS["nextera"][0] for _ in range(100)]
    reads += [random_bases(rng, 100) + ADAPTERS["nextera"][0][:8].translate(table) for table in (CT, GA)]
    offsets = np.cumsum([0, *map(len, reads)]).astype(np.uint32)
    bases = np.frombuffer("".join(reads).encode(), np.uint8)
    kinds = np.full(len(reads), conversion, np.uint8)
    ends = [
        fragment_ends(PackedReads(*pack(bases, offsets, MAX_READ_LENGTH, each)), None)
        for each in (None, kinds)
    ]
    assert ends[0].tolist() == ends[1].tolist() and np.count_nonzero(ends[0]) == 100


def test_mates_say_more_than_an_adapter():
    """A known adapter in one mate, or in both after a base was inserted in one; mates with an unknown one; neither."""
    rng = np.random.default_rng(21)
    known, unknown = ADAPTERS["truseq"], [random_bases(rng, 30)] * 2
    fragment = random_bases(rng, 90)
    mates = [fragment, reverse_complement(fragment)]
    longer = mates[1][:20] + "ACGT"[("ACGT".index(mates[1][20]) + 1) % 4] + mates[1][20:]
    other = random_bases(rng, M)

    def read(bases, adapter):
        return (bases + adapter + random_bases(rng, M))[:M]

    pairs = [
        ([read(mates[0], known[0]), read(mates[1], random_bases(rng, 30))], [90, 0]),
        ([read(mates[0], known[0]), read(longer, known[1])], [90, 91]),
        ([read(mates[0], unknown[0]), read(mates[1], unknown[1])], [90, 90]),
        ([read(mates[0], ""), other], [0, 0]),
    ]
    reads = packed([read for mates, _ in pairs for read in mates])
    mate = np.tile(np.array([1, 2], np.uint8), len(pairs))
    assert fragment_ends(reads, mate).reshape(-1, 2).tolist() == [ends for _, ends in pairs]
    alone = fragment_ends(reads, None).reshape(-1, 2).tolist()
    assert alone == [[90, 0], [90, 91], [0, 0], [0, 0]]


def test_cut_reads_are_packed_like_short_ones():
    rng = np.random.default_rng(3)
    reads = [random_bases(rng, size) for size in (150, 64, 65, 300, 21, 0)]
    reads[3] = reads[3][:100] + "N" + reads[3][101:]
    kept = np.array([64, 63, 0, 130, 20, 0], np.uint16)
    shown = read_through.cut(packed(reads), kept)
    expected = packed([read[: size or None] for read, size in zip(reads, kept.tolist(), strict=True)])
    np.testing.assert_array_equal(shown.lengths, expected.lengths)
    for start, other, size in zip(shown.plane_start, expected.plane_start, shown.lengths, strict=True):
        words = 2 * ((size + 63) // 64)
        assert shown.planes[start : start + words].tolist() == expected.planes[other : other + words].tolist()


def test_what_is_behind_the_cut_is_clipped():
    """Alignments with a clip at one end, at both or at none; of whole and of unmapped reads."""
    rng = np.random.default_rng(5)
    hits, cigars, tails, expected = np.zeros(200, HIT), [7], rng.integers(0, 3, 200) * 30, []
    for i, tail in enumerate(tails.tolist()):
        runs, strand = [(90, 0), (2, 1), (8, 0)], int(rng.integers(2))
        runs = [(5, SOFT_CLIP)] * int(rng.integers(2)) + runs + [(6, SOFT_CLIP)] * int(rng.integers(2))
        runs = [] if i % 10 == 9 else runs
        hits[i]["read"], hits[i]["position"], hits[i]["strand"], hits[i]["score"] = i, 1000 + i, strand, 50
        hits[i]["cigar_start"], hits[i]["cigar_runs"] = len(cigars), len(runs)
        cigars += [length << 4 | op for length, op in runs]
        if tail and runs:
            end = 0 if strand else -1
            if runs[end][1] == SOFT_CLIP:
                runs[end] = (runs[end][0] + tail, SOFT_CLIP)
            else:
                runs.insert(0 if strand else len(runs), (tail, SOFT_CLIP))
        expected.append(runs)
    before = hits.copy()
    result = read_through.put_back(
        BatchResult(hits, np.zeros(200, READ_SUMMARY), np.array(cigars, np.uint32)), tails
    )
    assert hits.tolist() == before.tolist() and result.cigars.dtype == np.uint32
    for hit, runs in zip(result.hits, expected, strict=True):
        own = result.cigars[hit["cigar_start"] :][: hit["cigar_runs"]]
        assert [(int(run) >> 4, int(run) & 15) for run in own] == runs
    for name in ("read", "position", "strand", "score"):
        assert (result.hits[name] == hits[name]).all()


@pytest.mark.parametrize("threads", [1, 3])
def test_insert_sizes_are_learned_from_cut_mates(tmp_path, threads):
    rng = np.random.default_rng(6)
    genome = random_bases(rng, 60_000)
    sizes = [*rng.integers(60, 140, 250).tolist(), *rng.integers(200, 220, 150).tolist()]
    starts = rng.integers(0, 4_000, len(sizes)).tolist()
    pairs = [mates_of(rng, genome[at : at + size]) for at, size in zip(starts, sizes, strict=True)]
    for mate in (0, 1):
        lines = [f"@p{i}\n{mates[mate]}\n+\n{'I' * M}\n" for i, mates in enumerate(pairs)]
        (tmp_path / f"{mate}.fq").write_text("".join(lines))
    index = gassst.Index.build(Reference.from_sequences([("one", genome.encode())]))
    mapper = gassst.Mapper(index, device="none", threads=threads)
    stats = mapper.map_file(tmp_path / "0.fq", tmp_path / "out.sam", mates=tmp_path / "1.fq")
    insert = stats.run["insert"]
    assert insert["pairs"] >= 0.9 * len(sizes)
    assert insert["mean"] == pytest.approx(np.mean(sizes), abs=1.5)
