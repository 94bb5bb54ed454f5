from collections.abc import Iterable
from typing import Any

from gassst.local.reseed import PassedOver
from gassst.model.array_types import F64, I16, I32, I64, U8, U32, Structs
from gassst.model.params import MapParams
from gassst.search.arrays import Bands
from gassst.search.context import BatchContext, PairContext

class BandsInWindows:
    def __init__(self, band_words: U8, shift: int, most: int, run: int) -> None: ...
    def found_in(
        self, context: BatchContext, windows: Iterable[tuple[int, int, int]]
    ) -> list[tuple[int, int, int]]: ...

class Joint:
    def __init__(
        self,
        scoring: Any,
        pairs: PairContext,
        odds: Any,
        band_words: U8,
        shift: int,
        worth: int,
        edit_phred: float,
        most: int,
        run: int,
    ) -> None: ...

class LocalBands:
    @property
    def breaking(self) -> int: ...
    @property
    def scored(self) -> int: ...
    @property
    def traced(self) -> int: ...
    @property
    def calls(self) -> int: ...
    @property
    def pairs(self) -> int: ...
    @property
    def kernel(self) -> int: ...
    @property
    def cigars(self) -> U32: ...
    def __init__(
        self,
        params: MapParams,
        scoring: I16,
        widths: I64,
        leaving: I64,
        breaking: int,
        much_clipped: int,
        mate_bonus: int,
    ) -> None: ...
    def open(self, context: Any, handle: Any) -> None: ...
    def score(
        self,
        read_strand: U32,
        diagonal: I64,
        band_start: I64,
        width: I64,
        begin: I64,
        beside: bool = ...,
    ) -> Structs: ...
    def align(self, places: Structs, part: U32 | None = ...) -> tuple[Structs, Structs]: ...

class LocalParts(LocalBands):
    @property
    def worse(self) -> int: ...
    @property
    def places(self) -> Structs: ...
    def known(self, bands: Bands, rows: I64, given: U8, stay: bool, gaps: int) -> U32: ...
    def with_further(self, read_strand: U32, diagonal: I64) -> None: ...
    def look_further(self, read_strand: U32, diagonal: I64) -> None: ...
    def know(self, places: Structs, hits: Structs, lines: Structs, far: U8 | None = None) -> None: ...

class LocalAligner(LocalParts):
    @property
    def ratings(self) -> Structs: ...
    def pair_up(
        self,
        pairs: PairContext,
        decided: U8,
        worth: int,
        edit_phred: float,
        most: int,
        run: int,
    ) -> tuple[U32, F64]: ...
    def lines(self) -> tuple[Structs, Structs]: ...
    def decided(self, found: Any, pairs: Any, strata: int) -> U8: ...
    def report(
        self,
        found: Any,
        reseeded: U32,
        passed_over: PassedOver | None,
        seeds: tuple[int, int],
        split: bool,
        pairs: Any = None,
        decided: U8 | None = None,
        joined: U32 | None = None,
        wrong: F64 | None = None,
    ) -> None: ...
    def least_listed(self) -> tuple[U32, I32]: ...
    def further_places(self) -> tuple[Structs, U32]: ...
    def add_further(self, hits: Structs, lines: Structs) -> None: ...
    def rows(self) -> tuple[Structs, Structs]: ...
