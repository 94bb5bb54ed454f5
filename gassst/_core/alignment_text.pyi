import os

import numpy as np
from numpy.typing import NDArray

class AlignmentReader:
    header: str
    records: int
    ends_well: bool
    has_pairs: bool
    def __init__(
        self,
        fd: int,
        name: str,
        threads: int = 0,
        reference: str | os.PathLike[str] | None = None,
        check_end: bool = True,
    ) -> None: ...
    def close(self) -> None: ...
    def starts_paired(self) -> bool: ...
    @property
    def contigs(self) -> list[str]: ...
    def places(self, most: int) -> tuple[list[str], NDArray[np.int64]]: ...
    def read(self, most: int, enough: int) -> tuple[bytes, int]: ...
