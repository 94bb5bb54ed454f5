"""Runs over files, one after the other: while workers map the last batches of one, the next one is read already.

Workers see one stream of batches. Results come in the order of the batches, so the records of a run are complete before
those of the next are written. Runs that need other workers, or another device, begin once all before them are written.

Workers would have nothing to do while insert sizes are learned. So a run over files begins early, once the workers are
busy with the one before: its first reads are read, and waited for no more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future
from contextlib import closing
from itertools import groupby

from gassst.frozen import NamedTuple
from gassst.model.stats import Stats
from gassst.runs.file_run import FileRun, MappedBatch, RunWorkers
from gassst.runs.run import in_order


class PlannedRun(NamedTuple):
    """A run that is to be made. Where all that it reads is files, that may be while the one before is read.

    A stream may not be there before the one before it has been read to its end.
    """

    make: Callable[[], FileRun]
    is_file: bool


class _Step(NamedTuple):
    """A batch of a run, or, without a call, its beginning; without a run, the end of one."""

    run: FileRun | None
    call: MappedBatch | None

    def done(self) -> bool:
        return self.call is None or self.call.done()


def map_all(jobs: Iterable[PlannedRun]) -> Generator[Stats, None, None]:
    """Map the runs in their order, and yield what each has counted once its file is complete.

    What goes wrong with a run is raised after the runs before it are complete. Raises as `Mapper.map_file`.
    """
    chain = _Chain(jobs)
    while (first := chain.next_run()) is not None:
        with first.crew() as crew, closing(chain.steps(first, crew)) as steps:
            for run, of_run in groupby(in_order(steps, crew.most_waiting), key=lambda step: step.run):
                if run is not None:
                    yield run.write(crew, (step.call for step in of_run if step.call is not None))


class _Chain:
    """Runs that share a crew, as far as they go."""

    def __init__(self, jobs: Iterable[PlannedRun]):
        self._jobs = deque(jobs)
        self._left: FileRun | None = None  # one that needs another crew

    def next_run(self) -> FileRun | None:
        """The first that has not begun; None where all have."""
        run, self._left = self._left, None
        return self._jobs.popleft().make() if run is None and self._jobs else run

    def steps(self, first: FileRun, crew: RunWorkers) -> Generator[_Step, None, None]:
        """The steps of the first run, and of those after it that need the same crew."""
        opened: deque[Future[FileRun | None]] = deque([_outcome(lambda: _opened(first, crew))])
        try:
            while (run := opened[0].result()) is not None:
                yield _Step(run, None)
                busy = crew.most_waiting if run is first else 0  # batches until all workers have one
                for number, call in enumerate(run.calls(crew)):
                    yield _Step(run, call)
                    may_begin = len(opened) == 1 and bool(self._jobs) and self._jobs[0].is_file
                    if may_begin and number >= busy:
                        opened.append(_outcome(lambda: self._next_opened(first, crew, begins=True)))
                run.close()
                yield _Step(None, None)
                if len(opened) == 1:
                    opened.append(_outcome(lambda: self._next_opened(first, crew)))
                opened.popleft()
        finally:
            for outcome in opened:
                if outcome.exception() is None and (run := outcome.result()) is not None:
                    run.close()

    def _next_opened(self, first: FileRun, crew: RunWorkers, begins: bool = False) -> FileRun | None:
        """The next run, opened, and begun if it `begins` early.

        None where it needs another crew than the first one, or there is none.
        """
        run = self.next_run()
        if run is None or run.needs == first.needs:
            return None if run is None else _opened(run, crew, begins)
        self._left = run
        return None


def _opened(run: FileRun, crew: RunWorkers, begins: bool = False) -> FileRun:
    try:
        run.open(crew)
        if begins:
            run.begin(crew)
    except BaseException:
        run.close()
        raise
    return run


def _outcome(function: Callable[[], FileRun | None]) -> Future[FileRun | None]:
    """What the function returns, or what it raises, to be raised in its turn."""
    outcome: Future[FileRun | None] = Future()
    try:
        outcome.set_result(function())
    except Exception as error:
        outcome.set_exception(error)
    return outcome
