"""Evaluation on SAM written by hand, so that every expected figure can be counted on fingers; verdicts on qualities."""

import argparse
import json

import numpy as np
import pytest

from gassst.errors import InputError, OutputError, UsageError
from gassst.tools import evaluate, truth
from gassst.tools.calibration import FEW, GOOD, OVERCONFIDENT, UNDERCONFIDENT, bins, report, verdict

HEADER = "@HD\tVN:1.6\n@SQ\tSN:chr1\tLN:100000\n@SQ\tSN:chr_2\tLN:100000\n"
READ = "s1,chr1,1001,1100,+,1,0,0"


def record(name, flag=0, contig="chr1", position=1001, mapq=60, cigar="100M"):
    if flag & 4:
        contig, position, mapq, cigar = "*", 0, 0, "*"
    return f"{name}\t{flag}\t{contig}\t{position}\t{mapq}\t{cigar}\t*\t0\t0\t*\t*\n"


def sam(tmp_path, *records, name="a.sam"):
    (tmp_path / name).write_text(HEADER + "".join(records))
    return str(tmp_path / name)


def judged(tmp_path, *records, tolerance=10, **options):
    """(mapped, right) over all records."""
    counts = evaluate.tally(sam(tmp_path, *records), tolerance, **options)
    return int(counts.mapped.sum()), int(counts.mapped[..., 1].sum())


@pytest.mark.parametrize(
    ("change", "right"),
    [
        ({}, True), ({"position": 1011}, True), ({"position": 991}, True), ({"position": 1012}, False),
        ({"position": 990}, False), ({"flag": 16}, False), ({"contig": "chr_2"}, False),
        ({"position": 1021, "cigar": "20S80M"}, True), ({"position": 1001, "cigar": "20S80M"}, False),
        ({"position": 1031, "cigar": "20H10S70M"}, True), ({"position": 1021, "cigar": "20H80M"}, True),
        ({"position": 1001, "cigar": "80M20S"}, True), ({"position": 1001, "cigar": "50M30D50M"}, True),
        ({"mapq": 0}, True),
    ],
)  # fmt: skip
def test_right_is_contig_strand_and_clipped_start(tmp_path, change, right):
    assert judged(tmp_path, record(READ, **change)) == (1, int(right))


def test_only_primary_records_count(tmp_path):
    extra = [record(READ, flag, position=5000) for flag in (0x100, 0x800, 0x900, 0x110)]
    counts = evaluate.tally(sam(tmp_path, *extra, record(READ), record("s2,chr1,5,104,+,0,0,0", 4), *extra))
    assert counts.records.tolist() == [2, 0, 0]
    assert (counts.mapped.sum(), counts.unmapped.sum()) == (1, 1)


def test_table_4_2(tmp_path):
    names = [f"s{i},chr1,1001,1100,+,0,0,0" for i in range(10)]
    records = [record(name, mapq=mapq) for name, mapq in zip(names, [60, 60, 20, 19, 0], strict=False)]
    records += [record(names[5], mapq=37, position=9), record(names[6], mapq=3, position=9)]
    records += [record(name, 4) for name in names[7:]]
    path = sam(tmp_path, *records)
    result = evaluate.evaluate(path)["all"]
    assert result == {
        "reads": 10, "mapped": 7, "confident": 4, "mapped_share": 0.7, "placed_right": 0.5,
        "sensitivity": 0.3, "accuracy": 0.75,
    }  # fmt: skip
    assert evaluate.evaluate(path, mapq=21)["all"]["sensitivity"] == 0.2
    assert evaluate.evaluate(path, mapq=0)["all"]["accuracy"] == pytest.approx(5 / 7)
    assert evaluate.evaluate(path, total=20)["all"]["sensitivity"] == 0.15
    with pytest.raises(UsageError, match="9 reads, but 10"):
        evaluate.evaluate(path, total=9)


