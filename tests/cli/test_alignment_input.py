"""SAM, BAM and CRAM as input: the records are those of `samtools fastq -T '*'` and option -C."""

from __future__ import annotations

import gzip
import random

import pysam
import pytest
from map_runs import run

from gassst.files import bgzf

GROUP = "@RG\tID:lane1\tSM:s\tPL:ILLUMINA\tLB:l"


def lines_of(path):
    with pysam.AlignmentFile(path, check_sq=False) as file:
        return file.header.to_dict(), [record.to_string() for record in file]


@pytest.fixture(scope="module")
def reads(small_reads):
    """Name, flag, bases, qualities, tags: pairs, between them mates alone and one read that is neither."""
    rng = random.Random(4)
    rows = []
    for i, (_, bases, quals) in enumerate(small_reads[:120]):
        name = f"t{i // 2}"
        flags = {30: [77], 31: [], 40: [4], 41: []}.get(i, [77 if i % 2 == 0 else 141])
        tags = f"RG:Z:lane1\tRX:Z:{'ACGT'[i % 4]}C-GT\tXB:B:s,{i},-2\tXF:f:{i / 8}\tNM:i:9"
        rows += [(name, flag, bases, "*" if rng.random() < 0.1 else quals, tags) for flag in flags]
    return rows


def sam_text(rows, order="unsorted"):
    head = f"@HD\tVN:1.6\tSO:{order}\n{GROUP}\n@CO\ta comment\n@CO\tanother\n"
    return head + "".join(f"{n}\t{f}\t*\t0\t0\t*\t*\t0\t0\t{s}\t{q}\t{t}\n" for n, f, s, q, t in rows)


def written(path, text):
    plain = path.with_suffix(".tmp.sam")
    plain.write_text(text)
    kind = {".sam": "-h", ".bam": "-b", ".cram": "-C"}[path.suffix]
    pysam.view(kind, "-o", str(path), str(plain), catch_stdout=False)
    plain.unlink()
    return path


def by_fastq(index, path, folder, *options):
    fastq = folder / "oracle.fq"
    pysam.fastq("-T", "*", "-0", str(fastq), "-o", str(fastq), str(path), catch_stdout=False)
    assert run(index, fastq, "-C", *options, "-o", folder / "oracle.sam") == 0
    return lines_of(folder / "oracle.sam")[1]


@pytest.mark.parametrize("suffix", ["sam", "bam", "cram"])
def test_unmapped_files_give_the_records_of_samtools_fastq(small_index, reads, tmp_path, suffix):
    path = written(tmp_path / f"in.{suffix}", sam_text(reads))
    assert run(small_index, path, "-o", tmp_path / "out.sam", "--batch-size", "8") == 0
    header, records = lines_of(tmp_path / "out.sam")
    assert records == by_fastq(small_index, path, tmp_path, "--interleaved")
    assert header["RG"] == [{"ID": "lane1", "SM": "s", "PL": "ILLUMINA", "LB": "l"}]
    assert header["CO"] == ["a comment", "another"]
    assert len(records) >= len(reads) and all(
        "\tRG:Z:lane1" in line and "\tXB:B:s," in line for line in records
    )


@pytest.mark.parametrize("suffix", ["bam", "cram"])
def test_a_mapped_file_is_mapped_anew(small_index, small_fasta, reads, tmp_path, suffix):
    """Reverse strands are turned back, secondary and supplementary records skipped, old tags replaced."""
    first = written(tmp_path / "in.bam", sam_text(reads))
    assert run(small_index, first, "-o", tmp_path / "one.sam", "-k", "3") == 0
    text = (tmp_path / "one.sam").read_text()
    assert any(int(line.split("\t")[1]) & 0x100 for line in text.splitlines() if line[0] != "@")
    mapped = written(tmp_path / f"mapped.{suffix}", text)
    options = ["--reference", small_fasta] if suffix == "cram" else []
    assert run(small_index, mapped, *options, "-o", tmp_path / "two.sam", "-k", "3") == 0
    once, twice = lines_of(tmp_path / "one.sam"), lines_of(tmp_path / "two.sam")
    assert [sorted(line.split("\t")) for line in once[1]] == [sorted(line.split("\t")) for line in twice[1]]
    assert once[0]["RG"] == twice[0]["RG"]  # CRAM keeps tags in another order


def test_several_files_and_a_read_group_of_the_run(small_index, reads, tmp_path):
    paths = [written(tmp_path / f"{i}.bam", sam_text(reads[30 * i : 30 * i + 30])) for i in range(2)]
    assert run(small_index, *paths, "-R", "@RG\\tID:own\\tSM:x", "-o", tmp_path / "out.bam", "--sort") == 0
    header, records = lines_of(tmp_path / "out.bam")
    assert [group["ID"] for group in header["RG"]] == ["own"] and len(header["CO"]) == 2
    assert len(records) == 60
    assert all(line.count("RG:Z:own") == 1 and "lane1" not in line for line in records)


