"""The first screen of `gassst map --help`: the options that most runs need. `--help-all` prints all of them."""

from __future__ import annotations

import argparse
from typing import Any

USAGE = "usage: gassst map [options] REF READS.fq [MATES.fq]"
WIDTH = 28  # columns of an option and its value

# By group, each option (or the name of an argument) with one line of at most 50 letters.
OPTIONS = {
    "input": {
        "index": "Index from `gassst index`, or a FASTA.",
        "reads": "FASTQ, FASTA, BAM, CRAM or SAM; two files: pairs.",
        "-1": "First mates, one file per lane; -2: second mates.",
        "--interleaved": "Neighbouring reads of one name are a pair.",
    },
    "output": {
        "-o": "Write SAM, BAM or CRAM, by suffix (default: SAM).",
        "--sort": "Sort by coordinate, and index the file.",
        "--markdup": "Flag duplicates while sorting.",
        "-R": r"Add a read group: '@RG\tID:x\tSM:sample'.",
        "--unmapped": "Also write the unmapped reads to this FASTQ file.",
        "--report": "Write a web page about the run.",
    },
    "search": {
        "--mode": "Local clips bad ends; global aligns whole reads.",
        "-k": "Report up to K alignments per read (default: 1).",
        "--all": "Report every alignment within the error limit.",
        "-p": "Lowest identity of a whole read (default: 80).",
        "--insert": "Insert size of pairs (default: learned).",
        "-s": "0 is fastest, 5 skips no seed (default: 2).",
    },
    "run": {
        "-t": "Number of threads (default: all cores).",
        "-q": "Print nothing except errors and warnings.",
        "--help-all": "Show all options.",
    },
}


class ShowBrief(argparse.Action):
    """Prints the options that most runs need, and exits."""

    def __init__(self, option_strings: Any, dest: str, help: str | None = None):
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, default=argparse.SUPPRESS, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        print(text(parser))
        parser.exit()


def text(parser: argparse.ArgumentParser) -> str:
    """The first screen, for a parser of `gassst map`."""
    known = parser._option_string_actions | {a.dest: a for a in parser._actions if not a.option_strings}
    lines = [USAGE]
    for title, options in OPTIONS.items():
        lines += ["", f"{title}:"]
        lines += [f"  {_invocation(known[name]):<{WIDTH}}{line}" for name, line in options.items()]
    return "\n".join(lines)


def _invocation(action: argparse.Action) -> str:
    value = "|".join(action.choices) if action.choices else str(action.metavar or "")
    return " ".join(filter(None, [", ".join(action.option_strings), value]))
