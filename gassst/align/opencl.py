"""Scores on OpenCL devices: some neighbouring work-items a pair, or two pairs where 16 bits hold their scores.

The kernel is `kernels/scores.cl`. This module chooses how many work-items a pair takes and how many letters of the
query each of them holds, deals the work out to devices, and keeps these busy: while one computes a launch, the scores
of the launch before arrive.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gassst.align.modes import LOCAL
from gassst.align.scoring import LEAST, MOST, PAD, Costs
from gassst.align.sequences import Sequences
from gassst.gpu.device import Device, Processing
from gassst.gpu.platforms import opened
from gassst.workers.tasks import Progress, ProgressBar

if TYPE_CHECKING:
    import pyopencl

    from gassst.gpu.device import Memory

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]

KERNEL = Path(__file__).parent / "kernels" / "scores.cl"
WARP = 32
LANES = (1, 2, 4, 8, 16, 32)
COLUMNS = range(6, 33)
LETTERS = (6, 16, 25, 32)  # rows of a profile: ACGTN, IUPAC, amino acids, all; with padding
JOINED_LETTERS = 6  # at most, for profiles of two letters
SLOTS = 8  # of a profile of words, at least: items that read four words each at once
CELL_COST, WORD_COST, STEP_COST = (
    12,
    10,
    30,
)  # cycles of a cell, of one whose score is a word, of a step besides
PROGRAM_COST = 1e11  # a program more must save so many cycles: some milliseconds
STRIP_COST = 2000  # more for what is between strips, of all work-items of a pair
FILLING_ITEMS = 512  # of a compute unit
BORDER_BYTES = 1 << 30  # at most, of what is between two strips
LAUNCH_CELLS = 5e10  # of a launch: an interrupt waits for its end
LAUNCH_SCORES = 1 << 24
REGISTERS = 128  # of a work-item: so a multiprocessor has room for 512
IN_FLIGHT = 3
NARROW_COST = 1 << 12  # of a gap's first letter, at most, for values of 16 bits


class Shape(NamedTuple):
    """How a pair is computed: `lanes` work-items hold `columns` letters of the query each."""

    lanes: int
    columns: int

    @property
    def letters(self) -> int:
        """Of a query, in one strip."""
        return self.lanes * self.columns


class _Build(NamedTuple):
    """What a program is built for."""

    columns: int
    each: int
    own: bool
    strips: bool
    slots: int
    """Of a profile with a word for each score, or 0."""
    joined: bool
    """Whether these words are of two letters."""


class Work(NamedTuple):
    """What one launch does.

    Attributes
    ----------
    place : int64[n]
        Queries that are aligned with all targets, or where the scores of pairs go.
    longest : int
        Letters of the longest query.
    given : (int32[n, 2], int64[n]) or None
        Query and target of each pair, by falling length of the target; and these lengths.
    each : int
        Pairs of a value.
    cells : float
    """

    shape: Shape
    place: I64
    longest: int
    given: tuple[I32, I64] | None
    each: int
    cells: float


class _Launch(NamedTuple):
    """What the device works on: its last kernel, where it puts the scores, their shape, and all memory for it."""

    work: Work
    done: pyopencl.Event
    result: Memory
    shape: tuple[int, ...]
    borrowed: list[Memory]


class _Stream(NamedTuple):
    """Letters of targets as the kernel takes them: neighbours in the order that share a value side by side."""

    run: tuple[int, int]
    letters: Memory
    starts: Memory
    start: I64
    ready: pyopencl.Event
    """The event after which the letters are there."""


class _Engine(Processing):
    """One device with the sequences on it."""

    paths = (KERNEL,)

    def __init__(self, machine: Device, queries: Sequences, targets: Sequences, costs: Costs, letters: int):
        super().__init__(machine)
        self._costs, self._letters = costs, letters
        self._m, self._n = queries.lengths, targets.lengths
        device = machine.device
        self._is_cpu = machine.info.type == "cpu"
        # PoCL compiles a kernel for each size of a work-group.
        self.items = WARP if self._is_cpu else 128 if machine.is_nvidia else 64
        self._units = device.max_compute_units
        self._local_bytes = device.local_mem_size
        self._border_bytes = min(BORDER_BYTES, device.max_mem_alloc_size, device.global_mem_size // 8)
        # NVIDIA's processors before Hopper have no instructions for two values of 16 bits.
        self.each: tuple[int, ...] = (1,) if machine.is_nvidia and not machine.is_hopper else (2, 1)
        # Where registers are not what counts, one program does for all.
        self.columns: Sequence[int] = COLUMNS if machine.is_nvidia else (4,)
        self.joins = machine.is_hopper
        with machine.errors():
            self._sides = [
                machine.given(array)
                for array in (queries.codes, queries.offsets, targets.codes, targets.offsets)
            ]
            self._tables = {each: machine.given(self._table(each)) for each in self.each}
            self._none = self.allocate(16)
            # The end of a launch leaves parts of the device idle: the next one begins there.
            self._queues = self.queue, machine.queue()
            self._copies = machine.queue()
            self._borders = [self._none, self._none]
            order = np.argsort(-self._n, kind="stable")
            self._sorted_n = self._n[order]
            self._order = machine.given(order.astype(np.int32))
        self._streams: dict[tuple[int, bool], _Stream] = {}
        self._turn = 0

    def begin(self, work: Work) -> _Launch:
        """Hands work to the device."""
        borrowed: list[Memory] = []
        self._turn = 1 - self._turn
        with self.device.errors():
            if work.given is None:
                n, order = self._sorted_n, self._order
                which = self._upload(work.place.astype(np.int32), borrowed)
                rows, width = len(work.place), len(n)
                shape: tuple[int, ...] = (rows, width)
                wide = int(np.count_nonzero(~self.is_narrow(work.longest, n, work.shape)))
                runs = [(0, wide, 1), (wide, len(n), 2)]
            else:
                pairs, n = work.given
                which, order = self._none, self._upload(pairs, borrowed)
                shape = (len(n),)
                rows, width, runs = 1, 0, [(0, len(n), work.each)]
            result = self._borrow(4 * int(np.prod(shape)), borrowed)
            done = [
                self._enqueue(work, run, part, n, (order, which), (rows, width), result, borrowed)
                for run in runs
                if run[0] < run[1]
                for part in self._parts(run, n, work.longest, rows, work.shape)
            ]
            self._queues[self._turn].flush()
        return _Launch(work, done[-1], result, shape, borrowed)

    def end(self, launch: _Launch, out: I32) -> I32:
        """The scores, in `out` where they are neighbours there."""
        rows = launch.work.place
        are_neighbours = launch.work.given is None and rows[-1] - rows[0] == len(rows) - 1
        found = out[rows[0] : rows[-1] + 1] if are_neighbours else np.empty(launch.shape, np.int32)
        with self.device.errors():
            # A copy to memory that the driver does not own lets nothing else be handed over meanwhile.
            self.cl.enqueue_copy(self._copies, found, launch.result, wait_for=[launch.done])
        if not are_neighbours:
            out[rows] = found
        return found

    def _borrow(self, size: int, borrowed: list[Memory]) -> Memory:
        """Room until a launch has ended."""
        borrowed.append(self.allocate(size + size // 8))
        return borrowed[-1]

    def _upload(self, array: NDArray[Any], borrowed: list[Memory]) -> Memory:
        """An array on the device, beside what it computes."""
        found = self._borrow(array.nbytes, borrowed)
        self.cl.enqueue_copy(self._copies, found, np.ascontiguousarray(array))
        return found

    def _parts(
        self, run: tuple[int, int, int], n: I64, longest: int, rows: int, shape: Shape
    ) -> Iterator[tuple[int, int]]:
        """Neighbours for which there is room between strips."""
        begin, end, each = run
        step = end - begin
        if longest > shape.letters:
            groups = self.items // shape.lanes * each
            values = int(self._border_bytes // (8 * rows * int(n[begin])))
            step = max(groups, (values * each - groups) // groups * groups)
        for at in range(begin, end, step):
            yield at, min(end, at + step)

    def _enqueue(
        self,
        work: Work,
        run: tuple[int, int, int],
        part: tuple[int, int],
        n: I64,
        given: tuple[Memory, Memory],
        grid: tuple[int, int],
        result: Memory,
        borrowed: list[Memory],
    ) -> pyopencl.Event:
        """A kernel for neighbours in the order; returns its event. `n`: lengths of targets in that order."""
        costs, shape, longest = self._costs, work.shape, work.longest
        (begin, end), each = part, run[2]
        rows, width = grid
        own, strips = width == 0, longest > shape.letters
        values = -(-(end - begin) // each)
        items = min(self.group_items(shape, each, own), -(-values * shape.lanes // WARP) * WARP)
        count = -(-values * shape.lanes // items) * items
        numbers = {
            "first": costs.first, "extend": costs.extend, "zero": self._zero(longest, int(n[run[0]]), shape, each),
            "shift": shift_of(costs, each), "one": 1, "lanes": shape.lanes, "begin": run[0], "count": run[1] - run[0],
            "pair": 0, "width": width, "places": costs.profiles, "flags": costs.flags, "low": 0, "high": 0,
        }  # fmt: skip
        build = _Build(shape.columns, each, own, strips, *self._profile(shape, each, own))
        stream = self._stream(run, numbers, n, given[0], build, borrowed)
        pair = (begin - run[0]) // each
        stride = 0
        if strips:
            last = int(stream.start[pair + values] - stream.start[pair + values - 1])
            stride = int(stream.start[pair + values] - stream.start[pair])
            stride += (count // shape.lanes - values) * last
            if self._borders[self._turn].size < 8 * stride * rows:
                self._borders[self._turn] = self.allocate(8 * stride * rows)
        border = self._borders[self._turn]
        numbers |= {"begin": begin, "count": end - begin, "pair": pair}
        numbers |= {"low": stride & 0xFFFFFFFF, "high": stride >> 32}
        profiles = items // WARP * each if own else 1
        borrowed += [border, stream.starts, stream.letters]
        return self.run(
            "pair_scores", self._options(build), (count, rows), (items, 1), _packed(numbers), *self._sides[:2],
            self._sides[3], self._tables[each], *given, stream.starts, stream.letters, border, result,
            self.cl.LocalMemory(profiles * self._profile_bytes(shape, each, build.slots, build.joined)),
            queue=self._queues[self._turn], wait_for=[stream.ready],
        )  # fmt: skip

    def _stream(
        self,
        run: tuple[int, int, int],
        numbers: dict[str, int],
        n: I64,
        order: Memory,
        build: _Build,
        borrowed: list[Memory],
    ) -> _Stream:
        """The letters of a run. Those of the last product are kept."""
        begin, end, each = run
        is_product = numbers["width"] > 0
        kept = self._streams.get((each, build.joined))
        if is_product and kept is not None and kept.run == (begin, end):
            return kept
        start = np.zeros(-(-(end - begin) // each) + 1, np.int64)
        np.cumsum(n[begin:end:each], out=start[1:])
        starts = self._upload(start, borrowed)
        letters = self._borrow(2 * (int(start[-1]) + int(n[begin]) + 2 * WARP), borrowed)
        ready = self.run(
            "pair_letters", self._options(build), ((len(start) - 1) * WARP,), (WARP,), _packed(numbers),
            *self._sides[2:], order, starts, letters, queue=self._queues[self._turn],
        )  # fmt: skip
        stream = _Stream((begin, end), letters, starts, start, ready)
        if is_product:
            self._streams[each, build.joined] = stream
        return stream

    def _zero(self, longest: int, n: int, shape: Shape, each: int) -> int:
        """What a value holds for score 0: H is never less than the cost of a gap's first letter, nor than the shift."""
        costs, rows = self._costs, -(-longest // shape.letters) * shape.letters
        least = max(costs.first, -int(costs.lowest(np.full(1, rows), np.full(1, n))[0]))
        return least + max(0, shift_of(costs, each) - costs.first)

    @property
    def never_narrow(self) -> bool:
        """Whether the device or the costs take 32 bits."""
        costs = self._costs
        return 2 not in self.each or costs.wide or costs.first > NARROW_COST or not shift_of(costs, 2)

    def is_narrow(self, m: int, n: I64, shape: Shape) -> NDArray[np.bool_]:
        """Whether 16 bits hold what the kernel computes for m and n letters, or tell that they do not."""
        costs = self._costs
        if self.never_narrow:
            return np.zeros(n.shape, bool)
        if costs.flags & LOCAL:
            return np.ones(n.shape, bool)
        lowest = costs.lowest(np.full(1, -(-m // shape.letters) * shape.letters), n)
        lowest = lowest - max(0, shift_of(costs, 2) - costs.first)
        return costs.highest * np.minimum(m, n) - lowest < MOST[1] + LEAST[0]

    def group_items(self, shape: Shape, each: int, own: bool) -> int:
        """Of a work-group; 0 where local memory has no room for its profiles."""
        size = self._profile_bytes(shape, each, *self._profile(shape, each, own))
        profiles = self._local_room(each) // size
        if own:
            return min(self.items, profiles // each * WARP)
        return self.items if profiles else 0

    def _local_room(self, each: int) -> int:
        """Bytes for profiles."""
        return (
            self._local_bytes
            - 4 * self.items * each
            - (0 if self.device.is_nvidia else 24 * self.items)
            - 256
        )

    def _profile_bytes(self, shape: Shape, each: int, slots: int, joined: bool) -> int:
        if slots:
            letters = self._letters**2 if joined else self._letters
            return 16 * -(-shape.columns // 4) * letters * slots
        return 4 * -(-shape.columns // (2 * each)) * self._letters * WARP

    def _profile(self, shape: Shape, each: int, own: bool) -> tuple[int, bool]:
        """Slots of a profile with a word for each score, or 0; and whether it is of two letters."""
        if self.joins and not own and each == 2:
            slots = max(SLOTS, shape.lanes)
            for joined in (True, False)[self._letters > JOINED_LETTERS :]:
                if self._profile_bytes(shape, each, slots, joined) <= self._local_room(each):
                    return slots, joined
        return 0, False

    def shapes(
        self, m: I64, n: float, items: float, own: bool, sizes: tuple[int, ...]
    ) -> tuple[I64, list[Shape]]:
        """(which shape suits each query, the shapes): the fewest instructions, and items for the whole device.

        `n` are letters of a target, `items` what there is to do with one lane, `sizes` the values that must fit.
        """
        least = 1
        while least < WARP and items * least < FILLING_ITEMS * self._units:
            least *= 2
        shapes = [
            Shape(lanes, columns)
            for columns in self.columns
            for lanes in LANES
            if lanes >= least and all(self.group_items(Shape(lanes, columns), each, own) for each in sizes)
        ]
        lengths, which = np.unique(m, return_inverse=True)
        cost = []
        for shape in shapes:
            strips = -(-lengths // shape.letters)
            cell = WORD_COST if self._profile(shape, sizes[0], own)[0] else CELL_COST
            step = shape.columns * cell + STEP_COST + np.where(strips > 1, STRIP_COST // shape.lanes, 0)
            cost.append(strips * shape.lanes * step * (n + shape.lanes))
        costs = np.array(cost)
        share = items / len(m) * np.bincount(which, minlength=len(lengths))
        kept = _worthwhile(costs * share, np.array([shape.columns for shape in shapes]))
        return np.argmin(costs[kept], axis=0)[which], [shapes[i] for i in kept]

    def _options(self, build: _Build) -> tuple[str, ...]:
        options = ["-w", f"-DITEMS={self.items}", f"-DLETTERS={self._letters}"]
        options += [f"-DPAIRS={build.each}", f"-DCOLUMNS={build.columns}"]
        if build.slots:
            options += [f"-DSLOTS={build.slots}"]
        if build.joined:
            options += ["-DJOINED"]
        if self.device.is_nvidia:
            options += [
                "-DNVIDIA",
                f"-DFLAGS={self._costs.flags}",
                f"-DOWN={build.own:d}",
                f"-DSTRIPS={build.strips:d}",
                f"-DFIRST={self._costs.first}",
                f"-DEXTEND={self._costs.extend}",
                f"-DSHIFT={shift_of(self._costs, build.each)}",
                f"-cl-nv-maxrregcount={REGISTERS}",
            ]
        if self.device.is_hopper:
            options += ["-DHOPPER"]
        if self._is_cpu:
            options += ["-cl-opt-disable"]  # the compiled code is for them: this is to be built soon
        return tuple(options)

    def _table(self, each: int) -> NDArray[np.int16]:
        """What profiles say of letters; of padding as little as they can."""
        shift = shift_of(self._costs, each)
        table = self._costs.table + np.int16(shift)
        table[:, PAD] = 0 if shift else LEAST[1]
        return np.ascontiguousarray(table)


def shift_of(costs: Costs, each: int) -> int:
    """How much more than scores of letters profiles say, so that none is below 0 and a byte holds all; or 0.

    The cost of a gap's first letter, where possible: what opens a gap is then also what a pair is added to.
    """
    letters = costs.table[:, :PAD]
    least, most = max(1, -int(letters.min())), max(0, int(letters.max()))
    if each == 1 or least + most > MOST[0]:
        return 0
    return costs.first if least <= costs.first <= MOST[0] - most else least


def _worthwhile(costs: NDArray[np.float64], program: I64) -> I64:
    """Which shapes stay, where each program has a price: `costs` of the shapes by query, and the program of each."""
    programs = np.unique(program)
    by_program = np.array([costs[program == one].min(axis=0) for one in programs])
    chosen = [int(by_program.sum(axis=1).argmin())]
    best = by_program[chosen[0]]
    while True:
        sums = np.minimum(by_program, best).sum(axis=1)
        found = int(sums.argmin())
        if sums[found] + PROGRAM_COST >= best.sum():
            return np.flatnonzero(np.isin(program, programs[chosen]))
        chosen.append(found)
        best = np.minimum(best, by_program[found])


def _packed(numbers: dict[str, int]) -> NDArray[np.uint32]:
    """As the struct of the kernels."""
    return np.array(list(numbers.values()), np.int64).astype(np.uint32)


def _shares(cells: NDArray[Any], most_cells: float, most: int) -> Iterator[tuple[slice, float]]:
    """Runs of neighbours, at most so many and with so many cells, where one alone has no more; and their cells.

    `cells` are those of all up to each.
    """
    start, done = 0, 0.0
    while start < len(cells):
        end = min(int(np.searchsorted(cells, done + most_cells, side="right")), start + most)
        end = max(end, start + 1)
        yield slice(start, end), float(cells[end - 1]) - done
        start, done = end, float(cells[end - 1])


class DeviceProduct:
    """Scores by the OpenCL device `device` ("gpu", "0:1", part of a name; "gpu:all").

    `shape` fixes what is else chosen by the lengths, `each` the pairs of a value, and `joins` whether profiles may have
    a word for each score. Raises DeviceError when there is no such device, and when it fails.
    """

    def __init__(
        self,
        queries: Sequences,
        targets: Sequences,
        costs: Costs,
        device: str,
        threads: int,
        shape: Shape | None = None,
        each: tuple[int, ...] | None = None,
        joins: bool | None = None,
    ):
        self._costs, self._shape = costs, shape
        # Scores from here on may have left 16 bits.
        self._overflow = MOST[1] + LEAST[0] - max(costs.first, shift_of(costs, 2))
        self._m, self._n = queries.lengths, targets.lengths
        found = opened(device, threads)
        sizes = LETTERS if found[0].is_nvidia or joins else LETTERS[-1:]
        most = int(targets.codes.max()) + 2
        letters = next(size for size in sizes if size >= most)
        self._engines = [_Engine(machine, queries, targets, costs, letters) for machine in found]
        for engine in self._engines:
            engine.each = each or engine.each
            engine.joins = engine.joins if joins is None else joins

    def run(self, out: I32, pairs: I64 | None = None, progress: Progress | bool | None = None) -> None:
        """All against all into int32[queries, targets], or `pairs` int64[n, 2] into int32[n]."""
        total = 0.0
        if pairs is None:
            total = float(self._m.sum()) * float(self._n.sum())
        elif progress:
            total = float(self._m[pairs[:, 0]] @ self._n[pairs[:, 1]])
        bar = ProgressBar(progress, total)
        if pairs is None:
            self._run_product(out, bar)
        else:
            self._run_pairs(out, pairs, bar, self._engines[0].each)
        bar.finish()

    def _run_product(self, out: I32, bar: ProgressBar) -> None:
        overflows: list[I64] = []

        def take(work: Work, found: I32) -> None:
            if self._may_overflow(work.longest, int(self._n.max())):
                row, column = np.nonzero(found >= self._overflow)
                overflows.append(np.stack([work.place[row], column], axis=1))

        self._deal(self._row_work(), take, out, bar)
        again = np.concatenate(overflows) if overflows else np.empty((0, 2), np.int64)
        if len(again):
            found = np.empty(len(again), np.int32)
            self._run_pairs(found, again, ProgressBar(None, 1), (1,))
            out[again[:, 0], again[:, 1]] = found

    def _row_work(self) -> Iterator[Work]:
        """Some queries of one shape with all targets, the longest first."""
        engine, width, letters = self._engines[0], len(self._n), float(self._n.sum())
        sizes = (1,) if engine.never_narrow else engine.each[:1] if self._costs.flags & LOCAL else engine.each
        items = len(self._m) * width / sizes[0]
        choice, shapes = self._shapes(self._m, letters / width, items, False, sizes)
        for i in reversed(range(len(shapes))):
            rows = np.flatnonzero(choice == i)
            cells = np.cumsum(self._m[rows].astype(float)) * letters
            for part, work in _shares(
                cells, LAUNCH_CELLS / len(self._engines), max(1, LAUNCH_SCORES // width)
            ):
                yield Work(shapes[i], rows[part], int(self._m[rows[part]].max()), None, sizes[0], work)

    def _run_pairs(self, out: I32, pairs: I64, bar: ProgressBar, each: tuple[int, ...]) -> None:
        overflows: list[I64] = []

        def take(work: Work, found: I32) -> None:
            assert work.given is not None
            if work.each > 1 and self._may_overflow(work.longest, int(work.given[1][0])):
                overflows.append(work.place[found >= self._overflow])

        self._deal(self._pair_work(pairs, each), take, out, bar)
        again = np.concatenate(overflows) if overflows else np.empty(0, np.int64)
        if len(again):
            found = np.empty(len(again), np.int32)
            self._run_pairs(found, pairs[again], ProgressBar(None, 1), (1,))
            out[again] = found

    def _may_overflow(self, m: int, n: int) -> bool:
        """Whether scores of local alignments may have left 16 bits; those of others have been told beforehand."""
        is_tried = self._costs.flags & LOCAL and not self._engines[0].never_narrow
        return bool(is_tried) and self._costs.highest * min(m, n) >= self._overflow

    def _pair_work(self, pairs: I64, sizes: tuple[int, ...]) -> Iterator[Work]:
        """Pairs of one shape, those with long targets first.

        Lengths are few, pairs are many: these are sorted by the number of their shape and length.
        """
        if not len(pairs):
            return
        engine = self._engines[0]
        sizes = sizes[-1:] if engine.never_narrow else sizes[:1] if self._costs.flags & LOCAL else sizes
        given = pairs.astype(np.int32)
        query, target = given[:, 0], given[:, 1]
        lengths, rank = np.unique(-self._n, return_inverse=True)
        lengths = -lengths
        mean = float(self._n[target].mean())
        choice, shapes = self._shapes(self._m, mean, len(pairs) / sizes[0], True, sizes)
        # NumPy sorts numbers of 16 bits in one pass.
        kind = np.uint16 if len(shapes) * len(lengths) < 1 << 16 else np.int64
        key: NDArray[Any] = np.add((choice * len(lengths)).astype(kind)[query], rank.astype(kind)[target])
        place = np.arange(len(pairs))
        if key.min() < key.max():
            place = np.argsort(key, kind="stable")
            given, key = given[place], key[place]
        n = np.take(np.tile(lengths, len(shapes)), key)
        bounds = np.searchsorted(key, np.arange(len(shapes) + 1) * len(lengths))
        for shape, begin, end in zip(shapes, bounds.tolist(), bounds[1:].tolist(), strict=False):
            if begin == end:
                continue
            m = self._m[given[begin:end, 0]]
            longest, wide = int(m.max()), end
            if sizes[0] == 2:
                wide = begin + int(np.count_nonzero(~engine.is_narrow(longest, n[begin:end], shape)))
            cells = float(m @ n[begin:end]) / (end - begin)  # of a pair
            step = max(1, min(LAUNCH_SCORES, int(LAUNCH_CELLS / len(self._engines) / cells)))
            for each, first, last in ((1, begin, wide), (2, wide, end)):
                for at in range(first, last, step):
                    mine = slice(at, min(at + step, last))
                    work = cells * (mine.stop - at)
                    yield Work(shape, place[mine], longest, (given[mine], n[mine]), each, work)

    def _shapes(
        self, m: I64, n: float, items: float, own: bool, sizes: tuple[int, ...]
    ) -> tuple[I64, list[Shape]]:
        if self._shape is not None:
            return np.zeros(len(m), np.int64), [self._shape]
        return self._engines[0].shapes(m, n, items / len(self._engines), own, sizes)

    def _deal(
        self, works: Iterator[Work], take: Callable[[Work, I32], None], out: I32, bar: ProgressBar
    ) -> None:
        """All work into `out`, each part by the device that is free first; `take` sees its scores, one at a time."""
        dealing, taking, stopped = threading.Lock(), threading.Lock(), threading.Event()

        def end(engine: _Engine, launch: _Launch) -> None:
            found = engine.end(launch, out)
            with taking:
                take(launch.work, found)
                bar.add(launch.work.cells)

        def drive(engine: _Engine) -> None:
            running: deque[_Launch] = deque()
            try:
                while not stopped.is_set():
                    with dealing:
                        work = next(works, None)
                    if work is None:
                        break
                    running.append(engine.begin(work))
                    if len(running) >= IN_FLIGHT:
                        end(engine, running.popleft())
                while running:
                    end(engine, running.popleft())
            except BaseException:
                stopped.set()
                raise

        if len(self._engines) == 1:
            drive(self._engines[0])
            return
        with ThreadPoolExecutor(len(self._engines), thread_name_prefix="gassst-device") as pool:
            try:
                for driven in [pool.submit(drive, engine) for engine in self._engines]:
                    driven.result()
            except BaseException:
                stopped.set()
                raise
