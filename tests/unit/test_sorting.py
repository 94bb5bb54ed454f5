"""Sorted BAM is what `samtools sort` makes of the unsorted records, ties included, with an index that finds them."""

import gzip
import os
import threading

import numpy as np
import pysam
import pytest
from map_runs import lines_of
from record_batches import arrays_of, header_of, make_reference, random_batch

from gassst._core import records as compiled
from gassst.errors import OutputError
from gassst.records import sorted_runs as runs
from gassst.records import sorting
from gassst.records import writer as sam
from gassst.records.options import RECORD_FORMATS

N_BATCHES = 12


@pytest.fixture(scope="module")
def reference():
    return make_reference()


@pytest.fixture(scope="module")
def batches(reference):
    """Many records at one place, in several batches: their order is that of the input."""
    batches = [random_batch(reference, seed) for seed in range(N_BATCHES)]
    return [*batches, *batches[:3]]


@pytest.fixture(params=["in memory", "on disk", "both"])
def memory(request, monkeypatch):
    """Bytes for runs, such that none, all or some go to disk; ranges are short, so that there are many."""
    monkeypatch.setattr(sorting, "RANGE_RECORDS", 64)
    monkeypatch.setattr(runs, "SAMPLE", 4)
    return {"in memory": 1 << 30, "on disk": 1, "both": 200_000}[request.param]


def write(path, reference, batches, **options):
    header = header_of(reference, None)
    with sam.AlignmentWriter(path, header, arrays_of(reference), sam.OutputOptions(**options)) as writer:
        for batch in batches:
            writer.write(writer.encoder.encode(*batch))
    return path


@pytest.mark.parametrize("threads", [1, 3])
def test_order_is_that_of_samtools_ties_included(tmp_path, reference, batches, memory, threads):
    unsorted = write(tmp_path / "unsorted.bam", reference, batches)
    pysam.sort("-o", str(tmp_path / "expected.bam"), str(unsorted))
    options = {"sort": True, "sort_memory": memory, "threads": threads}
    found = write(tmp_path / "sorted.bam", reference, batches, **options)
    assert lines_of(found) == lines_of(tmp_path / "expected.bam")
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "expected.bam",
        "sorted.bam",
        "sorted.bam.bai",
        "unsorted.bam",
    ]
    pysam.quickcheck(str(found))


@pytest.mark.parametrize("file_format", [f for f in RECORD_FORMATS if f != "paf"])
def test_memory_is_bounded_in_every_format(tmp_path, monkeypatch, reference, batches, file_format):
    """There is one way to sort, whatever the format: records that exceed the memory asked for go to disk."""
    written, whole = [], runs.RunOnDisk.written
    monkeypatch.setattr(
        runs.RunOnDisk, "written", lambda path, run: written.append(len(run)) or whole(path, run)
    )
    expected = lines_of(write(tmp_path / "expected.bam", reference, batches, sort=True))
    assert not written
    options = {"sort": True, "sort_memory": 1, "format_options": ("no_ref=1",) * (file_format == "cram")}
    found = write(tmp_path / f"sorted.{file_format}", reference, batches, **options)
    assert sum(written) == len(expected)
    assert [sorted(line.split("\t")) for line in lines_of(found)] == [
        sorted(line.split("\t")) for line in expected
    ]


def test_the_index_finds_what_samtools_finds(tmp_path, reference, batches, memory):
    found = write(tmp_path / "sorted.bam", reference, batches, sort=True, sort_memory=memory)
    pysam.index(str(found), str(tmp_path / "other.bai"))
    own = pysam.AlignmentFile(found, index_filename=str(found) + ".bai")
    other = pysam.AlignmentFile(found, index_filename=str(tmp_path / "other.bai"))
    assert own.get_index_statistics() == other.get_index_statistics()
    assert own.nocoordinate == other.nocoordinate > 100
    for contig, length in zip(reference.names, reference.lengths.tolist(), strict=True):
        for start in range(0, length, 250):
            region = contig, start, min(start + 300, length)
            records = [r.to_string() for r in own.fetch(*region)]
            assert records == [r.to_string() for r in other.fetch(*region)]
            assert records


def test_a_stream_is_sorted_without_index(tmp_path, reference, batches, memory):
    expected = write(tmp_path / "sorted.bam", reference, batches, sort=True)
    os.mkfifo(tmp_path / "pipe")
    received = []
    thread = threading.Thread(target=lambda: received.append((tmp_path / "pipe").read_bytes()))
    thread.start()
    write(tmp_path / "pipe", reference, batches, format="bam", sort=True, sort_memory=memory)
    thread.join()
    assert gzip.decompress(received[0]) == gzip.decompress(expected.read_bytes())
    assert sorted(p.name for p in tmp_path.iterdir()) == ["pipe", "sorted.bam", "sorted.bam.bai"]


