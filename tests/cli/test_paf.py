"""PAF and the table of coverage agree with the records."""

from __future__ import annotations

import csv
import re

import numpy as np
import pysam
import pytest

from gassst.cli.main import main
from gassst.records import coverage

COMPLEMENT = bytes.maketrans(b"ACGTN", b"TGCAN")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Reads with mismatches, gaps and N, on both strands, some split, some of a repeat; a contig with N."""
    rng = np.random.default_rng(8)
    one, two = (bytes(rng.choice(list(b"ACGT"), n).astype(np.uint8)) for n in (4000, 2000))
    two = two[:500] + b"NNN" + two[503:] + one[:300]
    folder = tmp_path_factory.mktemp("paf")
    (folder / "ref.fa").write_bytes(b">one\n%s\n>two\n%s\n" % (one, two))
    with open(folder / "R1.fq", "w") as first, open(folder / "R2.fq", "w") as second:
        for i in range(200):
            source = (one, two)[i % 2]
            at = int(rng.integers(len(source) - 320))
            template = bytearray(source[at : at + 320])
            for _ in range(i % 6):
                where = int(rng.integers(320))
                template[where] = rng.choice(list(b"ACGTN"))
            if i % 4 == 0:
                del template[60:63]
            if i % 5 == 0:
                template[40:40] = b"AC"
            if i % 7 == 0:
                template[70:130] = one[(i * 11) % 3500 :][:60]
            bases = bytes(template[:300])
            bases = bases.translate(COMPLEMENT)[::-1] if i % 3 == 0 else bases
            for file, read in ((first, bases[:130]), (second, bases[-130:].translate(COMPLEMENT)[::-1])):
                file.write(f"@r{i}\n{read.decode()}\n+\n{'I' * len(read)}\n")
        first.write("@foreign\n" + "ACGGT" * 20 + "\n+\n" + "I" * 100 + "\n")
        second.write("@foreign\n" + "AACGT" * 20 + "\n+\n" + "I" * 100 + "\n")
    assert main(["index", "-q", str(folder / "ref.fa")]) == 0
    return folder


def cs_of(record, contig):
    """By the definition in the manual of minimap2."""
    text, equal, read, at = "", 0, record.query_sequence, record.reference_start
    offset = 0
    for op, length in record.cigartuples:
        if op == 5:
            continue
        if op == 4:
            offset += length
            continue
        if op == 0:
            for i in range(length):
                a, b = contig[at + i], read[offset + i]
                if a == b and a != "N":
                    equal += 1
                    continue
                text += f":{equal}" * (equal > 0) + f"*{a}{b}".lower()
                equal = 0
            at, offset = at + length, offset + length
            continue
        text += f":{equal}" * (equal > 0)
        equal = 0
        if op == 1:
            text += f"+{read[offset : offset + length]}".lower()
            offset += length
        else:
            text += f"-{contig[at : at + length]}".lower()
            at += length
    return text + f":{equal}" * (equal > 0)


@pytest.mark.parametrize("options", [[], ["-k", "3"], ["--mode", "global"], ["-Y", "--eqx"]])
@pytest.mark.parametrize("pairs", [False, True])
def test_lines_agree_with_records(world, tmp_path, options, pairs):
    contigs = {c: pysam.FastaFile(str(world / "ref.fa")).fetch(c) for c in ("one", "two")}
    reads = [str(world / "R1.fq"), str(world / "R2.fq")][: 1 + pairs]
    argv = ["map", "-q", "--device", "none", "--cs", *options, str(world / "ref.gsi"), *reads]
    for name in ("a.sam", "a.paf"):
        assert main([*argv, "-o", str(tmp_path / name)]) == 0
    with pysam.AlignmentFile(str(tmp_path / "a.sam")) as file:
        records = [r for r in file if not r.is_unmapped]
    lines = [line.split("\t") for line in (tmp_path / "a.paf").read_text().splitlines()]
    assert len(lines) == len(records) > 150
    whole = {}
    for r in records:
        if not r.flag & 0x900:
            whole[r.query_name, r.is_read2] = r.get_forward_sequence()
    kinds = set()
    for record, line in zip(records, lines, strict=True):
        forward = whole[record.query_name, record.is_read2]
        runs = record.cigartuples
        first, last = (length if op in (4, 5) else 0 for op, length in (runs[0], runs[-1]))
        if record.is_reverse:
            first, last = last, first
        name = record.query_name + (("/2" if record.is_read2 else "/1") if pairs else "")
        aligned = [(op, n) for op, n in runs if op not in (4, 5)]
        columns = sum(n for _, n in aligned)
        gaps = sum(n for op, n in aligned if op in (1, 2))
        nm = record.get_tag("NM")
        assert line[:12] == [
            name, str(len(forward)), str(first), str(len(forward) - last), "-" if record.is_reverse else "+",
            record.reference_name, str(len(contigs[record.reference_name])), str(record.reference_start),
            str(record.reference_end), str(columns - gaps - (nm - gaps)), str(columns), str(record.mapping_quality),
        ]  # fmt: skip
        tags = dict(re.match(r"(..):.:(.*)", tag).groups() for tag in line[12:])
        assert tags["tp"] == ("S" if record.is_secondary else "P")
        assert tags["NM"] == str(nm) and tags["AS"] == str(record.get_tag("AS"))
        assert tags["cg"] == "".join(f"{n}{'MIDNSHP=X'[op]}" for op, n in aligned)
        assert tags["cs"] == record.get_tag("cs")
        if record.query_sequence and "--eqx" not in options:
            assert tags["cs"] == cs_of(record, contigs[record.reference_name]), record
        kinds.add((record.is_reverse, record.is_supplementary, record.is_secondary))
    assert {is_reverse for is_reverse, _, _ in kinds} == {False, True}
    assert ("global" in options) != any(is_supplementary for _, is_supplementary, _ in kinds)
    assert ("-k" in options) == any(is_secondary for _, _, is_secondary in kinds)


@pytest.fixture(scope="module")
def covered(tmp_path_factory):
    """Three contigs: the second has the first's beginning, too, and the last one has no reads."""
    rng = np.random.default_rng(5)
    one, two, three = (bytes(rng.choice(list(b"ACGT"), n).astype(np.uint8)) for n in (5000, 3000, 800))
    two = one[:1000] + two
    folder = tmp_path_factory.mktemp("coverage")
    (folder / "ref.fa").write_bytes(b">one\n%s\n>two\n%s\n>three\n%s\n" % (one, two, three))
    with open(folder / "R.fq", "w") as file:
        for i in range(150):
            source = (one, two)[i % 2]
            at = int(rng.integers(len(source) - 100))
            read = source[at : at + 100] if i % 9 else one[at % 4000 :][:60] + two[at % 3000 :][:60]
            file.write(f"@r{i}\n{read.decode()}\n+\n{'I' * len(read)}\n")
        file.write(f"@foreign\n{'ACGGT' * 30}\n+\n{'I' * 150}\n")
    assert main(["index", "-q", str(folder / "ref.fa")]) == 0
    return folder


