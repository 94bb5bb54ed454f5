"""What users get wrong is one line: other files than meant, and lines and messages that do not end."""

from __future__ import annotations

import gzip
import io
from functools import cache

import pytest
from fold_parameters import random_parameters
from hmm_profiles import write_profile
from log_start import behind_start

from gassst.cli.console import LONGEST_MESSAGE, one_line
from gassst.files import fasta

PROTEIN = "MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQAPILSRVGDGTQDNLSGAEKAVQVKVK"


def fastq(path, records, mate=""):
    text = "".join(f"@{n}{mate}\n{s}\n+\n{q}\n" for n, s, q in records)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.fixture
def pair(small_reads, tmp_path):
    """Two files of mates, the first compressed."""
    return (
        fastq(tmp_path / "a.fq.gz", small_reads[:100], "/1"),
        fastq(tmp_path / "b.fq", [(n, s[::-1], q) for n, s, q in small_reads[:100]], "/2"),
    )


@pytest.fixture
def interleaved(small_reads, tmp_path):
    return fastq(tmp_path / "both.fq", [read for read in small_reads[:100] for _ in "12"])


@pytest.fixture
def mapped(run, small_index, tmp_path):
    """Maps, and gives the warnings: what is said before the summary."""

    def mapped(*argv: object) -> list[str]:
        code, _, error = run("map", small_index, *argv, "--device", "none", "-o", tmp_path / "out.sam")
        assert code == 0, error
        lines = behind_start(error).splitlines()
        return [line.removeprefix("gassst: ") for line in lines if line.startswith("gassst: ")]

    return mapped


def refused(run, *argv: object) -> str:
    code, out, error = run(*argv)
    assert (code, out, error.count("\n")) == (2, "", 1), error
    return error.removeprefix("gassst: ").rstrip()


# --- pairs ----------------------------------------------------------------------------------------------------


def test_two_files_of_mates_are_not_interleaved(run, small_index, pair):
    line = refused(run, "map", small_index, "--interleaved", *pair)
    assert line == (
        f"--interleaved: {pair[0]} and {pair[1]} both begin with read0: map two files of mates without it"
    )
    assert "--interleaved" in refused(run, "insert", small_index, "--interleaved", *pair)


def test_interleaved_reads_without_the_option(mapped, interleaved):
    expected = (
        f"{interleaved}: neighbouring reads have one name, as mates do; --interleaved maps them as pairs"
    )
    assert mapped(interleaved) == [expected]
    assert mapped(interleaved, "--batch-size", "7", "-t", "3") == [expected]
    assert mapped(interleaved, "-t", "4", "--batch-size", "20") == [expected]


# --- the order of arguments -----------------------------------------------------------------------------------

ORDER = "The reference comes first: gassst map REF READS [MATES]"


@pytest.mark.parametrize("subcommand", ["map", "insert"])
def test_reference_behind_the_reads(run, small_index, small_fasta, pair, subcommand):
    expected = f"{small_index} is an index, not reads. {ORDER}"
    assert refused(run, subcommand, pair[0], small_index) == expected
    assert refused(run, subcommand, pair[0], pair[1], small_index) == expected
    assert refused(run, subcommand, small_fasta, "-1", small_index, "-2", pair[1]) == expected


@pytest.mark.parametrize("subcommand", ["map", "insert"])
def test_no_reference(run, pair, subcommand, tmp_path):
    assert refused(run, subcommand, *pair) == f"{pair[0]} contains reads, not a reference. {ORDER}"
    sam = tmp_path / "reads.sam"
    sam.write_text("@HD\tVN:1.6\n")
    assert refused(run, subcommand, sam, pair[0]) == f"{sam} contains reads, not a reference. {ORDER}"


# --- what is no DNA with Phred+33 -----------------------------------------------------------------------------


def test_protein(mapped, tmp_path):
    path = tmp_path / "protein.fa"
    path.write_text("".join(f">p{i}\n{PROTEIN}\n" for i in range(20)))
    assert mapped(path) == [f"{path}: its letters are those of protein, and gassst maps DNA"]


def phred(small_reads, lowest, highest):
    """The same reads with qualities that rise and fall between two characters."""
    span = ord(highest) - ord(lowest) + 1
    return [(n, s, "".join(chr(ord(lowest) + i % span) for i in range(len(s)))) for n, s, _ in small_reads]


@pytest.mark.parametrize("lowest, highest", ["@h", "Bi", ";h"])
def test_phred64(mapped, small_reads, tmp_path, lowest, highest):
    path = fastq(tmp_path / "old.fq", phred(small_reads[:40], lowest, highest))
    (line,) = mapped(path)
    assert line.startswith(f"{path}: its qualities seem to be Phred+64, and are read as Phred+33; ")


@pytest.mark.parametrize("lowest, highest", ["!I", "FF", "#F", "!~", "~~", "?S"])
def test_phred33(mapped, small_reads, tmp_path, lowest, highest):
    """Among them binned qualities, those of Element, and long reads without a doubt."""
    assert mapped(fastq(tmp_path / "new.fq", phred(small_reads[:40], lowest, highest))) == []


@pytest.mark.parametrize("options", [(), ("--interleaved",), ("-t", "3"), ("{good}", "--single")])
@pytest.mark.parametrize(
    "text",
    [b"@a\nACG", b"@a\nACGT\n+\nI", gzip.compress(b"@a\nACGT\n+\nIIII\n")[:-9]],
    ids=["bases", "qualities", "gz"],
)
def test_a_first_record_that_is_cut_is_all_that_is_said(
    run, small_index, small_fastq, tmp_path, options, text
):
    path = tmp_path / "cut.fq"
    path.write_bytes(text)
    options = [option.format(good=small_fastq) for option in options]
    code, _, error = run(
        "map", "-q", "--device", "none", small_index, path, *options, "-o", tmp_path / "out.sam"
    )
    assert code == 1 and "cut short" in error and error.count("\n") == 1


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
