"""gassst maps short DNA reads to a reference genome. The public names are all here.

Index      the seed index of a reference: build, save, open
Mapper     maps reads to an index: one read, reads in memory, or files
Hit        a place of a read, from `Mapper.map_one` and `map_pair`
HitArrays  the places of many reads as NumPy columns, from `Mapper.map_arrays`; its rows are HitRow
Scoring    scores and penalties of local alignments, for `Mapper`
Stats      counts and times of a run
align      alignment of sequences with sequences, without a reference
errors     what can go wrong; `errors.GassstError` is the base of all

Signatures also name types. Read and Paths are inputs. MapOptions and FileOptions are the keyword arguments of `Mapper`
and of `Mapper.map_file`. The latter accepts TagSources, Selection, ReadGroups, DuplicateRules, Preparation, Shard and
InputProgress. `Mapper.params` is a MapParams; `Mapper.learn_insert` has ReadSource and InsertModel. Reference and
Spectrum belong to an index.

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
    from gassst.api.hits import Hit, HitArrays, HitRow
    from gassst.api.mapper import Mapper
    from gassst.files.input_progress import InputProgress
    from gassst.index.seed_index import SeedIndex as Index
    from gassst.index.spectrum import Spectrum
    from gassst.model.params import MapOptions, MapParams, Scoring
    from gassst.model.reference import Reference
    from gassst.model.stats import Stats
    from gassst.pairing.insert_size import InsertModel
    from gassst.reads.groups import ReadGroups
    from gassst.reads.input import Paths
    from gassst.reads.selection import Selection
    from gassst.reads.shapes import Read
    from gassst.reads.shards import Shard
    from gassst.reads.small_rna import Preparation
    from gassst.reads.source import ReadSource
    from gassst.reads.tags import TagSources
    from gassst.records.options import DuplicateRules
    from gassst.runs.file_run import FileOptions

__all__ = [
    "DuplicateRules",
    "FileOptions",
    "Hit",
    "HitArrays",
    "HitRow",
    "Index",
    "InputProgress",
    "InsertModel",
    "MapOptions",
    "MapParams",
    "Mapper",
    "Paths",
    "Preparation",
    "Read",
    "ReadGroups",
    "ReadSource",
    "Reference",
    "Scoring",
    "Selection",
    "Shard",
    "Spectrum",
    "Stats",
    "TagSources",
    "__version__",
    "align",
    "errors",
]

# Imported at first use: `gassst --help` and `gassst devices` need neither pysam nor the compiled modules.
_LAZY = {
    "DuplicateRules": ("gassst.records.options", "DuplicateRules"),
    "FileOptions": ("gassst.runs.file_run", "FileOptions"),
    "Hit": ("gassst.api.hits", "Hit"),
    "HitArrays": ("gassst.api.hits", "HitArrays"),
    "HitRow": ("gassst.api.hits", "HitRow"),
    "Index": ("gassst.index.seed_index", "SeedIndex"),
    "InputProgress": ("gassst.files.input_progress", "InputProgress"),
    "InsertModel": ("gassst.pairing.insert_size", "InsertModel"),
    "MapOptions": ("gassst.model.params", "MapOptions"),
    "MapParams": ("gassst.model.params", "MapParams"),
    "Mapper": ("gassst.api.mapper", "Mapper"),
    "Paths": ("gassst.reads.input", "Paths"),
    "Preparation": ("gassst.reads.small_rna", "Preparation"),
    "Read": ("gassst.reads.shapes", "Read"),
    "ReadGroups": ("gassst.reads.groups", "ReadGroups"),
    "ReadSource": ("gassst.reads.source", "ReadSource"),
    "Reference": ("gassst.model.reference", "Reference"),
    "Scoring": ("gassst.model.params", "Scoring"),
    "Shard": ("gassst.reads.shards", "Shard"),
    "Spectrum": ("gassst.index.spectrum", "Spectrum"),
    "Stats": ("gassst.model.stats", "Stats"),
    "Selection": ("gassst.reads.selection", "Selection"),
    "TagSources": ("gassst.reads.tags", "TagSources"),
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
