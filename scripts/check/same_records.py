"""Maps the bundled sets with this tree and with an earlier commit, and compares the records.

    python scripts/check/same_records.py                  # since the last commit that changed records
    python scripts/check/same_records.py main             # since a commit
    python scripts/check/same_records.py HEAD             # what the edits change that are not committed yet
    python scripts/check/same_records.py HEAD~3..HEAD~2   # a commit and its parent

Where records differ, a commit since then must say so in its trailer, `Records: changed N (why)`. Without one the exit
code is 1. A table says which reads became mapped, unmapped, better or worse either way (see samdiff.py).

A commit says `Records: same` of its parent. So all that came after the last commit with other records must give the
same ones, and that commit is the base. If HEAD itself has other records, its parent is. At most LIMIT commits are
looked at. Without a parent (a shallow clone, an sdist, the first commit) there is nothing to compare, and the check
passes. It also passes at once where the package is the same in both.

Both trees are built in a temporary folder below build/, with the objects of this build, so what costs time is what has
changed. That needs setuptools and Cython: `make same-records` installs them.
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import os
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import pysam
import samdiff
from commits import Commit, commits_of

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ("gassst", "ext", "index", "setup.py")  # what decides on records
BUILT = ("build/cython", "build/objects-*", "gassst/_core/*.so")
LIMIT = 50
GENOME, PHIX = "ecoli_k12_mg1655.fa.gz", "phix_SRR1377138_R1.fastq.gz"
REAL = ["ecoli_ERR022075_R1.fastq.gz", "ecoli_ERR022075_R2.fastq.gz"]
SMALL_RNA = "TGGAATTCTCGGGTGCCAAGG"
ONLY_MAPQ = {"mapq_up", "mapq_down", "became_confident", "became_doubtful"}


class Failure(Exception):
    """What ends the check, in one line."""


def git(*words: str, root: Path) -> str:
    """What git prints. Raises CalledProcessError."""
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.strip()


# -- which commits ------------------------------------------------------------------------------------------------


def changing(span: str, root: Path) -> list[tuple[Commit, str]]:
    """The commits of a range that say that records change, and what they say."""
    said = ((commit, value) for commit in commits_of(span, root) for value in commit.records)
    return [(commit, value) for commit, value in said if value.startswith("changed ")]


def default_base(root: Path) -> str | None:
    """The last commit that changed records, or HEAD's parent if HEAD did; None without a parent."""
    try:
        if not Path(git("rev-parse", "--show-toplevel", root=root)).samefile(root):
            return None  # an sdist, unpacked inside some other checkout
        chain = git("rev-list", "--first-parent", f"--max-count={LIMIT + 1}", "HEAD", root=root).split()
    except (OSError, subprocess.CalledProcessError):
        return None
    base = None
    for newer, older in zip(chain, chain[1:], strict=False):
        if base and changing(f"{older}..{newer}", root):
            break
        base = older
        if changing(f"{older}..HEAD", root):
            break
    return base


# -- trees --------------------------------------------------------------------------------------------------------


def take_commit(commit: str, tree: Path, root: Path) -> None:
    """The files of a commit, in a new folder. git's own worktrees would leave traces in the checkout."""
    packed = subprocess.run(["git", "archive", commit], cwd=root, stdout=subprocess.PIPE, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.4 has it
        archive.extractall(tree)


def take_checkout(tree: Path, root: Path) -> None:
    """The files of the checkout as they are, with their times; new ones too."""
    listed = git("ls-files", "-z", "--cached", "--others", "--exclude-standard", root=root)
    for name in listed.strip("\0").split("\0"):
        if (root / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, tree / name)


def take_build(tree: Path, root: Path) -> None:
    """What is built in the checkout, and the times that tell the build of a tree what of it still holds.

    A file that is the same in both gets its time from the checkout, any other the present. The times are then moved
    into the last second, in the same order. They are later than those of Cython's own files, which may have been
    installed after the build.
    """
    relinked = (tree / "setup.py").read_bytes() != (root / "setup.py").read_bytes()
    for pattern in BUILT[:2] if relinked else BUILT:
        for path in root.glob(pattern):
            target = tree / path.relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if path.is_dir() else shutil.copy2)(path, target)
    times, changed = dict[Path, int](), list[Path]()
    for path in filter(
        Path.is_file, (p for part in (*PACKAGE, "build") for p in [tree / part, *(tree / part).rglob("*")])
    ):
        original = root / path.relative_to(tree)
        if original.is_file() and original.read_bytes() == path.read_bytes():
            times[path] = original.stat().st_mtime_ns
        else:
            changed.append(path)
    # A .pxd that only one of the trees has belongs to the .pyx of its name, which may be the same.
    lone = {path.stem for path in (tree / "gassst/_core").glob("*.pxd") if path in changed}
    lone |= {
        path.stem
        for path in (root / "gassst/_core").glob("*.pxd")
        if not (tree / path.relative_to(root)).exists()
    }
    changed += [path for path in times if path.suffix == ".pyx" and path.stem in lone]
    ranks = {value: rank for rank, value in enumerate(sorted(set(times.values())))}
    now = time.time_ns()
    for path, value in times.items():
        then = now - 10**9 + ranks[value] * 10**9 // len(ranks)
        os.utime(path, ns=(then, then))
    for path in changed:
        os.utime(path)


