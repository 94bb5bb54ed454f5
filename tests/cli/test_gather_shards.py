"""Many machines: `gassst map --shard` and `gassst gather` give what one run gives, and nothing else."""

from __future__ import annotations

import json
import random
import re
import shutil

import pysam
import pytest
from log_start import behind_start
from map_runs import lines_of
from text_bases import reverse_complement

from gassst.cli.main import main
from gassst.errors import OutputError
from gassst.files import bgzf
from gassst.records import gathering
from gassst.tools import report

GROUPS = ["-R", r"@RG\tID:1\tSM:s\tLB:a\tPL:ILLUMINA", "-R", r"@RG\tID:2\tSM:s\tLB:b\tPL:ILLUMINA"]


@pytest.fixture
def run(capsys):
    def run(*arguments):
        code = main([*map(str, arguments)])
        return code, behind_start(capsys.readouterr().err)

    return run


@pytest.fixture(scope="module")
def folder(small_genome, tmp_path_factory):
    """Two lanes of pairs: duplicates, mates that map nowhere, a library that is learned from its first reads."""
    draw, folder = random.Random(8), tmp_path_factory.mktemp("gather")
    contigs = [sequence.decode().upper() for sequence in small_genome.values()]
    places = [(draw.choice(contigs), draw.randrange(1000), round(draw.gauss(240, 15))) for _ in range(150)]
    texts = [["", ""], ["", ""]]
    for i in range(260):
        contig, start, size = draw.choice(places)
        mates = [contig[start : start + 80], reverse_complement(contig[start + size - 80 : start + size])]
        if draw.random() < 0.1:
            mates[draw.randrange(2)] = "".join(draw.choices("ACGT", k=80))
        quality = "".join(draw.choices("@5IJ", k=80))
        for which, bases in enumerate(mates):
            texts[i % 2][which] += f"@r{i}\n{bases}\n+\n{quality}\n"
    for lane in range(2):
        for which in range(2):
            text = texts[lane][which].encode()
            (folder / f"{lane}_{which}.fq").write_bytes(text)
            blocks = [bgzf.block(text[at : at + 800], bgzf.deflater(1)) for at in range(0, len(text), 800)]
            (folder / f"{lane}_{which}.fq.gz").write_bytes(b"".join(blocks) + bgzf.END_OF_FILE)
    return folder


@pytest.fixture(scope="module")
def lanes(folder):
    names = [[folder / f"{lane}_{which}.fq.gz" for lane in range(2)] for which in range(2)]
    return ["-1", *names[0], "-2", *names[1], *GROUPS]


def mapped(index, *arguments):
    assert main(["map", str(index), *map(str, arguments), "--device", "none", "-t", "1", "-q"]) == 0


def in_parts(index, n, folder, suffix, *arguments):
    """The shards, in another order than theirs."""
    paths = [folder / f"{i}{suffix}" for i in range(1, n + 1)]
    for i, path in reversed([*enumerate(paths, 1)]):
        mapped(index, *arguments, "--shard", f"{i}/{n}", "-o", path, "--stats", path.with_suffix(".json"))
    return paths[::-1]


@pytest.fixture(scope="module")
def shards(small_index, lanes, tmp_path_factory):
    """Three shards of the lanes in BAM."""
    return in_parts(small_index, 3, tmp_path_factory.mktemp("shards"), ".bam", *lanes)


@pytest.fixture(scope="module")
def whole(small_index, lanes, tmp_path_factory):
    """One run on all, and its statistics."""
    path = tmp_path_factory.mktemp("whole") / "whole.bam"
    mapped(small_index, *lanes, "-o", path, "--stats", path.with_suffix(".json"))
    return path


def test_parts_are_one_run(run, shards, whole, tmp_path):
    counts = [path.with_suffix(".json") for path in shards]
    code, error = run(
        "gather", *shards, "-o", tmp_path / "x.bam", "--part-stats", *counts, "--stats", tmp_path / "x.json"
    )
    assert code == 0 and error.startswith(f"gassst: {tmp_path}/x.bam: 3 shards\n")
    assert "mapping time" not in error
    assert lines_of(tmp_path / "x.bam") == lines_of(whole)
    assert run("gather", *shards, "-o", tmp_path / "y.bam", "--part-stats", *counts)[1] == error.replace(
        "x.bam", "y.bam"
    )
    found, expected = (
        json.loads(path.read_text()) for path in (tmp_path / "x.json", whole.with_suffix(".json"))
    )
    assert found["run"]["shards"] == 3
    said = dict(re.findall(r"^(reads|mapped|pairs) +([\d,]+)", error, re.M))
    assert {name: int(text.replace(",", "")) for name, text in said.items()} == {
        name: expected[name] for name in ("reads", "mapped", "pairs")
    }
    assert found["run"]["insert"] == expected["run"]["insert"]
    assert expected["run"]["insert"]["pairs"] > 100
    for counts in (found, expected):
        for name in ("run", "nanoseconds"):
            del counts[name]
        counts["funnel"] = {name: (stage["in"], stage["out"]) for name, stage in counts["funnel"].items()}
    assert found == expected
    headers = [pysam.AlignmentFile(str(path)).header.to_dict() for path in (tmp_path / "x.bam", whole)]
    programs = [header.pop("PG") for header in headers]
    assert headers[0] == headers[1]
    assert [program["ID"] for program in programs[0]] == ["gassst", "gassst.gather"]
    assert "DS" not in programs[0][0]