def test_by_mapq_is_calibration_and_roc(tmp_path):
    def read(i, mapq, position=1001):
        return record(f"s{i},chr1,1001,1100,+,0,0,0", mapq=mapq, position=position)

    path = sam(tmp_path, read(1, 10), read(2, 60), read(3, 10, 7), read(4, 255), read(5, 60), record(READ, 4))
    rows = evaluate.evaluate(path, total=10)["by_mapq"]
    assert [(row["mapq"], row["alignments"], row["wrong"]) for row in rows] == [
        (255, 1, 0),
        (60, 2, 0),
        (10, 2, 1),
    ]
    assert [row["observed"] for row in rows] == [0, 0, 0.5]
    assert [row["expected"] for row in rows] == [None, pytest.approx(1e-6), pytest.approx(0.1)]
    assert [row["reads_share"] for row in rows] == [0.1, 0.3, 0.5]
    assert [row["error_share"] for row in rows] == [0, 0, 0.2]


def test_mates_are_judged_by_their_own_truth(tmp_path):
    name = "s1,chr1,1001,1100,+,1,0,0,1201,1300,-,0,2,0"
    first, second = record(name, 0x41), record(name, 0x91, position=1201)
    result = evaluate.evaluate(sam(tmp_path, first, second))
    assert result["truth"] == "gassst (pairs)"
    assert result["first"]["placed_right"] == result["second"]["placed_right"] == 1
    assert "single" not in result
    swapped = record(name, 0x81), record(name, 0x51, position=1201)
    assert evaluate.evaluate(sam(tmp_path, *swapped))["all"]["placed_right"] == 0
    partly = evaluate.evaluate(sam(tmp_path, first, record(name, 0x85)), total=4)
    assert (partly["first"]["reads"], partly["first"]["placed_right"], partly["second"]["mapped"]) == (
        2,
        0.5,
        0,
    )


PAIR = "s{},chr1,1001,1100,+,1,0,0,1201,1300,-,0,2,0"


def mates(i, first=1001, second=1201, proper=2):
    """Both records of pair i; 0 for an unmapped mate."""
    places = ((0x41, first), (0x91, second))
    return [
        record(PAIR.format(i), (flag & ~0x10 | 4) if not at else flag | proper, position=at or 1)
        for flag, at in places
    ]


def test_pairs_are_counted_as_a_whole(tmp_path):
    pairs = [
        mates(1), mates(2, proper=0), mates(3, second=5000), mates(4, first=7000, second=7200),
        mates(5, second=0, proper=0), mates(6, first=0, second=0, proper=0),
    ]  # fmt: skip
    records = [mate for pair in pairs for mate in pair]
    extra = [record(PAIR.format(1), flag, position=9) for flag in (0x141, 0x941, 0x8C3)]
    expected = {
        "pairs": 6, "both_mapped": 4, "both_right": 2, "one_right": 2, "proper": 3, "proper_right": 1,
        "both_mapped_share": 4 / 6, "both_right_share": 2 / 6, "one_right_share": 2 / 6,
        "proper_share": 3 / 6, "proper_right_share": 1 / 6, "proper_accuracy": 1 / 3,
    }  # fmt: skip
    path = sam(tmp_path, *records, *extra)
    result = evaluate.evaluate(path)
    assert result["pairs"] == expected
    assert "all\t6\t66.667\t33.333\t33.333\t50.000\t33.333" in evaluate.text(result)
    # Sorted by anything: mates need not be neighbours.
    shuffled = [records[i] for i in np.random.default_rng(5).permutation(len(records))]
    assert evaluate.evaluate(sam(tmp_path, *extra, *shuffled, name="b.sam"))["pairs"] == expected
    # Mates left out, known from the number of reads, are not right.
    less = evaluate.evaluate(sam(tmp_path, *records[:-3], name="c.sam"), total=12)["pairs"]
    assert (less["pairs"], less["both_right"], less["one_right"]) == (6, 2, 2)
    assert evaluate.evaluate(path, total=24)["pairs"]["both_right_share"] == 2 / 12


