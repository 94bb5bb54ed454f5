"""Deaminated bases by distance from the ends of reads: counted, and shown in the report and in MultiQC's files."""

from __future__ import annotations

import json

import numpy as np
import oracles
import pysam
import pytest

from gassst._core.error_cycles import errors_by_cycle
from gassst.cli.main import main
from gassst.model.layouts import HIT
from gassst.model.sam_flags import REVERSE
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


@pytest.mark.parametrize("m", [1, 24, 25, 26, 49, 64, 65, 150])
def test_against_one_base_after_the_other(m):
    """Any bases on any reference, masked ones among them, with clips and gaps."""
    rng = np.random.default_rng(m)
    reference = rng.choice(5, 600, p=[0.2, 0.3, 0.3, 0.15, 0.05]).astype(np.uint8)
    n, expected = 40, np.zeros((ENDS, 2, 4), np.int64)
    reads = rng.integers(0, 5, (n, m)).astype(np.uint8)
    strands = rng.integers(0, 2, n)
    hits, runs = np.zeros(n, HIT), []
    for i in range(n):
        position, left = int(rng.integers(0, 300)), m
        hits[i]["read"], hits[i]["position"], hits[i]["strand"] = i, position, strands[i]
        hits[i]["flag"], hits[i]["cigar_start"] = REVERSE * strands[i], len(runs)
        cigar = [(4, min(3, m - 1))] if rng.random() < 0.5 and m > 1 else []
        left -= sum(length for _, length in cigar)
        while left:
            length = int(rng.integers(1, left + 1))
            cigar.append((0, length))
            left -= length
            if left > 1:
                gap = int(rng.choice([1, 2]))
                cigar.append((gap, 1))
                left -= gap == 1
        runs += [length << 4 | op for op, length in cigar]
        hits[i]["cigar_runs"] = len(cigar)
        at, p = 0, position
        for op, length in cigar:
            for _ in range(length):
                if op == 0:
                    a, b = int(reference[p]), int(reads[i][at])
                    cycle = m - 1 - at if strands[i] else at
                    if strands[i] and a < 4 and b < 4:
                        a, b = 3 - a, 3 - b
                    for end, distance in enumerate((cycle, m - 1 - cycle)):
                        if distance < ENDS and b < 4 and a in (1, 2):
                            expected[distance, end, 2 * (a == 2)] += 1
                            expected[distance, end, 2 * (a == 2) + 1] += (a, b) in ((1, 3), (2, 0))
                at += op != 2
                p += op not in (1, 4)
    packed = oracles.pack_reads(reads, strands)
    planes = oracles.pack_planes(reference)
    runs = np.array(runs, np.uint32)
    _, damage = errors_by_cycle(hits, runs, planes, packed.planes, packed.plane_start, packed.lengths)
    assert damage.tolist() == expected.tolist()