def pairs_first(rows):
    return sorted(rows, key=lambda row: row[1] != 4)


FAULTS = {
    "cut": (
        lambda rows: sam_text(rows),
        lambda data: data[: len(data) // 2],
        "its end-of-file block is missing",
    ),
    "damaged": (
        lambda rows: sam_text(rows),
        lambda data: data[:3000] + b"x" * 9 + data[3009:],
        "damaged, or cut short",
    ),
    "by coordinate": (
        lambda rows: sam_text(sorted(rows, key=lambda row: row[1]), "coordinate"),
        bytes,
        "a mate stands alone, and records are sorted by coordinate",
    ),
    "a single read first": (
        lambda rows: sam_text(pairs_first(rows)),
        bytes,
        "pairs after a single read",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_one_line_that_names_the_file(small_index, reads, tmp_path, capfd, fault):
    text, spoil, message = FAULTS[fault]
    path = written(tmp_path / "in.bam", text(reads))
    path.write_bytes(spoil(path.read_bytes()))
    assert run(small_index, path, "-o", tmp_path / "out.bam") == 1
    error = capfd.readouterr().err
    assert error.startswith(f"gassst: {path}: ") and message in error and error.count("\n") == 1
    assert not (tmp_path / "out.bam").exists()


def one_line(capfd, path, message):
    error = capfd.readouterr().err
    lines = [line for line in error.splitlines() if "insert sizes: " not in line]  # of few pairs: a warning
    assert len(lines) == 1 and lines[0].startswith(f"gassst: {path}: ") and message in lines[0]


def test_mapped_records_without_a_header(small_index, tmp_path, capfd):
    path = tmp_path / "in.sam"
    path.write_text(f"r\t0\tchr1\t5\t60\t40M\t*\t0\t0\t{'ACGT' * 10}\t{'I' * 40}\n")
    assert run(small_index, path, "-o", tmp_path / "out.bam") == 1
    one_line(capfd, path, "no header with @SQ lines")


def test_cram_without_its_reference(small_index, small_fasta, reads, tmp_path, capfd):
    first, path = written(tmp_path / "in.bam", sam_text(reads)), tmp_path / "in.cram"
    alone = tmp_path / "alone.gsi"  # beside a FASTA, UR would say where that lies
    alone.write_bytes(small_index.read_bytes())
    assert run(alone, first, "-o", path) == 0
    assert run(small_index, path, "-o", tmp_path / "out.bam") == 1
    one_line(capfd, path, "or the sequence that it was written against is missing (--reference)")
    assert run(small_index, path, "--reference", small_fasta, "-o", tmp_path / "out.bam") == 0


@pytest.mark.parametrize("place", ["name", "quality", "tag"])
def test_a_record_that_fastq_cannot_hold(small_index, tmp_path, capfd, place):
    """A line end in it would begin a read that nobody sequenced."""
    header = pysam.AlignmentHeader()
    record = pysam.AlignedSegment(header)
    record.query_name, record.flag, record.query_sequence = "one", 4, "ACGT" * 10
    record.query_qualities = [30] * 20 + [233 if place == "quality" else 30] * 20
    record.set_tag("XX", "a\nb" if place == "tag" else "a b")
    path = tmp_path / "in.bam"
    with pysam.AlignmentFile(str(path), "wb", header=header) as file:
        file.write(record)
    if place == "name":
        text = gzip.decompress(path.read_bytes()).replace(b"one\0", b"o\ne\0")
        path.write_bytes(b"".join(bgzf.blocks(text, bgzf.deflater(1))) + bgzf.END_OF_FILE)
    assert run(small_index, path, "-o", tmp_path / "out.bam") == 1
    one_line(capfd, path, "a name, a quality or a tag that SAM forbids")


@pytest.mark.parametrize("tag", [b"XXq\1", b"XXBi\xff\xff\xff\x7f", b"XXi\1", b"XXZabc"])
def test_a_damaged_tag_is_no_lack_of_memory(small_index, reads, tmp_path, capfd, tag):
    path = written(tmp_path / "in.bam", sam_text(reads[:3]).replace("\tNM:i:9", "\tNM:Z:" + "x" * len(tag)))
    data, good = gzip.decompress(path.read_bytes()), b"NMZ" + b"x" * len(tag) + b"\0"
    assert data.endswith(good)
    crafted = data[: -len(good)] + (b"XAA" + b"a" * (4 + len(tag)))[: len(good) - len(tag)] + tag
    path.write_bytes(b"".join(bgzf.blocks(crafted, bgzf.deflater(1))) + bgzf.END_OF_FILE)
    assert run(small_index, path, "-o", tmp_path / "out.bam") == 1
    one_line(capfd, path, "a name, a quality or a tag that SAM forbids")
    assert not (tmp_path / "out.bam").exists()
