"""Read groups by lane, from names, and sheets of samples; read back by htslib, and mapped one by one as oracle."""

from __future__ import annotations

import json

import pysam
import pytest

from gassst.cli.main import main

A, B = "@RG\\tID:a\\tSM:s\\tLB:l\\tPL:illumina", "@RG\\tID:b\\tSM:s\\tLB:l\\tPL:ILLUMINA"


def run(index, *arguments):
    return main(["map", str(index), *map(str, arguments), "--device", "none", "-t", "1"])


@pytest.fixture
def lanes(small_reads, tmp_path):
    """Four files of reads with the names of an Illumina machine, two to a lane."""
    paths = []
    for i in range(4):
        reads = small_reads[20 * i : 20 * i + 10]
        text = "".join(
            f"@M1:7:FLOW:{1 + i // 2}:1101:5:{j} {1 + i % 2}:N:0:AC+GT\n{s}\n+\n{q}\n"
            for j, (_, s, q) in enumerate(reads)
        )
        paths.append(tmp_path / f"{i}.fq")
        paths[-1].write_text(text)
    return paths


def opened(path):
    with pysam.AlignmentFile(path, check_sq=False) as file:
        return file.header.to_dict(), list(file)


def lines_without_program(path):
    with pysam.AlignmentFile(path, check_sq=False) as file:
        header = [line for line in str(file.header).splitlines() if not line.startswith("@PG")]
        return header, [record.to_string() for record in file]


@pytest.mark.parametrize("suffix", ["sam", "bam", "cram"])
def test_one_group_for_each_lane(small_index, lanes, tmp_path, suffix, capfd):
    output = tmp_path / f"out.{suffix}"
    form = ["--output-fmt-option", "no_ref=1"] if suffix == "cram" else []
    assert (
        run(
            small_index,
            "--single",
            *lanes,
            *(f"-R{A.replace('ID:a', f'ID:{i}')}" for i in range(4)),
            *form,
            "-o",
            output,
        )
        == 0
    )
    header, records = opened(output)
    assert [group["ID"] for group in header["RG"]] == list("0123")
    assert [record.get_tag("RG") for record in records] == [c for c in "0123" for _ in range(10)]
    assert (
        run(
            small_index, "-1", *lanes[::2], "-2", *lanes[1::2], "-R", A, "-R", B, *form, "-o", output,
            "--sort",
        )
        == 0
    )  # fmt: skip
    lane = {record.get_tag("RG"): set() for record in opened(output)[1]}
    for record in opened(output)[1]:
        lane[record.get_tag("RG")].add(record.query_name.split(":")[3])
    assert lane == {"a": {"1"}, "b": {"2"}}
    assert "read group" not in capfd.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-R", A, "-R", B, "-R", A], "3 read groups for 2 inputs"),
        (["-R", A, "-R", A + "\\tPU:x"], "read group 'a': two different lines with this ID"),
        (["-R", A, "-R", "@RG\\tSM:x"], "has no ID"),
        (["-R", A, "--rg-from-name", "s"], "-R and --rg-from-name"),
        (["--sheet", "x.csv"], "--sheet names the reads"),
    ],
)
def test_groups_that_make_no_sense(small_index, lanes, tmp_path, capfd, options, message):
    code = run(small_index, "-1", *lanes[::2], "-2", *lanes[1::2], *options, "-o", tmp_path / "out.bam")
    error = capfd.readouterr().err
    assert code == 2 and message in error and error.count("\n") == 1
    assert not (tmp_path / "out.bam").exists()


def test_groups_from_the_names_of_the_first_reads(small_index, lanes, tmp_path):
    output = tmp_path / "out.bam"
    assert run(small_index, "--single", *lanes, "--rg-from-name", "patient", "-o", output) == 0
    header, records = opened(output)
    assert header["RG"] == [
        {"ID": f"FLOW.{i}", "SM": "patient", "LB": "patient", "PL": "ILLUMINA", "PU": f"FLOW.{i}.AC-GT"}
        for i in (1, 2)
    ]
    assert [r.get_tag("RG") for r in records] == ["FLOW.1"] * 20 + ["FLOW.2"] * 20


@pytest.mark.parametrize(
    ("line", "doubt"),
    [
        ("@RG\\tID:x\\tLB:l\\tPL:ILLUMINA", "no sample (SM)"),
        ("@RG\\tID:x\\tSM:s\\tPL:ILLUMINA", "no library (LB)"),
        ("@RG\\tID:x\\tSM:s\\tLB:l", "no platform (PL)"),
        ("@RG\\tID:x\\tSM:s\\tLB:l\\tPL:Solexa", "'Solexa' is none that GATK and Picard know"),
        (A, ""),
    ],
)
def test_what_gatk_would_stop_at_is_said(small_index, lanes, tmp_path, capfd, line, doubt):
    assert run(small_index, lanes[0], "-R", line, "-o", tmp_path / "o.sam") == 0
    warned = [text for text in capfd.readouterr().err.splitlines() if "read group" in text]
    assert len(warned) == bool(doubt) and all(doubt in text for text in warned)


