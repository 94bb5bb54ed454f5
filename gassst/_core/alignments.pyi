import numpy as np
from numpy.typing import NDArray

_U16 = NDArray[np.uint16]
_U32 = NDArray[np.uint32]
_U64 = NDArray[np.uint64]
_I64 = NDArray[np.int64]
_Structs = NDArray[np.void]

def local_minima(
    profile: _U16, read_strand: _U32, band_start: _U32, lengths: _U32, limit: _U16
) -> tuple[_I64, _U16, _U16]: ...
def ungapped_diagonal(
    reference: _U64,
    planes: _U64,
    plane_start: _U32,
    lengths: _U32,
    read_strand: _U32,
    diagonal: _U32,
    edits: _U16,
    reach: _U16,
) -> _U32: ...
def finish(
    read_strand: _U32,
    ungapped: _U32,
    edits: _U16,
    traced_diagonal: _U32,
    traced_cigars: _U32,
    traced_start: _U32,
    traced_runs: _U16,
    lengths: _U32,
    contig_starts: _I64,
    contig_lengths: _I64,
) -> tuple[_Structs, _U32]: ...
