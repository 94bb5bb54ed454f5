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
INCLUDE = ["ext", "index", "gassst/kernels", np.get_include()]
CFLAGS = ["-O0", "-g"] if DEBUG else ["-O3", "-fno-math-errno"]
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
        f"gassst.{name}",
        [source],
        include_dirs=INCLUDE + kwargs.pop("include_dirs", []),
        define_macros=[("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION"), *kwargs.pop("define_macros", [])],
        extra_compile_args=CFLAGS,
        depends=sorted(
            str(p)
            for d in ("ext", "index", "gassst", "gassst/kernels")
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
        return [str(library), "-Wl,-rpath,@loader_path/../pysam", f"-Wl,-rpath,{library.parent}"]
    return [f"-L{library.parent}", f"-l:{library.name}", "-Wl,-rpath,$ORIGIN/../pysam"]


extensions = [
    extension("_seed_index", "index/seed_index.pyx"),
    extension("_seeds", "index/seeds.pyx"),
    extension("_candidates", "index/candidates.pyx"),
    extension("_reads", "ext/reads.pyx"),
    extension("_filters", "ext/filters.pyx"),
    extension("_nw_cpu", "ext/nw_cpu.pyx"),
    extension("_bands", "ext/bands.pyx"),
    extension("_select", "ext/select.pyx"),
    extension("_mates", "ext/mates.pyx"),
    extension("_ledger", "ext/ledger.pyx"),
    extension("_pairs", "ext/pairs.pyx"),
    extension("_proper", "ext/proper.pyx"),
    extension("_strata", "ext/strata.pyx"),
    extension("_cycles", "ext/cycles.pyx"),
    extension("_local", "ext/local.pyx"),
    extension("_local_places", "ext/local_places.pyx"),
    extension("_widths", "ext/widths.pyx"),
    extension(
        "_records",
        "ext/records.pyx",
        include_dirs=pysam.get_include(),
        define_macros=pysam.get_defines(),
        extra_link_args=htslib_link(),
    ),
]

setup(
    ext_modules=cythonize(
        extensions,
        build_dir="build/cython",
        compiler_directives=DIRECTIVES,
        nthreads=CORES,
    ),
    options={"build_ext": {"parallel": CORES}},
)
