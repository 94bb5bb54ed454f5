"""The Python interface as programs use it: signatures, errors, context managers, processes, threads and forks."""

from __future__ import annotations

import inspect
import logging
import multiprocessing
import pickle
import shutil
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import fields

import pysam
import pytest

import gassst
from gassst.errors import ParameterError, UsageError
from gassst.model.params import MapParams, Scoring

# --- signatures -------------------------------------------------------------------------------------------------


def defaults(function) -> dict[str, object]:
    parameters = inspect.signature(function).parameters.values()
    assert all(p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL) for p in parameters)
    return {p.name: p.default for p in parameters if p.default is not p.empty}


def annotations(function) -> dict[str, str]:
    return {p.name: str(p.annotation) for p in inspect.signature(function).parameters.values()}


def test_parameters_of_a_mapper_are_those_of_a_run():
    """But that None of `threads` is as many as there are cores."""
    known = {field.name: (field.default, field.type) for field in fields(MapParams)}
    known["threads"] = None, "int | None"
    types = gassst.MapOptions.__annotations__
    assert {name: (value, types[name]) for name, value in defaults(gassst.Mapper).items()} == known


# --- references -------------------------------------------------------------------------------------------------


@pytest.fixture
def own_fasta(small_fasta, tmp_path):
    return shutil.copy(small_fasta, tmp_path / "own.fa")


def test_a_fasta_is_indexed_on_the_way(small_index, small_reads, own_fasta, caplog):
    """The oracle is the index of the same FASTA."""
    caplog.set_level(logging.INFO, "gassst")
    reads = [sequence for _, sequence, _ in small_reads[:60]]
    with gassst.Mapper(own_fasta, device="none") as mapper:
        found = places(mapper, reads)
    assert found == places(gassst.Mapper(small_index, device="none"), reads) and any(found)
    keep = f"indexed for this run only; `gassst index {own_fasta}` keeps the index"
    assert [record.getMessage() for record in caplog.records] == [f"{own_fasta} has no index: {keep}"]
    assert list(own_fasta.parent.iterdir()) == [own_fasta]


# --- header -----------------------------------------------------------------------------------------------------


def test_records_go_to_a_file_with_the_header(small_index, small_reads, small_fastq, tmp_path):
    """The oracle is `map_file`."""
    mapper = gassst.Mapper(small_index, device="none")
    with pysam.AlignmentFile(tmp_path / "one.bam", "wb", header=mapper.header) as bam:
        for segment in mapper.map(small_reads):
            bam.write(segment)
    mapper.map_file(small_fastq, tmp_path / "two.bam")
    with pysam.AlignmentFile(tmp_path / "one.bam") as one, pysam.AlignmentFile(tmp_path / "two.bam") as two:
        assert one.references == two.references == ("one", "two", "three")
        assert str(one.header) == str(two.header) == str(mapper.header) == mapper.header_text()
        assert [record.to_string() for record in one] == [record.to_string() for record in two]


# --- streams ----------------------------------------------------------------------------------------------------


def pulled(reads, counted: list[int]):
    for read in reads:
        counted[0] += 1
        yield read


@pytest.mark.parametrize("paired", [False, True], ids=["single", "paired"])
def test_the_first_record_of_a_stream_comes_after_1024_reads(small_index, small_reads, paired):
    """The oracle is a run whose batches have 64 reads each."""
    reads = [(f"r{i}", read[1], read[2]) for i, read in enumerate(small_reads * 24)]
    sources = [reads[0::2], [(one[0], *two[1:]) for one, two in zip(reads[0::2], reads[1::2], strict=True)]]
    sources = sources if paired else [reads]
    options = {"device": "none", "insert": (300.0, 20.0), "threads": 2}
    counted = [0]
    records = gassst.Mapper(small_index, **options).map(*(pulled(source, counted) for source in sources))
    found = [next(records)]
    assert counted == [1024]
    found += records
    assert counted == [len(reads)]
    expected = list(gassst.Mapper(small_index, batch_size=64, **options).map(*sources))
    assert [one.to_string() for one in found] == [one.to_string() for one in expected]


# --- errors -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_identity": 20}, "min_identity must be from 50 to 100 %"),
        ({"sensitivity": 9}, "sensitivity must be from 0 to 5"),
        ({"threads": 0}, "threads must be from 1 to 1024"),
        ({"mode": "glocal"}, "mode must be global or local"),
        ({"orientation": "rr"}, "orientation must be"),
        ({"gaps": -1}, "gaps must be"),
        (
            {"mode": "local", "all_hits": True, "strata": True},
            "strata is a choice among all hits of whole reads",
        ),
        ({"scoring": Scoring(clip=-1)}, "clip must be from 0 to 1000"),
        ({"preset": "sr"}, "preset must be one of hic, small-rna, ancient"),
        ({"strand": "*"}, "strand must be"),
        ({"min_length": 14}, "min_length must be from 15 to 4000"),
        ({"min_length": 4001}, "min_length must be from 15 to 4000"),
        ({"insert": (0, 10)}, "insert must be MEAN,SD of more than 0"),
        ({"insert": (10, float("nan"))}, "insert must be MEAN,SD of more than 0"),
        ({"insert": 350}, "insert must be MEAN,SD of more than 0"),
        ({"insert": "350,50"}, "insert must be MEAN,SD of more than 0"),
        ({"insert": ("350", "50")}, "insert must be MEAN,SD of more than 0"),
        ({"insert": (350, 50, 1)}, "insert must be MEAN,SD of more than 0"),
        ({"scoring": "bwa"}, "scoring must be a gassst.Scoring"),
        ({"scoring": {"match": 2}}, "scoring must be a gassst.Scoring"),
        ({"scoring": Scoring(gap_open=6)}, "gap_open must be from 0 to 1000"),
        ({"scoring": Scoring(gap_extend=(1,))}, "gap_extend must be from 1 to 1000"),
    ],
    ids=str,
)
def test_errors_name_the_parameter(small_index, options, message):
    with pytest.raises(ParameterError, match=f"^{message}") as caught:
        gassst.Mapper(small_index, **options)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.parameter) == (str(caught.value), caught.value.parameter)


