"""What a device takes of a run: known before anything of it is loaded."""

from __future__ import annotations

from gassst.index.file import unit_of
from gassst.index.lookup import WholeIndex
from gassst.index.seed_index import SeedIndex
from gassst.model.params import MapParams
from gassst.search.context import BatchContext
from gassst.search.filters import Cascade

IN_FLIGHT = 2
"""Batches on the device at once: while the host prepares a command of one, the other runs."""

CASCADES = ((), ("band32",))
"""Filters that the device has."""
CASCADES_OF_ALL = CASCADES[1:]
"""Where all places are wanted."""


def is_searched(params: MapParams, index: SeedIndex, lookup: WholeIndex, cascade: Cascade) -> bool:
    """Whether a device can search so, with an index of step 1 or 2 in one piece. For all places, but not the best
    stratum, it takes the narrow band."""
    cascades = CASCADES_OF_ALL if params.exhaustive else CASCADES
    suits = unit_of(index.step) == 1 and not lookup.copies
    return suits and not params.strata and cascade.names in cascades


def is_taken(context: BatchContext) -> bool:
    """Whether a device can search this batch."""
    suits = is_searched(context.params, context.index, context.lookup, context.cascade)
    return suits and context.left_out is None and context.n > 0 and not context.library.damage
