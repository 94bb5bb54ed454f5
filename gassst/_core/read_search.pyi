from collections.abc import Callable
from typing import Any, TypeVar

from typing_extensions import Buffer

from gassst._core.alignments import Traces
from gassst._core.local_aligner import LocalAligner
from gassst._core.stages import Stages
from gassst.bands.base import ReadsHandle
from gassst.local.reseed import PassedOver
from gassst.model.array_types import I64, U8, U32, Structs
from gassst.search.arrays import BatchResult

_T = TypeVar("_T")

def hits_of(
    n: int, hits: Any, cigars: Any, reference: Any, make: Callable[[tuple[Any, ...]], _T]
) -> list[list[_T]]: ...

class ReadSearch:
    def __init__(self, stages: Stages, ends: LocalAligner | None, *more: Any) -> None: ...
    @property
    def stages(self) -> Stages: ...
    @property
    def ends(self) -> LocalAligner | None: ...
    @property
    def traces(self) -> Traces: ...
    @property
    def capped(self) -> int: ...
    @property
    def select_ns(self) -> int: ...
    @property
    def local_ns(self) -> int: ...
    @property
    def states(self) -> tuple[Any, ...]: ...
    @property
    def found(self) -> tuple[Structs, I64]: ...
    @property
    def chosen(self) -> tuple[I64, Structs, Structs, U8]: ...
    def place(
        self,
        context: Any,
        pairs: Any,
        found: Any,
        block: int,
        given_up: float,
        mates: tuple[Any, ...],
    ) -> U32: ...
    def report(
        self, reseeded: U32, passed_over: PassedOver | None, seeds: tuple[int, int], split: bool
    ) -> None: ...
    def rows_of_wholes(
        self, handle: ReadsHandle | None, local: BatchResult | None = None
    ) -> tuple[Structs, Structs, U32]: ...
    def close(self) -> None: ...

class OneRead(ReadSearch):
    def __init__(
        self,
        stages: Stages,
        ends: LocalAligner | None,
        plan: Any,
        params: Any,
        given_up: float,
        library: Any,
        adapters: tuple[Any, ...],
        split: bool,
        pairs: Any,
        mates: tuple[Any, ...],
    ) -> None: ...
    def hits(
        self, make: Callable[[tuple[Any, ...]], _T], bases: Buffer, others: Buffer | None = None
    ) -> list[list[_T]] | None: ...
