"""Sorted BAM with marked duplicates: `gassst.io.sorting` and `gassst.io.duplicates` put together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from gassst._core.duplicates import Signer
from gassst._core.records import HitBatch, RecordBuilder
from gassst.io.duplicates import DuplicateSearch, Marks, Signed
from gassst.io.sorting import NO_TEMPLATES, Run, SortedBamFormat, ranges


@dataclass(frozen=True, slots=True)
class SignedRun:
    """Sorted records, and the signatures of their templates."""

    run: Run
    signed: Signed


class SignedRunEncoder:
    """Makes signed runs."""

    def __init__(self, builder: RecordBuilder, signer: Signer):
        self._builder, self._signer = builder, signer

    def encode(self, batch: HitBatch, skip_unmapped: bool) -> SignedRun:
        bam = self._builder.encode(batch, bam=True, skip_unmapped=skip_unmapped)
        templates, signed = Signed.of(self._signer, bam, bam.records)
        return SignedRun(Run.of(bam, templates), signed)


class MarkedBamFormat(SortedBamFormat):
    """As `SortedBamFormat`, of signed runs; `duplicates` takes the signatures, and `args` are those of the base."""

    def __init__(self, duplicates: DuplicateSearch, *args: Any, **options: Any):
        super().__init__(*args, **options)
        self._duplicates = duplicates

    def write(self, payload: SignedRun) -> int:  # type: ignore[override]
        self._duplicates.add(payload.signed, payload.run.templates)
        self._resident += payload.signed.nbytes
        return super().write(payload.run)

    def _calls(self, runs: list[Run]) -> Iterator[tuple[list[Run], Marks | None, int]]:
        self._duplicates.find(self._in_order, [(run.data, run.ends, run.templates) for run in runs])
        for pieces in ranges(runs):
            marks = self._duplicates.marks([piece.templates for piece in pieces])
            yield [replace(piece, templates=NO_TEMPLATES) for piece in pieces], marks, self._level

    def _spill(self) -> None:
        self._duplicates.spill(self._file, self._in_order)
        super()._spill()

    def _remove_runs(self) -> None:
        self._duplicates.forget()
        super()._remove_runs()
