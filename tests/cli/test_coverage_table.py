"""`--coverage`: the table of contigs agrees with the records."""

from __future__ import annotations

import csv

import numpy as np
import pysam
import pytest

from gassst.cli.main import main
from gassst.records import coverage


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Three contigs: the second has the first's beginning, too, and the last one has no reads."""
    rng = np.random.default_rng(5)
    one, two, three = (bytes(rng.choice(list(b"ACGT"), n).astype(np.uint8)) for n in (5000, 3000, 800))
    two = one[:1000] + two
    folder = tmp_path_factory.mktemp("coverage")
    (folder / "ref.fa").write_bytes(b">one\n%s\n>two\n%s\n>three\n%s\n" % (one, two, three))
    with open(folder / "R.fq", "w") as file:
        for i in range(150):
            source = (one, two)[i % 2]
            at = int(rng.integers(len(source) - 100))
            read = source[at : at + 100] if i % 9 else one[at % 4000 :][:60] + two[at % 3000 :][:60]
            file.write(f"@r{i}\n{read.decode()}\n+\n{'I' * len(read)}\n")
        file.write(f"@foreign\n{'ACGGT' * 30}\n+\n{'I' * 150}\n")
    assert main(["index", "-q", str(folder / "ref.fa")]) == 0
    return folder


@pytest.mark.parametrize("more", [[], ["-t", "2", "--batch-size", "9"], ["--sort"], ["-k", "3"]])
@pytest.mark.parametrize("most_apart", [coverage.MOST_APART, 3])
def test_table_agrees_with_the_records(world, tmp_path, monkeypatch, more, most_apart):
    monkeypatch.setattr(coverage, "MOST_APART", most_apart)
    out, table = tmp_path / "out.bam", tmp_path / "table.tsv"
    argv = [str(world / "ref.gsi"), str(world / "R.fq"), "-o", str(out), "--coverage", str(table)]
    assert main(["map", "-q", "--device", "none", *argv, *more]) == 0
    with pysam.AlignmentFile(str(out)) as file:
        depth = {
            name: np.zeros(length, int) for name, length in zip(file.references, file.lengths, strict=True)
        }
        unique, shared = dict.fromkeys(depth, 0), dict.fromkeys(depth, 0)
        for record in file:
            if record.is_unmapped or record.is_secondary:
                continue
            depth[record.reference_name][record.reference_start : record.reference_end] += 1
            if not record.is_supplementary:
                counted = unique if record.mapping_quality else shared
                counted[record.reference_name] += 1
    rows = list(csv.DictReader(table.read_text().splitlines(), delimiter="\t"))
    assert [row["contig"] for row in rows] == ["one", "two", "three"]
    rates = {name: (unique[name] + shared[name]) / len(depth[name]) for name in depth}
    for row in rows:
        name = row["contig"]
        assert int(row["length"]) == len(depth[name])
        assert [int(row[key]) for key in ("reads", "unique", "shared")] == [
            unique[name] + shared[name],
            unique[name],
            shared[name],
        ]
        assert int(row["bases"]) == depth[name].sum()
        assert float(row["mean"]) == pytest.approx(depth[name].mean(), rel=1e-5)
        assert int(row["covered"]) == np.count_nonzero(depth[name])
        assert float(row["covered_share"]) == pytest.approx(np.mean(depth[name] > 0), rel=1e-5)
        assert float(row["tpm"]) == pytest.approx(1e6 * rates[name] / sum(rates.values()), rel=1e-5)
    assert shared["one"] + shared["two"] and unique["one"] and not rows[2]["reads"].strip("0")
