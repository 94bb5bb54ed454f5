"""Runs random plausible command lines over all options, and judges every record that they write.

    python scripts/check/fuzz_options.py --cases 5000          # seeds 0 to 4999
    python scripts/check/fuzz_options.py --seed 17 --cases 1   # one of them again

Options and values come from the parser and from the table of options (`option_lines`), so a new option is tried at
once. Each case runs a command on a few reads of a small genome, then once more with other threads, processes, batches
and files, or in shards that are gathered. It fails where a run

* ends with a traceback, a signal, an error that is not a line of gassst, or with files left behind;
* has records that break a rule of `record_oracle`, or reports that do not fit the records;
* has other records the second time.

A failure is printed with its command, and its inputs are kept in the folder that is named. At the end comes how often
runs ended with which exit code, and what those said that were refused.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import re
import shlex
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pysam
from forked import run_forked
from fuzz import PACKERS
from option_lines import Given, Words, actions_of, drawn, flat, on_other_machine
from random_reads import ALIGNED, Source, World, random_reads
from record_oracle import Run, faults_of_counts, faults_of_file, faults_of_unmapped, key_of, selected

OF_WHOLE_RUN = {"skip", "upto", "coverage_path"}  # not in parts
OF_UNMAPPED = ("unmapped_path", "unmapped_mates_path", "unmapped_either")
OF_RUN = ("stats", "report", "multiqc")


class Shell:
    """Runs commands in a folder, and keeps what is wrong with them."""

    def __init__(self, world: World, folder: Path, tally: Counter[str]):
        self.world, self.folder, self.tally = world, folder, tally
        self.stdin, self.said = os.devnull, ""
        self.faults: list[str] = []
        folder.mkdir(parents=True)

    def fail(self, fault: str) -> None:
        self.faults.append(f"{fault}\n    cd {self.folder}; {self.said}")

    def run(self, *argv: str, must: bool = False) -> bool:
        """Whether it ended well; a refusal is a fault where it `must`."""
        self.said = f"gassst {shlex.join(argv)}" + (f" <{self.stdin}" if "-" in argv else "")
        before, out = self.files(), self.folder.parent / "stdout"
        with open(self.folder / self.stdin) as stdin, open(out, "wb") as stdout:
            ended = run_forked(list(argv), self.folder, lambda: os.dup2(stdin.fileno(), 0), stdout.fileno())
        out.rename(self.folder / "stdout")
        self.tally[f"exit {ended.code}"] += 1
        lines, files = ended.error.splitlines() or [""], self.files()
        new = sorted(files.keys() - before.keys())
        if "Traceback" in ended.error or any(f"/{name}".rpartition("/")[2].startswith(".") for name in new):
            self.fail(f"a traceback, or files left behind: {new} {ended.error[-300:]}")
        if ended.code:
            self.tally[f"  {ended.code}: {re.sub('[0-9]+', '0', lines[-1])[:150]}"] += 1
            if files != before:
                self.fail(f"exit {ended.code} with other files: {new}")
            # What a run logs before is a line that begins likewise.
            if ended.code not in (1, 2) or not all(line.startswith("gassst: ") for line in lines) or must:
                self.fail(f"exit {ended.code}: {ended.error[-300:].strip()}")
        return ended.code == 0

    def files(self) -> dict[str, bytes]:
        """What lies in the folder, except stdout."""
        paths = (path for path in self.folder.rglob("*") if path.is_file() and path.name != "stdout")
        return {os.fspath(path.relative_to(self.folder)): path.read_bytes() for path in paths}

    def judged(self, given: Given, source: Source, output: str, form: str) -> list[str]:
        """The records of an output, as text, after all rules were asked for."""
        run = Run(self.world.genomes[source.name], selected(source.reads, given), given, form)
        path = self.folder / (output if output != "-" else "stdout")
        fasta = self.world.folder / f"{source.name}.fa"
        faults = list(faults_of_file(path, run, fasta))[:3]
        with pysam.AlignmentFile(str(path), check_sq=False, reference_filename=str(fasta)) as file:
            records = list(file)
        texts = {name: (self.folder / given[name]).read_text() for name in OF_RUN if name in given}
        if "stats" in texts and "unique" not in given:  # counts are of all reads
            faults += faults_of_counts(json.loads(texts["stats"]), records, run)
        if "</html>" not in texts.get("report", "</html>") or not json.loads(texts.get("multiqc", "1")):
            faults.append("a report is cut")
        if "unmapped_path" in given and "unique" not in given:
            files = [self.folder / given[name] for name in OF_UNMAPPED[:2] if name in given]
            faults += faults_of_unmapped(files, {key_of(r) for r in records if not r.is_unmapped}, run)
        for fault in faults:
            self.fail(fault)
        lines = [record.to_string().split("\t") for record in records]
        if form == "cram":  # has an order of tags of its own
            lines = [[*line[:11], *sorted(line[11:])] for line in lines]
        return ["\t".join(line) for line in lines]


# --- cases ----------------------------------------------------------------------------------------------------


def reference_of(rng: random.Random, name: str, given: Given, with_alt: bool = True) -> str:
    """An index or the FASTA; all of them give the same records."""
    kinds = (
        ["meth.gsi"]
        if {"is_meth", "meth"} & given.keys()
        else ["gsi", "fa", "parts.gsi"]
        if with_alt
        else ["plain.fa"]
    )
    return f"../../world/{name}.{rng.choice(kinds)}"


def source_of(rng: random.Random, world: World, given: Given, least: int = 1) -> Source:
    name, count = rng.choice(list(world.genomes)), max(least, rng.choice([1, 2, 5, 12, 20, 40]))
    pairs = 0 if {"preset", "strata", "adapter"} & given.keys() else rng.choice([0, 1, 1, 0.6])
    reads = random_reads(rng, world.genomes[name], count, pairs, "is_meth" in given)
    wanted = " 1:N:0:ACGT" * ("casava_barcode" in given) + "\tXX:i:7" * ("comments" in given)
    comment = wanted or rng.choice(["", "", "", " 1:N:0:ACGT+TTGA", "\tXX:i:7\tBX:Z:AC-GT"])
    kinds = [*PACKERS]
    if rng.random() < 0.1:
        reads = {key: (bases, None) for key, (bases, _) in reads.items()}
    elif not comment and not {"rg_from_name", "umi_separator"} & given.keys():
        kinds += ALIGNED
    return Source(reads, name, world, kinds, comment, rng.choice(["", "", "/"]))


def map_case(rng: random.Random, first: Shell, again: Shell) -> None:
    """`gassst map`, then the same otherwise: other resources, other files of the reads, or shards."""
    given, words = drawn(rng, actions_of("map"), rng.choice([0, 1, 2, 3, 4, 6, 9]))
    source = source_of(rng, first.world, given)
    output = rng.choice(["out.sam", "out.bam", "out.bam", "out.cram", "-"])
    form = given.get("format", output[4:] or "sam")
    if rng.random() < 0.1:
        words["insert_model"] = ["--insert-model", f"../../world/{source.name}.json"]
    with_alt, seed = rng.random() < 0.8, rng.random()

    def argv(shell: Shell, options: list[str], kinds: Sequence[str] = ()) -> list[str]:
        reads = source.put(random.Random(seed), shell.folder, kinds)
        if not kinds and reads[0].startswith("reads.") and seed < 0.3:
            shell.stdin, reads[0] = reads[0], "-"
        reference = reference_of(rng, source.name, given, with_alt)
        return ["map", *options, "--device", "none", reference, *reads]

    if not first.run(*argv(first, flat(words)), "-o", output):
        return
    records = first.judged(given, source, output, form)
    # Each lane has a group of its own, and alignments say themselves which are pairs.
    is_fixed = {"rg_from_name", "unmapped_mates_path"} & given.keys()
    seed = seed if is_fixed else rng.choice([seed, rng.random()])
    if rng.random() < 0.25 and output != "-" and not OF_WHOLE_RUN & given.keys():
        given = {name: value for name, value in given.items() if name not in OF_UNMAPPED}
        words = {name: each for name, each in words.items() if name not in OF_UNMAPPED}
        ended = in_shards(rng, again, words, form, argv, output)
    else:
        ended = again.run(*argv(again, on_other_machine(rng, words)), "-o", output, must=True)
    if ended and again.judged(given, source, output, form) != records:
        again.fail(f"other records than by {first.said}")


def in_shards(
    rng: random.Random, shell: Shell, words: Words, form: str, argv: Callable[..., list[str]], output: str
) -> bool:
    """Maps the same reads in shards and joins them; says whether all runs ended well."""
    of_gather = {*actions_of("gather")}
    form, count = rng.choice([form, "cram" if form == "cram" else "bam"]), rng.choice([1, 2, 3, 5])
    whole = argv(shell, flat(words, words.keys() - of_gather), ["plain", "bgzf", "bam"])
    parts, is_counted = [f"part{i + 1}" for i in range(count)], any(name in words for name in OF_RUN)
    for i, part in enumerate(parts):
        more = ["--stats", f"{part}.json"] if is_counted else []
        if not shell.run(*whole, "--shard", f"{i + 1}/{count}", "-o", f"{part}.{form}", *more, must=True):
            return False
    rng.shuffle(parts)
    told = ["--part-stats", *(f"{part}.json" for part in parts)] if is_counted else []
    more = ["--reference", whole[whole.index("none") + 1], "-o", output, *flat(words, of_gather)]
    return shell.run("gather", *(f"{part}.{form}" for part in parts), *told, *more, must=True)


def sheet_case(rng: random.Random, first: Shell, again: Shell) -> None:
    """`gassst map --sheet`, again with what is complete left as it is, and with other resources."""
    given, words = drawn(rng, actions_of("map"), rng.choice([0, 1, 2, 4]))
    source = source_of(rng, first.world, given, least=2)
    kind, form = rng.choice([*PACKERS]), given.get("format", rng.choice(ALIGNED))
    keys = [key for key in source.reads if (key[1] > 0) == (max(source.mates) > 0)]
    middle = len(keys) // 2 - len(keys) // 2 % max(1, max(source.mates))
    outputs: dict[str, Source] = {}
    rows = ["sample,lane,R1,R2,output"]
    for i, half in enumerate([keys[:middle], keys[middle:]]):
        if half:
            some = source._replace(reads={key: source.reads[key] for key in half})
            outputs[f"out{i}.{form}"] = some
            for shell in (first, again):
                ones, twos = some.put_lanes(shell.folder, kind, 1, f"s{i}.")
            rows.append(f"s{i},L1,{ones[0]},{twos[0] if twos else ''},out{i}.{form}")
    for shell in (first, again):
        (shell.folder / "sheet.csv").write_text("\n".join(rows))
    tail = ["--device", "none", reference_of(rng, source.name, given), "--sheet", "sheet.csv"]
    argv = ["map", *flat(words), *tail]
    if not first.run(*argv):
        return
    written = {name: (first.folder / name).stat().st_mtime_ns for name in outputs}
    ended = again.run("map", *on_other_machine(rng, words), *tail, must=True)
    first.run(*argv, "--skip-existing", must=True)
    if written != {name: (first.folder / name).stat().st_mtime_ns for name in outputs}:
        first.fail("--skip-existing wrote an output that was complete")
    given = {name: value for name, value in given.items() if name not in OF_RUN}  # of all samples
    for output, some in outputs.items():
        records = first.judged(given, some, output, form)
        if ended and again.judged(given, some, output, form) != records:
            again.fail(f"other records of {output} than by {first.said}")


def insert_case(rng: random.Random, first: Shell, again: Shell) -> None:
    """`gassst insert`, the same model by other resources, and a run with it."""
    given, words = drawn(rng, actions_of("insert"), rng.choice([0, 1, 2, 4]))
    source = source_of(rng, first.world, given, least=60)
    reads = source.put(rng, first.folder)
    tail = ["--device", "none", reference_of(rng, source.name, given), *reads]
    if not first.run("insert", *flat(words), *tail, "-o", "model.json"):
        return
    if first.run("insert", *on_other_machine(rng, words), *tail, "-o", "again.json", must=True):
        one, two = (json.loads(first.files()[name])["insert"] for name in ("model.json", "again.json"))
        if one != two:
            first.fail("another model with other resources")
    options = flat(words, words.keys() - {"insert"})
    if first.run("map", *options, *tail, "--insert-model", "model.json", "-o", "out.bam", must=True):
        first.judged(given, source, "out.bam", "bam")


def index_case(rng: random.Random, first: Shell, again: Shell) -> None:
    """`gassst index`, the same bytes by other threads, and a run with it."""
    given, words = drawn(rng, actions_of("index"), rng.choice([0, 1, 2, 3]))
    is_meth = {"is_meth": "--meth"} if "meth" in given else {}
    source = source_of(rng, first.world, is_meth)
    argv = ["index", f"../../world/{source.name}.fa", *flat(words, words.keys() - {"check"}), "-o", "x.gsi"]
    if not first.run(*argv):
        return
    if again.run(*argv, "-t", rng.choice("1238"), must=True) and first.files() != again.files():
        again.fail("another index with other threads")
    first.run("index", "--check", "x.gsi", must=True)
    reads = source.put(rng, first.folder)
    if first.run("map", *is_meth.values(), "--device", "none", "x.gsi", *reads, "-o", "out.sam", must=True):
        first.judged(is_meth, source, "out.sam", "sam")


def other_case(rng: random.Random, first: Shell, again: Shell) -> None:
    """A command that maps nothing: twice the same output."""
    command = rng.choices(["simulate", "evaluate", "align", "split", "report"], [30, 20, 40, 20, 1])[0]
    given, words = drawn(rng, actions_of(command), rng.choice([0, 1, 2, 3, 4]))
    name = rng.choice(list(first.world.genomes))
    longest = 20 if "find" in given else 300
    reads = random_reads(rng, first.world.genomes[name], 8)
    queries = {key: (bases[:longest], None) for key, (bases, _) in reads.items()}
    text = Source(queries, name, first.world).text(queries)
    packed = PACKERS[rng.choice([*PACKERS])](text)
    world, suffix = (
        f"../../world/{name}",
        rng.choice(["bed", "tsv"] if "find" in given else ["tsv", "sam", "paf"]),
    )
    sound = {
        "simulate": f"{world}.fa -n 9 -l 50 -e 0.02 -o 1.fq{' -o 2.fq' * bool({'pairs', 'inserts'} & {*given})}",
        "evaluate": f"{world}.bam",
        "align": f"reads.fa {world}.fa -o out.{suffix}",
        "split": "reads.fa -o out.bgz",
        "report": f"{world}.stats.json -o out.html",
    }[command]
    options = flat(words)
    for shell in (first, again):
        (shell.folder / "reads.fa").write_bytes(packed)
        if not shell.run(command, *sound.split(), *options, must=shell is again):
            return
        options += ["-t", rng.choice("1238")] if command in ("align", "split") else []
    one, two = ({n: re.sub(b"@PG.*", b"", data) for n, data in s.files().items()} for s in (first, again))
    if one != two or (first.folder / "stdout").read_bytes() != (again.folder / "stdout").read_bytes():
        again.fail(f"other files than by {first.said}")
    if command == "split" and gzip.decompress(one["out.bgz"]) != text:
        again.fail("other text")


SHARES = {map_case: 20, sheet_case: 2, insert_case: 1, index_case: 1, other_case: 3}


def faults_of_case(seed: int, world: World, base: Path, tally: Counter[str]) -> list[str]:
    """What is wrong with a case; where nothing is, its folder is gone."""
    rng = random.Random(seed)
    case = rng.choices(list(SHARES), weights=list(SHARES.values()))[0]
    shells = [Shell(world, base / f"seed{seed}" / name, tally) for name in ("first", "again")]
    case(rng, *shells)
    faults = [fault for shell in shells for fault in shell.faults]
    if not faults:
        shutil.rmtree(base / f"seed{seed}")
    return faults


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=0, help="of the first case")
    parser.add_argument("--cases", type=int, default=1000, help="try this many seeds")
    args = parser.parse_args(argv)
    base = Path(tempfile.mkdtemp(prefix="gassst-options-"))
    world, tally, failures = World(base / "world"), Counter[str](), 0
    for seed in range(args.seed, args.seed + args.cases):
        if faults := faults_of_case(seed, world, base, tally):
            failures += 1
            print(f"--seed {seed} --cases 1: " + "\n  ".join(faults), flush=True)
    for text, count in sorted(tally.items()):
        print(f"{count:>7} {text}")
    print(f"{args.cases} cases, {failures} failures" + (f": see {base}" if failures else ""))
    if not failures:
        shutil.rmtree(base)
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