@pytest.mark.parametrize(
    "options", [["--sort"], ["--sort", "--markdup", "--duplicate-type"]], ids=["sort", "markdup"]
)
def test_sorted_and_marked_over_all_parts(small_index, lanes, shards, tmp_path, options, monkeypatch):
    """Also where workers take few records at once: no two mates are parted."""
    monkeypatch.setattr(gathering, "CHUNK", 1000)
    metrics = [
        ["--markdup-metrics", tmp_path / name] if "--markdup" in options else []
        for name in ("a.txt", "b.txt")
    ]
    mapped(small_index, *lanes, *options, *metrics[0], "-o", tmp_path / "whole.bam")
    gathered = tmp_path / "x.bam"
    more = ["--sort-memory", "1", "-t", "2", "-q"]
    assert main([*map(str, ["gather", *shards, *options, *metrics[1], *more, "-o", gathered])]) == 0
    assert lines_of(gathered) == lines_of(tmp_path / "whole.bam")
    with pysam.AlignmentFile(str(gathered)) as file:
        assert file.header["HD"]["SO"] == "coordinate" and file.has_index()
        assert file.count("one", 0, 900) > 20
    if "--markdup" in options:
        assert (tmp_path / "a.txt").read_text() == (tmp_path / "b.txt").read_text()
        assert sum("dt:Z:" in line for line in lines_of(gathered)) > 50


def test_sorted_parts_are_merged(run, small_index, lanes, shards, tmp_path):
    paths = in_parts(small_index, 3, tmp_path, ".bam", *lanes, "--sort")
    assert run("gather", *paths, "-o", tmp_path / "merged.bam", "-q") == (0, "")
    assert run("gather", *shards, "--sort", "-o", tmp_path / "sorted.bam", "-q") == (0, "")
    assert (tmp_path / "merged.bam").read_bytes()[-2000:] == (tmp_path / "sorted.bam").read_bytes()[-2000:]
    assert lines_of(tmp_path / "merged.bam") == lines_of(tmp_path / "sorted.bam")
    code, error = run("gather", *paths, "--sort", "--markdup", "-o", tmp_path / "x.bam")
    assert code == 2 and "map without --sort" in error and error.count("\n") == 1


def test_other_formats(run, small_index, small_fasta, lanes, shards, whole, tmp_path):
    expected = lines_of(whole)
    assert run("gather", *shards, "-o", tmp_path / "x.sam", "-q") == (0, "")
    assert lines_of(tmp_path / "x.sam") == expected
    paths = in_parts(small_index, 3, tmp_path, ".cram", *lanes)
    mapped(small_index, *lanes, "-o", tmp_path / "whole.cram")
    in_cram = lines_of(tmp_path / "whole.cram", small_fasta)
    assert run("gather", *paths, "-o", tmp_path / "x.cram", "-q") == (0, "")
    assert lines_of(tmp_path / "x.cram", small_fasta) == in_cram
    assert run("gather", *shards, "-o", tmp_path / "y.cram", "--reference", small_index, "-q") == (0, "")
    assert lines_of(tmp_path / "y.cram", small_fasta) == in_cram
    assert run("gather", *paths, "-o", tmp_path / "y.bam", "--sort", "--reference", small_index, "-q") == (
        0,
        "",
    )
    assert sorted(lines_of(tmp_path / "y.bam")) == sorted(in_cram)
    # The shards need the reference although the output does without.
    fields = sorted(line.split("\t")[:11] for line in in_cram)
    asked = ["--sort", "--reference", small_index, "--output-fmt-option", "no_ref=1", "-q"]
    assert run("gather", *paths, "-o", tmp_path / "y.cram", *asked) == (0, "")
    assert sorted(line.split("\t")[:11] for line in lines_of(tmp_path / "y.cram")) == fields
    code, error = run("gather", *shards, "-o", tmp_path / "z.cram")
    assert code == 2 and "--reference" in error


