"""`gassst.align.forward`, `viterbi` and `posterior`, against the recurrence in logarithms."""

import numpy as np
import pytest

from gassst._core.pair_hmm import instruction_sets
from gassst.align import pair_hmm
from gassst.align.pair_hmm import GapQualities, forward, posterior, viterbi, viterbi_paths
from gassst.errors import DeviceError, InputError, UsageError

NEVER = -np.inf


def tables(read, haplotype, qualities, plus):
    """M, I, D in natural logarithms; `qualities` are of bases, insertions, deletions and extensions."""
    m, n = len(read), len(haplotype)
    match, insertion, deletion = (np.full((m + 1, n + 1), NEVER) for _ in range(3))
    deletion[0] = -np.log(n)
    wrong, opened, lost, more = 10.0 ** (-np.array(qualities, float) / 10)
    with np.errstate(divide="ignore"):
        for i in range(1, m + 1):
            stays, leaves = np.log(1 - opened[i - 1] - lost[i - 1]), np.log(1 - more[i - 1])
            mi, md, gg = np.log(opened[i - 1]), np.log(lost[i - 1]), np.log(more[i - 1])
            for j in range(1, n + 1):
                equal = read[i - 1] == haplotype[j - 1] or "N" in (read[i - 1], haplotype[j - 1])
                emission = np.log(1 - wrong[i - 1] if equal else wrong[i - 1] / 3)
                gaps = leaves + plus(insertion[i - 1, j - 1], deletion[i - 1, j - 1])
                match[i, j] = emission + plus(stays + match[i - 1, j - 1], gaps)
                insertion[i, j] = plus(mi + match[i - 1, j], gg + insertion[i - 1, j])
                deletion[i, j] = plus(md + match[i, j - 1], gg + deletion[i, j - 1])
    return match, insertion, deletion


def by_logarithms(read, haplotype, qualities, plus):
    match, insertion, _ = tables(read, haplotype, qualities, plus)
    return plus.reduce(np.concatenate([match[-1, 1:], insertion[-1, 1:]])) / np.log(10)


@pytest.fixture(scope="module")
def world():
    """Reads, haplotypes, the four qualities of each read, and what is expected: sums and largest."""
    rng = np.random.default_rng(5)
    letters = list("ACGTN")
    reads = ["".join(rng.choice(letters, n, p=[0.24] * 4 + [0.04])) for n in (1, 5, 21, 40, 33)]
    haplotypes = ["".join(rng.choice(letters[:4], n)) for n in (1, 27, 48)]
    haplotypes += [reads[3] + "ACG", "GG" + reads[4][:12] + reads[4][15:] + "TT"]
    limits = ((2, 42), (10, 46), (10, 46), (5, 15))
    qualities = [[rng.integers(*limit, len(read)) for read in reads] for limit in limits]
    expected = [
        [[by_logarithms(r, h, q, plus) for h in haplotypes] for r, *q in zip(reads, *qualities, strict=True)]
        for plus in (np.logaddexp, np.maximum)
    ]
    return reads, haplotypes, qualities, np.array(expected)


def given(qualities):
    return {"qualities": qualities[0], "gaps": GapQualities(*qualities[1:])}


@pytest.mark.parametrize("form", pair_hmm.FORMS)
def test_probabilities_are_those_of_logarithms(world, form):
    reads, haplotypes, qualities, expected = world
    near = 1e-5 if form == "single" else 1e-9
    found = [f(reads, haplotypes, **given(qualities), form=form) for f in (forward, viterbi)]
    assert np.allclose(found, expected, rtol=0, atol=near)


@pytest.mark.device("cpu")
def test_a_device_finds_the_same(world):
    reads, haplotypes, qualities, expected = world
    sums = forward(reads, haplotypes, **given(qualities), device="cpu")
    assert np.allclose(sums, expected[0], rtol=0, atol=1e-9)
    largest = viterbi(reads, haplotypes, **given(qualities), form="single", device="cpu")
    assert np.allclose(largest, expected[1], rtol=0, atol=1e-5)
    with pytest.raises(UsageError, match="log"):
        forward(reads, haplotypes, **given(qualities), form="log", device="cpu")


@pytest.mark.parametrize("instruction_set", instruction_sets())
@pytest.mark.parametrize("form", ["single", "double"])
def test_instruction_sets(world, instruction_set, form):
    reads, haplotypes, qualities, expected = world
    job = pair_hmm._Job(reads, haplotypes, *given(qualities).values(), None)
    for largest in (False, True):
        out = np.empty(len(job.pairs))
        job.batch.logs(job.pairs, largest, form, instruction_set, out)
        near = 1e-5 if form == "single" else 1e-9
        assert np.allclose(out / np.log(10), expected[int(largest)].ravel(), rtol=0, atol=near)


def probability_of(path, read, haplotype, qualities):
    """log10, step by step."""
    wrong, opened, lost, more = 10.0 ** (-np.array(qualities, float) / 10)
    log, at, i, j = -np.log10(len(haplotype)), "D", 0, path.begin
    for length, step in zip(*_runs(path.cigar), strict=True):
        for _ in range(length):
            k = i if step != "D" else i - 1
            move = {
                "MM": 1 - opened[k] - lost[k], "MI": opened[k], "MD": lost[k], "II": more[k], "DD": more[k],
                "IM": 1 - more[k], "DM": 1 - more[k],
            }[at + step]  # fmt: skip
            log += np.log10(move)
            if step == "M":
                equal = read[i] == haplotype[j] or "N" in (read[i], haplotype[j])
                log += np.log10(1 - wrong[i] if equal else wrong[i] / 3)
            i, j, at = i + (step != "D"), j + (step != "I"), step
    assert i == len(read) and j <= len(haplotype)
    return log