DWGSIM = "chr_2_624414_624026_1_0_0_0_1:0:0_1:0:0_0"
WGSIM = "chr_2_4517_5079_1:0:0_3:0:0_1f"


@pytest.mark.parametrize(
    ("name", "form", "right", "wrong"),
    [
        (DWGSIM, "dwgsim", (0x51, 624414), (0x41, 624414)),
        (DWGSIM, "dwgsim", (0x81, 624026), (0x91, 624026)),
        (DWGSIM + "/2", "dwgsim", (0x81, 624026), (0x81, 624414)),
        (DWGSIM.replace("1_0_0_0", "1_0_0_1"), "dwgsim", (0x51, 624414), (0x81, 624026)),
        (WGSIM, "wgsim", (0x41, 4517), (0x51, 4517)),
        (WGSIM, "wgsim", (0x51, 4980), (0x41, 4980)),
        (WGSIM, "wgsim", (0x81, 4517), (0x91, 4930)),
        ("S1_7!chr_2!999!1099!-", "paftools", (16, 1000), (0, 1000)),
        ("S1_7!chr_2!999!1099!+/1", "paftools", (0, 1000), (0, 980)),
    ],
)
def test_names_of_other_simulators(tmp_path, name, form, right, wrong):
    for place, expected in ((right, 1), (wrong, 0)):
        path = sam(tmp_path, record(name, place[0], "chr_2", place[1]))
        counts = evaluate.tally(path, tolerance=0)
        assert counts.form == form
        assert counts.mapped[..., 1].sum() == expected


def test_truth_from_alignments(tmp_path):
    true = [
        record("m.1", 0x53, position=2000),
        record("m.1", 0xA3, position=1800),
        record("m.2", 0),
        record("m.3", 4),
    ]
    table = sam(tmp_path, *true, name="true.sam")
    found = [
        record("m.1/1", 0x51, position=2001),
        record("m.1/2", 0x81, position=2001),
        record("m.2"),
        record("m.3"),
    ]
    assert judged(tmp_path, *found, truth=table) == (4, 2)
    with pytest.raises(InputError, match="'m.4', mate 0, is not in .*true.sam"):
        judged(tmp_path, record("m.4"), truth=table)
    with pytest.raises(InputError, match="two primary"):
        truth.from_alignments(sam(tmp_path, record("m.2"), record("m.2")))
    with pytest.raises(InputError, match="no alignments"):
        truth.from_alignments(sam(tmp_path))


def test_names_without_truth_are_refused(tmp_path):
    with pytest.raises(InputError, match="a.sam: read 'HISEQ:1' is not named"):
        judged(tmp_path, record("HISEQ:1"))
    with pytest.raises(InputError, match="a.sam: read 'HISEQ:1' is not named in the style of gassst"):
        judged(tmp_path, record(READ), record("HISEQ:1"))


def run(*arguments):
    parser = argparse.ArgumentParser()
    evaluate.add_arguments(parser)
    return evaluate.main(parser.parse_args([str(a) for a in arguments]))


