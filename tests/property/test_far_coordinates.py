"""Contigs beyond 2^32 bases have the records that they have elsewhere."""

from __future__ import annotations

import os

import brute_force as bf
import numpy as np
import pytest
from far_worlds import SHIFT, far_index, write_sparse

import gassst
from gassst._core import seed_index as _seed_index
from gassst.errors import DeviceError, InputError, UsageError
from gassst.gpu.devices import named_search
from gassst.index import seed_index as module
from gassst.index.seed_index import SeedIndex
from gassst.model import reference as reference_module
from gassst.model.params import MapParams
from gassst.model.reference import FRONT, TAIL, Reference, padded_total
from gassst.records.duplicates import DuplicateRules

PAIRS = 300


def repetitive_contigs() -> dict[str, bytes]:
    rng = np.random.default_rng(45)
    one = bytearray(bf.repetitive_genome(rng, 30_000))
    one[9000:9050] = b"N" * 50
    unit = bf.random_bases(rng, 7)
    return {
        "one": bytes(one),
        "two": bf.repetitive_genome(rng, 9_001) + unit * 40 + bf.random_bases(rng, 500),
    }


def fastq(reads: list[bytes]) -> str:
    return "".join(f"@read{i}\n{read.decode()}\n+\n{'I' * len(read)}\n" for i, read in enumerate(reads))


