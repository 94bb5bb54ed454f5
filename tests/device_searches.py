"""Searches on a device beside those on the host: batches, and what both must find alike."""

import numpy as np
from engines import engine

import gassst
from gassst.bands.cpu import CpuExtender
from gassst.gpu.device import Engine
from gassst.gpu.search import DeviceSearch
from gassst.model.stats import Stats
from gassst.reads.in_memory import batch_of_records
from gassst.search.arrays import GlobalResult
from gassst.search.context import BatchContext
from gassst.search.host import HostBackend

SPLIT = 1 << 16  # bytes of an allocation, so small that the index is split into four parts


def assert_same_rows(found, expected) -> None:
    for mine, true in zip(found.rows, expected.rows, strict=True):
        np.testing.assert_array_equal(mine, true)


def search_of(opencl, folder, genome):
    """The search on a device of a genome, and a mapper of the host, with seeds of 20 bases."""
    fasta = folder / "hard.fa"
    fasta.write_bytes(b"".join(b">%s\n%s\n" % (n.encode(), s) for n, s in genome.items()))
    mapper = engine(gassst.Index.build(fasta), device="none", seed_length=20, insert=(400, 30))
    info, device, planes = opencl.info, opencl.device, mapper.index.reference.planes
    return DeviceSearch(mapper.index, Engine(info, device, planes), SPLIT), mapper


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
