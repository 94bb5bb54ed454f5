"""Damages what gassst reads, and its command lines, and checks that every run ends as docs/guide/errors.md says.

    python scripts/check/fuzz.py --seconds 600               # as many cases as fit
    python scripts/check/fuzz.py --count 200 --seed 5 --kind fastq
    python scripts/check/fuzz.py --replay tests/data/fuzz/NAME.json

A case is its kind and its seed, which are printed for every failure. Mutations know the structure of a file: records of
FASTQ, lines of SAM, blocks of BGZF, sections of an index. A case fails where a run

* has an exit code that is not in the list, hangs or dies of a signal,
* says more than one line with an error, or a traceback,
* leaves a hidden file, or fails and leaves something under the name of its output,
* changes one of its inputs, or writes what lies in a place that only an input names.

A failure is written to a file that `--replay` takes. Kept in tests/data/fuzz, it is run by tests/cli/test_fuzz.py.
Whether sound inputs give the same records in every way is what scripts/check/fuzz_options.py asks.
"""

from __future__ import annotations

import argparse
import base64
import bz2
import gzip
import itertools
import json
import lzma
import os
import random
import re
import shutil
import struct
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import chdir, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from forked import Ended, run_forked

from gassst.cli import main as cli
from gassst.cli.parser import build_parser, subparser_of
from gassst.errors import EXIT_CODES
from gassst.files import bgzf

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Words = list[str]
MAP = "map -q --device none ref.gsi"
SIMULATE = "simulate ref.fa -n 5 -l 50 -e 0.01 -o out.fq"
INDEX = "index ref.fa -o out.gsi -q"
FORMS = ("sam", "bam", "cram")
# Sound command lines of every kind; a case damages one of the inputs that its line names.
LINES: dict[str, Words] = {
    "fastq": [
        f"{MAP} {reads}"
        for reads in ("reads.fq", "1.fq 2.fq", "--interleaved both.fq", "1.fq reads.fa --single")
    ],
    "fasta": [INDEX, SIMULATE, "map -q --device none ref.fa reads.fq -o out.sam"],
    "index": [
        *(f"{MAP} reads.fq {options} -o out.sam" for options in ("", "--no-check", "--all")),
        f"{MAP} --insert 200,20 1.fq 2.fq -o out.sam",
        "index --check ref.gsi -q",
    ],
    "model": [
        f"{MAP} --insert-model model.json {reads} -o out.sam"
        for reads in ("1.fq 2.fq", "--interleaved both.fq")
    ],
    "alignments": [
        *(f"{MAP} {tags} sim.{form}" for form in FORMS for tags in ("", "-C", "--interleaved")),
        *(
            f"evaluate sim.{form} {more} --json out.json"
            for form in FORMS
            for more in ("", "--truth sim.sam", "--reads reads.fq")
        ),
    ],
    "gather": [
        f"gather -q {form}2.{form} {form}1.{form} {options} --reference ref.gsi -o out.sam"
        for form in FORMS
        for options in (
            "",
            "--sort",
            "--sort --markdup",
            f"--part-stats {form}1.json {form}2.json --stats stats.out",
        )
    ],
    "stats": ["report stats.json -o out.html"],
    "dask": [f"{MAP} --dask local --dask-shards {n} 1.fq 2.fq -o out.sam" for n in "125"],
    "arguments": [
        *(INDEX, f"{MAP} reads.fq -o out.sam", SIMULATE),
        *("evaluate sim.bam", "report stats.json -o out.html", "completion bash"),
    ],
    "places": [
        *(f"{MAP} {words} -o out.sam" for words in ("BAD", "BAD 2.fq", "1.fq 2.fq --insert-model BAD")),
        f"{MAP} sim.cram --reference BAD -o out.sam",
        f"{MAP} --sheet BAD",
        "map -q --device none BAD reads.fq -o out.sam",
        "insert ref.gsi BAD -q --device none -o out.json",
        "index BAD -q -o out.gsi",
        "index ref.fa --alt BAD -q -o out.gsi",
        "gather BAD -q -o out.sam",
        "gather bam1.bam bam2.bam --reference BAD -q -o out.sam",
        *("evaluate BAD", "evaluate sim.sam --truth BAD", "evaluate sim.sam --reads BAD"),
        "align BAD reads.fa -o out.tsv",
        "simulate BAD -n 5 -l 50 -e 0.01 -o out.fq",
        "report BAD -o out.html",
    ],
}
# What a kind damages, by its names; all other files of its lines stay sound.
DAMAGED = {
    "fastq": ".fq .fa", "fasta": ".fa", "index": ".gsi", "model": ".json", "dask": ".fq", "stats": ".json",
}  # fmt: skip
RARE = {"dask": 20}  # one seed of so many, unless it is the only kind: processes take seconds to start
MAP_OPTIONS = """
-t 2|--batch-size 7|--all|--mode local|--sort|--eqx|-C|--no-unmapped|-s 0|--xa -k 5|--unmapped rest.fq.gz
|--stats stats.out|--sort --markdup --barcode-tag RX --duplicate-type"""


