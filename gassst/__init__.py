"""gassst: maps short DNA reads to a reference genome, losslessly filtered, aligned in OpenCL.

>>> index = gassst.Index.build("ref.fa"); index.save("ref.gsi")
>>> mapper = gassst.Mapper(gassst.Index.open("ref.gsi"))
>>> stats = mapper.map_file("reads.fq.gz", "out.bam")
"""

from gassst.version import __version__

__all__ = ["Index", "Mapper", "Stats", "__version__"]


def __getattr__(name: str):
    # Imported at first use: `gassst --help` and `gassst devices` need neither pysam nor the compiled modules.
    if name == "Index":
        from gassst.seeding.seed_index import SeedIndex

        return SeedIndex
    if name == "Mapper":
        from gassst.mapper import Mapper

        return Mapper
    if name == "Stats":
        from gassst.stats import Stats

        return Stats
    raise AttributeError(f"module 'gassst' has no attribute {name!r}")
