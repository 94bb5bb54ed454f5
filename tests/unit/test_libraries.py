"""Each stretch of an input is judged by its own reads, and the records do not depend on how the work is split."""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np
import pytest
from brute_force import reverse_complement as reverse
from map_runs import lines_of
from record_batches import to_aligned_segments

import gassst
from gassst.cli.summary import summary
from gassst.index.seed_index import SeedIndex
from gassst.model.reference import Reference
from gassst.pairing.error_rate import UNKNOWN_LIBRARY, ErrorRate
from gassst.pairing.insert_size import InsertModel
from gassst.reads.in_memory import batch_of_records
from gassst.reads.shards import Shard
from gassst.records import writer as sam
from gassst.runs.libraries import Probe, are_apart, joined_results, library_text, own_library

STRETCH = 512  # reads
LENGTH = 60


@pytest.fixture(scope="module")
def genome():
    """Copies of one element everywhere: a mate in one of them is placed by the other one alone."""
    rng = np.random.default_rng(3)
    bases = rng.choice(np.frombuffer(b"ACGT", np.uint8), 80_000)
    element = bases[:150].copy()
    for at in range(2000, 78_000, 2500):
        bases[at : at + 150] = element
    return bases.tobytes()


@pytest.fixture(scope="module")
def index(genome, tmp_path_factory):
    path = tmp_path_factory.mktemp("index") / "small.gsi"
    SeedIndex.build(Reference.from_sequences([("chr", genome)]), threads=1).save(path)
    return path


@pytest.fixture(autouse=True)
def short_stretches(monkeypatch):
    for name in ("run.HEAD", "run.STRETCH", "file_run.HEAD", "file_run.STRETCH"):
        monkeypatch.setattr(f"gassst.runs.{name}", STRETCH)


def pairs(genome, seed, n, mean, sd, errors=0.0, faces_apart=False, name="p"):
    """(name, first, second); the name has the first base of the fragment, its length, and the strand of the first."""
    rng, found = np.random.default_rng(seed), []
    for i in range(n):
        size = max(int(rng.normal(mean, sd)), LENGTH + 5)
        start = int(rng.integers(0, len(genome) - size))
        fragment = genome[start : start + size]
        one, two = fragment[:LENGTH], fragment[-LENGTH:]
        one, two = (reverse(one), two) if faces_apart else (one, reverse(two))
        mates = [with_errors(rng, one, errors), with_errors(rng, two, errors)]
        if rng.random() < 0.5:
            mates.reverse()
        found.append((f"{name}{i}:{start}:{size}", *mates))
    return found


def with_errors(rng, bases, rate):
    bases = np.frombuffer(bases, np.uint8).copy()
    wrong = np.flatnonzero(rng.random(len(bases)) < rate)
    bases[wrong] = np.frombuffer(b"CGTA", np.uint8)[["ACGT".index(chr(b)) for b in bases[wrong]]]
    return bases.tobytes()


def mapped(index, reads, **options):
    mapper = gassst.Mapper(index, **{"device": "none", "threads": 1} | options)
    one, two = ([(read[0], read[k]) for read in reads] for k in (1, 2))
    return list(mapper.map(one, two))


def proper(records, name="p"):
    flags = [r.is_proper_pair for r in records if r.query_name.startswith(name) and not r.is_supplementary]
    return np.mean(flags)


HEADS = {
    "shorter": {"mean": 150, "sd": 10},
    "longer": {"mean": 900, "sd": 60},
    "mild": {"mean": 250, "sd": 20},
    "apart": {"mean": 900, "sd": 60, "faces_apart": True},
}
BODY = {"mean": 400, "sd": 25}


