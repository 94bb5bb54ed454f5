"""What `--stats` says of the filters of a default `--all` run."""

import json

from gassst.cli.main import main

STEPS = ["band32"]


def test_the_funnel_of_a_default_run(small_index, small_fastq, tmp_path):
    """All steps are there, each takes what the one before left, and the bands left are the ones scored at most."""
    out, stats = str(tmp_path / "out.sam"), tmp_path / "stats.json"
    options = ["-q", "-t", "1", "--device", "none", "--all", "--stats", str(stats), "-o", out]
    assert main(["map", *options, str(small_index), str(small_fastq)]) == 0
    counts = json.loads(stats.read_text())
    funnel = counts["funnel"]
    assert list(funnel) == STEPS
    assert funnel[STEPS[0]]["in"] == counts["candidates"] > 1000
    for one, two in zip(STEPS, STEPS[1:], strict=False):
        assert funnel[one]["out"] == funnel[two]["in"]
    assert 0 < counts["scored"] <= funnel["band32"]["out"] < counts["candidates"] // 2
