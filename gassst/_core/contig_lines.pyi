import numpy as np
from numpy.typing import NDArray

_U8 = NDArray[np.uint8]
_U32 = NDArray[np.uint32]
_I64 = NDArray[np.int64]

def parsed(text: _U8) -> tuple[_I64, _U32, _I64]: ...
def bam_table(text: _U8, starts: _I64, widths: _U32, lengths: _I64) -> bytes: ...