def test_the_command_writes_text_json_and_counts_reads(tmp_path, capsys):
    path = sam(tmp_path, record(READ))
    (tmp_path / "r.fq").write_text("@a\nAC\n+\nII\n" * 2)
    (tmp_path / "r.fa").write_text(">a\nAC\nGT\n>b\nA\n")
    options = "--reads", tmp_path / "r.fq", "--reads", tmp_path / "r.fa", "--json", tmp_path / "o.json"
    assert run(path, *options) == 0
    assert "all\t4\t25.000\t25.000\t25.000\t100.000" in capsys.readouterr().out
    assert json.loads((tmp_path / "o.json").read_text())["all"]["reads"] == 4
    with pytest.raises(OutputError, match="no/o.json"):
        run(path, "--json", tmp_path / "no" / "o.json")
    (tmp_path / "odd.fq").write_text("@a\nAC\n+\n")
    with pytest.raises(InputError, match="odd.fq"):
        run(path, "--reads", tmp_path / "odd.fq")
    with pytest.raises(UsageError):
        run(path, "--tolerance", -1)


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_the_picture(tmp_path, suffix):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    path = sam(tmp_path, record(READ), record(READ, position=1, mapq=5))
    assert run(path, "--plot", tmp_path / f"o.{suffix}") == 0
    assert (tmp_path / f"o.{suffix}").stat().st_size > 1000
    assert run(sam(tmp_path), "--plot", tmp_path / f"empty.{suffix}") == 0
    with pytest.raises(UsageError):
        run(path, "--plot", tmp_path / "o.xyz")
    with pytest.raises(OutputError):
        run(path, "--plot", tmp_path / "no" / f"o.{suffix}")


def counts(*rows):
    """int64[256, 2] of (mapq, alignments, wrong)."""
    mapped = np.zeros((256, 2), dtype=np.int64)
    for mapq, alignments, wrong in rows:
        mapped[mapq] = alignments - wrong, wrong
    return mapped[:, ::-1]


@pytest.mark.parametrize(
    ("wrong", "expected", "found"),
    [
        (20, 10.0, GOOD),
        (21, 10.0, OVERCONFIDENT),
        (10, 20.0, GOOD),
        (10, 20.1, UNDERCONFIDENT),
        # Fewer than ten wrong: blamed only where chance does not do it.
        (5, 1.0, FEW),
        (6, 1.0, OVERCONFIDENT),
        (0, 7.3, FEW),
        (0, 7.5, UNDERCONFIDENT),
        (9, 30.0, FEW),
        (9, 40.0, UNDERCONFIDENT),
        (0, 0.0, FEW),
    ],
)
def test_verdicts(wrong, expected, found):
    assert verdict(wrong, expected) == found


def test_bins_hold_every_alignment_once_and_expect_their_mean():
    rng = np.random.default_rng(1)
    mapped = rng.integers(0, 50, (256, 2))
    rows = bins(mapped)
    assert sum(row["alignments"] for row in rows) == mapped[:255].sum()
    assert sum(row["wrong"] for row in rows) == mapped[:255, 0].sum()
    assert [row["from"] for row in rows] == sorted((row["from"] for row in rows), reverse=True)
    (row,) = bins(counts((10, 300, 30), (13, 100, 5)))
    assert (row["from"], row["to"], row["alignments"], row["wrong"]) == (10, 14, 400, 35)
    assert row["observed"] == 35 / 400
    assert row["expected"] == pytest.approx((300 * 0.1 + 100 * 10**-1.3) / 400)


def test_a_perfect_mapper_is_called_good_and_a_liar_is_not():
    """Errors drawn as promised: no verdict against them; ten times as many: one against every bin that tells."""
    rng = np.random.default_rng(7)
    qualities = np.arange(61)
    alignments = np.full(61, 200_000)
    honest = rng.binomial(alignments, 10.0 ** (-qualities / 10))
    result = report(counts(*zip(qualities, alignments, honest, strict=True)))
    assert result["monotone"] and result[OVERCONFIDENT] == result[UNDERCONFIDENT] == 0
    assert result[GOOD] + result[FEW] == len(result["bins"]) == 12 and result[GOOD] >= 11
    liar = rng.binomial(alignments, np.minimum(1, 10.0 ** (1 - qualities / 10)))
    found = {
        row["from"]: row["verdict"]
        for row in report(counts(*zip(qualities, alignments, liar, strict=True)))["bins"]
    }
    assert all(found[low] == OVERCONFIDENT for low in (5, 10, 15, 20, 25, 30, 35, 40))
