"""What the programs behind a mapper make of gassst's records, beside those of bwa mem.

    python scripts/field/field.py --json lab/data/field.json       # all rows; `make field` fills the page, too
    python scripts/field/field.py --json f.json --rows snippy hic  # these; the others stay as the file has them
    python scripts/field/field.py --json f.json --resume           # those that the file lacks for this commit

A row makes a genome and reads whose truth is known, lets both mappers map them, and runs a program on the records of
each. Rows are `ROWS` of the files `row_*.py` here: a new row is one more entry there, or one more file. A row whose
programs are not on PATH is "not run"; the last lines say how to install them. `--work` keeps genomes and alignments.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import pickle
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
sys.path += [str(FOLDER), str(FOLDER.parent / "bench")]

from donors import sequences, write_fasta  # noqa: E402
from harness import benchmark_parser, run, write_json  # noqa: E402

from gassst.errors import GassstError  # noqa: E402

ECOLI = ROOT / "tests" / "data" / "ecoli_k12_mg1655.fa.gz"
HUMAN = Path("/usr/share/doc/vt/examples/ref/20.fa.gz")
HUMAN_BASES = slice(2_000_000, 22_000_000)
DEBIAN = {"PicardCommandLine": "picard-tools", "mapDamage": "mapdamage"}
PYPI = ("macs3", "pairtools")
VERSIONS = {"bwa": "bwa", "ivar": "ivar version"}
VERSIONS["PicardCommandLine"] = "PicardCommandLine MarkDuplicates --version"
GROUP = r"@RG\tID:1\tSM:sample\tLB:1\tPL:ILLUMINA"
COMMANDS = (
    (
        "{gassst} index -q {reference} -o {reference}.gsi",
        "{gassst} map -q -t {threads} -R '{group}' {options} {reference}.gsi {reads} -o {out} {sort}",
    ),
    (
        "bwa index {reference}",
        "bwa mem -v 1 -t {threads} -R '{group}' {options} {reference} {reads} | {samtools}",
    ),
)
"""How gassst and bwa mem index and map."""


@dataclass(frozen=True)
class Figure:
    """`found` of `truth`, and `wrong` that are not among it. `measured`: a value, which is better near `truth`."""

    what: str
    truth: float
    found: float
    wrong: int | None = None
    measured: bool = False


@dataclass(frozen=True)
class Data:
    """Genomes that worlds are made of: uint8 by contig."""

    ecoli: dict[str, Any]
    human: dict[str, Any]


@dataclass(frozen=True)
class World:
    """A reference, one file of reads or two of mates, and what is true of them."""

    reference: Path
    reads: tuple[Path, ...]
    truth: Any


@dataclass(frozen=True)
class Row:
    """`prepare(data, folder) -> World`, then `run(world, bam, folder) -> figures` for each mapper.

    `options` are for gassst and bwa mem. `human`: made of the human genome.
    """

    name: str
    what: str
    programs: tuple[str, ...]
    prepare: Callable[[Data, Path], World]
    run: Callable[[World, Path, Path], list[Figure]]
    options: tuple[str, str] = ("", "")
    sort: bool = True
    human: bool = False


def sh(command: str, folder: Path | None = None) -> str:
    """What bash prints, in this folder. Raises GassstError with the last line it said."""
    words = ["bash", "-o", "pipefail", "-c", command]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, errors="replace")
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
        raise GassstError(f"{command.split()[0]}: status {done.returncode}: {said}")
    return done.stdout


def all_rows() -> dict[str, Row]:
    modules = [importlib.import_module(path.stem) for path in sorted(FOLDER.glob("row_*.py"))]
    return {row.name: row for module in modules for row in module.ROWS}


def missing(row: Row) -> list[str]:
    """Programs of a row that are not on PATH."""
    return sorted(name for name in {"samtools", "bwa", *row.programs} if not shutil.which(name))


def world_of(row: Row, data: Data, work: Path) -> World:
    """Made once for all rows that share its function."""
    folder = work / row.prepare.__name__
    kept = folder / "world.pickle"
    if not kept.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        kept.write_bytes(pickle.dumps(row.prepare(data, folder)))
    return pickle.loads(kept.read_bytes())


def mapped(row: Row, mapper: int, world: World, threads: int) -> tuple[Path, str]:
    """The BAM file of one mapper, made once for its command; and the command, without folders."""
    index, command = COMMANDS[mapper]
    reads, folder = " ".join(path.name for path in world.reads), world.reads[0].parent
    words = {"gassst": "gassst", "threads": threads, "group": GROUP, "options": row.options[mapper]}
    words |= {
        "sort": "--sort" * row.sort,
        "out": "part.bam",
        "reference": world.reference.name,
        "reads": reads,
    }
    words["samtools"] = f"samtools {'sort' if row.sort else 'view -b'} -o part.bam -"
    shown, done = " ".join(command.format(**words).split()), Path(f"{world.reference}.{mapper}.done")
    words |= {"gassst": f"{shlex.quote(sys.executable)} -m gassst", "reference": world.reference}
    out = folder / f"{''.join(filter(str.isalnum, shown))[:80]}{row.sort}.bam"
    if not done.exists():
        sh(index.format(**words))
        done.touch()
    if not out.exists():
        sh(command.format(**words), folder)
        if row.sort:
            sh(f"samtools index part.bam && mv part.bam.bai {shlex.quote(out.name)}.bai", folder)
        (folder / "part.bam").rename(out)
    return out, shown.replace("part.bam", "out.bam")


def measured(row: Row, data: Data, work: Path, threads: int) -> dict[str, Any]:
    """A row of the table; the program runs on both files at once. Seconds are those of a clock, and of all cores."""
    began, used = time.perf_counter(), sum(os.times()[:4])
    world = world_of(row, data, work)
    files, commands = zip(*(mapped(row, number, world, threads) for number in range(2)), strict=True)
    folders = [work / "out" / f"{row.name}-{number}" for number in range(2)]
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(row.run, [world] * 2, files, folders))
    figures = [{**asdict(a), "bwa_found": b.found, "bwa_wrong": b.wrong} for a, b in zip(*both, strict=True)]
    seconds, cpu = round(time.perf_counter() - began, 1), round(sum(os.times()[:4]) - used, 1)
    return {"commands": commands, "figures": figures, "seconds": seconds, "cpu_seconds": cpu}


def versions(programs: Sequence[str]) -> dict[str, str]:
    """The last word of the first line with a digit that a program says about its version."""
    said = {name: sh(f"{VERSIONS.get(name, f'{name} --version')} 2>&1 || true") for name in programs}
    lines = {name: [line for line in said[name].splitlines() if any(map(str.isdigit, line))] for name in said}
    return {name: some[0].split()[-1].split(":")[-1] if some else "unknown" for name, some in lines.items()}


def reference_in(folder: Path, contigs: dict[str, Any]) -> Path:
    """`genome.fa` beside the folder of a world, with its .fai: worlds of the same bases share it, and its indexes."""
    name = hashlib.sha1(b"".join(bases.tobytes() for bases in contigs.values())).hexdigest()[:8]
    path = folder.parent / f"reference-{name}" / "genome.fa"
    if not path.exists():
        path.parent.mkdir()
        write_fasta(path, contigs)
        sh("samtools faidx genome.fa", path.parent)
    return path


def main(argv: Sequence[str] | None = None) -> None:
    rows = all_rows()
    parser = benchmark_parser(__doc__)
    add = parser.add_argument
    add("--rows", nargs="+", choices=list(rows), metavar="NAME", help=f"of {', '.join(rows)} [all]")
    add("--resume", action="store_true", help="keep the rows that the JSON file has of this commit")
    add("--human", type=Path, default=HUMAN, metavar="FASTA", help="one chromosome [Debian: vt-examples]")
    add("--threads", type=int, default=2, help="of both mappers [2]")
    add("--work", type=Path, metavar="DIR", help="keep genomes and alignments of this commit here")
    args = parser.parse_args(argv)
    commit = sh("git rev-parse --short=12 HEAD || echo unknown", ROOT).strip()
    known = json.loads(Path(args.json).read_text())["rows"] if args.json and Path(args.json).exists() else {}
    people = sequences(args.human) if args.human.exists() else {}
    data = Data(sequences(ECOLI), {name: bases[HUMAN_BASES] for name, bases in people.items()})
    failed = ""
    with tempfile.TemporaryDirectory(prefix="field-") as temporary:
        work = Path(args.work or temporary).resolve() / commit
        for name, row in rows.items():
            is_done = args.resume and known.get(name, {}).get("commit") == commit and "seconds" in known[name]
            if is_done or name not in (args.rows or rows):
                continue
            known[name] = {"what": row.what, "programs": row.programs, "commit": commit}
            if missing(row) or row.human and not people:
                known[name]["not_run"] = f"{', '.join(missing(row)) or 'a human genome'} is missing"
            else:
                try:
                    known[name] |= measured(row, data, work, args.threads)
                except GassstError as error:
                    known[name]["not_run"] = failed = str(error)
            said = known[name].get("not_run") or f"{known[name]['seconds']} s"
            print(name, said, file=sys.stderr, flush=True)
            save(args.json, {name: known[name] for name in rows if name in known})
    for name in sorted({program for row in rows.values() for program in missing(row)}):
        where = f"PyPI: {name}" if name in PYPI else f"Debian: {DEBIAN.get(name, name)}"
        print(f"not on PATH: {name} ({where})", file=sys.stderr)
    if not people:
        print(f"no human genome: {args.human} (Debian: vt-examples; or --human FASTA)", file=sys.stderr)
    if failed:
        raise GassstError(failed)


def save(path: str | None, rows: dict[str, Any]) -> None:
    """Rows that are kept were measured by programs that may be missing now: their versions stay."""
    programs = {program for row in rows.values() for program in ("bwa", "samtools", *row["programs"])}
    kept = json.loads(Path(path).read_text())["versions"] if path and Path(path).exists() else {}
    said = kept | versions(sorted(filter(shutil.which, programs)))
    write_json(path, {"versions": dict(sorted(said.items())), "rows": rows})


if __name__ == "__main__":
    import field  # the rows import it, too

    run(field.main)
