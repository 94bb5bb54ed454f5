"""SAM, BAM and CRAM output, re-read with pysam and compared with records made from strings by other code."""

import itertools
import os
import pickle
import re
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pysam
import pytest
from places import environment
from record_batches import to_aligned_segments
from sam_worlds import (
    FRONT,
    READ_GROUP,
    TAIL,
    Batch,
    World,
    lines_in,
    make_hit,
    oriented,
    random_batch,
    sorted_tags,
    write,
)

from gassst.errors import InputError, UsageError
from gassst.files.contigs import Contigs
from gassst.model.layouts import NO_SCORE, NO_SUBOPTIMAL
from gassst.records import writer as sam


@pytest.fixture
def rng():
    return np.random.default_rng(20)


@pytest.fixture(scope="module")
def world():
    return World(np.random.default_rng(20))


@pytest.fixture(scope="module")
def batch(world):
    """Not to be changed: all tests share it."""
    return random_batch(np.random.default_rng(20), world)


def visible_and_hidden(folder):
    return sorted(os.listdir(folder))


# Records


@pytest.mark.parametrize("extension", ["sam", "bam"])
@pytest.mark.parametrize("options", [{}, {"eqx": True}, {"xa": True}, {"eqx": True, "xa": True}])
def test_every_field_and_tag(tmp_path, world, batch, extension, options):
    path = tmp_path / f"out.{extension}"
    written = write(path, world, batch, header=world.header(read_group=READ_GROUP), **options)
    expected = list(batch.lines(group="lane1", **options))
    assert lines_in(path) == expected
    assert written == len(expected)


@pytest.mark.parametrize("options", [{}, {"xa": True}])
@pytest.mark.parametrize("form", [(), ("version=3.1",), ("no_ref=1",), ("embed_ref", "small")])
def test_cram_holds_the_same_records(tmp_path, world, batch, options, form):
    path = tmp_path / "out.cram"
    header = world.header(read_group=READ_GROUP, md5s=world.md5s)
    write(path, world, batch, header=header, threads=2, format_options=form, **options)
    assert path.read_bytes()[:6] == b"CRAM" + (b"\3\1" if "version=3.1" in form else b"\3\0")
    assert visible_and_hidden(tmp_path) == ["out.cram"]
    reference = None if {"no_ref=1"} & {*form} else world.fasta(tmp_path)
    assert sorted_tags(lines_in(path, reference)) == sorted_tags(batch.lines(group="lane1", **options))
    if not form:
        other = path.read_bytes()
        write(path, world, batch, header=header, threads=2, format_options=("no_ref",), **options)
        assert len(other) < len(path.read_bytes())


def test_a_contig_with_u_is_written_without_reference(tmp_path, world, batch, caplog):
    """The index holds T: the MD5 of the header would not be that of the sequence that CRAM is written against."""
    header = world.header(md5s=["0" * 32, "1" * 32])
    write(tmp_path / "out.cram", world, batch, header=header)
    assert "contig chr1 has U in its FASTA" in caplog.text
    assert sorted_tags(lines_in(tmp_path / "out.cram")) == sorted_tags(batch.lines())