def build(tree: Path) -> None:
    """Compile what is stale. Raises Failure."""
    done = subprocess.run(
        [sys.executable, "setup.py", "-q", "build_ext", "--inplace"],
        cwd=tree,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": ""},
    )
    if done.returncode:
        wrong = [line for line in done.stderr.splitlines() if "rror" in line]
        raise Failure(f"cannot be built: {(wrong or done.stderr.splitlines() or ['no message'])[-1].strip()}")
    run(tree, "-c", f"import gassst, sys; sys.exit(not gassst.__file__.startswith({str(tree)!r}))")


def run(tree: Path, *words: str) -> None:
    """Run Python with the package of a tree. Raises Failure with the last line that it prints."""
    unset = ("GASSST_WITHOUT", "GASSST_DEBUG", "GASSST_SANITIZE")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    done = subprocess.run(
        [sys.executable, *words],
        cwd=tree.parent,
        capture_output=True,
        text=True,
        env={**environment, "PYTHONPATH": str(tree), "GASSST_OPENCL": "0"},
    )
    if done.returncode:
        raise Failure(f"`{' '.join(words[:3])}` fails: {(done.stderr.splitlines() or ['no message'])[-1]}")


# -- reads --------------------------------------------------------------------------------------------------------


class Set(NamedTuple):
    """Reads, the index they are mapped to, and how."""

    name: str
    index: str
    reads: list[Path]
    options: list[str]


def fasta(path: Path) -> str:
    with pysam.FastxFile(str(path)) as file:
        return next(iter(file)).sequence


def write_fasta(path: Path, sequence: str) -> None:
    lines = (sequence[at : at + 80] for at in range(0, len(sequence), 80))
    path.write_text(f">{path.stem}\n" + "".join(f"{line}\n" for line in lines))


