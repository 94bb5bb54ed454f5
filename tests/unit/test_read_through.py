"""Mates that run through their fragment: found, cut, and put back."""

from types import SimpleNamespace

import numpy as np
import pytest
from text_bases import random_bases, reverse_complement

import gassst
from gassst._core import read_through
from gassst._core.local_hits import hits_from_alignments
from gassst.index.reference import Reference
from gassst.local.places import Aligned
from gassst.model.layouts import HIT, NO_SCORE, READ_SUMMARY
from gassst.model.params import Scoring
from gassst.model.read_batch import PackedReads
from gassst.model.sam_flags import REVERSE, SECONDARY, SUPPLEMENTARY, UNMAPPED
from gassst.pairing.read_through import FragmentEnds, fragment_ends
from gassst.tools.foreign import ADAPTERS

M = 150
SHORTEST, BASES_AN_ERROR = 20, 8
SCORING = Scoring()
SOFT_CLIP = 4


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


def found(reads):
    first = np.arange(0, len(reads), 2)
    return read_through.fragment_lengths(packed(reads), first, SHORTEST, BASES_AN_ERROR).tolist()


def test_longer_fragments_and_tandem_repeats_show_none():
    rng = np.random.default_rng(2)
    unit = random_bases(rng, 12)
    fragments = [random_bases(rng, size) for size in (19, 150, 220, 400)] + [unit * 40]
    assert found([mate for fragment in fragments for mate in mates_of(rng, fragment)]) == [0] * len(fragments)


def adapter_by_trying(read, first, adapters, first_part, shortest):
    """Where an adapter begins: at every base, each adapter, letter by letter."""
    best = (3, 0)
    for start in range(first, len(read) - shortest + 1):
        for adapter in adapters:
            unequal = [a != b for a, b in zip(adapter, read[start:], strict=False)]
            whole_part = len(unequal) >= first_part
            if sum(unequal[:first_part]) <= (1 if whole_part else 0):
                best = min(best, (sum(unequal), start))
    return best[1]


def test_mates_end_where_their_adapter_begins_or_where_they_meet():
    """A base inserted in one mate; an adapter that one mate does not show, or neither; no adapter at all."""
    rng = np.random.default_rng(21)
    reads, expected = [], []
    for i in range(500):
        kind, size = i % 5, int(rng.integers(40, 120))
        fragment = random_bases(rng, size)
        own = [fragment, reverse_complement(fragment)]
        longer = kind == 1
        own[1] = own[1][:20] + "ACGT"[("ACGT".index(own[1][20]) + 1) % 4] * longer + own[1][20:]
        tails = [ADAPTERS["truseq"][0], ADAPTERS["truseq"][1]]
        tails[1] = random_bases(rng, 40) if kind in (2, 3) else tails[1]
        tails[0] = random_bases(rng, 40) if kind == 3 else tails[0]
        pair = [random_bases(rng, M)] * 2 if kind == 4 else own
        reads += [(bases + tail + random_bases(rng, M))[:M] for bases, tail in zip(pair, tails, strict=True)]
        expected.append(([0, 0] if kind == 4 else [len(bases) for bases in own], kind in (0, 1, 2)))
    first = np.arange(0, len(reads), 2)
    earliest = np.where((np.arange(500) % 7 == 6)[:, None], M, 0) + np.zeros(2, np.int64)
    kept, is_sure = fragment_ends(packed(reads), first, earliest)
    for i, (sizes, may_be_sure) in enumerate(expected):
        if i % 7 < 6:
            assert kept[i].tolist() == sizes and is_sure[i] == may_be_sure
        elif i % 5 != 1:  # where no adapter is looked for the mates alone show it, if they are as long
            assert kept[i].tolist() == sizes and not is_sure[i]


