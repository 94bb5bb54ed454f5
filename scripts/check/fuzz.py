"""Mutates what gassst reads, and its command lines, and checks that every run ends as docs/guide/errors.md says.

    python scripts/check/fuzz.py --seconds 600               # as many cases as fit
    python scripts/check/fuzz.py --count 200 --seed 5 --kind fastq
    python scripts/check/fuzz.py --replay tests/data/fuzz/NAME.json

A case is its kind and its seed, which are printed for every failure. Mutations know the structure of a file: records of
FASTQ, lines of SAM, blocks of BGZF, sections of an index. A case fails where a run

* has an exit code that is not in the list, hangs or dies of a signal,
* says more than one line with an error, or a traceback,
* leaves a hidden file, or fails and leaves something under the name of its output,
* changes one of its inputs, or writes what lies in a place that only an input names,
* or maps reads otherwise than before, though the mutation leaves their content as it was.

A failure is made smaller while it still fails in the same way, and written to a file that `--replay` takes. Kept in
tests/data/fuzz, it is run by tests/cli/test_fuzz.py.
"""

from __future__ import annotations

import argparse
import base64
import bz2
import gzip
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
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
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

OUTPUTS = ("out.sam", "out.bam", "out.cram")
PART_FORMATS = ("sam", "bam", "cram")
BASES = b"ACGT"


