from gassst._core.stages import Band
from gassst.model.array_types import I16, I64, U16, U32

def pack_cigars(runs: U32, slot_end: U32, n_runs: U16) -> tuple[U32, U32]: ...

class Bands(Band):
    def profile(self, read_strand: U32, band_start: I64, words: int) -> U16: ...
    def align(
        self,
        read_strand: U32,
        band_start: I64,
        words: int,
        end: U16,
        edits: U16,
        slot_end: U32,
        rows: int,
    ) -> tuple[U16, U16, U32]: ...
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
