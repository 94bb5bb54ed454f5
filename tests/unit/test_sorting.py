"""Sorted BAM is what `samtools sort` makes of the unsorted records, ties included, with an index that finds them."""

import gzip
import os
import threading

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
