"""`make field`: its truth, how it judges, what it says without programs; and its calls by size, on a small genome."""

from __future__ import annotations

import field
import field_tables
import numpy as np
import pysam
import pytest
import row_calls
import row_copies
from donors import Edit, complement, edited, edits_by_size, fragments, write_reads
from field import Data, Row, World

BASES = np.random.default_rng(5).choice(np.frombuffer(b"ACGT", np.uint8), 60_000)


def test_fragments_are_pieces_of_one_source_and_edits_are_in_their_haplotype():
    rng = np.random.default_rng(1)
    edits = edits_by_size(rng, BASES, range(1000, 50_000, 1000), ((0,), (0, 1)))
    sources = [edited(BASES, edits, copy) for copy in (0, 1)]
    assert len(sources[0]) - len(BASES) == sum(len(edit.put) - edit.gone for edit in edits)
    assert (
        edited(BASES, [Edit(2, 3, b"GG")], high=7).tobytes()
        == BASES[:2].tobytes() + b"GG" + BASES[5:7].tobytes()
    )
    made = fragments(rng, sources, 200, 50, (120, 30))
    for first, second, start, size in zip(*made.mates, made.starts, made.sizes, strict=True):
        source, at = (sources[0], start) if start < len(sources[0]) else (sources[1], start - len(sources[0]))
        piece = source[at : at + size]
        ends = [end[: min(50, size)].tobytes() for end in (piece, complement(piece))]
        assert sorted(mate[: min(50, size)].tobytes() for mate in (first, second)) == sorted(ends)


def test_calls_are_judged_by_class():
    truth = [
        ("c", 10, "A", "C"),
        ("c", 50, "AG", "A"),
        ("c", 90, "A", "A" + "C" * 40),
        ("c", 150, "A", "T"),
        ("c", 200, "AG", "A"),
    ]
    called = [
        ("c", 10, "A", "C"),
        ("c", 58, "TT", "T"),
        ("c", 91, "G", "G" + "C" * 39),
        ("c", 150, "A", "G"),
        ("c", 211, "AG", "A"),
    ]
    some = {
        figure.what: (figure.truth, figure.found, figure.wrong)
        for figure in row_calls.by_class(truth, called)
    }
    assert {what: counts for what, counts in some.items() if any(counts)} == {
        "SNP": (2, 1, 1), "deletion of 1": (2, 1, 1), "insertion of 31-50": (1, 0, 1)}  # fmt: skip
    edits = [Edit(3, 2, b""), Edit(6, 0, b"TT"), Edit(7, 1, b"A")]
    vcf = row_calls.vcf_of("c", np.frombuffer(b"ACGTACGT", np.uint8), edits)
    assert [line.split("\t")[1:5] for line in vcf.splitlines()[3:]] == [
        ["3", ".", "GTA", "G"], ["6", ".", "C", "CTT"], ["8", ".", "T", "A"]]  # fmt: skip


def test_polishing_changes_what_has_one_valid_choice(tmp_path):
    """One error of each kind in the draft; and a place where the reads do not agree."""
    draft, errors = BASES[:600], [Edit(100, 1, b"A"), Edit(250, 0, b"G"), Edit(400, 1, b"")]
    errors[0] = Edit(100, 1, complement(draft[100:101]).tobytes())
    mixed = {40: b"C"}  # a third of the reads there have another base, too many to ignore
    draft = np.concatenate([draft[:520], np.frombuffer(b"G", np.uint8), draft[521:]])
    header = pysam.AlignmentHeader.from_references(["draft"], [600])
    with pysam.AlignmentFile(str(tmp_path / "a.bam"), "wb", header=header) as file:
        there = [(at, one) for at in (40, 60, 80) for one in (*errors, Edit(520, 1, mixed.get(at, b"A")))]
        for n, (at, one) in enumerate(there * 3):
            low, high = one.at - at, one.at + 120 - at
            r = pysam.AlignedSegment(header)
            r.query_name, r.reference_id, r.reference_start, r.mapping_quality = f"r{n}", 0, low, 60
            r.query_sequence = edited(draft, [one], low=low, high=high).tobytes().decode()
            change = {250: [(0, at), (1, 1), (0, 120 - at)], 400: [(0, at), (2, 1), (0, 119 - at)]}
            r.cigartuples = change.get(one.at, [(0, 120)])
            r.set_tag("NM", 1)
            file.write(r)
    assert b"".join(row_copies.polished(draft, tmp_path / "a.bam")) == edited(draft, errors).tobytes()


def test_gassst_is_behind_where_it_finds_less_or_more_that_is_false():
    one = {"what": "w", "truth": 9, "found": 8, "wrong": 1, "measured": False, "bwa_found": 8, "bwa_wrong": 1}
    assert not field_tables.is_behind(one) and field_tables.is_behind(one | {"found": 7})
    assert field_tables.is_behind(one | {"wrong": 2}) and not field_tables.is_behind(one | {"bwa_wrong": 2})
    assert field_tables.is_behind(one | {"measured": True, "bwa_found": 10, "found": 7.9})


def test_unique_pairs_pass_filters_of_mapq_60(tmp_path):
    """As snippy's `freebayes -m 60` asks for: a scale that ends below would leave no variant."""
    rng, files = np.random.default_rng(2), (tmp_path / "1.fq", tmp_path / "2.fq")
    made = fragments(rng, [BASES], 3000, 100, (300, 30))
    write_reads(rng, files, made.mates, range(len(made.starts)))
    reference = field.write_fasta(tmp_path / "genome.fa", {"c": BASES})
    assert (
        field.sh(f"{field.sys.executable} -m gassst map -q {reference} 1.fq 2.fq -t 1 -o a.bam", tmp_path)
        == ""
    )
    with pysam.AlignmentFile(str(tmp_path / "a.bam")) as file:
        mapqs = [r.mapping_quality for r in file]
    assert max(mapqs) == 60 and sum(q == 60 for q in mapqs) > 0.97 * len(mapqs)


@pytest.mark.external("samtools", "bcftools", "bwa")
def test_calls_by_size_are_those_of_bwa_mem(tmp_path, monkeypatch):
    monkeypatch.setattr(row_calls, "CALLERS", {"bcftools": row_calls.CALLERS["bcftools"]})
    ecoli = {name: bases[:66_000] for name, bases in field.sequences(field.ECOLI).items()}

    def small(data: Data, folder) -> World:
        return row_calls.planted(folder, data.ecoli, 0, 66_000, ((0,),))

    row = Row("small", "a few variants", (), small, row_calls.haploid)
    figures = field.measured(row, Data(ecoli, {}), tmp_path, 1)["figures"]
    assert sum(one["truth"] for one in figures) == 65
    for one in figures:
        assert one["found"] >= one["bwa_found"] and one["wrong"] <= one["bwa_wrong"], one
        if not one["what"].endswith(("16-30", "31-50", "51-100")):
            assert one["found"] == one["truth"], one


@pytest.mark.external("samtools")
def test_as_many_copies_of_a_repeat_are_listed_as_by_bwa_mem(tmp_path, monkeypatch):
    """`bwa mem -a` lists 74.5 % of them; the copies differ in up to 4 % of their bases."""
    monkeypatch.setattr(row_copies, "COVERAGE", 4)
    row = row_copies.ROWS[-1]
    assert row.run is row_copies.listed
    world = row.prepare(Data(field.sequences(field.ECOLI), {}), tmp_path)
    bam, _ = field.mapped(row, 0, world, 1)
    (figure,) = row.run(world, bam, tmp_path)
    assert figure.truth > 3000 and figure.found >= 0.75 * figure.truth
