"""The order that UMI tools want, made by samtools of our records, which have what it asks: MC, and mates that agree."""

import numpy as np
import pysam
import pytest
from text_bases import reverse_complement

from gassst.cli.main import main

NOWHERE = 1 << 31


@pytest.fixture(scope="module")
def bam(tmp_path_factory):
    """Pairs on two contigs: clipped, split, beside an unmapped mate, across contigs, and of something else."""
    rng, folder = np.random.default_rng(5), tmp_path_factory.mktemp("template")
    one, two, foreign = ("".join(rng.choice(list("ACGT"), 5000)) for _ in range(3))
    (folder / "ref.fa").write_text(f">one\n{one}\n>two\n{two}\n")
    with open(folder / "R1.fq", "w") as first, open(folder / "R2.fq", "w") as second:
        for i in range(400):
            source, at = (one, two)[i % 2], int(rng.integers(4500))
            a, b = source[at : at + 100], source[at + 200 : at + 300]
            if i % 9 == 0:
                a = foreign[at : at + 20] + a[20:]
            if i % 7 == 0:
                b = (two, one)[i % 2][at : at + 100]
            if i % 11 == 0:
                b = foreign[at : at + 100]
            if i % 13 == 0:
                a = foreign[at : at + 100]
            if i % 5 == 0:
                a = a[:50] + one[(7 * i) % 4000 :][:50]
            a, b = (b, a) if i % 3 else (a, b)
            for file, read in ((first, a), (second, reverse_complement(b))):
                file.write(f"@r{i}\n{read}\n+\n{'I' * len(read)}\n")
    reads = [str(folder / name) for name in ("R1.fq", "R2.fq")]
    assert (
        main(
            [
                "map",
                "-q",
                "--device",
                "none",
                "-Y",
                "-o",
                str(folder / "o.bam"),
                str(folder / "ref.fa"),
                *reads,
            ]
        )
        == 0
    )
    return folder / "o.bam"


def five_prime_end(record):
    """Contig and coordinate of the first base sequenced, as if nothing were clipped."""
    if record.is_unmapped:
        return NOWHERE, NOWHERE
    runs = record.cigartuples
    if record.is_reverse:
        return record.reference_id, record.reference_end + (runs[-1][1] if runs[-1][0] in (4, 5) else 0)
    return record.reference_id, record.reference_start + 1 - (runs[0][1] if runs[0][0] in (4, 5) else 0)


def test_samtools_sorts_them_by_template(bam, tmp_path):
    """By the contig of the lower mate and of the other one, then by their unclipped 5' ends (samtools sort, manual)."""
    out = str(tmp_path / "sorted.bam")
    pysam.sort("--template-coordinate", "-o", out, str(bam))
    with pysam.AlignmentFile(out) as file:
        assert file.header.to_dict()["HD"]["SS"].endswith("template-coordinate")
        records = list(file)
    primaries = [record for record in records if not record.flag & 0x900]  # others lie where they align
    ends = {}
    for record in primaries:
        ends.setdefault(record.query_name, []).append(five_prime_end(record))
    names = [record.query_name for record in primaries[::2]]
    places = [sorted(ends[name]) for name in names]
    keys = [(a[0], b[0], a[1], b[1]) for a, b in places]
    assert len(keys) == 400 and keys == sorted(keys)
    assert names == [record.query_name for record in primaries[1::2]]  # mates are neighbours
    assert any(record.is_supplementary for record in records) and any(a[0] != b[0] for a, b in places)
