"""`gassst map --dask`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gassst.cli.progress import Progress
from gassst.cli.start import log_start
from gassst.errors import UsageError
from gassst.files.input_progress import InputProgress
from gassst.index.choice import index_path
from gassst.model.params import MapParams

if TYPE_CHECKING:
    from gassst.model.stats import Stats
    from gassst.reads.sample_sheet import Sample


class ShardProgress(InputProgress):
    """The share of a run by its shards."""

    def __init__(self) -> None:
        super().__init__([])
        self.share = 0.0

    def share_done(self, reads: int) -> float:
        """Of the shards."""
        return self.share


def map_on_cluster(
    args: argparse.Namespace,
    params: MapParams,
    samples: list[Sample],
    options_for: Callable[[Sample], dict[str, Any]],
) -> dict[str, Stats]:
    """The counts of each sample, by its output, once a cluster has mapped them all.

    Raises UsageError for what a cluster cannot do, and what `gassst.cluster.map` raises.
    """
    if args.shard is not None:
        raise UsageError("--shard: --dask makes its own shards")
    if params.device not in (None, "none") or params.memory is not None:
        raise UsageError(
            "--dask does not support --device and --memory: its workers use the CPU and the whole index"
        )
    if args.dask_jobs < 1 or (args.dask_shards is not None and args.dask_shards < 1):
        raise UsageError("--dask-jobs and --dask-shards must be at least 1")
    index = _index_file(args.index)
    from gassst import cluster
    from gassst.index.seed_index import SeedIndex

    with SeedIndex.open(index, check=False) as opened:
        log_start(args, opened)

    if not args.verbose:
        cluster.silence()
    runs = {}
    with cluster.client_of(args.dask, args.dask_jobs, args.threads) as client:
        for sample in samples:
            shown = ShardProgress()
            with Progress(shown, quiet=args.quiet) as progress:

                def tell(
                    stats: Stats, share: float, shown: ShardProgress = shown, progress: Progress = progress
                ) -> None:
                    shown.share = share
                    progress(stats)

                runs[sample.output] = cluster.map(
                    index,
                    sample.reads,
                    sample.output,
                    client=client,
                    shards=args.dask_shards,
                    stage=args.dask_stage,
                    threads=args.threads,
                    params=params,
                    progress=tell,
                    **options_for(sample),
                )
    return runs


def _index_file(path: str) -> str:
    """The index that all machines open: the one named, or the one beside the FASTA that was."""
    beside = index_path(path)
    if beside != path and os.path.exists(beside):
        return beside
    with open(path, "rb") as file:
        if file.read(1) in (b">", b"\x1f"):
            raise UsageError(f"--dask needs an index that every worker can open: run `gassst index {path}`")
    return path
