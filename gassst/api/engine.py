"""The engine of a mapper, from an index and parameters."""

from gassst.errors import ParameterError
from gassst.gpu.devices import is_late, named_search
from gassst.index.lookup import IndexParts, WholeIndex
from gassst.index.seed_index import SeedIndex
from gassst.mapping.batch_mapper import BatchMapper, planned
from gassst.mapping.meth import verify_conversion
from gassst.model.params import MapParams
from gassst.model.rules import check_switches
from gassst.search.context import BatchDevice


def make_engine(index: SeedIndex, params: MapParams, late: bool = False) -> BatchMapper:
    """What maps with parameters that are verified. `late`: its runs look for a GPU while they map.

    Raises ParameterError, UsageError, DeviceError, and IndexFormatError where the index is closed.
    """
    check_switches()
    index.verify_open()
    verify_conversion(index, params)
    if params.seed_length is not None and params.seed_length < index.shortest_seed:
        raise ParameterError("seed_length", f"must be at least {index.shortest_seed} bases for this index")
    in_parts = index.parts or index.converted or params.memory is not None
    parts, of_params = (
        IndexParts(index, params.memory) if in_parts else WholeIndex(index),
        planned(params, index),
    )
    on_device: BatchDevice | None
    if late and is_late(params.device):
        from gassst.gpu.late import LateSearch

        on_device = LateSearch(index, parts, of_params["plan"], of_params["cascade"], params)
    else:
        on_device = named_search(index, params)
    return BatchMapper(index=index, **of_params, parts=parts, on_device=on_device)
