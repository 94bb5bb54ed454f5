"""A file that a command reads is never one that it writes, and none is written twice, by name or by any link.

All pairs of arguments come from the parser: those of a new command are tried without a new line here.
"""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Callable
from itertools import combinations

import pytest

from gassst.cli.main import main
from gassst.cli.parser import COMMANDS, build_parser, subparser_of
from gassst.index.build_parts import build_parts
from gassst.tools.arguments import file_path, output_path

SHEET = (
    "sample,lane,R1,R2,output\ns,1,sheet.fq,,sheet.bam\n"  # the content of every input: one may be a sheet
)


def arguments(command: str, kind: Callable[[str], str]) -> list[argparse.Action]:
    """The arguments of a command that have this type."""
    return [action for action in subparser_of(build_parser(command), command)._actions if action.type is kind]


def values(action: argparse.Action, path: str) -> list[str]:
    """An argument that names this file, as words of a command line."""
    return [*action.option_strings[-1:], path]


def command_line(command: str, *given: tuple[argparse.Action, str]) -> list[str]:
    """The arguments given, and what else the parser asks for. Positional ones come first, in their order."""
    paths = {action.dest: path for action, path in given}
    places, options = [], []
    for action in subparser_of(build_parser(command), command)._actions:
        if not action.option_strings and (action.dest in paths or action.required):
            places.append(paths.get(action.dest, [*(action.choices or [f"other.{action.dest}"])][0]))
        elif action.required and action.dest not in paths:
            options += values(action, "other" if action.type is output_path else "1")
    for action, path in given:
        options += values(action, path) if action.option_strings else []
    return [command, *places, *options]


WRITERS = [command for command in COMMANDS if arguments(command, output_path)]
PAIRS = [
    (command, read, written)
    for command in WRITERS
    for read in arguments(command, file_path)
    for written in arguments(command, output_path)
]
OUTPUTS = [
    (command, *pair)
    for command in WRITERS
    for pair in [
        *combinations(arguments(command, output_path), 2),
        *((a, a) for a in arguments(command, output_path) if isinstance(a, argparse._AppendAction)),
    ]
]


LINKS = ["name", "other name", "symbolic link", "hard link", "folder"]


def by_every_link(pairs, links):
    """Each pair by a link in turn, and the first one by every link: all commands ask one function."""
    links = sorted(links)
    given = [(*pair, links[i % len(links)]) for i, pair in enumerate(pairs)]
    given += [(*pairs[0], link) for link in links[1:]]
    return [pytest.param(*p, id=f"{p[0]} {p[1].dest} {p[2].dest} {p[3]}") for p in given]


def refused(argv: list[str], capsys) -> bool:
    """Whether a command ends with one line about a file named twice, and as for other usage errors."""
    code, error = main(argv), capsys.readouterr().err
    assert code == 2 and error.count("\n") == 1, (argv, code, error)
    return "named twice among the files to read and to write" in error


@pytest.mark.parametrize("command, read, written, link", by_every_link(PAIRS, LINKS))
def test_no_output_is_an_input(tmp_path, monkeypatch, capsys, command, read, written, link):
    monkeypatch.chdir(tmp_path)
    with open("file", "w") as file:
        file.write(SHEET)
    output = linked("file", link)
    before = os.stat("file").st_ino, os.listdir()
    assert refused(command_line(command, (read, "file"), (written, output)), capsys)
    with open("file") as file:
        assert file.read() == SHEET
    assert (os.stat("file").st_ino, os.listdir()) == before


def linked(path: str, link: str) -> str:
    """Another way to the same file."""
    if link == "symbolic link":
        os.symlink(path, "link")
    if link == "hard link":
        os.link(path, "link")
    if link == "folder":
        os.symlink(".", "link")
    return {"name": path, "other name": f"./{path}", "folder": f"link/{path}"}.get(link, "link")


@pytest.mark.parametrize("command, one, other, link", by_every_link(OUTPUTS, set(LINKS) - {"hard link"}))
def test_no_file_is_written_twice(tmp_path, monkeypatch, capsys, command, one, other, link):
    """One that is not there yet, too."""
    monkeypatch.chdir(tmp_path)
    before = linked("file", link), os.listdir()
    assert refused(command_line(command, (one, "file"), (other, before[0])), capsys)
    assert os.listdir() == before[1]


# --- files that no argument names -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def parts(small_fasta, tmp_path_factory):
    """A folder with an index in parts."""
    folder = tmp_path_factory.mktemp("parts")
    build_parts(small_fasta, folder / "p.gsi", 2)
    return folder


@pytest.fixture
def folder(parts, small_fasta, small_fastq, tmp_path, monkeypatch):
    shutil.copytree(parts, tmp_path, dirs_exist_ok=True)
    shutil.copy(small_fasta, tmp_path / "g.fa")
    shutil.copy(small_fastq, tmp_path / "r.fq")
    (tmp_path / "s.csv").write_text("sample,lane,R1,R2,output\ns,1,r.fq,,o.bam\n")
    shutil.copy(tmp_path / "g.fa", tmp_path / "w.part1.gsi")
    (tmp_path / "link").symlink_to("p.part1.gsi")
    os.link(tmp_path / "p.part2.gsi", tmp_path / "hard")
    (tmp_path / "two.csv").write_text(
        "sample,lane,R1,R2,output,metrics\ns,1,r.fq,m.fq,o.bam,o.txt\nt,1,r.fq,,p.bam,p.txt\n"
    )
    shutil.copy(small_fastq, tmp_path / "m.fq")
    shutil.copy(small_fasta, tmp_path / "p.fa")
    for name in ("g.fa.alt", "matrix", "cluster.json"):
        (tmp_path / name).write_text("x\n")
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
    "the list of ALT contigs": "index g.fa -o g.fa.alt",
    "the ALT contigs of a FASTA that is mapped to": "map g.fa r.fq --stats g.fa.alt",
    "the index beside a FASTA": "map p.fa r.fq --stats p.gsi",
    "a part of the index beside a FASTA": "insert p.fa r.fq m.fq -o p.part1.gsi",
    "a part for CRAM": "gather r.fq --reference p.gsi -o p.part2.gsi",
    "a matrix": "align g.fa p.fa --matrix matrix -o matrix -O tsv",
    "the file of a scheduler": "map p.gsi r.fq --dask cluster.json --stats cluster.json",
    "reads of a sheet": "map p.gsi --sheet two.csv --stats r.fq",
    "mates of a sheet": "map p.gsi --sheet two.csv --report m.fq",
    "an output of a sheet": "map p.gsi --sheet two.csv --stats p.bam",
    "the index of an output of a sheet": "map p.gsi --sheet two.csv --report o.bam.bai",
    "metrics of a sheet": "map p.gsi --sheet two.csv --stats p.txt",
    "the index of an output": "map p.gsi r.fq -o o.bam --stats o.bai",
    "the index of what is gathered": "gather r.fq -o o.bam --sort --markdup --markdup-metrics o.bam.csi",
    "the index": "map p.gsi r.fq -O sam -o p.gsi",
}


@pytest.mark.parametrize("command", REFUSED.values(), ids=REFUSED.keys())
def test_no_input_is_overwritten(folder, capsys, command):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert refused(command.split(), capsys)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_sheet_is_no_output_of_its_own(folder, capsys):
    text = "sample,lane,R1,R2,output\ns,1,r.fq,,own.sam\n"
    (folder / "own.sam").write_text(text)
    assert main(["map", "p.gsi", "--sheet", "own.sam"]) == 2
    assert "named twice" in capsys.readouterr().err and (folder / "own.sam").read_text() == text
