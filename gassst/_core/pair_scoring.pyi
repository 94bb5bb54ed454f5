import numpy as np
from numpy.typing import NDArray

from gassst.pairing.insert_size import InsertModel

_U8 = NDArray[np.uint8]
_U16 = NDArray[np.uint16]
_U32 = NDArray[np.uint32]
_U64 = NDArray[np.uint64]
_I32 = NDArray[np.int32]
_I64 = NDArray[np.int64]
_F64 = NDArray[np.float64]

def choose(
    read_strand: _U32,
    end_position: _U32,
    edits: _U16,
    contig: _I32,
    start: _I64,
    mate: _U8,
    flip: _U8,
    lengths: _U32,
    digest: _U64,
    odds: _F64,
    insert: InsertModel,
    unpaired_phred: float,
) -> tuple[_I64, _U8, _F64, _U8]: ...
