"""Pairs on a device, which makes the first stage of each mate: the host goes on, and finds what it finds alone."""

import brute_force as bf
import numpy as np
import pytest
from device_searches import assert_same, context_of, search_of

from gassst.cli.main import main
from gassst.pairing.insert_size import InsertModel
from gassst.search.context import PairContext

INSERT = InsertModel("fr", 300, 30.0, 180, 420, 100, also=InsertModel("rf", 300, 30.0, 180, 420, 100))


@pytest.fixture(scope="module")
def families(engine, tmp_path_factory):
    """The search in a genome of copies: (search, index, bases)."""
    rng = np.random.default_rng(3)
    family, parts = bf.random_bases(rng, 400), [bf.random_bases(rng, 3000)]
    for _ in range(30):
        parts += [bf.mutate(rng, family, int(rng.integers(0, 30))), bf.random_bases(rng, 300)]
    genome = b"".join(parts)
    search, mapper = search_of(engine, tmp_path_factory.mktemp("families"), {"copies": genome})
    return search, mapper.index, genome


def pairs_of(genome, n, errors):
    """Mates of 60 to 110 bases, one read in six of no pair, one mate in eight of other bases."""
    rng, reads, mates = np.random.default_rng(n + errors), [], []
    for i in range(n):
        at, size, length = (
            int(rng.integers(*span)) for span in ((0, len(genome) - 430), (180, 420), (60, 110))
        )
        both = [genome[at : at + length], bf.reverse_complement(genome[at + size - length : at + size])]
        both = [bf.mutate(rng, mate, int(rng.integers(0, errors))) for mate in both]
        both[1] = bf.random_bases(rng, length) if i % 8 == 3 else both[1]
        some = both[: 1 if i % 6 == 5 else 2]
        reads += [(str(i), mate.decode(), None) for mate in some]
        mates += [j + 1 if len(some) > 1 else 0 for j in range(len(some))]
    return reads, np.array(mates, np.uint8)


@pytest.mark.parametrize("errors", [1, 4, 12])
@pytest.mark.parametrize(
    "params",
    [{}, {"mode": "local"}, {"filters": (), "sensitivity": 0}, {"seed_length": 9, "min_identity": 80}],
    ids=str,
)
def test_the_host_goes_on_as_if_it_had_begun(families, params, errors):
    search, index, genome = families
    reads, mates = pairs_of(genome, 120, errors)
    context = context_of(index, reads, **params)
    assert_same(search, context, PairContext.of(context, mates, INSERT))


def test_mates_without_seeds(families):
    search, index, genome = families
    reads = [("a", genome[900:980].decode(), None), ("a", "N" * 80, None)]
    context = context_of(index, [*reads, ("b", "ACGTAC", None), ("b", "ACG", None)])
    assert_same(search, context, PairContext.of(context, np.array([1, 2, 1, 2], np.uint8), INSERT))


@pytest.mark.device
@pytest.mark.parametrize("options", [[], ["--mode", "global", "--all", "-p", "92"]], ids=["best", "all"])
def test_records_are_those_of_the_host(engine, small_index, small_genome, tmp_path, options):
    """Where all places are wanted the device finds and aligns them."""
    genome = max(small_genome.values(), key=len)
    reads, mates = pairs_of(genome, 90, 5)
    fastq = tmp_path / "pairs.fq"
    kept = [read for read, mate in zip(reads, mates, strict=True) if mate]
    fastq.write_text("".join(f"@{n}\n{s}\n+\n{len(s) * 'F'}\n" for n, s, _ in kept))
    records = []
    for device in ("none", engine.info.index):
        out = tmp_path / f"{len(records)}.sam"
        argv = ["map", str(small_index), str(fastq), "--interleaved", "-t", "1", "-o", str(out), *options]
        assert main([*argv, "--device", device, "-q"]) == 0
        records.append([line for line in out.read_text().splitlines() if not line.startswith("@")])
    assert records[0] == records[1] and len(records[0]) >= len(kept)
