"""Check that a mapper's pairs are what samtools and Picard take them to be: one line a check.

    python scripts/check/pairs.py out.sam genome.fa

fixmate: `samtools fixmate` writes mate fields anew; whatever differs from what the mapper wrote is counted by
field. Where mates do not face each other, its TLEN is not that of bwa and htsjdk: theirs is taken, too, and counted as
"TLEN of htsjdk". markdup: `samtools markdup` works, and warns of nothing. stats: as many first as last fragments,
and no pair of mates on one strand called proper (FR libraries). validate: Picard ValidateSamFile, strict, on the
sorted file. It cannot count mismatches where SEQ is "*", as it may be in secondary records: then it gets the file
without the reference, and once more with it, the bases of these records put in.
The input has the records of a read together, as a mapper writes them. Status 1 if a check fails, 2 if one could not
be made.
"""

from __future__ import annotations

import argparse
import itertools
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pysam

NOT_PRIMARY = 0x900
MATE_FLAGS = {0x1: "paired", 0x2: "proper", 0x8: "mate unmapped", 0x20: "mate reverse"}
TAGS = ("MC", "MQ")
COMPLEMENT = str.maketrans("ACGTMRWSYKVHDBN", "TGCAKYWSRMBDHVN")
HTSJDK = "TLEN of htsjdk"
PICARD_IGNORES = ("QUALITY_NOT_STORED",)
"""Secondary records without qualities: allowed by the specification, and meant."""


@dataclass(frozen=True)
class Check:
    """One line: the check, whether it passed, and what it saw."""

    name: str
    passed: bool
    text: str

    def line(self) -> str:
        return f"{'ok  ' if self.passed else 'FAIL'} {self.name}: {self.text}"


class CheckFailed(Exception):
    """A program ended with an error; its message."""


def run(*command: str | Path) -> subprocess.CompletedProcess:
    """Runs a program. Raises CheckFailed with the last line it said."""
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        said = done.stderr.strip() or done.stdout.strip() or "no message"
        raise CheckFailed(f"{command[0]} {command[1]}: status {done.returncode}: {said.splitlines()[-1]}")
    return done


def mate_fields(record: pysam.AlignedSegment) -> dict[str, object]:
    """What a record says of its mate, by the name of the field; a tag that it lacks is left out."""
    fields: dict[str, object] = {name: bool(record.flag & bit) for bit, name in MATE_FLAGS.items()}
    fields["RNEXT"] = record.next_reference_id
    fields["PNEXT"] = record.next_reference_start
    fields["TLEN"] = record.template_length
    tags = {tag: record.get_tag(tag) for tag in TAGS if record.has_tag(tag)}
    # Of an unmapped mate fixmate writes MC "*", which Picard takes for an error: no MC says the same.
    return fields | {tag: value for tag, value in tags.items() if value != "*"}


def differences(a: pysam.AlignedSegment, b: pysam.AlignedSegment) -> Iterator[str]:
    """Fields that fixmate (`b`) would have otherwise; a tag that only one has is named as such."""
    ours, theirs = mate_fields(a), mate_fields(b)
    for name in {**ours, **theirs}:
        if name not in ours:
            yield f"{name} missing"
        elif name not in theirs:
            yield f"{name} not in fixmate's"
        elif ours[name] != theirs[name]:
            yield HTSJDK if name == "TLEN" and a.template_length == htsjdk_length(b) else name


def five_prime(start: int, reference_bases: int, is_reverse: bool) -> int:
    """Position of the base that was sequenced first."""
    return start + reference_bases - 1 if is_reverse else start


def htsjdk_length(record: pysam.AlignedSegment) -> int | None:
    """TLEN by htsjdk's SamPairUtil.computeInsertSize: from 5' to 5' end, both counted. None without MC."""
    if not record.has_tag("MC"):
        return None
    runs = re.findall(r"(\d+)([MDN=X])", str(record.get_tag("MC")))
    mate_bases = sum(int(length) for length, _ in runs)
    here = five_prime(record.reference_start, record.reference_length or 0, record.is_reverse)
    there = five_prime(record.next_reference_start, mate_bases, record.mate_is_reverse)
    return there - here + (1 if there >= here else -1)


