from gassst.local.places import Places
from gassst.model.array_types import I64, Bool
from gassst.search.arrays import Bands
from gassst.search.context import BatchContext

def are_whole(places: Places, context: BatchContext) -> Bool: ...
def diagonals_of_bands(
    bands: Bands, rows: I64, breaking: int, context: BatchContext
) -> tuple[I64, Bool, Bool]: ...
