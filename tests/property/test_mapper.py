"""The whole mapper: its results do not depend on how it is run."""

from __future__ import annotations

import shutil

import brute_force as bf
import numpy as np
import pytest
from opencl_devices import usable

import gassst
from gassst.model.reference import Reference
from gassst.model.stats import TOTALS


def records(mapper: gassst.Mapper, *reads, **options) -> list[str]:
    return [segment.to_string() for segment in mapper.map(*reads, **options)]


@pytest.fixture(scope="module")
def baseline(small_index, small_reads) -> list[str]:
    return records(gassst.Mapper(small_index, device="none", max_hits=5), small_reads)


def test_most_reads_map_where_they_came_from(baseline, small_reads):
    primary = [r.split("\t") for r in baseline if not int(r.split("\t")[1]) & 0x100]
    assert [r[0] for r in primary] == [name for name, _, _ in small_reads]
    assert sum(int(r[1]) & 4 == 0 for r in primary) >= 385
    assert int(primary[-1][1]) == 4  # eight bases are too few


@pytest.mark.device
def test_both_backends_give_the_same_records(monkeypatch, small_index, small_reads, baseline):
    monkeypatch.delenv("GASSST_OPENCL", raising=False)
    mapper = gassst.Mapper(small_index, device=usable()[0].index, max_hits=5)
    assert "search on the " in mapper._engine.describe()["device"]
    assert records(mapper, small_reads) == baseline


@pytest.mark.parametrize("options", [{}, {"max_hits": 5}, {"all_hits": True}], ids=["best", "five", "all"])
def test_reverse_complement_flips_the_strand_and_nothing_else(small_index, small_reads, options):
    mapper = gassst.Mapper(small_index, device="none", mode="global", **options)
    reads = small_reads if "all_hits" not in options else small_reads[:80]
    flipped = [(n, bf.reverse_complement(s.encode()).decode(), q[::-1]) for n, s, q in reads]
    for before, after in zip(records(mapper, reads), records(mapper, flipped), strict=True):
        a, b = before.split("\t"), after.split("\t")
        if int(a[1]) & 4:
            assert a[:9] == b[:9]
        else:
            assert int(a[1]) ^ int(b[1]) == 0x10
            assert a[2:] == b[2:]


def test_a_duplicated_contig_leaves_no_confidence(small_genome, small_reads):
    twice = [*small_genome.items(), *((f"{n}_copy", s) for n, s in small_genome.items())]
    mapper = gassst.Mapper(gassst.Index.build(Reference.from_sequences(twice)), device="none")
    mapped = [s for s in mapper.map(small_reads) if not s.is_unmapped]
    assert len(mapped) > 380
    assert {s.mapping_quality for s in mapped} == {0}
    copies = sum(s.reference_name.endswith("_copy") for s in mapped)
    assert 0.3 < copies / len(mapped) < 0.7  # drawn, not always the first


def test_best_alignment_is_the_best_there_is(small_index, small_genome, small_reads):
    """The primary has the fewest edits that brute force finds, for reads within the pigeonhole limit."""
    reads = [r for r in small_reads if len(r[1]) <= 75][:40]
    for s in gassst.Mapper(small_index, device="none", sensitivity=5, mode="global").map(reads):
        limit = max(0, len(s.query_sequence or "") // 12 - 1)
        hits = bf.all_hits(next(q for n, q, _ in reads if n == s.query_name).encode(), small_genome, limit)
        if hits:
            assert s.get_tag("NM") == min(h[4] for h in hits)
            ends = [h for h in hits if h[4] == s.get_tag("NM")]
            assert any(h[0] == s.reference_name and h[2] <= s.reference_end <= h[3] for h in ends)


def test_details_are_counted_where_they_are_asked_for(small_index, small_fastq, tmp_path):
    """The records and all other counts are the same without them."""
    mapper = gassst.Mapper(small_index, device="none")
    mates = shutil.copy(small_fastq, tmp_path / "mates.fq.gz")
    whole, short = (
        mapper.map_file(
            small_fastq, tmp_path / f"{details}.sam", mates=mates, command_line="", details=details
        )
        for details in (True, False)
    )
    assert (tmp_path / "True.sam").read_bytes() == (tmp_path / "False.sam").read_bytes()
    details = "cycles", "damage", "inserts", "windows", "contigs"
    assert [len(getattr(short, name)) for name in details] == [0] * len(details)
    assert len(whole.cycles) and whole.windows.sum() == whole.contigs.sum() > 0
    for name in (*TOTALS, "errors", "mapq"):
        assert getattr(short, name) == getattr(whole, name)


@pytest.mark.parametrize(
    "options, steps",
    [
        ({"all_hits": True}, ["band32"]),
        ({"all_hits": True, "filters": ("fd", "auto")}, ["fd", "band32"]),
        ({"all_hits": True, "filters": ()}, []),
        ({"mode": "global"}, ["band32"]),
    ],
    ids=str,
)
def test_what_auto_stands_for_is_counted(tmp_path, small_index, small_reads, options, steps):
    mapper = gassst.Mapper(small_index, device="none", **options)
    fastq = tmp_path / "reads.fq"
    fastq.write_text("".join(f"@{name}\n{bases}\n+\n{quality}\n" for name, bases, quality in small_reads))
    funnel = mapper.map_file(fastq, tmp_path / "out.sam").as_dict()["funnel"]
    assert list(funnel) == steps
    left = [row["in"] for row in funnel.values()] + [row["out"] for row in funnel.values()][-1:]
    assert left == sorted(left, reverse=True)
    if steps:
        assert left[0] > left[-1] > 0


def test_capped_seeds_are_chosen_alike_on_both_strands():
    """Inverted repeats, where seeds of both strands occur equally often, too often."""
    for seed, size in enumerate((2, 6, 31)):
        rng = np.random.default_rng(seed)
        unit = bf.random_bases(rng, size)
        unit += bf.reverse_complement(unit)
        repeats = b"".join(
            bf.mutate(rng, unit, int(rng.integers(3)) * (i % 3 == 0)) for i in range(20_000 // len(unit))
        )
        index = gassst.Index.build(
            Reference.from_sequences([("a", repeats), ("b", bf.random_bases(rng, 2000))])
        )
        starts = rng.integers(0, len(repeats) - 160, 24)
        reads = [bf.mutate(rng, repeats[at : at + 104], int(rng.integers(7)))[:100] for at in starts]
        reads = [read for read in reads if read != bf.reverse_complement(read)]
        turned = [bf.reverse_complement(read) for read in reads]
        for sensitivity in (0, 2):
            mapper = gassst.Mapper(index, device="none", sensitivity=sensitivity, max_hits=5, mode="global")
            fields = []
            for oriented in (reads, turned):
                lines = records(mapper, [(str(i), read.decode(), None) for i, read in enumerate(oriented)])
                fields.append([line.split("\t")[2:6] for line in lines])
            assert fields[0] == fields[1], (seed, sensitivity)
