"""A file that a command reads is never one that it writes, by name or by any link."""

from __future__ import annotations

import os
import shutil

import pytest

from gassst.cli.main import main
from gassst.seeding.build_parts import build_parts


@pytest.fixture
def folder(small_fasta, small_fastq, tmp_path, monkeypatch):
    shutil.copy(small_fasta, tmp_path / "g.fa")
    shutil.copy(small_fastq, tmp_path / "r.fq")
    build_parts(tmp_path / "g.fa", tmp_path / "p.gsi", 2)
    (tmp_path / "s.csv").write_text("sample,lane,R1,R2,output\ns,1,r.fq,,o.bam\n")
    shutil.copy(tmp_path / "g.fa", tmp_path / "w.part1.gsi")
    (tmp_path / "link").symlink_to("p.part1.gsi")
    os.link(tmp_path / "p.part2.gsi", tmp_path / "hard")
    monkeypatch.chdir(tmp_path)
    return tmp_path


REFUSED = {
    "the sheet as statistics": "map p.gsi --sheet s.csv --stats s.csv",
    "the sheet as report": "map p.gsi --sheet s.csv --report s.csv",
    "the reference as output": "map p.gsi r.fq -O sam --reference g.fa -o g.fa",
    "a part as output": "map p.gsi r.fq -O sam -o p.part1.gsi",
    "a part as statistics": "map p.gsi r.fq -o o.bam --stats p.part2.gsi",
    "a part by a symbolic link": "map p.gsi r.fq -O sam -o link",
    "a part by a hard link": "map p.gsi r.fq -O sam -o hard",
    "the reads": "map p.gsi r.fq -O sam -o r.fq",
    "a FASTA named as a part": "index w.part1.gsi -o w.gsi --parts 2",
    "the FASTA": "index g.fa -o g.fa",
    "the index": "map p.gsi r.fq -O sam -o p.gsi",
}


@pytest.mark.parametrize("command", REFUSED.values(), ids=REFUSED.keys())
def test_no_input_is_overwritten(folder, capsys, command):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert main(command.split()) == 2
    assert "named twice among the files to read and to write" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_sheet_is_no_output_of_its_own(folder, capsys):
    text = "sample,lane,R1,R2,output\ns,1,r.fq,,own.sam\n"
    (folder / "own.sam").write_text(text)
    assert main(["map", "p.gsi", "--sheet", "own.sam"]) == 2
    assert "named twice" in capsys.readouterr().err and (folder / "own.sam").read_text() == text
