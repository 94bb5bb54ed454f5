"""`gassst mem`: the command line of `bwa mem`, put into that of `gassst map`, which runs it.

`OPTIONS` has a row for each option of bwa: what it is here, or None where it cannot mean anything. Such options are
accepted, and one line lists them. Defaults are those of bwa, one thread among them.
"""

from __future__ import annotations

import argparse
import logging
import os
from collections.abc import Callable
from typing import Any, NamedTuple

from gassst.errors import UsageError
from gassst.tools.arguments import file_path, output_path

log = logging.getLogger("gassst")

Converted = Callable[[Any], list[str] | None]
"""Words of `gassst map` for a value; None where it has no effect here."""


def numbers(most: int, kind: type = int) -> Callable[[str], tuple[Any, ...]]:
    """The type of 'N', 'N,N' and so on, up to so many."""

    def parsed(text: str) -> tuple[Any, ...]:
        try:
            found = tuple(map(kind, text.split(",")))
        except ValueError:
            found = ()
        if not 1 <= len(found) <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not {','.join(['N'] + ['[N]'] * (most - 1))}")
        return found

    return parsed


class BwaOption(NamedTuple):
    """An option of `bwa mem`: how it is written, what reads its value (None: a flag), and what it is here."""

    form: str
    help: str
    kind: Callable[[str], Any] | None
    ours: Converted | None = None

    @property
    def flag(self) -> str:
        return self.form.split()[0]


def flag(name: str) -> Converted:
    """An option without a value that is called so here."""
    return lambda _: [name]


def valued(name: str) -> Converted:
    """An option that takes the same value here."""
    return lambda value: [name, str(value)]


def _insert(values: tuple[float, ...]) -> list[str]:
    mean, deviation = (*values, values[0] / 10)[:2]
    return ["--insert", f"{mean},{deviation}", "--fr"]


NO_EFFECT = "Accepted: it has no effect here."
OPTIONS = (
    BwaOption(
        "-k N",
        "Use seeds of at least this many bases (default: by read length).",
        int,
        lambda value: None if value == 19 else ["-w", str(min(max(value, 4), 30))],
    ),
    BwaOption("-S", "Do not search for a mate near its partner.", None, flag("--no-rescue")),
    BwaOption("-P", "Map each mate on its own.", None, flag("-P")),
    BwaOption(
        "-m N",
        "Do the same as -S if this is 0. Other numbers have no effect here.",
        int,
        lambda value: None if value else ["--no-rescue"],
    ),
    BwaOption("-p", "Treat neighbouring reads of one name as pairs; in2.fq is ignored.", None, flag("--interleaved")),
    BwaOption(
        "-R LINE",
        r"Put this read group line into the header and its ID into every record: '@RG\tID:x\tSM:y'.",
        str,
        valued("-R"),
    ),
    BwaOption("-H LINE|FILE", "Add this line to the header, or the lines of this file.", str, valued("-H")),
    BwaOption("-j", "Treat ALT contigs as part of the primary assembly.", None, flag("-j")),
    BwaOption("-5", "Make the part nearest to the 5' end of a split read primary.", None, flag("-5")),
    BwaOption("-C", "Copy the SAM tags in the comments of FASTQ to the records.", None, lambda _: ["-C", "--lenient"]),
    BwaOption("-Y", "Keep all bases in supplementary records.", None, flag("-Y")),
    BwaOption("-M", "Flag supplementary records as secondary.", None, flag("-M")),
    BwaOption(
        "-I MEAN[,SD[,MAX[,MIN]]]",
        "Set the insert size, and expect mates that face each other (default: learned).",
        numbers(4, float),
        _insert,
    ),
    *(
        BwaOption(form, NO_EFFECT, kind)
        for form, kind in (
            ("-w N", int), ("-d N", int), ("-r X", float), ("-y N", int), ("-c N", int), ("-D X", float),
            ("-W N", int), ("-U N", int), ("-G N", int), ("-N N", int), ("-X X", float), ("-Q N", float),
            ("-s N", int), ("-z X", float), ("-K N", int), ("-q", None), ("-V", None), ("-u", None), ("-1", None),
        )
    ),
)  # fmt: skip
SCORES = {"-B": 4, "-O": 6, "-E": 1, "-L": 5, "-T": 30}
"""The scores of bwa for a match of 1 (-A), which scales those that are not given."""
OF_LONG_READS = {"-B": 1, "-O": 1, "-E": 1, "-L": 0}
READ_TYPES = {"pacbio": OF_LONG_READS, "ont2d": OF_LONG_READS, "intractg": {"-B": 9, "-O": 16}}