# --- cases ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A command line and the files beside those of the world that it runs on."""

    argv: Words
    files: dict[str, bytes] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {"argv": self.argv, "files": {k: base64.b64encode(v).decode() for k, v in self.files.items()}}

    @classmethod
    def from_json(cls, text: dict[str, Any]) -> Case:
        return cls(text["argv"], {name: base64.b64decode(data) for name, data in text["files"].items()})


class World:
    """Small valid inputs of every command, in memory; `folder` has them while they are made."""

    def __init__(self, folder: Path):
        rng = random.Random(1)
        one, two, three, unit = (bytes(rng.choices(b"ACGT", k=n)) for n in (3300, 900, 500, 300))
        contigs = {"one": one + unit + one[:500] + unit, "two": b"N" * 40 + two + b"RYK" + three}
        (folder / "ref.fa").write_bytes(
            b"".join(b">%s a comment\n%s\n" % (n.encode(), s) for n, s in contigs.items())
        )
        steps = [
            "index ref.fa -o ref.gsi -q",
            "simulate ref.fa -l 60 -e 0.03 --seed 3 -n 24 -o reads.fq",
            "simulate ref.fa -l 60 -e 0.03 --seed 3 -n 12 --pairs 200,20 -o 1.fq -o 2.fq",
            *(f"{MAP} reads.fq -o sim.{form} --stats stats.json" for form in FORMS),
            *(
                f"{MAP} 1.fq 2.fq --shard {i}/2 -o {form}{i}.{form} --stats {form}{i}.json"
                for form in FORMS
                for i in (1, 2)
            ),
            "insert -q -t 1 --device none ref.gsi 1.fq 2.fq -o model.json",
            "report stats.json -o stats.html",  # imports matplotlib once
        ]
        with chdir(folder):
            for line in steps:
                if cli.main(line.split()):
                    raise RuntimeError(f"gassst {line}")
        (folder / "stats.html").unlink()
        self.files = {path.name: path.read_bytes() for path in folder.iterdir()}
        first, second = (fastq_records(self.files[name]) for name in ("1.fq", "2.fq"))
        self.files["both.fq"] = fastq_text(
            [read for pair in zip(first, second, strict=True) for read in pair]
        )
        reads = fastq_records(self.files["reads.fq"])
        self.files["reads.fa"] = b"".join(b">%s\n%s\n" % (name, bases) for name, bases, _ in reads)


