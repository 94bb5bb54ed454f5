"""What a file says without end fills neither the memory nor the terminal."""

from __future__ import annotations

import gzip
import io
from functools import cache

import pytest
from fold_parameters import random_parameters
from hmm_profiles import write_profile

from gassst.cli.console import LONGEST_MESSAGE, one_line
from gassst.files import fasta

BEGINS = {"name": b">", "second name": b">a\nACGT\n>b", "FASTQ": b"@", "text": b""}
COMMANDS = {
    "index": ["index", "FILE", "-o", "o.gsi"],
    "align": ["align", "FILE", "FILE", "-o", "o.tsv"],
    "find": ["align", "FILE", "good.fa", "--find", "1", "-o", "o.tsv"],
    "fold": ["fold", "FILE", "--parameters", "x.par", "-o", "o.tsv"],
    "hmm": ["hmm", "search", "x.hmm", "FILE", "-o", "o.tsv"],
    "simulate": ["simulate", "FILE", "-n", "5", "-l", "50", "-e", "0.1", "-o", "o.fq"],
}


@cache
def packed(begin):
    return gzip.compress(BEGINS[begin] + b"x" * (fasta.LONGEST_LINE + (1 << 24)), 1)


@pytest.mark.parametrize("begin", BEGINS)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_line_without_end(command, begin, run, tmp_path, monkeypatch):
    """What is said of it comes before its end is looked for: the rest of the file is damaged."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.fa").write_text(">r\nACGTACGTACGTACGTACGT\n")
    random_parameters(tmp_path / "x.par", 1)
    write_profile(tmp_path / "x.hmm", "DNA", 5, 1)
    whole = packed(begin)
    (tmp_path / "n.fa.gz").write_bytes(whole[: len(whole) * 9 // 10])
    code, _, error = run(*(word.replace("FILE", "n.fa.gz") for word in COMMANDS[command]))
    assert code == 1
    assert "damaged" not in error
    assert "cut short" not in error
    if "name" in begin:
        assert error.endswith(
            f"n.fa.gz: line {1 + 2 * begin.startswith('second')}: a line of more than 16777216 bytes\n"
        )
    assert len(error) < 1000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["good.fa", "n.fa.gz", "x.hmm", "x.par"]


@pytest.mark.parametrize("block", [1, 2, 3, 7, 1 << 22])
@pytest.mark.parametrize(
    "text",
    [b">a\nAC\nGT\n>b\n\nA\n", b">a\n>b\nAC", b">a", b"\nA>C\n>b x\r\nGT\r\n", b"AC\n>", b""],
)
def test_pieces_of_fasta(text, block, monkeypatch):
    """Joined they are the file; a header is one piece, which begins at the number of its line."""
    monkeypatch.setattr(fasta, "_BLOCK", block)
    pieces = list(fasta.fasta_stretches(io.BytesIO(text), "x"))
    assert b"".join(piece for _, _, piece in pieces) == text
    lines = text.splitlines(keepends=True)
    headers = [(i, line) for i, line in enumerate(lines, 1) if line.startswith(b">")]
    assert [(line, piece) for line, is_header, piece in pieces if is_header] == headers
    at = 0
    for line, _, piece in pieces:
        assert line == text.count(b"\n", 0, at) + 1
        at += len(piece)


# --- messages ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, shown",
    [
        ("gassst: x.fa: no contig", "gassst: x.fa: no contig"),
        ("é 中: fine", "é 中: fine"),
        ("a\x1b[2Jb\x07", "a\\x1b[2Jb\\x07"),
        ("a\tb\rc\nd\x0be\x85f", "a\\tb c d e f"),
        ("a\u202eb\x9bc\udcffd", "a\\u202eb\\x9bc\\udcffd"),
        ("x" * LONGEST_MESSAGE, "x" * LONGEST_MESSAGE),
        ("a" * 10**6 + "b" * 10**6, "a" * (LONGEST_MESSAGE // 2) + " ... " + "b" * (LONGEST_MESSAGE // 2)),
    ],
    ids=range(7),
)
def test_a_message_is_one_line_of_text(text, shown):
    assert one_line(text) == shown


def test_a_name_of_a_file_commands_no_terminal(run, small_index, tmp_path):
    name = tmp_path / "a\x1b[2J\x07\nb.fq"
    for argv in (
        ["map", small_index, name, "-o", tmp_path / "o.sam"],
        ["index", name, "-o", tmp_path / "o.gsi"],
    ):
        code, _, error = run(*argv)
        assert code == 1
        assert "\x1b" not in error
        assert "a\\x1b[2J\\x07 b.fq" in error.splitlines()[-1]
    name.write_text("@r\n" + "ACGT" * 20 + "\n+\n" + "~" * 80 + "\n")
    code, _, error = run("map", small_index, name, "-o", tmp_path / "o.sam")  # warnings and progress, too
    assert code == 0
    assert "\x1b" not in error