@pytest.mark.parametrize(
    "name, option, message",
    [
        ("out.cram", "version=9", "version takes 3.0|3.1"),
        # htslib 1.24 then frees memory twice where the records are not sorted.
        ("out.cram", "embed_ref=2", "embed_ref takes 0|1"),
        ("out.cram", "lossy_names=1", "CRAM takes version, no_ref"),
        ("out.bam", "version=3.0", "BAM has no such options"),
    ],
)
def test_senseless_options_of_cram(tmp_path, world, name, option, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        write(tmp_path / name, world, format_options=(option,))
    assert not visible_and_hidden(tmp_path)


@pytest.mark.parametrize("edits", [0, 1, 127, 128, 129, 255, 256, 32768, 65535])
def test_integer_tags_are_as_small_as_can_be(tmp_path, world, edits):
    batch = Batch(world, [("A" * 50, "I" * 50, [make_hit(0, 5, "A" * 50, [(50, "M")])])])
    batch.hits["edits"], batch.hits["score"] = edits, -edits
    batch.summaries["suboptimal"] = -edits if edits != NO_SCORE else NO_SUBOPTIMAL
    batch.summaries["n_second"] = 2**32 - 1
    style = sam.RecordStyle(more_tags=("X1",))
    [record] = to_aligned_segments(*batch.arrays, sam.record_builder(world.header(), world.arrays, style))
    tags = {tag: (value, kind) for tag, value, kind in record.get_tags(with_value_type=True)}
    signed = "C" if edits == 0 else "c" if edits <= 128 else "s" if edits <= 32768 else "i"
    assert tags["NM"] == (edits, "C" if edits < 256 else "S")
    assert tags["AS"] == (-edits, signed)
    assert tags["X1"][1] == "I" and "\tX1:i:4294967295" in record.to_string()
    assert tags.get("XS", (-65535, "i")) == (-edits, signed)
    assert ("XS" in tags) == (edits != NO_SCORE)


def test_every_read_letter(world):
    letters = "ACGTRYKMSWBDHVNacgtrykmswbdhvn.-*=Uu?"
    batch = Batch(world, [(letters, "I" * len(letters), []), (letters, "I" * len(letters), [])])
    batch.hits["flag"][1] |= 16
    records = to_aligned_segments(*batch.arrays, sam.record_builder(world.header(), world.arrays))
    shown = re.sub("[^ACGTRYKMSWBDHV]", "N", letters.upper())
    assert [r.query_sequence for r in records] == [shown, oriented(shown, True)]


LENGTHS = [0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 79, 80, 81, 127, 128, 1000]
NAME_LENGTHS = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 254]


@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize(
    ("length", "name_length"), list(zip(LENGTHS, itertools.cycle(NAME_LENGTHS), strict=False))
)
def test_sizes_of_reads_and_names(tmp_path, world, length, name_length, reverse):
    read = "".join(letter if letter in "ACGT" else "C" for letter in world.sequences[0][200 : 200 + length])
    hits = [make_hit(0, 200, read, [(length, "M")], reverse)] if length else []
    batch = Batch(world, [(oriented(read, reverse), "".join(chr(33 + i % 90) for i in range(length)), hits)])
    batch.reads.names = np.full(name_length, ord("n"), np.uint8)
    batch.reads.name_offsets = np.array([0, name_length], np.uint32)
    for extension in ("sam", "bam"):
        write(tmp_path / f"o.{extension}", world, batch)
        [line] = lines_in(tmp_path / f"o.{extension}")
        name, *fields = line.split("\t")
        assert name == "n" * name_length
        if length:
            assert fields == next(batch.lines()).split("\t")[1:]


# Bad arrays and names