def case_of(kind: str, seed: int, world: World) -> Case:
    rng = random.Random(f"{kind} {seed}")
    argv = rng.choice(LINES[kind]).split()
    if kind == "arguments":
        return Case(other_words(rng, argv))
    if kind == "places":
        name, data = "bad" + rng.choice(SUFFIXES), any_content(rng, world)
        return Case([name if word == "BAD" else word for word in argv], {name: data})
    if argv[0] == "map" and "-o" not in argv:
        options, more = (rng.choice(["", *MAP_OPTIONS.split("|")]) for _ in range(2))
        argv += f"{options} {more} -o out.{rng.choice(FORMS)}".split()
    endings = tuple(DAMAGED.get(kind, ".sam .bam .cram .json").split())
    target = rng.choice([word for word in argv if word in world.files and word.endswith(endings)])
    data = world.files[target]
    for _ in range(rng.choice([1, 1, 2, 3])):
        data = MUTATIONS[Path(target).suffix](rng, data)
    if kind in ("fastq", "fasta", "dask"):
        data = PACKERS[rng.choice(list(PACKERS))](data)
        data = mutated_bytes(rng, data) if rng.random() < 0.3 else data
    bad = "bad" + target
    return Case([bad if word == target else word for word in argv], {bad: data})


# --- mutations ------------------------------------------------------------------------------------------------

ODD_BYTES = [b"\0", b"\xff", b"\r", b"\n", b"\t", b"@", b">", b"+", b" ", b"\x1b", b"\xe9", b"*", b"~", b"!"]
ODD_NUMBERS = [0, 1, -1, 127, 128, 255, 256, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, -(2**31)]
ODD_VALUES: list[Any] = [
    None, True, "", "fr", "x\u20ac<script>", 0.0, -0.5, -1, 1e308, 5e-324, 10**400, float("nan"), float("inf"), [],
    [0.1], [1e-300] * 5, {}, [[[]]], {"a": 1}, *ODD_NUMBERS,
]  # fmt: skip


def mutated_bytes(rng: random.Random, data: bytes) -> bytes:
    """One change anywhere."""
    if not data:
        return rng.choice(ODD_BYTES)
    at, size = rng.randrange(len(data)), rng.choice([1, 1, 2, 4, 16, 300])
    other = rng.randrange(len(data))
    number = struct.pack(rng.choice("<>") + rng.choice("hiq"), rng.choice([0, 1, -1, 127]))
    return rng.choice([
        lambda: data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :],
        lambda: data[:at] + rng.randbytes(size) + data[at + size :],
        lambda: data[:at] + rng.choice(ODD_BYTES) * size + data[at:],
        lambda: data[:at] + data[at + size :],
        lambda: data[:at],
        lambda: data[:at] + data[other : other + size] + data[at:],
        lambda: data[:at] + number + data[at + len(number) :],
        lambda: data + rng.choice([b"\0" * size, data[:size], rng.randbytes(size)]),
    ])()  # fmt: skip


