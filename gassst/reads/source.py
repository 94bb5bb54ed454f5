"""What a run maps: files of reads, how they are read, and the read groups of each."""

from __future__ import annotations

import os
from collections.abc import Sequence

from gassst.errors import UsageError
from gassst.files.distinct import paths_of
from gassst.files.inflate import Inflaters
from gassst.files.input_progress import InputProgress
from gassst.files.slices import LaneShard
from gassst.frozen import TypedDict, frozen, replace
from gassst.reads.alignment_input import AlignmentInput, alignment_inputs, kept_lines
from gassst.reads.batch_sizes import ALONE, Neighbours
from gassst.reads.groups import NO_GROUP, ReadGroups, read_groups
from gassst.reads.input import ClosableBatches, Paths, open_unparsed
from gassst.reads.selection import ALL, Selection
from gassst.reads.shards import Shard, digest_of, slices_of
from gassst.reads.small_rna import NOTHING, Preparation
from gassst.reads.tags import NO_TAGS, TagSources


class SourceOptions(TypedDict, total=False):
    """How the files of a run are read. `Mapper.map_file` says what each means."""

    interleaved: bool
    read_group: str | Sequence[str] | ReadGroups
    allow_truncated: bool
    reference: str | None
    tags: TagSources
    preparation: Preparation
    selection: Selection


THREADS_PER_INFLATER = 4  # one that inflates BAM keeps more than four that map busy


@frozen(eq=False)
class ReadSource:
    """Files of reads; nothing of them is read but headers.

    Attributes
    ----------
    reads : list of str
        One for each lane.
    mates : list of str or None
        Files of second mates.
    interleaved, allow_truncated : bool
        As of `Mapper.map_file`.
    tags : TagSources
    groups : ReadGroups
    header_groups, comments : tuple of str
        @RG and @CO lines for the header.
    alignments : dict
        Those of `reads` that are alignment files, by path.
    preparation : Preparation
        Of single reads.
    selection : Selection
    """

    reads: list[str]
    mates: list[str] | None
    interleaved: bool
    allow_truncated: bool
    tags: TagSources
    groups: ReadGroups
    header_groups: tuple[str, ...]
    comments: tuple[str, ...]
    alignments: dict[str, AlignmentInput]
    preparation: Preparation = NOTHING
    selection: Selection = ALL

    @classmethod
    def of(
        cls,
        reads: Paths,
        mates: Paths | None = None,
        *,
        interleaved: bool = False,
        read_group: str | Sequence[str] | ReadGroups = (),
        allow_truncated: bool = False,
        reference: str | None = None,
        tags: TagSources = NO_TAGS,
        threads: int = 1,
        meth: str | None = None,
        preparation: Preparation = NOTHING,
        selection: Selection = ALL,
    ) -> ReadSource:
        """The arguments are those of `Mapper` and `Mapper.map_file`. Raises UsageError, InputError."""
        paths = [os.fspath(path) for path in paths_of(reads)]
        others = None if mates is None else [os.fspath(path) for path in paths_of(mates)]
        own = read_group if isinstance(read_group, ReadGroups) else read_groups(read_group, len(paths))
        inflating = max(1, threads // THREADS_PER_INFLATER)
        alignments = alignment_inputs(paths, inflating, reference, len(paths) == 1 and others is None)
        kept, comments = kept_lines(alignments.values(), own)
        groups = own if own.lines else ReadGroups(kept, (NO_GROUP,) * len(paths))
        tags = replace(tags, read_groups=not own.lines, methylation=meth is None)
        more = kept, comments, alignments, preparation.verify(), selection.verify()
        return cls(paths, others, interleaved, allow_truncated, tags, groups, *more)

    @property
    def paths(self) -> list[str]:
        """All files."""
        return [*self.reads, *(self.mates or [])]

    @property
    def facts(self) -> tuple[object, ...]:
        """What two machines must agree on that map shards of this source; names of files may differ."""
        digests = tuple(map(digest_of, self.paths))
        how = self.tags, self.groups, self.preparation, self.selection
        return digests, self.mates is None, self.interleaved, *how

    def lane_shards(self, shard: Shard, stretch: int | None = None) -> list[LaneShard]:
        """What a shard has of each lane, in whole stretches of reads. Raises UsageError, InputError as
        `shards.slices_of`.
        """
        if self.selection.is_range:
            raise UsageError(
                f"--shard {shard}: shards are made of all reads, not of those of --skip and --upto"
            )
        return slices_of(shard, self.reads, self.mates, self.interleaved, stretch)

    def batches(
        self,
        size: int,
        workers: int = 1,
        progress: InputProgress | None = None,
        shards: Sequence[LaneShard] | None = None,
        inflaters: Inflaters | None = None,
        neighbours: Neighbours = ALONE,
    ) -> ClosableBatches:
        """The reads in batches; of all lanes, or of `shards`. As `reads.open_unparsed`."""
        return open_unparsed(
            self.reads,
            self.mates,
            size,
            interleaved=self.interleaved,
            progress=progress,
            allow_truncated=self.allow_truncated,
            tags=self.tags,
            groups=self.groups,
            alignments=self.alignments,
            workers=workers,
            shards=shards,
            inflaters=inflaters,
            neighbours=neighbours,
            preparation=self.preparation,
            selection=self.selection,
        )
