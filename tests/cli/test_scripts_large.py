"""The script that measures large genomes, on one that is small."""

from __future__ import annotations

import large
import pytest
from places import environment


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