def mutated_lines(rng: random.Random, text: bytes, separator: bytes = b"\t") -> bytes:
    """One change of a line, or of a field of one."""
    lines = text.split(b"\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    fields = lines[i].split(separator)
    k = rng.randrange(len(fields))
    odd = [b"", b"*", b"-1", b"x" * 300, b"%d" % rng.choice(ODD_NUMBERS), rng.choice(ODD_BYTES), b"\xc3\xa9"]
    fields[k] = rng.choice([*odd, mutated_bytes(rng, fields[k])])
    lines[i : i + 1] = rng.choice(
        [[], [lines[j]], [lines[j], lines[i]], [mutated_bytes(rng, lines[i])]]
        + 2 * [[separator.join(fields)]]
    )
    return b"\n".join(lines)


Record = tuple[bytes, bytes, bytes]


def fastq_records(text: bytes) -> list[Record]:
    lines = text.split(b"\n")
    return [(lines[i][1:], lines[i + 1], lines[i + 3]) for i in range(0, len(lines) - 3, 4)]


def fastq_text(records: Iterable[Record]) -> bytes:
    return b"".join(b"@%s\n%s\n+\n%s\n" % record for record in records)


def mutated_reads(rng: random.Random, text: bytes) -> bytes:
    """FASTQ or FASTA: an odd record, or other bytes and lines."""
    records = fastq_records(text) if text.startswith(b"@") else []
    if not records or rng.random() < 0.5:
        return rng.choice([mutated_bytes, mutated_lines])(rng, text)
    i = rng.randrange(len(records))
    name, bases, quality = records[i]
    long = (bases * 200)[: rng.choice([0, 1, 3, 12, 19, 20, 999, 1001, 4001, 5000])]
    long_name = b"x" * rng.choice([254, 255, 300, 70_000])
    names = [b"", long_name, b"@@x", b"n\xc3\xa9", b"a b\tc", b"n/1", b"=", b"*"]
    records[i] = rng.choice([
        (rng.choice(names), bases, quality), (name, long, b"I" * len(long)), (name, long, quality),
        (name, bases, quality[:-1]), (name, bases, mutated_bytes(rng, quality)),
        (name, mutated_bytes(rng, bases), quality), (name, b"N" * len(bases), quality),
        (name, bases.replace(b"A", b"."), quality), (name + b" 1:N:0:ACGT\tXX:Z:1", bases, quality),
    ])  # fmt: skip
    return fastq_text(records)


def as_bgzf(data: bytes, size: int = bgzf.BLOCK_SIZE) -> bytes:
    parts = [data[i : i + size] for i in range(0, len(data), size)]
    return b"".join(bgzf.block(part, bgzf.deflater()) for part in parts) + bgzf.END_OF_FILE


def mutated_bam(rng: random.Random, data: bytes) -> bytes:
    """One change: of bytes, of what lies in them, or of a whole block of BGZF, which is then lost or there twice."""
    try:
        plain = gzip.decompress(data)
    except (OSError, EOFError, zlib.error):
        plain = b""
    if not plain or rng.random() < 0.2:
        return mutated_bytes(rng, data)
    if rng.random() < 0.7:
        return as_bgzf(mutated_bytes(rng, plain))
    packed = as_bgzf(plain, 400)
    starts = [match.start() for match in re.finditer(re.escape(packed[:4]), packed)]
    at = rng.randrange(len(starts) - 1)
    block = packed[starts[at] : starts[at + 1]]
    return packed[: starts[at]] + block * rng.choice([0, 2]) + packed[starts[at + 1] :]


def mutated_index(rng: random.Random, data: bytes) -> bytes:
    """Other bytes; or another header, or another content of a section, each with a checksum that fits."""
    page = bytearray(data[:4096])
    action = rng.randrange(4)
    if action == 0 or len(page) < 4096:
        return mutated_bytes(rng, data)
    if action == 1:
        page[:4092] = mutated_bytes(rng, bytes(page[:600])).ljust(4092, b"\0")[:4092]
    else:
        row = 64 + 40 * rng.randrange(struct.unpack_from("=I", data, 24)[0] % 16 or 1)
        at, size = struct.unpack_from("=QQ", page, row + 24)
        text = data[at : at + size]
        extreme = (
            [b"\xff" * size, bytes(size), rng.randbytes(size), text[::-1]] if size < len(data) else [text]
        )
        text = rng.choice([mutated_bytes(rng, text), mutated_bytes(rng, text), *extreme])[:size].ljust(
            len(text), b"\xff"
        )
        struct.pack_into("=I", page, row + 20, zlib.crc32(text))
        data = data[:at] + text + data[at + len(text) :]
    struct.pack_into("=I", page, 4092, zlib.crc32(page[:4092]))
    return bytes(page) + data[4096:]


def mutated_json(rng: random.Random, text: bytes) -> bytes:
    """One change somewhere inside, or of its bytes."""
    try:
        value = whole = json.loads(text)
    except ValueError:
        return mutated_bytes(rng, text)
    while isinstance(value, dict | list) and value:
        key = rng.choice(list(value) if isinstance(value, dict) else range(len(value)))
        if not value[key] or not isinstance(value[key], dict | list) or rng.random() < 0.2:
            value[key] = rng.choice([*ODD_VALUES, whole if rng.random() < 0.1 and value is not whole else 1])
            break
        value = value[key]
    try:
        text = json.dumps(whole).encode()
    except ValueError:  # it holds itself
        return b"[" * 1000
    return mutated_bytes(rng, text) if rng.random() < 0.3 else text


MUTATIONS: dict[str, Callable[[random.Random, bytes], bytes]] = {
    ".fq": mutated_reads, ".fa": mutated_reads, ".sam": mutated_lines, ".bam": mutated_bam, ".cram": mutated_bytes,
    ".gsi": mutated_index, ".json": mutated_json,
}  # fmt: skip
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes, "gz": gzip.compress, "bgzf": lambda data: as_bgzf(data, 500), "bz2": bz2.compress,
    "xz": lzma.compress, "zst": zstd.compress,
}  # fmt: skip