@pytest.mark.parametrize("kind", HEADS)
def test_a_body_unlike_its_head_is_as_behind_a_head_of_its_own_kind(index, genome, kind):
    body = pairs(genome, 1, 6 * STRETCH // 2, **BODY)
    own = pairs(genome, 2, STRETCH // 2, **BODY, name="h")
    other = pairs(genome, 2, STRETCH // 2, **HEADS[kind], name="h")
    expected = [r for r in mapped(index, own + body) if r.query_name[0] == "p"]
    records = [r for r in mapped(index, other + body) if r.query_name[0] == "p"]
    assert proper(records) == proper(expected) > 0.98
    same = [a.reference_start == b.reference_start for a, b in zip(records, expected, strict=True)]
    assert np.mean(same) > 0.998
    close = [abs(a.mapping_quality - b.mapping_quality) <= 3 for a, b in zip(records, expected, strict=True)]
    assert np.mean(close) > 0.98


def test_a_stretch_of_other_errors_gets_its_own_rate(index, genome):
    """Of reads from a clean library one with three errors is doubtful; where all have as many it is not."""
    body = pairs(genome, 1, 6 * STRETCH // 2, **BODY, errors=0.05)
    heads = [pairs(genome, 2, STRETCH // 2, **BODY, errors=rate, name="h") for rate in (0.05, 0.0)]
    bad, clean = ([r for r in mapped(index, head + body) if r.query_name[0] == "p"] for head in heads)
    close = [abs(a.mapping_quality - b.mapping_quality) <= 3 for a, b in zip(bad, clean, strict=True)]
    assert np.mean(close) > 0.97


def test_parts_of_reads_in_a_batch_of_two_libraries(index, genome):
    """Each part of a read keeps its own tags: those that its half of the input has where it is mapped alone."""
    rng = np.random.default_rng(21)
    head, body = (split_reads(genome, rng, 2 * STRETCH, errors) for errors in (0.002, 0.04))
    mapper = gassst.Mapper(index, device="none", threads=1, max_hits=3)
    batch = batch_of_records([(str(i), read.decode(), None) for i, read in enumerate(head + body)])
    parts = batch.part(0, len(head)), batch.part(len(head), len(batch))
    models = mapper._engine.insert, replace(mapper._engine.insert, errors=ErrorRate(0.04, 1e6))
    alone = [mapper._engine.map_batch(part, model)[0] for part, model in zip(parts, models, strict=True)]
    both = joined_results(alone)
    assert min(len(result.parts) for result in alone) > 50
    style = sam.RecordStyle(more_tags=("NH",))
    builder = sam.record_builder(mapper.header_text(), mapper.reference.arrays, style)
    expected = [
        record.to_string()
        for part, result in zip(parts, alone, strict=True)
        for record in to_aligned_segments(part, *result.rows, builder)
    ]
    found = [record.to_string() for record in to_aligned_segments(batch, *both.rows, builder)]
    assert found == expected


def split_reads(genome, rng, n, errors):
    """Every second read has its halves from two places."""
    found = []
    for i in range(n):
        a, b = rng.integers(0, len(genome) - 120, 2)
        bases = genome[a : a + 60] + (genome[b : b + 60] if i % 2 else genome[a + 60 : a + 120])
        found.append(with_errors(rng, bases, errors))
    return found


@pytest.mark.parametrize("size", [STRETCH, 3 * STRETCH // 4, STRETCH // 8])
def test_blocks_of_two_libraries_by_turns(index, genome, size):
    """A stretch may hold a border, or several blocks: the mates of both libraries are looked for."""
    blocks = [
        pairs(genome, i, size, **(HEADS["apart"] if i % 2 else BODY), name=f"{'ab'[i % 2]}{i}.")
        for i in range(6 * STRETCH // size)
    ]
    records = mapped(index, [pair for block in blocks for pair in block])
    assert proper(records, "a") > 0.98 and proper(records, "b") > 0.98
    for name in "ab":
        of_library = [pair for i, block in enumerate(blocks) if "ab"[i % 2] == name for pair in block]
        alone = {(r.query_name, r.is_read1): r for r in mapped(index, of_library)}
        some = [r for r in records if r.query_name.startswith(name)]
        same = [r.reference_start == alone[r.query_name, r.is_read1].reference_start for r in some]
        assert np.mean(same) > 0.99


def changing(genome):
    return [
        *pairs(genome, 1, 700, 150, 10),
        *pairs(genome, 2, 1000, **BODY, errors=0.02),
        *pairs(genome, 3, 333, 900, 60, faces_apart=True),
        *pairs(genome, 4, 900, 150, 10),
    ]


@pytest.fixture
def files(genome, tmp_path):
    """Two files of mates, and one of interleaved pairs."""
    reads = changing(genome)
    paths = [tmp_path / name for name in ("1.fq", "2.fq", "both.fq")]
    one, two = (
        [f"@{read[0]}\n{read[k].decode()}\n+\n{'I' * len(read[k])}\n" for read in reads] for k in (1, 2)
    )
    both = [text for pair in zip(one, two, strict=True) for text in pair]
    for path, text in zip(paths, (one, two, both), strict=True):
        path.write_text("".join(text))
    return paths


@pytest.mark.parametrize(
    "options",
    [
        {"threads": 2},
        {"threads": 3, "batch_size": 300},
        {"batch_size": 2000, "threads": 2},
        {"batch_size": 514},
    ],
    ids=str,
)
def test_records_do_not_depend_on_threads_batches_and_files(index, genome, files, tmp_path, options):
    first, second, both = files
    plain = gassst.Mapper(index, device="none", threads=1)
    plain.map_file([first], tmp_path / "a.sam", mates=[second])
    mapper = gassst.Mapper(index, device="none", **options)
    mapper.map_file([first], tmp_path / "b.sam", mates=[second])
    mapper.map_file([both], tmp_path / "c.sam", interleaved=True)
    expected = lines_of(tmp_path / "a.sam")
    assert lines_of(tmp_path / "b.sam") == lines_of(tmp_path / "c.sam") == expected


@pytest.mark.parametrize("shape", ["two files", "interleaved"])
def test_shards_are_whole_stretches(index, files, tmp_path, shape):
    first, second, both = files
    source = (
        {"reads": [first], "mates": [second]}
        if shape == "two files"
        else {"reads": [both], "interleaved": True}
    )
    mapper = gassst.Mapper(index, device="none", threads=1)
    mapper.map_file(output=tmp_path / "whole.sam", **source)
    found = []
    for i in range(1, 5):
        stats = mapper.map_file(output=tmp_path / f"{i}.sam", shard=Shard(i, 4), **source)
        assert i == 4 or stats.reads % STRETCH == 0
        assert stats.reads
        found += lines_of(tmp_path / f"{i}.sam")
    assert found == lines_of(tmp_path / "whole.sam")


def test_a_change_is_told_once_and_all_libraries_are_listed(index, files, tmp_path, caplog):
    mapper = gassst.Mapper(index, device="none", threads=2)
    with caplog.at_level(logging.WARNING):
        stats = mapper.map_file([files[0]], tmp_path / "a.sam", mates=[files[1]])
    (line,) = [record.getMessage() for record in caplog.records if "library changes" in record.getMessage()]
    assert "changes after 1,024 reads" in line and "before: fr 148 +- 10" in line
    libraries = stats.run["libraries"]
    assert sum(library["reads"] for library in libraries) == stats.reads
    assert sum(library["share"] for library in libraries) == pytest.approx(1, abs=0.001)
    assert libraries[0]["mean"] == pytest.approx(150, abs=3)
    sizes = [(library["orientation"], library["mean"]) for library in libraries if library["share"] > 0.15]
    assert [o for o, _ in sizes] == ["fr", "fr"] and sizes[1][1] == pytest.approx(400, abs=5)
    assert "rf" in {library["orientation"] for library in libraries}
    text = summary(stats, 1.0)
    assert "libraries" in text and all(library_text(library) in text for library in libraries)


def model(mean=300.0, sd=30.0, rate=0.01, orientation="fr"):
    errors = UNKNOWN_LIBRARY if rate is None else ErrorRate(rate, 500.0)
    return InsertModel(orientation, mean, sd, 100, 500, 400, errors)


@pytest.mark.parametrize(
    "other, apart",
    [
        (model(305), False), (model(330), True), (model(sd=36), False), (model(sd=60), True),
        (model(rate=0.012), False), (model(rate=0.03), True), (model(rate=None), True),
        (model(orientation="rf"), True), (replace(model(), also=model(orientation="rf")), True),
        (replace(model(), also=replace(model(orientation="rf"), pairs=20)), False),
    ],
)  # fmt: skip
def test_what_makes_two_libraries(other, apart):
    assert are_apart(other, model(), 100) is apart


@pytest.mark.parametrize("others, unlike", [(2, False), (9, True), (16, True)])
def test_a_second_orientation_makes_a_stretch_unlike_its_library(others, unlike):
    """A stretch is unlike where more than a few of 32 pairs lie so; template lengths are those of the library."""
    rng = np.random.default_rng(5)
    sizes = np.rint(rng.normal(300, 30, 32)).astype(int).tolist()
    probe = Probe(0, 0, 0, {"fr": sizes[others:], "rf": sizes[:others]})
    assert probe.is_unlike(model(), True) is unlike


def test_a_stretch_that_says_nothing_is_of_the_first_library():
    first = model()
    assert own_library(InsertModel.assumed("fr"), first, 100, True) is first


def test_reads_of_elsewhere_end_with_few_seeds(index, genome, tmp_path, monkeypatch):
    """As their library shows; those of a stretch of this genome take the seeds that they need."""
    rng = np.random.default_rng(8)
    foreign = [rng.choice(np.frombuffer(b"ACGT", np.uint8), 100).tobytes() for _ in range(2 * STRETCH)]
    starts = rng.integers(0, len(genome) - 100, STRETCH).tolist()
    own = [with_errors(rng, genome[start : start + 100], 0.1) for start in starts]
    (tmp_path / "r.fa").write_text("".join(f">{i}\n{r.decode()}\n" for i, r in enumerate([*foreign, *own])))
    found = []
    for given_up in (0.004, 0.0):
        monkeypatch.setattr("gassst.search.host.GIVEN_UP", given_up)
        mapper = gassst.Mapper(index, device="none", threads=1)
        found.append(mapper.map_file([tmp_path / "r.fa"], tmp_path / "a.sam"))
    early, late = found
    assert early.occurrences < 0.7 * late.occurrences and early.mapped > 0.99 * late.mapped > 0.9 * STRETCH
    first, second = early.run["libraries"]
    assert first["errors"]["elsewhere"] > 0.9 and first["reads"] == 2 * STRETCH
    assert second["errors"]["rate"] == pytest.approx(0.1, abs=0.03)
