"""The benchmark scripts on a tiny genome: they run, and their counts are those of independent reckoning."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import brute_force as bf
import numpy as np
import pytest
from places import SCRIPTS


@pytest.fixture(scope="module")
def script():
    """Imports a script by name."""
    return importlib.import_module


def results_of(module, *arguments) -> dict:
    path = Path(str(arguments[-1]))
    module.main([*map(str, arguments[:-1]), "--json", str(path)])
    return json.loads(path.read_text())


@pytest.mark.parametrize("name", sorted(path.stem for path in (SCRIPTS / "bench").glob("*.py")))
def test_every_script_finds_what_it_imports(script, name):
    """Nobody checks the types of scripts: a class of the package that has another name is missed here."""
    script(name)


# --- ablation


def test_ablation_maps_the_same_reads_with_and_without_a_rule(script, tmp_path, monkeypatch):
    genome = tmp_path / "genome.fa"
    bases = np.random.default_rng(1).choice(list("ACGT"), 20_000)
    genome.write_text(">a\n" + "".join(bases) + "\n")
    out, argv = tmp_path / "out.json", ["ablation.py", str(genome), "-n", "30", "--rounds", "1"]
    monkeypatch.setattr(sys, "argv", [*argv, "--rules", "mate-rescue", "--json", str(out)])
    ablation = script("ablation")
    monkeypatch.setattr(ablation, "SETS", {name: ablation.SETS[name] for name in ("50 b 5 %", "2x50 b 5 %")})
    ablation.main()
    rows = json.loads(out.read_text())["rows"]
    assert [(row["rule"], row["set"]) for row in rows] == [("mate-rescue", name) for name in ablation.SETS]
    assert all(row["cpu"] > 0 for row in rows)
    assert rows[0]["places"] == rows[0]["qualities"] == 0  # no single read has a mate


# --- split_reads


def test_events_are_planted_where_they_say(script):
    """An event of three bases at base 10 (from 0), with two bases on both sides."""
    planted = script("split_reads").planted
    ends = [9, 10], [14, 15]
    inner = {
        "deletion": ([], [2]),
        "insertion": ([0, 0, 0, 11, 12, 13], [2, 5]),
        "inversion": ([-13, -12, -11], [2, 5]),
        "duplication": ([11, 12, 13, 11, 12, 13], [5]),
        "translocation": ([31, 32, 33, 11, 12, 13], [2, 5]),
    }
    for kind, (bases, joints) in inner.items():
        source, found = planted(kind, 3, 10, 30, 2)
        assert source.tolist() == [*ends[0], *bases, *ends[1]] and found == joints


def test_split_reads_of_a_random_genome(script, tmp_path, monkeypatch):
    """All reads are sure, and nearly all parts are found; the contigs are short, and one has unknown bases."""
    split_reads, rng = script("split_reads"), np.random.default_rng(45)
    monkeypatch.setattr(split_reads, "SIZES", (100,))
    monkeypatch.setattr(split_reads, "SHAPES", ((100, 1), (100, 2)))
    genome = tmp_path / "one.fa"
    contigs = [bf.random_bases(rng, 9000).decode() for _ in range(3)]
    contigs[1] = contigs[1][:4000] + "N" * 500 + contigs[1][4500:]
    genome.write_text("".join(f">c{i}\n{bases}\n" for i, bases in enumerate(contigs)))
    result = results_of(
        split_reads,
        genome,
        "--events",
        40,
        "--tools",
        "gassst",
        "--indexes",
        tmp_path / "i",
        tmp_path / "out.json",
    )
    assert len(result["cells"]) == 10
    for row in result["cells"]:
        found = row["gassst"]
        assert row["reads"] == 40 and found["wrong20"] == 0
        assert found["right20"] >= (25 if row["kind"] == "insertion" else 37)
        assert 0.9 * row["parts"] <= found["found"] <= row["parts"]
    assert "| translocation | 100   |" in split_reads.table(result)


# --- curves


def test_curves_count_what_evaluate_counts(script, tmp_path):
    """Ancient reads of a random genome, and foreign ones of another, by gassst alone."""
    curves, rng = script("curves"), np.random.default_rng(43)
    paths = [tmp_path / f"{name}.fa" for name in ("one", "other")]
    for path in paths:
        path.write_text(f">{path.stem}\n{bf.random_bases(rng, 20_000).decode()}\n")
    options = "-n", 300, "--foreign", 100, "--tools", "gassst", "--indexes", tmp_path / "indexes"
    result = results_of(curves, "ancient", *paths, *options, tmp_path / "out.json")
    assert [one["name"] for one in result["sets"]] == ["one", "one, foreign", "other", "other, foreign"]
    own, foreign = result["sets"][0]["runs"]["gassst"], result["sets"][1]["runs"]["gassst"]
    assert own["right0"] > 290 and own["right0"] >= own["right20"] >= own["right25"] >= own["right30"] > 250
    assert own["curve"][-1][1:] == [own["right0"], own["wrong0"]]
    assert foreign["right0"] == 0 and foreign["wrong0"] <= 5
    steps = np.diff([[right, wrong] for _, right, wrong in own["curve"]], axis=0)
    assert (steps >= 0).all() and [row[0] for row in own["curve"]] == sorted(
        (row[0] for row in own["curve"]), reverse=True
    )
    (row,) = [line for line in curves.cells(result).splitlines() if line.startswith("| one ")]
    assert f"{own['right20'] / 3:.2f}" in row
    assert "wrong" not in curves.foreign(result) and curves.foreign(result).count("gassst") == 2
    assert curves.shown(result, tmp_path / "f.svg").endswith("(f.svg)") and (tmp_path / "f.svg").exists()


def test_levels_are_compared_where_all_tools_have_them(script, tmp_path):
    curves = script("curves")
    truth = tmp_path / "t.bedGraph"
    truth.write_text(
        "track\n" + "".join(f"c\t{at}\t{at + 1}\t{level}\n" for at, level in ((5, 80), (9, 10), (12, 50)))
    )
    calls = tmp_path / "c.bedGraph"
    calls.write_text("track\nc\t5\t7\t90\t9\t1\nc\t9\t11\t33\t1\t2\nc\t12\t14\t25\t2\t6\n")
    found = curves.levels_of(calls)
    assert found == {("c", 5): 90, ("c", 12): 25}
    other = {("c", 5): 82.0, ("c", 9): 10.0}
    rows = curves.compare_levels(curves.levels_of(truth), {"a": found, "b": other})
    assert rows == {"a": {"cpg": 2, "shared": 1, "error": 10}, "b": {"cpg": 2, "shared": 1, "error": 2}}


def test_curves_judge_reads_by_a_file_of_true_alignments(script, tmp_path):
    """The place of a read without truth in its name is that in the file, and its MAPQ that of the mapper."""
    curves = script("curves")
    head = "@HD\tVN:1.6\n@SQ\tSN:c\tLN:1000\n"
    line = "{name}\t{flag}\tc\t{at}\t{mapq}\t4M\t*\t0\t0\tACGT\tIIII\n"
    truth = {"a": 11, "b": 101, "c": 201}
    (tmp_path / "t.sam").write_text(
        head + "".join(line.format(name=k, flag=0, at=v, mapq=255) for k, v in truth.items())
    )
    mapped = [("a", 0, 11, 40), ("b", 0, 301, 22), ("c", 16, 201, 0)]
    (tmp_path / "o.sam").write_text(
        head + "".join(line.format(name=n, flag=f, at=at, mapq=q) for n, f, at, q in mapped)
    )
    reads = curves.ReadSet("r", tmp_path / "r.fq", 3, 4)
    found = curves.judged(
        tmp_path / "o.sam", curves.Set("s", tmp_path / "c.fa", reads, str(tmp_path / "t.sam"))
    )
    assert found["curve"] == [[40, 1, 0], [22, 1, 1], [0, 1, 2]]
    assert (found["right20"], found["wrong20"], found["wrong25"]) == (1, 1, 0)
    one = {"name": "s", "reads": 4, "foreign": False, "runs": {"gassst": found, curves.ALN_NAME: found}}
    assert curves.filters({"sets": [one]}).count("25.00 %, 0") == 4
