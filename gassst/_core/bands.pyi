from gassst.model.array_types import I16, I64, U16, U32, U64

def pack_cigars(runs: U32, slot_end: U32, n_runs: U16) -> tuple[U32, U32]: ...

class Bands:
    def __init__(
        self,
        reference: U64,
        reads: U64,
        read_row: U32,
        read_length: U32,
        instruction_set: str,
    ) -> None: ...
    def score(
        self,
        read_strand: U32,
        band_start: I64,
        words: int,
        limit: U16 | None = None,
    ) -> tuple[U16, U16]: ...
    def profile(self, read_strand: U32, band_start: I64, words: int) -> U16: ...
    def align(
        self,
        read_strand: U32,
        band_start: I64,
        width: int,
        end: U16,
        slot_end: U32,
        rows: int,
    ) -> tuple[I64, U16, U16, U32]: ...
    def local(
        self,
        read_strand: U32,
        band_start: I64,
        width: int,
        scoring: I16,
    ) -> U16: ...
    def align_local(
        self,
        read_strand: U32,
        band_start: I64,
        width: int,
        scoring: I16,
        slot_end: U32,
        rows: int,
    ) -> tuple[U16, I64, U16, U16, U32]: ...
