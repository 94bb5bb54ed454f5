"""Tags of records from the headers of FASTQ: comments, Casava barcodes, UMIs. The oracles are samtools and bwa."""

from __future__ import annotations

import math

import pysam
import pytest
from map_runs import run

from gassst._core.records import OWN_TAGS
from gassst.cli.main import main

OWN = {"NM", "MD", "AS", "XS", "X0", "X1", "NH", "HI", "MC", "MQ", "SA", "XA", "dt"}
TAGS = [
    "BC:Z:ACGT-TTGC\tRX:Z:AC-GT",
    "",
    "XY:i:-5\tXZ:i:255\tXW:i:-129\tXV:i:65536\tXU:i:4294967295\tXT:i:+7",
    "XB:B:s,1,-2\tXC:B:C,255\tXD:B:I,4294967295,0\tXE:B:f,1.5,-2e3\tXK:B:c\tXL:B:i,-2147483648\tXM:B:S,65535",
    "XF:f:1.5e3\tXG:f:-.25\tXH:f:3",
    "XQ:A:c\tHH:H:1AFF\tHI:i:3\tZZ:Z:\tZY:Z:two words, \xff"[:-1],
    "NM:i:3\tRG:Z:lane 1\tMC:Z:5M",
]
WRONG = [
    *(
        "XY:i:5x", "XY:i:4294967296", "X:Z:a", "1X:Z:a", "XYZ:a", "XA:A:ab", "XF:f:.", "XF:f:1e", "XH:H:1",
        "XH:H:0g",
    ),
    *(
        "XB:B:", "XB:B:x,1", "XB:B:c,128", "XB:B:C,-1", "XB:B:s1", "XB:B:i,", "XZ:Z:\x01", "XZ:Z:é",
        "plain words",
    ),
]  # fmt: skip


def fastq(path, reads, comments):
    path.write_text("".join(f"@{n}{c}\n{s}\n+\n{q}\n" for (n, s, q), c in zip(reads, comments, strict=False)))
    return path


def records_of(path):
    with pysam.AlignmentFile(path, check_sq=False) as file:
        return list(file)


def given_tags(record):
    return {(name, kind, str(value)) for name, value, kind in record.get_tags(True) if name not in OWN}


def tags_of_samtools(path, folder, *options):
    """By read name, as `samtools import` takes them from FASTQ."""
    output = folder / "imported.bam"
    pysam.samtools.fqimport(*options, "-0", str(path), "-o", str(output), catch_stdout=False)
    return {record.query_name: given_tags(record) for record in records_of(output)}


@pytest.mark.parametrize("suffix", ["sam", "bam", "cram"])
def test_comments_are_those_that_samtools_reads(small_index, small_reads, tmp_path, suffix):
    path = fastq(tmp_path / "in.fq", small_reads[:21], ["\t" + tags for tags in 3 * TAGS])
    expected = tags_of_samtools(path, tmp_path, "-T", "*")
    assert sum(map(len, expected.values())) == 3 * 23
    output = tmp_path / f"out.{suffix}"
    form = ["--output-fmt-option", "no_ref=1"] if suffix == "cram" else []
    assert run(small_index, path, "-C", "-o", output, "--batch-size", "4", *form) == 0
    found = records_of(output)
    assert {record.query_name: given_tags(record) for record in found} == expected
    assert any(record.is_unmapped for record in found)
    for record in found:
        names = [name for name, _ in record.get_tags()]
        assert len(set(names)) == len(names)


def test_pairs_and_unmapped_reads_keep_their_tags(small_index, small_genome, tmp_path):
    sequence = small_genome["one"][8000:8400].decode()
    mates = [sequence[:100], sequence[300:][::-1].translate(str.maketrans("ACGT", "TGCA"))]
    for i, bases in enumerate(mates):
        reads = [("p", bases, "I" * 100), ("u", "ACGT" * 25, "I" * 100)]
        fastq(tmp_path / f"{i}.fq", reads, [f" {i + 1}:N:0:ACGT XM:i:{i}"] * 2)
    files = [tmp_path / "0.fq", tmp_path / "1.fq"]
    assert run(small_index, *files, "-C", "-o", tmp_path / "o.bam", "--unmapped", tmp_path / "u.fq") == 0
    assert [(r.query_name, r.get_tag("XM")) for r in records_of(tmp_path / "o.bam")] == [
        (name, i) for name in "pu" for i in (0, 1)
    ]
    assert [line for line in (tmp_path / "u.fq").read_text().splitlines() if line[0] == "@"] == [
        "@u/1\tXM:i:0",
        "@u/2\tXM:i:1",
    ]


