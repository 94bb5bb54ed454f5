"""What is known before the first read of a run, and how one batch is mapped with it."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from gassst._core.stages import instruction_sets
from gassst.frozen import asdict, frozen, replace
from gassst.index.file import Integrity
from gassst.index.lookup import WholeIndex
from gassst.index.seed_index import SeedIndex
from gassst.mapping import read_through
from gassst.mapping.batch import map_batch
from gassst.mapping.meth import fail_chimeras
from gassst.mapping.one_read import OneReadSearch
from gassst.model.conversions import conversions_of
from gassst.model.params import MapParams
from gassst.model.read_batch import ReadBatch
from gassst.model.reference import Reference
from gassst.model.stats import Stats
from gassst.pairing.insert_size import InsertModel
from gassst.reads.adapters import fragment_ends
from gassst.search.arrays import BatchResult
from gassst.search.context import BatchContext, BatchDevice
from gassst.search.filters import Cascade
from gassst.search.plan import SearchPlan
from gassst.version import __version__


@frozen(eq=False)
class BatchMapper:
    """Maps batches of reads to an index. It never changes: threads and runs share it."""

    index: SeedIndex
    params: MapParams
    plan: SearchPlan
    cascade: Cascade
    one_read: OneReadSearch | None
    """For one read at a time; None where a batch is needed."""
    one_pair: OneReadSearch | None
    """Finds the places of one pair at a time; None where a batch is needed."""
    insert: InsertModel
    """Of pairs, as given with the parameters; where none is given, a run learns its own."""
    parts: WholeIndex
    """The index as seeds are looked up in it."""
    on_device: BatchDevice | None
    """What searches whole batches beside the host."""
    counts_details: bool = True
    """Whether `map_batch` counts what statistics alone show: errors by cycle, coverage and template lengths."""
    are_mates: bool = False
    """Whether reads are mates although they are mapped one by one: each gets what it would get beside its partner."""

    def for_best_hits(self, are_mates: bool) -> BatchMapper:
        """This mapper for mates or single reads, without `all_hits`: it looks for the best place of each read."""
        params = self.params.for_pairs() if are_mates else self.params.for_single()
        plan = None if params.all_hits else self.plan
        fields = planned(replace(params, all_hits=False, strata=False), self.index, plan)
        fields["counts_details"] = not are_mates and params.meth is None
        return replace(self, **fields, are_mates=are_mates)

    def map_batch(self, batch: ReadBatch, insert: InsertModel | None = None) -> tuple[BatchResult, Stats]:
        """Map one batch in the calling thread.

        Parameters
        ----------
        batch : ReadBatch
        insert : InsertModel, optional
            Of the library. None: the one given with the parameters, or one wide enough for any usual library.
        """
        self.index.verify_open()
        stats = Stats()
        mate = None if self.are_mates else batch.mate
        are_mates = self.are_mates or mate is not None
        chosen = "for_pairs" if are_mates else "for_single"
        params = self.plan.kept(chosen, getattr(self.params, chosen), self.params)
        with stats.timed("pack"):
            packed = batch.pack(
                params.longest_read, params.min_length or 0, conversions_of(batch, params.meth)
            )
        searched = self.index, self.parts, self.plan, self.cascade, params
        whole_reads = params.reports_whole_reads and not are_mates
        insert = insert or self.insert
        shown = packed
        if params.mode == "local":
            shown = read_through.cut(packed, fragment_ends(packed, mate))
        context = BatchContext.of(*searched, shown, self.on_device, whole_reads, insert.errors)
        if params.strand is not None:
            reverse = np.full(len(batch), params.strand == "-")
            reverse ^= (batch.mate == 2) & (params.orientation != "ff")  # no mates: None == 2
            context = replace(context, packed=shown.on_strand(reverse))
        mapped = map_batch
        if self.index.reference.alt is not None:
            from gassst.mapping.alt import map_batch_with_alt as mapped
        result = mapped(context, stats, mate, insert)
        if shown is not packed:
            result = read_through.put_back(result, packed.lengths.astype(np.int64) - context.packed.lengths)
        if params.meth is not None:
            stats.proper -= fail_chimeras(result, packed.lengths, mate)
        found = result.hits, result.summary
        stats.count_reads(*found, context.packed.lengths, batch.offsets, params.longest_read)
        if self.counts_details:
            stats.count_cycles(result.hits, result.cigars, self.index.reference.planes, packed)
            stats.count_places(result.hits, result.cigars, self.index.reference, mate, insert)
        return result, stats

    @property
    def reference(self) -> Reference:
        """The reference of the index."""
        return self.index.reference

    @property
    def integrity(self) -> Integrity | None:
        """The check of the index that the first run makes; None where there is none to make."""
        return self.index.integrity

    def describe(self, command_line: str | None = None) -> dict[str, Any]:
        """What ran: version, command, device, parameters."""
        on_device = "" if self.on_device is None else f"; {self.on_device.describe()}"
        host = f"CPU backend ({instruction_sets()[0]})"
        return {
            "version": __version__,
            "command": command_line or " ".join(sys.argv),
            "device": host + on_device,
            "parameters": asdict(replace(self.params, batch_size=self.params.reads_per_batch())),
        }


def planned(params: MapParams, index: SeedIndex, plan: SearchPlan | None = None) -> dict[str, Any]:
    """The fields of a mapper that follow from its parameters; without `all_hits`, one plan serves every mode."""
    plan = plan or SearchPlan(params, index.plan_k, index.reference.unmasked, index.spectrum, index.letters)
    cascade = Cascade.of_run(params, plan)
    facing = params.orientations[0]
    insert = InsertModel.given(facing, *params.insert) if params.insert else InsertModel.assumed(facing)
    fields: dict[str, Any] = {"params": params, "plan": plan, "cascade": cascade, "insert": insert}
    for name, own, are_pairs in (
        ("one_read", params.for_single(), False),
        ("one_pair", params.for_pairs(), True),
    ):
        suits = OneReadSearch.suits(index, own, are_pairs)
        fields[name] = OneReadSearch(index, plan, cascade, own, insert, are_pairs) if suits else None
    return fields
