"""A damaged index: nothing in its header is believed before it is bounded, and no run ends well on a wrong byte."""

from __future__ import annotations

import gzip
import json
import shutil
import signal
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

import gassst
from gassst.errors import IndexFormatError, InputError
from gassst.index.file import ARRAYS, PAGE
from gassst.index.seed_index import SeedIndex
from gassst.model.reference import Reference

SECTIONS = ("metadata", *ARRAYS)
ROW = 40  # bytes of a section's row in the header, from byte 64 on: name 20, CRC-32 4, offset 8, size 8


@pytest.fixture
def copy(small_index, tmp_path) -> Path:
    path = tmp_path / "ref.gsi"
    path.write_bytes(small_index.read_bytes())
    return path


@pytest.fixture(scope="module")
def made(small_fasta, tmp_path_factory) -> Path:
    """An index of every fourth base."""
    path = tmp_path_factory.mktemp("made") / "step4.gsi"
    SeedIndex.build(small_fasta, step=4).save(path)
    return path


@pytest.fixture
def stepped(made, tmp_path) -> Path:
    """A copy of it."""
    return Path(shutil.copy(made, tmp_path))


def sealed(page: bytearray) -> bytes:
    """The header page with a checksum that fits."""
    page[-4:] = zlib.crc32(page[:-4]).to_bytes(4, "little")
    return bytes(page)


def with_header(path: Path, at: int, value: bytes) -> None:
    data = bytearray(path.read_bytes())
    data[at : at + len(value)] = value
    path.write_bytes(sealed(data[:PAGE]) + data[PAGE:])


def row_of(name: str) -> int:
    return 64 + ROW * SECTIONS.index(name)


HEADERS = {
    "no sections": (24, (0).to_bytes(4, "little")),
    "one section": (24, (1).to_bytes(4, "little")),
    "many sections": (24, (100_000).to_bytes(4, "little")),
    "most sections": (24, (2**32 - 1).to_bytes(4, "little")),
    "all that fit": (24, (100).to_bytes(4, "little")),
    "name not ASCII": (row_of("table"), b"t\xffble"),
    "name of another": (row_of("table"), b"planes\0"),
    "name with a line end": (row_of("table"), b"ta\nble\0"),
    "size": (16, (2**64 - 1).to_bytes(8, "little")),
    **{
        f"{name}: {field} {value}": (row_of(name) + offset, value.to_bytes(8, "little"))
        for name in ("metadata", "planes", "exception_code", "table", "positions")
        for field, offset in (("offset", 24), ("bytes", 32))
        for value in (0, 3, 4097, 3 << 20, 2**63, 2**64 - 1)
    },
}


@pytest.mark.parametrize("case", HEADERS)
def test_crafted_header(copy, case):
    with_header(copy, *HEADERS[case])
    with pytest.raises(IndexFormatError) as failed:
        SeedIndex.open(copy)
    assert "\n" not in str(failed.value)


METADATA = {
    "k": [None, "11", -1, 0, 3, 15, 9.0, True, 10**30],
    "total": [None, 0, -1, 2**70, "x"],
    "fasta_bytes": [-1, "x", [1]],
}  # fmt: skip


TEXTS = [b"", b"[]", b"null", b"{", b"\xff\xfe", b"[" * 20000, b'{"k": NaN}']


CONTIGS = [
    b"", b"\n", b"@SQ\tSN:a\tLN:60000", b"@SQ\tSN:a\tLN:60000\n", b"@SQ\tSN:a\tLN:0\n", b"@SQ\tSN:*\tLN:1\n", b"@SQ\n",
    b"@SQ\tSN:a\tLN:-1\n", b"@SQ\tSN:a\tLN:99999999999999999999\n", b"@SQ\tLN:1\n", b"@SQ\tSN:a\n", b"@SQ\tSN\n",
    b"@CO\tx\n", b"@SQ\tSN:\tLN:1\n", b"\xff" * 4096, b"@SQ\t" * 100 + b"\n", b"@",
]  # fmt: skip


@pytest.mark.parametrize("text", CONTIGS)
def test_crafted_contigs(copy, text):
    with_text(copy, "contigs", text)
    with pytest.raises(IndexFormatError, match="section (contigs|metadata)"):
        SeedIndex.open(copy)


def test_two_contigs_of_one_name_are_found_by_a_check(copy):
    lines = SeedIndex.open(copy).reference.contigs.text.tobytes().split(b"\n")
    lines[1] = lines[1].replace(lines[1].split(b"\t")[1], lines[0].split(b"\t")[1])
    with_text(copy, "contigs", b"\n".join(lines))
    with pytest.raises(IndexFormatError, match="section contigs names one contig twice"):
        SeedIndex.open(copy).check()