LEAKED = b"LEAKED"
"""What no output may have: it is in a place that only the content of an input names."""
TICKET = (
    b'{"htsget":{"format":"SAM","urls":[{"url":"data:,@HD%09VN:1.6%0Ar%094%09*%090%090%09*%09*%090%090%09A%09I'
    b'%09CO:Z:LEAKED"}]}}'
)
CONTENTS = [
    TICKET, b"crypt4gh\1\0\0\0\1\0\0\0" + bytes(60), b"##fileformat=VCFv4.2\n#CHROM\tPOS\n", b'{"insert": {}}',
    b"[" * 100_000, b">" + b"x" * 300_000, bytes(5000), b"",
]  # fmt: skip
SUFFIXES = (".sam", ".bam", ".cram", ".fq", ".fa", ".gz", ".gsi", ".json", ".csv", "")


def any_content(rng: random.Random, world: World) -> bytes:
    """Any file of the world or odd text, packed once or twice, perhaps damaged."""
    known = [data for _, data in sorted(world.files.items()) if len(data) < 1 << 20]
    data = rng.choice([*CONTENTS, *CONTENTS, *known])
    for _ in range(rng.choice([0, 0, 1, 1, 2])):
        data = PACKERS[rng.choice(list(PACKERS))](data)
    return mutated_bytes(rng, data) if rng.random() < 0.2 else data


WORDS = """- -- 0 1 -1 2 20 1e9 nan inf 0.5 1,2 350,50 1M 4G none auto cpu fd x bash local bam sam cram ref.fa ref.gsi
reads.fq 1.fq 2.fq sim.bam sim.sam stats.json missing.fq @RG\\tID:x out.bam out.sam out.json missing/x.bam
. /dev/null /dev/full /dev/stdout"""
VALUES = ["", "\n", "\xe9", "\udcff", "9" * 20, "a" * 300, *WORDS.split()]
SLOW = {"--report", "--plot", "--device"}  # matplotlib, OpenCL: a second each


def other_words(rng: random.Random, argv: Words) -> Words:
    """A sound command line with options taken from the parser, with likely and with odd values; or any words."""
    command = argv[0]
    actions = [a for a in subparser_of(build_parser(command), command)._actions if a.option_strings]
    for _ in range(rng.choice([0, 1, 1, 2, 3])):
        action = rng.choice(actions)
        if not SLOW & set(action.option_strings):
            argv.append(rng.choice(action.option_strings))
            argv += [] if action.nargs == 0 else [str(rng.choice([*(action.choices or []), *VALUES]))]
    for _ in range(rng.choice([0, 0, 1, 2])):
        at = rng.randrange(len(argv))
        argv = rng.choice(
            [argv[:at] + argv[at + 1 :], argv[:at] + [rng.choice(VALUES)] + argv[at:], [*argv, argv[at]]]
        )
    # Threads and reads without end would only take time.
    return [re.sub(r"^(1e9|9{20})$", "77", word) if command == "simulate" else word for word in argv] or [
        command
    ]


# --- verdicts -------------------------------------------------------------------------------------------------