def test_a_file_that_is_not_there_is_a_file_not_found_error(small_index, small_fastq, tmp_path):
    mapper = gassst.Mapper(small_index, device="none")
    missing = tmp_path / "none.x"
    calls = (
        lambda: gassst.Mapper(missing),
        lambda: gassst.Index.open(missing),
        lambda: gassst.Index.build(missing),
        lambda: gassst.Index.build(small_index.with_suffix(".fa"), alt=missing),
        lambda: mapper.map_file(missing, tmp_path / "o.bam"),
        lambda: mapper.map_file(small_fastq, tmp_path / "o.bam", mates=missing),
        lambda: gassst.Stats.read_json(missing),
        lambda: gassst.InsertModel.read(missing),
        lambda: gassst.align.read_matrix(missing),
    )
    for call in calls:
        with pytest.raises(FileNotFoundError) as caught:
            call()
        assert isinstance(caught.value, gassst.errors.InputError)
        assert str(caught.value) == f"{missing}: No such file or directory"
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    with pytest.raises(gassst.errors.InputError) as other:
        gassst.Index.open(tmp_path)
    assert not isinstance(other.value, FileNotFoundError)


# --- context managers -------------------------------------------------------------------------------------------


def test_a_mapper_closes_the_index_that_it_has_opened(small_index, small_reads, small_fastq, tmp_path):
    read = small_reads[1][1]
    with gassst.Mapper(small_index, device="none") as mapper:
        assert mapper.map_one(read)
    calls = (
        lambda: mapper.map_one(read),
        lambda: mapper.map_pair(read, read),
        lambda: mapper.map([read]),
        lambda: mapper.map_arrays([read]),
        lambda: mapper.map_file(small_fastq, tmp_path / "o.sam"),
        lambda: gassst.Mapper(mapper.index),
    )
    for call in calls:
        with pytest.raises(UsageError, match="small.gsi: the index is closed"):
            call()
    assert not list(tmp_path.iterdir())


# --- processes --------------------------------------------------------------------------------------------------


def places(mapper: gassst.Mapper, reads: list[str]) -> list[list[gassst.Hit]]:
    return [mapper.map_one(read) for read in reads]


def test_mappers_and_hits_travel_to_new_processes(small_index, small_reads):
    mapper = gassst.Mapper(small_index, device="none", max_hits=3, scoring=Scoring(match=2))
    reads = [sequence for _, sequence, _ in small_reads[:40]]
    expected = places(mapper, reads)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(places, mapper, reads).result() == expected
    copy = pickle.loads(pickle.dumps(mapper))
    assert copy.params == mapper.params and copy.index.path == mapper.index.path
    assert pickle.loads(pickle.dumps(mapper.index)).path == str(small_index)


def mapped_in_child(mapper, reads, connection):
    """One read at a time, then a run, which waits for the check of the index."""
    columns = mapper.map_arrays(reads)
    connection.send((places(mapper, reads), columns.start.tolist()))


def test_a_mapper_works_in_a_forked_child_whatever_its_parent_was_at(small_index, small_reads):
    """The child gets no thread of its parent: not that which checks the index, nor one that holds a lock."""
    index = gassst.Index.open(small_index)
    mapper = gassst.Mapper(index, device="none")
    reads = [sequence for _, sequence, _ in small_reads[:30]]
    index.integrity._verdict = threading.current_thread()  # begun, and never over
    engine = mapper._engine
    assert all(one._lock.acquire() for one in (index.integrity, engine.plan))
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    child = context.Process(target=mapped_in_child, args=(mapper, reads, there))
    child.start()
    try:
        assert here.poll(60), "the child waits for something that its parent has"
        fresh = gassst.Mapper(small_index, device="none")
        assert here.recv() == (places(fresh, reads), fresh.map_arrays(reads).start.tolist())
        child.join(60)
        assert child.exitcode == 0
    finally:
        child.kill()
        child.join()


def test_threads_share_a_mapper(small_index, small_reads):
    """Each maps the reads in another order, one at a time, while the others do; plans of lengths are made meanwhile."""
    mapper = gassst.Mapper(small_index, device="none", max_hits=3)
    reads = [sequence[: len(sequence) - i % 7] for i, (_, sequence, _) in enumerate(small_reads[::6])]
    begin = threading.Barrier(6)

    def work(first: int) -> list[list[gassst.Hit]]:
        begin.wait()
        turned = places(mapper, reads[first:] + reads[:first])
        return turned[len(reads) - first :] + turned[: len(reads) - first]

    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(work, range(0, 6 * (len(reads) // 6), len(reads) // 6)))
    expected = places(gassst.Mapper(small_index, device="none", max_hits=3), reads)
    assert all(one == expected for one in found)


def test_what_the_check_of_the_index_finds_comes_with_a_later_read(small_index, small_reads, tmp_path):
    damaged = bytearray(small_index.read_bytes())
    damaged[-9] ^= 1
    (tmp_path / "damaged.gsi").write_bytes(damaged)
    mapper = gassst.Mapper(tmp_path / "damaged.gsi", device="none")
    read = small_reads[1][1]
    mapper.map_one(read)
    with pytest.raises(gassst.errors.IndexFormatError):
        mapper.index.integrity.wait()
    with pytest.raises(gassst.errors.IndexFormatError, match="damaged index"):
        mapper.map_one(read)