def with_repeats(sequence: str) -> str:
    """A genome of 300,000 bases with families of copies: in turn forward, inverted and in tandem, each diverged."""
    rng = random.Random(5)
    pieces = []
    for family in range(21):
        start = rng.randrange(len(sequence) - 10_000)
        unit = sequence[
            start : start + (3, 7, 12, 15, 30, 120, 500)[family // 3] * (1 if family % 3 == 2 else 4)
        ]
        for _ in range(8):
            times = max(3, 240 // len(unit)) if family % 3 == 2 else 1
            copy = "".join(rng.choice("ACGT") if rng.random() < 0.02 else base for base in unit * times)
            if family % 3 == 1:
                copy = copy[::-1].translate(str.maketrans("ACGT", "TGCA"))
            start = rng.randrange(len(sequence) - 10_000)
            pieces.append(copy + sequence[start : start + rng.randrange(1000, 2000)])
    rng.shuffle(pieces)
    return "".join(pieces)


def joined(a: Path, b: Path, output: Path) -> None:
    """Reads whose two halves come from two places: what the second half shows is split off, or clipped."""
    rng = random.Random(6)
    with pysam.FastxFile(str(a)) as first, pysam.FastxFile(str(b)) as second, output.open("w") as out:
        for one, other in zip(first, second, strict=True):
            at = rng.randrange(25, len(one.sequence) - 10)
            bases = one.sequence[:at] + other.sequence[at:]
            out.write(f"@{one.name}\n{bases}\n+\n{one.quality}\n")


def make_sets(tree: Path, data: Path, folder: Path) -> list[Set]:
    """The sets, the same on every machine. The package of `tree` simulates: both map the same files."""
    genome = folder / "genome.fa"
    write_fasta(genome, fasta(data / GENOME))
    write_fasta(folder / "reversed.fa", fasta(data / GENOME)[::-1])
    write_fasta(folder / "repeats.fa", with_repeats(fasta(data / GENOME)))

    def simulated(
        name: str, number: int, length: int, *options: str, of: Path = genome, mates: int = 2
    ) -> list[Path]:
        files = [folder / f"{name}_{mate}.fq" for mate in range(1, mates + 1)]
        outputs = [word for file in files for word in ("-o", str(file))]
        counts = ("-n", str(number), "-l", str(length))
        run(tree, "-m", "gassst", "simulate", str(of), *counts, *options, *outputs)
        return files

    real, pairs = [data / name for name in REAL], ["--pairs", "350,60"]
    sets = [
        Set("single", "genome", real[:1], []),
        Set("single, simulated", "genome", simulated("single", 3000, 150, "-e", ".02", mates=1), []),
        Set("pairs", "genome", real, []),
        Set("pairs, simulated", "genome", simulated("pairs", 1500, 100, "-e", ".02", *pairs), []),
        Set("mates one by one", "genome", real, ["-P", "-k", "3"]),
        Set("global", "genome", real, ["--mode", "global"]),
    ]
    adapters = ["-e", ".01", "--inserts", "30,150", "--adapter", "truseq"]
    errors = simulated("errors", 2500, 100, "-e", ".1", mates=1)
    error_pairs = simulated("error_pairs", 1000, 100, "-e", ".1", *pairs)
    all_reads = simulated("all", 1500, 50, "-e", ".03", of=folder / "repeats.fa", mates=1)
    repeats = simulated("repeats", 1000, 100, "-e", ".02", *pairs, of=folder / "repeats.fa")
    tails = ["-e", ".01", "--bad-tails", ".5", "--poly-g", ".2", *pairs]
    halves = [
        simulated(f"half{seed}", 2000, 150, "-e", ".01", "--seed", str(seed), mates=1)[0] for seed in (2, 3)
    ]
    joined(*halves, folder / "joined.fq")
    foreign = simulated("foreign", 1000, 100, "-e", ".01", *pairs, of=folder / "reversed.fa")
    meth = simulated("meth", 1000, 100, "-e", ".01", "--meth", ".7,.01,.01", *pairs)
    rna = simulated("rna", 3000, 50, "-e", ".01", "--inserts", "18,45", "--adapter", SMALL_RNA, mates=1)
    ancient = simulated("ancient", 2000, 70, "-e", ".01", "--damage", "double", mates=1)
    return [
        *sets, Set("adapters", "genome", simulated("adapters", 1500, 100, *adapters), []),
        Set("10 % errors", "genome", errors, []),
        Set("10 % errors, pairs", "genome", error_pairs, ["-k", "2"]),
        Set("--all", "repeats", all_reads, ["--all"]), Set("--strata", "repeats", all_reads, ["--strata"]),
        Set("repeats", "repeats", repeats, []),
        Set("clipped", "genome", simulated("tails", 1000, 100, *tails), []),
        Set("split", "genome", [folder / "joined.fq"], []), Set("foreign", "genome", foreign, []),
        Set("foreign, single", "genome", foreign[:1], []), Set("other genome", "genome", [data / PHIX], []),
        Set("meth", "meth", meth, ["--meth"]), Set("small RNA", "genome", rna, ["--preset", "small-rna"]),
        Set("ancient", "genome", ancient, ["--preset", "ancient"]),
    ]  # fmt: skip


INDEXES = {"genome": ("genome.fa", []), "repeats": ("repeats.fa", []), "meth": ("genome.fa", ["--meth"])}


def map_sets(tree: Path, sets: Sequence[Set], folder: Path) -> dict[str, Path | str]:
    """The records of every set, in SAM, or why there are none; each tree builds its own indexes."""
    own = folder / f"records-{tree.name}"
    own.mkdir()
    for name, (genome, options) in INDEXES.items():
        words = [str(folder / genome), "-o", str(own / f"{name}.gsi"), *options, "-q", "-t", "1"]
        run(tree, "-m", "gassst", "index", *words)
    found: dict[str, Path | str] = {}
    for number, one in enumerate(sets):
        output = own / f"{number}.sam"
        words = [str(own / f"{one.index}.gsi"), *map(str, one.reads), *one.options, "-o", str(output)]
        try:
            run(tree, "-m", "gassst", "map", *words, "-q", "-t", "1", "--device", "none")
            found[one.name] = output
        except Failure as failure:
            found[one.name] = str(failure)
    return found


# -- records ------------------------------------------------------------------------------------------------------


def records(path: Path) -> Iterator[str]:
    with path.open() as file:
        yield from (line for line in file if not line.startswith("@"))


def by_read(path: Path) -> dict[tuple[str, int], list[str]]:
    """The records of each read, by its name and mate."""
    found: dict[tuple[str, int], list[str]] = {}
    for line in records(path):
        name, flag, _ = line.split("\t", 2)
        found.setdefault((name, int(flag) >> 6 & 3 if int(flag) & 1 else 0), []).append(line)
    return found


def tally(a: Path, b: Path) -> tuple[int, int, Counter[str], list[str]]:
    """Reads, how many have other records, what kinds of change they show, and the changes, the smallest last."""
    before, after = by_read(a), by_read(b)
    differ = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    kinds, examples = Counter[str](), (list[str](), list[str]())
    for change in samdiff.changes(str(a), str(b)):
        if change.key not in differ:
            continue
        shown = change.kinds
        if not shown:
            lines = before[change.key][1:] != after[change.key][1:]
            shown = ["further records only" if lines else "flags or tags only"]
        elif ONLY_MAPQ.issuperset(shown):
            shown = [f"{shown[0]} only"]
        kinds.update(shown)
        examples[shown[0].endswith(" only")].append(f"{change} ({', '.join(shown)})")
    return len(before), len(differ), kinds, [*examples[0], *examples[1]]


def compare(sets: Sequence[Set], a: dict[str, Path | str], b: dict[str, Path | str]) -> tuple[int, int]:
    """Prints a line for each set that differs; returns the numbers of reads and of those with other records."""
    reads = changed = 0
    for one in sets:
        before, after = a[one.name], b[one.name]
        if isinstance(after, str):
            raise Failure(f"{one.name}: this tree: {after}")
        if isinstance(before, str):
            print(f"{one.name}: not compared, as the base cannot map it: {before}")
            continue
        total, differ, kinds, examples = tally(before, after)
        reads, changed = reads + total, changed + differ
        if differ:
            print(
                f"{one.name}: {differ:,} of {total:,} reads differ: "
                + ", ".join(f"{number} {kind.replace('_', ' ')}" for kind, number in kinds.most_common())
            )
            print(*(f"    {text}" for text in islice(examples, 2)), sep="\n")
        elif list(records(before)) != list(records(after)):
            changed += 1
            print(f"{one.name}: the same records in another order")
    return reads, changed


# -- the check ----------------------------------------------------------------------------------------------------


def check(base: str, head: str | None, root: Path = ROOT) -> int:
    """Compare two trees; `head` None is the checkout. Raises Failure."""
    try:
        short = git("rev-parse", "--short", "--verify", f"{base}^{{commit}}", root=root)
    except subprocess.CalledProcessError:
        raise Failure(f"git knows no commit {base}") from None
    if (
        subprocess.run(
            ["git", "diff", "--quiet", base, *([head] if head else []), "--", *PACKAGE], cwd=root
        ).returncode
        == 0
    ):
        print(f"records: same as {short}, as the package is the same")
        return 0
    if missing := [name for name in ("setuptools", "Cython") if not importlib.util.find_spec(name)]:
        raise Failure(f"install {' and '.join(missing)} to build {short}, as `make same-records` does")
    (root / "build").mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="same-records-", dir=root / "build") as name,
        ThreadPoolExecutor(2) as pool,
    ):
        folder = Path(name)
        trees = [folder / "before", folder / "after"]
        take_commit(base, trees[0], root)
        if head:
            take_commit(head, trees[1], root)
        else:
            take_checkout(trees[1], root)
        took = [time.perf_counter()]
        builds = []
        for tree in trees:
            take_build(tree, root)
            builds.append(pool.submit(build, tree))
        for future, which in zip(builds, (short, head or "this tree"), strict=True):
            try:
                future.result()
            except Failure as failure:
                raise Failure(f"{which} {failure}") from None
        took.append(time.perf_counter())
        sets = make_sets(trees[1], root / "tests" / "data", folder)
        mapped = [pool.submit(map_sets, tree, sets, folder) for tree in trees]
        before, after = (future.result() for future in mapped)
        reads, changed = compare(sets, before, after)
        took.append(time.perf_counter())
    built, ran = took[1] - took[0], took[2] - took[1]
    counts = f"{reads:,} reads in {len(sets)} sets, {built:.0f} s to build, {ran:.0f} s to map"
    said = changing(f"{base}..{head or 'HEAD'}", root)
    for commit, value in said:
        print(f"{commit.name} {commit.subject}: {value}")
    if not changed:
        print(f"records: same as {short} ({counts})" + (", though a commit says `changed`" if said else ""))
        return 0
    if said:
        print(f"records: {changed:,} reads differ from {short}, and commits say so ({counts})")
        return 0
    print(
        f"records: {changed:,} reads differ from {short} ({counts}).\n"
        f"No commit since then says so. If that is meant, end its message with `Records: changed {changed} (why)`."
    )
    return 1


def main(argv: Sequence[str] | None = None, root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "span", nargs="?", metavar="BASE[..HEAD]", help="default: see above, to this tree as it is"
    )
    args = parser.parse_args(argv)
    base, _, head = (args.span or "").partition("..")
    base = base or default_base(root)
    if base is None:
        print("records: not compared, as there is no parent commit here")
        return 0
    try:
        return check(base, head or None, root)
    except subprocess.CalledProcessError as error:
        print(f"same_records: {(error.stderr or '').strip() or 'git fails'}".splitlines()[0], file=sys.stderr)
    except (Failure, OSError) as error:
        print(f"same_records: {error}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
