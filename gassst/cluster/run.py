"""One run over files by the workers of a cluster, whose shards become one file."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from gassst.cluster.client import require_dask
from gassst.cluster.job import ClusterRun
from gassst.cluster.tasks import Progress, TaskRun, lost_scheduler
from gassst.errors import UsageError
from gassst.files import interrupt
from gassst.files.destination import Destination
from gassst.files.distinct import check_distinct, paths_of, with_indexes
from gassst.index.parts import part_files
from gassst.index.seed_index import SeedIndex
from gassst.model.params import MapParams
from gassst.model.stats import Stats
from gassst.pairing.insert_size import InsertModel
from gassst.reads.input import Paths
from gassst.records.gathering import GatherOptions, complete, gather, verify
from gassst.records.options import OutputFile
from gassst.runs.libraries import Libraries
from gassst.workers.threads import Workers

if TYPE_CHECKING:
    from distributed import Client

SHARDS_PER_THREAD = 4
"""Tasks for each thread of the cluster: one that takes twice as long as the others then delays the end little."""
PART_LEVEL = 1
"""Compression of shards, which are read once."""


def map(  # as Mapper.map
    index: str | os.PathLike[str],
    reads: Paths,
    out: str | os.PathLike[str],
    *,
    client: Client,
    mates: Paths | None = None,
    shards: int | None = None,
    stage: str | os.PathLike[str] | None = None,
    threads: int = 1,
    params: MapParams | None = None,
    insert: InsertModel | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Stats:
    """Map reads by the workers of a Dask cluster. The output is that of `Mapper.map_file`, record for record.

    Parameters
    ----------
    index : path
        An index file. It, the reads, and the folder of `out` are at the same paths on all machines.
    reads, mates
        Plain or BGZF files of FASTQ, FASTA or BAM, as for `Mapper.map_file`.
    out : path
        SAM, BAM or CRAM by its extension. Its shards are kept in a folder next to it until all are complete.
    client : distributed.Client
    shards : int, optional
        Shards of the reads, each a task. None: four for each thread that the cluster has.
    stage : path, optional
        Folder of each machine to which the index is copied before it is opened, once a machine.
    threads : int
        That join the shards here.
    params : MapParams, optional
        A task maps in one thread, and Dask runs as many tasks in a worker as that has threads.
    insert : InsertModel, optional
        None: learned, from the first reads by the first task, and by others where their reads are of another library.
    progress : callable, optional
        Called with the counts so far and the share of the shards that are done, 0 to 1.
    **options
        Of `Mapper.map_file`, except `progress`, `input_progress`, `shard` and files of unmapped reads.

    Returns
    -------
    Stats
        The sum of all shards.

    Raises
    ------
    InstallationError
        There is no Dask.
    InputError, OutputError, UsageError
        What a task failed with on three workers, or what is wrong here.
    WorkerError
        Workers died on one task again and again, or the scheduler is gone.

    Whatever is raised, there is no file under the name `out` that was not there before.
    """
    require_dask()
    if options.get("unmapped_path") or options.get("unmapped_mates_path"):
        raise UsageError("--unmapped is not supported on a cluster")
    target = Destination(out)
    if target.is_stream:
        raise UsageError("on a cluster the output must be a regular file")
    paths, others = _absolute(reads), None if mates is None else _absolute(mates)
    of_file: dict[str, Any] = {
        field.name: options.pop(field.name) for field in fields(OutputFile) if field.name in options
    }
    command_line = options.pop("command_line", None) or ""
    gathering = GatherOptions(**{**of_file, "threads": threads}, command_line=command_line)
    duplicates, is_sorted = gathering.duplicates, gathering.sort
    if verify(target.path, gathering) == "cram":
        gathering = replace(gathering, reference=SeedIndex.open(index).reference.arrays)
        options.pop("eqx", None)  # tags would quote = and X, of which CRAM makes M
    metrics = None if duplicates is None else duplicates.metrics_path
    inputs = [index, *part_files(os.fspath(index)), options.get("reference"), *paths, *(others or [])]
    check_distinct([*with_indexes(target.path), metrics], inputs)
    if shards is None:
        with lost_scheduler(client):
            shards = SHARDS_PER_THREAD * max(sum(client.nthreads().values()), 1)
    with _folder_beside(target) as folder:
        job = ClusterRun(
            index=os.path.abspath(index),
            reads=tuple(paths),
            mates=None if others is None else tuple(others),
            folder=folder,
            shards=shards,
            params=replace(params or MapParams(), threads=1, device="none"),
            options=options | {"sort": is_sorted and duplicates is None, "level": PART_LEVEL},
            stage=None if stage is None else os.fspath(stage),
        )
        with TaskRun.on(client, job) as run:
            head = run.result_of(ClusterRun.learn_insert) if insert is None else None
            stats = run.results_of_shards(insert, head, progress)
        files = complete([job.shard(number) for number in range(1, shards + 1)])
        with closing(Workers(threads)) as workers:
            found = gather(files, target.path, gathering, workers)
    total = Stats.of_parts(stats)
    if found is not None:
        total.duplicates = found.reads
    libraries = Libraries.joined(shard.run.get("libraries", []) for shard in stats)
    total.run["libraries"] = libraries.facts()
    total.run["command"] = command_line or total.run.get("command", "")
    return total


@contextmanager
def _folder_beside(target: Destination) -> Iterator[str]:
    """A folder beside an output, for the time of a run."""
    with target.errors():
        base = os.path.basename(target.final)
        folder = tempfile.mkdtemp(
            prefix=f".{base}.shards-", dir=os.path.abspath(target.directory or os.curdir)
        )

    def remove() -> None:
        gone = f"{folder}.gone"  # a task that still runs finds no folder to write to
        with suppress(OSError):
            os.rename(folder, gone)
        shutil.rmtree(gone, ignore_errors=True)

    interrupt.on_stop(remove)
    try:
        yield folder
    finally:
        remove()
        interrupt.settled(remove)


def _absolute(paths: Paths) -> list[str]:
    return [
        path if path == "-" else os.path.abspath(path) for path in [os.fspath(p) for p in paths_of(paths)]
    ]
