"""Searches on a device beside those on the host: batches, and what both must find alike."""

import brute_force as bf
import numpy as np
from engines import engine

import gassst
from gassst.bands.cpu import CpuExtender
from gassst.gpu.device import Engine
from gassst.gpu.search import DeviceSearch
from gassst.model.stats import Stats
from gassst.reads.in_memory import batch_of_pairs, batch_of_records
from gassst.search.arrays import GlobalResult
from gassst.search.context import BatchContext
from gassst.search.host import HostBackend

SPLIT = 1 << 16  # bytes of an allocation, so small that the index is split into four parts


def sizes_asked(monkeypatch, owner, method: str, argument: int) -> list[int]:
    """The length of an argument of every call of a method from now on."""
    sizes: list[int] = []
    call = getattr(owner, method)
    monkeypatch.setattr(owner, method, lambda *a: sizes.append(len(a[argument])) or call(*a))
    return sizes


def assert_same_rows(found, expected) -> None:
    for mine, true in zip(found.rows, expected.rows, strict=True):
        np.testing.assert_array_equal(mine, true)


def pairs_of(genome, orientation, n=200, seed=3):
    """Pairs of fragments of 250 to 400 bases, of a quarter each with no, few and many errors; of some a mate
    is too short for seeds."""
    rng = np.random.default_rng(seed)
    contigs = [contig for contig in genome.values() if len(contig) > 500]
    mates: tuple[list, list] = [], []
    for i in range(n):
        contig = contigs[int(rng.integers(len(contigs)))]
        size, rate = int(rng.integers(250, 400)), (0, 3, 6, 16)[i % 4]
        at = int(rng.integers(len(contig) - size))
        ends = contig[at : at + 150], contig[at + size - 150 : at + size]
        if orientation == "fr":
            ends = ends[0], bf.reverse_complement(ends[1])
        elif orientation == "rf":
            ends = bf.reverse_complement(ends[0]), ends[1]
        if rng.random() < 0.5:
            ends = tuple(map(bf.reverse_complement, ends)) if orientation == "ff" else ends
            ends = ends[1], ends[0]
        for j, (each, end) in enumerate(zip(mates, ends, strict=True)):
            length = 20 if i % 9 == 5 and j else (150, 149, 101)[i % 3]
            read = end[-length:] if end is contig[-150:] else end[:length]
            read = bf.mutate(rng, read + read[:30], int(rng.integers(rate + 1)))[:length]
            each.append((f"pair{i}", read.decode(), None))
    return batch_of_pairs(*mates)


def hard_pairs(rng):
    """A genome, and pairs of fragments of 400 bases."""
    copy = bf.random_bases(rng, 400)
    # Of the other copy each end differs in another base: a pair with one of both fits either copy as well.
    other = with_bases(copy, [20, 385])
    element = bf.random_bases(rng, 36)
    genome = {
        "copies": b"".join(
            [bf.random_bases(rng, 900), copy, bf.random_bases(rng, 1500), other, bf.random_bases(rng, 900)]
        ),
        "neighbour": bf.random_bases(rng, 1000),
        "elements": b"".join(element + bf.random_bases(rng, 64) for _ in range(500)),
    }
    fragments = []
    for i in range(60):
        fragments.append(with_bases(copy, [[20], [385], [20, 385], []][i % 4]))
        at = int(rng.integers(len(genome["elements"]) - 400))
        fragments.append(genome["elements"][at : at + 400])
        border = 150 + i % 20
        fragments.append(genome["copies"][-border:] + genome["neighbour"][: 400 - border])
    mates: tuple[list, list] = [], []
    for i, fragment in enumerate(fragments):
        for each, strand in zip(mates, (fragment, bf.reverse_complement(fragment)), strict=True):
            read = bf.mutate(rng, strand[:180], int(rng.integers(1 + i % 4)))[:150]
            each.append((f"pair{i}", read.decode(), None))
    return genome, batch_of_pairs(*mates)


def search_of(opencl, folder, genome):
    """The search on a device of a genome, and a mapper of the host, with seeds of 20 bases."""
    fasta = folder / "hard.fa"
    fasta.write_bytes(b"".join(b">%s\n%s\n" % (n.encode(), s) for n, s in genome.items()))
    mapper = engine(gassst.Index.build(fasta), device="none", seed_length=20, insert=(400, 30))
    info, device, planes = opencl.info, opencl.device, mapper.index.reference.planes
    return DeviceSearch(mapper.index, Engine(info, device, planes), SPLIT), mapper


def hard_search(opencl, folder):
    """The same of the genome of `hard_pairs`, and the pairs."""
    genome, batch = hard_pairs(np.random.default_rng(4))
    return *search_of(opencl, folder, genome), batch


def with_bases(text, places):
    """Other bases at some places."""
    changed = bytearray(text)
    for at in places:
        changed[at] = text[at : at + 1].translate(bytes.maketrans(b"ACGT", b"CATG"))[0]
    return bytes(changed)


def pair_context(index, batch, params):
    mapper = engine(index, device="none", **params)
    searched = mapper.plan, mapper.cascade, mapper.params.for_pairs()
    context = BatchContext.of(index, mapper.parts, *searched, batch.pack())
    return context, batch.mate


def with_adapters(reads):
    """Of every third read the last two fifths are other bases, of every third one base in twelve is masked."""
    some = []
    for i, (name, read, quality) in enumerate(reads):
        kept = len(read) * 3 // 5
        tail = read[kept:].translate(str.maketrans("ACGT", "GTAC"))
        masked = "".join("N" if at % 12 == 5 else base for at, base in enumerate(read))
        some.append((name, [read[:kept] + tail, masked, read][i % 3], quality))
    return some


def context_of(index, reads, **params) -> BatchContext:
    mapper = engine(index, device="none", **params)
    packed = batch_of_records(reads).pack(mapper.params.longest_read)
    searched = index, mapper.parts, mapper.plan, mapper.cascade, mapper.params
    return BatchContext.of(*searched, packed, whole_reads=mapper.params.reports_whole_reads)


def assert_same(search: DeviceSearch, context: BatchContext) -> None:
    counted = Stats()
    found = search.search(context, counted)
    result, expected_counts = expected(context)
    assert_same_result(found, result)
    for name in ("occurrences", "candidates", "scored", "capped"):
        assert getattr(counted, name) == getattr(expected_counts, name), name
    for step, counts in expected_counts.funnel.stages.items():
        mine = counted.funnel.stages[step]
        assert (mine.entered, mine.left) == (counts.entered, counts.left), step


def expected(context: BatchContext) -> tuple[GlobalResult, Stats]:
    """What the host finds, and what it counts."""
    counts = Stats()
    with CpuExtender(context.reference.planes).open_reads(context.packed) as bands:
        return HostBackend(context, bands, counts).search(), counts


def assert_same_result(found: GlobalResult | None, expected: GlobalResult) -> None:
    assert found is not None
    for name in GlobalResult.__dataclass_fields__:
        if name not in ("bands", "seen"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    for name, column in vars(expected.bands).items():
        np.testing.assert_array_equal(getattr(found.bands, name), column, err_msg=name)
    for name in ("complete", "looked", "planned"):
        np.testing.assert_array_equal(getattr(found.seen, name), getattr(expected.seen, name), err_msg=name)