def test_what_is_not_all_of_one_run(run, small_index, lanes, shards, whole, tmp_path):
    """Missing, twice, cut, of another run, no shard at all: one line, and nothing under the final name."""
    copy, cut, other = tmp_path / "copy.bam", tmp_path / "cut.bam", tmp_path / "other.bam"
    shutil.copy(shards[0], copy)
    cut.write_bytes(shards[1].read_bytes()[:-1000])
    mapped(small_index, *lanes, "-s", "4", "--shard", "2/3", "-o", other)
    output = tmp_path / "x.bam"
    cases = {
        "shard 2/3 is missing": [shards[0], shards[2]],
        "shard 1/3 is missing, and 1 more": [shards[0]],
        "is given twice": [*shards, copy],
        "is cut short": [shards[0], cut, shards[2]],
        "other options": [shards[0], other, shards[2]],
        "not a shard of a run": [*shards, whole],
        "No such file": [*shards, tmp_path / "none.bam"],
    }
    for reason, paths in cases.items():
        code, error = run("gather", *paths, "-o", output)
        assert code == 1 and reason in error and error.count("\n") == 1, error
    counts = [path.with_suffix(".json") for path in shards]
    code, error = run(
        "gather", *shards, "-o", output, "--stats", tmp_path / "x.json", "--part-stats", *counts[:2]
    )
    assert code == 1 and "one file for each of 3 shards" in error
    assert not output.exists() and not (tmp_path / "x.json").exists()


def all_outputs(shards, folder, counts, *options):
    reports = {"--stats": "x.json", "--multiqc": "x_mqc.json", "--report": "x.html"}
    named = [word for option, name in reports.items() for word in (option, folder / name)]
    return ["gather", *shards, "-o", folder / "x.bam", "--part-stats", *counts, *named, *options]


@pytest.mark.parametrize("options", [[], ["--sort", "--markdup"], ["-O", "cram"]], ids=str)
def test_a_report_that_fails_leaves_no_output(run, shards, small_index, tmp_path, monkeypatch, options):
    """The last one to be written, as by a full disk."""

    def render(_):
        raise OutputError("cannot write the report")

    monkeypatch.setattr(report, "render", render)
    counts = [path.with_suffix(".json") for path in shards]
    code, error = run(*all_outputs(shards, tmp_path, counts, "--reference", small_index, *options))
    assert code == 1 and error == "gassst: cannot write the report\n"
    assert not list(tmp_path.iterdir())


def test_compressed_reads_become_bgzf(run, small_index, folder, tmp_path):
    """`gassst split` makes of any compression what machines can share; plain gzip is refused, and says so."""
    import gzip

    text = (folder / "0_0.fq").read_bytes()
    (tmp_path / "a.fq.gz").write_bytes(gzip.compress(text))
    code, error = run("map", small_index, tmp_path / "a.fq.gz", "--shard", "1/3", "-o", tmp_path / "x.bam")
    assert code == 1 and "gassst split" in error and error.count("\n") == 1
    outputs = ["-o", tmp_path / "a.bgz", "-o", tmp_path / "b.bgz"]
    assert run("split", tmp_path / "a.fq.gz", folder / "0_1.fq", *outputs, "-q") == (0, "")
    for path, expected in (("a.bgz", text), ("b.bgz", (folder / "0_1.fq").read_bytes())):
        data = (tmp_path / path).read_bytes()
        assert gzip.decompress(data) == expected
        assert data[12:16] == b"BC\2\0" and data.endswith(bgzf.END_OF_FILE)
    assert run("split", tmp_path / "a.fq.gz", "-o", tmp_path / "c", "-o", tmp_path / "d")[0] == 2
    (tmp_path / "cut.fq.gz").write_bytes(gzip.compress(text)[:-100])
    code, error = run("split", tmp_path / "cut.fq.gz", "-o", tmp_path / "c.bgz")
    assert code == 1 and "cut short" in error and not (tmp_path / "c.bgz").exists()


def test_parts_of_inputs_of_equal_size_are_refused(small_index, folder, tmp_path, run):
    first, second = tmp_path / "a.fq", tmp_path / "b.fq"
    text = (folder / "0_0.fq").read_bytes()
    first.write_bytes(text)
    second.write_bytes(text.replace(b"@r0\n", b"@q0\n"))
    shards = [tmp_path / "1.bam", tmp_path / "2.bam"]
    for i, reads in enumerate([first, second]):
        mapped(small_index, reads, "--shard", f"{i + 1}/2", "-o", shards[i])
    code, error = run("gather", *shards, "-o", tmp_path / "out.bam")
    assert code == 1 and "other reads" in error and error.count("\n") == 1
    assert not (tmp_path / "out.bam").exists()


def test_parts_of_other_insert_models_are_refused(small_index, folder, lanes, tmp_path, run):
    shards = [tmp_path / "1.bam", tmp_path / "2.bam"]
    for i in range(2):
        model, mates = tmp_path / f"{i}.json", [folder / f"{i}_{which}.fq.gz" for which in range(2)]
        assert run("insert", small_index, *mates, "-o", model, "-q")[0] == 0
        mapped(small_index, *lanes, "--insert-model", model, "--shard", f"{i + 1}/2", "-o", shards[i])
    code, error = run("gather", *shards, "-o", tmp_path / "out.bam")
    assert code == 1 and "other options" in error and error.count("\n") == 1
    assert not (tmp_path / "out.bam").exists()
