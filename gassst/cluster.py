"""Mapping on a Dask cluster: one task for each part of the reads, whose parts become one file.

Every worker process opens the index once. A task writes its part whole or not at all, in a folder that all machines
see, under a name of its own: so it may run again, anywhere, and even twice at once. The parts are joined here, as by
`gassst gather`, when all are there. Dask itself is needed only where this is used: `pip install gassst[dask]`.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import shutil
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from gassst.api.mapper import Mapper
from gassst.errors import (
    GassstError,
    InputError,
    InstallationError,
    OutputError,
    UsageError,
    WorkerError,
    unreadable,
)
from gassst.files import interrupt
from gassst.files.destination import Destination
from gassst.files.distinct import check_distinct, paths_of, with_indexes
from gassst.index.file import PAGE
from gassst.index.parts import part_files
from gassst.index.seed_index import SeedIndex
from gassst.model.params import MapParams
from gassst.model.stats import Stats
from gassst.pairing.insert_size import InsertModel
from gassst.reads.alignment_input import is_alignment_file
from gassst.reads.input import Paths
from gassst.reads.shards import Shard
from gassst.reads.source import ReadSource
from gassst.records.gathering import GatherOptions, complete, gather, verify
from gassst.workers.threads import ThreadWorkers

if TYPE_CHECKING:
    from distributed import Client, Future

log = logging.getLogger("gassst")

SHARDS_PER_THREAD = 4
"""Tasks for each thread of the cluster: one that takes twice as long as the others then delays the end little."""
TRIES = 3
"""Workers on which a task may fail."""
LOOK_SECONDS = 10.0
"""How often it is looked whether workers that a task waits for are still there."""
PART_LEVEL = 1
"""Compression of parts, which are read once."""
JOB_QUEUES = {"slurm": "SLURMCluster", "pbs": "PBSCluster", "lsf": "LSFCluster"}
"""Names of batch systems, and the classes of dask-jobqueue for them."""

T = TypeVar("T")
Progress = Callable[[Stats, float], None]


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
        SAM, BAM or CRAM by its extension. Parts lie in a folder beside it until all are there.
    client : distributed.Client
    shards : int, optional
        Parts of the reads, each a task. None: four for each thread that the cluster has.
    stage : path, optional
        Folder of each machine to which the index is copied before it is opened, once a machine.
    threads : int
        That join the parts here.
    params : MapParams, optional
        A task maps in one thread, and Dask runs as many tasks in a worker as that has threads.
    insert : InsertModel, optional
        None: learned by the first task from the first reads, for all of them.
    progress : callable, optional
        Called with the counts so far and the share of the shards that are done, 0 to 1.
    **options
        Of `Mapper.map_file`, but for `progress`, `input_progress`, `shard` and files of unmapped reads.

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
    _require_dask()
    if options.get("unmapped_path") or options.get("unmapped_mates_path"):
        raise UsageError("--unmapped is not supported on a cluster")
    target = Destination(out)
    if target.is_stream:
        raise UsageError("on a cluster the output must be a regular file")
    paths, others = _absolute(reads), None if mates is None else _absolute(mates)
    duplicates, is_sorted = options.pop("duplicates", None), bool(options.pop("sort", False))
    command_line = options.pop("command_line", None) or ""
    gathering = GatherOptions(
        format=options.pop("format", None),
        level=options.pop("level", None),
        sort=is_sorted,
        duplicates=duplicates,
        format_options=tuple(options.pop("format_options", ())),
        threads=threads,
        command_line=command_line,
        **{name: options.pop(name) for name in ("sort_memory",) if name in options},
    )
    if verify(target.path, gathering) == "cram":
        gathering = replace(gathering, reference=SeedIndex.open(index).reference.arrays)
    metrics = None if duplicates is None else duplicates.metrics_path
    inputs = [index, *part_files(os.fspath(index)), options.get("reference"), *paths, *(others or [])]
    check_distinct([*with_indexes(target.path), *filter(None, [metrics])], inputs)
    if shards is None:
        shards = SHARDS_PER_THREAD * max(sum(client.nthreads().values()), 1)
    with _folder_beside(target) as folder:
        job = Job(
            index=os.path.abspath(index),
            reads=tuple(paths),
            mates=None if others is None else tuple(others),
            folder=folder,
            shards=shards,
            params=replace(params or MapParams(), threads=1, processes=1, device="none"),
            options=options | {"sort": is_sorted and duplicates is None, "level": PART_LEVEL},
            stage=None if stage is None else os.fspath(stage),
        )
        with _Run.on(client, job) as run:
            if insert is None and job.may_hold_pairs:
                insert = run.result_of(Job.learn_insert)
            stats = run.results_of_shards(insert, progress)
        parts = complete([job.part(number) for number in range(1, shards + 1)])
        with closing(ThreadWorkers(None, threads)) as workers:
            found = gather(parts, target.path, gathering, workers)
    total = Stats.of_parts(stats)
    if found is not None:
        total.duplicates = found.reads
    total.run["command"] = command_line or total.run.get("command", "")
    return total


@dataclass(frozen=True)
class Job:
    """What every task of a run knows.

    Attributes
    ----------
    index : str
    reads, mates : tuple of str
    folder : str
        Where parts are written.
    shards : int
    params : MapParams
    options : dict
        Of `Mapper.map_file`.
    stage : str or None
        Folder of each machine for a copy of the index.
    """

    index: str
    reads: tuple[str, ...]
    mates: tuple[str, ...] | None
    folder: str
    shards: int
    params: MapParams
    options: dict[str, Any]
    stage: str | None = None

    def part(self, number: int) -> str:
        """The file of a shard, from 1."""
        return os.path.join(self.folder, f"{number}.bam")

    @property
    def may_hold_pairs(self) -> bool:
        """Whether there are insert sizes to learn."""
        alone = len(self.reads) == 1
        alignments = any(is_alignment_file(path, alone) for path in self.reads)
        return self.mates is not None or bool(self.options.get("interleaved")) or alignments

    def open(self) -> Mapper:
        """The mapper of a worker process."""
        path = self.index if self.stage is None else staged(self.index, self.stage)
        return Mapper(path, **vars(self.params))

    def learn_insert(self, mapper: Mapper) -> InsertModel:
        """The insert sizes of the first reads."""
        names = ("interleaved", "allow_truncated", "reference")
        given = {name: self.options[name] for name in names if name in self.options}
        mates = None if self.mates is None else list(self.mates)
        return mapper.learn_insert(ReadSource.of(list(self.reads), mates, **given))

    def map_shard(self, mapper: Mapper, number: int, insert: InsertModel | None) -> Stats:
        """Map one shard to its file."""
        return mapper.map_file(
            list(self.reads),
            self.part(number),
            mates=None if self.mates is None else list(self.mates),
            shard=Shard(number, self.shards),
            insert=insert,
            **self.options,
        )


def staged(index: str, folder: str) -> str:
    """The copy of an index in a folder of this machine, made by the first process that asks; `index` may be in parts.

    A copy is found again by path, size and time of the original, in a folder that only this user can enter. Its header
    must equal the original's, which holds the checksums of all sections. Raises InputError, OutputError.
    """
    try:
        info = os.stat(index)
        facts = repr((index, info.st_size, info.st_mtime_ns)).encode()
        parts = [part.path for part in SeedIndex.open(index).parts]
    except OSError as error:
        raise unreadable(index, error) from error
    place = os.path.join(_own_folder(folder), hashlib.sha256(facts).hexdigest()[:16])
    try:
        os.makedirs(place, 0o700, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(os.path.join(place, "lock"), flags, 0o600), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for path in (*parts, index):  # the index last: where it is, all is
                copy = os.path.join(place, os.path.basename(path))
                if not os.path.exists(copy):
                    shutil.copyfile(path, f"{copy}.tmp")
                    os.replace(f"{copy}.tmp", copy)
                if _header(copy) != _header(path):
                    raise InputError(f"{copy}: a copy of an index other than {path}: remove it")
    except OSError as error:
        raise OutputError(f"{place}: the index cannot be copied: {error.strerror or error}") from error
    return os.path.join(place, os.path.basename(index))


def _own_folder(folder: str) -> str:
    """A folder in a shared one that only this user can enter: its name is known, so whoever made it is looked at.

    One folder for all processes of this user, where `mkdtemp` would make a copy for each. Raises OutputError.
    """
    path = os.path.join(folder, f"gassst-{os.geteuid()}")
    try:
        os.makedirs(folder, exist_ok=True)
        with suppress(FileExistsError):
            os.mkdir(path, 0o700)
        info, around = os.lstat(path), os.stat(folder)
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror or error}") from error
    is_ours = stat.S_ISDIR(info.st_mode) and info.st_uid == os.geteuid() and not info.st_mode & 0o077
    if not is_ours:
        raise OutputError(
            f"{path}: not a folder that only its owner can enter: remove it, or stage elsewhere"
        )
    if around.st_mode & stat.S_IWOTH and not around.st_mode & stat.S_ISVTX:
        raise OutputError(f"{folder}: anyone can rename its files: set its sticky bit, or stage elsewhere")
    return path


def _header(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(PAGE)


# --- on a worker ------------------------------------------------------------------------------------------------


class WorkerState:
    """A plugin of Dask: what a worker process keeps for the tasks of one run. The index is opened by the first."""

    def __init__(self, name: str, job: Job):
        self.name, self.job = name, job

    def setup(self, worker: Any) -> None:
        """Called in the worker process when it starts, or when the run begins."""
        self._lock = threading.Lock()
        self._mapper: Mapper | None = None

    def teardown(self, worker: Any) -> None:
        """Called when the run is over."""
        self._mapper = None

    @property
    def mapper(self) -> Mapper:
        with self._lock:
            if self._mapper is None:
                self._mapper = self.job.open()
            return self._mapper


@dataclass(frozen=True)
class Outcome:
    """What became of a task: its result, or what is wrong on that worker."""

    worker: str
    result: Any = None
    error: Exception | None = None


def _call(name: str, call: Callable[..., Any], arguments: tuple[Any, ...]) -> Outcome:
    """A task: a method of `Job` with the mapper of this process. An error that a user can cause is no failure of Dask,
    which would have it tried here again.
    """
    from distributed import get_worker

    worker = get_worker()
    state = worker.plugins[name]
    try:
        return Outcome(worker.address, call(state.job, state.mapper, *arguments))
    except (GassstError, OSError, MemoryError) as error:
        return Outcome(worker.address, error=error)


# --- here -------------------------------------------------------------------------------------------------------


@dataclass
class _Task:
    call: Callable[..., Any]
    arguments: tuple[Any, ...]
    failed_on: list[str] = field(default_factory=list)
    """Workers, in turn."""
    only_on: list[str] | None = None
    """Workers that may run it; None: all."""


class _Run:
    """The tasks of one job: submitted, and tried elsewhere where a worker fails."""

    def __init__(self, client: Client, name: str, job: Job):
        self._client, self._name, self._job = client, name, job

    @classmethod
    @contextmanager
    def on(cls, client: Client, job: Job) -> Iterator[_Run]:
        """The workers of a cluster get what tasks need, and forget it in the end."""
        from distributed import WorkerPlugin

        name = f"gassst-{os.path.basename(job.folder)}"

        class Plugin(WorkerState, WorkerPlugin):
            pass

        with _lost_scheduler(client):
            for is_last in (False, True):  # a worker that dies meanwhile fails the call for all
                try:
                    client.register_plugin(Plugin(name, job), name=name)
                    break
                except OSError:
                    if is_last:
                        raise
        try:
            yield cls(client, name, job)
        finally:
            if client.status == "running":
                client.unregister_worker_plugin(name)

    def result_of(self, call: Callable[[Job, Mapper], T]) -> T:
        """What one task returns."""
        [(_, result)] = self._results([_Task(call, ())])
        found: T = result
        return found

    def results_of_shards(self, insert: InsertModel | None, progress: Progress | None) -> list[Stats]:
        """The counts of all shards, in order."""
        job = self._job
        tasks = [_Task(Job.map_shard, (number, insert)) for number in range(1, job.shards + 1)]
        found: dict[int, Stats] = {}
        total = Stats()
        for task, stats in self._results(tasks):
            found[task.arguments[0]] = stats
            total += stats
            if progress is not None:
                progress(total, len(found) / job.shards)
        return [found[number] for number in sorted(found)]

    def _results(self, tasks: Sequence[_Task]) -> Iterator[tuple[_Task, Any]]:
        """Each task and what it returned, as they end. Raises what a task failed with on too many workers."""
        from distributed import wait

        with _lost_scheduler(self._client):
            pending = {self._submit(task): task for task in tasks}
            try:
                while pending:
                    try:
                        ended = wait(list(pending), LOOK_SECONDS, return_when="FIRST_COMPLETED").done
                    except TimeoutError:
                        ended = set()
                        self._free(pending)
                    for future in ended:
                        task = pending.pop(future)
                        outcome = self._outcome(future, task)
                        if outcome.error is None:
                            yield task, outcome.result
                        else:
                            pending[self._elsewhere(task, outcome)] = task
            finally:
                if pending and self._client.status == "running":
                    self._client.cancel(list(pending), force=True)

    def _elsewhere(self, task: _Task, outcome: Outcome) -> Future:
        """The task again, on workers on which it has not failed. Raises its error where there are none, or enough."""
        assert outcome.error is not None
        task.failed_on.append(outcome.worker)
        task.only_on = sorted(set(self._client.nthreads()).difference(task.failed_on))
        if isinstance(outcome.error, UsageError) or len(task.failed_on) >= TRIES or not task.only_on:
            raise _as_ours(outcome.error)
        log.info("%s: %s: tried on another worker", outcome.worker, outcome.error)
        return self._submit(task)

    def _free(self, pending: dict[Future, _Task]) -> None:
        """Let tasks run anywhere whose workers are all gone."""
        here = set(self._client.nthreads())
        for future, task in list(pending.items()):
            if task.only_on and not here.intersection(task.only_on):
                self._client.cancel([future], force=True)
                del pending[future]
                task.only_on = None
                pending[self._submit(task)] = task

    def _submit(self, task: _Task) -> Future:
        return self._client.submit(
            _call, self._name, task.call, task.arguments, pure=False, workers=task.only_on
        )

    def _outcome(self, future: Future, task: _Task) -> Outcome:
        from distributed import KilledWorker

        what = f"shard {task.arguments[0]}" if task.arguments else "learning insert sizes"
        try:
            outcome: Outcome = future.result()
        except KilledWorker as error:
            raise WorkerError(
                f"{what}: {error.allowed_failures + 1} workers died on it, the last {error.last_worker.address}: "
                "they may need more memory"
            ) from None
        return outcome


def _as_ours(error: Exception) -> Exception:
    """An error of a worker as one that a user can understand."""
    if isinstance(error, OSError) and not isinstance(error, GassstError):
        return OutputError(f"a worker: {error.strerror or error}")
    return error


@contextmanager
def _lost_scheduler(client: Client) -> Iterator[None]:
    """Makes what Dask raises when its scheduler is gone a WorkerError."""
    import asyncio
    import concurrent.futures

    from distributed.comm.core import CommClosedError

    cancelled = asyncio.CancelledError, concurrent.futures.CancelledError
    address = getattr(client.scheduler, "address", "?")
    try:
        yield
    except (*cancelled, CommClosedError, TimeoutError):
        raise WorkerError(f"the Dask scheduler at {address} is gone, and the tasks with it") from None
    except OSError as error:
        if isinstance(error, GassstError):
            raise
        raise WorkerError(f"the Dask scheduler at {address}: {error.strerror or error}") from None


@contextmanager
def _folder_beside(target: Destination) -> Iterator[str]:
    """A folder beside an output, for the time of a run."""
    with target.errors():
        base = os.path.basename(target.final)
        folder = tempfile.mkdtemp(
            prefix=f".{base}.parts-", dir=os.path.abspath(target.directory or os.curdir)
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


def _require_dask() -> None:
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise InstallationError("Dask is not installed: `pip install gassst[dask]`") from None


# --- clusters ---------------------------------------------------------------------------------------------------


@contextmanager
def client_of(where: str, jobs: int = 1, threads: int = 1) -> Iterator[Client]:
    """A client of a scheduler that runs, or of a cluster that is started here and ends with the block.

    Parameters
    ----------
    where : str
        Address of a scheduler (tcp://HOST:PORT) or its file (scheduler.json); "local", processes of this machine; or
        "slurm", "pbs", "lsf": jobs, as the configuration of dask-jobqueue describes them.
    jobs : int
        How many jobs to ask the batch system for.
    threads : int
        Of this machine, for "local".

    Raises InstallationError, and WorkerError where there is no scheduler.
    """
    _require_dask()
    with ExitStack() as stack:
        try:
            client = _connected(where, jobs, threads, stack)
        except GassstError:
            raise
        except Exception as error:  # of any kind: a worker dies as it starts, or a certificate is missing
            raise WorkerError(f"--dask {where}: {_reason(error)}") from None
        yield client


def _connected(where: str, jobs: int, threads: int, stack: ExitStack) -> Client:
    """As `client_of`; `stack` closes what is opened."""
    from distributed import Client

    cluster: Any = None
    if where == "local":
        cluster = _local_cluster(max(1, threads))
    elif where in JOB_QUEUES:
        cluster = _job_queue(where)
    if cluster is not None:
        stack.callback(cluster.close)
    if where in JOB_QUEUES:
        cluster.scale(jobs=jobs)
    place = {"scheduler_file": where} if where.endswith(".json") else {"address": cluster or where}
    client = stack.enter_context(Client(**place))
    log.info("Dask: %s", where)
    if cluster is not None:
        client.wait_for_workers(1)
    return client


def _reason(error: BaseException) -> str:
    """The first line of what an error of Dask came from."""
    while error.__cause__ is not None:
        error = error.__cause__
    return next(iter(str(error).splitlines()), "") or repr(error)


def _local_cluster(workers: int) -> Any:
    """Processes of this machine that listen on loopback and talk to nobody without the certificate of this run.

    Loopback alone would let every local user submit code. Dask's web pages need no certificate, so there are none.
    """
    import dask
    from distributed import LocalCluster, Security

    try:
        security = Security.temporary()
    except ImportError:
        raise InstallationError(
            "--dask local: cryptography is not installed: `pip install gassst[dask]`"
        ) from None
    with dask.config.set({f"distributed.{role}.http.routes": [] for role in ("scheduler", "worker")}):
        return LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            silence_logs=logging.CRITICAL,
            security=security,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",  # None would take 8787
            scheduler_kwargs={"dashboard": False},
        )


def silence() -> None:
    """Let Dask say nothing: that a worker has died and is replaced is no news to who runs a mapper."""
    _require_dask()
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def _job_queue(name: str) -> Any:
    """As the configuration says, with its TLS, which dask-jobqueue does not look for. The dashboard is on loopback."""
    try:
        import dask_jobqueue
    except ImportError:
        raise InstallationError("dask-jobqueue is not installed: `pip install gassst[dask]`") from None
    import dask
    from distributed import Security

    security = Security()
    options = {"dashboard_address": "127.0.0.1:0"} | dask.config.get(f"jobqueue.{name}.scheduler-options", {})
    return getattr(dask_jobqueue, JOB_QUEUES[name])(
        security=security if security.require_encryption else None, scheduler_options=options
    )
