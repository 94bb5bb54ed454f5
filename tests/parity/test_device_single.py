"""The search of single reads on a device finds what the host finds: bands, places, qualities, and what they cost."""

import logging
from concurrent.futures import ThreadPoolExecutor

import brute_force as bf
import numpy as np
import pytest
from device_searches import SPLIT, assert_same, context_of, placed, with_adapters
from engines import engine as mapper_of

from gassst.errors import DeviceError
from gassst.gpu import arrays as device_arrays
from gassst.gpu import device as opencl_device
from gassst.gpu import index as device_index
from gassst.gpu import search as device
from gassst.gpu.device import Engine
from gassst.gpu.search import DeviceSearch
from gassst.model.stats import Stats
from gassst.search.host import HostBackend


class TestDeviceSearch:
    @pytest.mark.parametrize(
        "params",
        [
            {},
            {"filters": (), "max_hits": 7},
            {"sensitivity": 0},
            {"filters": ("band32",), "min_identity": 70, "seed_length": 8},
            {"sensitivity": 5, "min_identity": 85},
        ],
        ids=["auto", "no filter", "fewest seeds", "band32, short seeds", "all occurrences"],
    )
    def test_it_finds_what_the_host_finds(self, search, index, small_reads, params):
        context = context_of(index, small_reads, **params)
        assert_same(search, context)

    @pytest.mark.parametrize("params", [{}, {"max_hits": 5, "min_identity": 93}, {"mode": "local"}], ids=str)
    def test_reads_of_15_to_19_bases(self, search, index, small_reads, params):
        some = [(n, s[: 15 + i % 5], q[: 15 + i % 5]) for i, (n, s, q) in enumerate(small_reads)]
        assert_same(search, context_of(index, some, **params))

    @pytest.mark.parametrize("params", [{}, {"filters": (), "sensitivity": 0}, {"seed_length": 10}], ids=str)
    def test_it_gives_up_what_the_host_does(self, search, index, small_reads, params):
        """Reads without a place are left to the search by local score."""
        context = context_of(index, with_adapters(small_reads), mode="local", **params)
        assert_same(search, context)
        with search.on_device().slot() as slot:
            backend = device.DeviceBackend(device.DeviceBatch.of(context), slot)
            found = backend.found(backend.search())
        none = np.iinfo(np.uint16).max
        best = dict(zip(device_arrays.STATE, found.state, strict=True))["BEST"]
        np.testing.assert_array_equal(best == none, placed(context, Stats())["best"] == none)

    @pytest.mark.parametrize(
        "scoring",
        [{}, {"clip": 0, "min_score": 10}, {"match": 3, "gap_open": (0, 2), "clip": 40}, {"mismatch": 40}],
        ids=str,
    )
    @pytest.mark.parametrize("shared", ["errors and gaps", "long"])
    def test_clipped_ends_are_those_of_the_host(self, search, index, small_genome, shared, scoring):
        """Bands of all widths that a device has, and wider ones, which it leaves to the host."""
        rng, contig = np.random.default_rng(7), max(small_genome.values(), key=len)
        length, errors = (100, 8) if shared == "errors and gaps" else (420, 30)
        reads = []
        for i in range(160):
            at = int(rng.integers(0, len(contig) - 2 * length))
            text = bf.mutate(rng, contig[at : at + length], int(rng.integers(0, errors)))
            gap = int(rng.integers(0, 12))
            text = text[: length // 2] + text[length // 2 + gap :] if i % 3 else text + contig[:25]
            reads.append((f"r{i}", text.decode(), None))
        context = context_of(index, reads, mode="local", **scoring)
        assert_same(search, context)
        found = search.search(context, Stats())
        places, scored = HostBackend(context, Stats()), found.ends["scored"]
        ends = places.placed(None, found).ends
        assert len(reads) / 4 < ends.found <= scored.sum() and (scored == 0).any()

    def test_an_index_that_is_uploaded_in_pieces_is_the_same(self, engine, index, small_reads, monkeypatch):
        monkeypatch.setattr(Engine, "shares_memory", False)
        monkeypatch.setattr(opencl_device, "COPIED", 4096)
        assert_same(DeviceSearch(index, engine, SPLIT), context_of(index, small_reads[:40]))

    def test_one_read_and_reads_without_seeds(self, search, index, small_reads):
        assert_same(search, context_of(index, small_reads[:1]))
        assert_same(search, context_of(index, [("short", "ACGTACGT", None), ("masked", "N" * 60, None)]))

    def test_batches_follow_each_other(self, search, index, small_reads):
        for some in (small_reads[:9], small_reads[100:300], small_reads[9:40]):
            assert_same(search, context_of(index, some))

    def test_a_batch_that_has_more_than_there_is_room_for_is_searched_again(
        self, search, index, small_reads, monkeypatch
    ):
        on_device, context = search.on_device(), context_of(index, small_reads)
        on_device.rooms.clear()
        hand_over, calls = device_index.Slot.handed_over, []
        monkeypatch.setattr(
            device_index.Slot, "handed_over", lambda slot, *of: calls.append(slot) or hand_over(slot, *of)
        )
        assert_same(search, context)
        assert len(calls) > 1 and on_device.rooms
        for _ in on_device.slots:
            search.search(context, Stats())
        calls.clear()
        assert search.search(context, Stats()) and len(calls) == 1

    def test_batches_alike_are_searched_by_the_same_commands(self, search, index, small_reads, monkeypatch):
        """With other reads, and fewer, of the same lengths."""
        some = [(name, read[:75], quality[:75]) for name, read, quality in small_reads if len(read) >= 75]
        assert len(some) > 240
        mapper = mapper_of(index, device="none", mode="local")
        for _ in range(2 * len(search.on_device().slots)):
            assert_same(search, context_of(index, some, mapper))
        monkeypatch.setattr(device_index.Slot, "launch", None)
        for reads in (some[40:240], some[::-1]):
            assert_same(search, context_of(index, reads, mapper))

    def test_a_command_that_fails_is_one_line_and_the_next_batch_is_searched(
        self, search, index, small_reads
    ):
        context = context_of(index, small_reads[:40], seed_length=13)
        with search.on_device().slot() as slot:
            device.DeviceBackend(device.DeviceBatch.of(context), slot)
            slot.launch("begin_reads", 64, group=1 << 30)
            failed = pytest.raises(
                DeviceError, match="^OpenCL device .*: clEnqueueNDRangeKernel failed: INVALID"
            )
            with failed, search.engine.errors():
                slot.finish()
        for _ in search.on_device().slots:
            assert_same(search, context)

    def test_batches_of_several_threads_do_not_meet(self, search, index, small_reads):
        parts = small_reads[:70], [("masked", "N" * 60, None)], small_reads[300:310], small_reads[70:200]
        contexts = [context_of(index, reads) for reads in parts]
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda context: assert_same(search, context), 2 * contexts))

    @pytest.mark.parametrize("params", [{"all_hits": True, "strata": True}, {"filters": ("fd",)}])
    def test_other_searches_are_left_to_the_host(self, search, index, small_reads, params):
        assert search.search(context_of(index, small_reads[:3], **params), Stats()) is None

    def test_a_batch_without_room_is_left_to_the_host(self, search, index, small_reads, monkeypatch, caplog):
        on_device = search.on_device()
        monkeypatch.setattr(on_device, "fit", on_device.fit._replace(work_bytes=1 << 10))
        for slot in on_device.slots:
            slot.buffers.clear()
            slot.kept.clear()
        monkeypatch.setattr(search, "_told", False)
        context = context_of(index, small_reads)
        with caplog.at_level(logging.WARNING, "gassst"):
            assert search.search(context, Stats()) is None
            assert search.search(context, Stats()) is None
        (line,) = [record.getMessage() for record in caplog.records]
        assert "searching on the host" in line and "\n" not in line
        monkeypatch.undo()
        assert_same(search, context)

    def test_a_device_that_is_lost_is_one_line(self, search, index, small_reads, monkeypatch):
        def lost(slot, *_, **__):
            slot.cl.Kernel(slot.device.program(slot.paths, slot.index.of_words(1)), "lost")

        monkeypatch.setattr(device_index.Slot, "launch", lost)
        for slot in search.on_device().slots:
            slot.kept.clear()
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