class Verbosity(argparse.Action):
    """-v of bwa: 1 prints errors and 2 warnings, 4 and more what the search did."""

    def __call__(self, parser: Any, namespace: argparse.Namespace, value: Any, option: Any = None) -> None:
        namespace.quiet, namespace.verbose = value <= 2, value >= 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `gassst mem`."""
    parser.usage = "%(prog)s [options] REF in1.fq [in2.fq]"
    add = parser.add_argument
    add(
        "index",
        metavar="REF",
        type=file_path,
        help="Map to this FASTA, or to what has this name before .fa, .gsi or bwa's suffixes. Without an "
        "index in the same folder, one is made and kept.",
    )
    add(
        "reads",
        metavar="in.fq",
        nargs="+",
        type=file_path,
        help="Map these reads; - is stdin. Two files are pairs.",
    )
    add("-t", dest="threads", metavar="N", type=int, default=1, help="Use this many threads.")
    add(
        "-o",
        "-f",
        dest="output",
        metavar="OUT",
        type=output_path,
        default="-",
        help="Write the alignments to this file: SAM, or by its suffix BAM or CRAM (default: SAM on stdout).",
    )
    for each in OPTIONS:
        name, _, metavar = each.form.partition(" ")
        rest: dict[str, Any] = {"dest": name, "help": each.help}
        rest |= {"action": "store_true"} if each.kind is None else {"metavar": metavar, "type": each.kind}
        add(name, **rest)
    scaled = "scales -B, -O, -E, -L and -T unless they are given"
    add(
        "-A",
        dest="-A",
        metavar="N",
        type=numbers(1),
        help=f"Set the score of a match, which {scaled} (default: 1).",
    )
    for name, most, what in (
        ("-B", 1, "the penalty of a mismatch"),
        ("-O", 2, "the penalty for opening a gap, for deletions and for insertions"),
        ("-E", 2, "the penalty for each base of a gap, likewise"),
        ("-L", 2, "the bonus for each end of the read that the alignment reaches"),
        ("-T", 1, "the least score that is reported"),
    ):
        form = "N" if most == 1 else "N[,N]"
        add(name, dest=name, metavar=form, type=numbers(most), help=f"Set {what} (default: {SCORES[name]}).")
    add(
        "-x", dest="-x", choices=tuple(READ_TYPES), help="Set the scores that bwa has for this type of reads."
    )
    add(
        "-h",
        dest="most_xa",
        metavar="N[,N]",
        type=numbers(2),
        default=(5, 200),
        help="List up to this many other positions of a read in tag XA, and none if there are more. The second number, "
        "for ALT contigs, has no effect here (default: 5,200).",
    )
    add(
        "-a",
        dest="all",
        action="store_true",
        help="Write other positions as secondary records instead of XA.",
    )
    add(
        "-v",
        action=Verbosity,
        type=int,
        metavar="N",
        help="Print errors (1), warnings (2), messages (3), or more (4) (default: 3).",
    )
    parser.set_defaults(quiet=False, verbose=False)


def main(args: argparse.Namespace) -> int:
    """Run `gassst mem`. Raises as `gassst map`."""
    from gassst.cli import map as mapping
    from gassst.cli.parser import parse
    from gassst.index.bwa_prefix import reference_at

    words, ignored = in_words_of_map(args)
    found = parse(["map", *words, reference_at(args.index, args.threads), *args.reads])
    found.argv, found.quiet, found.verbose = args.argv, args.quiet, args.verbose
    found.xa, found.most_xa, found.xs_always, found.as_bwa = not args.all, args.most_xa[0], True, True
    if ignored:
        log.info("no effect here: %s", ", ".join(ignored))
    return mapping.main(found)


def in_words_of_map(args: argparse.Namespace) -> tuple[list[str], list[str]]:
    """The options as `gassst map` takes them, and those that have no effect. Raises UsageError."""
    if len(args.reads) > 2:
        raise UsageError(
            f"unexpected argument {args.reads[2]}: gassst mem takes one file of reads, or two of mates"
        )
    given = vars(args)
    words, ignored = ["-t", str(args.threads), "-o", args.output, *_scores(given)], []
    if len(set(given["-L"] or ())) > 1:
        ignored.append(f"{given['-L'][1]} of -L {_text(given['-L'])} (both ends have one bonus)")
    for each in OPTIONS:
        value = given[each.flag]
        if value is None or value is False:
            continue
        ours = each.ours(value) if each.ours is not None else None
        if ours is None:
            ignored.append(each.flag if value is True else f"{each.flag} {_text(value)}")
        words += ours or []
    if os.path.splitext(args.output)[1].lower() not in (".bam", ".cram"):
        words += ["-O", "sam"]
    if given["-p"] and args.reads[1:]:
        ignored.append(f"{args.reads.pop()} (-p reads one file)")
    elif len(args.reads) == 1 and not given["-p"]:
        words.append("--single")
    # One of them is primary, and one more shows that there are too many.
    listed = ["--all", "--mode", "local"] if args.all else ["-k", str(args.most_xa[0] + 2)]
    return [*words, *listed], ignored


def _scores(given: dict[str, Any]) -> list[str]:
    """The scores. Both ends of reads have one bonus here."""
    match = (given["-A"] or (1,))[0]
    of_type = READ_TYPES.get(given["-x"] or "", {})
    words = ["-A", str(match)]
    for name, usual in SCORES.items():
        values = given[name] or (of_type.get(name, usual * match),)
        values = values[:1] if name == "-L" else values
        words += ["--gap-open" if name == "-O" else name, _text(values)]
    return words


def _text(value: Any) -> str:
    return ",".join(f"{each:g}" for each in value) if isinstance(value, tuple) else str(value)
