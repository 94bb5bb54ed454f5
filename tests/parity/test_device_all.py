"""What a device finds is what the host finds: all places, pairs, copies; its trial tells what is wrong."""

from operator import attrgetter

import brute_force as bf
import numpy as np
import pytest
from device_searches import (
    SPLIT,
    assert_all_places,
    assert_same,
    assert_same_rows,
    context_of,
    on_host,
    placed,
    search_of,
    with_adapters,
)
from engines import engine
from opencl_devices import usable

import gassst
from gassst.cli.main import main
from gassst.errors import DeviceError
from gassst.gpu import search as search_module
from gassst.gpu.device import Engine
from gassst.gpu.late import LateSearch
from gassst.gpu.search import DeviceSearch
from gassst.gpu.trial import Trial
from gassst.model.stats import Stats
from gassst.pairing.insert_size import InsertModel
from gassst.search.context import PairContext
from gassst.search.host import HostBackend
from gassst.search.plan import SearchPlan


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
        mine = backend.rows(backend.placed(None, found))
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


COPIES, SIZE, FLANK = 40, 600, 400
OF_COPIES = 1 << SearchPlan.MAX_STAGES


@pytest.fixture(scope="module")
def world(engine, tmp_path_factory):
    """The search in a genome with a family of copies 2 % apart: (search, index, bases)."""
    rng = np.random.default_rng(5)
    element, flank = bf.random_bases(rng, SIZE), bf.random_bases(rng, FLANK)
    family = [bf.mutate(rng, element, 12, 0) + bf.random_bases(rng, FLANK) for _ in range(COPIES)]
    genome = flank + b"".join(family)
    search, mapper = search_of(engine, tmp_path_factory.mktemp("copies"), {"family": genome})
    return search, mapper.index, genome


@pytest.fixture
def few_are_enough(monkeypatch):
    """Tests have few reads."""
    monkeypatch.setattr(search_module, "FEWEST", 1)


def reads_of(genome, n, span):
    """Reads of 75 bases of copies, three errors in each, and others `span` bases on, on the other strand."""
    rng, reads = np.random.default_rng(n), []
    for i in range(n):
        at = FLANK + int(rng.integers(0, COPIES)) * (SIZE + FLANK) + int(rng.integers(0, SIZE - 75))
        for begin in (at, at + span - 75):
            read = bf.mutate(rng, genome[begin : begin + 75], 3, 0)
            reads.append((str(i), (read if begin == at else bf.reverse_complement(read)).decode(), None))
    return reads


@pytest.mark.usefixtures("few_are_enough")
@pytest.mark.parametrize("params", [{}, {"mode": "local"}, {"filters": ()}, {"max_hits": 3}], ids=str)
@pytest.mark.parametrize("with_pairs", [False, True])
def test_they_are_those_of_the_host(world, params, with_pairs):
    search, index, genome = world
    reads = reads_of(genome, 100, 300)
    context, pairs = context_of(index, reads, **params), None
    if with_pairs:
        mates = np.tile(np.array([1, 2], np.uint8), len(reads) // 2)
        pairs = PairContext.of(context, mates, InsertModel("fr", 300, 30.0, 180, 420, 100))
    assert_same(search, context, pairs)
    looked = placed(context, Stats(), pairs=pairs)["looked"]
    assert (looked & OF_COPIES != 0).sum() > len(looked) / 10


@pytest.mark.usefixtures("few_are_enough")
def test_the_host_has_no_seeds_to_look_up(world):
    search, index, genome = world
    context, counts = context_of(index, reads_of(genome, 100, 300)), Stats()
    found = search.search(context, Stats())
    placed(context, counts, found)
    assert counts.occurrences == counts.scored == 0


@pytest.mark.usefixtures("few_are_enough")
@pytest.mark.parametrize(("name", "value"), [("on_device", lambda: None), ("FEWEST", 1000)])
def test_without_room_and_of_few_reads_the_host_finds_them(world, name, value, monkeypatch):
    search, index, genome = world
    context = context_of(index, reads_of(genome, 100, 300))
    counts, found = Stats(), search.search(context, Stats())
    expected = placed(context, Stats())
    monkeypatch.setattr(search if name == "on_device" else search_module, name, value)
    for name, column in placed(context, counts, found).items():
        np.testing.assert_array_equal(column, expected[name], err_msg=name)
    assert counts.occurrences > 0


@pytest.mark.usefixtures("few_are_enough")
@pytest.mark.parametrize("named", [False, True])
def test_a_device_that_fails_before_them(world, named, monkeypatch):
    """The host goes on without one that nobody named."""
    search, index, genome = world
    context = context_of(index, reads_of(genome, 100, 300))
    late = LateSearch(index, context.lookup, context.plan, context.cascade, context.params)
    late._search, late.named = search, named
    found = late.search(context, Stats())

    def lost(*_):
        raise DeviceError("the device is lost")

    monkeypatch.setattr(search, "_found", lost)
    if named:
        with pytest.raises(DeviceError, match="lost"):
            placed(context, Stats(), found)
        return
    expected = placed(context, Stats())
    for name, column in placed(context, Stats(), found).items():
        np.testing.assert_array_equal(column, expected[name], err_msg=name)
    assert late.search(context, Stats()) is None


def trial_of(index, **params):
    mapper = engine(index, device="none", **params)
    return Trial.of(index, mapper.plan, mapper.cascade, mapper.params.for_single())


def changed(monkeypatch, change):
    """From now on what a device has found is changed in place before it is told."""
    find = DeviceSearch._found

    def wrong(*arguments):
        found = find(*arguments)
        change(found)
        return found

    monkeypatch.setattr(DeviceSearch, "_found", wrong)


def add_to(array, value=1):
    assert len(array) > 100
    numbers = array["key"] if array.dtype.names else array
    numbers[len(array) // 2] += 2 * value


@pytest.mark.parametrize(
    "name, params",
    [
        ("edits", {}),
        ("ends", {}),
        ("edits", {"all_hits": True}),
        ("traced.diagonal", {"all_hits": True, "min_identity": 90}),
    ],
    ids=str,
)
def test_places_and_alignments_that_are_others_are_found(search, index, monkeypatch, name, params):
    trial, column = trial_of(index, **params), attrgetter(name)
    trial.put_to(search)
    changed(monkeypatch, lambda found: add_to(column(found)))
    with pytest.raises(DeviceError, match="wrong results"):
        trial.put_to(search)


@pytest.mark.parametrize(
    "params",
    [{"filters": ()}, {"filters": ("band32",)}, {"mode": "global"}, {"seed_length": 9}],
    ids=str,
)
def test_the_trial_is_passed_with_all_parameters(search, index, params):
    trial_of(index, **params).put_to(search)


@pytest.mark.parametrize("genome", ["short", "repeats", "masked"])
def test_the_trial_is_passed_with_every_reference(engine, tmp_path, genome):
    rng = np.random.default_rng(3)
    contig = {
        "short": bf.random_bases(rng, 300),
        "repeats": bf.random_bases(rng, 90) * 60,
        "masked": (bf.random_bases(rng, 100) + b"N" * 60) * 30,
    }[genome]
    fasta = tmp_path / "one.fa"
    fasta.write_bytes(b">one\n%s\n" % contig)
    index = gassst.Index.build(fasta)
    own = Engine(engine.info, engine.device, index.reference.planes)
    trial_of(index).put_to(DeviceSearch(index, own, SPLIT))
