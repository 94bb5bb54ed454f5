"""`gassst align`: tables, PAF and SAM, and what is refused."""

from __future__ import annotations

import pysam
import pytest

from gassst.cli.main import main

QUERIES = ">p1\nACGTTGCAACGTACGATCGATC\n>p2 second\nGATCGATCGTACGTTGCAACGTTT\n>p3\nNNNN\n"
TARGETS = ">chrA\nTTTTTTTTTACGTTGCAACGTACGATCGATCTTTTTTT\n>chrB\nCCCCCCCCGATCGATCGTACGTTGCAACGTCCCC\n"


@pytest.fixture
def world(tmp_path, capfd):
    (tmp_path / "q.fa").write_text(QUERIES)
    (tmp_path / "t.fa").write_text(TARGETS)

    def run(*options):
        capfd.readouterr()
        files = (str(tmp_path / "q.fa"), str(tmp_path / "t.fa"))
        return main(["align", *files, *map(str, options)]), *capfd.readouterr()

    return run


def test_table(world):
    code, out, error = world("-t", 1)
    header, *rows = [line.split("\t") for line in out.splitlines()]
    assert code == 0 and header[0] == "query" and len(header) == 9
    assert rows == [
        ["p1", "0", "22", "+", "chrA", "9", "31", "110", "22M"],
        ["p2", "0", "22", "+", "chrB", "8", "30", "110", "22M"],
    ]
    assert "2 alignments of 3 queries with 2 targets" in error


@pytest.mark.device("cpu")
def test_a_device_writes_the_same(world):
    options = ("--both-strands", "--best", 0, "-q")
    assert world(*options, "--device", "cpu") == world(*options)
    code, out, error = world("--device", "no such device", "-q")
    assert code != 0 and "no such device" in error and not out


def test_paf(world, tmp_path):
    assert world("-o", tmp_path / "x.paf", "--both-strands", "--best", 2, "--min-score", 100)[0] == 0
    rows = [line.split("\t") for line in (tmp_path / "x.paf").read_text().splitlines()]
    assert "\t".join(rows[1]) == "p1\t22\t0\t22\t-\tchrB\t34\t8\t30\t22\t22\t255\tAS:i:110\tcg:Z:22M"
    assert [row[2:5] for row in rows[2:]] == [["0", "22", "-"], ["0", "22", "+"]]


def test_sam(world, tmp_path):
    assert world("-o", tmp_path / "x.sam", "--both-strands", "--best", 2)[0] == 0
    with pysam.AlignmentFile(tmp_path / "x.sam") as file:
        records = list(file)
        assert file.references == ("chrA", "chrB") and file.header["PG"][0]["CL"].startswith("gassst align")
    flags = [(r.query_name, r.flag, r.reference_name, r.pos, r.cigarstring) for r in records]
    assert flags == [
        ("p1", 0, "chrA", 9, "22M"),
        ("p1", 256 + 16, "chrB", 8, "22M"),
        ("p2", 16, "chrA", 9, "2S22M"),
        ("p2", 256, "chrB", 8, "22M2S"),
        ("p3", 4, None, -1, None),
    ]
    assert records[2].query_sequence == "AAACGTTGCAACGTACGATCGATC"
    assert all(r.get_tag("NM") == 0 and r.get_tag("AS") == 110 for r in records[:4])


def test_qualities_turn_with_their_read(world, tmp_path):
    (tmp_path / "q.fa").write_text("@r\nCATT\n+\n!I5#\n")
    (tmp_path / "t.fa").write_text(">t\nAATG\n")
    assert world("-O", "sam", "-o", tmp_path / "x", "--both-strands")[0] == 0
    with pysam.AlignmentFile(tmp_path / "x") as file:
        [record] = file
    assert (record.flag, record.query_sequence, record.qual) == (16, "AATG", "#5I!")


@pytest.mark.parametrize(
    "options, message",
    [
        (["-o", "x.bam"], "its suffix must be .tsv, .paf or .sam"),
        (["--best", "-1"], "--best must be 0 or more"),
        (["-t", "0"], "-t must be from 1"),
        (["--matrix", "BLOSUM"], "matrix 'BLOSUM' must be one of"),
        (["--gap-extend", "0"], "costs are positive"),
        (["--matrix", "PAM250", "--both-strands"], "have no complement"),
        (["--matrix", "PAM250", "-O", "sam"], "SAM is for alignments of DNA"),
    ],
)
def test_wrong_usage(world, options, message):
    code, out, error = world(*options)
    assert (code, out) == (2, "") and message in error and len(error.splitlines()) == 1


