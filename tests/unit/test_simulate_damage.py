"""Simulated ancient DNA, compared with the genome by plain Python on strings."""

import argparse
from collections import Counter

import numpy as np
import pytest
from text_bases import COMPLEMENT

from gassst.errors import UsageError
from gassst.tools import simulate

END, DECAY, INSIDE = 0.4, 0.25, 0.02


@pytest.fixture(scope="module")
def genome(tmp_path_factory):
    sequence = "".join(np.random.default_rng(1).choice(list("ACGT"), 40_000))
    path = tmp_path_factory.mktemp("genome") / "g.fa"
    path.write_text(f">c\n{sequence}\n")
    return str(path), sequence


def simulated(tmp_path, genome, *arguments):
    """(bases, what they copy) of each read, in the direction of the read."""
    path = tmp_path / "reads.fq"
    parser = argparse.ArgumentParser()
    simulate.add_arguments(parser)
    simulate.main(parser.parse_args([genome[0], *map(str, arguments), "-o", str(path)]))
    lines = path.read_text().split("\n")
    found = []
    for name, bases, qualities in zip(lines[::4], lines[1::4], lines[3::4], strict=False):
        assert len(bases) == len(qualities)
        start, end, strand = name.split(",")[2:5]
        template = genome[1][int(start) - 1 : int(end)]
        found.append((bases, template if strand == "+" else template.translate(COMPLEMENT)[::-1]))
    return found


def expected(distance):
    return INSIDE + (END - INSIDE) * (1 - DECAY) ** distance


@pytest.mark.parametrize("protocol", ["double", "single"])
def test_deaminated_bases_have_their_shares_by_distance_from_the_ends(tmp_path, genome, protocol):
    options = ("-n", 16_000, "-l", 90, "-e", 0, "--inserts", "30,90")
    damage = "--damage", f"{protocol},{END},{DECAY},{INSIDE}"
    seen, deaminated = Counter(), Counter()
    for bases, template in simulated(tmp_path, genome, *options, *damage):
        assert 30 <= len(bases) == len(template) <= 90
        for i, (base, copied) in enumerate(zip(bases, template, strict=True)):
            far = len(bases) - 1 - i
            if copied == "C":
                nearest = min(i, far) if protocol == "single" else i
                seen["C", nearest] += 1
                deaminated["C", nearest] += base == "T"
                assert base in "CT"
            elif copied == "G" and protocol == "double":
                seen["G", far] += 1
                deaminated["G", far] += base == "A"
                assert base in "GA"
            else:
                assert base == copied
    for base in "CG" if protocol == "double" else "C":
        for distance in (0, 1, 2, 5, 10, 14):
            n, share = seen[base, distance], expected(distance)
            deviation = (share * (1 - share) / n) ** 0.5
            assert abs(deaminated[base, distance] / n - share) < 4 * deviation


def test_reads_end_where_their_inserts_end_or_after_the_length_asked_for(tmp_path, genome):
    reads = simulated(tmp_path, genome, "-n", 3000, "-l", 60, "-e", 0, "--inserts", "30,90")
    assert all(bases == template for bases, template in reads)
    lengths = Counter(len(bases) for bases, _ in reads)
    assert set(lengths) == set(range(30, 61))
    assert 0.45 < lengths[60] / len(reads) < 0.57  # 31 of 61 inserts are that long


def test_damage_is_at_the_ends_of_the_fragment_not_of_a_shorter_read(tmp_path, genome):
    reads = simulated(
        tmp_path, genome, "-n", 3000, "-l", 50, "-e", 0, "--inserts", "90,90", "--damage", "double,1,1,0"
    )
    for bases, template in reads:
        assert bases == template[0].replace("C", "T") + template[1:]


@pytest.mark.parametrize(
    "value",
    ["", "both", "double,0.3", "double,0.3,0.3,1.1", "double,0.3,-1,0", "single,a,b,c", "0.3,0.3,0", "double,nan,0,0"],
)  # fmt: skip
def test_senseless_damage_is_refused(tmp_path, genome, value):
    with pytest.raises(UsageError, match="--damage"):
        simulated(tmp_path, genome, "-n", 1, "-l", 50, "-e", 0, "--damage", value)
