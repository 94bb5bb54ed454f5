"""`gassst map --sort --markdup`: what samtools marks in the same file, for every input and output."""

from __future__ import annotations

import json
import random
import subprocess

import pysam
import pytest
from map_runs import lines_of, run
from text_bases import reverse_complement

from gassst.records.duplicate_metrics import COLUMNS

GROUPS = [rf"@RG\tID:{group}\tSM:s\tPL:ILLUMINA\tLB:{library}" for group, library in (("1", "a"), ("2", "b"))]


@pytest.fixture(scope="module")
def lanes(small_genome, tmp_path_factory):
    """First and second mates of two lanes: some pairs lie at one place; barcodes, and mates that map nowhere."""
    draw, folder = random.Random(3), tmp_path_factory.mktemp("lanes")
    contigs = [sequence.decode().upper() for sequence in small_genome.values()]
    texts = [["", ""], ["", ""]]
    places = [(draw.choice(contigs), draw.randrange(800), draw.randrange(200, 260)) for _ in range(60)]
    for i in range(300):
        contig, start, size = draw.choice(places) if i < 240 else (contigs[0], draw.randrange(800), 230)
        size += draw.choice([0, 0, 0, 1])
        mates = [contig[start : start + 80], reverse_complement(contig[start + size - 80 : start + size])]
        if draw.random() < 0.15:
            mates[draw.randrange(2)] = "".join(draw.choices("ACGT", k=80))
        if draw.random() < 0.5:
            mates.reverse()
        quality, barcode = draw.choice("5IJ"), draw.choice(["ACGT", "ACGA"])
        for which, bases in enumerate(mates):
            name = f"@M1:7:FLOW:{1 + i % 2}:1101:{draw.randrange(60, 400) if which == 0 else 0}:{i}"
            name = (
                name if which == 0 else texts[i % 2][0].rsplit("@M1", 1)[1].split("\t")[0].join(["@M1", ""])
            )
            texts[i % 2][which] += f"{name}\tRX:Z:{barcode}\n{bases}\n+\n{quality * 80}\n"
    paths = [[folder / f"lane{lane}_{which}.fq" for lane in range(2)] for which in range(2)]
    for lane in range(2):
        for which in range(2):
            paths[which][lane].write_text(texts[lane][which])
    return paths


@pytest.fixture(scope="module")
def pairs(lanes):
    return ["-1", *lanes[0], "-2", *lanes[1], "-C"]


def marked_in(path, reference=None):
    with pysam.AlignmentFile(str(path), check_sq=False, reference_filename=reference) as file:
        return sorted((r.query_name, r.flag & 0x9C4, r.reference_start) for r in file if r.is_duplicate)


def samtools(source, target, *options):
    """The records of a file in the order of the reads, sorted, and their duplicates marked by samtools."""
    steps = [
        ("fixmate", "-m", source, f"{target}.fixed"),
        ("sort", "-o", f"{target}.sorted", f"{target}.fixed"),
    ]
    for command, *arguments in [*steps, ("markdup", "-S", *options, f"{target}.sorted", target)]:
        getattr(pysam, command)(*map(str, arguments))


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (["--markdup-within", "file"], []),
        (["--markdup-within", "read-group"], ["--use-read-groups"]),
        ([], ["--use-read-groups"]),
        (["--barcode-tag", "RX"], ["--use-read-groups", "--barcode-tag", "RX"]),
    ],
    ids=["file", "read group", "library", "barcodes"],
)
def test_marks_are_those_of_samtools(small_index, pairs, tmp_path, ours, theirs):
    groups = ["-R", GROUPS[0], "-R", GROUPS[1]]
    assert run(small_index, *pairs, *groups, "--sort", "-o", tmp_path / "plain.bam") == 0
    assert run(small_index, *pairs, *groups, "--sort", "--markdup", *ours, "-o", tmp_path / "marked.bam") == 0
    assert run(small_index, *pairs, *groups, "-o", tmp_path / "unsorted.bam") == 0
    samtools(tmp_path / "unsorted.bam", tmp_path / "expected.bam", *theirs)
    found = marked_in(tmp_path / "marked.bam")
    assert found == marked_in(tmp_path / "expected.bam")
    assert len(found) > 100
    bare = [line.split("\t") for line in lines_of(tmp_path / "marked.bam")]
    for fields in bare:
        fields[1] = str(int(fields[1]) & ~0x400)
    assert ["\t".join(fields) for fields in bare] == lines_of(tmp_path / "plain.bam")
    pysam.index(str(tmp_path / "marked.bam"), str(tmp_path / "other.bai"))
    indexes = ((tmp_path / "marked.bam.bai"), (tmp_path / "other.bai"))
    counts = [
        pysam.AlignmentFile(tmp_path / "marked.bam", index_filename=str(path)).mapped for path in indexes
    ]
    assert counts[0] == counts[1] > 500


