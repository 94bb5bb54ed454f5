"""What every task of a run on a cluster knows, and what the tasks are."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from gassst.api.mapper import Mapper
from gassst.cluster.staging import staged
from gassst.model.params import MapParams
from gassst.model.stats import Stats
from gassst.pairing.insert_size import InsertModel
from gassst.reads.shards import Shard
from gassst.reads.source import ReadSource


@dataclass(frozen=True)
class ClusterRun:
    """What every task of a run knows.

    Attributes
    ----------
    index : str
    reads, mates : tuple of str
    folder : str
        Where shards are written.
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

    def shard(self, number: int) -> str:
        """The file of a shard, from 1."""
        return os.path.join(self.folder, f"{number}.bam")

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

    def map_shard(
        self, mapper: Mapper, number: int, insert: InsertModel | None, head: InsertModel | None
    ) -> Stats:
        """Map one shard to its file."""
        return mapper.map_file(
            list(self.reads),
            self.shard(number),
            mates=None if self.mates is None else list(self.mates),
            shard=Shard(number, self.shards),
            insert=insert,
            head=head,
            **self.options,
        )
