"""Reads that run on into adapters, compared with the genome by plain Python on strings."""

import argparse

import edlib
import numpy as np
import pytest
from text_bases import COMPLEMENT

from gassst.errors import UsageError
from gassst.tools import foreign, simulate

LENGTH = 150


@pytest.fixture(scope="module")
def genome(tmp_path_factory):
    sequence = "".join(np.random.default_rng(1).choice(list("ACGT"), 30_000))
    path = tmp_path_factory.mktemp("genome") / "g.fa"
    path.write_text(f">c\n{sequence}\n")
    return str(path), sequence


def simulated(tmp_path, fasta, *arguments, mates=2):
    """[(name, bases, qualities)] of each mate."""
    paths = [tmp_path / f"{mate}.fq" for mate in range(mates)]
    parser = argparse.ArgumentParser()
    simulate.add_arguments(parser)
    outputs = [word for path in paths for word in ("-o", path)]
    simulate.main(parser.parse_args([str(word) for word in (fasta, *arguments, *outputs)]))
    lines = [path.read_text().split("\n") for path in paths]
    return [list(zip((n[1:] for n in t[::4]), t[1::4], t[3::4], strict=False)) for t in lines]


def truth_of(name, mate):
    start, end, strand, *errors = name.split(",")[2:][6 * mate : 6 * mate + 6]
    return int(start), int(end), strand, list(map(int, errors))


def read_strand(sequence, strand):
    return sequence if strand == "+" else sequence.translate(COMPLEMENT)[::-1]


@pytest.mark.parametrize("error", [0.0, 0.02])
def test_a_read_is_its_insert_and_then_the_adapter(tmp_path, genome, error):
    fasta, sequence = genome
    options = ("-n", 400, "-l", LENGTH, "-e", error, "--inserts", "40,145", "--adapter", "nextera")
    inserts = []
    for mate, reads in enumerate(simulated(tmp_path, fasta, *options)):
        adapter = foreign.ADAPTERS["nextera"][mate]
        for name, bases, qualities in reads:
            start, end, strand, (subs, ins, dels) = truth_of(name, mate)
            own = end - start + 1 + ins - dels
            assert len(bases) == len(qualities) == LENGTH
            template = read_strand(sequence[start - 1 : end], strand)
            assert edlib.align(bases[:own], template, mode="NW")["editDistance"] <= subs + ins + dels
            if error == 0:
                assert bases[own:].startswith(adapter[: LENGTH - own])
                inserts.append(own)
    if error == 0:
        assert min(inserts) == 40 and max(inserts) == 145


def test_bad_tails_and_poly_g_have_their_shares(tmp_path, genome):
    options = ("-n", 2000, "-l", 100, "-e", 0, "--bad-tails", 0.3, "--poly-g", 0.2)
    (reads,) = simulated(tmp_path, genome[0], *options, mates=1)
    bad = [q for _, _, q in reads if "#" in q]
    assert 0.26 < len(bad) / len(reads) < 0.34
    assert all(q.index("#") >= 50 and set(q[q.index("#") :]) == {"#"} for q in bad)
    truths = [truth_of(name, 0) for name, *_ in reads]
    own = [end - start + 1 + ins - dels for start, end, _, (_, ins, dels) in truths]
    assert 0.17 < sum(n < 100 for n in own) / len(reads) < 0.23
    assert all(
        set(bases[n:]) <= {"G", *"ACT"[: 3 * ("#" in q)]} for n, (_, bases, q) in zip(own, reads, strict=True)
    )


@pytest.mark.parametrize(
    "options",
    [
        ["--adapter", "nextera"], ["--adapter", "ACGN", "--inserts", "40,90"],
        ["--adapter", "A,C,G", "--inserts", "40,90"], ["--adapter", "A,", "--inserts", "40,90"],
        ["--inserts", "90,40", "--adapter", "A"], ["--inserts", "90", "--adapter", "A"],
        ["--bad-tails", "1.5"], ["--poly-g", "-1"],
    ],
)  # fmt: skip
def test_senseless_arguments_are_refused(tmp_path, genome, options):
    with pytest.raises(UsageError):
        simulated(tmp_path, genome[0], "-n", 1, "-l", 50, "-e", 0, *options, mates=1)
