"""gassst maps short DNA reads to a reference genome. The public names are all here:

Index    the seed index of a reference: build, save, open
Mapper   maps reads to an index: records in memory, or files
Stats    counts and times of a run
align    alignment of sequences with sequences, without a reference
errors   what can go wrong; `errors.GassstError` is the base of all

>>> gassst.Index.build("ref.fa").save("ref.gsi")
>>> mapper = gassst.Mapper("ref.gsi", threads=4)
>>> stats = mapper.map_file("reads.fq.gz", "out.bam")
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gassst import errors
from gassst.version import __version__

if TYPE_CHECKING:
    from gassst import align
    from gassst.mapper import Mapper
    from gassst.seeding.seed_index import SeedIndex as Index
    from gassst.stats import Stats

__all__ = ["Index", "Mapper", "Stats", "__version__", "align", "errors"]

# Imported at first use: `gassst --help` and `gassst devices` need neither pysam nor the compiled modules.
_LAZY = {
    "Index": ("gassst.seeding.seed_index", "SeedIndex"),
    "Mapper": ("gassst.mapper", "Mapper"),
    "Stats": ("gassst.stats", "Stats"),
}


def __getattr__(name: str) -> Any:
    if name == "align":
        return import_module("gassst.align")
    if name not in _LAZY:
        raise AttributeError(f"module 'gassst' has no attribute {name!r}")
    module, attribute = _LAZY[name]
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted(__all__)