OWN_BY_OPTIONS = {
    ("-R", "@RG\\tID:own", "--tags", "X0,X1,NH,HI,mt", "-k", "5", "--baq"): (
        "NM MD AS XS X0 X1 NH HI mt BQ SA MC MQ RG"
    ),
    ("-k", "5", "--xa"): "XA SA",
    ("--cs",): "cs",
    ("--sort", "--markdup", "--duplicate-type"): "dt",
    ("--meth",): "YC YD",
    ("--meth", "--meth-tags", "bismark"): "XM XR XG",
}


@pytest.fixture(scope="module")
def tagged(small_fasta, small_genome, small_reads, tmp_path_factory):
    """Indexes; and FASTQ and BAM of pairs, copies of them, and split reads, all with every tag of gassst as `given`."""
    folder = tmp_path_factory.mktemp("tagged")
    indexes = [folder / name for name in ("plain.gsi", "meth.gsi")]
    assert main(["index", str(small_fasta), "-o", str(indexes[0]), "-q"]) == 0
    assert main(["index", str(small_fasta), "-o", str(indexes[1]), "-q", "--meth"]) == 0
    one, two = (small_genome[name].decode() for name in ("one", "two"))
    pairs = [
        (f"{n}.{copy}", s[part], q[part])
        for n, s, q in small_reads[:60]
        for copy in "ab"
        for part in (slice(60), slice(-60, None))
    ]
    split = [
        (f"split{i}", one[at : at + 70] + two[at : at + 70], "I" * 140)
        for i, at in enumerate(range(7000, 9000, 500))
    ]
    given = "".join(f"\t{name}:Z:given" for name, _, _ in OWN_TAGS)
    text = fastq(folder / "in.fq", [*pairs, *split], [given] * 500)
    rows = [
        f"{n}\t{4 if i >= len(pairs) else 141 if i % 2 else 77}\t*\t0\t0\t*\t*\t0\t0\t{s}\t{q}{given}\n"
        for i, (n, s, q) in enumerate([*pairs, *split])
    ]
    (folder / "in.sam").write_text("@HD\tVN:1.6\n" + "".join(rows))
    return indexes, {"fq": text, "sam": folder / "in.sam"}


@pytest.mark.parametrize("kind", ["fq", "sam"])
@pytest.mark.parametrize("options, written", OWN_BY_OPTIONS.items(), ids=OWN_BY_OPTIONS.values())
def test_no_tag_of_gassst_stands_twice(tagged, tmp_path, kind, options, written):
    indexes, inputs = tagged
    out = tmp_path / "out.sam"
    argv = [inputs[kind], "--interleaved", "-C", *options, "-o", out]
    assert run(indexes["--meth" in options], *argv) == 0
    seen = {}
    for line in out.read_text().splitlines():
        if line[0] != "@":
            tags = [field.split(":", 2) for field in line.split("\t")[11:]]
            names = [name for name, _, _ in tags]
            assert len(set(names)) == len(names), line
            for name, _, value in tags:
                seen.setdefault(name, set()).add(value == "given")
    assert {name for name, given in seen.items() if given == {False}} >= set(written.split())
    kept = {name for name, given in seen.items() if True in given}
    of_other_runs = {"RG"} if "--meth" in options else {"RG", "YC", "YD", "XM", "XR", "XG"}
    assert kept == of_other_runs - set(written.split())


def quality_beside(weight):
    """MAPQ beside other places of this weight, as docs/mapq.md says."""
    others = 1e-6 if weight <= 1e-5 else weight + 1e-5
    return 0 if others > 0.8 else math.floor(-10 * math.log10(others / (1 + others)))


@pytest.mark.parametrize("options", [(), ("--interleaved",), ("--interleaved", "--mode", "global")])
def test_the_terms_of_mapq_make_it(tagged, tmp_path, options):
    indexes, inputs = tagged
    assert run(indexes[0], inputs["fq"], *options, "-k", "2", "--tags", "mt", "-o", tmp_path / "out.sam") == 0
    capped = set()
    for record in records_of(tmp_path / "out.sam"):
        assert record.has_tag("mt") == (not record.is_unmapped and not record.is_secondary)
        if record.has_tag("mt"):
            *weights, cap = (*record.get_tag("mt").split(","), "60-")[:4]
            weight, rounded = sum(map(int, weights)) * 1e-6, 1.5e-6
            most = int(cap[:-1])
            low, high = (min(most, quality_beside(weight + by)) for by in (rounded, -rounded))
            assert low <= record.mapping_quality <= high, record
            capped.add(cap[-1])
    assert capped <= set("-wr")


