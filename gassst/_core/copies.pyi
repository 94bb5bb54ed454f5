from gassst.model.array_types import F64

LOG_FACTORIALS: F64

def copy_weights(m: int, errors: int, odds: float, w: int, missed: F64, n: int) -> F64: ...