# --- cases ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A command line and the files beside those of the world that it runs on.

    `same` is a command line whose records must be the same, in the files of the world as they are.
    """

    argv: list[str]
    files: dict[str, bytes] = field(default_factory=dict)
    same: list[str] | None = None

    def as_json(self) -> dict[str, Any]:
        files = {name: base64.b64encode(data).decode() for name, data in self.files.items()}
        return {"argv": self.argv, "files": files, "same": self.same}

    @classmethod
    def from_json(cls, text: dict[str, Any]) -> Case:
        files = {name: base64.b64decode(data) for name, data in text["files"].items()}
        return cls(text["argv"], files, text["same"])


class World:
    """Small valid inputs of every command, in memory; `folder` has them while they are made."""

    def __init__(self, folder: Path):
        rng = random.Random(1)
        unit = _random_bases(rng, 300)
        contigs = {
            "one": _random_bases(rng, 2500) + unit + _random_bases(rng, 800) + unit,
            "two": b"N" * 40 + _random_bases(rng, 900) + b"RYK" + _random_bases(rng, 500),
        }
        fasta = b"".join(b">%s a comment\n%s\n" % (n.encode(), _wrapped(s)) for n, s in contigs.items())
        (folder / "ref.fa").write_bytes(fasta)
        simulated = ["-l", "60", "-e", "0.03", "--seed", "3"]
        map_ = ["map", "-q", "-t", "1", "--device", "none", "ref.gsi"]
        steps = [
            ["index", "ref.fa", "-o", "ref.gsi", "-q"],
            ["simulate", "ref.fa", "-n", "24", *simulated, "-o", "reads.fq"],
            ["simulate", "ref.fa", "-n", "12", *simulated, "--pairs", "200,20", "-o", "1.fq", "-o", "2.fq"],
            [*map_, "reads.fq", "-o", "sim.sam", "--stats", "stats.json"],
            [*map_, "reads.fq", "-o", "sim.bam"],
            [*map_, "reads.fq", "-o", "sim.cram"],
            *[
                [
                    *map_,
                    "1.fq",
                    "2.fq",
                    "--shard",
                    f"{i}/2",
                    "-o",
                    f"{form}{i}.{form}",
                    "--stats",
                    f"{form}{i}.json",
                ]
                for form in PART_FORMATS
                for i in (1, 2)
            ],
            ["insert", "-q", "-t", "1", "--device", "none", "ref.gsi", "1.fq", "2.fq", "-o", "model.json"],
            ["report", "stats.json", "-o", "stats.html"],  # imports matplotlib once
        ]
        before = os.getcwd()
        os.chdir(folder)
        try:
            for argv in steps:
                if cli.main(argv):
                    raise RuntimeError(f"gassst {' '.join(argv)}")
        finally:
            os.chdir(before)
        (folder / "stats.html").unlink()
        self.files = {path.name: path.read_bytes() for path in folder.iterdir()}
        one, two = (fastq_records(self.files[name]) for name in ("1.fq", "2.fq"))
        self.files["both.fq"] = fastq_text([record for pair in zip(one, two, strict=True) for record in pair])
        self.files["reads.fa"] = b"".join(
            b">%s\n%s\n" % (r[0], r[1]) for r in fastq_records(self.files["reads.fq"])
        )


def _random_bases(rng: random.Random, count: int) -> bytes:
    return bytes(rng.choices(BASES, k=count))


def _wrapped(sequence: bytes) -> bytes:
    return b"\n".join(sequence[i : i + 70] for i in range(0, len(sequence), 70))


# --- mutations of bytes and lines -----------------------------------------------------------------------------

ODD_BYTES = [b"\0", b"\xff", b"\r", b"\n", b"\t", b"@", b">", b"+", b" ", b"\x1b", b"\xe9", b"*", b"~", b"!"]
ODD_NUMBERS = [0, 1, -1, 127, 128, 255, 256, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, -(2**31)]


def mutated_bytes(rng: random.Random, data: bytes) -> bytes:
    """One change anywhere."""
    if not data:
        return rng.choice(ODD_BYTES)
    at, size = rng.randrange(len(data)), rng.choice([1, 1, 2, 4, 16, 300])
    other = rng.randrange(len(data))
    number = struct.pack(rng.choice("<>") + rng.choice("hiq"), rng.choice([0, 1, -1, 127]))
    return rng.choice(
        [
            lambda: data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :],
            lambda: data[:at] + rng.randbytes(size) + data[at + size :],
            lambda: data[:at] + rng.choice(ODD_BYTES) * size + data[at:],
            lambda: data[:at] + data[at + size :],
            lambda: data[:at],
            lambda: data[:at] + data[other : other + size] + data[at:],
            lambda: data[:at] + number + data[at + len(number) :],
            lambda: data + rng.choice([b"\0" * size, data[:size], rng.randbytes(size)]),
        ]
    )()


def mutated_lines(rng: random.Random, text: bytes, separator: bytes = b"\t") -> bytes:
    """One change of a line, or of a field of one."""
    lines = text.split(b"\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    fields = lines[i].split(separator)
    k = rng.randrange(len(fields))
    odd = [b"", b"*", b"-1", b"x" * 300, b"%d" % rng.choice(ODD_NUMBERS), rng.choice(ODD_BYTES), b"\xc3\xa9"]
    action = rng.randrange(6)
    if action == 0:
        del lines[i]
    elif action == 1:
        lines[i], lines[j] = lines[j], lines[i]
    elif action == 2:
        lines.insert(i, lines[j])
    elif action == 3:
        lines[i] = mutated_bytes(rng, lines[i])
    else:
        fields[k] = rng.choice(odd) if action == 4 else mutated_bytes(rng, fields[k])
        lines[i] = separator.join(fields)
    return b"\n".join(lines)


# --- FASTQ ----------------------------------------------------------------------------------------------------

Record = tuple[bytes, bytes, bytes]


def fastq_records(text: bytes) -> list[Record]:
    lines = text.split(b"\n")
    return [(lines[i][1:], lines[i + 1], lines[i + 3]) for i in range(0, len(lines) - 3, 4)]


def fastq_text(records: Iterable[Record], end: bytes = b"\n") -> bytes:
    return b"".join(b"@%s%s%s%s+%s%s%s" % (n, end, s, end, end, q, end) for n, s, q in records)


def _odd_record(rng: random.Random, record: Record) -> Record:
    name, sequence, quality = record
    long = rng.choice([999, 1001, 4001, 5000])
    length = rng.choice([0, 1, 3, 12, 19, 20, long])
    bases = (sequence * (length // max(1, len(sequence)) + 1))[:length] or _random_bases(rng, length)
    names = [
        b"",
        b"x" * rng.choice([254, 255, 300, 70_000]),
        b"@@x",
        b"n\xc3\xa9",
        b"a b\tc",
        b"n/1",
        b"n/2",
        b"=",
        b"*",
    ]
    return rng.choice(
        [
            (rng.choice(names), sequence, quality),
            (name, bases, b"I" * len(bases)),
            (name, bases, quality),
            (name, sequence, quality[:-1]),
            (name, sequence, mutated_bytes(rng, quality)),
            (name, mutated_bytes(rng, sequence), quality),
            (name, b"N" * len(sequence), quality),
            (name, sequence.replace(b"A", b"."), quality),
            (name + b" 1:N:0:ACGT\tXX:Z:1", sequence, quality),
        ]
    )


def mutated_fastq(rng: random.Random, text: bytes) -> bytes:
    records = fastq_records(text)
    if not records or rng.random() < 0.3:
        return mutated_bytes(rng, text)
    i = rng.randrange(len(records))
    action = rng.randrange(6)
    if action < 3:
        records[i] = _odd_record(rng, records[i])
    elif action == 3:
        del records[i]
    elif action == 4:
        records.insert(i, rng.choice(records))
    else:
        return mutated_lines(rng, text, b" ")
    return fastq_text(records)


def equivalent_fastq(rng: random.Random, text: bytes) -> bytes:
    """Other text of the same reads."""
    records = fastq_records(text)
    return rng.choice(
        [
            lambda: fastq_text(records, b"\r\n"),
            lambda: fastq_text((n + b" comment", s, q) for n, s, q in records),
            lambda: fastq_text((n, s.lower(), q) for n, s, q in records),
            lambda: text[:-1],
            lambda: b"".join(b"@%s\n%s\n+%s\n%s\n" % (n, s, n, q) for n, s, q in records),
        ]
    )()


# --- compression ----------------------------------------------------------------------------------------------


def as_bgzf(data: bytes, size: int = bgzf.BLOCK_SIZE) -> bytes:
    parts = [data[i : i + size] for i in range(0, len(data), size)]
    return b"".join(bgzf.block(part, bgzf.deflater()) for part in parts) + bgzf.END_OF_FILE


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gz": gzip.compress,
    "bgzf": lambda data: as_bgzf(data, 500),
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstd.compress,
}


def packed_in_parts(rng: random.Random, data: bytes, kind: str) -> bytes:
    """Compressed as two streams, with what the format allows between them and behind."""
    middle = rng.randrange(len(data) + 1)
    padding = {"gz": bytes(rng.randrange(600)), "xz": bytes(4 * rng.randrange(9))}.get(kind, b"")
    pack = PACKERS[kind]
    return pack(data[:middle]) + padding + pack(data[middle:]) + padding


# --- kinds of cases -------------------------------------------------------------------------------------------

MAP = ["map", "-q", "--device", "none"]


def _map_options(rng: random.Random) -> list[str]:
    output = rng.choice([["-o", name] for name in OUTPUTS])
    choices: list[list[str]] = [
        [], ["-t", "2"], ["-t", "2"], ["--batch-size", "7"], ["--all"], ["--mode", "local"],
        ["--sort"], ["--sort", "--markdup", "--barcode-tag", "RX", "--duplicate-type"],
        ["--xa", "-k", "5"], ["--unmapped", "rest.fq.gz"], ["--stats", "stats.out"], ["-C"], ["-s", "0"],
        ["--no-unmapped"], ["--eqx"],
    ]  # fmt: skip
    return [*output, *rng.choice(choices), *rng.choice(choices)]


def _inputs(rng: random.Random) -> tuple[list[str], list[str]]:
    """Options and files of reads."""
    return rng.choice(
        [
            ([], ["reads.fq"]),
            ([], ["1.fq", "2.fq"]),
            (["--interleaved"], ["both.fq"]),
            (["--single"], ["1.fq", "reads.fa"]),
        ]
    )


def fastq_case(rng: random.Random, world: World) -> Case:
    options, names = _inputs(rng)
    kind = rng.choice(list(PACKERS))
    files = {name: world.files[name] for name in names}
    target = rng.choice(names)
    for _ in range(rng.choice([1, 1, 2, 5])):
        files[target] = mutated_fastq(rng, files[target])
    packed = {name: PACKERS[kind](data) for name, data in files.items()}
    if rng.random() < 0.3:
        packed[target] = mutated_bytes(rng, packed[target])
    return Case([*MAP, *options, *_map_options(rng), "ref.gsi", *names], packed)


def same_case(rng: random.Random, world: World) -> Case:
    """Other files of the same reads, other threads and batches: the same records."""
    options, names = _inputs(rng)
    fixed = [*MAP, *options, *rng.choice([[], ["--all"], ["--mode", "local"]]), "-o", "out.sam"]
    files = {}
    for name in names:
        text = world.files[name]
        text = equivalent_fastq(rng, text) if text.startswith(b"@") else text
        kind = rng.choice(list(PACKERS))
        files[name] = PACKERS[kind](text) if kind == "plain" else packed_in_parts(rng, text, kind)
    free = rng.choice(
        [
            [],
            ["-t", "2"],
            ["--batch-size", "5"],
            ["-t", "3", "--batch-size", "1"],
            ["-t", "2"],
            ["--memory", "1M"],
        ]
    )
    tail = ["ref.gsi", *names]
    return Case([*fixed, *free, *tail], files, same=[*fixed, *tail])


def fasta_case(rng: random.Random, world: World) -> Case:
    text = world.files["ref.fa"]
    for _ in range(rng.choice([1, 1, 3])):
        text = rng.choice([mutated_bytes, mutated_lines])(rng, text)
    data = PACKERS[rng.choice(list(PACKERS))](text)
    data = mutated_bytes(rng, data) if rng.random() < 0.2 else data
    command = rng.choice(
        [
            ["index", "bad.fa", "-o", "out.gsi", "-q"],
            ["simulate", "bad.fa", "-n", "5", "-l", "50", "-e", "0.01", "-o", "out.fq"],
            [*MAP, "bad.fa", "reads.fq", "-o", "out.sam"],
        ]
    )
    return Case(command, {"bad.fa": data})


def index_case(rng: random.Random, world: World) -> Case:
    data = world.files["ref.gsi"]
    page, rest = data[:4096], data[4096:]
    action = rng.randrange(5)
    if action == 4:  # another content of a section that fits its checksum
        data = forged_section(rng, data)
    elif action == 0:  # a header that fits its checksum
        page = mutated_bytes(rng, page[:600]).ljust(4092, b"\0")[:4092]
        page += struct.pack("=I", zlib.crc32(page))
        data = page + rest
    elif action == 1:  # metadata of the same length that fit theirs
        at, size = struct.unpack_from("=QQ", page, 64 + 24)
        text = mutated_bytes(rng, data[at : at + size])[:size].ljust(size)
        table = bytearray(page)
        struct.pack_into("=I", table, 64 + 20, zlib.crc32(text))
        struct.pack_into("=I", table, 4092, zlib.crc32(table[:4092]))
        data = bytes(table) + data[4096:at] + text + data[at + size :]
    else:
        for _ in range(rng.choice([1, 3])):
            data = mutated_bytes(rng, data)
    check = rng.choice([[], [], ["--no-check"]])
    reads = rng.choice(
        [["reads.fq"], ["--insert", "200,20", "1.fq", "2.fq"]]
    )  # a warning would be a line more
    command = [*MAP, *check, *rng.choice([[], ["--all"], ["-t", "2"]]), "bad.gsi", *reads, "-o", "out.sam"]
    return Case(rng.choice([command, command, ["index", "--check", "bad.gsi", "-q"]]), {"bad.gsi": data})


def forged_section(rng: random.Random, data: bytes) -> bytes:
    """An index in which one section, but for the metadata, has wrong bytes and a right checksum."""
    table, (count,) = bytearray(data[:4096]), struct.unpack_from("=I", data, 24)
    row = 64 + 40 * rng.randrange(1, count)
    at, size = struct.unpack_from("=QQ", table, row + 24)
    text = data[at : at + size]
    for _ in range(rng.choice([1, 5, 50])):
        text = mutated_bytes(rng, text)
    extreme = [b"\xff" * size, bytes(size), rng.randbytes(size), text[::-1]]
    text = rng.choice([text, text, rng.choice(extreme)])[:size].ljust(size, b"\xff")
    struct.pack_into("=I", table, row + 20, zlib.crc32(text))
    struct.pack_into("=I", table, 4092, zlib.crc32(table[:4092]))
    return bytes(table) + data[4096:at] + text + data[at + size :]


def model_case(rng: random.Random, world: World) -> Case:
    """A model of insert sizes with other values, other fields, or other bytes."""
    text = world.files["model.json"]
    if rng.random() < 0.7:
        content = json.loads(text)
        holders = [content, content["insert"], content["insert"], content["insert"]["errors"]]
        for _ in range(rng.choice([1, 1, 3])):
            holder = rng.choice(holders)
            key = rng.choice([*holder, "also", "damage"])
            holder[key] = rng.choice([*ODD_VALUES, rng.choice(ODD_NUMBERS), json.loads(text)["insert"]])
        text = json.dumps(content).encode()
    else:
        text = mutated_bytes(rng, text)
    reads = rng.choice([["1.fq", "2.fq"], ["reads.fq"], ["--interleaved", "both.fq"]])
    return Case([*MAP, "--insert-model", "bad.json", "ref.gsi", *reads, "-o", "out.sam"], {"bad.json": text})


ODD_VALUES: list[Any] = [
    None, True, "", "fr", "rf", 0.0, -0.5, 1e308, 5e-324, 10**400, float("nan"), float("inf"), [], [0.1], [0.1] * 5,
    [1e-300] * 5, {}, [[[]]],
]  # fmt: skip
LEAKED = b"LEAKED"
"""What no output may have: it is in a place that only the content of an input names."""
TICKET = (
    b'{"htsget":{"format":"SAM","urls":[{"url":"data:,@HD%09VN:1.6%0Ar%094%09*%090%090%09*%09*%090%090%09A%09I'
    b'%09CO:Z:LEAKED"}]}}'
)
CONTENTS = {
    "htsget": TICKET,
    "crypt4gh": b"crypt4gh\1\0\0\0\1\0\0\0" + bytes(60),
    "vcf": b"##fileformat=VCFv4.2\n#CHROM\tPOS\n",
    "json": b'{"insert": {}}',
    "deep": b"[" * 100_000,
    "long": b">" + b"x" * 300_000,
    "zero": bytes(5000),
    "empty": b"",
}
SUFFIXES = (".sam", ".bam", ".cram", ".fq", ".fa", ".gz", ".gsi", ".json", ".csv", "")
PLACES = (
    [*MAP, "ref.gsi", "BAD", "-o", "out.sam"],
    [*MAP, "ref.gsi", "BAD", "2.fq", "-o", "out.sam"],
    [*MAP, "BAD", "reads.fq", "-o", "out.sam"],
    [*MAP, "ref.gsi", "--sheet", "BAD"],
    [*MAP, "ref.gsi", "1.fq", "2.fq", "--insert-model", "BAD", "-o", "out.sam"],
    [*MAP, "ref.gsi", "sim.cram", "--reference", "BAD", "-o", "out.sam"],
    ["insert", "ref.gsi", "BAD", "-q", "--device", "none", "-o", "out.json"],
    ["index", "BAD", "-q", "-o", "out.gsi"],
    ["index", "ref.fa", "--alt", "BAD", "-q", "-o", "out.gsi"],
    ["gather", "BAD", "-q", "-o", "out.sam"],
    ["gather", "bam1.bam", "bam2.bam", "--reference", "BAD", "-q", "-o", "out.sam"],
    ["evaluate", "BAD"],
    ["evaluate", "sim.sam", "--truth", "BAD"],
    ["evaluate", "sim.sam", "--reads", "BAD"],
    ["align", "BAD", "reads.fa", "-o", "out.tsv"],
    ["simulate", "BAD", "-n", "5", "-l", "50", "-e", "0.01", "-o", "out.fq"],
    ["report", "BAD", "-o", "out.html"],
)


def places_case(rng: random.Random, world: World) -> Case:
    """Any content in any place for a file, under any name, packed once or twice, perhaps damaged."""
    known = {name: data for name, data in world.files.items() if len(data) < 1 << 20} | CONTENTS
    data = known[rng.choice([*CONTENTS, *known])]
    for _ in range(rng.choice([0, 0, 1, 1, 2])):
        data = PACKERS[rng.choice(list(PACKERS))](data)
    if rng.random() < 0.2:
        data = mutated_bytes(rng, data)
    name = "bad" + rng.choice(SUFFIXES)
    return Case([name if word == "BAD" else word for word in rng.choice(PLACES)], {name: data})


def alignment_case(rng: random.Random, world: World) -> Case:
    name = rng.choice(["sim.sam", "sim.bam", "sim.cram"])
    data = world.files[name]
    for _ in range(rng.choice([1, 1, 3])):
        if name == "sim.sam":
            data = mutated_lines(rng, data)
        elif name == "sim.bam" and rng.random() < 0.7:
            data = as_bgzf(mutated_bytes(rng, _unpacked(data)))
        else:
            data = mutated_bytes(rng, data)
    bad = f"bad{name[3:]}"
    if rng.random() < 0.5:
        return Case(
            [*MAP, *_map_options(rng), *rng.choice([[], ["-C"], ["--interleaved"]]), "ref.gsi", bad],
            {bad: data},
        )
    other = rng.choice(
        [[bad], [bad, "--truth", "sim.sam"], ["sim.bam", "--truth", bad], [bad, "--reads", "reads.fq"]]
    )
    return Case(["evaluate", *other, "--json", "out.json"], {bad: data})


def _unpacked(data: bytes) -> bytes:
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error):
        return data


def gather_case(rng: random.Random, world: World) -> Case:
    """Parts of a run, one of them changed; or as they are, which must give the records of a run without parts."""
    form = rng.choice(PART_FORMATS)
    parts, counts = [f"{form}{i}.{form}" for i in (1, 2)], [f"{form}{i}.json" for i in (1, 2)]
    rng.shuffle(parts)
    if form != "cram" and rng.random() < 0.15:  # CRAM has an order of tags of its own
        argv = ["gather", "-q", *parts, "--reference", "ref.gsi", "-o", "out.sam"]
        return Case(argv, same=[*MAP, "ref.gsi", "1.fq", "2.fq", "-o", "out.sam"])
    files = {}
    if rng.random() < 0.9:
        files["bad"] = mutated_part(rng, form, world.files[parts[0]])
        parts[0] = "bad"
    if rng.random() < 0.2:
        files["bad.json"] = mutated_stats(rng, world.files[counts[0]])
        counts[0] = "bad.json"
    options: list[str] = rng.choice(
        [[], ["--sort"], ["--sort", "--markdup"], ["--sort", "--sort-memory", "1M"]]
    )
    told = rng.choice([[], [], ["--part-stats", *counts, "--stats", "stats.out"]])
    output = ["-o", rng.choice(OUTPUTS)]
    return Case(["gather", "-q", *parts, *options, *told, "--reference", "ref.gsi", *output], files)


def mutated_part(rng: random.Random, form: str, data: bytes) -> bytes:
    """One change: of bytes, of what lies in them, or of a whole block of BGZF, which is then lost or there twice."""
    if form == "sam":
        return mutated_lines(rng, data)
    if form == "cram" or rng.random() < 0.2:
        return mutated_bytes(rng, data)
    if rng.random() < 0.7:
        return as_bgzf(mutated_bytes(rng, _unpacked(data)))
    packed = as_bgzf(_unpacked(data), 400)
    starts = [match.start() for match in re.finditer(re.escape(packed[:4]), packed)]
    at = rng.randrange(len(starts) - 1)
    block = packed[starts[at] : starts[at + 1]]
    return packed[: starts[at]] + block * rng.choice([0, 2]) + packed[starts[at + 1] :]


def dask_case(rng: random.Random, world: World) -> Case:
    """Processes of this machine map the parts of an input: the records of a run in one process, or one line."""
    options, names = _inputs(rng)
    fixed = [*options, "ref.gsi", *names, "-o", "out.sam"]
    shards = ["--dask", "local", "--dask-shards", str(rng.choice([1, 2, 5])), "-t", rng.choice("12")]
    if rng.random() < 0.5:
        return Case([*MAP, *shards, *fixed], same=[*MAP, *fixed])
    target = rng.choice(names)
    data = mutated_fastq(rng, world.files[target])
    data = rng.choice([bytes, PACKERS["gz"], PACKERS["bgzf"]])(data)
    return Case([*MAP, *shards, *fixed], {target: data})


def stats_case(rng: random.Random, world: World) -> Case:
    data = mutated_stats(rng, world.files["stats.json"])
    return Case(["report", "bad.json", "-o", "out.html"], {"bad.json": data})


def mutated_stats(rng: random.Random, text: bytes) -> bytes:
    stats = json.loads(text)
    for _ in range(rng.choice([1, 2])):
        _mutate_json(rng, stats)
    text = json.dumps(stats).encode()
    return mutated_bytes(rng, text) if rng.random() < 0.3 else text


def _mutate_json(rng: random.Random, value: Any) -> None:
    """One change somewhere inside."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            return
        key = rng.choice(keys)
        if isinstance(value[key], (dict, list)) and value[key] and rng.random() < 0.8:
            value = value[key]
            continue
        odd = [None, "", "x\u20ac<script>", [], {}, True, -1, 0, 1e308, float("nan"), 2**70, [[1]], {"a": 1}]
        if rng.random() < 0.3 and isinstance(value, dict):
            del value[key]
        else:
            value[key] = rng.choice(odd)
        return