@pytest.fixture(scope="module")
def mates(tmp_path_factory):
    """Pairs from everywhere, contig ends among it. Some have errors, gaps, a foreign end, or no place; some recur."""
    rng, folder = np.random.default_rng(7), tmp_path_factory.mktemp("mates")
    contigs = list(repetitive_contigs().values())
    pairs = []
    for i in range(PAIRS):
        contig = contigs[i % 2]
        size = int(rng.integers(90, 400))
        at = int(rng.choice([0, len(contig) - size, rng.integers(len(contig) - size)]))
        insert = contig[at : at + size]
        ends = [insert[:110], bf.reverse_complement(insert)[:110]]
        pair = [bf.mutate(rng, end, int(rng.integers(0, 7)))[:100] for end in ends]
        if i % 10 == 0:
            pair[i // 10 % 2] = pair[i // 10 % 2][:60] + bf.random_bases(rng, 40)
        if i % 33 == 0:
            pair = [bf.random_bases(rng, 100) for _ in range(2)]
        pairs.append(pairs[-1] if i % 7 == 6 else pair if i % 2 else pair[::-1])
    paths = folder / "1.fq", folder / "2.fq"
    for path, reads in zip(paths, zip(*pairs, strict=True), strict=True):
        path.write_text(fastq(list(reads)))
    return paths


@pytest.fixture(scope="module")
def worlds(tmp_path_factory):
    """Makes indexes of the same contigs near and far, at step 4; the far one comes from a sparse file."""
    # Beyond 2^32 bases positions are sorted by 16 bases at every step: the near index has to be made so, too.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "sorted_bases", lambda step, total: 16)
        contigs = Reference.from_sequences(repetitive_contigs().items())
        near = SeedIndex.build(contigs, threads=1, step=4)
        path = tmp_path_factory.mktemp("far") / "far.gsi"
        write_sparse(far_index(near), path)
        assert os.stat(path).st_blocks * 512 < 1 << 22
        yield near, SeedIndex.open(path, check=False)


def records(path) -> list[str]:
    return [line for line in path.read_text().splitlines() if not line.startswith("@")]


OUTPUT = {"sort": True, "duplicates": DuplicateRules()}
RUNS = {
    "single": ({}, {}, False),
    "single, whole reads": ({"mode": "global"}, {"baq": True}, False),
    "several": ({"max_hits": 5, "mode": "global"}, {"xa": True}, False),
    "all": ({"all_hits": True, "min_identity": 90}, {}, False),
    "pairs": ({}, {"details": True, "eqx": True}, True),
    "pairs, whole reads": ({"mode": "global"}, {}, True),
    "pairs, sensitive": ({"sensitivity": 5}, {}, True),
    "pairs, in memory": ({"memory": 1 << 20}, {}, True),
    "pairs, sorted": ({}, OUTPUT, True),
}


@pytest.mark.parametrize("run", RUNS)
def test_records_are_those_of_near_contigs(run, worlds, mates, tmp_path):
    options, more, paired = RUNS[run]
    found = []
    for name, index in zip(("near", "far"), worlds, strict=True):
        mapper = gassst.Mapper(index, threads=1, device="none", batch_size=150, **options)
        path = tmp_path / f"{name}.sam"
        stats = mapper.map_file(mates[0], path, **({"mates": mates[1]} if paired else {}), **more)
        found.append(records(path))
    assert stats.mapped > PAIRS // 2
    assert found[0] == found[1]
    assert {line.split("\t")[2] for line in found[1]} == {"one", "two", "*"}


def test_one_read_at_a_time(worlds, mates):
    reads = mates[0].read_text().splitlines()[1::4]
    near, far = (gassst.Mapper(index, device="none", mode="global", max_hits=3) for index in worlds)
    hits = [far.map_one(read) for read in reads]
    assert hits == [near.map_one(read) for read in reads]
    assert sum(map(len, hits)) > PAIRS // 2


def test_far_seeds(worlds):
    """Positions, in steps, are those of the near index and the shift; looked up, they are the same."""
    near, far = worlds
    assert far.reference.total > 2**32
    assert far.step * int(far.positions.min()) > SHIFT
    codes = np.random.default_rng(1).integers(0, 4**9, 500)
    assert [found.tolist() for found in near.lookup(codes, 9)] == [
        found.tolist() for found in far.lookup(codes, 9)
    ]
    assert far.reference.sequence(3, 8990, 9010) == near.reference.sequence(0, 8990, 9010)


def test_far_positions_are_built_as_near_ones(worlds, monkeypatch):
    """Only the rows of the contigs are gone through, as one of several threads does: those before them are N."""
    near, far = worlds[0], worlds[1].reference
    monkeypatch.setattr(module, "sorted_bases", lambda step, total: 16)
    rows, prefix = (SHIFT // 64, len(far.planes)), 3
    codes, counts = np.zeros(2 * len(far.planes) + 1, np.uint64), np.zeros((1, 4**prefix), np.uint32)
    _seed_index.pack_codes(far.planes, *rows, codes)
    _seed_index.count_parts(far.planes, codes, *rows, prefix, near.step, near.k, counts[0])
    counted = module.Counted(far, near.k, near.step, 1, prefix, codes, [rows], counts)
    table, positions, following = counted.sorted(0, 4**prefix)
    assert np.array_equal(table, near.table)
    assert np.array_equal(
        near.step * positions.astype(np.int64), near.step * near.positions.astype(np.int64) + SHIFT
    )
    assert np.array_equal(following, near.following)


def test_a_device_takes_no_far_contigs(worlds):
    with pytest.raises(DeviceError, match="mapped on the host"):
        named_search(worlds[1], MapParams(device="cpu"))


# --- which step ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("more, step", [(0, 1), (1, 2)])
def test_half_of_all_positions_of_a_large_reference(more, step, monkeypatch):
    """By default alone."""
    monkeypatch.setattr(module, "ALL_POSITIONS", FRONT + TAIL + 1000)
    text = bf.random_bases(np.random.default_rng(3), 1000 + more)
    reference = Reference.from_sequences([("a", text)])
    assert SeedIndex.build(reference, threads=1).step == step
    assert SeedIndex.build(reference, threads=1, step=1).step == 1


@pytest.mark.parametrize("bases, step", [(1000, 1), (1001, 4), (4000, 4)])
def test_least_step_that_holds_a_reference(bases, step, monkeypatch, caplog):
    most = (FRONT + TAIL + 1000) // 1
    monkeypatch.setattr(module, "MAX_POSITIONS", most)
    padding = FRONT + TAIL
    text = bf.random_bases(
        np.random.default_rng(3),
        (most * step if bases % 1000 == 0 else most + 1) - padding,
    )
    caplog.set_level("INFO", "gassst")
    index = SeedIndex.build(Reference.from_sequences([("a", text)]), threads=1)
    assert index.step == step
    assert len(caplog.messages) == (step > 1)
    if step > 1:
        with pytest.raises(
            UsageError, match=f"more than an index of step {step // 2} holds: it takes step {step}"
        ):
            SeedIndex.build(index.reference, threads=1, step=step // 2)
        with pytest.raises(UsageError, match="it takes step"):
            SeedIndex.build(index.reference, threads=1, meth=True)


@pytest.mark.parametrize("options", [{"step": 1}, {"meth": True}])
def test_a_step_that_cannot_hold_a_file_is_refused_before_it_is_packed(monkeypatch, tmp_path, options):
    text = b">a\n" + b"ACGTAC GT\r\n" * 500 + b">b it\nACNT\n"
    (tmp_path / "a.fa").write_bytes(text)
    total = Reference.from_fasta(tmp_path / "a.fa").total
    assert padded_total(tmp_path / "a.fa") == total
    monkeypatch.setattr(module, "MAX_POSITIONS", len(text) - 1)
    monkeypatch.setattr(Reference, "from_fasta", lambda *_: pytest.fail("read"))
    with pytest.raises(
        UsageError, match=f"a.fa: {total:,} bases .* than an index of step 1 holds: it takes step"
    ):
        SeedIndex.build(tmp_path / "a.fa", threads=1, **options)


def test_a_contig_that_bam_cannot_hold(monkeypatch):
    monkeypatch.setattr(reference_module, "MAX_CONTIG", 8)
    assert Reference.from_sequences([("a", b"ACGTACGT")]).lengths.tolist() == [8]
    with pytest.raises(InputError, match="contig b: 9 bases, more than the 8 of BAM: divide it"):
        Reference.from_sequences([("a", b"ACGT"), ("b", b"ACGTACGTA")])


def test_step_4_sorts_by_16_bases_where_no_more_fit():
    """With as many bases after the k-mer as other steps, an entry has room for a position of 32 bits."""
    contigs = Reference.from_sequences(repetitive_contigs().items())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "sorted_bases", lambda step, total: 16)
        index = SeedIndex.build(contigs, threads=1, step=4)
        assert index.longest_seed == SeedIndex.build(contigs, threads=1, step=1).longest_seed
    planes = contigs.planes
    at = 4 * index.positions.astype(np.int64)
    bases = at[:, None] + np.arange(index.k + 16)
    word, bit = bases >> 6, (bases & 63).astype(np.uint64)
    low, high, masked = ((planes[word, plane] >> bit & np.uint64(1)).astype(np.int64) for plane in range(3))
    letters = np.where(masked == 1, 0, low | high << 1)
    keys = [*(letters[:, column] for column in range(letters.shape[1])), at]
    assert np.array_equal(np.lexsort(keys[::-1]), np.arange(len(at)))