def test_every_way_through_marks_the_same(small_index, small_fasta, pairs, tmp_path):
    """SAM and CRAM, worker processes, small batches, little memory, and reads from an alignment file."""
    options = ["-R", GROUPS[0], "--sort", "--markdup", "--duplicate-type"]
    assert run(small_index, *pairs, *options, "-o", tmp_path / "one.bam") == 0
    expected = lines_of(tmp_path / "one.bam")
    small = ["--sort-memory", "1", "--batch-size", "50"]
    assert run(small_index, *pairs, *options, *small, "-o", tmp_path / "small.bam") == 0
    assert run(small_index, *pairs, *options, "-t", 2, "-o", tmp_path / "two.bam") == 0
    assert run(small_index, *pairs, *options, "-o", tmp_path / "one.sam") == 0
    assert run(small_index, *pairs, *options, "-o", tmp_path / "one.cram") == 0
    for name in ("small.bam", "two.bam", "one.sam"):
        assert lines_of(tmp_path / name) == expected, name
    assert marked_in(tmp_path / "one.cram", str(small_fasta)) == marked_in(tmp_path / "one.bam")
    with pysam.AlignmentFile(tmp_path / "one.cram", reference_filename=str(small_fasta)) as file:
        assert sum(r.has_tag("dt") for r in file.fetch("one")) > 10
    assert run(small_index, *pairs, "-R", GROUPS[0], "-o", tmp_path / "again.bam") == 0
    assert run(small_index, tmp_path / "again.bam", *options[2:], "-o", tmp_path / "mapped.bam") == 0
    assert marked_in(tmp_path / "mapped.bam") == marked_in(tmp_path / "one.bam")


def metrics_of(path):
    """The rows of a file of metrics, by library."""
    lines = path.read_text().split("## METRICS CLASS\tpicard.sam.DuplicationMetrics\n")[1].split("\n\n")[0]
    names, *rows = (line.split("\t") for line in lines.splitlines())
    assert tuple(names) == COLUMNS
    return {row[0]: row for row in rows}


def test_sheet_metrics_and_statistics(small_index, lanes, tmp_path):
    """Each sample has metrics of its own; what is said of all is their sum."""
    rows = ["sample,lane,R1,R2,output,metrics"]
    for lane, name in enumerate("ab"):
        files = lanes[0][lane], lanes[1][lane]
        rows.append(
            ",".join(map(str, (name, lane, *files, tmp_path / f"{name}.bam", tmp_path / f"{name}.txt")))
        )
    sheet = tmp_path / "sheet.csv"
    sheet.write_text("\n".join(rows) + "\n")
    options = ["--sort", "--markdup", "--stats", tmp_path / "stats.json"]
    assert run(small_index, "--sheet", sheet, *options) == 0
    marked = 0
    for name in "ab":
        (row,) = metrics_of(tmp_path / f"{name}.txt").values()
        numbers = dict(zip(COLUMNS, row, strict=True))
        with pysam.AlignmentFile(tmp_path / f"{name}.bam") as file:
            reads = [r for r in file if not r.is_unmapped and not r.is_secondary and not r.is_supplementary]
            assert "\tDS:duplicates marked within each library" in str(file.header)
        of_pairs = [r for r in reads if not r.mate_is_unmapped]
        assert numbers["LIBRARY"] == name
        assert int(numbers["READ_PAIRS_EXAMINED"]) == len(of_pairs) / 2
        assert int(numbers["UNPAIRED_READS_EXAMINED"]) == len(reads) - len(of_pairs)
        assert int(numbers["READ_PAIR_DUPLICATES"]) == sum(r.is_duplicate for r in of_pairs) / 2
        found = sum(r.is_duplicate for r in reads)
        assert float(numbers["PERCENT_DUPLICATION"]) == pytest.approx(found / len(reads), abs=1e-6)
        marked += found
    assert json.loads((tmp_path / "stats.json").read_text())["duplicates"] == marked > 50
    sheet.write_text("\n".join([rows[0], rows[1], rows[2].replace("b.bam", "a.bam").replace("\nb,", "\na,")]))
    assert run(small_index, "--sheet", sheet, *options) == 1


@pytest.mark.external("PicardCommandLine")
def test_metrics_are_those_of_picard(small_index, pairs, tmp_path):
    """Two libraries; all that Picard writes but its own command line. It flags the same reads where none tie."""
    options = [*pairs, "-R", GROUPS[0], "-R", GROUPS[1], "--sort"]
    assert run(small_index, *options, "-o", tmp_path / "plain.bam") == 0
    ours = ["--markdup", "--markdup-metrics", tmp_path / "ours.txt", "-o", tmp_path / "ours.bam"]
    assert run(small_index, *options, *ours) == 0
    files = [
        f"{key}={tmp_path / name}" for key, name in (("I", "plain.bam"), ("O", "o.bam"), ("M", "theirs.txt"))
    ]
    done = subprocess.run(["PicardCommandLine", "MarkDuplicates", *files], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    table = "## METRICS CLASS"
    texts = [
        (tmp_path / name).read_text().split(table)[1].splitlines() for name in ("ours.txt", "theirs.txt")
    ]
    assert sorted(texts[0]) == sorted(texts[1])  # Picard has libraries in an order of its own
    assert "optical_sets" in "".join(texts[0])
    assert len(marked_in(tmp_path / "ours.bam")) > 100


def test_a_sheet_with_metrics_needs_markdup(small_index, lanes, tmp_path, capfd):
    sheet = tmp_path / "sheet.csv"
    sheet.write_text(
        f"sample,lane,R1,R2,output,metrics\na,1,{lanes[0][0]},,{tmp_path}/a.bam,{tmp_path}/m.txt\n"
    )
    assert run(small_index, "--sheet", sheet, "--sort") == 2
    assert "a column metrics needs --markdup" in capfd.readouterr().err
