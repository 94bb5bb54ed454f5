"""The search for all places on a device finds and aligns what the host does, row by row."""

import brute_force as bf
import numpy as np
import pytest
from device_searches import assert_all_places, assert_same_rows, context_of, on_host, search_of, with_adapters
from opencl_devices import usable

import gassst
from gassst.model.stats import Stats
from gassst.search.host import HostBackend


@pytest.mark.parametrize(
    "params",
    [
        {"min_identity": 90},
        {"min_identity": 90, "sensitivity": 5},
        {"min_identity": 80, "seed_length": 7, "sensitivity": 0},
        {"min_identity": 90, "filters": ("band32",)},
        {"gaps": 40, "min_identity": 75, "seed_length": 6},
    ],
    ids=["-p 90", "all occurrences", "short seeds", "band32", "gaps that the narrow band does not hold"],
)
def test_it_finds_what_the_host_finds(search, index, small_reads, params):
    some = [*small_reads, *with_adapters(small_reads[:60])]
    assert_all_places(search, context_of(index, some, all_hits=True, **params), len(some))


def test_reads_of_many_lengths(search, index, small_reads):
    """Bands of one, two and more words, and reads too short for a seed."""
    some = [(n, s[: 8 + i % 5 * 24], None) for i, (n, s, _) in enumerate(small_reads[:100])]
    long = [(f"long{i}", "".join(s for _, s, _ in small_reads[i : i + 6]), None) for i in range(4)]
    assert_all_places(search, context_of(index, [*some, *long], all_hits=True, min_identity=70))


def test_repeats(engine, tmp_path):
    """Reads of a tandem repeat and of copies have many anchors, and minima on bands that lie over each other."""
    rng = np.random.default_rng(7)
    unit, other = ("".join(rng.choice(list("ACGT"), n)) for n in (23, 3000))
    copies = "".join(other[500:700] + other[i : i + 90] for i in range(0, 2700, 90))
    genome = {"tandem": (other + 60 * unit + other).encode(), "copies": copies.encode()}
    search, mapper = search_of(engine, tmp_path, genome)
    reads = [(f"r{i}", (unit * 6)[i : i + 60], None) for i in range(40)]
    reads += [(f"c{i}", copies[7 * i : 7 * i + 60], None) for i in range(100)]
    context = context_of(mapper.index, reads, all_hits=True, min_identity=85, sensitivity=5)
    assert_all_places(search, context, 4000)


def test_places_that_only_their_order_or_the_middle_of_a_band_decides(engine, tmp_path):
    """Palindromes end at one position on either strand; in short tandem repeats many gapped alignments are as good."""
    rng = np.random.default_rng(11)
    halves = ["".join(rng.choice(list("ACGT"), 30)) for _ in range(20)]
    palindromes = [half + bf.reverse_complement(half.encode()).decode() for half in halves]
    satellites = [
        "".join(rng.choice(list("ACGT"), 40)) + unit * (12 + i) + "".join(rng.choice(list("ACGT"), 25))
        for i, unit in enumerate(["CAG", "A", "GATA", "TTAGG", "CA", "GGC"] * 4)
    ]
    genome = {"both": "".join("ACGGTCATTG" + each for each in [*palindromes, *satellites]).encode()}
    search, mapper = search_of(engine, tmp_path, genome)
    reads = [(f"p{i}", each, None) for i, each in enumerate(palindromes)]
    for i, each in enumerate(satellites):
        for at in range(0, len(each) - 60, 3):
            reads.append((f"s{i}_{at}", bf.mutate(rng, each[at : at + 60].encode(), 5).decode(), None))
    context = context_of(mapper.index, reads, all_hits=True, min_identity=80, sensitivity=5, seed_length=5)
    assert_all_places(search, context, 4000)


def test_batches_of_all_and_of_the_best_places_follow_each_other(search, index, small_reads):
    for all_hits in (True, False, True):
        context = context_of(index, small_reads[:50], all_hits=all_hits, min_identity=90)
        found = search.search(context, Stats())
        backend = HostBackend(context, Stats())
        mine = backend.wholes(backend.placed(None, found))
        assert_same_rows(mine, on_host(context)[0])


@pytest.mark.device
def test_statistics_tell_what_ran_by_opencl(small_index, small_reads, tmp_path):
    """All bands and tracebacks of a run on a device, and its seconds; none of one without. The records are the same."""
    records, shares, reads = {}, {}, tmp_path / "reads.fq"
    reads.write_text(
        "".join(f"@{name}\n{bases}\n+\n{quality}\n" for name, bases, quality in small_reads[:60])
    )
    for device in ("none", usable()[0].type):
        with gassst.Mapper(small_index, device=device, all_hits=True, min_identity=90) as mapper:
            path = tmp_path / f"{device}.sam"
            stats = mapper.map_file(reads, output=path)
        records[device] = [line for line in path.read_text().splitlines() if not line.startswith("@PG")]
        shares[device] = stats.as_dict()["opencl"]
        assert stats.scored > stats.traced > 0
    none, some = records.values()
    assert none == some
    without, with_it = (list(found.values()) for found in shares.values())
    assert without == [0] * 5 and with_it[:2] == [1, 1] and with_it[2] > 0


def test_the_device_says_how_long_kernels_and_transfers_took(search, index, small_reads):
    stats = Stats()
    search.search(context_of(index, small_reads, all_hits=True, min_identity=90), stats)
    spent = stats.extension
    assert min(spent.device_kernel, spent.upload, spent.download) > 0
    assert spent.device_kernel + spent.upload + spent.download <= stats.nanoseconds["device"]
