"""Options of a command and values for them, drawn at random from its parser and from the table of options.

A new option is drawn at once. One with a new form of values needs a line of `VALUES`; until then `values_of` fails.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache

from gassst.cli.options import OPTION_KINDS
from gassst.cli.parser import build_parser, subparser_of
from gassst.model.options import Option, options_of
from gassst.model.params import MapParams
from gassst.records.cram import OPTIONS, PROFILES
from gassst.records.options import DuplicateRules
from gassst.search.filters import FILTERS
from gassst.tools.arguments import output_path

TABLE: dict[str, Option] = {field.name: option for kind in OPTION_KINDS for field, option in options_of(kind)}
ADAPTER = "TGGAATTCTCGGGTGCCAAGG"
CRAM_OPTIONS = [
    f"{name}={value}" for name, form in OPTIONS.items() for value in form.split("|") if "[" not in value
]
VALUES: dict[str, Sequence[str]] = {
    "F1,F2,..": ["auto", "none", *FILTERS, ",".join(FILTERS), "fd,band32"],
    "T1,T2,..": ["NH", "HI", "X0", "X1", "NH,HI,X0,X1"],
    "NAME=VALUE": [*PROFILES, *CRAM_OPTIONS, "seqs_per_slice=1", "seqs_per_slice=9"],
    "MEAN,SD": ["250,30", "0.5,0.5", "20000,20000"],
    "SIZE": ["1M", "1500K", "4G"],
    "sort_memory": ["1", "1K", "50K", "1M"],
    "SEQ[,SEQ]": [ADAPTER, f"{ADAPTER},AGATCGGAAGAGC", "none"],
    "SEQ1[,SEQ2]|nextera|truseq": ["nextera", "truseq", ADAPTER],
    "double|single[,END,DECAY,INSIDE]": ["double", "single", "single,1,0,0", "double,0.5,0.5,0.1"],
    "K": ["1", "2", "5", "50", "4294967295"],
    "N|SIZE": ["1", "2", "3", "1M"],
    "LINE": [r"@RG\tID:x\tSM:y", r"@RG\tID:1\tSM:y\tLB:l\tPL:ILLUMINA"],
    "LINE|FILE": [r"@CO\tdrawn", r"@PG\tID:before"],
    "CPG,CHG,CHH": ["0.7,0.01,0.01", "0,0,0", "1,1,1"],
    "LOW,HIGH": ["30,300", "60,60"],
    "FILE": ["../../world/made.alt"],
    "SAM": ["../../world/made.bam", "../../world/phix.bam"],
    "FASTQ": ["../../world/made.1.fq"],
    "NAME|FILE": ["NUC4.4", "BLOSUM62", "PAM250"],
    "0..9": list("0159"),
    "TAG": ["RX", "BC", "CB"],
    "SEP": [":", "_"],
    "SAMPLE": ["s1"],
    "SCORE": ["0", "20"],
    "N": ["1", "2", "3", "8"],
    "Q": ["0", "20", "60"],
    "COST": ["0", "1", "11"],
    "BASES": ["1", "15", "1000"],
    "RATE": ["0", "0.02", "0.3"],
    "SHARE": ["0", "0.1", "1"],
}
"""By the form that help shows. Numbers whose range is documented are drawn from it."""
PLACED = {
    *("first", "second", "sheet", "reference", "interleaved", "single", "shard", "output", "part_stats"),
    *("skip_existing", "insert_model", "device", "help", "help_all", argparse.SUPPRESS),
    *("dask", "dask_jobs", "dask_shards", "dask_stage", "circular"),
}
"""Arguments that say what goes in and out: a case places them. Clusters are tried by scripts/check/fuzz.py, OpenCL by
the tests of parity."""
MACHINE = {field.name for field, _ in options_of(MapParams, "machine")} - PLACED | {"threads"}
OF_DUPLICATES = [field.name for field, _ in options_of(DuplicateRules)]
NEEDS: dict[str, Sequence[str]] = {
    **dict.fromkeys(OF_DUPLICATES, ["markdup", "sort"]),
    "markdup": ["sort"],
    "meth_tags": ["is_meth"],
    "meth": ["is_meth"],
    "unmapped_mates_path": ["unmapped_path"],
    "unmapped_either": ["unmapped_path", "unmapped_mates_path"],
    "format_options": ["format"],
}
"""What an option is refused without; now and then it is left out."""
RARE = {"report": 0.05, "plot": 0.1}  # matplotlib takes a second


def values_of(action: argparse.Action) -> Sequence[str]:
    """What can stand behind an option; nothing for a flag. Raises KeyError for a new form of values."""
    option = TABLE.get(action.dest)
    if action.nargs == 0:
        return []
    if action.choices:
        return [str(choice) for choice in action.choices if choice != "paf"]  # which the oracle does not read
    if action.type is output_path:
        return [f"{action.dest}.{action.metavar}"]
    if span := re.search(r"from (\d+) to (\d+)", option.values.complaint if option and option.values else ""):
        low, high = map(int, span.groups())
        numbers = [low, low + 1, *(low + (high - low) // n for n in (1000, 100, 20, 10, 4, 2, 1))]
        two = [f"{low + 1},{number}" for number in numbers] if action.metavar == "N[,N]" else []
        return [*map(str, numbers), *two]
    return VALUES[action.dest if action.dest in VALUES else str(action.metavar)]


@cache
def actions_of(command: str) -> dict[str, argparse.Action]:
    """The options of a command that are drawn, by the names of their arguments."""
    actions = subparser_of(build_parser(command), command)._actions
    return {a.dest: a for a in actions if a.option_strings and a.dest not in PLACED}


Given = dict[str, str]
Words = dict[str, list[str]]


def drawn(rng: random.Random, actions: Mapping[str, argparse.Action], count: int) -> tuple[Given, Words]:
    """Values and words of options, by the names of their arguments; with the options that these need."""
    given: Given = {}
    words: Words = {}
    names = rng.sample(list(actions), min(count, len(actions)))
    for name in names:
        if rng.random() > RARE.get(name, 1):
            continue
        flag, value = rng.choice(actions[name].option_strings), rng.choice(values_of(actions[name]) or [""])
        value = "cram" if name == "format" and "format_options" in given else value
        given[name] = value or flag
        is_long = flag.startswith("--")
        words[name] = [flag] if not value else [f"{flag}={value}"] if is_long else [flag, value]
        names += [n for n in NEEDS.get(name, ()) if n in actions and n not in names and rng.random() < 0.95]
    return given, words


def flat(words: Words, names: Collection[str] | None = None) -> list[str]:
    """The words of all options, or of these."""
    return [word for name, each in words.items() if names is None or name in names for word in each]


def on_other_machine(rng: random.Random, words: Words) -> list[str]:
    """Draws the same options with other resources: records do not depend on them."""
    actions = {name: action for name, action in actions_of("map").items() if name in MACHINE}
    return flat(words, words.keys() - MACHINE) + flat(drawn(rng, actions, rng.randint(1, 4))[1], MACHINE)
