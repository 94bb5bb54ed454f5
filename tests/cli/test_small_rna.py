"""Presets small-rna and ancient, with `--adapter`, `--strata` and `--min-length`, on the command line."""

from __future__ import annotations

import json

import brute_force as bf
import numpy as np
import pysam
import pytest

from gassst import Mapper
from gassst.cli.main import main
from gassst.reads.small_rna import KITS

READ = 50


@pytest.fixture(scope="module")
def genome() -> bytes:
    rng = np.random.default_rng(22)
    bases = bytearray(bf.random_bases(rng, 60_000))
    bases[40_000:40_040] = bases[1_000:1_040]
    return bytes(bases)


@pytest.fixture(scope="module")
def fasta(genome, tmp_path_factory):
    path = tmp_path_factory.mktemp("small_rna") / "ref.fa"
    path.write_bytes(b">c\n" + genome + b"\n")
    return path


def write_reads(path, reads):
    path.write_text("".join(f">{name}\n{bases}\n" for name, bases in reads))
    return str(path)


def run(fasta, reads, out, *options):
    stats = out.with_suffix(".json")
    code = main(
        ["map", "-q", "-t", "1", "--device", "none", str(fasta), reads, "-o", str(out), "--stats", str(stats), *options]
    )  # fmt: skip
    assert code == 0
    with pysam.AlignmentFile(str(out)) as file:
        return list(file), json.loads(stats.read_text())


def with_adapter(insert: bytes, adapter: str, rng) -> str:
    return (insert.decode() + adapter + bf.random_bases(rng, READ).decode())[:READ]


@pytest.mark.parametrize("adapter", KITS)
def test_reads_are_cut_where_the_adapter_of_a_kit_begins(fasta, genome, tmp_path, adapter):
    """Each record has the bases of the insert, one error in the adapter or none."""
    rng, inserts, reads = np.random.default_rng(len(adapter)), {}, []
    for i in range(60):
        at, length = int(rng.integers(50_000)), int(rng.integers(15, 33))
        worn = adapter if i % 2 else adapter[:7] + {"A": "C"}.get(adapter[7], "A") + adapter[8:]
        inserts[f"r{i}"] = at, genome[at : at + length]
        reads.append((f"r{i}", with_adapter(inserts[f"r{i}"][1], worn, rng)))
    path = write_reads(tmp_path / "reads.fa", reads)
    records, stats = run(fasta, path, tmp_path / "out.sam", "--preset", "small-rna", "-k", "1")
    assert stats["trimmed"] == stats["reads"] == len(records) == 60
    for record in records:
        at, insert = inserts[record.query_name]
        bases = record.get_forward_sequence().encode()
        # The first base of the adapter may be that of an earlier start with one error.
        assert bases == insert
        assert record.reference_start == at or record.mapping_quality == 0


def test_cut_reads_have_the_records_of_trimmed_ones(fasta, genome, tmp_path):
    rng = np.random.default_rng(5)
    inserts = [genome[at : at + 15 + at % 18] for at in rng.integers(0, 50_000, 100).tolist()]
    whole = write_reads(
        tmp_path / "w.fa", [(f"r{i}", with_adapter(s, KITS[0], rng)) for i, s in enumerate(inserts)]
    )
    trimmed = write_reads(tmp_path / "t.fa", [(f"r{i}", s.decode()) for i, s in enumerate(inserts)])
    one, _ = run(fasta, whole, tmp_path / "w.sam", "--preset", "small-rna", "--adapter", KITS[0].lower())
    other, stats = run(fasta, trimmed, tmp_path / "t.sam", "--preset", "small-rna", "--adapter", "none")
    assert [r.to_string() for r in one] == [r.to_string() for r in other]
    assert stats["trimmed"] == 0


def test_collapsed_reads_count_as_often_as_their_names_say(fasta, genome, tmp_path):
    names = ["a_x12", "b_x1", "c", "d_x0012", "_x7", "e_x", "f_y3", "g_x999999999", "h_x5x6"]
    reads = [(name, genome[100 * i : 100 * i + 22].decode()) for i, name in enumerate(names)]
    reads.append(("lost_x30", bf.random_bases(np.random.default_rng(1), 22).decode()))
    path = write_reads(tmp_path / "reads.fa", reads)
    _, stats = run(fasta, path, tmp_path / "out.sam", "--preset", "small-rna")
    mapped = 12 + 1 + 1 + 12 + 7 + 1 + 1 + 999_999_999 + 1
    assert (stats["copies"], stats["copies_mapped"]) == (mapped + 30, mapped)
    _, without = run(fasta, path, tmp_path / "out.sam")
    assert (without["copies"], without["copies_mapped"]) == (0, 0)


