from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from numpy.typing import NDArray
from typing_extensions import Buffer

from gassst._core.stages import Stages
from gassst.index.miss_model import SeedsLooked
from gassst.model.array_types import F64, I16, I32, I64, U8, U16, U32, U64, Structs
from gassst.model.params import MapParams
from gassst.model.read_batch import PackedReads
from gassst.pairing.insert_size import InsertModel
from gassst.search.context import BatchContext, PairContext

DIFFERENCES: int
FIRST_PART: int

def chance_hits(m: int, d: int, n_bases: float, letters: float = 4.0) -> float: ...
def qualities(others: F64) -> U8: ...

class Odds:
    def __init__(
        self, rate: float, bases: float, unknown_rate: float, unknown_bases: float, unlike: float
    ) -> None: ...
    def of(self, errors: I64, lengths: I64) -> F64: ...

class Cases:
    def __init__(
        self,
        plan: Any,
        odds: Odds,
        lengths: Sequence[int],
        looked_densely: Callable[[int, int, int, float], SeedsLooked],
    ) -> None: ...
    @property
    def kept(self) -> list[dict[str, Any]]: ...

class Rater:
    cases: Cases
    def __init__(self, plan: Any, cases: Cases, further: int, beside: bool = True) -> None: ...

class PairChooser:
    def __init__(self, pairs: PairContext, odds: Odds, points: int, worth: float) -> None: ...

def flag_proper(
    hits: NDArray[Any],
    cigars: U32,
    mate: U8,
    starts: I64,
    insert: InsertModel,
) -> int: ...
def pair_templates(
    hits: NDArray[Any],
    cigars: U32,
    first: I64,
    starts: I64,
    orientation: int,
) -> I64: ...
def name_mates(
    hits: NDArray[Any],
    cigars: U32,
    mate: U8,
    starts: I64,
    insert: InsertModel,
) -> None: ...
def fragment_ends(
    packed: PackedReads,
    adapters: U8,
    shortest: int,
    bases_an_error: int,
    earliest: int,
    mate: U8 | None = None,
) -> U16: ...
def cut(packed: PackedReads, kept: U16) -> tuple[U32, U64, U32]: ...
def buckets_of(
    anchors: Any,
    context: BatchContext,
    most: int,
    least: I32,
    gaps: int = -1,
) -> tuple[U32, I64]: ...

MOST_SCORED: int

class Joint:
    def __init__(
        self, scoring: Any, pairs: PairContext, chooser: Any, worth: int, run: int, apart: int
    ) -> None: ...

class LocalBands:
    @property
    def scored(self) -> int: ...
    @property
    def found(self) -> int: ...
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
        wholes: I32,
        much_clipped: int,
        mate_bonus: int,
    ) -> None: ...
    def open(self, context: Any) -> None: ...
    def align(self, places: Structs, part: U32 | None = ...) -> tuple[Structs, Structs]: ...

class LocalParts(LocalBands):
    @property
    def places(self) -> Structs: ...
    def with_further(self, read_strand: U32, diagonal: I64) -> None: ...
    def know(self, places: Structs, hits: Structs, lines: Structs, far: U8 | None = None) -> None: ...

class LocalAligner(LocalParts):
    def least_listed(self) -> tuple[U32, I32]: ...
    def further_places(self) -> tuple[Structs, U32]: ...
    def add_further(self, hits: Structs, lines: Structs) -> None: ...
    def rows(self) -> tuple[Structs, Structs]: ...

_T = TypeVar("_T")

def hits_of(
    n: int, hits: Any, cigars: Any, reference: Any, make: Callable[[tuple[Any, ...]], _T]
) -> list[list[_T]]: ...

class ReadSearch:
    def __init__(self, stages: Stages, ends: LocalAligner, *more: Any) -> None: ...
    @property
    def stages(self) -> Stages: ...
    @property
    def ends(self) -> LocalAligner: ...
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
    def chosen(self) -> tuple[I64, Structs]: ...
    def place(
        self,
        context: Any,
        pairs: Any,
        found: Any,
        block: int,
        given_up: float,
        mates: tuple[Any, ...],
    ) -> None: ...
    @property
    def over(self) -> Structs: ...
    def report(self, split: bool, over: Structs | None = None) -> None: ...
    def add_copies(self) -> int: ...
    def close(self) -> None: ...

class OneRead(ReadSearch):
    def __init__(
        self,
        stages: Stages,
        ends: LocalAligner,
        plan: Any,
        params: Any,
        given_up: float,
        library: Any,
        adapters: tuple[Any, ...],
        split: bool,
        keeps_wholes: bool,
        pairs: Any,
        mates: tuple[Any, ...],
    ) -> None: ...
    def hits(
        self, make: Callable[[tuple[Any, ...]], _T], bases: Buffer, others: Buffer | None = None
    ) -> list[list[_T]] | None: ...
