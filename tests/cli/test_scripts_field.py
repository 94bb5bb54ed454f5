"""`make field`: its truth, how it judges, what it says without programs; and its calls by size, on a small genome."""

from __future__ import annotations

import field
import numpy as np
import pysam
import pytest
import row_calls
import row_copies
from donors import fragments, write_reads
from field import Data, Row, World

BASES = np.random.default_rng(5).choice(np.frombuffer(b"ACGT", np.uint8), 60_000)


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