@pytest.mark.parametrize("more", [[], ["-t", "2", "--batch-size", "9"], ["--sort"], ["-k", "3"]])
@pytest.mark.parametrize("most_apart", [coverage.MOST_APART, 3])
def test_table_agrees_with_the_records(covered, tmp_path, monkeypatch, more, most_apart):
    monkeypatch.setattr(coverage, "MOST_APART", most_apart)
    out, table = tmp_path / "out.bam", tmp_path / "table.tsv"
    argv = [str(covered / "ref.gsi"), str(covered / "R.fq"), "-o", str(out), "--coverage", str(table)]
    assert main(["map", "-q", "--device", "none", *argv, *more]) == 0
    with pysam.AlignmentFile(str(out)) as file:
        depth = {
            name: np.zeros(length, int) for name, length in zip(file.references, file.lengths, strict=True)
        }
        unique, shared = dict.fromkeys(depth, 0), dict.fromkeys(depth, 0)
        for record in file:
            if record.is_unmapped or record.is_secondary:
                continue
            depth[record.reference_name][record.reference_start : record.reference_end] += 1
            if not record.is_supplementary:
                counted = unique if record.mapping_quality else shared
                counted[record.reference_name] += 1
    rows = list(csv.DictReader(table.read_text().splitlines(), delimiter="\t"))
    assert [row["contig"] for row in rows] == ["one", "two", "three"]
    rates = {name: (unique[name] + shared[name]) / len(depth[name]) for name in depth}
    for row in rows:
        name = row["contig"]
        assert int(row["length"]) == len(depth[name])
        assert [int(row[key]) for key in ("reads", "unique", "shared")] == [
            unique[name] + shared[name],
            unique[name],
            shared[name],
        ]
        assert int(row["bases"]) == depth[name].sum()
        assert float(row["mean"]) == pytest.approx(depth[name].mean(), rel=1e-5)
        assert int(row["covered"]) == np.count_nonzero(depth[name])
        assert float(row["covered_share"]) == pytest.approx(np.mean(depth[name] > 0), rel=1e-5)
        assert float(row["tpm"]) == pytest.approx(1e6 * rates[name] / sum(rates.values()), rel=1e-5)
    assert shared["one"] + shared["two"] and unique["one"] and not rows[2]["reads"].strip("0")
