"""CRAM written against the sequence of the index: what samtools reads back, and that nothing else is needed or left."""

from __future__ import annotations

import os
import subprocess
import tempfile

import pysam
import pytest

from gassst.cli.main import main


def run(index, *arguments):
    return main(["map", str(index), *map(str, arguments), "--device", "none", "-t", "2", "-q"])


def viewed(path, reference=None):
    """The records, by samtools, with their tags in order: CRAM makes NM and MD anew and puts them last."""
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
@pytest.mark.parametrize("form", [(), ("version=3.0", "small")], ids=str)
def test_samtools_reads_back_the_records_of_the_bam(
    small_index, small_fasta, small_fastq, tmp_path, apart, sort, form, cram_version
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
    assert cram.read_bytes()[4:6] == (b"\3\0" if form else cram_version)
    with pysam.AlignmentFile(cram, reference_filename=str(small_fasta)) as file:
        assert file.header.to_dict()["SQ"] == contigs
    records = viewed(bam)
    assert viewed(cram, small_fasta) == records and len(records) > 401


def test_tags_that_readers_would_have_to_make_anew(small_index, small_fasta, small_fastq, tmp_path):
    """By default htslib leaves NM and MD out where it can make them from the reference; Picard cannot."""
    found = []
    for options in ([], ["--output-fmt-option", "store_nm=1", "--output-fmt-option", "store_md=1"]):
        path = tmp_path / "o.cram"
        assert run(small_index, small_fastq, *options, "-o", path) == 0
        as_stored = {"reference_filename": str(small_fasta), "format_options": [b"decode_md=0"]}
        with pysam.AlignmentFile(path, **as_stored) as file:
            mapped = [record for record in file if not record.is_unmapped]
        found.append([record.has_tag("NM") and record.has_tag("MD") for record in mapped])
    assert not any(found[0]) and all(found[1])


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


def test_what_is_refused_before_any_work(small_index, small_fastq, tmp_path, capfd):
    assert run(small_index, small_fastq, "-o", tmp_path / "o.bam", "--output-fmt-option", "version=3.1") == 2
    assert "BAM has no such options" in capfd.readouterr().err
    assert run(small_index, small_fastq, "-o", tmp_path / "o.cram", "--output-fmt-option", "version=2") == 2
    assert "version takes 3.0|3.1" in capfd.readouterr().err
    assert not list(tmp_path.iterdir())