def test_a_sheet_is_as_many_runs(small_index, lanes, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    sheet = tmp_path / "samples.csv"
    sheet.write_text(
        "lane,sample,R1,R2,output,library\n# a comment\nL1,one,0.fq,1.fq,one.bam,lib\n\nL1,two,0.fq,,two.sam,\n"
        "L2,one,2.fq,3.fq,one.bam,lib\n"
    )
    words = [
        "--sheet",
        "samples.csv",
        "--stats",
        "all.json",
        "--report",
        "all.html",
        "-t",
        "3",
        "--batch-size",
        "4",
    ]
    assert main(["map", str(small_index), *words, "--device", "none"]) == 0
    assert "reads                     50" in capfd.readouterr().err
    groups = [f"-R@RG\\tID:one.{lane}\\tSM:one\\tLB:lib\\tPL:ILLUMINA" for lane in ("L1", "L2")]
    assert run(small_index, "-1", "0.fq", "2.fq", "-2", "1.fq", "3.fq", *groups, "-o", "1.bam") == 0
    assert run(small_index, "0.fq", "-R@RG\\tID:two.L1\\tSM:two\\tLB:two\\tPL:ILLUMINA", "-o", "2.sam") == 0
    assert lines_without_program("one.bam") == lines_without_program("1.bam")
    assert lines_without_program("two.sam") == lines_without_program("2.sam")
    samples = json.loads((tmp_path / "all.json").read_text())["run"]["samples"]
    assert {name: counts["reads"] for name, counts in samples.items()} == {"one.bam": 40, "two.sam": 10}
    assert "two.sam" in (tmp_path / "all.html").read_text()


@pytest.mark.parametrize(
    "text",
    [
        "sample,fastq_1,fastq_2,strandedness\none,0.fq,1.fq,auto\none,2.fq,3.fq,auto\n",
        "R2\tsample\tR1\n1.fq\tone\t0.fq\n3.fq\tone\t2.fq\n",
        "sample,R1,R2,lane,output\none,0.fq,1.fq,1,one.sam\none,2.fq,3.fq,2,one.sam\n",
    ],
)
def test_sheets_of_nf_core_with_tabs_and_without_lanes(small_index, lanes, tmp_path, monkeypatch, text):
    """Each is the run that names the files itself."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "samples.csv").write_text(text)
    assert run(small_index, "--sheet", "samples.csv", "-O", "sam") == 0
    groups = [f"-R@RG\\tID:one.{lane}\\tSM:one\\tLB:one\\tPL:ILLUMINA" for lane in "12"]
    assert run(small_index, "-1", "0.fq", "2.fq", "-2", "1.fq", "3.fq", *groups, "-o", "1.sam") == 0
    assert lines_without_program("one.sam") == lines_without_program("1.sam")


COLUMNS = "sample,lane,R1,R2,output\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "names no samples"),
        ("sample,lane,R2,output\n", "line 1: no column R1"),
        ("sample,R1\n../a,0.fq\n", "line 2: '../a' is not a file name: add a column output"),
        ("sample,lane,R1,R2,output,colour\n", "line 1: column 'colour' is unknown"),
        (COLUMNS + "a,L1,0.fq\n", "line 2: 3 cells, but 5 columns"),
        (COLUMNS + "a,L1,,1.fq,a.bam\n", "line 2: R1 is empty"),
        (COLUMNS + "a,L1,0\0.fq,,a.bam\n", "NUL"),
        (COLUMNS + "a,L1,0.fq,,a\0.bam\n", "NUL"),
        (
            "sample,lane,R1,R2,output\na,L1,0.fq,,a.bam\nb,L1,1.fq,,a.bam\n",
            "line 3: a.bam: is the output of two samples",
        ),
        (
            "sample,lane,R1,R2,output\na,L1,0.fq,,a.bam\na,L2,1.fq,2.fq,a.bam\n",
            "line 3: a.bam: has lanes of single",
        ),
        (
            "sample,lane,R1,R2,output\na,L1,0.fq,,a.bam\na,L1,1.fq,,a.bam\n",
            "line 3: a.bam: two rows name the same lane",
        ),
        (COLUMNS + "a,L1,none.fq,,a.bam\n", "none.fq: No such file"),
        (COLUMNS + "a,L1,0.fq,,0.fq\n", "0.fq"),
    ],
)
def test_a_sheet_with_a_fault_is_one_line(small_index, lanes, tmp_path, monkeypatch, capfd, text, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.csv").write_text(text)
    assert run(small_index, "--sheet", "s.csv") in (1, 2)
    error = capfd.readouterr().err
    assert message in error and error.count("\n") == 1
    assert not (tmp_path / "a.bam").exists()