def test_the_table_has_every_tag_that_is_written():
    assert {name for name, _, _ in OWN_TAGS} == {"CG", *" ".join(OWN_BY_OPTIONS.values()).split()}


@pytest.mark.parametrize("suffix", ["sam", "bam"])
def test_casava_barcodes_are_those_of_samtools(small_index, small_reads, tmp_path, suffix):
    """The specification has a hyphen between two barcodes, where samtools 1.16 keeps the plus of Casava."""
    comments = [" 1:N:0:ACGTAC", " 1:Y:18:ACGT+TTGA", " 1:N:0:", " 1:N:0:5", "", " other", " 1:N:0:NN XY:i:5"]
    path = fastq(tmp_path / "in.fq", small_reads[: len(comments)], comments)
    expected = tags_of_samtools(path, tmp_path, "-i")
    assert run(small_index, path, "--casava-barcode", "-o", tmp_path / f"out.{suffix}") == 0
    found = {r.query_name: given_tags(r) for r in records_of(tmp_path / f"out.{suffix}")}
    letters = {
        name: {(tag, kind, value.replace("+", "-")) for tag, kind, value in tags if not value.isdigit()}
        for name, tags in expected.items()
    }
    assert found == letters
    assert run(small_index, path, "--casava-barcode", "-C", "--lenient", "-o", tmp_path / "both.sam") == 0
    both = {r.query_name: given_tags(r) for r in records_of(tmp_path / "both.sam")}
    assert both["read6"] == {("BC", "Z", "NN"), ("XY", "i", "5")} or both["read6"] == {
        ("BC", "Z", "NN"),
        ("XY", "C", "5"),
    }


def test_umis_of_names(small_index, small_reads, tmp_path):
    names = {"a:1:ACGT": "ACGT", "a:1:ACG+TTA": "ACG-TTA", "b:ACGTN/1": "ACGTN", "c:AC-GT": "AC-GT"}
    reads = [(name, *small_reads[0][1:]) for name in names]
    path = fastq(tmp_path / "in.fq", reads, [""] * len(reads))
    assert run(small_index, path, "--umi-from-name", ":", "-o", tmp_path / "out.bam") == 0
    found = [(r.query_name, r.get_tag("RX")) for r in records_of(tmp_path / "out.bam")]
    assert found == [(name.removesuffix("/1"), umi) for name, umi in names.items()]


@pytest.mark.parametrize("name", ["none", "a:", "a:AC1", "a:+AC", "a:AC+"])
def test_a_name_without_umi_is_one_line_or_counted(small_index, small_reads, tmp_path, capfd, name):
    path = fastq(tmp_path / "in.fq", [("a:AC", *small_reads[0][1:]), (name, *small_reads[1][1:])], ["", ""])
    assert run(small_index, path, "--umi-from-name", ":", "-o", tmp_path / "out.sam") == 1
    assert capfd.readouterr().err.startswith(
        f"gassst: {path}: record 2 ({name}): its name does not end in ':' and"
    )
    command = [
        "map", str(small_index), str(path), "--umi-from-name", ":", "--lenient", "-o",
        str(tmp_path / "out.sam"),
    ]  # fmt: skip
    assert main([*command, "--device", "none"]) == 0
    assert "1 fields of comments and names are no SAM tags: left out" in capfd.readouterr().err
    assert [r.has_tag("RX") for r in records_of(tmp_path / "out.sam")] == [True, False]


@pytest.mark.parametrize("field", [*WRONG, "XY:i:1"])
def test_what_is_no_tag_is_one_line_or_left_out(small_index, small_reads, tmp_path, capfd, field):
    """The last is a tag, but the second of its name."""
    comments = ["\tXY:i:2", f"\tXY:i:2\t{field}\tXZ:Z:z"]
    path = fastq(tmp_path / "in.fq", small_reads[:2], comments)
    assert run(small_index, path, "-C", "-o", tmp_path / "out.bam") == 1
    error = capfd.readouterr().err
    assert error.startswith(f"gassst: {path}: record 2 (read1): ") and error.count("\n") == 1
    assert "is no SAM tag" in error
    assert run(small_index, path, "-C", "--lenient", "-o", tmp_path / "out.bam") == 0
    assert [tag for tag in records_of(tmp_path / "out.bam")[1].get_tags() if tag[0] in ("XY", "XZ")] == [
        ("XY", 2),
        ("XZ", "z"),
    ]