VALUES = [
    *["", "-", "--", "0", "1", "-1", "2", "20", "1e9", "9" * 20, "nan", "inf", "0.5", "1,2", "350,50"],
    *[
        "\n",
        "\xe9",
        "\udcff",
        "none",
        "auto",
        "cpu",
        "fd",
        "x",
        "bash",
        "local",
        "bam",
        "sam",
        "cram",
        "1M",
        "4G",
    ],
    *["ref.fa", "ref.gsi", "reads.fq", "1.fq", "2.fq", "sim.bam", "sim.sam", "stats.json", "missing.fq"],
    *["out.bam", "out.sam", "out.json", "missing/x.bam", ".", "/dev/null", "/dev/full", "/dev/stdout"],
    *["@RG\\tID:x", "a" * 300],
]
SLOW = {"--report", "--plot", "--device"}  # matplotlib, OpenCL: a second each


def arguments_case(rng: random.Random, world: World) -> Case:
    """A sound command line with options taken from the parser, with likely and with odd values; or any words."""
    sound = {
        "index": ["ref.fa", "-o", "out.gsi"],
        "map": ["--device", "none", "ref.gsi", "reads.fq", "-o", "out.sam"],
        "simulate": ["ref.fa", "-n", "5", "-l", "50", "-e", "0.01", "-o", "out.fq"],
        "evaluate": ["sim.bam"],
        "report": ["stats.json", "-o", "out.html"],
        "completion": ["bash"],
    }
    command = rng.choice(list(sound))
    argv = [command, *sound[command]]
    actions = [a for a in subparser_of(build_parser(command), command)._actions if a.option_strings]
    for _ in range(rng.choice([0, 1, 1, 2, 3])):
        action = rng.choice(actions)
        if SLOW & set(action.option_strings):
            continue
        argv.append(rng.choice(action.option_strings))
        if action.nargs != 0:
            argv.append(str(rng.choice([*(action.choices or []), *VALUES])))
    for _ in range(rng.choice([0, 0, 1, 2])):
        argv = _other_words(rng, argv) or [command]
    # Threads and reads without end would only take time.
    return Case([re.sub(r"^(1e9|9{20})$", "77", word) if command == "simulate" else word for word in argv])