def spoil(field, value, row=3):
    def change(batch):
        batch.hits[field][row] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        spoil("read", 7), spoil("read", 2**32 - 1, row=-1), spoil("position", 0),
        spoil("position", 2**32 - 1), spoil("position", FRONT + 3000 - 10), spoil("cigar_start", 2**32 - 1),
        spoil("cigar_runs", 0), lambda batch: batch.cigars.__setitem__(slice(None), 10 << 4 | 3),
        lambda batch: batch.cigars.__setitem__(slice(None), 10 << 4 | 5),
        lambda batch: setattr(batch, "hits", batch.hits[:-2]),
        lambda batch: setattr(batch, "hits", batch.hits[2:]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("xa", [False, True])
def test_impossible_rows_are_refused(tmp_path, world, change, xa):
    read = world.sequences[0][500:560]
    hits = [make_hit(0, 500, read, [(60, "M")])]
    batch = Batch(world, [(read, "I" * 60, hits * 2)] * 5)
    change(batch)
    with pytest.raises(ValueError, match="hit row"):
        write(tmp_path / "out.bam", world, batch, xa=xa)
    assert not visible_and_hidden(tmp_path)


@pytest.mark.parametrize("name", [b"", b"with space", b"with\ttab", b"@at", b"n" * 255, b"caf\xc3\xa9"])
def test_names_that_sam_cannot_hold(tmp_path, world, name):
    batch = Batch(world, [("ACGT", "IIII", [])])
    batch.reads.names = np.frombuffer(name, np.uint8)
    batch.reads.name_offsets = np.array([0, len(name)], np.uint32)
    with pytest.raises(InputError, match="read name"):
        write(tmp_path / "out.bam", world, batch)


# Other programs' opinion


def write_fasta(path, world):
    path.write_text("".join(f">{n}\n{s}\n" for n, s in zip(world.names, world.sequences, strict=True)))
    return path


@pytest.mark.external("samtools")
def test_samtools_calmd_finds_the_same_md_and_nm(tmp_path, rng, world):
    """Primary records only, of reads without IUPAC letters: samtools lets R match R."""
    entries = [(b, q, hits[:1]) for _, b, q, hits in random_batch(rng, world).entries]
    batch = Batch(world, [e for e in entries if not set(e[0].upper()) - set("ACGTN")])
    write(tmp_path / "out.bam", world, batch, eqx=True)
    fasta = write_fasta(tmp_path / "ref.fa", world)
    command = ["samtools", "calmd", "--no-PG", tmp_path / "out.bam", fasta]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert len(batch.entries) > 30
    assert sorted_tags(line for line in done.stdout.splitlines() if line[0] != "@") == sorted_tags(
        batch.lines(eqx=True)
    )
    assert "different" not in done.stderr


# Header


def test_header_lines():
    contigs = Contigs.of(["a", "b"], [7, 9], ["x" * 32, "y" * 32])
    text = sam.header(contigs, "@RG\tID:1", "0.1", "gassst\tmap 'a\nb'").text
    assert text.splitlines() == [
        "@HD\tVN:1.6\tSO:unsorted\tGO:query",
        "@SQ\tSN:a\tLN:7\tM5:" + "x" * 32,
        "@SQ\tSN:b\tLN:9\tM5:" + "y" * 32,
        "@RG\tID:1",
        "@PG\tID:gassst\tPN:gassst\tVN:0.1\tCL:gassst\\tmap 'a\\nb'",
    ]
    assert sam.header(Contigs(b""), sort_order="coordinate").text.startswith("@HD\tVN:1.6\tSO:coordinate\n")


@pytest.mark.parametrize(
    "text",
    [
        "", "RG\\tID:1", "@RG", "@RG ID:1", "@RG\\tSM:1", "@RG\\tID:", "@RG\\tID:1\\tSM", "@RG\\tID:1\\tID:2",
        "@RG\\tID:1\n", "@RG\\tID:\udcff",
    ],
)  # fmt: skip
def test_bad_read_groups(text):
    with pytest.raises(UsageError, match="read group"):
        sam.header(Contigs.of(["a"], [1]), read_group=text)


@pytest.mark.parametrize(
    "names, lengths",
    [
        (["*a"], [1]), (["=a"], [1]), (["a b"], [1]), ([""], [1]), (["a"], [2**31]), (["a"], [0]), (["a"], ["x"]),
        (["b", "a\x7f"], [1, 1]), (["a"], [10**30]), (["a"], [-1]), (["a"], ["1x"]), (["a"], [""]),
    ],
)  # fmt: skip
def test_contigs_that_sam_cannot_hold(names, lengths):
    with pytest.raises(ValueError, match=f"line {len(names)} of contigs"):
        Contigs.of(names, lengths)


# Files


def test_sort_of_a_contig_too_long_for_bai(tmp_path):
    """The planes may end early as long as they cover the contigs: here a sparse file stands in for 600 Mb."""
    length = 600_000_000
    planes = np.memmap(tmp_path / "planes", np.uint64, "w+", shape=((FRONT + length + TAIL) // 64 + 1, 3))
    empty = np.zeros(0, np.uint32)
    starts, lengths = np.array([FRONT]), np.array([length])
    arrays = sam.ReferenceArrays(planes, starts, lengths, starts[:0], empty, np.zeros(0, np.uint8))
    world = SimpleNamespace(arrays=arrays, sequences=["A" * 1000], names=["long"])
    read = "A" * 50
    batch = Batch(world, [(read, "I" * 50, [make_hit(0, 0, read, [(50, "M")])])])
    batch.hits["position"] = FRONT + length - 50
    write(tmp_path / "out.bam", world, batch, header=sam.header(Contigs.of(["long"], [length])), sort=True)
    assert visible_and_hidden(tmp_path) == ["out.bam", "out.bam.csi", "planes"]
    with pysam.AlignmentFile(tmp_path / "out.bam") as file:
        assert [r.reference_start for r in file.fetch("long", length - 100, length)] == [length - 50]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("options", [{}, {"sort": True}, {"threads": 2}])
def test_an_exception_leaves_what_was_there(tmp_path, world, batch, error, options):
    (tmp_path / "out.bam").write_text("earlier")
    before = len(os.listdir("/dev/fd"))
    with (
        pytest.raises(error),
        sam.AlignmentWriter(
            tmp_path / "out.bam",
            world.header(),
            world.arrays,
            sam.OutputOptions(unmapped_path=tmp_path / "un.fq", **options),
        ) as writer,
    ):
        writer.write(writer.encoder.encode(*batch.arrays))
        assert len(visible_and_hidden(tmp_path)) > 1
        raise error
    assert visible_and_hidden(tmp_path) == ["out.bam"]
    assert (tmp_path / "out.bam").read_text() == "earlier"
    assert len(os.listdir("/dev/fd")) == before


# Full disks and streams


@pytest.fixture(scope="module")
def run_child(world, batch, tmp_path_factory):
    """(code) -> a process with the names of `sam_worlds`, `world` and `batch`, whose standard output is a pipe."""
    pickled = tmp_path_factory.mktemp("child") / "world.pickle"
    pickled.write_bytes(pickle.dumps((world, batch)))
    head = f"import pickle, sys\nfrom sam_worlds import *\nworld, batch = pickle.load(open({str(pickled)!r}, 'rb'))\n"
    return lambda code: start_child(head + code)


def start_child(code):
    command = [sys.executable, "-c", code]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())


CHILD = """
try:
    write({path!r}, world, *[batch] * {times}, **{options!r})
except BrokenPipeError:
    sys.exit(7)
"""


@pytest.mark.parametrize(
    "path, options",
    [
        (None, {"format": "bam"}),
        ("/dev/stdout", {"format": "bam"}),
        ("-", {"format": "cram", "sort": True}),
        (None, {}),
    ],
)
def test_standard_output(run_child, tmp_path, batch, path, options):
    out, err = run_child(CHILD.format(path=path, times=1, options=options)).communicate()
    assert err == b""
    (tmp_path / "out").write_bytes(out)
    lines = lines_in(tmp_path / "out", batch.world.fasta(tmp_path))
    assert sorted(sorted_tags(lines)) == sorted(sorted_tags(batch.lines()))


ABORTED = """
with sam.AlignmentWriter("-", world.header(), world.arrays, sam.OutputOptions(format="bam")) as writer:
    writer.write(writer.encoder.encode(*batch.arrays))
    {last}
"""


def test_an_aborted_stream_does_not_look_complete(run_child):
    end_of_bgzf = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
    complete, _ = run_child(ABORTED.format(last="pass")).communicate()
    aborted, _ = run_child(ABORTED.format(last="sys.exit(1)")).communicate()
    assert complete.endswith(end_of_bgzf)
    assert not aborted.endswith(end_of_bgzf)
