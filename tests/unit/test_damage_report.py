"""Deaminated bases by distance from the ends of reads: counted, and shown in the report and in MultiQC's files."""

from __future__ import annotations

import json

import numpy as np
import pysam
import pytest

from gassst.cli.main import main
from gassst.tools.report_numbers import Numbers

ENDS = 25
COMPLEMENT = dict(zip("ACGT", "TGCA", strict=True))
KINDS = {("C", "T"): "C>T", ("G", "A"): "G>A"}
END, DECAY, INSIDE = 0.4, 0.3, 0.01


def run(*words) -> None:
    assert main([*map(str, words)]) == 0


@pytest.fixture(scope="module", params=["double", "single"])
def mapped(request, tmp_path_factory):
    """Protocol, the folder of a run on reads with damage, and its statistics."""
    folder = tmp_path_factory.mktemp(request.param)
    bases = "".join(np.random.default_rng(3).choice(list("ACGT"), 60_000))
    (folder / "ref.fa").write_text(f">c\n{bases}\n")
    damage = "--damage", f"{request.param},{END},{DECAY},{INSIDE}"
    size = "-n", 4000, "-l", 90, "--inserts", "20,90", "-e", 0.01
    run("simulate", folder / "ref.fa", *size, *damage, "-o", folder / "reads.fq")
    reports = "--stats", folder / "s.json", "--multiqc", folder / "s_mqc.json", "--report", folder / "s.html"
    quiet = "-q", "-t", 1, "--device", "none"
    run("map", *quiet, folder / "ref.fa", folder / "reads.fq", "-o", folder / "out.bam", *reports)
    return request.param, folder, json.loads((folder / "s.json").read_text())


def count_of_records(path) -> dict[str, dict[str, list[int]]]:
    """What the records say by their MD, one base after the other, as Python sees them."""
    counts = {
        end: {kind: [0] * ENDS for kind in ("C", "C>T", "G", "G>A")} for end in ("five_prime", "three_prime")
    }
    with pysam.AlignmentFile(str(path)) as file:
        for record in file:
            if record.is_unmapped or record.is_secondary or record.is_supplementary:
                continue
            read, length = record.query_sequence, record.query_length
            for at, _, reference in record.get_aligned_pairs(matches_only=True, with_seq=True):
                base, reference, left = read[at], reference.upper(), at
                if record.is_reverse:
                    base, reference, left = COMPLEMENT[base], COMPLEMENT[reference], length - 1 - at
                for end, distance in (("five_prime", left), ("three_prime", length - 1 - left)):
                    if reference in "CG" and distance < ENDS:
                        counts[end][reference][distance] += 1
                        if (reference, base) in KINDS:
                            counts[end][KINDS[reference, base]][distance] += 1
    return counts


def test_the_counts_are_those_of_the_records_by_their_md(mapped):
    _, folder, stats = mapped
    expected = count_of_records(folder / "out.bam")
    assert stats["damage"] == expected
    assert min(expected["five_prime"]["C"]) > 500


def test_the_shares_are_those_that_were_simulated(mapped):
    """Of one base in 100 is wrong one third what looks like damage; ends with many errors may be clipped."""
    protocol, folder, stats = mapped
    shares = Numbers.from_dict(stats).damage_percent / 100
    rate = INSIDE + (END - INSIDE) * (1 - DECAY) ** np.arange(ENDS)
    assert np.allclose(shares[4:12, 0, 0], rate[4:12], atol=0.05)
    other = int(protocol == "double")  # G>A at the 3' end, or C>T
    assert np.allclose(shares[4:12, 1, other], rate[4:12], atol=0.05)
    assert (shares[:, 0, 1] < 0.05).all() and (shares[:, 1, 1 - other] < 0.05).all()


def test_the_report_and_multiqc_show_them(mapped):
    _, folder, stats = mapped
    page = (folder / "s.html").read_text()
    assert '<table><caption class="hidden">Damage at the 5&#x27; end</caption>' in page
    cells = "".join(
        f"<td>{stats['damage']['five_prime'][kind][0]:,}</td>" for kind in ("C", "C>T", "G", "G>A")
    )
    assert f'<tr><th scope="row">1</th>{cells}' in page
    for end, key, seen, kind in (("5", "five_prime", "C", "C>T"), ("3", "three_prime", "G", "G>A")):
        (line,) = json.loads((folder / f"s_damage{end}_mqc.json").read_text())["data"].values()
        n, of = stats["damage"][key][kind], stats["damage"][key][seen]
        assert line == {str(i + 1): round(100 * n[i] / of[i], 4) for i in range(ENDS)}
