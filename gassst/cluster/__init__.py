"""Mapping on a Dask cluster: one task for each shard of the reads, whose shards become one file.

Every worker process opens the index once. A task writes its shard whole or not at all, in a folder that all machines
see, under a name of its own: so it may run again, anywhere, and even twice at once. The shards are joined here, as by
`gassst gather`, when all are there. Dask itself is needed only where this is used: `pip install gassst[dask]`.
"""

from gassst.cluster.client import client_of, silence
from gassst.cluster.run import map
from gassst.cluster.staging import staged

__all__ = ["client_of", "map", "silence", "staged"]
