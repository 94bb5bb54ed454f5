"""The scripts that judge, measure and compare: those that are quick, on a tiny genome."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import doc_commands
import field
import figure_tables
import figures
import numpy as np
import pysam
import pytest
import row_calls
import row_copies
import samdiff
from donors import fragments, write_reads
from field import Data, Row, World
from places import DATA, ROOT, SCRIPTS

from gassst.errors import InputError


@pytest.fixture(scope="module")
def script():
    """Imports a script by name."""
    return importlib.import_module


@pytest.mark.parametrize("name", sorted(path.stem for path in (SCRIPTS / "bench").glob("*.py")))
def test_every_script_finds_what_it_imports(script, name):
    """Nobody checks the types of scripts: a class of the package that has another name is missed here."""
    script(name)


# --- doc_commands -------------------------------------------------------------------------------------------


def test_what_a_page_shows_is_compared_with_what_is_printed():
    [block] = doc_commands.blocks("```console\n$ a \\\n  b\nx  1.5 %\n\n$ c\ny..  2 s\n```\n")
    assert (block.code, block.shown) == ("a \\\n  b\nc", ["x  1.5 %", "y..  2 s"])
    assert doc_commands.unlike(block.shown, "x\t1.46 %\nbetween\nyes 77.1 s\n") is None
    assert doc_commands.unlike(block.shown, "x 1.56 %\nyes 2 s\n") == "x  1.5 %"
    assert doc_commands.unlike(block.shown, "yes 2 s\nx 1.5 %\n") == "y..  2 s"
    assert doc_commands.unlike(["n  2,043  98%"], "n 2043 98.2%") is None
    assert doc_commands.unlike(["n  2,043"], "n 2044") == "n  2,043"
    assert doc_commands.unlike(["n  2,043"], "n 2,043 more") == "n  2,043"


BASES = np.random.default_rng(5).choice(np.frombuffer(b"ACGT", np.uint8), 60_000)


def test_unique_pairs_pass_filters_of_mapq_60(tmp_path):
    """As snippy's `freebayes -m 60` asks for: a scale that ends below would leave no variant."""
    rng, files = np.random.default_rng(2), (tmp_path / "1.fq", tmp_path / "2.fq")
    made = fragments(rng, [BASES], 3000, 100, (300, 30))
    write_reads(rng, files, made.mates, range(len(made.starts)))
    reference = field.write_fasta(tmp_path / "genome.fa", {"c": BASES})
    assert (
        field.sh(f"{field.sys.executable} -m gassst map -q {reference} 1.fq 2.fq -t 1 -o a.bam", tmp_path)
        == ""
    )
    with pysam.AlignmentFile(str(tmp_path / "a.bam")) as file:
        mapqs = [r.mapping_quality for r in file]
    assert max(mapqs) == 60 and sum(q == 60 for q in mapqs) > 0.97 * len(mapqs)


@pytest.mark.external("samtools", "bcftools", "bwa")
def test_calls_by_size_are_those_of_bwa_mem(tmp_path, monkeypatch):
    monkeypatch.setattr(row_calls, "CALLERS", {"bcftools": row_calls.CALLERS["bcftools"]})
    ecoli = {name: bases[:66_000] for name, bases in field.sequences(field.ECOLI).items()}

    def small(data: Data, folder) -> World:
        return row_calls.planted(folder, data.ecoli, 0, 66_000, ((0,),))

    row = Row("small", "a few variants", (), small, row_calls.haploid)
    figures = field.measured(row, Data(ecoli, {}), tmp_path, 1)["figures"]
    assert sum(one["truth"] for one in figures) == 65
    for one in figures:
        assert one["found"] >= one["bwa_found"] and one["wrong"] <= one["bwa_wrong"], one
        if not one["what"].endswith(("16-30", "31-50", "51-100")):
            assert one["found"] == one["truth"], one


@pytest.mark.external("samtools")
def test_as_many_copies_of_a_repeat_are_listed_as_by_bwa_mem(tmp_path, monkeypatch):
    """`bwa mem -a` lists 74.5 % of them; the copies differ in up to 4 % of their bases."""
    monkeypatch.setattr(row_copies, "COVERAGE", 4)
    row = row_copies.ROWS[-1]
    assert row.run is row_copies.listed
    world = row.prepare(Data(field.sequences(field.ECOLI), {}), tmp_path)
    bam, _ = field.mapped(row, 0, world, 1)
    (figure,) = row.run(world, bam, tmp_path)
    assert figure.truth > 3000 and figure.found >= 0.75 * figure.truth


