"""Statistics for MultiQC, and what its pages and reports say of damage."""

from __future__ import annotations

import json
from importlib import resources

import jsonschema
import numpy as np
import pysam
import pytest

from gassst.cli.main import main
from gassst.errors import UsageError
from gassst.tools.multiqc import PLOTS, verify_name
from gassst.tools.report_numbers import Numbers

SCHEMA = json.loads(resources.files("gassst.tools").joinpath("data/stats.schema.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def folder(small_index, small_reads, tmp_path_factory):
    """Outputs of a run on pairs, sorted, and of one on single reads."""
    folder = tmp_path_factory.mktemp("runs")
    reads = folder / "pairs.fq"
    reads.write_text("".join(f"@r{i // 2}\n{s}\n+\n{q}\n" for i, (_, s, q) in enumerate(small_reads[:200])))
    common = ["map", "-q", "--device", "none", str(small_index), str(reads), "--sort"]
    for name, more in {
        "pairs": ["--interleaved", "--markdup", "--filters", "fd", "-R", r"@RG\tID:l1\tSM:mouse"],
        "single": [],
    }.items():
        path = str(folder / name)
        files = ["-o", f"{path}.cram", "--stats", f"{path}.json", "--multiqc", f"{path}_mqc.json"]
        assert main([*common, *more, *files]) == 0
    return folder


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["pairs", "single"])
def test_statistics_follow_the_schema(folder, name):
    stats = read(folder / f"{name}.json")
    jsonschema.validate(stats, SCHEMA)
    assert stats.keys() <= SCHEMA["properties"].keys(), "a new property needs its line in stats.schema.json"
    assert stats["run"].keys() <= SCHEMA["properties"]["run"]["properties"].keys()


def test_distributions_are_those_of_the_records(folder):
    """Counted by pysam in the records that the run wrote."""
    with pysam.AlignmentFile(folder / "pairs.cram", check_sq=False) as file:
        records = [record for record in file if not record.flag & 0x900]
    mapped = [record for record in records if not record.is_unmapped]
    plots = {name: read(folder / f"pairs_{name}_mqc.json") for name in PLOTS}
    assert all(
        plot["plot_type"] == "linegraph" and list(plot["data"]) == ["pairs"] for plot in plots.values()
    )
    for mapq, share in plots["mapq"]["data"]["pairs"].items():
        good = sum(record.mapping_quality >= int(mapq) for record in mapped)
        assert share == pytest.approx(100 * good / len(records), abs=1e-4)
    edits = plots["edits"]["data"]["pairs"]
    assert sum(edits.values()) == pytest.approx(100, abs=0.01)
    for errors, share in edits.items():
        assert share == pytest.approx(
            100 * sum(record.get_tag("NM") == int(errors) for record in mapped) / len(mapped), abs=1e-4
        )


def test_a_name_that_multiqc_does_not_know(small_index, small_fastq, tmp_path, capfd):
    with pytest.raises(UsageError):
        verify_name("run.json")
    path = tmp_path / "run.json"
    assert main(["map", str(small_index), str(small_fastq), "--multiqc", str(path)]) == 2
    out, error = capfd.readouterr()
    assert out == "" and error.count("\n") == 1 and "_mqc.json" in error and not path.exists()


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
    """One base in 100 is wrong, and a third of these look like damage; ends with many errors may be clipped."""
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