def with_text(path: Path, section: str, text: bytes) -> None:
    """The same file with another text in the section, of as many bytes."""
    data = bytearray(path.read_bytes())
    row = row_of(section)
    offset = int.from_bytes(data[row + 24 : row + 32], "little")
    room = PAGE * (-(-int.from_bytes(data[row + 32 : row + 40], "little") // PAGE))
    text = text[:room]
    data[offset : offset + len(text)] = text
    data[row + 20 : row + 24] = zlib.crc32(text).to_bytes(4, "little")
    data[row + 32 : row + 40] = len(text).to_bytes(8, "little")
    path.write_bytes(sealed(data[:PAGE]) + data[PAGE:])


def metadata_of(path: Path) -> dict:
    data, row = path.read_bytes(), row_of("metadata")
    offset, size = (int.from_bytes(data[row + at : row + at + 8], "little") for at in (24, 32))
    return json.loads(data[offset : offset + size])


@pytest.mark.parametrize("field, value", [(f, v) for f, values in METADATA.items() for v in values])
def test_crafted_field(copy, field, value):
    fields = metadata_of(copy)
    with_text(copy, "metadata", json.dumps({**fields, field: value}).encode())
    with pytest.raises(IndexFormatError, match="metadata"):
        SeedIndex.open(copy)
    with_text(copy, "metadata", json.dumps(fields).encode())
    assert SeedIndex.open(copy).k == fields["k"]


@pytest.mark.parametrize("value", [None, 0, 1, 2, 3, 8, -4, 4.0, "4", True, [4]])
def test_crafted_step(stepped, value):
    """With 2 the bytes of `following` are as many, but its elements are twice as many as positions."""
    fields = metadata_of(stepped)
    assert fields["step"] == 4
    with_text(stepped, "metadata", json.dumps({**fields, "step": value}).encode())
    with pytest.raises(IndexFormatError, match="step|section"):
        SeedIndex.open(stepped)


def test_positions_outside_the_reference(stepped):
    index = SeedIndex.build(SeedIndex.open(stepped).reference, step=4)
    index.check()
    index.positions[5] = index.reference.total // 4
    with pytest.raises(IndexFormatError, match="section positions"):
        index.check()


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_metadata_that_is_none(copy, text):
    with_text(copy, "metadata", text)
    with pytest.raises(IndexFormatError, match="metadata"):
        SeedIndex.open(copy)


DAMAGE = """
import sys
import numpy as np
import gassst
from gassst.errors import IndexFormatError

path, reads, mode, seed = sys.argv[1:]
data = np.fromfile(path, np.uint8)
rng = np.random.default_rng(int(seed))
first = gassst.Mapper(path, threads=1, device="none")
records = [line.rstrip().split() for line in open(reads)]
reads = [(name, bases, None) for name, bases in records]
for case in range(8):
    at = int(rng.integers(4096, len(data)))
    width = int(rng.choice([1, 8, 4096]))
    damaged = data.copy()
    damaged[at : at + width] = rng.integers(0, 256, len(damaged[at : at + width]))
    damaged[at] = data[at] ^ 128
    damaged.tofile(path + ".damaged")
    for way in ({"mode": mode}, {"mode": mode, "memory": 1 << 20}):
        try:
            mapper = gassst.Mapper(path + ".damaged", threads=1, device="none", **way)
            list(mapper.map(reads))
        except IndexFormatError as error:
            assert "damaged index" in str(error), error
        else:
            # Bytes between the sections are of no section.
            assert not any((damaged != data)[s.offset : s.offset + len(s.data)].any() for s in first.index._sections)
print("done")
"""


@pytest.mark.parametrize(
    "mode, seed, index",
    [("global", 1, "copy"), ("local", 2, "copy"), ("local", 1, "stepped"), ("global", 2, "stepped")],
)
def test_no_damage_crashes_a_run_or_goes_unseen(request, small_reads, tmp_path, mode, seed, index):
    """In a process of its own, which a wrong access would end."""
    copy = request.getfixturevalue(index)
    reads = tmp_path / "reads.txt"
    reads.write_text("".join(f"{name} {bases}\n" for name, bases, _ in small_reads[:120]))
    arguments = [sys.executable, "-c", DAMAGE, str(copy), str(reads), mode, str(seed)]
    done = subprocess.run(arguments, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


MAP = """
from gassst.cli import main
from gassst.runs.run import MappingRun
begin = MappingRun.begin
def announced(*arguments):
    print("begun", flush=True)
    return begin(*arguments)
MappingRun.begin = announced
main.run()
"""


def start(*argv) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", *map(str, argv)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def cut(path: Path) -> None:
    with open(path, "r+b") as file:
        file.truncate(PAGE)


@pytest.mark.parametrize(
    "check, threads, name", [("--no-check", 1, "out.bam"), ("--no-check", 2, "out.sam"), ("-q", 2, "out.bam")]
)
def test_index_cut_while_reads_are_mapped(copy, small_fastq, tmp_path, check, threads, name):
    """SIGBUS in a worker thread, or the check is first: one line either way."""
    output = tmp_path / name
    output.write_text("old")
    argv = "map", "-q", check, "-t", threads, "--device", "none", copy, "-", "-o", output, "--sort"
    run = start(MAP, *argv)
    reads = gzip.decompress(small_fastq.read_bytes()).decode()
    run.stdin.write(reads[:1])
    run.stdin.flush()  # the run knows by now that these are no alignments
    assert run.stdout.readline() == "begun\n"  # the index is mapped; the run waits for its first read
    cut(copy)
    _, error = run.communicate(reads[1:])
    assert run.returncode == InputError.exit_code
    assert error.count("\n") == 1 and "ref.gsi: " in error and "while it was in use" in error
    assert sorted(p.name for p in tmp_path.iterdir()) == [name, "ref.gsi"] and output.read_text() == "old"


CRASH = """
import ctypes
from gassst.cli import main
from gassst.mapping.batch_mapper import BatchMapper
BatchMapper.map_batch = lambda *_: ctypes.string_at(0)
main.run()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="macOS has SIGBUS for it")
@pytest.mark.parametrize("options", [[], ["--sort", "-t", "2"]], ids=["", "sorted"])
def test_a_crash_of_compiled_code_is_one_line(small_index, small_fastq, tmp_path, options):
    output = tmp_path / "out.bam"
    argv = "map", "-q", "--device", "none", small_index, small_fastq, "-o", output, *options
    done = subprocess.run([sys.executable, "-c", CRASH, *map(str, argv)], capture_output=True, text=True)
    assert done.returncode == -signal.SIGSEGV
    assert done.stderr.startswith("gassst: compiled code has crashed (SIGSEGV)")
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


# --- names of contigs ---------------------------------------------------------------------------------------


FORBIDDEN = ["", "*", "*a", "=a", *(f"a{c}b" for c in ",<>()[]{}'\"`\\\x01\x7fé ")]


@pytest.mark.parametrize("name", [n for n in FORBIDDEN if n.split() == [n]])
def test_forbidden_name_is_refused_with_its_line(tmp_path, name):
    fasta = tmp_path / "ref.fa"
    fasta.write_bytes(b">good\nACGT\n>" + name.encode() + b" text\nACGT\n")
    with pytest.raises(
        InputError, match=r"ref\.fa: line 3: contig .* SAM does not allow this name"
    ) as failed:
        Reference.from_fasta(fasta)
    assert str(failed.value).isprintable()
    with pytest.raises(InputError, match="SAM does not allow"):
        Reference.from_sequences([(name, b"ACGT")])


# --- forged: wrong content with right checksums -----------------------------------------------------------------


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("how", ["last", "random", "first"])
def test_forged_positions(copy, small_reads, how, paired):
    """Found by the run that meets them: nobody reads gigabytes to open an index."""
    n = len(SeedIndex.open(copy).positions)
    rng = np.random.default_rng(5)
    forged = {
        "last": np.full(n, 2**32 - 1, np.uint32),
        "random": rng.integers(0, 2**32, n, np.uint32),
        "first": np.zeros(n, np.uint32),
    }[how]
    with_text(copy, "positions", forged.tobytes())
    mapper = gassst.Mapper(copy, device="none", all_hits=not paired)
    reads = [sequence for _, sequence, _ in small_reads[:40]]
    with pytest.raises(IndexFormatError, match="damaged index: section positions is not of this reference"):
        mapper.map_pair(*reads[:2]) if paired else list(mapper.map(reads))


EXCEPTIONS = {
    "line end": ("exception_code", lambda a: np.full_like(a, 10)),
    "base": ("exception_code", lambda a: np.full_like(a, ord("A"))),
    "no length": ("exception_length", lambda a: np.zeros_like(a)),
    "long": ("exception_length", lambda a: np.full_like(a, 2**32 - 1)),
    "before all contigs": ("exception_start", lambda a: np.zeros_like(a)),
    "behind all contigs": ("exception_start", lambda a: np.full_like(a, 2**32 - 1)),
    "descending": ("exception_start", lambda a: a[::-1].copy()),
}


@pytest.mark.parametrize("case", EXCEPTIONS)
def test_forged_letters_of_the_reference(tmp_path, case):
    """MD is made of them."""
    path, fasta = tmp_path / "ref.gsi", tmp_path / "ref.fa"
    rng = np.random.default_rng(1)
    bases = "".join(rng.choice(list("ACGT"), 900))
    fasta.write_text(f">one\n{bases[:300]}R{bases[300:600]}NNN{bases[600:]}\n>two\n{bases[::-1]}Y{bases}\n")
    built = SeedIndex.build(fasta)
    built.save(path)
    name, change = EXCEPTIONS[case]
    array = getattr(built.reference.exceptions, name.removeprefix("exception_"))
    forged = change(array.astype(np.uint32) if name == "exception_start" else array)
    with_text(path, name, forged.tobytes())
    with pytest.raises(IndexFormatError, match="damaged index: section"):
        SeedIndex.open(path)