def primary(records: Iterable[pysam.AlignedSegment]) -> Iterator[pysam.AlignedSegment]:
    return (record for record in records if not record.flag & NOT_PRIMARY)


def check_fixmate(path: Path, fixed: Path, allowed: set[str]) -> Check:
    """Every primary record against what fixmate made of it; others it moves, but leaves as they are."""
    found: Counter[str] = Counter()
    example: dict[str, str] = {}
    records = 0
    with pysam.AlignmentFile(str(path)) as before, pysam.AlignmentFile(str(fixed)) as after:
        for a, b in itertools.zip_longest(primary(before), primary(after)):
            if a is None or b is None or (a.query_name, a.flag & 0xC0) != (b.query_name, b.flag & 0xC0):
                raise CheckFailed("fixmate changed the order of the primary records")
            records += 1
            for name in differences(a, b):
                found[name] += 1
                example.setdefault(name, a.query_name or "")
    bad = {name: count for name, count in found.items() if name not in allowed}
    notes = [f"{count} {name} ({example[name]})" for name, count in found.items()]
    return Check("fixmate", not bad, "; ".join([f"{records} primary records", *(notes or ["no difference"])]))


def check_markdup(fixed: Path, work: Path) -> Check:
    """Sorts, marks duplicates, and passes if markdup had all tags it wants."""
    run("samtools", "sort", "-o", work / "sorted.bam", fixed)
    done = run("samtools", "markdup", "-s", work / "sorted.bam", work / "marked.bam")
    numbers = dict(line.split(": ", 1) for line in done.stderr.splitlines() if ": " in line)
    # Without any duplicates markdup warns that it cannot tell the size of the library.
    said = [
        line
        for line in done.stderr.splitlines()
        if re.search("warning|error", line, re.IGNORECASE) and "library size" not in line
    ]
    notes = [f"{numbers.get('DUPLICATE PAIR', '?')} records of duplicate pairs", *said[:1]]
    return Check("markdup", not said, "; ".join([f"{numbers.get('EXAMINED', '?')} examined", *notes]))


def check_stats(path: Path) -> Check:
    lines = (line.split("\t") for line in run("samtools", "stats", path).stdout.splitlines())
    numbers = {line[1].rstrip(":"): line[2] for line in lines if line[0] == "SN"}
    first, last = int(numbers["1st fragments"]), int(numbers["last fragments"])
    paired, proper = int(numbers["reads paired"]), int(numbers["reads properly paired"])
    # A pair whose ends reach past each other is proper and counted as outward.
    facing = 2 * int(numbers["inward oriented pairs"]) + 2 * int(numbers["outward oriented pairs"])
    notes = [
        f"{100 * proper / paired if paired else 0:.2f} % proper",
        f"insert {numbers['insert size average']} +- {numbers['insert size standard deviation']}",
        f"pairs inward/outward/other/two contigs {numbers['inward oriented pairs']}/{numbers['outward oriented pairs']}"
        f"/{numbers['pairs with other orientation']}/{numbers['pairs on different chromosomes']}",
        *([f"{first} first but {last} last fragments"] if first != last else []),
        *([f"{proper} proper, but only {facing} on two strands"] if proper > facing else []),
    ]
    return Check(
        "stats", 0 < first == last and proper <= facing, "; ".join([f"{first + last} reads", *notes])
    )


def put_bases_in(path: Path, out: Path) -> int:
    """A copy in which mapped records whose SEQ is "*" have their read's bases; how many these are.

    Hard-clipped bases are left out of it; qualities stay "*".
    """
    bases: dict[tuple[str | None, int], str] = {}
    filled = 0
    with pysam.AlignmentFile(str(path)) as before:
        for record in primary(before):
            bases[record.query_name, record.flag & 0xC0] = record.get_forward_sequence() or ""
    with (
        pysam.AlignmentFile(str(path)) as before,
        pysam.AlignmentFile(str(out), "wb", template=before) as after,
    ):
        for record in before:
            if record.query_sequence is None and not record.is_unmapped:
                whole = bases[record.query_name, record.flag & 0xC0]
                record.query_sequence = _as_aligned(record, whole)
                filled += 1
            after.write(record)
    return filled