def test_the_preset_reports_the_best_stratum_up_to_50_places(fasta, genome, tmp_path):
    copy, single = genome[1_010:1_032].decode(), genome[5_000:5_022].decode()
    other = single[:10] + ("A" if single[10] != "A" else "C") + single[11:]
    path = write_reads(tmp_path / "reads.fa", [("copy", copy), ("single", single), ("other", other)])
    records, _ = run(fasta, path, tmp_path / "out.sam", "--preset", "small-rna")
    found = [(r.query_name, r.reference_start, r.get_tag("NM"), r.mapping_quality == 0) for r in records]
    assert sorted(found) == [
        ("copy", 1_010, 0, True), ("copy", 40_010, 0, True), ("other", 5_000, 1, False), ("single", 5_000, 0, False)
    ]  # fmt: skip
    records, _ = run(fasta, path, tmp_path / "out.sam", "--preset", "small-rna", "-k", "1", "-p", "100")
    assert [(r.query_name, r.is_unmapped) for r in records] == [
        ("copy", False), ("single", False), ("other", True)
    ]  # fmt: skip


def test_reads_that_are_too_short_are_counted(fasta, genome, tmp_path, capsys):
    reads = [("dimer", "A" + KITS[0]), ("short", genome[:14].decode()), ("read", genome[:15].decode())]
    path = write_reads(tmp_path / "reads.fa", reads)
    records, stats = run(fasta, path, tmp_path / "out.sam", "--preset", "small-rna")
    assert [r.is_unmapped for r in records] == [True, True, False]
    assert stats["too_short"] == 2
    path = write_reads(tmp_path / "reads.fa", reads[:2])
    run(fasta, path, tmp_path / "out.sam", "--preset", "small-rna")
    (line,) = capsys.readouterr().err.splitlines()
    assert "none of its first 2 reads has 15 bases, the fewest that are mapped" in line


@pytest.fixture(scope="module")
def text() -> str:
    return "".join(np.random.default_rng(8).choice(list("ACGT"), 50_000))


@pytest.fixture
def text_fasta(text, tmp_path):
    path = tmp_path / "ref.fa"
    path.write_text(f">c\n{text}\n")
    return path


def run_ancient(text_fasta, reads, out, *options):
    path, stats = out.with_suffix(".fq"), out.with_suffix(".json")
    path.write_text("".join(f"@{name}\n{bases}\n+\n{'I' * len(bases)}\n" for name, bases in reads))
    quiet = "-q", "-t", "1", "--device", "none"
    assert (
        main(["map", *quiet, str(text_fasta), str(path), "-o", str(out), "--stats", str(stats), *options])
        == 0
    )
    with pysam.AlignmentFile(str(out)) as file:
        return list(file), json.loads(stats.read_text())


def worn(bases: str) -> str:
    """With three other bases at each end: a local alignment would clip them."""
    other = dict(zip("ACGT", "CAAC", strict=True))
    return "".join(other[b] for b in bases[:3]) + bases[3:-3] + "".join(other[b] for b in bases[-3:])


def test_reads_are_aligned_end_to_end_from_30_bases_on(text_fasta, text, tmp_path):
    reads = [(f"r{n}", text[100 * n : 101 * n]) for n in (15, 28, 29, 30, 31, 60)]
    reads.append(("worn", worn(text[20_000:20_060])))
    records, stats = run_ancient(text_fasta, reads, tmp_path / "out.sam", "--preset", "ancient")
    assert [r.query_sequence for r in records] == [bases for _, bases in reads]
    assert [r.is_unmapped for r in records] == [True] * 3 + [False] * 4
    assert stats["too_short"] == 3 and stats["bases"] == sum(len(bases) for _, bases in reads)
    assert [r.cigarstring for r in records[3:-1]] == ["30M", "31M", "60M"]
    assert "S" not in records[-1].cigarstring
    assert [r.reference_start for r in records[3:]] == [3000, 3100, 6000, 20_000]


def test_what_the_preset_sets_can_be_set_otherwise(text_fasta, text, tmp_path):
    reads = [("short", text[500:525]), ("worn", worn(text[20_000:20_090]))]
    options = "--preset", "ancient", "--min-length", "20", "--mode", "local"
    records, _ = run_ancient(text_fasta, reads, tmp_path / "out.sam", *options)
    assert [r.cigarstring for r in records] == ["25M", "3S84M3S"]


def test_other_reads_are_those_of_a_file_without_the_short_ones(text_fasta, text, tmp_path):
    rng = np.random.default_rng(4)
    reads = []
    for i, (at, n) in enumerate(zip(rng.integers(0, 49_000, 300), rng.integers(15, 200, 300), strict=True)):
        bases = list(text[at : at + n])
        for j in rng.integers(0, n, n // 20):
            bases[j] = "ACGT"[int(rng.integers(4))]
        reads.append((f"r{i}", "".join(bases)))
    long = [read for read in reads if len(read[1]) >= 70]
    for mode in ("local", "global"):
        options = "--min-length", "70", "--mode", mode
        records, stats = run_ancient(text_fasta, reads, tmp_path / "all.sam", *options)
        others, _ = run_ancient(text_fasta, long, tmp_path / "long.sam", "--mode", mode)
        assert [r.to_string() for r in records if not r.is_unmapped] == [
            r.to_string() for r in others if not r.is_unmapped
        ]
        assert stats["too_short"] == len(reads) - len(long) > 50


def test_one_read_at_a_time_is_held_to_it(text_fasta, text):
    with Mapper(text_fasta, device="none", min_length=40) as mapper:
        assert len(mapper.map_one(text[900:939])) == 0
        assert len(mapper.map_one(text[900:940])) == 1