def test_known_adapters_are_found_where_they_begin():
    rng = np.random.default_rng(11)
    adapters = [random_bases(rng, 16) for _ in range(3)]
    reads, first = [], []
    for i in range(600):
        size = int(rng.integers(20, 190))
        bases = np.array(list(random_bases(rng, size) + adapters[i % 3] + random_bases(rng, 190)))[:190]
        for j in rng.integers(0, 18, i % 4) + size:
            if j < len(bases):
                bases[j] = "ACGTN"[rng.integers(0, 5)]
        reads.append("".join(bases))
        first.append(20 if i % 5 else size + int(rng.integers(-1, 2)))
    rows = np.arange(0, len(reads), 2)
    codes = np.array([["ACGT".index(base) for base in adapter] for adapter in adapters], np.uint8)
    found = read_through.adapter_starts(packed(reads), rows, np.array(first)[rows], codes, 12, 8)
    expected = [adapter_by_trying(reads[row], first[row], adapters, 12, 8) for row in rows]
    assert found.tolist() == expected
    assert 0.5 < np.count_nonzero(found) / len(found) < 0.95


def test_cut_reads_are_packed_like_short_ones():
    rng = np.random.default_rng(3)
    reads = [random_bases(rng, size) for size in (150, 64, 65, 300, 21)]
    reads[3] = reads[3][:100] + "N" + reads[3][101:]
    rows, kept = np.array([0, 1, 3, 4]), np.array([64, 63, 130, 20], np.uint16)
    lengths, planes, plane_start = read_through.first_bases_of(packed(reads), rows, kept)
    expected = packed([reads[row][:size] for row, size in zip(rows, kept, strict=True)])
    np.testing.assert_array_equal(lengths, expected.lengths)
    np.testing.assert_array_equal(planes, expected.planes)
    np.testing.assert_array_equal(plane_start, expected.plane_start)


@pytest.mark.parametrize(
    ("strand", "runs", "position", "expected"),
    [
        (0, [(90, 0)], 1000, [(150, 0)]),
        (1, [(90, 0)], 940, [(150, 0)]),
        (0, [(5, 4), (85, 0)], 1000, [(5, 4), (145, 0)]),
        (1, [(5, 4), (85, 0)], 1000, [(65, 4), (85, 0)]),
        (0, [(80, 0), (10, 4)], 1000, [(80, 0), (70, 4)]),
        (0, [(88, 0), (2, 1)], 1000, [(88, 0), (2, 1), (60, 4)]),
        (1, [(2, 1), (88, 0)], 1000, [(60, 4), (2, 1), (88, 0)]),
    ],
)
def test_alignments_go_on_behind_the_cut(strand, runs, position, expected):
    hits = np.zeros(1, HIT)
    hits["position"], hits["strand"], hits["cigar_runs"], hits["cigar_start"] = 1000, strand, len(runs), 1
    cigars = np.array([7, *(length << 4 | op for length, op in runs)], np.uint32)
    at, out, start, n_runs = read_through.with_tails(hits, cigars, np.array([60], np.uint32))
    assert (at.tolist(), start.tolist(), n_runs.tolist()) == ([position], [0], [len(expected)])
    assert [(int(run) >> 4, int(run) & 15) for run in out] == expected


def some_cut_reads(rng, genome, contigs, n=400):
    """Reads of a genome with errors, N and noise behind a cut; their alignments up to it, with clips, gaps, or none."""
    starts, ends = contigs
    bases, hits, cigars, kept = [], np.zeros(n, HIT), [], rng.integers(30, M + 1, n)
    for i, m in enumerate(kept.tolist()):
        at, strand = int(rng.integers(starts[0] - 20, ends[-1] - m + 20)), int(rng.integers(2))
        behind = genome[at + m : at + M] if rng.random() < 0.3 else ""
        forward = genome[at : at + m] + (behind if not strand else "")
        read = list((reverse_complement(genome[at : at + m]) if strand else forward).ljust(M, "?"))
        read = [random_bases(rng, 1) if b == "?" or rng.random() < 0.08 else b for b in read]
        bases.append("".join("N" if rng.random() < 0.01 else b for b in read))
        first, last = (int(k) * int(rng.random() < 0.4) for k in rng.integers(1, 10, 2))
        runs = [(first, SOFT_CLIP), (m - first - last, 0), (last, SOFT_CLIP)]
        if rng.random() < 0.1:
            runs[1:2] = [(10, 0), (1, 1), (m - first - last - 11, 0)]
        runs = [length << 4 | op for length, op in runs if length]
        unmapped = rng.random() < 0.1
        hits[i] = (
            i, at + first, len(cigars), len(runs), 0, UNMAPPED if unmapped else REVERSE * strand, 7, strand,
            0,
        )  # fmt: skip
        cigars += runs
    return packed(bases), hits, np.array(cigars, np.uint32), kept.astype(np.uint32)


