"""CRAM written against the sequence of the index: what samtools reads back, and that nothing else is needed or left."""

from __future__ import annotations

import gzip
import os
import subprocess
import tempfile

import pysam
import pytest
from map_runs import run

from gassst.cli.main import main


def viewed(path, reference=None):
    """The records, by samtools, with their tags in order: CRAM makes NM and MD again and puts them last."""
    command = ["samtools", "view", *(["-T", str(reference)] if reference else []), str(path)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return ["\t".join([*line.split("\t")[:11], *sorted(line.split("\t")[11:])]) for line in lines]


@pytest.fixture
def apart(tmp_path, monkeypatch):
    """A folder for temporary files of streams; and a cache where htslib finds another sequence by every M5."""
    folder, cache = tmp_path / "tmp", tmp_path / "cache"
    folder.mkdir()
    cache.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("REF_PATH", f"{cache}/%s")
    return folder, cache


@pytest.mark.external("samtools")
@pytest.mark.parametrize("sort", [(), ("--sort",)], ids=["in order of reads", "sorted"])
@pytest.mark.parametrize("form", [(), ("version=3.1", "small")], ids=str)
def test_samtools_reads_back_the_records_of_the_bam(
    small_index, small_fasta, small_fastq, tmp_path, apart, sort, form
):
    bam, cram = tmp_path / "o.bam", tmp_path / "out" / "o.cram"
    cram.parent.mkdir()
    options = [part for value in form for part in ("--output-fmt-option", value)]
    assert run(small_index, small_fastq, "-k", "2", "-o", bam, *sort) == 0
    with pysam.AlignmentFile(bam) as file:
        contigs = file.header.to_dict()["SQ"]
    for contig in contigs:
        (apart[1] / contig["M5"]).write_text("A" * contig["LN"])
    assert run(small_index, small_fastq, "-k", "2", "-o", cram, *sort, *options) == 0
    assert sorted(os.listdir(cram.parent)) == (["o.cram", "o.cram.crai"] if sort else ["o.cram"])
    assert cram.read_bytes()[4:6] == (b"\3\1" if form else b"\3\0")
    with pysam.AlignmentFile(cram, reference_filename=str(small_fasta)) as file:
        assert file.header.to_dict()["SQ"] == [contig | {"UR": str(small_fasta)} for contig in contigs]
    records = viewed(bam)
    assert viewed(cram, small_fasta) == records and len(records) > 401


@pytest.mark.parametrize("sort", [(), ("--sort",)], ids=["in order of reads", "sorted"])
def test_a_stream_leaves_nothing_in_the_temporary_folder(
    small_index, small_fasta, small_fastq, tmp_path, apart, sort
):
    pipe, cram = tmp_path / "pipe.cram", tmp_path / "o.cram"
    os.mkfifo(pipe)
    with open(cram, "wb") as file, subprocess.Popen(["cat", str(pipe)], stdout=file) as reader:
        assert run(small_index, small_fastq, "-o", pipe, *sort) == 0
        assert reader.wait() == 0
    assert not os.listdir(apart[0])
    with pysam.AlignmentFile(cram, reference_filename=str(small_fasta)) as file:
        assert sum(1 for _ in file) == 401


# --- where the FASTA is ---------------------------------------------------------------------------------------


def uris(path):
    with pysam.AlignmentFile(path) as file:
        return {contig.get("UR") for contig in file.header.to_dict()["SQ"]}


@pytest.fixture
def world(small_fasta, small_index, tmp_path, monkeypatch):
    """A FASTA and its index in a folder of their own, which is the current one."""
    folder = tmp_path / "world"
    folder.mkdir()
    for path in (small_fasta, small_index):
        (folder / path.name).write_bytes(path.read_bytes())
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.external("samtools")
@pytest.mark.parametrize("sort", [(), ("--sort",)], ids=["in order of reads", "sorted"])
@pytest.mark.parametrize("reference", ["small.gsi", "small.fa"])
def test_samtools_finds_the_fasta(world, apart, small_fastq, tmp_path, sort, reference):
    """By UR, without -T; the cache has nothing."""
    cram, bam = tmp_path / "o.cram", tmp_path / "o.bam"
    assert run(reference, small_fastq, "-o", cram, *sort) == 0
    assert run(reference, small_fastq, "-o", bam, *sort) == 0
    assert uris(cram) == {str(world / "small.fa")}
    assert uris(bam) == {None}
    assert viewed(cram) == viewed(bam)


def test_fasta_that_is_not_known(world, small_fastq, tmp_path):
    """Gone, of another size, or of a name that a header cannot hold."""
    cram = tmp_path / "o.cram"
    with open(world / "small.fa", "a") as file:
        file.write("\n")
    assert run("small.gsi", small_fastq, "-o", cram) == 0 and uris(cram) == {None}
    (world / "small.fa").unlink()
    assert run("small.gsi", small_fastq, "-o", cram) == 0 and uris(cram) == {None}


def test_parts_of_a_run_have_one_header(world, small_fastq, tmp_path, small_reads):
    """Their machines may keep the FASTA elsewhere, and one may have none."""
    reads = tmp_path / "reads.fq"
    reads.write_text("".join(f"@{n}\n{s}\n+\n{q}\n" for n, s, q in small_reads))
    parts = [tmp_path / f"{i}.cram" for i in (1, 2)]
    assert run("small.gsi", reads, "--shard", "1/2", "-o", parts[0]) == 0
    (world / "small.fa").unlink()
    assert run("small.gsi", reads, "--shard", "2/2", "-o", parts[1]) == 0
    assert main(["gather", *map(str, parts), "-q", "-o", str(tmp_path / "whole.cram")]) == 0
    assert uris(tmp_path / "whole.cram") == {None}


def packed(source, target, program):
    if program == "gzip":
        target.write_bytes(gzip.compress(source.read_bytes()))
    else:
        pysam.tabix_compress(str(source), str(target))


@pytest.mark.parametrize(
    ("program", "options", "is_warned"),
    [("gzip", [], True), ("bgzip", [], False), ("gzip", ["--output-fmt-option", "no_ref=1"], False)],
)
def test_a_warning_where_samtools_cannot_read(
    small_fasta, small_fastq, tmp_path, capfd, monkeypatch, program, options, is_warned
):
    for variable in ("REF_PATH", "REF_CACHE"):
        monkeypatch.setenv(variable, str(tmp_path / "none"))
    fasta, index, cram = (tmp_path / name for name in ("ref.fa.gz", "ref.gsi", "o.cram"))
    packed(small_fasta, fasta, program)
    assert main(["index", "-q", str(fasta), "-o", str(index)]) == 0
    capfd.readouterr()
    assert main(["map", *map(str, (index, small_fastq, "-o", cram)), "--device", "none", *options]) == 0
    assert ("ref.fa.gz is gzip, not BGZF: samtools reads" in capfd.readouterr().err) == is_warned
    if is_warned:
        with pytest.raises(pysam.SamtoolsError):
            pysam.view(str(cram))
    else:
        assert pysam.view(str(cram)).count("\n") == 401
