"""SAM lines and BAM records made from arrays are those that htslib writes, byte for byte, for every kind of record."""

import gzip
from itertools import product

import numpy as np
import pysam
import pytest
from record_batches import aligned_segments, arrays_of, header_of, make_reference, random_batch

from gassst.model.layouts import HIT, READ_SUMMARY
from gassst.model.reference import Reference
from gassst.reads.in_memory import batch_of_records
from gassst.records import writer as sam
from gassst.records.encoding import bam_header

OPTIONS = [
    dict(
        zip(("eqx", "xa", "soft_clip_supplementary", "mark_secondary", "secondary_seq"), values, strict=True)
    )
    for values in product((False, True), repeat=5)
]
READ_GROUP = "@RG\tID:lane 1\tSM:x"


@pytest.fixture(scope="module")
def reference():
    return make_reference()


def written_by_htslib(path, segments, header):
    """The bytes behind the header of a BAM file that pysam has written."""
    with pysam.AlignmentFile(path, "wb", text=header) as file:
        for segment in segments:
            file.write(segment)
    content = gzip.decompress(path.read_bytes())
    begin = bam_header(header)
    assert content.startswith(begin)
    return content[len(begin) :]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: "-".join(k for k in o if o[k]) or "plain")
@pytest.mark.parametrize(("read_group", "quals"), [(None, True), (READ_GROUP, False)])
def test_every_kind_of_record(tmp_path, reference, options, read_group, quals):
    builder = sam.record_builder(
        header_of(reference, read_group), arrays_of(reference), sam.RecordStyle(**options)
    )
    batch = sam.HitBatch(*random_batch(reference, OPTIONS.index(options), quals=quals))
    lines, bam = (builder.encode(batch, bam=b) for b in (False, True))
    segments = aligned_segments(bytes(lines).decode(), builder)
    assert lines.records == bam.records == len(segments)
    assert bytes(lines).decode() == "".join(s.to_string() + "\n" for s in segments)
    for segment in segments:
        if quals and segment.query_length == 1 and segment.query_qualities is None:
            segment.query_qualities = pysam.qualitystring_to_array("*")  # which SAM cannot tell from none
    assert bytes(bam) == written_by_htslib(tmp_path / "out.bam", segments, builder.header.text)


def test_a_cigar_of_more_runs_than_bam_has_room_for(tmp_path, reference):
    """2 * 40,000 runs of = and X: in BAM a stand-in, and tag CG; in SAM as they are."""
    genome = np.random.default_rng(3).choice(np.frombuffer(b"AC", np.uint8), 90_000)
    reference = Reference.from_sequences([("a", genome.tobytes())])
    read = genome[:80_000].copy()
    read[::2] = ord("G")
    batch = batch_of_records([("long", read.tobytes(), "I" * 80_000)], max_length=80_000)
    hits = np.array([(0, reference.starts[0], 0, 1, 40_000, 0, 60, 0, 0, 0, 0)], HIT)
    arrays = sam.HitBatch(batch, hits, np.zeros(1, READ_SUMMARY), np.array([80_000 << 4], np.uint32))
    builder = sam.record_builder(
        header_of(reference, READ_GROUP), arrays_of(reference), sam.RecordStyle(eqx=True)
    )
    text = bytes(builder.encode(arrays, bam=False)).decode()
    [segment] = aligned_segments(text, builder)
    assert len(segment.cigartuples) > 65_535
    assert text == segment.to_string() + "\n"
    bam = bytes(builder.encode(arrays, bam=True))
    assert bam == written_by_htslib(tmp_path / "out.bam", [segment], builder.header.text)
