"""What Python programs may call things: presets, names of the command line, rows of hits, and what is public."""

from __future__ import annotations

import pysam
import pytest

import gassst
from gassst.cli.options import map_params
from gassst.cli.parser import parse
from gassst.errors import ParameterError, UsageError


@pytest.fixture(scope="module")
def mapper(small_index) -> gassst.Mapper:
    return gassst.Mapper(small_index, threads=1, device="none", max_hits=3)


@pytest.mark.parametrize("preset", ["hic", "small-rna", "ancient"])
def test_a_preset_is_that_of_the_command_line(small_index, preset):
    args = parse(["map", str(small_index), "r.fq", "--preset", preset, "-t", "1", "--device", "none"])
    assert gassst.Mapper(small_index, threads=1, device="none", preset=preset).params == map_params(args)


def test_a_preset_of_single_reads_refuses_pairs(small_index, small_fastq, tmp_path):
    mapper = gassst.Mapper(small_index, preset="ancient", device="none")
    for call in (
        lambda: mapper.map(["ACGT"], ["ACGT"]),
        lambda: mapper.map_file(small_fastq, tmp_path / "o.sam", interleaved=True),
    ):
        with pytest.raises(UsageError, match="preset 'ancient' takes single reads: these are pairs"):
            call()


def test_names_of_the_command_line(small_index, small_fastq, tmp_path):
    """A long option, a field of a group, and the opposite of a field."""
    options = {"min_score": 40, "clip_penalty": 3, "no_pairing": True}
    params = gassst.Mapper(small_index, device="none", **options).params
    assert (params.scoring, params.pairing) == (gassst.Scoring(min_score=40, clip=3), False)
    mapper = gassst.Mapper(small_index, device="none", threads=1)
    output = tmp_path / "o.bam"
    mapper.map_file(small_fastq, output, sort=True, markdup=True, markdup_within="file", trim5=3, upto=20)
    with pysam.AlignmentFile(output) as bam:
        assert "duplicates marked within each file" in str(bam.header)
        records = [record for record in bam if not record.flag & 0x900]
    assert len(records) == 20
    with pytest.raises(TypeError, match="'mark_dup'; did you mean 'markdup'\\?"):
        mapper.map_file(small_fastq, tmp_path / "o.sam", mark_dup=True)
    with pytest.raises(ParameterError, match="markdup needs sort=True"):
        mapper.map_file(small_fastq, tmp_path / "o.sam", markdup=True)


@pytest.mark.parametrize("typed, meant", [("n_threads", "threads"), ("min_scores", "min_score"), ("zzz", "")])
def test_another_name_is_named_with_what_was_meant(small_index, typed, meant):
    end = f"; did you mean '{meant}'\\?" if meant else ""
    with pytest.raises(TypeError, match=f"Mapper\\(\\) got an unexpected keyword argument '{typed}'{end}$"):
        gassst.Mapper(small_index, **{typed: 3})


def test_rows_of_hits(mapper, small_reads):
    hits = mapper.map_arrays(small_reads)
    rows = list(hits)
    assert len(rows) == len(hits) and {row.contig for row in rows} >= {None, "one", "two"}
    assert hits[0] == rows[0] and hits[-1] == rows[-1] and list(hits[3:9]) == rows[3:9]
    sure = hits[hits.mapq >= 30]
    assert list(sure) == [row for row in rows if row.mapq >= 30] and 0 < len(sure) < len(hits)
    assert list(hits[[5, 2]]) == [rows[5], rows[2]]
    with pytest.raises(IndexError):
        hits[len(hits)]
    for row, segment in zip(rows, mapper.map(small_reads), strict=True):
        assert (row.read_name, row.flag, row.mapq) == (
            segment.query_name,
            segment.flag,
            segment.mapping_quality,
        )
        assert row.contig == segment.reference_name or segment.is_unmapped


def test_md_and_cs_of_hits_are_those_of_records(mapper, small_fastq, small_reads, tmp_path):
    mapper.map_file(small_fastq, tmp_path / "o.sam", cs=True)
    with pysam.AlignmentFile(tmp_path / "o.sam") as sam:
        expected = {}
        for record in sam:
            if not record.flag & 0x904:
                expected[record.query_name] = record.get_tag("MD"), record.get_tag("cs")
    seen = 0
    for read in small_reads[:60]:
        for hit in mapper.map_one(read, MD=True, cs=True):
            if hit.is_primary:
                assert (hit.MD, hit.cs) == expected[read[0]]
                seen += 1
    assert seen > 20
    bases = mapper.seq("one", 40, 100)
    assert [hit.MD for hit in mapper.map_pair(bases, mapper.seq("one", 200, 260), MD=True)[1]][0] == "60"
    assert mapper.map_one(bases)[0].MD == ""
