"""Marked duplicates are those of `samtools markdup -m t -S`, record by record, where much lies at few places."""

import gzip

import pysam
import pytest
from duplicate_worlds import (
    FIRST,
    HEADER,
    PAIRED,
    REVERSE,
    SECOND,
    duplicates_in,
    is_even_tandem,
    marked,
    marked_by_samtools,
    tell_of_mates,
    world,
)

from gassst.records import duplicates
from gassst.records.options import DuplicateRules


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(("within", "option"), [("file", ()), ("read-group", ("--use-read-groups",))])
def test_duplicates_are_those_of_samtools(tmp_path, seed, within, option):
    """Pairs and single reads, clipped ends, several contigs and groups; with and without barcodes and qualities."""
    barcodes = seed % 3 == 0
    templates = world(seed, n=120, barcodes=barcodes, qualities=seed % 5 > 0)
    marked(templates, tmp_path / "ours.bam", DuplicateRules(within, "RX" if barcodes else ""))
    option += ("--barcode-tag", "RX") if barcodes else ()
    marked_by_samtools(templates, tmp_path / "theirs.bam", *option)
    found = duplicates_in(tmp_path / "ours.bam")
    assert found == duplicates_in(tmp_path / "theirs.bam")
    assert found


def test_libraries_are_marked_apart(tmp_path):
    """samtools knows no libraries: it marks the records of each one alone."""
    templates = world(1, n=400)
    marked(templates, tmp_path / "ours.bam", DuplicateRules())
    library = {"a1": "a", "a2": "a", "b": "b"}
    expected = []
    for name in ("a", "b", ""):
        alone = [records for records in templates if library.get(group_of(records), "") == name]
        marked_by_samtools(alone, tmp_path / f"{name}.bam")
        expected += duplicates_in(tmp_path / f"{name}.bam")
    assert duplicates_in(tmp_path / "ours.bam") == sorted(expected)


def group_of(records):
    return records[0].get_tag("RG") if records[0].has_tag("RG") else None


@pytest.mark.parametrize(("memory", "threads", "batch"), [(1, 1, 40), (20_000, 3, 7), (1 << 30, 2, 1)])
def test_nothing_depends_on_memory_threads_and_batches(tmp_path, monkeypatch, memory, threads, batch):
    templates = world(2, n=300, barcodes=True)
    rules = DuplicateRules(barcode_tag="RX", tagged=True)
    expected = marked(templates, tmp_path / "expected.bam", rules, batch=1000)
    monkeypatch.setattr(duplicates, "RANGE_ROWS", 16)
    monkeypatch.setattr(duplicates, "SAMPLE", 4)
    counts = marked(templates, tmp_path / "found.bam", rules, memory, threads, batch)
    found, whole = (
        gzip.decompress((tmp_path / f"{name}.bam").read_bytes()) for name in ("found", "expected")
    )
    assert found == whole  # blocks begin where ranges do
    assert (counts.marked == expected.marked).all() and (counts.examined == expected.examined).all()
    assert counts.sizes == expected.sizes
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"{name}.bam{end}" for name in ("expected", "found") for end in ("", ".bai")
    ]


# --- made templates -----------------------------------------------------------------------------------------


def read(name, flag, start, quality, cigar="20M"):
    segment = pysam.AlignedSegment(HEADER)
    segment.query_name, segment.flag, segment.query_sequence = name, flag, "A" * 20
    segment.query_qualities = pysam.qualitystring_to_array(chr(33 + quality) * 20)
    segment.reference_id, segment.reference_start, segment.mapping_quality = 0, start, 30
    segment.cigarstring = cigar
    return segment


def pair(name, quality=30, first=(10, 0), second=(100, REVERSE)):
    mates = [
        read(name, PAIRED | which | strand, start, quality)
        for which, (start, strand) in ((FIRST, first), (SECOND, second))
    ]
    tell_of_mates(*mates)
    return mates


def single(name, quality=30, start=10, cigar="20M"):
    return [read(name, 0, start, quality, cigar)]


def spot(x, y, tile=1101):
    return f"machine:1:cell:1:{tile}:{x}:{y}"


def types_of(path):
    """Of every record that is a duplicate: name, and tag dt."""
    with pysam.AlignmentFile(path) as file:
        return {(r.query_name, r.get_tag("dt") if r.has_tag("dt") else "") for r in file if r.is_duplicate}


