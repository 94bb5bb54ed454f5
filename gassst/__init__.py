"""gassst maps short DNA reads to a reference genome. The public names are all here:

Index      the seed index of a reference: build, save, open
Mapper     maps reads to an index: one read, reads in memory, or files
Hit        a place of a read, from `Mapper.map_one` and `map_pair`
HitArrays  the places of many reads as NumPy columns, from `Mapper.map_arrays`
Scoring    scores and penalties of local alignments, for `Mapper`
Stats      counts and times of a run
align      alignment of sequences with sequences, without a reference
errors     what can go wrong; `errors.GassstError` is the base of all

>>> gassst.Index.build("ref.fa").save("ref.gsi")
>>> with gassst.Mapper("ref.gsi", threads=4) as mapper:
...     stats = mapper.map_file("reads.fq.gz", "out.bam")
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gassst import errors
from gassst.version import __version__

if TYPE_CHECKING:
    from gassst import align
    from gassst.hits import Hit, HitArrays
    from gassst.mapper import Mapper
    from gassst.params import Scoring
    from gassst.seeding.seed_index import SeedIndex as Index
    from gassst.stats import Stats

__all__ = ["Hit", "HitArrays", "Index", "Mapper", "Scoring", "Stats", "__version__", "align", "errors"]

# Imported at first use: `gassst --help` and `gassst devices` need neither pysam nor the compiled modules.
_LAZY = {
    "Hit": ("gassst.hits", "Hit"),
    "HitArrays": ("gassst.hits", "HitArrays"),
    "Index": ("gassst.seeding.seed_index", "SeedIndex"),
    "Mapper": ("gassst.mapper", "Mapper"),
    "Scoring": ("gassst.params", "Scoring"),
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
