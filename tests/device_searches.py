"""Searches on a device beside those on the host: batches, and what both must find alike."""

import numpy as np
from engines import engine

import gassst
from gassst.gpu.device import Engine
from gassst.gpu.search import DeviceSearch
from gassst.gpu.trial import by_alignment
from gassst.model.stats import Stats
from gassst.reads.in_memory import batch_of_records
from gassst.search.context import BatchContext, PairContext
from gassst.search.host import HostBackend

SPLIT = 1 << 16  # bytes of an allocation, so small that the index is split into four parts


def assert_same_rows(found, expected) -> None:
    for mine, true in zip(by_alignment(found.rows), by_alignment(expected.rows), strict=True):
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


def context_of(index, reads, mapper=None, **params) -> BatchContext:
    """Return that of reads; as a run of a mapper has it, where there is one."""
    mapper = mapper or engine(index, device="none", **params)
    packed = batch_of_records(reads).pack(mapper.params.longest_read)
    searched = index, mapper.parts, mapper.plan, mapper.cascade, mapper.params
    return BatchContext.of(*searched, packed, whole_reads=mapper.params.reports_whole_reads)


def assert_same(search: DeviceSearch, context: BatchContext, pairs: PairContext | None = None) -> None:
    counted, on_host = Stats(), Stats()
    found = search.search(context, counted, pairs is not None)
    assert found is not None
    expected = placed(context, on_host, pairs=pairs)
    for name, column in placed(context, counted, found, pairs).items():
        np.testing.assert_array_equal(column, expected[name], err_msg=name)
    for name in ("occurrences", "candidates", "scored", "capped", "rescued"):
        assert getattr(counted, name) == getattr(on_host, name), name
    for step, counts in on_host.funnel.stages.items():
        mine = counted.funnel.stages[step]
        assert (mine.entered, mine.left) == (counts.entered, counts.left), step


def placed(context: BatchContext, counts: Stats, found=None, pairs: PairContext | None = None) -> dict:
    """What is known of the places of a batch: those that a device has `found`, or of a search on the host."""
    backend = HostBackend(context, counts)
    search = backend.placed(pairs, found)
    names = "places start rows summary best limit complete planned looked capped ends"
    columns = *search.found, *search.chosen, *search.states, search.ends.places
    counts.scored += search.ends.scored
    return dict(zip(names.split(), columns, strict=True))


def on_host(context):
    """Rows and counts."""
    counts = Stats()
    backend = HostBackend(context, counts)
    return backend.rows(backend.placed()), counts


def on_device(context, found, counts):
    """Nothing is aligned on the host."""
    backend = HostBackend(context, counts)
    return backend.rows(backend.placed(None, found))


def assert_all_places(search: DeviceSearch, context, least: int = 1) -> None:
    counts = Stats()
    found = search.search(context, counts)
    assert found is not None
    mine = on_device(context, found, counts)
    true, expected_counts = on_host(context)
    assert_same_rows(mine, true)
    assert len(true.hits) >= least
    for name in ("occurrences", "scored", "traced"):
        assert getattr(counts, name) == getattr(expected_counts, name), name
    if not expected_counts.funnel.stages:
        return
    (*_, left), (*_, true_left) = (each.funnel.stages.values() for each in (counts, expected_counts))
    # The device looks at the narrow bands of occurrences, and merges those that pass.
    assert true_left.left == (counts.candidates if len(counts.funnel.stages) == 1 else left.left)