def test_alignments_of_cut_reads_become_those_of_whole_ones():
    """As `hits_from_alignments` makes them base by base, of the alignments with their tails."""
    rng = np.random.default_rng(5)
    genome = "N" * 100 + random_bases(rng, 2000) + "N" * 60 + random_bases(rng, 700) + "N" * 200
    contigs = np.array([100, 2160]), np.array([2100, 2860])
    planes = np.array([*plane_rows(genome), (0, 0, 0)], np.uint64)
    reference = SimpleNamespace(planes=planes, starts=contigs[0], lengths=contigs[1] - contigs[0])
    reads, hits, cigars, kept = some_cut_reads(rng, genome, contigs)
    params = SimpleNamespace(scoring=SCORING)
    context = SimpleNamespace(packed=reads, lengths=reads.lengths, reference=reference, params=params)
    cut, rows = SimpleNamespace(hits=hits, cigars=cigars), np.arange(len(hits))
    own, runs, others = read_through.whole_reads(cut, rows, kept, context, 1000)
    mapped = np.flatnonzero(hits["flag"] & UNMAPPED == 0)
    read_strand = (2 * mapped + hits["strand"][mapped]).astype(np.uint32)
    aligned = read_through.with_tails(hits[mapped], cigars, reads.lengths[mapped] - kept[mapped])
    expected, expected_runs, *_ = hits_from_alignments(
        Aligned(read_strand, *aligned), context, 0, best_parts=True
    )
    done = np.isin(mapped, others, invert=True)
    assert 20 < len(others) < len(mapped) / 2
    for i, want in zip(mapped[done].tolist(), expected[done], strict=True):
        for name in ("read", "position", "edits", "score", "strand", "cigar_runs"):
            assert own[i][name] == want[name], (i, name)
        assert own[i]["mapq"] == 7
        got, first = int(own[i]["cigar_start"]) - 1000, int(want["cigar_start"])
        size = int(want["cigar_runs"])
        assert runs[got : got + size].tolist() == expected_runs[first : first + size].tolist()
    unmapped = hits["flag"] & UNMAPPED > 0
    assert own[unmapped].tolist() == hits[unmapped].tolist()


def test_rows_of_cut_reads_take_the_place_of_those_of_their_batch():
    rng = np.random.default_rng(6)
    before, own = np.zeros(30, HIT), np.zeros(9, HIT)
    before["read"], before["position"] = np.sort(rng.integers(0, 20, 30)), np.arange(30)
    own["read"], own["position"], own["edits"] = np.repeat([2, 3, 11], 3), 100 + np.arange(9), np.arange(9)
    own["flag"] = [SECONDARY, 0, SUPPLEMENTARY, UNMAPPED, SECONDARY, SECONDARY, 0, SECONDARY, SUPPLEMENTARY]
    rows = np.array([2, 3, 11])
    old, new = np.zeros(20, READ_SUMMARY), np.zeros(3, READ_SUMMARY)
    old["best"], new["best"], new["n_best"] = 50, NO_SCORE, [7, 8, 9]
    result, cut = SimpleNamespace(hits=before, summary=old), SimpleNamespace(summary=new)
    hits, summary = read_through.put_back(result, cut, own, rows)
    kept = [row for row in before.tolist() if row[0] not in rows] + own.tolist()
    assert hits.tolist() == sorted(kept, key=lambda row: row[0])
    assert summary["best"][rows].tolist() == [1, NO_SCORE, 6]
    assert summary["n_best"][rows].tolist() == [7, 8, 9]
    others = np.delete(np.arange(20), rows)
    assert summary[others].tolist() == old[others].tolist()


