"""The search on a device finds what the search on the host finds: bands, places, qualities, and what they cost."""

import gzip
import logging
import os
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from typing import Any

import brute_force as bf
import numpy as np
import pytest

import gassst
from gassst._core.mate_anchors import best_buckets
from gassst._core.stretches import promising_buckets
from gassst.errors import DeviceError
from gassst.extension import opencl_engine, opencl_upload
from gassst.extension.cpu import CpuExtender
from gassst.io.read_records import batch_of_pairs, batch_of_records
from gassst.layouts import NO_SCORE
from gassst.mapper import LateMapper
from gassst.pairing.insert_size import InsertModel
from gassst.run_device import RunDevice
from gassst.search import (
    device,
    device_arrays,
    device_index,
    device_quick,
    device_requests,
    device_seeds,
    device_server,
    single,
)
from gassst.search.arrays import Anchors, Buckets, Diagonals, GlobalResult
from gassst.search.context import QUICK_EVERY, BatchContext, missed_by_row
from gassst.search.dense import DenseSeeds
from gassst.search.device import DeviceSearch
from gassst.search.device_process import CALL, DEVICE, FAILED, HOST, DeviceProcess, Load, Turns
from gassst.search.device_requests import QUICK_LOOK, SEARCH, Looked, Request, Searched
from gassst.search.device_server import DeviceServer, Inbox, drive
from gassst.search.device_trial import PairTrial, Trial
from gassst.search.host import HostBackend
from gassst.search.host_pairs import HostPairPasses
from gassst.seeding.miss_model import MISS_ERRORS
from gassst.stats import Stats
from gassst.workers.shared_memory import SharedMemory

USABLE = [info for info in opencl_engine.devices(threads=2) if info.usable]
needs_device = pytest.mark.skipif(not USABLE, reason="no usable OpenCL device here")
SPLIT = 1 << 16  # bytes of an allocation, so small that the index is split into four parts


@pytest.fixture(
    scope="module",
    params=USABLE or [pytest.param(None, marks=needs_device)],
    ids=lambda info: f"{info.type}-{info.index}" if info else "no device",
)
def engine(request, small_index):
    info, device = opencl_engine.choose(request.param.index, 2)
    return opencl_engine.Engine(info, device, gassst.Index.open(small_index).reference.planes)


@pytest.fixture(scope="module")
def index(small_index):
    return gassst.Index.open(small_index)


@pytest.fixture(scope="module")
def search(engine, index):
    """One for all tests: its kernels are built once."""
    return DeviceSearch(index, engine, SPLIT)