HEADER = pysam.AlignmentHeader.from_dict({"HD": {"VN": "1.6"}, "SQ": [{"SN": "one", "LN": 5000}]})


def record(name: str, start: int, cigar: str = "50M", mapq: int = 60, nm: int = 0, flag: int = 0):
    """A record with its first base at the 1-based `start`; 0 for an unmapped read."""
    segment = pysam.AlignedSegment(HEADER)
    segment.query_name, segment.query_sequence, segment.flag = name, "A" * 50, flag
    if start:
        segment.reference_id, segment.reference_start = 0, start - 1
        segment.cigarstring, segment.mapping_quality = cigar, mapq
        segment.set_tag("NM", nm)
    else:
        segment.flag |= 4
    return segment


def write(path: Path, records) -> Path:
    with pysam.AlignmentFile(str(path), "wb", header=HEADER) as file:
        for one in records:
            file.write(one)
    return path


BEFORE = [
    record("same", 100), record("mapped", 0), record("unmapped", 300), record("moved", 400, nm=3, mapq=10),
    record("clipped", 510, cigar="10S40M"), record("worse", 600, nm=1), record("strand", 700),
    record("left_out", 800), record("mate", 900, flag=0x41), record("mate", 1000, flag=0x81),
    record("still", 0),
]  # fmt: skip
AFTER = [
    record("same", 100), record("mapped", 200), record("unmapped", 0), record("moved", 4000, nm=1, mapq=60),
    record("clipped", 500, nm=4), record("worse", 600, nm=2, mapq=30), record("strand", 700, flag=16),
    record("mate", 900, flag=0x41), record("mate", 1005, flag=0x81), record("still", 0), record("new", 1100),
]  # fmt: skip
EXPECTED = {
    ("same", 0): [], ("mapped", 0): ["became_mapped"], ("unmapped", 0): ["became_unmapped"],
    ("moved", 0): ["moved", "better", "mapq_up", "became_confident"], ("clipped", 0): ["realigned", "worse"],
    ("worse", 0): ["worse", "mapq_down"], ("strand", 0): ["moved"],
    ("left_out", 0): ["only_in_a", "became_unmapped"], ("mate", 1): [], ("mate", 2): ["realigned"],
    ("still", 0): [], ("new", 0): ["only_in_b", "became_mapped"],
}  # fmt: skip


@pytest.mark.parametrize("order", ["same", "reversed"])
def test_samdiff_names_every_change(tmp_path, order):
    a = write(tmp_path / "a.bam", BEFORE)
    b = write(tmp_path / "b.bam", AFTER if order == "same" else AFTER[::-1])
    found = {change.key: change.kinds for change in samdiff.changes(str(a), str(b))}
    assert found == EXPECTED


def test_samdiff_knows_nearer_from_farther(tmp_path):
    """The truth of every read is base 101 on the forward strand."""
    names = [f"s{i},one,101,150,+,0,0,0" for i in range(1, 5)]
    a = write(tmp_path / "a.bam", [record(n, s) for n, s in zip(names, (101, 105, 0, 101), strict=True)])
    b = write(tmp_path / "b.bam", [record(n, s) for n, s in zip(names, (3000, 103, 101, 101), strict=True)])
    found = [(change.kinds, change.off) for change in samdiff.changes(str(a), str(b))]
    assert found == [
        (["moved", "farther", "became_wrong"], [0, 2899]), (["realigned", "nearer"], [4, 2]),
        (["became_mapped", "nearer", "became_right"], [samdiff.FAR, 0]), ([], []),
    ]  # fmt: skip


