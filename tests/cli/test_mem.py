"""`gassst mem` takes the command lines of `bwa mem` as public pipelines have them."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import numpy as np
import pysam
import pytest
from brute_force import reverse_complement as reverse

from gassst.cli.main import main

PAIRS = 120
LENGTH = 100


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """FASTA, and reads: of every ten pairs one is from three copies of a stretch, one from nine; others are unique.

    Every tenth first mate is split between two contigs.
    """
    rng = np.random.default_rng(61)

    def bases(n):
        return bytes(rng.choice(list(b"ACGT"), n).astype(np.uint8))

    thrice, often = bases(600), bases(600)
    one = b"".join([bases(3000), *(piece for _ in range(3) for piece in (thrice, bases(700)))])
    two = b"".join([bases(3000), *(piece for _ in range(9) for piece in (often, bases(500)))])
    folder = tmp_path_factory.mktemp("mem")
    (folder / "genome.fa").write_bytes(b">chr1 first\n%s\n>chr2\n%s\n" % (one, two))
    pairs = []
    for i in range(PAIRS):
        source = {0: thrice, 1: often}.get(i % 10, one[:3000] if i % 2 else two[:3000])
        at = int(rng.integers(len(source) - 300))
        first, second = source[at : at + LENGTH], reverse(source[at + 200 : at + 300])
        if i % 10 == 5:
            first = first[:55] + two[i * 10 : i * 10 + 45]
        pairs.append((f"r{i}", first.decode(), second.decode()))
    for name, reads in {
        "R1.fq": [(n, a) for n, a, _ in pairs],
        "R2.fq": [(n, b) for n, _, b in pairs],
        "both.fq": [(n, x) for n, a, b in pairs for x in (a, b)],
        "tags.fq": [(f"{n} BC:Z:ACGT", a) for n, a, _ in pairs],
        "primers.fq": [(n, a[:24]) for n, a, _ in pairs],
    }.items():
        (folder / name).write_text("".join(f"@{n}\n{s}\n+\n{'I' * len(s)}\n" for n, s in reads))
    (folder / "contigs.fa").write_text("".join(f">{n}\n{a}\n" for n, a, _ in pairs))
    return folder


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    """A copy without an index, which is the current folder."""
    for path in made.iterdir():
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def of_text(text: str, path: Path) -> list[pysam.AlignedSegment]:
    """The records, as samtools sorts them: the next command of most pipelines."""
    (path / "found.sam").write_text(text)
    pysam.sort("-o", str(path / "found.bam"), str(path / "found.sam"))
    with pysam.AlignmentFile(str(path / "found.bam")) as file:
        return list(file)


@contextmanager
def standard_input(path: str):
    """This file is standard input, for what reads `sys.stdin` and for what reads /dev/stdin."""
    kept = os.dup(0)
    try:
        with open(path) as file, mock.patch("sys.stdin", file):
            os.dup2(file.fileno(), 0)
            yield
    finally:
        os.dup2(kept, 0)
        os.close(kept)


GROUP = r"@RG\tID:s1\tSM:s1\tLB:l\tPL:ILLUMINA"
# Where each line is public, looked up in November 2026; then the line. What the pipelines fill in (threads, names of
# files) is filled in here.
LINES = {
    # https://github.com/nf-core/modules/blob/master/modules/nf-core/bwa/mem/main.nf with conf/modules of sarek
    "nf-core/sarek": "-K 100000000 -Y -R GROUP -t 2 genome.fa R1.fq R2.fq",
    # https://github.com/gatk-workflows/gatk4-data-processing/blob/master/processing-for-variant-discovery-gatk4.wdl
    "gatk4-data-processing": "-K 100000000 -p -v 3 -t 2 -Y genome.fa /dev/stdin - < both.fq",
    # https://docs.gdc.cancer.gov/Data/Bioinformatics_Pipelines/DNA_Seq_Variant_Calling_Pipeline/
    "GDC": "-t 2 -T 0 -R GROUP genome.fa R1.fq R2.fq",
    # https://github.com/bcbio/bcbio-nextgen/blob/master/bcbio/ngsalign/bwa.py
    "bcbio": "-c 250 -M -t 2 -R GROUP -v 1 genome.fa R1.fq R2.fq",
    # https://github.com/aidenlab/juicer/blob/main/CPU/juicer.sh
    "juicer": "-K 320000000 -SP5M -t 2 -R GROUP genome.fa R1.fq R2.fq",
    # https://github.com/ArimaGenomics/mapping_pipeline/blob/master/arima_mapping_pipeline.sh
    "arima": "-t 2 genome.fa R1.fq",
    # https://github.com/fulcrumgenomics/fgbio/blob/main/docs/best-practice-consensus-pipeline.md
    "fgbio": "-t 2 -p -K 150000000 -Y genome.fa - < both.fq",
    # https://github.com/lh3/bwa/blob/master/bwakit/run-bwamem
    "bwakit": "-p -t2 -RGROUP genome.fa - < both.fq",
    # https://github.com/rrwick/Polypolish/wiki/How-to-run-Polypolish (as others quote it)
    "polypolish": "-t 2 -a genome.fa R1.fq",
    # https://github.com/andersen-lab/paper_2018_primalseq-ivar/blob/master/cookbook/CookBook.ipynb
    "ivar": "-k 5 -T 16 genome.fa primers.fq",
    # No pipeline: a preset of bwa's manual page (https://github.com/lh3/bwa/blob/master/bwa.1).
    "intractg": "-x intractg -t 2 genome.fa contigs.fa",
    # https://github.com/brentp/bwa-meth/blob/master/bwameth.py
    "bwameth": "-T 40 -B 2 -L 10 -CM -U 100 -p -R GROUP -t 2 genome.fa /dev/stdin < both.fq",
    # No pipeline: the other options of bwa's usage, behind the files for once as well.
    "manual": "-I 300,30,500,100 -h 3 -d 50 -r 1.2 -D 0.4 -W 10 -m 20 -w 80 -q -V -j genome.fa R1.fq R2.fq "
    "-o found.sam",
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_line_of_a_public_pipeline(folder, capfd, line):
    words, _, stdin = line.partition(" < ")
    argv = ["mem", *(word.replace("GROUP", GROUP) for word in words.split())]
    with standard_input(stdin or os.devnull):
        code = main(argv)
    out, error = capfd.readouterr()
    assert code == 0, error
    out = out or Path("found.sam").read_text()
    [of_program] = [x for x in out.splitlines() if x.startswith("@PG\tID:gassst\t")]
    assert "\tCL:gassst mem -" in of_program
    records = of_text(out, folder)
    options = set(" ".join(argv).split("genome.fa")[0].replace("GROUP", "").split())
    is_pair = "R2.fq" in line or "both.fq" in line
    primary = [r for r in records if not r.flag & 0x900]
    assert len(primary) == PAIRS * (1 + is_pair)
    assert all(r.is_paired == is_pair for r in records)
    assert sum(not r.is_unmapped for r in primary) > 0.9 * len(primary)
    for record in records:
        if not record.is_unmapped:
            assert all(record.has_tag(tag) for tag in ("NM", "MD", "AS", "XS")), record
            assert not is_pair or record.mate_is_unmapped or record.has_tag("MC")
        assert record.has_tag("RG") == ("GROUP" in line)
        assert not record.is_secondary or "-a" in options or "M" in line
    listed = [r.get_tag("XA").rstrip(";").split(";") for r in records if r.has_tag("XA")]
    assert bool(listed) == ("-a" not in options)
    assert all(len(places) <= 5 for places in listed)
    if "-a" in options:
        assert sum(r.is_secondary for r in records) == PAIRS  # of 12 reads 2, of 12 reads 8
    if "-p" in options and "-SP" not in line:
        assert sum(r.is_proper_pair for r in primary) > PAIRS
    split = [r for r in records if r.has_tag("SA") and r.flag & 0x900]
    if "-M" in options or "M" in line.split()[0]:
        assert not any(r.is_supplementary for r in records)
    if "-Y" in options:
        assert not any("H" in r.cigarstring for r in split)
    if "-x" not in options and "-k" not in options:
        assert split


def test_index_is_made_once_and_said(folder, capfd):
    assert main(["mem", "-o", "a.sam", "genome.fa", "R1.fq"]) == 0
    assert "genome.fa is indexed, once: genome.gsi is made\n" in capfd.readouterr().err
    assert main(["mem", "-o", "b.sam", "genome.fa", "R1.fq"]) == 0
    assert "genome.fa: its index genome.gsi is used\n" in capfd.readouterr().err
    assert Path("a.sam").read_text().replace("a.sam", "b.sam") == Path("b.sam").read_text()


@pytest.mark.parametrize("prefix", ["genome", "other"])
def test_prefix_names_the_fasta_or_the_index(folder, capfd, prefix):
    assert main(["index", "-q", "genome.fa", "-o", "other.gsi"]) == 0
    assert main(["mem", "-o", "a.sam", prefix, "R1.fq"]) == 0
    assert Path("a.sam").read_text().count("\n") > PAIRS


def test_no_reference_is_one_line(folder, capfd):
    assert main(["mem", "nothing", "R1.fq"]) != 0
    out, error = capfd.readouterr()
    assert (out, error) == (
        "",
        "gassst: nothing: no such FASTA, and no index of gassst or bwa has this prefix\n",
    )


def test_options_without_effect_are_listed_in_one_line(folder, capfd):
    assert main(["mem", "-c", "250", "-w200", "-q", "-v", "3", "-o", "a.sam", "genome.fa", "R1.fq"]) == 0
    lines = [x for x in capfd.readouterr().err.splitlines() if "no effect" in x]
    assert lines == ["gassst: no effect here: -w 200, -c 250, -q"]


def test_header_lines(folder, capfd):
    Path("more.sam").write_text("@HD\tVN:1.5\tSO:queryname\n@SQ\tSN:chr2\tAS:made\n@CO\tfrom a file\n")
    assert main(["mem", "-v1", "-o", "a.sam", "-H", "more.sam", "genome.fa", "R1.fq"]) == 0
    header = pysam.AlignmentFile("a.sam").header.to_dict()
    assert header["SQ"][1]["AS"] == "made" and "AS" not in header["SQ"][0]
    assert header["CO"] == ["from a file"] and "SO" in header["HD"] and header["HD"]["SO"] == "unsorted"
    assert main(["mem", "-v1", "-o", "b.sam", "-H", r"@PG\tID:before", "genome.fa", "R1.fq"]) == 0
    assert [x["ID"] for x in pysam.AlignmentFile("b.sam").header.to_dict()["PG"]] == ["before", "gassst"]
    for line in (r"@SQ\tSN:chr9\tLN:5", "@PG ID:x"):
        assert main(["mem", "-v1", "-o", "c.sam", "-H", line, "genome.fa", "R1.fq"]) == 2
        assert not Path("c.sam").exists()


def test_match_scales_the_scores_that_are_not_given(folder):
    lines = []
    for scores in (["-A2"], ["-A2", "-B8", "-O12", "-E2", "-L10", "-T60"]):
        assert main(["mem", "-v1", *scores, "genome.fa", "R1.fq", "R2.fq", "-o", "a.sam"]) == 0
        lines.append([x for x in Path("a.sam").read_text().splitlines() if x[0] != "@"])
    assert lines[0] == lines[1]
    assert any("\tAS:i:200\t" in line for line in lines[0])


def test_xa_alone_is_that_of_bwa(folder):
    assert main(["mem", "-v1", "-o", "a.sam", "-T", "30", "genome.fa", "R1.fq", "R2.fq"]) == 0
    assert main(["map", "-q", "-o", "b.sam", "-T", "30", "--xa", "genome.fa", "R1.fq", "R2.fq"]) == 0
    found = []
    for name in ("a.sam", "b.sam"):
        with pysam.AlignmentFile(name) as file:
            found.append({(r.query_name, r.flag): r.get_tag("XA") for r in file if r.has_tag("XA")})
    assert found[0] == found[1] and found[0]


def test_an_option_of_map_is_known(folder, capfd):
    for option in ("--markdup", "--report=x.html", "--nothing"):
        assert main(["mem", option, "genome.fa", "R1.fq"]) == 2
        hint = "" if "nothing" in option else f"`gassst map` has {option.split('=')[0]}. "
        assert capfd.readouterr().err == f"gassst: unknown option {option}. {hint}See `gassst mem --help`.\n"


@pytest.mark.external("bwa")
def test_flags_and_tags_are_those_of_bwa(folder):
    """Of each read that both place surely; and bwa's index alone serves as the reference."""
    subprocess.run(["bwa", "index", "-p", "bwa", "genome.fa"], check=True, capture_output=True)
    Path("genome.fa").unlink()
    options = ["-Y", "-R", GROUP, "bwa", "R1.fq", "R2.fq"]
    theirs = subprocess.run(["bwa", "mem", *options], check=True, capture_output=True, text=True).stdout
    assert main(["mem", "-v1", "-o", "a.sam", *options]) == 0
    found = []
    for text in (theirs, Path("a.sam").read_text()):
        by_read = {}
        for r in of_text(text, folder):
            if not r.is_supplementary:
                tags = {name for name, _ in r.get_tags()} - {"MQ"}
                by_read[r.query_name, r.is_read2] = r.mapping_quality, r.flag, r.cigarstring, tags
        found.append(by_read)
    assert found[0].keys() == found[1].keys()
    sure = [read for read in found[0] if min(found[i][read][0] for i in (0, 1)) >= 30]
    assert len(sure) > PAIRS
    differ = [read for read in sure if found[0][read][1:] != found[1][read][1:]]
    assert len(differ) <= 0.02 * len(sure), differ


