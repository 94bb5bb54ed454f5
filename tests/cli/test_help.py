"""Help in one style, usage errors of one line with hints for users of other mappers, shell completion."""

from __future__ import annotations

import argparse
import re

import pytest

from gassst.cli import habits
from gassst.cli.parser import COMMANDS, build_parser, subparser_of
from gassst.tools.arguments import PATHS


def options_of(command: str) -> list[argparse.Action]:
    return subparser_of(build_parser(*COMMANDS), command)._actions


# By what they are called in a message: "map --sort", "index reference".
EVERY = {
    f"{command} {(action.option_strings or [action.dest])[0]}": (command, action)
    for command in COMMANDS
    for action in options_of(command)
}

# --- help ---------------------------------------------------------------------------------------------------


def is_described(text: str | None) -> bool:
    """In whole sentences; defaults stand in parentheses."""
    if not text or "[" in text.replace("FASTQ[.gz]", ""):
        return False
    return (text[0].isupper() or text[0] == "-") and text.endswith((".", ")."))


def test_every_argument_is_described_in_whole_sentences():
    assert len(EVERY) > 200
    assert [name for name, (_, action) in EVERY.items() if not is_described(action.help)] == []


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_of_map_is_one_screen(run, option):
    code, out, error = run("map", option)
    lines = out.splitlines()
    assert (code, error) == (0, "")
    assert len(lines) <= 30
    assert max(map(len, lines)) <= 80
    assert "--help-all" in out


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("columns", [40, 80, 300])
def test_help_fits_the_terminal(run, monkeypatch, command, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    code, out, _ = run(command, "-h")
    assert code == 0
    if columns >= 80:
        assert max(map(len, out.splitlines())) <= 100


# --- usage errors -------------------------------------------------------------------------------------------

ANOTHER_WAY = [
    ("-p REF READS", "interleaved pairs (-p of bwa) by --interleaved"),
    ("-p 8 REF READS", "Threads (-p of bowtie2) are set by -t"),
    ("-O 6 REF READS", "The gap open penalty (-O of bwa and minimap2) is set by --gap-open"),
    ("-w 100 REF READS", "The band (-w of bwa) is set by -g"),
    ("-k 0 REF READS", "The seed length (-k of bwa and minimap2) is set by -w"),
    ("-s 9 REF READS", "sensitivity, from 0 to 5"), ("-a REF READS", "--all reports every alignment"),
    ("-ax sr REF READS", "Neither SAM output nor a preset needs an option"),
    ("-x REF -U READS", "The index is the first argument (-x of bowtie2)"),
    ("-x sr REF READS", "No preset is needed (-x of minimap2)"),
    ("REF -U READS", "Single reads are named after the index"), ("REF READS -S out.sam", "is named by -o"),
    ("REF READS -I 350,50", "--insert MEAN,SD"), ("REF READS -X 500", "--insert MEAN,SD"),
    ("REF READS -@8", "-t sets the number of threads"), ("REF READS --secondary=no", "-k sets how many"),
    ("REF READS --very-sensitive-local", "-s sets the sensitivity"), ("REF READS --local", "--mode local"),
    ("REF READS --rg-id x", "-R '@RG"), ("REF READS --no-unal", "--no-unmapped"),
    ("REF READS --use-read-groups", "--markdup-within read-group"),
    ("REF READS --seed 12", "The seed length is set by -w"),
    ("REF READS --no-mixed", "Proper pairs have flag 0x2"),
    ("REF READS --no-discordant", "Proper pairs have flag 0x2"),
    ("REF READS --phred64", "Qualities are Phred+33"),
    ("REF READS --dovetail", "Mates that extend past each other are proper pairs"),
    ("REF READS --sam", "SAM is written by default"),
    ("REF READS --norc", "--strand + searches the forward strand"),
    ("REF READS -m 1", "--unique omits reads with several positions"),
    ("REF READS --nofw", "--strand - searches the reverse strand"),
    ("REF READS --un x.fq", "--unmapped FILE.fq.gz"), ("REF READS -u 10", "--upto"),
    ("REF READS -3 5", "--trim3"), ("REF READS --aemb", "--coverage FILE.tsv"),
    ("REF READS --score-min L,0,-0.6", "-T sets the least score"), ("REF READS --mp 6", "-B sets"),
    ("REF READS --rdg 5,3", "--gap-open"), ("REF READS --theads 2", "Did you mean --threads?"),
    ("REF READS --no-hd", "unknown option --no-hd. See"), ("REF READS -L 5,6", "two equal numbers"),
    ("REF READS -v 3", "-v takes no number"), ("-v 3 REF READS", "-v takes no number"),
    ("REF READS -v3", "-v takes no number"),
]  # fmt: skip


@pytest.mark.parametrize("line, hint", ANOTHER_WAY, ids=[line for line, _ in ANOTHER_WAY])
def test_options_given_as_to_other_mappers(run, small_index, small_fastq, line, hint):
    paths = {"REF": str(small_index), "READS": str(small_fastq)}
    code, out, error = run("map", *[paths.get(word, word) for word in line.split()])
    assert (code, out) == (2, "")
    assert error.startswith("gassst: ") and error.count("\n") == 1
    assert hint in error


def test_hints_name_options_that_exist():
    known = set(subparser_of(build_parser("map"), "map")._option_string_actions)
    ours = [
        re.sub(r"\([^)]*\)", "", hint) for hint in habits.HINTS.values()
    ]  # of other mappers: in parentheses
    assert len(ours) > 40
    assert {word.rstrip(".,:") for hint in ours for word in hint.split() if re.match("-.", word)} <= known


@pytest.mark.parametrize(
    "line, message",
    [
        ("-q map a b", "unknown option -q. See `gassst --help`."),
        ("help", "unknown command help. Did you mean `gassst --help`?"),
        ("aln a b", "unknown command aln. Did you mean `gassst map`? See `gassst --help`."),
        ("sort a", "unknown command sort. Did you mean `gassst map --sort`? See `gassst --help`."),
        (
            "index a b",
            "unexpected argument b. The index is named by -o REF.gsi, not behind the FASTA (bowtie2-build). See "
            "`gassst index --help`.",
        ),
        ("xyzzy", "unknown command xyzzy. See `gassst --help`."),
        ("--verison", "unknown option --verison. Did you mean --version? See `gassst --help`."),
        ("devices a.gsi more", "unexpected argument more. See `gassst devices --help`."),
        ("map --sort", "the following arguments are required: REF. See `gassst map --help`."),
        ("map a b --level 12", "argument --level: '12' is not a level from 0 to 9. See `gassst map --help`."),
        ("simulate a -x", "required: -n/--number, -l/--length, -o/--output. See `gassst simulate --help`."),
    ],
)
def test_usage_error_is_one_line(run, line, message):
    code, out, error = run(*line.split())
    assert (code, out) == (2, "")
    assert error.startswith("gassst: ") and error.endswith(f"{message}\n") and error.count("\n") == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_no_option_can_be_abbreviated(run, command):
    """An abbreviation may be the name of another option elsewhere, or of a later one here."""
    assert run(command, "--help")[0] == 0
    code, out, error = run(command, "--hel")
    assert (code, out, error.count("\n")) == (2, "", 1)


# --- completion ---------------------------------------------------------------------------------------------


def test_files_and_only_files_complete_as_files():
    suffixes = (
        ".fa", ".fq", ".bam", ".txt", ".fa[.gz]", ".fq[.gz]", ".gz", ".gsi", ".json", ".html", ".png", ".vcf",
        ".csv", ".bedGraph", ".tsv", ".par", ".hmm",
    )  # fmt: skip
    wrong = []
    for name, (_, action) in EVERY.items():
        metavar = str(action.metavar)
        is_file = metavar.endswith(suffixes) or metavar in {"OUT", "REF", "FASTQ", "FILE", "SAM"}
        if (action.type in PATHS) != is_file:
            wrong.append(name)
    assert wrong == []
