"""The engine of a mapper, for tests that look behind the interface."""

from typing import Any

import gassst
from gassst.api.engine import make_engine
from gassst.mapping.batch_mapper import BatchMapper
from gassst.model.given import params_of


def engine(index: Any, **options: Any) -> BatchMapper:
    """The engine of `gassst.Mapper` with the same arguments."""
    return gassst.Mapper(index, **options)._engine


def late_engine(index: gassst.Index, **options: Any) -> BatchMapper:
    """An engine whose runs look for a GPU while they map, as those of `gassst map` do."""
    return make_engine(index, params_of(options).verify(), late=True)