@pytest.mark.parametrize("left_to_local", [False, True])
def test_pairs_are_cut_that_fit_neither_as_a_whole_nor_behind_their_fragment(left_to_local):
    rng = np.random.default_rng(7)
    n, sure, an_error = 4000, 4, 4
    first = np.arange(0, n, 2)
    both = np.repeat(np.arange(n // 2), 2)
    search = SimpleNamespace(
        best=rng.choice(np.array([2, 5, 8, 12, NO_SCORE], np.uint16), n),
        left_to_local=(rng.random(n // 2) < 0.3)[both],
        capped=(rng.random(n) < 0.3).astype(np.uint8),
    )
    fragments = np.where(rng.random(n // 2) < 0.2, 90, 0).astype(np.uint16)
    state = SimpleNamespace(open=(rng.random(n // 2) < 0.7)[both], fragment=fragments[both])
    pairs = SimpleNamespace(first=first)
    lengths = rng.choice(np.array([100, 130, 150], np.uint32), n)
    asked = read_through.pairs_to_ask(search, state, pairs, left_to_local, sure)
    expected = [
        r
        for r in first.tolist()
        if not state.fragment[r]
        and min(search.best[r : r + 2]) > sure
        and (search.left_to_local[r] or (state.open[r] and not left_to_local))
    ]
    assert asked.tolist() == expected
    kept = rng.choice(np.array([0, 60, 99], np.uint16), len(asked))[:, None] + np.array([0, 2], np.uint16)
    kept[kept[:, 0] == 0] = 0
    ends = FragmentEnds(kept, rng.random(len(asked)) < 0.5)
    before = SimpleNamespace(open=state.open.copy(), left_to_local=search.left_to_local.copy())
    read_through.close_cut(asked, ends, search, state, SimpleNamespace(lengths=lengths), an_error)
    closed = 0
    for r, sizes, is_sure in zip(expected, kept.tolist(), ends.is_sure.tolist(), strict=True):
        fits = [
            search.best[i] < (int(lengths[i]) - size) / an_error
            or (search.best[i] == NO_SCORE and search.capped[i] and not is_sure)
            for i, size in zip((r, r + 1), sizes, strict=True)
        ]
        cut = sizes[0] > 0 and not any(fits)
        closed += cut
        for i, size in zip((r, r + 1), sizes, strict=True):
            assert state.fragment[i] == size * cut
            assert state.open[i] == (before.open[i] and not cut)
            assert search.left_to_local[i] == (before.left_to_local[i] or cut)
    assert 5 < closed < len(expected) - 5


@pytest.fixture(scope="module")
def mapped():
    """Pairs with adapters and the same pairs trimmed, both mapped; and the genome."""
    rng = np.random.default_rng(4)
    genome = random_bases(rng, 60_000)
    genome += genome[5_000:9_000]
    index = gassst.Index.build(Reference.from_sequences([("one", genome.encode())]))
    fragments = [
        genome[at : at + size]
        for at, size in zip(rng.integers(0, 63_000, 300), rng.integers(30, 144, 300), strict=True)
    ]
    whole = [mates_of(rng, fragment, 0.01) for fragment in fragments]
    trimmed = [[mate[: len(f)] for mate in mates] for f, mates in zip(fragments, whole, strict=True)]
    mapper = gassst.Mapper(index, device="none", insert=(90.0, 35.0))
    return genome, *(primaries(mapper, pairs) for pairs in (whole, trimmed))


def primaries(mapper, pairs):
    reads = [[(f"p{i}", mates[m], "I" * len(mates[m])) for i, mates in enumerate(pairs)] for m in (0, 1)]
    return [record for record in mapper.map(*reads) if not record.flag & 0x900]


def test_reads_with_adapters_lie_where_they_lie_without(mapped):
    _, whole, trimmed = mapped
    same = 0
    for one, other in zip(whole, trimmed, strict=True):
        if one.is_unmapped or other.is_unmapped:
            same += one.is_unmapped == other.is_unmapped
            continue
        ends = [r.reference_end if r.is_reverse else r.reference_start for r in (one, other)]
        same += ends[0] == ends[1] and abs(one.mapping_quality - other.mapping_quality) < 5
    assert same >= 0.99 * len(whole)
    assert np.mean([r.is_proper_pair for r in whole]) > 0.97


@pytest.mark.parametrize("threads", [1, 3])
def test_insert_sizes_are_learned_from_cut_mates(mapped, tmp_path, threads):
    genome, *_ = mapped
    rng = np.random.default_rng(6)
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