@pytest.fixture(scope="module")
def small_pairs(small_genome):
    """150 pairs of fragments of 250 to 400 bases, each mate with errors of its own; of some a mate fits nowhere."""
    rng, contig = np.random.default_rng(8), small_genome["one"]
    mates: tuple[list, list] = [], []
    for i in range(150):
        length, size = int(rng.choice([40, 50, 100, 150])), int(rng.integers(250, 400))
        at = int(rng.integers(len(contig) - size))
        fragment = contig[at : at + size]
        for each, strand in zip(mates, (fragment, bf.reverse_complement(fragment)), strict=True):
            read = bf.mutate(rng, strand[: length + 20], int(rng.integers(length // 8)))[:length]
            read = bf.random_bases(rng, length) if rng.random() < 0.05 else read
            each.append((f"pair{i}", read.decode(), None))
    return batch_of_pairs(*mates)


class TestDeviceSearch:
    @pytest.mark.parametrize(
        "params",
        [
            {},
            {"filters": (), "max_hits": 7},
            {"filters": ("flanks",), "sensitivity": 0},
            {"filters": ("band32",), "min_identity": 70, "seed_length": 8},
            {"sensitivity": 5, "min_identity": 85},
        ],
        ids=["auto", "no filter", "flanks", "band32, short seeds", "all occurrences"],
    )
    def test_it_finds_what_the_host_finds(self, search, index, small_reads, params):
        context = context_of(index, small_reads, **params)
        assert_same(search, context)

    @pytest.mark.parametrize("params", [{}, {"filters": (), "sensitivity": 0}, {"seed_length": 10}], ids=str)
    def test_it_gives_up_what_the_host_does(self, search, index, small_reads, params):
        """Reads that fit at one end only, and reads without a place, are left to the search by local score."""
        context = context_of(index, with_adapters(small_reads), mode="local", **params)
        assert_same(search, context)
        (found,) = search.found(
            Searched(context.plan, context.cascade, context.params), [Request.of(context)]
        )
        with CpuExtender(context.reference.planes).open_reads(context.packed) as bands:
            state = single.run_stages(HostBackend(context, bands, Stats()))
        assert state.left_to_local.sum() > 20 and state.hopeless(context).sum() > 5
        # What it scored is kept of reads without a band alone: of others nobody asks.
        lost = state.best == NO_SCORE
        for name, column in zip(device_arrays.STATE, found.state, strict=True):
            among = lost if name == "EVIDENCE" else slice(None)
            np.testing.assert_array_equal(column[among], getattr(state, name.lower())[among], err_msg=name)

    def test_an_index_that_is_uploaded_in_pieces_is_the_same(self, engine, index, small_reads, monkeypatch):
        monkeypatch.setattr(opencl_engine.Engine, "shares_memory", False)
        monkeypatch.setattr(opencl_upload, "COPIED", 4096)
        assert_same(DeviceSearch(index, engine, SPLIT), context_of(index, small_reads[:40]))

    def test_a_search_before_the_first_changes_nothing(self, search, index, small_reads):
        context = context_of(index, small_reads[:60])
        search.warm_up(Trial.of(index, Searched(context.plan, context.cascade, context.params)))
        assert_same(search, context)

    def test_a_device_that_finds_other_places_is_not_used(self, search, index, small_reads, monkeypatch):
        context = context_of(index, small_reads[:60])
        collect = device.DeviceBackend.collect

        def wrong(backend, state):
            for found in collect(backend, state):
                assert len(found.edits) > 100
                found.edits[50] += 1
                yield found

        monkeypatch.setattr(device.DeviceBackend, "collect", wrong)
        with pytest.raises(DeviceError, match="wrong results"):
            search.warm_up(Trial.of(index, Searched(context.plan, context.cascade, context.params)))

    def test_one_read_and_reads_without_seeds(self, search, index, small_reads):
        assert_same(search, context_of(index, small_reads[:1]))
        assert_same(search, context_of(index, [("short", "ACGTACGT", None), ("masked", "N" * 60, None)]))

    def test_batches_follow_each_other(self, search, index, small_reads):
        for some in (small_reads[:9], small_reads[100:300], small_reads[9:40]):
            assert_same(search, context_of(index, some))

    def test_requests_that_are_searched_together_do_not_meet(self, search, index, small_reads):
        requests = [
            small_reads[:70],
            [("short", "ACGTACGT", None)],
            small_reads[300:310],
            small_reads[70:200],
        ]
        contexts = [context_of(index, reads) for reads in requests]
        assert_all_same(search, contexts)

    def test_requests_without_room_for_all_are_searched_alone(self, search, index, small_reads, monkeypatch):
        contexts = [context_of(index, reads) for reads in (small_reads[:200], small_reads[200:400])]
        alone = device.DeviceBackend.__init__

        def one_fits(backend, batch, slot):
            if len(batch.requests) > 1:
                raise opencl_engine.OutOfDeviceMemory("two are too many")
            alone(backend, batch, slot)

        monkeypatch.setattr(device.DeviceBackend, "__init__", one_fits)
        assert_all_same(search, contexts)

    @pytest.mark.parametrize("params", [{"all_hits": True}, {"filters": ("fd",)}])
    def test_other_searches_are_left_to_the_host(self, search, index, small_reads, params):
        assert search.search(context_of(index, small_reads[:3], **params), Stats()) is None

    def test_a_batch_without_room_is_left_to_the_host(self, search, index, small_reads, monkeypatch, caplog):
        on_device = search.on_device()
        monkeypatch.setattr(on_device, "fit", on_device.fit._replace(work_bytes=1 << 10))
        for slot in on_device.slots:
            slot.buffers.clear()
        monkeypatch.setattr(search, "_told", False)
        context = context_of(index, small_reads)
        with caplog.at_level(logging.WARNING, "gassst"):
            assert search.search(context, Stats()) is None
            assert search.search(context, Stats()) is None
        (line,) = [record.getMessage() for record in caplog.records]
        assert "searched on the host" in line and "\n" not in line
        monkeypatch.undo()
        assert_same(search, context)

    def test_a_device_that_is_lost_is_one_line(self, search, index, small_reads, monkeypatch):
        def lost(slot, *_, **__):
            slot.cl.Kernel(slot.index.program(1), "lost")

        monkeypatch.setattr(device_index.Slot, "launch", lost)
        with pytest.raises(DeviceError, match="INVALID_KERNEL_NAME") as error:
            search.search(context_of(index, small_reads), Stats())
        assert "\n" not in str(error.value)

    def test_an_index_that_does_not_fit_is_one_line(self, engine, index, small_reads, caplog, monkeypatch):
        monkeypatch.setattr(device_index, "WORK_BYTES", 1 << 60)
        search = DeviceSearch(index, engine)
        context = context_of(index, small_reads[:3])
        with caplog.at_level(logging.WARNING, "gassst"):
            assert search.search(context, Stats()) is None
            assert search.search(context, Stats()) is None
        (line,) = [record.getMessage() for record in caplog.records]
        assert "does not fit" in line and "\n" not in line


class TestSeeds:
    """Of pairs a device looks seeds up, and the host goes on with the anchors."""

    @pytest.mark.parametrize(
        ("stage", "every", "params"),
        [(0, QUICK_EVERY, {}), (0, None, {"sensitivity": 5}), (1, None, {}), (2, None, {"seed_length": 9})],
    )
    def test_anchors_are_those_of_the_host(
        self, search, index, small_reads, monkeypatch, stage, every, params
    ):
        monkeypatch.setattr(device_seeds, "LEAST_READS", 1)
        found = [
            self.looked_up(
                kind, replace(context_of(index, small_reads, **params), on_device=search), stage, every
            )
            for kind in (device_seeds.SeedsOnDevice, HostBackend)
        ]
        (own, own_state, own_stats), (anchors, state, stats) = found
        assert len(anchors) > 50 and own_stats.nanoseconds["device"] and not stats.nanoseconds["device"]
        for name in Anchors.__dataclass_fields__:
            np.testing.assert_array_equal(getattr(own, name), getattr(anchors, name), err_msg=name)
        for name in ("complete", "capped", "looked", "planned"):
            np.testing.assert_array_equal(getattr(own_state, name), getattr(state, name), err_msg=name)
        assert own_stats.occurrences == stats.occurrences > 0

    def looked_up(self, kind, context, stage, every):
        """The anchors of every third read; some buckets and diagonals are known."""
        reads = np.arange(0, context.n, 3, dtype=np.uint32)
        stats = Stats()
        with CpuExtender(context.reference.planes).open_reads(context.packed) as bands:
            backend = kind(context, bands, stats)
            state = backend.initial_state()
            some = HostBackend(context, bands, Stats())
            known = some.gather(some.look_up(some.initial_state(), stage, reads, every), reads, None)
            fresh = known.read_strand[::5], known.diagonal[::5]
            state.fresh = [Buckets(fresh[0], fresh[1] >> np.uint32(context.shift))]
            state.fresh_rejected = [Diagonals(known.read_strand[1::5], known.diagonal[1::5])]
            backend.merge_scored(state, reads)
            anchors = backend.gather(backend.look_up(state, stage, reads, every), reads, state)
        assert 0 < len(anchors) < len(known)
        return anchors, state, stats

    @pytest.mark.parametrize("params", [{}, {"mode": "global", "filters": ()}, {"all_hits": True}], ids=str)
    def test_pairs_get_the_same_records(self, search, index, small_pairs, monkeypatch, params):
        monkeypatch.setattr(device_seeds, "LEAST_READS", 9)
        mapper = gassst.Mapper(index, device="none", **params)
        batch = small_pairs
        expected, counted = mapper.map_batch(batch)
        found, own = mapper.replaced(on_device=search).map_batch(batch)
        for mine, true in zip(found.rows, expected.rows, strict=True):
            np.testing.assert_array_equal(mine, true)
        assert own.nanoseconds["device"] and own.occurrences and own.scored == counted.scored
        assert own.candidates == counted.candidates

    def test_bounds_say_what_the_narrow_band_rejects(self, search, index, small_reads):
        context = context_of(index, small_reads)
        reads = np.arange(context.n, dtype=np.uint32)
        found = search.look_up(context, Stats(), reads, 0, None)
        anchors = found.anchors(reads)
        for most in (2, 5, 9):
            limits = np.full(context.n, most, np.uint16)
            kept = context.cascade.run(anchors, limits, context.packed, index.reference.planes)
            assert 0 < len(kept) < len(anchors)
            np.testing.assert_array_equal(kept.diagonal, anchors.diagonal[found.bound <= most])

    def test_an_index_with_steps_is_looked_up_on_the_host(self, search, small_fasta, small_reads):
        context = context_of(gassst.Index.build(small_fasta, step=2), small_reads[:3])
        assert search.look_up(context, Stats(), np.arange(3, dtype=np.uint32), 0, None) is None


def sizes_asked(monkeypatch, owner, method: str, argument: int) -> list[int]:
    """The length of an argument of every call of a method from now on."""
    sizes: list[int] = []
    call = getattr(owner, method)
    monkeypatch.setattr(owner, method, lambda *a: sizes.append(len(a[argument])) or call(*a))
    return sizes


def assert_same_rows(found, expected) -> None:
    for mine, true in zip(found.rows, expected.rows, strict=True):
        np.testing.assert_array_equal(mine, true)


class TestDenseLook:
    """What dense seeds of some reads lead to on a device is what they lead to on the host."""

    @pytest.mark.parametrize(
        "seeds",
        [DenseSeeds(9, 5, 3, False), DenseSeeds(12, 1, 64, True), DenseSeeds(20, 5, 1, True)],
        ids=str,
    )
    def test_anchors_and_passed_over_seeds(self, search, index, small_reads, seeds):
        small_context = context_of(index, with_adapters(small_reads), mode="local")
        reads = np.arange(1, small_context.n, 2, dtype=np.uint32)
        found = search.look_densely(small_context, Stats(), reads, seeds)
        self.assert_same(found, small_context, reads, seeds)
        assert len(found.anchors) > 50 and (found.clipped > 0).any() == (seeds.occurrences < 64)

    def test_requests_together(self, search, index, small_reads):
        seeds = DenseSeeds(10, 3, 20, True)
        contexts = [
            context_of(index, small_reads[a:b], mode="local") for a, b in ((0, 50), (50, 51), (51, 180))
        ]
        reads = [np.arange(0, context.n, 2, dtype=np.uint32) for context in contexts]
        searched = Searched(contexts[0].plan, contexts[0].cascade, contexts[0].params)
        requests = [Request.for_dense(*each, seeds) for each in zip(contexts, reads, strict=True)]
        answers = [device_requests.copied(each) for each in search.found(searched, requests)]
        for found, context, some in zip(answers, contexts, reads, strict=True):
            self.assert_same(found.looked(some), context, some, seeds)

    def assert_same(self, found, context, reads, seeds):
        with CpuExtender(context.reference.planes).open_reads(context.packed) as bands:
            expected = HostBackend(context, bands, Stats()).look_densely(reads, seeds)
        for name in Anchors.__dataclass_fields__:
            own, true = getattr(found.anchors, name), getattr(expected.anchors, name)
            np.testing.assert_array_equal(own, true, err_msg=name)
        for name in ("clipped", "first", "last"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
        for most, relevant in ((2, 3), (40, 100)):
            of_host = promising_buckets(expected.anchors, context, most, relevant, 100)
            own = promising_buckets(found.anchors, context, most, relevant, 100, found.stretches)
            for mine, true in zip(own, of_host, strict=True):
                np.testing.assert_array_equal(mine, true)

    def test_pairs_get_the_same_records(self, search, index, small_genome, monkeypatch):
        """Mates of which a part is foreign are looked up again."""
        monkeypatch.setattr(device_seeds, "LEAST_DENSE", 1)
        batch = pairs_of(small_genome, "fr")
        for mate in range(0, len(batch), 5):
            at = slice(int(batch.offsets[mate]), int(batch.offsets[mate]) + 45)
            batch.bases[at] = np.random.default_rng(mate).choice(np.frombuffer(b"ACGT", np.uint8), 45)
        mapper = gassst.Mapper(index, device="none")
        expected, _ = mapper.map_batch(batch)
        asked = sizes_asked(monkeypatch, device.DeviceSearch, "look_densely", 3)
        found, own = mapper.replaced(on_device=search).map_batch(batch)
        assert_same_rows(found, expected)
        assert sum(asked) > 20 and own.nanoseconds["device"]


class TestQuickLook:
    """What a device says of pairs is what the passes on the host say."""

    @pytest.mark.parametrize(
        ("params", "insert"),
        [
            ({}, ("fr", 320, 30)),
            ({"mode": "global", "sensitivity": 5, "seed_length": 10}, ("fr", 330, 60)),
            ({"sensitivity": 1}, ("fr", 300, 5)),
            ({}, ("rf", 320, 30)),
            ({}, ("ff", 320, 40)),
        ],
        ids=str,
    )
    def test_states_are_those_of_the_host(self, search, index, small_genome, params, insert):
        batch = pairs_of(small_genome, insert[0])
        trial = PairTrial.of_batch(*pair_context(index, batch, params), InsertModel.given(*insert))
        state = trial.expected[1]
        assert 0.2 < state.open.mean() < 0.9 and 0 < len(trial.request.mates) < len(trial.request.reads)
        found = search.quick_look(trial.context, Stats(), *trial.asked)
        assert trial.is_met_by(found)
        assert trial.is_met_by(
            search.quick_look(trial.context, Stats(), *trial.asked)
        )  # nothing is left over

    def test_copies_borders_and_seeds_passed_over(self, engine, tmp_path):
        """Pairs that fit two places alike, mates on either side of a border, and elements of many copies."""
        rng = np.random.default_rng(4)
        genome, batch = hard_pairs(rng)
        fasta = tmp_path / "hard.fa"
        fasta.write_bytes(b"".join(b">%s\n%s\n" % (n.encode(), s) for n, s in genome.items()))
        index = gassst.Index.build(fasta)
        info, device = engine.info, engine.device
        search = DeviceSearch(index, opencl_engine.Engine(info, device, index.reference.planes), SPLIT)
        trial = PairTrial.of_batch(*pair_context(index, batch, {}), InsertModel.given("fr", 700, 100))
        state = trial.expected[1]
        assert trial.expected[0].capped.sum() > 20 and 0.2 < state.open.mean() < 0.9
        assert trial.is_met_by(search.quick_look(trial.context, Stats(), *trial.asked))

    def test_anchors_that_are_left_out_are_not_missed(self, engine, tmp_path):
        """Of mates in elements of many copies few anchors come back: those that the host would look at."""
        search, mapper, batch = hard_search(engine, tmp_path)
        context, mate = pair_context(mapper.index, batch, {"seed_length": 20})
        trial = PairTrial.of_batch(context, mate, InsertModel.given("fr", 400, 30))
        found = search.quick_look(context, Stats(), *trial.asked)
        assert trial.is_met_by(found)
        true, own = trial.expected[2], Looked(*found.looked).anchors(trial.expected[2].reads)
        with CpuExtender(context.reference.planes).open_reads(context.packed) as bands:
            far = 1 - HostPairPasses(context, trial.pairs, Stats()).near_mates(true)
            top = HostBackend(context, bands, Stats()).best_supported(true, far)
        most, all_reads = context.plan.preset.repeat_buckets, np.ones(context.n, np.uint8)
        wanted = best_buckets(true, far, all_reads, context, trial.pairs, most).view(bool) | (far == 0)
        wanted |= np.isin(
            keys_of(true.read_strand, true.diagonal >> context.shift), keys_of(top.read_strand, top.bucket)
        )
        for i in np.flatnonzero(np.diff(true.start)):
            wanted[true.start[i] + np.argmax(true.length[true.start[i] : true.start[i + 1]])] = True
        is_own = np.isin(keys_of(true.read_strand, true.diagonal), keys_of(own.read_strand, own.diagonal))
        assert (is_own | ~wanted).all()
        is_cut = (found.left_out[true.reads] > 0).repeat(np.diff(true.start))
        assert (found.left_out > 0).sum() > 10 and is_own[is_cut].sum() < 1.2 * wanted[is_cut].sum()

    def test_reads_that_repeat_bases_of_their_own(self, search, index):
        """By words of the read as text, on either strand."""
        rng = np.random.default_rng(9)
        mates: tuple[list, list] = [], []
        for i in range(120):
            for each in mates:
                unit = bf.random_bases(rng, int(rng.integers(5, 60)))
                tandem = (unit * 40)[: int(rng.integers(0, 120))]
                read = (bf.random_bases(rng, 70) + tandem + bf.random_bases(rng, 70))[i % 50 :][: 60 + i]
                each.append((f"pair{i}", read.decode(), None))
        context, mate = pair_context(index, batch_of_pairs(*mates), {})
        trial = PairTrial.of_batch(context, mate, InsertModel.given("fr", 320, 30))
        found = search.quick_look(context, Stats(), *trial.asked)
        reads = [read.encode() for pair in zip(*mates, strict=True) for _, read, _ in pair]
        true = [repeats(read) | repeats(bf.reverse_complement(read)) << 1 for read in reads]
        assert found.repeats.tolist() == true and len({*true}) > 2

    @pytest.mark.parametrize("limited", [None, 0, 1])
    def test_pairs_of_copies_get_the_same_records(self, engine, tmp_path, monkeypatch, limited):
        """Also where the host has need of all anchors of every pair, or of none."""
        monkeypatch.setattr(device_seeds, "LEAST_READS", 2)
        search, mapper, batch = hard_search(engine, tmp_path)
        if limited is not None:
            monkeypatch.setattr(
                HostPairPasses, "limited", lambda passes, _: np.full(passes.context.n, limited, np.uint8)
            )
        expected, counted = mapper.map_batch(batch)
        asked = sizes_asked(monkeypatch, device_seeds.SeedsOnDevice, "with_all", 2)
        found, own = mapper.replaced(on_device=search).map_batch(batch)
        assert_same_rows(found, expected)
        assert (own.scored, own.candidates) == (counted.scored, counted.candidates)
        filtered = [
            {name: (stage.entered, stage.left) for name, stage in each.funnel.stages.items()}
            for each in (own, counted)
        ]
        assert filtered[0] == filtered[1] and filtered[1]["band32"][0] > 100
        assert limited is None or bool(asked) == (limited == 0)

    def test_requests_that_are_looked_at_together_do_not_meet(self, search, index, small_genome):
        batches = [pairs_of(small_genome, "fr", n, seed) for seed, n in enumerate((1, 60, 25))]
        insert = InsertModel.given("fr", 320, 30)
        trials = [PairTrial.of_batch(*pair_context(index, batch, {}), insert) for batch in batches]
        requests = [trial.request for trial in trials]
        for trial, found in zip(trials, search.found(trials[0].searched, requests), strict=True):
            assert trial.is_met_by(found)

    def test_it_is_counted_as_on_the_host(self, search, index, small_genome, monkeypatch):
        monkeypatch.setattr(device_seeds, "LEAST_READS", 2)
        batch = pairs_of(small_genome, "fr")
        mapper = gassst.Mapper(index, device="none")
        expected, counted = mapper.map_batch(batch)
        asked: list[int] = []
        ask = device.DeviceSearch.quick_look
        monkeypatch.setattr(device.DeviceSearch, "quick_look", lambda *a: asked.append(1) or ask(*a))
        found, own = mapper.replaced(on_device=search).map_batch(batch)
        for mine, true in zip(found.rows, expected.rows, strict=True):
            np.testing.assert_array_equal(mine, true)
        assert asked and (own.scored, own.candidates) == (counted.scored, counted.candidates)

    def test_a_device_that_closes_other_pairs_is_not_used(self, search, index, monkeypatch):
        mapper = gassst.Mapper(index, device="none")
        searched = Searched(mapper.plan, mapper.cascade, mapper.params.for_pairs())
        trial = PairTrial.of(index, searched)
        search.warm_up(trial)
        answers = device_quick.QuickLook.answers

        def wrong(backend):
            for found in answers(backend):
                found.is_open[100:102] ^= 1
                yield found

        monkeypatch.setattr(device_quick.QuickLook, "answers", wrong)
        with pytest.raises(DeviceError, match="wrong results"):
            search.warm_up(trial)

    def test_shares_are_compared_as_sums_of_them_are(self, index, small_genome):
        context, _ = pair_context(index, pairs_of(small_genome, "fr"), {})
        present, preset = np.unique(context.lengths), context.plan.preset
        row, shares = device_arrays.shares_missed(context.plan, present)
        missed = np.vstack([missed_by_row(context.plan, present)[1], np.ones(MISS_ERRORS)])
        rank, usual, alone = shares[..., 0].ravel(), shares[..., 1].ravel(), shares[..., 2].ravel()
        both = missed.ravel()[:, None] + missed.ravel()
        np.testing.assert_array_equal(rank < usual[:, None], both <= preset.pair_missed)
        np.testing.assert_array_equal(rank < alone[:, None], both <= preset.pair_missed_alone)
        assert row[present].tolist() == [*range(len(present))]


def pairs_of(genome, orientation, n=200, seed=3):
    """Pairs of fragments of 250 to 400 bases, of a quarter each with no, few and many errors; of some a mate
    has too few seeds for a quick look."""
    rng = np.random.default_rng(seed)
    contigs = [contig for contig in genome.values() if len(contig) > 500]
    mates: tuple[list, list] = [], []
    for i in range(n):
        contig = contigs[int(rng.integers(len(contigs)))]
        size, rate = int(rng.integers(250, 400)), (0, 3, 6, 16)[i % 4]
        at = int(rng.integers(len(contig) - size))
        ends = contig[at : at + 150], contig[at + size - 150 : at + size]
        if orientation == "fr":
            ends = ends[0], bf.reverse_complement(ends[1])
        elif orientation == "rf":
            ends = bf.reverse_complement(ends[0]), ends[1]
        if rng.random() < 0.5:
            ends = tuple(map(bf.reverse_complement, ends)) if orientation == "ff" else ends
            ends = ends[1], ends[0]
        for j, (each, end) in enumerate(zip(mates, ends, strict=True)):
            length = 36 if i % 9 == 5 and j else (150, 149, 101)[i % 3]
            read = end[-length:] if end is contig[-150:] else end[:length]
            read = bf.mutate(rng, read + read[:30], int(rng.integers(rate + 1)))[:length]
            each.append((f"pair{i}", read.decode(), None))
    return batch_of_pairs(*mates)


def hard_pairs(rng):
    """A genome, and pairs of fragments of 400 bases."""
    copy = bf.random_bases(rng, 400)
    # Of the other copy each end differs in another base: a pair with one of both fits either copy as well.
    other = with_bases(copy, [20, 385])
    element = bf.random_bases(rng, 36)
    genome = {
        "copies": b"".join(
            [bf.random_bases(rng, 900), copy, bf.random_bases(rng, 1500), other, bf.random_bases(rng, 900)]
        ),
        "neighbour": bf.random_bases(rng, 1000),
        "elements": b"".join(element + bf.random_bases(rng, 64) for _ in range(500)),
    }
    fragments = []
    for i in range(60):
        fragments.append(with_bases(copy, [[20], [385], [20, 385], []][i % 4]))
        at = int(rng.integers(len(genome["elements"]) - 400))
        fragments.append(genome["elements"][at : at + 400])
        border = 150 + i % 20
        fragments.append(genome["copies"][-border:] + genome["neighbour"][: 400 - border])
    mates: tuple[list, list] = [], []
    for i, fragment in enumerate(fragments):
        for each, strand in zip(mates, (fragment, bf.reverse_complement(fragment)), strict=True):
            read = bf.mutate(rng, strand[:180], int(rng.integers(1 + i % 4)))[:150]
            each.append((f"pair{i}", read.decode(), None))
    return genome, batch_of_pairs(*mates)


def hard_search(engine, folder):
    """The search on a device of the genome of `hard_pairs`, a mapper of the host, and the pairs."""
    genome, batch = hard_pairs(np.random.default_rng(4))
    fasta = folder / "hard.fa"
    fasta.write_bytes(b"".join(b">%s\n%s\n" % (n.encode(), s) for n, s in genome.items()))
    mapper = gassst.Mapper(gassst.Index.build(fasta), device="none", seed_length=20, insert=(400, 30))
    info, device, planes = engine.info, engine.device, mapper.index.reference.planes
    return DeviceSearch(mapper.index, opencl_engine.Engine(info, device, planes), SPLIT), mapper, batch


def repeats(read):
    """Whether the first, the middle or the last word of 8 bases occurs once more."""
    last = len(read) - 8
    words = [read[at : at + 8] for at in range(last + 1)]
    return int(last >= 11 and any(words.count(words[at]) > 1 for at in (0, last // 2, last)))


def keys_of(read_strand, place):
    return read_strand.astype(np.uint64) << np.uint64(32) | place


def with_bases(text, places):
    """Other bases at some places."""
    changed = bytearray(text)
    for at in places:
        changed[at] = text[at : at + 1].translate(bytes.maketrans(b"ACGT", b"CATG"))[0]
    return bytes(changed)


def pair_context(index, batch, params):
    mapper = gassst.Mapper(index, device="none", **params)
    searched = Searched(mapper.plan, mapper.cascade, mapper.params.for_pairs())
    context = BatchContext.of(index, mapper.parts, *searched, batch.pack())
    return context, batch.mate


@pytest.mark.parametrize(
    ("memory", "allocation", "why", "parts"),
    [
        (8 << 30, 4 << 30, "", 1),
        (8 << 30, SPLIT, "", 4),
        (8 << 30, SPLIT >> 1, "largest allocation", 4),
        (1 << 30, 1 << 29, "do not fit", 1),
    ],
)
def test_fit_is_known_before_anything_is_allocated(index, memory, allocation, why, parts):
    found = device_index.fit(index, memory, allocation)
    assert (why in found.why if why else not found.why) and found.parts == parts


def test_an_index_with_steps_is_left_to_the_host(small_fasta):
    assert "step 2" in device_index.fit(gassst.Index.build(small_fasta, step=2), 8 << 30, 4 << 30).why


def with_adapters(reads):
    """Of every third read the last two fifths are other bases, of every third one base in twelve is masked."""
    some = []
    for i, (name, read, quality) in enumerate(reads):
        kept = len(read) * 3 // 5
        tail = read[kept:].translate(str.maketrans("ACGT", "GTAC"))
        masked = "".join("N" if at % 12 == 5 else base for at, base in enumerate(read))
        some.append((name, [read[:kept] + tail, masked, read][i % 3], quality))
    return some


def context_of(index, reads, **params) -> BatchContext:
    mapper = gassst.Mapper(index, device="none", **params)
    packed = batch_of_records(reads).pack(mapper.params.longest_read)
    searched = index, mapper.parts, mapper.plan, mapper.cascade, mapper.params
    return BatchContext.of(*searched, packed, whole_reads=mapper.params.reports_whole_reads)


def assert_all_same(search: DeviceSearch, contexts: list[BatchContext]) -> None:
    searched = Searched(contexts[0].plan, contexts[0].cascade, contexts[0].params)
    counted = Stats()
    requests = [Request.of(context) for context in contexts]
    results = []
    for context, found in zip(contexts, search.found(searched, requests), strict=True):
        assert found is not None
        results.append(found.result(context, counted))
    for context, result in zip(contexts, results, strict=True):
        assert_same_result(result, expected(context)[0])
    assert counted.scored == sum(expected(context)[1].scored for context in contexts)


def assert_same(search: DeviceSearch, context: BatchContext) -> None:
    counted = Stats()
    found = search.search(context, counted)
    result, expected_counts = expected(context)
    assert_same_result(found, result)
    for name in ("occurrences", "candidates", "scored", "capped"):
        assert getattr(counted, name) == getattr(expected_counts, name), name
    for step, counts in expected_counts.funnel.stages.items():
        mine = counted.funnel.stages[step]
        assert (mine.entered, mine.left) == (counts.entered, counts.left), step


def expected(context: BatchContext) -> tuple[GlobalResult, Stats]:
    """What the host finds, and what it counts."""
    counts = Stats()
    with CpuExtender(context.reference.planes).open_reads(context.packed) as bands:
        return single.search(HostBackend(context, bands, counts)), counts


def assert_same_result(found: GlobalResult | None, expected: GlobalResult) -> None:
    assert found is not None
    for name in GlobalResult.__dataclass_fields__:
        if name != "bands":
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    for name, column in vars(expected.bands).items():
        np.testing.assert_array_equal(getattr(found.bands, name), column, err_msg=name)


class TestLoad:
    def test_a_batch_goes_where_it_is_done_first(self):
        load = Load(3)
        load.note(DEVICE, 1000, 1e5)
        load.waiting[:2] = 1000
        assert not load.is_host_faster(100)  # the host has not been measured
        load.note(HOST, 1000, 4e6)
        assert not load.is_host_faster(100)
        load.waiting[2] = 2000
        assert load.is_host_faster(100)
        load.note(DEVICE, 1000, 9e4)
        assert not load.is_host_faster(100)

    def test_a_few_slow_reads_say_little_of_the_pace(self):
        load = Load(1)
        load.note(DEVICE, 1000, 1e5)
        load.note(DEVICE, 1, 1e5)
        assert load.paces[DEVICE] == pytest.approx(150)


class TestTurns:
    def test_no_more_threads_than_turns_compute_at_once(self):
        turns, lock = Turns(2), threading.Lock()
        running, most = 0, 0

        def compute(_):
            nonlocal running, most
            with turns:
                with lock:
                    running += 1
                    most = max(most, running)
                with lock:
                    running -= 1
                with turns.given_up():
                    pass

        with ThreadPoolExecutor(5) as pool:
            list(pool.map(compute, range(200)))
        assert most <= 2

    def test_a_thread_that_waits_gives_its_turn(self):
        turns, done = Turns(1), threading.Event()

        def other():
            with turns:
                done.set()

        thread = threading.Thread(target=other)
        with turns:
            thread.start()
            with turns.given_up():
                assert done.wait(60)
        thread.join()
        with turns.given_up():  # without a turn
            pass


SERVED = """
import gzip, sys, threading, time
import gassst
import numpy as np
from gassst.io.read_records import batch_of_records
from gassst.search.device_process import READY, DeviceProcess, Job
from gassst.search.device_requests import Searched
from gassst.search.device_server import DeviceServer, serve
from gassst.search.device_trial import PairTrial
from gassst.extension.cpu import CpuExtender
from gassst.search import single
from gassst.search.context import BatchContext
from gassst.search.dense import DenseSeeds
from gassst.search.host import HostBackend
from gassst.seeding.miss_model import MISS_ERRORS
from gassst.stats import Stats

index = gassst.Index.open(sys.argv[1])
process = DeviceProcess(sys.argv[3], 3, serve)
mapper = gassst.Mapper(index, device="none")
job = Job.of(index, mapper.params)
process.tell(job)
process.verify()
while process.status < READY:
    time.sleep(0.01)
server, found = DeviceServer(process), {}

def contexts(of):
    lines = gzip.open(sys.argv[2], "rt").read().split()[1::4]
    for at in range(0, 200, 50):
        reads = [(str(i), read, None) for i, read in enumerate(lines[of * 200 + at : of * 200 + at + 50])]
        packed = batch_of_records(reads).pack()
        params = mapper.params.for_single()
        searched = index, mapper.parts, mapper.plan, mapper.cascade, params
        yield BatchContext.of(*searched, packed, whole_reads=params.reports_whole_reads)

def ask(of):
    found[of] = [server.search(context, Stats()) for context in contexts(of)]

asking = [threading.Thread(target=ask, args=(of,)) for of in range(2)]
for thread in asking: thread.start()
for thread in asking: thread.join()
taken = 0
for of in range(2):
    for context, result in zip(contexts(of), found[of], strict=True):
        with CpuExtender(index.reference.planes).open_reads(context.packed) as bands:
            expected = single.search(HostBackend(context, bands, Stats()))
        if result is not None:  # else the host would have been faster
            taken += 1
            assert (result.quality == expected.quality).all() and (result.rows == expected.rows).all()
            assert (result.bands.band_start == expected.bands.band_start).all()
            assert (result.bands.read_strand == expected.bands.read_strand).all()
assert taken
(context, *_) = contexts(1)
reads = np.arange(1, context.n, 2, dtype=np.uint32)
looked = server.look_up(context, Stats(), reads, 0, 2)
assert looked is not None
with CpuExtender(index.reference.planes).open_reads(context.packed) as bands:
    host = HostBackend(context, bands, Stats())
    expected = host.gather(host.look_up(host.initial_state(), 0, reads, 2), reads, None)
anchors = looked.anchors(reads)
assert (anchors.diagonal == expected.diagonal).all() and (anchors.read_strand == expected.read_strand).all()
assert (anchors.start == expected.start).all() and len(anchors)
seeds = DenseSeeds(14, 3, 64, True)
densely = server.look_densely(context, Stats(), reads, seeds)
with CpuExtender(index.reference.planes).open_reads(context.packed) as bands:
    expected = HostBackend(context, bands, Stats()).look_densely(reads, seeds)
for name in ("clipped", "first", "last"):
    assert (getattr(densely, name) == getattr(expected, name)).all()
assert (densely.anchors.diagonal == expected.anchors.diagonal).all() and len(densely.anchors)
assert (densely.anchors.start == expected.anchors.start).all()
assert sum(process.load.counts) == 425 and f"{process.load.counts[0]} reads" in server.describe()
kept = DeviceServer(process, is_kept=True)
process.begin_again()
process.admit()  # all threads that may ask have asked
trial = PairTrial.of(index, Searched(mapper.plan, mapper.cascade, mapper.params))
looked = kept.quick_look(trial.context, Stats(), *trial.asked)
assert trial.is_met_by(looked)
assert process.load.counts == (len(trial.request.reads), 0)
kept.close()
assert process.serves(job) and not process.serves(job._replace(pairs=True))
server.close()
assert not process.serves(job)
"""


@needs_device
def test_a_process_of_its_own_answers_threads(small_index, small_fastq):
    command = [sys.executable, "-c", SERVED, str(small_index), str(small_fastq), f"{USABLE[0].type}:all"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr


def without_memory(process, _job, _jobs, calls, answers):
    memory: Any = None
    search: Any = None
    drive([search], search, Inbox(calls, memory), process, answers)


def test_a_request_that_cannot_be_read_ends_the_process():
    """Its client would wait for ever: another thread keeps the pipes of answers open."""
    with closing(DeviceProcess("gpu", 1, without_memory)) as process:
        nothing = np.empty(0, np.uint32)
        with pytest.raises(DeviceError):
            DeviceServer(process)._answer(0, Request(*[nothing] * 5, 0, 0, nothing))
        with pytest.raises(DeviceError, match="AttributeError"):
            process.verify()


@pytest.mark.parametrize(
    ("stage", "reads", "seconds"),
    [
        (SEARCH, 1 << 16, device_server.PATIENCE),
        (SEARCH, 1 << 17, 0),
        (QUICK_LOOK, 1 << 14, device_server.PATIENCE_WITH_PAIRS),
        (QUICK_LOOK, 1 << 16, 0),
    ],
    ids=["few to search", "many", "few to look at", "enough to look at"],
)
def test_few_reads_wait_for_more_while_others_are_searched(monkeypatch, stage, reads, seconds):
    """A search has more commands than a look at pairs, so more reads of it are gathered."""
    memory, (calls, to_it), patience = SharedMemory(1), os.pipe(), []
    nothing, lengths = np.empty(0, np.uint32), np.full(reads, 100, np.uint32)
    asked = Request(nothing, nothing, lengths, *[nothing] * 2, stage, 0, nothing)
    inbox = Inbox(calls, memory)
    monkeypatch.setattr(
        device_server.select, "select", lambda *arguments: patience.append(arguments[-1]) or ([], [], [])
    )
    for _ in range(2):
        os.write(to_it, CALL.pack(0, memory.put(0, tuple(asked))))
        assert len(inbox.take()) == 1
    os.close(calls)
    os.close(to_it)
    assert patience == [0, seconds]


def test_the_last_failure_is_told_alone():
    with closing(DeviceProcess("gpu", 1, lambda *_: None)) as process:
        process.say(FAILED, "a long failure of one thread")
        process.say(FAILED, "a short one")
        with pytest.raises(DeviceError, match="^a short one$"):
            process.verify()


@needs_device
def test_an_index_that_was_replaced_meanwhile_is_not_searched(small_index):
    """The process opens the file by its name, after the run did."""
    command = [sys.executable, "-c", REPLACED, str(small_index), USABLE[0].type]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.stdout == f"{small_index} was replaced while the run began\n", run.stderr


REPLACED = """
import sys, time
import gassst
from gassst.errors import DeviceError
from gassst.search.device_process import READY, DeviceProcess, Job
from gassst.search.device_server import serve

mapper = gassst.Mapper(sys.argv[1], device="none")
process = DeviceProcess(sys.argv[2], 1, serve)
process.tell(Job.of(mapper.index, mapper.params)._replace(md5=("of another",)))
try:
    while process.status < READY:
        time.sleep(0.01)
except DeviceError as error:
    print(error)
"""


def test_a_process_that_has_ended_serves_no_other_sample(index):
    """Its file descriptors may be those of other files by then."""
    ended = DeviceProcess("gpu", 1, lambda *_: None)
    ended.close()
    run = RunDevice(LateMapper(index, device="gpu"), is_late=True, is_served=True, started=ended)
    with closing(run.server()) as server:
        assert server.process is not ended
    assert replace(run, is_served=False).server() is None  # it has been looked for


@pytest.mark.parametrize("more", [[], ["--all"]], ids=["searched there", "mapped on the host"])
def test_a_gpu_that_is_not_there_ends_the_run_in_one_line(small_index, small_fastq, tmp_path, more):
    """It is looked for while reads are mapped already."""
    output = tmp_path / "out.sam"
    command = [sys.executable, "-m", "gassst", "map", str(small_index), str(small_fastq), "-q"]
    environment = {**os.environ, "OCL_ICD_VENDORS": str(tmp_path), "OPENCL_VENDOR_PATH": str(tmp_path)}
    environment.pop("GASSST_OPENCL", None)
    done = subprocess.run(
        [*command, *more, "--device", "gpu", "-o", str(output)],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0 and not output.exists()
    assert len(done.stderr.splitlines()) == 1 and "OpenCL" in done.stderr


SHEET = """
import sys, time
from gassst.cli.main import main
from gassst.search import device_seeds, device_start
from gassst.search.device_process import READY, DeviceProcess, Load
from gassst.search.device_server import DeviceServer

device, *argv = sys.argv[1:]
begin_again = DeviceProcess.begin_again

def begun_again(process):
    begin_again(process)
    print("kept", file=sys.stderr)

def admit(server, admit=DeviceServer.admit):
    admit(server)
    while server.process.status < READY:  # as slow as this device may be
        time.sleep(0.01)
    print("admitted", file=sys.stderr)

device_start.DeviceProcess = lambda _, *rest, **more: DeviceProcess(device, *rest, **more)
DeviceProcess.begin_again, DeviceServer.admit = begun_again, admit
Load.is_host_faster = lambda *_: False
device_seeds.LEAST_READS = 1
sys.exit(main(argv))
"""


def said_of_sheet(index, rows, sheet):
    """What a run says that maps the samples of these rows in two processes beside a device."""
    sheet.write_text("\n".join(["sample,lane,R1,R2,output", *rows]) + "\n")
    options = ["-t", "3", "--processes", "2", "--batch-size", "100", "-v", "-v"]
    argv = ["map", str(index), "--sheet", str(sheet), *options, "--device", "gpu"]
    command = [sys.executable, "-c", SHEET, USABLE[0].type, *argv]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stderr


@needs_device
@pytest.mark.parametrize("kind", ["single", "pairs"])
def test_samples_of_a_sheet_share_processes_and_the_device(small_index, small_fastq, tmp_path, kind):
    """Threads that have asked the device keep their numbers; those that have not get others."""
    reads = mates_of(small_fastq, tmp_path) if kind == "pairs" else [small_fastq]
    columns = f"{reads[0]},{reads[1] if kind == 'pairs' else ''}"
    rows = [f"{i},L1,{columns},{tmp_path / f'{i}.sam'}" for i in range(3)]
    said = said_of_sheet(small_index, rows, tmp_path / "sheet.csv")
    assert [said.count(word) for word in ("admitted", "kept", "worker processes of")] == [1, 2, 1]
    searched = re.findall(r"once it was ready: ([0-9,]+) reads, and 0 on the host", said)
    assert len(searched) == 3 and "0" not in searched
    alone = ["map", str(small_index), *map(str, reads), "-o", str(tmp_path / "alone.sam"), "-t", "1"]
    subprocess.run([sys.executable, "-m", "gassst", *alone, "--device", "none", "-q"], check=True)
    expected = records_without_group(tmp_path / "alone.sam")
    assert all(records_without_group(tmp_path / f"{i}.sam") == expected for i in range(3))


@needs_device
def test_a_sample_in_threads_ends_processes_that_wait(small_index, small_fastq, tmp_path):
    """CRAM is made in one process, to which the device deals its numbers anew: nobody else may hold one."""
    rows = [
        f"{i},L1,{small_fastq},,{tmp_path / f'{i}.{kind}'}" for i, kind in enumerate(("sam", "cram", "sam"))
    ]
    said = said_of_sheet(small_index, rows, tmp_path / "sheet.csv")
    assert said.count("admitted") == 3
    assert records_without_group(tmp_path / "0.sam") == records_without_group(tmp_path / "2.sam")


def mates_of(path, folder):
    """Two files: of each read its first 60 bases, and its last 60 on the other strand."""
    lines, paths = gzip.decompress(path.read_bytes()).decode().split(), [folder / "1.fq", folder / "2.fq"]
    other = str.maketrans("ACGT", "TGCA")
    for i, path in enumerate(paths):
        parts = (
            (name, bases[:60] if i == 0 else bases[-60:][::-1].translate(other))
            for name, bases in zip(lines[::4], lines[1::4], strict=True)
        )
        path.write_text("".join(f"{name}\n{bases}\n+\n{'I' * len(bases)}\n" for name, bases in parts))
    return paths


def records_without_group(path):
    lines = [line for line in path.read_text().splitlines() if not line.startswith("@")]
    return [re.sub(r"\tRG:Z:[^\t]*", "", line) for line in lines]


def test_beside_a_device_threads_share_no_process(small_index, small_fastq, tmp_path):
    """Half as many threads again, as some wait for it."""
    command = [
        sys.executable,
        "-m",
        "gassst",
        "map",
        str(small_index),
        str(small_fastq),
        "-v",
        "-v",
        "-t",
        "5",
    ]
    command += ["-o", str(tmp_path / "out.sam"), "--device"]
    environment = {**os.environ, "OCL_ICD_VENDORS": str(tmp_path), "OPENCL_VENDOR_PATH": str(tmp_path)}
    environment.pop("GASSST_OPENCL", None)
    for name, layout in (
        ("none", "3 worker processes of 5 threads"),
        ("gpu", "5 worker processes of 8 threads"),
    ):
        done = subprocess.run([*command, name], env=environment, capture_output=True, text=True)
        assert layout in done.stderr


def test_a_gpu_that_nobody_named_may_fail(small_index, small_fastq, tmp_path):
    """Its driver is registered, so it is tried; the host maps all reads."""
    (tmp_path / "none.icd").write_text("libnone.so\n")
    output = tmp_path / "out.sam"
    command = [sys.executable, "-m", "gassst", "map", str(small_index), str(small_fastq), "-q"]
    environment = {**os.environ, "OCL_ICD_VENDORS": str(tmp_path), "OPENCL_VENDOR_PATH": str(tmp_path)}
    environment.pop("GASSST_OPENCL", None)
    done = subprocess.run([*command, "-o", str(output)], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "") and output.exists()