PATTERNS = ">guide one\nACGTACCATTG\n>lost\nGGGGGGCCCCC\n"
CONTIGS = ">chr1 x\nTTTTTACGTACC\nATTGTT\n>chr2\nCAATGGTACTT\n"
PLACES = [
    ["guide", "chr1", "5", "16", "+", "0", "11="],
    ["guide", "chr2", "0", "11", "-", "1", "9=1X1="],
]


@pytest.fixture
def find(tmp_path, capfd):
    (tmp_path / "p.fa").write_text(PATTERNS)
    (tmp_path / "c.fa").write_text(CONTIGS)

    def run(*options, contigs="c.fa"):
        capfd.readouterr()
        files = (str(tmp_path / "p.fa"), str(tmp_path / contigs))
        return main(["align", *files, *map(str, options)]), *capfd.readouterr()

    return run


def test_find_writes_a_table_and_bed(find, tmp_path):
    code, out, error = find("--find", 2)
    header, *rows = [line.split("\t") for line in out.splitlines()]
    assert code == 0 and header == ["pattern", "contig", "start", "end", "strand", "edits", "cigar"]
    assert rows == PLACES and "2 places of 2 patterns within 2 edits in 2 contigs" in error
    assert find("--find", 2, "-o", tmp_path / "x.bed", "-q") == (0, "", "")
    bed = [line.split("\t") for line in (tmp_path / "x.bed").read_text().splitlines()]
    assert bed == [[row[1], row[2], row[3], row[0], row[5], row[4]] for row in PLACES]


def test_find_writes_sam(find, tmp_path):
    (tmp_path / "two.fa").write_text(">c\nTTACGTACGATTGTTTTTTTTTTTTTACGTACCATTGTT\n")
    assert find("--find", 2, "-o", tmp_path / "x.sam")[0] == 0
    with pysam.AlignmentFile(tmp_path / "x.sam") as file:
        first, second, lost = file
        assert dict(zip(file.references, file.lengths, strict=True)) == {"chr1": 18, "chr2": 11}
    assert (first.flag, first.reference_start, first.query_sequence) == (0, 5, "ACGTACCATTG")
    assert (second.flag, second.reference_name, second.query_sequence) == (272, "chr2", "CAATGGTACGT")
    assert (second.cigarstring, second.get_tag("NM")) == ("9=1X1=", 1)
    assert (lost.query_name, lost.flag, lost.query_sequence) == ("lost", 4, "GGGGGGCCCCC")
    assert find("--find", 1, "-O", "sam", contigs="two.fa")[0] == 0
    rows = [line.split("\t") for line in find("--find", 1, "-O", "sam", contigs="two.fa")[1].splitlines()]
    found = [(row[1], row[3], row[-1]) for row in rows if row[0] == "guide"]
    assert found == [("0", "27", "NM:i:0"), ("256", "3", "NM:i:1")]  # the fewest edits first


@pytest.mark.parametrize(
    ("options", "patterns", "says"),
    [
        (["--find", 11], PATTERNS, "k = 11: it must be less than the 11 letters of pattern guide"),
        (["--find", -1], PATTERNS, "k = -1"),
        (["--find", 1], ">x\nACGTE\n", "'E' at 5 is not a letter of the DNA alphabet"),
        (["--find", 1], ">x\n" + "A" * 65 + "\n", "x has 65 letters; 64 are the limit"),
        (["--find", 1, "-O", "paf"], PATTERNS, "not with --find"),
        (["--find", 1, "-o", "x.paf"], PATTERNS, "its suffix must be .tsv, .bed or .sam"),
        (["--find", 1, "--best", 2], PATTERNS, "--best does not go with --find"),
        (["-O", "bed"], PATTERNS, "only with --find"),
    ],
)
def test_find_refuses(find, tmp_path, options, patterns, says):
    (tmp_path / "p.fa").write_text(patterns)
    code, out, error = find(*options)
    assert code and not out and says in error and error.count("\n") == 1