def verdict(case: Case, world: World, folder: Path) -> str:
    """What is wrong with a run of the case, "" for nothing; the same word for the same fault."""
    before = {**world.files, **case.files}
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, data in before.items():
        (folder / name).write_bytes(data)
    ended = run_forked(case.argv, folder)
    left = {os.fspath(p.relative_to(folder)): p for p in folder.rglob("*")}
    found = {name: path.read_bytes() if path.is_file() else b"" for name, path in left.items()}
    return _fault(case.argv, ended, found, before)


def _fault(argv: Words, ended: Ended, found: dict[str, bytes], before: dict[str, bytes]) -> str:
    lines = ended.error.splitlines()
    if ended.code < 0:
        return f"signal {-ended.code}"
    if "Traceback" in ended.error:
        return f"traceback: {lines[-1]}"
    if ended.code not in EXIT_CODES:
        return f"exit code {ended.code}"
    if ended.code and len(lines) != 1:
        return f"{len(lines)} lines of an error: {ended.error[-300:]!r}"
    if ended.code and not ended.error.isprintable() and not ended.error[:-1].isprintable():
        return f"an error with control characters: {ended.error!r}"
    changed = [name for name, data in before.items() if found.get(name) != data]
    # What is named once, as an output, may be written; so may the index of a FASTA, which has its name by default.
    if any(argv.count(name) != 1 and (name, argv[0]) != ("ref.gsi", "index") for name in changed):
        return "an input was changed"
    # htslib writes an index of --reference beside it.
    new = {name for name in found.keys() - before.keys() if not name.endswith(".fai")}
    if hidden := [name for name in new if name.startswith(".")]:
        return f"left behind: {len(hidden)} hidden files"
    if any(LEAKED in found[name] for name in new):
        return "an output has what lies in a place that an input names"
    return f"exit code {ended.code}, but there are outputs" if ended.code and new else ""


# --- the program ----------------------------------------------------------------------------------------------


@contextmanager
def working_folder() -> Iterator[tuple[World, Path]]:
    """The world, and a folder that cases may use."""
    with tempfile.TemporaryDirectory(prefix="gassst-fuzz-") as name:
        made = Path(name, "world")
        made.mkdir()
        yield World(made), Path(name, "case")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, help="stop after this time")
    parser.add_argument("--count", type=int, default=sys.maxsize, help="stop after this many cases")
    parser.add_argument("--seed", type=int, default=0, help="of the first case of each kind")
    parser.add_argument("--kind", choices=LINES, action="append", help="only these kinds")
    parser.add_argument("--keep", type=Path, default=Path("build/fuzz"), help="folder for failures")
    parser.add_argument("--replay", type=Path, nargs="+", help="run these cases again")
    args = parser.parse_args(argv)
    kinds = args.kind or list(LINES)
    end = time.monotonic() + args.seconds if args.seconds else float("inf")
    failures = count = 0
    with working_folder() as (world, folder):
        if args.replay:
            for path in args.replay:
                fault = verdict(Case.from_json(json.loads(path.read_text())), world, folder)
                print(f"{path}: {fault or 'fine'}")
                failures += bool(fault)
            return int(failures > 0)
        every = ((kind, seed) for seed in itertools.count(args.seed) for kind in kinds)
        for kind, seed in every:
            if count >= args.count or time.monotonic() > end:
                break
            if len(kinds) > 1 and seed % RARE.get(kind, 1):
                continue
            count += 1
            case = case_of(kind, seed, world)
            if fault := verdict(case, world, folder):
                failures += 1
                args.keep.mkdir(parents=True, exist_ok=True)
                path = args.keep / f"{kind}-{seed}.json"
                path.write_text(json.dumps(case.as_json(), indent=1) + "\n")
                print(
                    f"{kind} {seed}: {fault}\n  gassst {' '.join(map(repr, case.argv))}\n  {path}", flush=True
                )
    print(f"{count} cases, {failures} failures")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
