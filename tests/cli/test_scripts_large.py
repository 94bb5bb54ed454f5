"""The script that measures large genomes, on one that is small."""

from __future__ import annotations

import large
import pytest
from places import environment

from gassst.index.reference import Reference


@pytest.fixture
def small_contigs(monkeypatch):
    monkeypatch.setattr(large, "CONTIG", 3000)
    monkeypatch.setattr(large, "LINE", 1500)


def test_contigs_lie_one_behind_the_other(small_contigs, tmp_path):
    path = tmp_path / "g.fa"
    path.touch()
    for contig, bases in ((1, 3000), (2, 1500), (0, 3000)):  # processes finish in any order
        large.write_contig(path, contig, bases, 1)
    reference = Reference.from_fasta(path)
    assert reference.names == ["chr00001", "chr00002", "chr00003"]
    assert reference.lengths.tolist() == [3000, 3000, 1500]
    assert reference.unmasked == 7500
    assert len({reference.sequence(contig, 0, 1500) for contig in range(3)}) == 3


def test_a_small_genome(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    work = tmp_path / "work"
    large.main(
        ["--gigabases", "0.0002", "--pairs", "200", "-t", "1", "--work", str(work), "--index-option=--step=4"]
    )
    told = capfd.readouterr().out
    for name in ("simulate", "index", "map, first", "map, second", "evaluate"):
        assert f'{name}: {{"seconds": ' in told
    assert "all\t400\t100.000\t" in told and not work.exists()
    with pytest.raises(SystemExit, match="index failed: 2"):
        large.main(
            [
                "--gigabases",
                "0.0001",
                "-t",
                "1",
                "--pairs",
                "9",
                "--work",
                str(work),
                "--index-option=--step=3",
            ]
        )
    assert not work.exists()
