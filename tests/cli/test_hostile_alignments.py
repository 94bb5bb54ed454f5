"""What is named as SAM, BAM or CRAM and makes htslib follow it, or end the process: one line, and no record."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import re
import struct
import threading
from pathlib import Path

import pysam
import pytest

from gassst.cli import resume
from gassst.files import bgzf

ROOT = Path(__file__).parents[2]
UNMAPPED = "r\t4\t*\t0\t0\t*\t*\t0\t0\t" + "ACGT" * 10 + "\t*\n"
SAM = ("@HD\tVN:1.6\n" + UNMAPPED).encode()
ZSTD = b"\x28\xb5\x2f\xfd"


def as_bgzf(data):
    return b"".join(bgzf.blocks(data, bgzf.deflater(1))) + bgzf.END_OF_FILE


def ticket(secret):
    """For htsget: the records of another file."""
    return json.dumps(
        {"htsget": {"format": "BAM", "urls": [{"url": f"file://{secret}"}]}}, separators=(",", ":")
    )


FORMS = {
    "htsget": lambda secret: ticket(secret).encode(),
    "htsget behind blanks": lambda secret: b" \n\t " + ticket(secret).encode(),
    "htsget in gz": lambda secret: gzip.compress(ticket(secret).encode()),
    "htsget in BGZF": lambda secret: as_bgzf(ticket(secret).encode()),
    "htsget as a name": lambda secret: ('{"htsget":' + UNMAPPED).encode(),
    "crypt4gh": lambda secret: b"crypt4gh\1\0\0\0" + bytes(200),
    "crypt4gh as a name": lambda secret: ("crypt4gh" + UNMAPPED).encode(),
    "crypt4gh in gz": lambda secret: gzip.compress(b"crypt4gh\1\0\0\0" + bytes(200)),
    "xz": lambda secret: lzma.compress(SAM),
    "xz, cut": lambda secret: lzma.compress(SAM)[:20],
    "BAM in xz": lambda secret: lzma.compress(Path(secret).read_bytes()),
    "xz in gz": lambda secret: gzip.compress(lzma.compress(SAM)),
    "gz in gz": lambda secret: gzip.compress(gzip.compress(SAM)),
    "bz2": lambda secret: bz2.compress(SAM),
    "zstd": lambda secret: ZSTD + bytes(40),
    "VCF": lambda secret: b"##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n",
    "BCF": lambda secret: as_bgzf(b"BCF\2\2" + bytes(40)),
    "BAM index": lambda secret: b"BAI\1" + bytes(40),
    "FASTA": lambda secret: b">r\nACGTACGTACGTACGTACGT\n",
    "FASTQ": lambda secret: b"@r\nACGTACGTACGTACGTACGT\n+\nIIIIIIIIIIIIIIIIIIII\n",
}


@pytest.fixture(scope="module")
def secret(tmp_path_factory):
    path = tmp_path_factory.mktemp("secret") / "secret.bam"
    with pysam.AlignmentFile(path, "wb", header=pysam.AlignmentHeader()) as file:
        file.write(pysam.AlignedSegment.fromstring(UNMAPPED.strip(), file.header))
    return path


COMMANDS = {
    "map": ["map", "INDEX", "x.sam", "-o", "out.sam"],
    "sheet": ["map", "INDEX", "--sheet", "sheet.csv"],
    "insert": ["insert", "INDEX", "x.sam", "-o", "out.sam"],
    "gather": ["gather", "x.sam", "-o", "out.sam"],
    "evaluate": ["evaluate", "x.sam"],
    "truth": ["evaluate", "good.sam", "--truth", "x.sam"],
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("form", FORMS)
def test_a_file_of_another_kind_is_no_alignments(
    form, command, run, secret, small_index, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    Path("x.sam").write_bytes(FORMS[form](secret))
    Path("good.sam").write_bytes(SAM)
    Path("sheet.csv").write_text("sample,lane,R1,R2,output\na,1,x.sam,,out.sam\n")
    argv = [str(small_index) if word == "INDEX" else word for word in COMMANDS[command]]
    code, out, error = run(*argv)
    if command == "map" and form in ("FASTA", "FASTQ"):
        assert error.splitlines()[-1] == "gassst: x.sam: no SAM, BAM or CRAM"
    assert (code, out) == (1, "")
    assert re.fullmatch(r"gassst: x\.sam: .*", error.splitlines()[-1])
    assert "Traceback" not in error
    assert sorted(os.listdir()) == ["good.sam", "sheet.csv", "x.sam"]


@pytest.mark.parametrize("form", ["htsget", "xz"])
def test_a_pipe_of_another_kind(form, run, secret, small_index, tmp_path):
    pipe = tmp_path / "x.sam"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(FORMS[form](secret),))
    writer.start()
    (tmp_path / "in").mkdir()
    code, _, error = run("evaluate", pipe)
    writer.join()
    assert (code, error) == (1, f"gassst: {pipe}: no SAM, BAM or CRAM\n")


def test_an_output_that_is_a_ticket_was_never_complete(secret, tmp_path):
    (tmp_path / "out.sam").write_text(ticket(secret))
    assert resume._header(str(tmp_path / "out.sam")) is None


def test_one_place_opens_alignments():
    """`AlignmentReader` looks before htslib does; pysam and samtools would not."""
    opens = re.compile(r"AlignmentFile\(|VariantFile\(|FastaFile\(|TabixFile\(|FastxFile\(|\bhts_h?open\(")
    sources = [
        p
        for f in ("gassst", "ext", "index")
        for p in (ROOT / f).rglob("*")
        if p.suffix in (".py", ".pyx", ".pxi")
    ]
    found = {
        path.name
        for path in sources
        for text in opens.findall(path.read_text())
        if text != "pysam.AlignmentFile("
    }
    assert found - {"mapper.py"} == {"alignment_text.pyx", "records.pyx"}  # one reads, one writes


# --- CRAM, whose header may say where the sequence lies that it was written against ---------------------------


@pytest.fixture
def fasta(small_genome, tmp_path):
    path = tmp_path / "other" / "ref.fa"
    path.parent.mkdir()
    name, bases = next(iter(small_genome.items()))
    text = bases.decode() if isinstance(bases, bytes) else bases
    path.write_text(f">{name}\n{text}\n")
    (path.parent / "bases").write_text(text)
    return path, name, text


def cram_of(path, fasta, name, bases, tags):
    """One read that is written as "like the reference", and a header with these tags."""
    header = {"HD": {"VN": "1.6"}, "SQ": [{"SN": name, "LN": len(bases), **tags}]}
    with pysam.AlignmentFile(path, "wc", header=header, reference_filename=str(fasta)) as file:
        record = pysam.AlignedSegment(file.header)
        record.query_name, record.flag, record.reference_id, record.reference_start = "r", 0, 0, 100
        record.cigarstring, record.mapping_quality, record.query_sequence = "60M", 60, bases[100:160]
        file.write(record)


def reheaded(path, header, target):
    text = target.with_suffix(".header")
    text.write_text(header)
    pysam.cat("--no-PG", "-h", str(text), "-o", str(target), str(path), catch_stdout=False)
    text.unlink()


@pytest.mark.parametrize("place", ["UR", "UR as a URL", "M5"])
def test_cram_names_no_file(place, run, fasta, small_index, tmp_path, monkeypatch):
    path, name, bases = fasta
    for variable in ("REF_PATH", "REF_CACHE"):
        monkeypatch.delenv(variable, raising=False)
    cram, plain = tmp_path / "in.cram", tmp_path / "plain.cram"
    cram_of(plain, path, name, bases, {})
    tag = {"UR": f"UR:{path}", "UR as a URL": f"UR:file:{path}", "M5": f"M5:{path.parent / 'bases'}"}[place]
    header = re.sub(r"\t(UR|M5):\S+", "", pysam.view("-H", "--no-PG", str(plain)))
    reheaded(plain, re.sub(r"(@SQ.*)", rf"\1\t{tag}", header), cram)
    with pysam.AlignmentFile(cram) as file:  # htslib alone does open it
        assert next(file).query_sequence == bases[100:160]
    (path.parent / "ref.fa.fai").unlink(missing_ok=True)
    before = sorted(os.listdir(path.parent))
    command = ["map", small_index, cram, "-q", "--device", "none", "-o", tmp_path / "out.sam"]
    code, _, error = run(*command)
    assert (code, error.count("\n")) == (1, 1)
    assert "the sequence that it was written against is missing (--reference)" in error
    assert sorted(os.listdir(path.parent)) == before  # no index of it either
    assert run(*command, "--reference", path)[0] == 0


@pytest.mark.parametrize("tag", ["M5:../../../outside", "UR:/etc/hostname"])
@pytest.mark.parametrize("suffix", [".sam", ".bam", ".cram"])
def test_a_part_names_no_file(tag, suffix, run, small_index, small_reads, tmp_path):
    """`gather --reference` writes contigs under their MD5, and samtools would look for others."""
    part, forged, reads = (tmp_path / name for name in (f"part{suffix}", f"forged{suffix}", "reads.fq"))
    reads.write_text("".join(f"@{n}\n{s}\n+\n{q}\n" for n, s, q in small_reads[:4]))
    assert run("map", small_index, reads, "-q", "--device", "none", "--shard", "1/1", "-o", part)[0] == 0
    header = pysam.view("-H", "--no-PG", str(part))
    header = (
        re.sub(r"\tM5:\w+", f"\t{tag}", header)
        if tag.startswith("M5")
        else header.replace("\tM5", f"\t{tag}\tM5")
    )
    if suffix == ".sam":
        forged.write_text(header)
    else:
        reheaded(part, header, forged)
    code, _, error = run("gather", forged, "-q", "--reference", small_index, "-o", tmp_path / "o.cram")
    assert (code, error.count("\n")) == (1, 1)
    assert "not a shard of a run" in error


def test_a_name_that_htslib_would_cut(run, small_index, small_fastq, tmp_path):
    out = tmp_path / "x##idx##y.cram"
    code, _, error = run("map", small_index, small_fastq, "-q", "--device", "none", "--sort", "-o", out)
    assert (code, os.listdir(tmp_path)) == (2, [])
    assert error == f"gassst: {out}: htslib would cut this name at ##idx##: choose another\n"


# --- headers ----------------------------------------------------------------------------------------------------

MOST = 1 << 28
LONG_HEADERS = {
    "text of BAM": lambda: as_bgzf(b"BAM\1" + struct.pack("<i", MOST + 1)),
    "name of BAM": lambda: as_bgzf(b"BAM\1" + struct.pack("<iii", 0, 1, MOST + 1)),
    "lines of SAM": lambda: gzip.compress(b"@CO\t" + b"x" * (1 << 24) + b"\n") * 17,
}


@pytest.mark.parametrize("kind", LONG_HEADERS)
def test_a_header_without_end(kind, run, tmp_path):
    path = tmp_path / "x.sam"
    path.write_bytes(LONG_HEADERS[kind]())
    assert run("evaluate", path) == (1, "", f"gassst: {path}: its header has more than 256 MB\n")
