"""Builds the compiled modules; everything else about the project is in pyproject.toml.

`GASSST_DEBUG=1` brings back Cython's bounds and wraparound checks and turns optimisation down.
"""

import os
import sys
from pathlib import Path

import numpy as np
import pysam
from Cython.Build import cythonize
from setuptools import Extension, setup

DEBUG = os.environ.get("GASSST_DEBUG", "0") != "0"
CORES = os.cpu_count() or 1
HEADERS = ["ext/common", "ext/io", "ext/search", "ext/align", "index", "gassst/extension/kernels"]
CFLAGS = ["-O0", "-g"] if DEBUG else ["-O3", "-g0", "-fno-math-errno"]
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "wraparound": DEBUG,
    "initializedcheck": DEBUG,
    "cdivision": not DEBUG,
    "embedsignature": True,
}


def extension(name, source, **kwargs):
    return Extension(
        f"gassst._core.{name}",
        [source],
        include_dirs=[*HEADERS, np.get_include()] + kwargs.pop("include_dirs", []),
        define_macros=[("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION"), *kwargs.pop("define_macros", [])],
        extra_compile_args=CFLAGS,
        depends=sorted(
            str(p)
            for d in (*HEADERS, "gassst/_core")
            for suffix in ("*.h", "*.pxd")
            for p in Path(d).glob(suffix)
        ),
        **kwargs,
    )


def htslib_link():
    """Link against the htslib inside pysam: its file name carries the Python ABI, hence `-l:`."""
    import pysam.libchtslib as libchtslib

    library = Path(libchtslib.__file__)
    if sys.platform == "darwin":
        return [str(library), "-Wl,-rpath,@loader_path/../../pysam", f"-Wl,-rpath,{library.parent}"]
    return [f"-L{library.parent}", f"-l:{library.name}", "-Wl,-rpath,$ORIGIN/../../pysam"]


# Module of gassst._core: its source.
SOURCES = {
    "seed_index": "index/seed_index.pyx",
    "seeds": "index/seeds.pyx",
    "anchors": "index/anchors.pyx",
    "reads": "ext/io/reads.pyx",
    "error_cycles": "ext/io/error_cycles.pyx",
    "filters": "ext/search/filters.pyx",
    "bookkeeping": "ext/search/bookkeeping.pyx",
    "alignments": "ext/search/alignments.pyx",
    "selection": "ext/search/selection.pyx",
    "mate_anchors": "ext/pairing/mate_anchors.pyx",
    "placements": "ext/pairing/placements.pyx",
    "pair_scoring": "ext/pairing/pair_scoring.pyx",
    "proper_pairs": "ext/pairing/proper_pairs.pyx",
    "banded": "ext/align/banded.pyx",
    "local_hits": "ext/align/local_hits.pyx",
    "local_places": "ext/align/local_places.pyx",
    "band_widths": "ext/align/band_widths.pyx",
    "stretches": "ext/align/stretches.pyx",
}
extensions = [extension(name, source) for name, source in SOURCES.items()]
extensions.append(
    extension(
        "records",
        "ext/io/records.pyx",
        include_dirs=pysam.get_include(),
        define_macros=pysam.get_defines(),
        extra_link_args=htslib_link(),
    )
)

setup(
    ext_modules=cythonize(
        extensions,
        build_dir="build/cython",
        compiler_directives=DIRECTIVES,
        nthreads=CORES,
    ),
    options={"build_ext": {"parallel": CORES}},
)
