"""What other programs read: the schema of --stats, the file for MultiQC, the @PG line."""

from __future__ import annotations

import json
from importlib import resources

import jsonschema
import pysam
import pytest

from gassst.cli.main import main
from gassst.errors import UsageError
from gassst.tools.multiqc import PLOTS, verify_name

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