def _as_aligned(record: pysam.AlignedSegment, whole: str) -> str:
    """The bases of a record by its strand and CIGAR."""
    text = whole[::-1].translate(COMPLEMENT) if record.is_reverse else whole
    runs = record.cigartuples or [(0, 0)]
    first, last = (length if kind == pysam.CHARD_CLIP else 0 for kind, length in (runs[0], runs[-1]))
    return text[first : len(text) - last]


def picard(path: Path, reference: Path | None, ignored: list[str]) -> list[str]:
    """What ValidateSamFile finds with stringency STRICT, but for `ignored` types; or the end of its complaint."""
    command = ["PicardCommandLine", "ValidateSamFile", f"I={path}", "MODE=SUMMARY"]
    options = ["VALIDATION_STRINGENCY=STRICT", "MAX_OUTPUT=null", *(f"IGNORE={kind}" for kind in ignored)]
    if reference is not None:
        options.append(f"R={reference}")
    done = subprocess.run([*command, *options], capture_output=True, text=True)
    if done.returncode == 0 and "No errors found" in done.stdout:
        return []
    rows = [line for line in done.stdout.splitlines() if line.startswith(("ERROR:", "WARNING:"))]
    said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    return [" ".join(row.split()) for row in rows or said or done.stderr.splitlines()[-1:]] or ["no message"]


def check_validate(path: Path, reference: Path, ignored: list[str]) -> Check:
    whole = path.with_suffix(".whole.bam")
    filled = put_bases_in(path, whole)
    found = [] if not filled else picard(path, None, ignored)
    found += picard(whole, reference, ignored)
    note = f"; {filled} records without SEQ" if filled else ""
    text = "; ".join(found) or f"nothing found; {', '.join(ignored)} not looked for"
    return Check("validate", not found, text + note)


def checks(args: argparse.Namespace, work: Path) -> Iterator[Check]:
    """All checks in turn; one that cannot go on is one that failed."""
    named, fixed = work / "named.bam", work / "fixed.bam"
    run("samtools", "view", "-b", "-o", named, args.alignments)
    run("samtools", "fixmate", "-m", named, fixed)
    yield check_fixmate(named, fixed, {HTSJDK, *args.allow})
    yield check_markdup(fixed, work)
    yield check_stats(named)
    run("samtools", "sort", "-o", work / "ours.bam", named)
    yield check_validate(work / "ours.bam", dictionary(args.reference, work), [*PICARD_IGNORES, *args.ignore])


def dictionary(reference: Path, work: Path) -> Path:
    """The reference as Picard wants it: plain FASTA with index and dictionary beside it."""
    plain = work / "reference.fa"
    if reference.suffix == ".gz":
        with pysam.FastxFile(str(reference)) as file:
            plain.write_text("".join(f">{record.name}\n{record.sequence}\n" for record in file))
    else:
        plain.symlink_to(reference.resolve())
    run("samtools", "faidx", plain)
    run("samtools", "dict", "-o", work / "reference.dict", plain)
    return plain


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    add = parser.add_argument
    add("alignments", type=Path, metavar="OUT.sam", help="SAM or BAM, as mapped")
    add("reference", type=Path, metavar="GENOME.fa", help="for Picard, which also checks NM")
    add(
        "--allow",
        nargs="+",
        default=[],
        metavar="FIELD",
        help="differences from fixmate that are no failure: 'MQ missing'",
    )
    add(
        "--ignore",
        nargs="+",
        default=[],
        metavar="TYPE",
        help="types of ValidateSamFile not looked for: MISSING_READ_GROUP",
    )
    return parser.parse_args(argv)


def missing_programs() -> list[str]:
    return [name for name in ("samtools", "PicardCommandLine") if not shutil.which(name)]


def main(argv: list[str] | None = None) -> int:
    args = parse_args(argv)
    if missing := missing_programs():
        print(f"pairs: not installed: {', '.join(missing)}", file=sys.stderr)
        return 2
    passed = True
    try:
        with tempfile.TemporaryDirectory(prefix="pairs-") as work:
            for check in checks(args, Path(work)):
                print(check.line(), flush=True)
                passed = passed and check.passed
    except CheckFailed as error:
        print(f"pairs: {error}", file=sys.stderr)
        return 2
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