def both(tmp_path, templates, **rules):
    """What we mark, and what samtools marks."""
    marked(templates, tmp_path / "ours.bam", DuplicateRules("file", tagged=True, **rules))
    marked_by_samtools(templates, tmp_path / "theirs.bam", "-d", "100")
    return types_of(tmp_path / "ours.bam"), types_of(tmp_path / "theirs.bam")


@pytest.mark.parametrize("names", [("b", "a", "c"), ("c", "b", "a"), ("a", "c", "b")])
def test_of_equal_pairs_the_least_name_stays(tmp_path, names):
    ours, theirs = both(tmp_path, [pair(name) for name in names])
    assert ours == theirs == {("b", "LB"), ("c", "LB")}


def test_of_equal_single_reads_the_first_in_the_file_stays(tmp_path):
    """By position, which clips move; then as they came. The rule of samtools hangs on that order, too."""
    moved = single("z", start=14, cigar="4S16M"), single("y"), single("x")
    ours, theirs = both(tmp_path, moved)
    assert ours == theirs == {("z", "LB"), ("x", "LB")}


def test_a_pair_stays_beside_better_single_reads(tmp_path):
    ours, theirs = both(tmp_path, [single("s", 40), pair("p", 20), single("t", 40, start=100)])
    assert ours == theirs == {("s", "LB")}


def test_mates_that_begin_at_one_place_are_marked_together(tmp_path):
    """Where neither mate is the left one, samtools judges each on its own: here it marks one mate of a pair."""
    reverse = {"first": (100, 0), "second": (100, 0)}
    one, two = pair("one", 30, **reverse), pair("two", 20, **reverse)
    one[1].cigarstring = one[1].cigarstring.replace("20M", "10M2D10M")
    assert is_even_tandem(one) and is_even_tandem(two)
    marked([one, two], tmp_path / "ours.bam", DuplicateRules())
    marked_by_samtools([one, two], tmp_path / "theirs.bam")
    assert [name for name, *_ in duplicates_in(tmp_path / "theirs.bam")] == ["two"]
    assert duplicates_in(tmp_path / "ours.bam") == []


def test_contigs_do_not_run_into_each_other(tmp_path):
    """A read that is clipped over the start of a contig is no duplicate of one at the end of the contig before."""
    last, first = single("last", start=395, cigar="5M15S"), single("first", start=0, cigar="5S15M")
    first[0].reference_id = 1
    assert both(tmp_path, [last, first]) == (set(), set())


# --- optical duplicates -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([(1100, 1100, 1101, 30)], {"SQ"}),
        ([(1101, 1000, 1101, 30)], {"LB"}),
        ([(1000, 899, 1101, 30)], {"LB"}),
        ([(1050, 1050, 1102, 30)], {"LB"}),
        ([(5000, 5000, 1101, 30), (5050, 5000, 1101, 31)], {"SQ", "LB"}),
    ],
    ids=["near", "x too far", "y too far", "another tile", "near to another duplicate"],
)
def test_optical_duplicates_are_those_of_samtools(tmp_path, others, expected):
    best = pair(spot(1000, 1000), 40)
    ours, theirs = both(tmp_path, [best, *(pair(spot(x, y, tile), q) for x, y, tile, q in others)])
    assert ours == theirs
    assert {kind for _, kind in ours} == expected


def test_where_optical_duplicates_follow_picard(tmp_path):
    """Spots in a chain are one cluster; pairs that were read the other way round are not near to each other."""
    chain = [pair(spot(1000 + 80 * i, 1000), 40 - (i == 0) - i) for i in range(4)]
    ours, theirs = both(tmp_path, chain)
    assert {kind for _, kind in ours} == {"SQ"} and len(ours) == len(theirs) == 3
    turned = pair(spot(1050, 1000), 30, first=(100, REVERSE), second=(10, 0))
    ours, theirs = both(tmp_path, [pair(spot(1000, 1000), 40), turned])
    assert ours == {(spot(1050, 1000), "LB")} and theirs == {(spot(1050, 1000), "SQ")}


def test_names_without_spots_have_no_optical_duplicates(tmp_path):
    for names in (
        ("a", "b"),
        ("a:1:2", "a:1:3"),
        ("a:b:c:d", "a:b:c:e"),
        ("1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8:10"),
    ):
        marked([pair(name) for name in names], tmp_path / "ours.bam", DuplicateRules(tagged=True))
        assert {kind for _, kind in types_of(tmp_path / "ours.bam")} == {"LB"}
