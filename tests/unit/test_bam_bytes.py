"""SAM lines and BAM records made from arrays are those that htslib writes, byte for byte, for every kind of record."""

import gzip
import os
from itertools import product

import numpy as np
import pysam
import pytest

from gassst.io import records as sam
from gassst.io.encoding import bam_header, write_all
from gassst.io.reads import ReadBatch
from gassst.io.reference import Reference
from gassst.layouts import HIT, NO_SUBOPTIMAL, READ_SUMMARY

M, I, D, S = 0, 1, 2, 4  # noqa: E741
UNMAPPED, REVERSE, SECONDARY, SUPPLEMENTARY, PROPER = 0x4, 0x10, 0x100, 0x800, 0x2
OPTIONS = [
    dict(zip(("eqx", "xa", "soft_clip_supplementary", "mark_secondary"), values, strict=True))
    for values in product((False, True), repeat=4)
]
READ_GROUP = "@RG\tID:lane 1\tSM:x"


@pytest.fixture(scope="module")
def reference():
    rng = np.random.default_rng(1)
    letters = np.frombuffer(b"ACGT", np.uint8)
    one, two = (bytearray(rng.choice(letters, n).tobytes()) for n in (5000, 3000))
    one[200:230] = b"N" * 30
    two[1000:1003] = b"RYN"
    return Reference.from_sequences([("one", bytes(one)), ("HLA*two:01", bytes(two))])


def arrays_of(reference):
    return sam.ReferenceArrays(reference.planes, reference.starts, reference.lengths, *reference.exceptions)


def header_of(reference, read_group):
    return sam.header(reference.names, reference.lengths.tolist(), reference.md5, read_group, "1", "test")


def random_cigar(rng, length, clipped):
    """Runs of M, I, D and, if clipped, S at the ends, that take `length` bases of the read."""
    clips = rng.integers(0, length // 3 + 1, 2) if clipped else (0, 0)
    left = length - sum(clips)
    runs = [(clips[0], S)] if clips[0] else []
    while left:
        n = int(rng.integers(1, left + 1))
        runs.append((n, M))
        left -= n
        gap = int(rng.integers(1, 9))
        if left > gap and rng.random() < 0.5:
            runs.append((gap, I))
            left -= gap
        elif left:
            runs.append((gap, D))
    runs += [(clips[1], S)] if clips[1] else []
    return [int(n) << 4 | op for n, op in runs]


class Rows:
    """Hits and CIGARs of a batch, in growing lists."""

    def __init__(self, rng, reference):
        self.rng, self.reference = rng, reference
        self.hits, self.cigars = [], []

    def add(self, read, length, flag, clipped=False):
        if flag & UNMAPPED:
            self.hits.append((read, 0, len(self.cigars), 0, 0, flag, 0, 0, 0))
            return
        runs = random_cigar(self.rng, length, clipped)
        span = sum(run >> 4 for run in runs if run & 15 in (M, D))
        contig = int(self.rng.integers(2))
        start = int(self.rng.integers(0, self.reference.lengths[contig] - span))
        reverse = REVERSE * int(self.rng.integers(2))
        edits, mapq = int(self.rng.choice([0, 3, 255, 256, 65535])), int(self.rng.integers(61))
        score = int(self.rng.choice([-40000, -129, -128, -1, 0, 70, 300, 70000]))
        position = int(self.reference.starts[contig]) + start
        row = (read, position, len(self.cigars), len(runs), edits, flag | reverse, mapq, reverse != 0, score)
        self.hits.append(row)
        self.cigars += runs


def random_batch(reference, seed, n=120, quals=True):
    """Reads single and paired, mapped and not, in one place, many or parts; names and bases of all kinds."""
    rng = np.random.default_rng(seed)
    mate = []
    while len(mate) < n:
        mate += [0] if rng.random() < 0.3 else [1, 2]
    rows, reads = Rows(rng, reference), []
    for read, which in enumerate(mate):
        length = int(rng.choice([1, 2, 63, 64, 65, 100, 151]))
        size = int(rng.choice([1, 2, 3, 4, 5, 20, 254]))
        name = reads[-1][0] if which == 2 else "".join(chr(c) for c in rng.integers(65, 127, size))
        bases = rng.choice(list("ACGT" * 8 + "acgtNRYU"), length)
        quality = "".join(chr(c) for c in rng.integers(33, 127, length)) if quals else None
        reads.append((name, "".join(bases), quality))
        proper = PROPER if which and rng.random() < 0.5 else 0
        if rng.random() < 0.25:
            rows.add(read, length, UNMAPPED)
            continue
        parts = int(rng.integers(0, 3)) if length > 60 and rng.random() < 0.3 else 0
        rows.add(read, length, proper, clipped=parts > 0)
        for _ in range(parts):
            rows.add(read, length, SUPPLEMENTARY, clipped=True)
        for _ in range(int(rng.choice([0, 0, 1, 4]))):
            rows.add(read, length, SECONDARY)
    summaries = np.zeros(len(reads), READ_SUMMARY)
    for field in ("n_best", "n_second", "n_reported"):
        summaries[field] = rng.choice([0, 1, 255, 256, 65536, 2**32 - 1], len(reads))
    summaries["suboptimal"] = rng.choice([NO_SUBOPTIMAL, -70000, -5, 0, 200], len(reads))
    batch = ReadBatch.from_records(reads)
    batch = ReadBatch(
        batch.names,
        batch.name_offsets,
        batch.bases,
        batch.quals,
        batch.offsets,
        mate=np.array(mate, np.uint8),
    )
    return batch, np.array(rows.hits, HIT), summaries, np.array(rows.cigars, np.uint32)


def written_by_htslib(path, segments, header):
    """The bytes behind the header of a BAM file that pysam has written."""
    with pysam.AlignmentFile(path, "wb", header=header) as file:
        for segment in segments:
            file.write(segment)
    content = gzip.decompress(path.read_bytes())
    begin = bam_header(str(header), header.references, header.lengths)
    assert content.startswith(begin)
    return content[len(begin) :]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: "-".join(k for k in o if o[k]) or "plain")
