"""Mistakes that would map something else than was meant: each is one line that says what to do."""

from __future__ import annotations

import gzip

import pytest
from log_start import behind_start

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
