from gassst.model.array_types import I64, U8, U32, U64

LEFT_OUT: int

def pack(text: bytes | bytearray | U8, start: int, planes: U64) -> int: ...
def exceptions(text: bytes | bytearray | U8, start: int) -> tuple[I64, U32, U8]: ...
def pack_codes(planes: U64, first: int, last: int, codes: U64, conversion: int = ...) -> None: ...
def count_parts(
    planes: U64, codes: U64, first: int, last: int, prefix: int, step: int, k: int, counts: U32
) -> None: ...
def scatter_parts(
    planes: U64,
    codes: U64,
    first: int,
    last: int,
    prefix: int,
    step: int,
    k: int,
    cursors: U32,
    positions: U32,
) -> None: ...
def sort_part(
    codes: U64,
    k: int,
    behind: int,
    step: int,
    prefix: int,
    part: int,
    bounds: I64,
    table: U32,
    positions: U32,
    following: U8,
) -> None: ...
def lookup(
    table: U32,
    positions: U32,
    following: U8,
    planes: U64,
    k: int,
    longest: int,
    step: int,
    seeds: U64,
    w: int,
) -> tuple[U32, U32]: ...