def primaries(path):
    with pysam.AlignmentFile(str(path), check_sq=False) as file:
        return {(r.query_name, r.is_read2): r for r in file if not r.flag & 0x900}


ABOUT_MATES = (
    "next_reference_name", "next_reference_start", "mate_is_unmapped", "mate_is_reverse", "is_proper_pair",
)  # fmt: skip
UNLIKE = [
    "nf-core/sarek",
    "GDC",
    "bcbio",
    "juicer",
    "fgbio",
    "manual",
]  # by what others make of their records


@pytest.fixture
def sam_of(folder, capfd):
    """The SAM file of a line."""

    def made(line):
        words, _, stdin = line.partition(" < ")
        with standard_input(stdin or os.devnull):
            assert main(["mem", *(word.replace("GROUP", GROUP) for word in words.split())]) == 0
        out = capfd.readouterr().out
        if out:
            (folder / "found.sam").write_text(out)
        return folder / "found.sam"

    return made


@pytest.mark.external("samtools")
@pytest.mark.parametrize("line", UNLIKE)
def test_samtools_says_the_same_of_mates(sam_of, folder, line):
    """`collate | fixmate -m | sort | markdup`: fixmate finds nothing to change, and markdup what it needs."""
    path = sam_of(LINES[line])

    def samtools(*argv):
        return subprocess.run(
            ["samtools", *map(str, argv)], check=True, capture_output=True, text=True
        ).stdout

    samtools("collate", "-o", "c.bam", path)
    samtools("fixmate", "-m", "c.bam", "f.bam")
    samtools("sort", "-o", "s.bam", "f.bam")
    samtools("markdup", "s.bam", "m.bam")
    samtools("quickcheck", "m.bam")
    ours, theirs = primaries(path), primaries("f.bam")
    assert ours.keys() == theirs.keys() == primaries("m.bam").keys()
    for key, record in ours.items():
        other = theirs[key]
        for name in ABOUT_MATES:
            assert getattr(record, name) == getattr(other, name), (name, str(record), str(other))
        if not (record.is_unmapped or record.mate_is_unmapped):
            apart = (
                0 if record.is_proper_pair else 2
            )  # where mates face apart, bwa counts from the bases beside
            assert abs(record.template_length - other.template_length) <= apart
            assert record.get_tag("MC") == other.get_tag("MC") and record.get_tag("MQ") == other.get_tag("MQ")


@pytest.mark.external("samtools", "PicardCommandLine")
@pytest.mark.parametrize("line", ["bcbio", "juicer", "manual"])
def test_picard_finds_no_error(sam_of, folder, line):
    """As GATK checks its input; the date of a read group is no fault of records."""
    words = LINES[line] if "-R " in LINES[line] else f"-R GROUP {LINES[line]}"
    pysam.sort("-o", "sorted.bam", str(sam_of(words)))
    ignored = ("MISSING_PLATFORM_VALUE", "MISSING_READ_GROUP")
    argv = ["PicardCommandLine", "ValidateSamFile", "I=sorted.bam", "MODE=SUMMARY", "R=genome.fa"]
    argv += [f"IGNORE={kind}" for kind in ignored]
    found = subprocess.run(argv, capture_output=True, text=True)
    assert "No errors found" in found.stdout, found.stdout + found.stderr[-500:]
