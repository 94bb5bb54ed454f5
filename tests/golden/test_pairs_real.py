"""Real pairs on their genome, by the command: E. coli K-12, ERR022075, 2,043 pairs of 100 and 102 bases."""

from __future__ import annotations

import json
from pathlib import Path

import pysam
import pytest
from map_runs import lines_of
from places import DATA

from gassst.cli.main import main

GENOME = DATA / "ecoli_k12_mg1655.fa.gz"
PAIRS = [DATA / f"ecoli_ERR022075_R{mate}.fastq.gz" for mate in (1, 2)]


@pytest.fixture(scope="module")
def index(tmp_path_factory) -> Path:
    import gassst

    path = tmp_path_factory.mktemp("ecoli") / "ecoli.gsi"
    gassst.Index.build(GENOME).save(path)
    return path


@pytest.fixture(scope="module")
def mapped(index, tmp_path_factory):
    """Runs `gassst map`; gives the path of the output."""
    folder = tmp_path_factory.mktemp("out")

    def run(*options, reads=PAIRS, name="out.sam") -> Path:
        command = ["map", "-q", index, *reads, "-o", folder / name, *options]
        assert main([*map(str, command)]) == 0
        return folder / name

    return run


@pytest.fixture(scope="module", params=["global", "local"])
def mode(request) -> tuple[str, str]:
    return "--mode", request.param


@pytest.fixture(scope="module")
def baseline(mapped, mode) -> Path:
    return mapped("--device", "none", *mode, name=f"{mode[1]}.sam")


def pairs_of(path: Path) -> list[tuple[pysam.AlignedSegment, pysam.AlignedSegment]]:
    """The primary records."""
    with pysam.AlignmentFile(str(path)) as file:
        records = [record for record in file if not record.is_supplementary]
    assert len(records) == 2 * 2043
    pairs = list(zip(records[::2], records[1::2], strict=True))
    assert all(a.query_name == b.query_name and a.is_read1 and b.is_read2 for a, b in pairs)
    return pairs


def five_prime(record: pysam.AlignedSegment) -> int:
    return record.reference_end - 1 if record.is_reverse else record.reference_start


def template_length(one: pysam.AlignedSegment, other: pysam.AlignedSegment) -> int:
    if one.is_unmapped or other.is_unmapped:
        return 0
    distance = five_prime(other) - five_prime(one)
    return distance + (1 if distance > 0 else -1 if distance < 0 else 0)


def test_nearly_all_are_proper_and_sure(baseline):
    """As with bwa-mem2: 2,030 pairs proper, 98.6 % of the reads with MAPQ of at least 20, one unmapped."""
    pairs = pairs_of(baseline)
    assert sum(a.is_proper_pair for a, _ in pairs) >= 2028
    assert sum(record.mapping_quality >= 20 for pair in pairs for record in pair) >= 0.984 * 2 * 2043
    assert sum(record.is_unmapped for pair in pairs for record in pair) <= 4


def test_mate_fields(baseline, mode):
    """What each says of the other, derived again from the other's record."""
    kinds = set()
    for pair in pairs_of(baseline):
        for one, other in (pair, pair[::-1]):
            kinds.add((one.is_unmapped, other.is_unmapped))
            assert one.is_paired and one.mate_is_unmapped == other.is_unmapped
            assert one.mate_is_reverse == other.is_reverse
            assert one.next_reference_id == other.reference_id
            assert one.next_reference_start == other.reference_start
            assert one.template_length == template_length(one, other)
            tags = {name: one.get_tag(name) for name in ("MC", "MQ") if one.has_tag(name)}
            expected = {"MC": other.cigarstring, "MQ": other.mapping_quality}
            assert tags == ({} if other.is_unmapped else expected)
    assert len(kinds) == 3 or mode[1] == "local"


def test_proper_is_what_faces_each_other_within_the_learned_window(mapped, mode, tmp_path):
    out = mapped("--stats", tmp_path / "s.json", *mode)
    insert = json.loads((tmp_path / "s.json").read_text())["run"]["insert"]
    assert 500 < insert["mean"] < 510 and 25 < insert["sd"] < 32 and insert["orientation"] == "fr"
    for one, other in pairs_of(out):
        first, last = (other, one) if one.is_reverse else (one, other)
        apart = one.is_unmapped or other.is_unmapped or one.is_reverse == other.is_reverse
        length = 0 if apart else five_prime(last) - five_prime(first) + 1
        assert one.is_proper_pair == other.is_proper_pair == (insert["low"] <= length <= insert["high"])


def test_edits_are_those_against_the_genome(baseline):
    with pysam.FastxFile(str(GENOME)) as file:
        genome = next(iter(file)).sequence
    for record in (record for pair in pairs_of(baseline) for record in pair if not record.is_unmapped):
        read, edits = record.query_sequence, 0
        for q, r in record.get_aligned_pairs():
            clipped = q is not None and not record.query_alignment_start <= q < record.query_alignment_end
            edits += not clipped and (q is None or r is None or read[q] != genome[r])
        assert record.get_tag("NM") == edits


ON_CPU = pytest.param(("--device", "cpu"), marks=pytest.mark.device("cpu"))


@pytest.mark.parametrize("options", [("-t", 1), ("-t", 4, "--batch-size", 100), ON_CPU], ids=str)
def test_threads_batches_and_device_change_nothing(mapped, mode, baseline, options):
    assert lines_of(mapped(*options, *mode)) == lines_of(baseline)