def test_figures_are_of_one_commit_and_resume(tmp_path, monkeypatch):
    """A real library and simulated pairs, gassst alone; parts that are there are not measured again."""
    monkeypatch.setattr(figures, "PEERS", ())
    monkeypatch.setattr(figures, "ROUNDS", 1)
    monkeypatch.setattr(figures, "GENOMES", {"human": "phix174.fa"})
    monkeypatch.setattr(figures, "LIBRARIES", {"phiX": ("human", "phix_SRR1377138_R1.fastq")})
    monkeypatch.setattr(figures, "SIMULATED", [(100, 0.02, False), (100, 0.02, True)])
    out = tmp_path / "figures.json"
    common = ["--data", DATA, "--work", tmp_path / "work", "--json", out, "-n", 20, "--commit"]

    def measure(part: str, commit: str) -> dict:
        figures.main([part, *map(str, common), commit])
        return json.loads(out.read_text())

    first = measure("libraries", "a")
    assert (first["commit"], list(first["sets"])) == ("a", ["phiX, 1 threads"])
    run = first["sets"]["phiX, 1 threads"]["runs"]["gassst"]
    assert len(run["rounds"]) == figures.ROUNDS and run["mapped_share"] > 0.9
    # More than a bare interpreter, less than this machine: bytes.
    assert run["rss"] in range(20 << 20, 4 << 30)
    assert not any(str(folder) in out.read_text() for folder in (tmp_path, ROOT))
    again = measure("simulated", "a")["sets"]
    assert sorted(again) == ["100 bp 2%, 1 threads", "2 x 100 bp 2%, 1 threads", "phiX, 1 threads"]
    assert again["phiX, 1 threads"] == first["sets"]["phiX, 1 threads"]
    for name in ("100 bp 2%, 1 threads", "2 x 100 bp 2%, 1 threads"):
        assert again[name]["reads"] == 20 and again[name]["runs"]["gassst"]["placed_right"] == 1.0
    monkeypatch.setattr(figures.peers, "bench_set", None)
    assert measure("libraries", "a")["sets"] == again
    with pytest.raises(InputError, match="another commit or machine"):
        measure("libraries", "b")


def measured_set(error: float | None, threads: int, **tools: tuple[list[float], float]) -> dict:
    """A set of figures.json; a tool has CPU and wall seconds of its rounds, and a share placed correctly, or mapped."""
    share = "mapped_share" if error is None else "placed_right"
    runs = {
        name: {"rounds": [{"cpu": seconds, "wall": seconds} for seconds in rounds], share: right}
        for name, (rounds, right) in tools.items()
    }
    return {
        "name": f"set {error} {threads}", "error": error, "threads": threads, "reads": 100, "length": 100,
        "runs": runs,
    }  # fmt: skip


def test_pages_say_ratios_of_rounds_and_where_gassst_is_behind():
    sets = [
        measured_set(None, 1, gassst=([2.0, 1.0, 4.0], 0.9), minibwa=([1.0, 1.0, 1.0], 0.95)),
        measured_set(0.02, 1, gassst=([1.0, 1.0, 1.0], 0.97), minibwa=([3.0, 2.0, 4.0], 0.98)),
        measured_set(0.02, 16, gassst=([1.0, 1.0, 1.0], 0.97), minibwa=([2.0, 2.0, 2.0], 0.96)),
    ]
    result = {"tools": {"gassst": "1", "minibwa": "2"}, "sets": {one["name"]: one for one in sets}}
    assert figure_tables.ratios(sets[0], "minibwa") == [0.5, 1.0, 0.25]
    text = figure_tables.said(result)
    assert "| minibwa | 0.5                 |                  3.0 |              2.0 |" in text
    assert text.endswith(
        "* Faster for set None 1: minibwa 0.50.\n"
        "* More placed correctly of set 0.02 1: minibwa 98.000 %; gassst 97.000 %."
    )
    assert "0.5 (0.2 to 1.0)" in figure_tables.libraries(result)
    assert "98.00 %, 3.0 (2.0 to 4.0)" in figure_tables.simulated(result, paired=False)


def test_confident_reads_are_counted_right_and_wrong():
    """The figure counts 80 correct of 100 reads, 90 with MAPQ 20 or more; what failed, or is sure of none, has none."""
    one = measured_set(0.02, 1, gassst=([1.0], 0.9), minibwa=([1.0], 0.9))
    one["runs"]["gassst"] |= {"sensitivity": 0.8, "accuracy": 80 / 90}
    one["runs"] |= {"bowtie2": {"failed": "status 1"}, "minibwa": {"sensitivity": 0.0, "accuracy": None}}
    result = {"tools": dict.fromkeys(one["runs"], "1"), "sets": {"one": one}}
    header, _, row = figure_tables.at_q20(result).splitlines()
    assert header.split(" | ")[0] == "| 100 reads each"
    assert row.split() == ["|", "set", "0.02", "1", "|", "80.00", "%,", "10", "|", "-", "|"]