def _other_words(rng: random.Random, argv: list[str]) -> list[str]:
    at = rng.randrange(len(argv))
    return rng.choice(
        [argv[:at] + argv[at + 1 :], argv[:at] + [rng.choice(VALUES)] + argv[at:], [*argv, argv[at]]]
    )


KINDS: dict[str, Callable[[random.Random, World], Case]] = {
    "fastq": fastq_case,
    "same": same_case,
    "fasta": fasta_case,
    "index": index_case,
    "model": model_case,
    "places": places_case,
    "alignments": alignment_case,
    "gather": gather_case,
    "stats": stats_case,
    "arguments": arguments_case,
    "dask": dask_case,
}
RARE = {"dask": 20}  # one seed of so many, unless it is the only kind: processes take seconds to start


def case_of(kind: str, seed: int, world: World) -> Case:
    return KINDS[kind](random.Random(f"{kind} {seed}"), world)


# --- verdicts -------------------------------------------------------------------------------------------------


def verdict(case: Case, world: World, folder: Path) -> str:
    """What is wrong with a run of the case, "" for nothing; the same word for the same fault."""
    ended, found = _run(case.argv, {**world.files, **case.files}, folder)
    fault = _fault(case.argv, ended, found, {**world.files, **case.files})
    if fault or case.same is None:
        return fault
    if ended.code:
        return f"the same reads are refused: {ended.error.strip()[-200:]}"
    _, expected = _run(case.same, world.files, folder)
    same = _records(found.get("out.sam", b"")) == _records(expected.get("out.sam", b""))
    return "" if same else "other records"