@pytest.mark.parametrize("at", ["write", "merge", "index"])
def test_a_failure_leaves_nothing(tmp_path, monkeypatch, reference, batches, at):
    def fail(*_):
        raise OSError(28, "No space left on device")

    class FullIndex(compiled.BamIndex):
        save = fail

    if at == "merge":
        monkeypatch.setattr(sorting, "index_entries", fail)
    elif at == "index":
        monkeypatch.setattr(sorting, "BamIndex", FullIndex)
    else:
        monkeypatch.setattr(runs.RunOnDisk, "written", fail)
    with pytest.raises(OutputError, match="cannot write .*out.bam: No space left on device"):
        write(tmp_path / "out.bam", reference, batches, sort=True, sort_memory=1)
    assert list(tmp_path.iterdir()) == []


def test_what_does_not_fit_is_refused(reference, batches):
    builder = sam.record_builder(header_of(reference, None), arrays_of(reference))
    bam = builder.encode(sam.HitBatch(*batches[0]), bam=True)
    keys, ends = compiled.sort_keys(bam, bam.records)
    order = np.argsort(keys, kind="stable")
    gathered, new_ends = compiled.gather([(ends, bam)], order)
    assert len(gathered) == len(bam)
    for bad in (np.full_like(order, len(order)), np.full_like(order, -1), order[:-1]):
        with pytest.raises(ValueError):
            compiled.gather([(ends, bam)], bad)
    for bad in (ends[:-1], ends[::-1].copy(), ends + np.uint64(1)):
        with pytest.raises(ValueError):
            compiled.gather([(bad, bam)], order[: len(bad)])
        with pytest.raises(ValueError):
            compiled.index_entries(gathered, bad)
    for n in (bam.records - 1, bam.records + 1):
        with pytest.raises(ValueError):
            compiled.sort_keys(bam, n)
    index = compiled.BamIndex(2, 5000, False, 0)
    blocks = np.arange(2 + len(bam) // 0xFF00, dtype=np.uint64)
    entries = compiled.index_entries(gathered, new_ends)
    with pytest.raises(ValueError, match="do not fit"):
        index.add(entries, blocks[:1], 0xFF00)
    with pytest.raises(ValueError, match="out of order"):
        index.add(entries[::-1].copy(), blocks, 0xFF00)


def test_runs_on_disk_are_the_same_runs(tmp_path, reference, batches):
    builder = sam.record_builder(header_of(reference, None), arrays_of(reference))
    bam = builder.encode(sam.HitBatch(*batches[0]), bam=True)
    run = runs.Run.of(bam, bam.records, np.arange(bam.records, dtype=np.uint64))
    on_disk = runs.RunOnDisk.written(str(tmp_path / "run"), run)
    keys = np.array([0, *run.keys[[0, 5, -1]], run.keys[5] + 1, 2**64 - 1], np.uint64)
    for found, expected in zip(on_disk.bounds(keys), run.bounds(keys), strict=True):
        assert found.tolist() == expected.tolist()
    for first, last in ((0, 0), (0, 7), (3, 9), (9, len(run)), (len(run), len(run))):
        for name in ("keys", "ends", "data", "templates"):
            expected = getattr(run.part(first, last), name)
            assert getattr(on_disk.part(first, last), name).tolist() == expected.tolist()
    with open(on_disk.path, "r+b") as file:
        file.truncate(100)
    with pytest.raises(OSError, match="cut short"):
        on_disk.part(0, 9)


@pytest.mark.parametrize("size", [1, 8, 1 << 20])
def test_ranges_hold_all_records_once_and_in_order(monkeypatch, size):
    """However many records tie: a range is never longer than it is asked for by more than a run."""
    monkeypatch.setattr(runs, "SAMPLE", 1)
    rng = np.random.default_rng(5)
    made = [
        runs.Run(
            keys, np.arange(1, len(keys) + 1, dtype=np.uint64), np.full(len(keys), i, np.uint8), keys[:0]
        )
        for i, keys in enumerate(np.sort(rng.integers(0, 9, n).astype(np.uint64)) for n in (0, 40, 1, 300, 7))
    ]
    expected = sorted((key, i) for i, run in enumerate(made) for key in run.keys.tolist())
    pieces = [part.pieces(made) for part in runs.ranges(made, size)]
    keys = [sorted((key, int(run.data[0])) for run in part for key in run.keys.tolist()) for part in pieces]
    assert [pair for part in keys for pair in part] == expected
    assert max(map(len, keys)) <= size + 300
    assert (len(keys) == 1) == (size > 1000)
