from gassst.model.array_types import I64, U8, U16, U32, U64, Structs
from gassst.model.read_batch import PackedReads
from gassst.pairing.read_through import FragmentEnds
from gassst.search.arrays import BatchResult
from gassst.search.context import BatchContext, PairContext
from gassst.search.state import PairState, SearchState

def fragment_lengths(packed: PackedReads, first: I64, shortest: int, bases_an_error: int) -> U16: ...
def pairs_to_ask(
    search: SearchState,
    state: PairState,
    pairs: PairContext,
    left_to_local: bool,
    sure_errors: int,
) -> I64: ...
def close_cut(
    first: I64,
    ends: FragmentEnds,
    search: SearchState,
    state: PairState,
    context: BatchContext,
    tail_bases_an_error: int,
) -> None: ...
def adapter_starts(
    packed: PackedReads, rows: I64, first: I64, adapters: U8, first_part: int, shortest: int
) -> U16: ...
def first_bases_of(packed: PackedReads, rows: I64, kept: U16) -> tuple[U32, U64, U32]: ...
def with_tails(
    hits: Structs, cigars: U32, tails: U32, clipped: bool = False
) -> tuple[I64, U32, U32, U16]: ...
def whole_reads(
    cut: BatchResult, rows: I64, cut_lengths: U32, context: BatchContext, first_run: int
) -> tuple[Structs, U32, I64]: ...
def put_back(result: BatchResult, cut: BatchResult, own: Structs, rows: I64) -> tuple[Structs, Structs]: ...
