"""Compare the duplicates that gassst marks with those of samtools and Picard: one line a check.

    python scripts/check/duplicates.py genome.fa R1.fq.gz [R2.fq.gz] [--threads 2]

Maps the reads three times: unsorted, sorted, and sorted with duplicates marked. samtools: `fixmate -m`, `sort` and
`markdup -S` of the unsorted records flag the same ones. Picard: MarkDuplicates of the sorted file writes the same
metrics; templates that only one of the two flags are counted by reason. "tie": several templates of a set have the
best score, and each keeps another one. "one strand": both mates are on one strand, where the two measure differently.
Status 1 if samtools or the metrics differ, or a template has no reason; 2 if a program is missing or fails.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pysam

NOT_PRIMARY = 0x900
KIND = 0x9C4  # which mate, unmapped, secondary, supplementary
LEAST_QUALITY = 15
CLIPS = (pysam.CSOFT_CLIP, pysam.CHARD_CLIP)


def run(*command: str | Path) -> None:
    """Runs a program. Raises RuntimeError with the last line it said."""
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        said = done.stderr.strip() or "no message"
        raise RuntimeError(f"{command[0]} {command[1]}: status {done.returncode}: {said.splitlines()[-1]}")


def flagged(path: Path) -> set[tuple[str, int, int, int]]:
    """Every record that is a duplicate, by name, kind and place."""
    with pysam.AlignmentFile(str(path), check_sq=False) as file:
        return {
            (r.query_name, r.flag & KIND, r.reference_id, r.reference_start) for r in file if r.is_duplicate
        }


def begin_of(record: pysam.AlignedSegment) -> tuple[int, int, bool]:
    """Where the sequencing of a read began, and in which direction it went, as if its clips were aligned."""
    (first, lead), (last, trail) = record.cigartuples[0], record.cigartuples[-1]
    start, end = (
        record.reference_start - lead * (first in CLIPS),
        record.reference_end + trail * (last in CLIPS),
    )
    return record.reference_id, end if record.is_reverse else start, record.is_reverse


def templates_of(path: Path) -> dict[str, tuple[tuple, int]]:
    """Of each template with a mapped read, the ends, and the sum of good qualities."""
    ends: dict[str, list] = defaultdict(list)
    scores: Counter[str] = Counter()
    with pysam.AlignmentFile(str(path), check_sq=False) as file:
        for record in file:
            if not record.flag & (NOT_PRIMARY | pysam.FUNMAP):
                ends[record.query_name].append(begin_of(record))
                scores[record.query_name] += sum(q for q in record.query_qualities if q >= LEAST_QUALITY)
    return {name: (tuple(sorted(found)), scores[name]) for name, found in ends.items()}


def reasons(ours: set[str], theirs: set[str], templates: dict[str, tuple[tuple, int]]) -> Counter[str]:
    """Why templates are flagged by one program only."""
    kept: dict[tuple, list[list[int]]] = defaultdict(lambda: [[], []])
    for name, (ends, score) in templates.items():
        for which, names in enumerate((ours, theirs)):
            if name not in names:
                kept[ends][which].append(score)
    found: Counter[str] = Counter()
    for name in ours ^ theirs:
        ends = templates[name][0]
        if len(ends) == 2 and ends[0][2] == ends[1][2]:
            found["one strand"] += 1
        else:
            found["tie" if sorted(kept[ends][0]) == sorted(kept[ends][1]) else "no reason"] += 1
    return found


def metrics_of(path: Path) -> list[str]:
    """All but the lines about the program, in an order of their own: Picard's libraries have none."""
    return sorted(path.read_text().split("## METRICS CLASS", 1)[1].splitlines())


def checks(args: argparse.Namespace, work: Path) -> Iterator[tuple[bool, str]]:
    """Whether each check passed, and what it saw."""
    group = r"@RG\tID:1\tSM:s\tPL:ILLUMINA\tLB:l"
    command = [
        sys.executable,
        "-m",
        "gassst",
        "map",
        "-q",
        "-t",
        args.threads,
        "-R",
        group,
        args.genome,
        *args.reads,
    ]
    run(*command, "-o", work / "unsorted.bam")
    run(*command, "-o", work / "sorted.bam", "--sort")
    marked = ["--sort", "--markdup", "--markdup-metrics", work / "ours.txt"]
    run(*command, "-o", work / "ours.bam", *marked)
    run("samtools", "fixmate", "-m", work / "unsorted.bam", work / "fixed.bam")
    run("samtools", "sort", "-o", work / "placed.bam", work / "fixed.bam")
    run("samtools", "markdup", "-S", work / "placed.bam", work / "samtools.bam")
    ours, theirs = flagged(work / "ours.bam"), flagged(work / "samtools.bam")
    yield ours == theirs, f"samtools: {len(ours)} records flagged, {len(ours ^ theirs)} by one program only"

    files = [
        f"{key}={work / name}"
        for key, name in (("I", "sorted.bam"), ("O", "picard.bam"), ("M", "picard.txt"))
    ]
    run("PicardCommandLine", "MarkDuplicates", *files)
    same = metrics_of(work / "ours.txt") == metrics_of(work / "picard.txt")
    yield same, f"metrics of Picard: {'the same' if same else 'they differ'}"
    primary = [{name for name, kind, *_ in flagged(work / f"{program}.bam") if not kind & NOT_PRIMARY}
               for program in ("ours", "picard")]  # fmt: skip
    why = reasons(*primary, templates_of(work / "sorted.bam"))
    by_one = ", ".join(f"{reason} {number}" for reason, number in why.items()) or "none"
    text = f"Picard: {len(primary[0])} and {len(primary[1])} templates flagged; by one program only: {by_one}"
    yield not why["no reason"], text


def main(argv: list[str] | None = None) -> int:
    """Run the checks and return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("genome", type=Path, metavar="GENOME.fa")
    parser.add_argument("reads", type=Path, nargs="+", metavar="READS.fq")
    parser.add_argument("-t", "--threads", default="2")
    args = parser.parse_args(argv)
    if missing := [name for name in ("samtools", "PicardCommandLine") if not shutil.which(name)]:
        print(f"duplicates: not installed: {', '.join(missing)}", file=sys.stderr)
        return 2
    passed = True
    try:
        with tempfile.TemporaryDirectory(prefix="duplicates-") as work:
            for good, text in checks(args, Path(work)):
                print(f"{'ok  ' if good else 'FAIL'} {text}", flush=True)
                passed = passed and good
    except RuntimeError as error:
        print(f"duplicates: {error}", file=sys.stderr)
        return 2
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
