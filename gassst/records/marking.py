"""Sorted BAM with marked duplicates: `gassst.records.sorting` and `gassst.records.duplicates` put together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gassst._core.duplicates import Signer
from gassst._core.records import EncodedRecords
from gassst.records.duplicates import DuplicateSearch, Marking, Signed
from gassst.records.sorted_runs import AnyRun, Run, RunOnDisk
from gassst.records.sorting import SortedBamFormat


@dataclass(frozen=True, slots=True)
class SignedRun:
    """Sorted records, and the signatures of their templates."""

    run: Run
    signed: Signed


class SignedRunEncoder:
    """Makes signed runs."""

    def __init__(self, signer: Signer):
        self._signer = signer

    def encode(self, records: EncodedRecords) -> SignedRun:
        templates, signed = Signed.of(self._signer, records, records.records)
        return SignedRun(Run.of(records, records.records, templates), signed)


class MarkedBamFormat(SortedBamFormat):
    """As `SortedBamFormat`, of signed runs; `duplicates` takes the signatures, and `args` are those of the base."""

    def __init__(self, duplicates: DuplicateSearch, *args: Any, **options: Any):
        super().__init__(*args, **options)
        self._duplicates = duplicates

    def write(self, payload: SignedRun) -> int:  # type: ignore[override]
        self._duplicates.add(payload.signed, payload.run.templates)
        self._resident += payload.signed.nbytes
        return super().write(payload.run)

    def _spilled(self, runs: list[Run]) -> tuple[list[RunOnDisk], int]:
        on_disk, freed = super()._spilled(runs)
        return on_disk, freed + self._duplicates.spill(self._file, self._in_order)

    def _marking(self, runs: list[AnyRun]) -> Marking:
        self._duplicates.find(self._in_order, runs, self._lengths)
        return self._duplicates.marking

    def _remove_runs(self) -> None:
        self._duplicates.forget()
        super()._remove_runs()
