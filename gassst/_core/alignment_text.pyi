import os

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
    def read(self, most: int, enough: int) -> tuple[bytes, int]: ...
