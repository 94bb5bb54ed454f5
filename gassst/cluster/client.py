"""Clients of clusters: of one that runs, or of one that is started here and ends with the run."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from gassst.errors import GassstError, InstallationError, WorkerError

if TYPE_CHECKING:
    from distributed import Client

log = logging.getLogger("gassst")
JOB_QUEUES = {"slurm": "SLURMCluster", "pbs": "PBSCluster", "lsf": "LSFCluster"}
"""Names of batch systems, and the classes of dask-jobqueue for them."""
_LOGS = "distributed", "tornado", "asyncio"
"""Loggers of Dask and of what it runs on: connections that break give tracebacks there."""


def require_dask() -> None:
    """Raises InstallationError where there is no Dask."""
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise InstallationError("Dask is not installed: `pip install gassst[dask]`") from None


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
    require_dask()
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
        stack.callback(_close, cluster)
    if where in JOB_QUEUES:
        cluster.scale(jobs=jobs)
    place = {"scheduler_file": where} if where.endswith(".json") else {"address": cluster or where}
    client = Client(**place)
    stack.callback(_close, client)
    log.info("Dask: %s", where)
    if cluster is not None:
        client.wait_for_workers(1)
    return client


def lost_errors() -> tuple[type[BaseException], ...]:
    """What Dask raises when its scheduler, or a worker that it talks to, is gone."""
    import asyncio
    import concurrent.futures

    from distributed import client

    cancelled = asyncio.CancelledError, concurrent.futures.CancelledError
    closed = getattr(client, "ClosedClientError", OSError)  # older versions have none
    return *cancelled, closed, TimeoutError, OSError  # CommClosedError is an OSError


def _close(opened: Any) -> None:
    """Close a client or a cluster. One that is gone needs no closing, and is no reason for a run to fail."""
    with suppress(*lost_errors()):
        opened.close()


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
    require_dask()
    for name in [*_LOGS, *logging.root.manager.loggerDict]:
        if name.partition(".")[0] in _LOGS:
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