def _runs(cigar):
    import re

    runs = re.findall(r"(\d+)([MID])", cigar)
    return [int(n) for n, _ in runs], [step for _, step in runs]


def test_paths_have_the_probability_of_viterbi(world):
    reads, haplotypes, qualities, expected = world
    paths = viterbi_paths(reads, haplotypes, **given(qualities))
    assert np.allclose([path.log10 for path in paths], expected[1].ravel())
    for number, path in enumerate(paths):
        r, h = divmod(number, len(haplotypes))
        own = [quality[r] for quality in qualities]
        assert np.isclose(probability_of(path, reads[r], haplotypes[h], own), path.log10)
    assert paths[3 * 5 + 3].cigar == "40M" and "3I" in paths[4 * 5 + 4].cigar


def test_posteriors_are_forward_times_backward(world):
    """Backward is forward with the rest of read and haplotype; here the sum over all paths through a pair is taken."""
    reads, haplotypes, qualities, expected = world
    pairs = [[1, 1], [2, 3], [4, 4]]
    found = posterior(reads, haplotypes, **given(qualities), pairs=pairs)
    for (r, h), table in zip(pairs, found, strict=True):
        own = np.array([quality[r] for quality in qualities], float)
        match, insertion, deletion = tables(reads[r], haplotypes[h], own, np.logaddexp)
        assert table.shape == (len(reads[r]), len(haplotypes[h]))
        last = np.exp(match[-1, 1:] - expected[0, r, h] * np.log(10))
        assert np.allclose(table[-1], last)
        assert (table.sum(axis=1) < 1 + 1e-9).all()
        # Forbid a pair: what is lost is its probability.
        for i, j in ((0, 0), (2, 3), (len(table) - 1, 2)):
            lost = 1 - 10 ** (_without(reads[r], haplotypes[h], own, i, j) - expected[0, r, h])
            assert np.isclose(table[i, j], lost, atol=1e-9)


def _without(read, haplotype, qualities, i, j):
    """log10 of the sum over all alignments that do not pair bases i and j."""
    match, insertion, deletion = tables(read[: i + 1], haplotype, qualities[:, : i + 1], np.logaddexp)
    match[i + 1, j + 1] = NEVER
    _, opened, lost, more = 10.0 ** (-qualities / 10)
    md, gg = np.log(lost[i]), np.log(more[i])
    for k in range(j + 2, len(haplotype) + 1):
        deletion[i + 1, k] = np.logaddexp(md + match[i + 1, k - 1], gg + deletion[i + 1, k - 1])
    row = match[i + 1], insertion[i + 1], deletion[i + 1]
    for k in range(i + 1, len(read)):
        wrong, opened, lost, more = 10.0 ** (-qualities[:, k] / 10)
        new = [np.full(len(haplotype) + 1, NEVER) for _ in range(3)]
        for c in range(1, len(haplotype) + 1):
            equal = read[k] == haplotype[c - 1] or "N" in (read[k], haplotype[c - 1])
            emission = np.log(1 - wrong if equal else wrong / 3)
            gaps = np.log(1 - more) + np.logaddexp(row[1][c - 1], row[2][c - 1])
            new[0][c] = emission + np.logaddexp(np.log(1 - opened - lost) + row[0][c - 1], gaps)
            new[1][c] = np.logaddexp(np.log(opened) + row[0][c], np.log(more) + row[1][c])
            new[2][c] = np.logaddexp(np.log(lost) + new[0][c - 1], np.log(more) + new[2][c - 1])
        row = tuple(new)
    return np.logaddexp.reduce(np.concatenate([row[0][1:], row[1][1:]])) / np.log(10)


@pytest.mark.parametrize(
    ("reads", "more", "error"),
    [
        ([], {}, InputError),
        ([""], {}, InputError),
        (["AC!"], {}, InputError),
        (["ACG"], {}, InputError),  # no qualities
        (["ACG"], {"qualities": [[30, 30]]}, InputError),
        (["ACG"], {"qualities": [[30] * 3] * 2}, InputError),
        (["ACG"], {"qualities": -1}, InputError),
        (["ACG"], {"qualities": "III"}, UsageError),
        (["ACG"], {"qualities": 30, "gaps": GapQualities(insertion=2)}, InputError),
        (["ACG"], {"qualities": 30, "gaps": 45}, UsageError),
        (["ACG"], {"qualities": 30, "gaps": (45, 45, 10)}, UsageError),
        (["ACG"], {"qualities": 30, "form": "half"}, UsageError),
        (["ACG"], {"qualities": 30, "pairs": [[0, 1]]}, UsageError),
        (["ACG"], {"qualities": 30, "pairs": [0, 1]}, UsageError),
        (["ACG"], {"qualities": 30, "device": "no such device"}, DeviceError),
        (["ACG"], {"qualities": 30, "threads": 0}, UsageError),
    ],
)
def test_bad_input_is_one_error(reads, more, error):
    with pytest.raises(error):
        forward(reads, ["ACGT"], **more)
