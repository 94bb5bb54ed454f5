"""The thesis's tables and figures: the criterion of 4.7.3, the published figures, and a run on phiX."""

from __future__ import annotations

import json

import peers
import pysam
import pytest
import rizk
import thesis
import thesis_page
from places import DATA
from thesis import Found, questionable

HEADER = pysam.AlignmentHeader.from_dict({"SQ": [{"SN": "one", "LN": 500}]})


def segment(cigar: str, nm: int) -> pysam.AlignedSegment:
    one = pysam.AlignedSegment(HEADER)
    one.reference_id, one.reference_start, one.cigarstring = 0, 10, cigar
    one.set_tag("NM", nm)
    return one


@pytest.mark.parametrize(
    ("cigar", "nm", "score"),
    [("36M", 0, 36), ("36M", 2, 34 - 6), ("20M1I15M", 1, 35 - 3), ("18M2D18M", 3, 35 - 9), ("6S30M", 0, 30)],
)
def test_score_is_matches_less_three_times_the_differences(cigar, nm, score):
    assert thesis.read_score(segment(cigar, nm)) == score


def found(start: int, score: int, *, is_confident: bool = True) -> Found:
    return Found(("one", 0, start, start + 36), score, is_confident)


@pytest.mark.parametrize(
    ("their", "is_questionable"),
    [
        (found(100, 36), False),  # the same place
        (found(300, 36), True),  # elsewhere, as good
        (found(300, 17, is_confident=False), True),  # elsewhere, 19 worse
        (found(300, 16), False),  # elsewhere, 20 worse
    ],
)
def test_another_place_with_a_near_score_is_questionable(their, is_questionable):
    assert questionable({"read": found(100, 36)}, [{}, {"read": their}]) == is_questionable


def test_a_run_gives_every_table_and_figure(tmp_path, monkeypatch):
    monkeypatch.setitem(peers.GRIDS, "thesis", [(50, 0.05)])
    reads, genome, out = DATA / "phix_SRR1377138_R1.fastq.gz", DATA / "phix174.fa.gz", tmp_path / "t.json"
    real = ["--real", f"real={genome},{reads}"]
    counts = ["-n", "50", "--filtered-reads", "300", "--tools"]
    thesis.main([str(genome), *real, *counts, "--work", str(tmp_path), "--json", str(out)])
    result = json.loads(out.read_text())
    runs = result["table_4_2"]["sets"][0]["runs"]
    assert set(runs) == {"gassst", "gassst fast", "gassst accurate"}
    assert "-w 14 -p 90 -g 3 -s 0" in runs["gassst fast"]["command"]
    assert all(run["placed_right"] > 0.8 for run in runs.values())
    assert result["table_4_1"][0]["runs"]["gassst"]["questionable_share"] == 0
    steps = result["figure_4_4"][0]["chain"]["steps"]
    assert tuple(steps) == rizk.FILTERS
    assert "| tnw4-4 " in thesis_page.table_4_3(result)
    assert " 356.7 |" in thesis_page.table_4_4(result)
    assert "thesis_4_6.svg" in thesis_page.figure_4_6(result, tmp_path / "thesis.svg")