@pytest.mark.parametrize(("read_group", "quals"), [(None, True), (READ_GROUP, False)])
def test_every_kind_of_record(tmp_path, reference, options, read_group, quals):
    builder = sam.record_builder(header_of(reference, read_group), arrays_of(reference), **options)
    for seed in range(3):
        batch = sam.HitBatch(*random_batch(reference, seed, quals=quals))
        segments = builder.aligned_segments(batch)
        lines, bam = (builder.encode(batch, bam=b) for b in (False, True))
        assert lines.records == bam.records == len(segments)
        assert bytes(lines).decode() == "".join(s.to_string() + "\n" for s in segments)
        assert bytes(bam) == written_by_htslib(tmp_path / "out.bam", segments, builder.header)


def test_unmapped_reads_left_out(reference):
    builder = sam.record_builder(header_of(reference, None), arrays_of(reference))
    batch = sam.HitBatch(*random_batch(reference, 5))
    every = bytes(builder.encode(batch, bam=False)).decode().splitlines()
    some = builder.encode(batch, bam=False, skip_unmapped=True)
    flags = [int(line.split("\t")[1]) for line in every]
    kept = [flag & UNMAPPED == 0 or (flag & 0x1 and flag & 0x8 == 0) for flag in flags]
    assert bytes(some).decode().splitlines() == [line for line, keep in zip(every, kept, strict=True) if keep]
    assert some.records == sum(map(bool, kept)) < len(every)


def test_a_cigar_of_more_runs_than_bam_has_room_for(tmp_path, reference):
    """2 * 40,000 runs of = and X: in BAM a stand-in, and tag CG; in SAM as they are."""
    genome = np.random.default_rng(3).choice(np.frombuffer(b"AC", np.uint8), 90_000)
    reference = Reference.from_sequences([("a", genome.tobytes())])
    read = genome[:80_000].copy()
    read[::2] = ord("G")
    batch = ReadBatch.from_records([("long", read.tobytes(), "I" * 80_000)], max_length=80_000)
    hits = np.array([(0, reference.starts[0], 0, 1, 40_000, 0, 60, 0, 0)], HIT)
    arrays = sam.HitBatch(batch, hits, np.zeros(1, READ_SUMMARY), np.array([80_000 << 4], np.uint32))
    builder = sam.record_builder(header_of(reference, READ_GROUP), arrays_of(reference), eqx=True)
    [segment] = builder.aligned_segments(arrays)
    assert len(segment.cigartuples) > 65_535
    assert bytes(builder.encode(arrays, bam=False)).decode() == segment.to_string() + "\n"
    bam = bytes(builder.encode(arrays, bam=True))
    assert bam == written_by_htslib(tmp_path / "out.bam", [segment], builder.header)


def test_no_reads(reference):
    builder = sam.record_builder(header_of(reference, None), arrays_of(reference))
    batch = ReadBatch.from_records([])
    arrays = sam.HitBatch(batch, np.empty(0, HIT), np.empty(0, READ_SUMMARY), np.empty(0, np.uint32))
    assert [bytes(builder.encode(arrays, bam=b)) for b in (False, True)] == [b"", b""]


def test_pieces_of_any_number_and_size_are_written_in_full(tmp_path, monkeypatch):
    """A system call may take less than it is given."""
    monkeypatch.setattr(os, "writev", lambda fd, views: os.write(fd, bytes(views[0])[:3000]))
    pieces = [bytes([i & 255]) * (i * 37 % 9000) for i in range(600)]
    with open(tmp_path / "out", "wb") as file:
        write_all(file.fileno(), pieces)
    assert (tmp_path / "out").read_bytes() == b"".join(pieces)