def _run(argv: list[str], files: dict[str, bytes], folder: Path) -> tuple[Ended, dict[str, bytes]]:
    """How it ended, and all files there are then."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    ended = run_forked(argv, folder)
    left = {os.fspath(p.relative_to(folder)): p for p in folder.rglob("*")}
    return ended, {name: path.read_bytes() if path.is_file() else b"" for name, path in left.items()}


def _fault(argv: list[str], ended: Ended, found: dict[str, bytes], before: dict[str, bytes]) -> str:
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
    if ended.code and new:
        return f"exit code {ended.code}, but there are outputs"
    return ""


def _records(sam: bytes) -> list[bytes]:
    return [line for line in sam.splitlines() if not line.startswith(b"@")]


def smaller(case: Case, fails: Callable[[Case], bool], tries: int = 200) -> Case:
    """A case with less in its files and its command line that still fails."""
    left = [tries]

    def still(candidate: Case) -> bool:
        left[0] -= 1
        return left[0] >= 0 and fails(candidate)

    if case.same is None:
        argv = _shrunk(case.argv, lambda part: still(replace(case, argv=part)))
        case = replace(case, argv=list(argv))
        for name in list(case.files):
            case = _with(case, name, _shrunk(case.files[name], partial(_fails_with, still, case, name)))
    return case


def _fails_with(still: Callable[[Case], bool], case: Case, name: str, data: bytes) -> bool:
    return still(_with(case, name, data))


def _with(case: Case, name: str, data: bytes) -> Case:
    return replace(case, files={**case.files, name: data})


def _shrunk(whole: Any, fails: Callable[[Any], bool]) -> Any:
    """Without all pieces, large ones first, that it fails without, too."""
    size = len(whole) // 2
    while size:
        at = 0
        while at < len(whole):
            part = whole[:at] + whole[at + size :]
            if fails(part):
                whole = part
            else:
                at += size
        size //= 2
    return whole


# --- the program ----------------------------------------------------------------------------------------------


@contextmanager
def working_folder() -> Iterator[tuple[World, Path]]:
    """The world, and a folder that cases may use."""
    with tempfile.TemporaryDirectory(prefix="gassst-fuzz-") as name:
        made = Path(name, "world")
        made.mkdir()
        yield World(made), Path(name, "case")


def seeds(first: int, kinds: Sequence[str]) -> Iterator[tuple[str, int]]:
    seed = first
    while True:
        for kind in kinds:
            if len(kinds) == 1 or seed % RARE.get(kind, 1) == 0:
                yield kind, seed
        seed += 1


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, help="stop after this time")
    parser.add_argument("--count", type=int, default=sys.maxsize, help="stop after this many cases")
    parser.add_argument("--seed", type=int, default=0, help="of the first case of each kind")
    parser.add_argument("--kind", choices=KINDS, action="append", help="only these kinds")
    parser.add_argument("--keep", type=Path, default=Path("build/fuzz"), help="folder for failures")
    parser.add_argument("--replay", type=Path, nargs="+", help="run these cases again")
    args = parser.parse_args(argv)
    with working_folder() as (world, folder):
        if args.replay:
            return _replay(args.replay, world, folder)
        end = time.monotonic() + args.seconds if args.seconds else float("inf")
        done: Counter[str] = Counter()
        failures = 0
        for kind, seed in seeds(args.seed, args.kind or list(KINDS)):
            if done.total() >= args.count or time.monotonic() > end:
                break
            done[kind] += 1
            failures += _try(kind, seed, world, folder, args.keep)
    print(
        f"{done.total()} cases ({', '.join(f'{n} {kind}' for kind, n in done.items())}), {failures} failures"
    )
    return int(failures > 0)


def _try(kind: str, seed: int, world: World, folder: Path, keep: Path) -> int:
    case = case_of(kind, seed, world)
    fault = verdict(case, world, folder)
    if not fault:
        return 0
    print(f"{kind} {seed}: {fault}\n  gassst {' '.join(map(repr, case.argv))}", flush=True)
    case = smaller(case, lambda other: verdict(other, world, folder) == fault)
    keep.mkdir(parents=True, exist_ok=True)
    path = keep / f"{kind}-{seed}.json"
    path.write_text(json.dumps(case.as_json(), indent=1) + "\n")
    print(f"  {path}", flush=True)
    return 1


def _replay(paths: list[Path], world: World, folder: Path) -> int:
    failures = 0
    for path in paths:
        fault = verdict(Case.from_json(json.loads(path.read_text())), world, folder)
        print(f"{path}: {fault or 'fine'}")
        failures += bool(fault)
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
