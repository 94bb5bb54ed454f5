"""Runs over files, one after the other: while workers map the last batches of one, the next one is read already.

Workers see one stream of batches. Results come in the order of the batches, so the records of a run are complete before
those of the next are written. Runs that need other workers, or another device, begin once all before them are written.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from itertools import groupby
from typing import NamedTuple

from gassst.file_run import Crew, FileRun, MappedBatch
from gassst.run import in_order
from gassst.stats import Stats


class _Step(NamedTuple):
    """A batch of a run, or, without a call, its beginning; without a run, the end of one."""

    run: FileRun | None
    call: MappedBatch | None

    def done(self) -> bool:
        return self.call is None or self.call.done()


def map_all(runs: Iterable[FileRun]) -> Generator[Stats, None, None]:
    """Map the runs in their order, and yield what each has counted once its file is complete.

    A run is taken from `runs` when all of the one before has been read. What goes wrong with it is raised after the
    runs before it are complete. Raises as `Mapper.map_file`.
    """
    chain = _Chain(iter(runs))
    while chain.next is not None:
        with chain.next.crew() as crew, closing(chain.steps(crew)) as steps:
            for run, of_run in groupby(in_order(steps, crew.most_waiting), key=lambda step: step.run):
                if run is None:
                    continue
                calls = (step.call for step in of_run if step.call is not None)
                yield run.write(crew, calls)


class _Chain:
    """Runs that share a crew, as far as they go. `next` is the first that has not begun, or None."""

    def __init__(self, runs: Iterator[FileRun]):
        self._runs = runs
        self.next = next(runs, None)

    def steps(self, crew: Crew) -> Generator[_Step, None, None]:
        """The steps of all runs that need such a crew: `next` is the first that does not."""
        assert self.next is not None
        needs = self.next.needs
        while self.next is not None and self.next.needs == needs:
            run = self.next
            with closing(run.open(crew)) as batches:
                yield _Step(run, None)
                for call in run.calls(crew, batches):
                    yield _Step(run, call)
            yield _Step(None, None)
            self.next = next(self._runs, None)
