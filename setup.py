"""Builds the compiled modules, and says what they need; everything else about the project is in pyproject.toml.

The build works by files, in `build/`. Cython translates each module to C, each C file is compiled to an object, and
the objects of a module are linked. A step runs only if its inputs have changed: a `.pyx` with all that it includes or
cimports, a C file with all its headers, or the options. Every kind of build uses the same objects: `pip install .`,
`pip install --editable .` and `setup.py build_ext --inplace`.

`GASSST_DEBUG=1` turns on Cython's checks of bounds, wraparound and initialization, and turns optimisation off.
`GASSST_SANITIZE=1` builds with AddressSanitizer and UBSan, for `scripts/check/sanitize.py`.
"""

import copy
import functools
import logging
import os
import re
import runpy
import shutil
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist
from setuptools.modified import newer_group

REQUIREMENTS = [
    "numpy>=1.26",
    "pyopencl>=2024.1",
    "xopen>=2.1",
    "backports.zstd; python_version < '3.14'",
    "shtab>=1.13",
    "isal>=1.6.1; platform_machine in 'x86_64 AMD64 aarch64 arm64'",
    "zlib-ng>=0.4.1; platform_machine in 'x86_64 AMD64 aarch64 arm64'",
]
WHEEL_COMMANDS = {"bdist_wheel", "dist_info", "editable_wheel"}
DEBUG = os.environ.get("GASSST_DEBUG", "0") != "0"
SANITIZE = os.environ.get("GASSST_SANITIZE", "0") != "0"
GENERATED = Path("build/cython")
OBJECTS = Path(f"build/objects-{sysconfig.get_platform()}-{sys.implementation.cache_tag}")
HEADERS = ["ext/common", "ext/io", "ext/search", "ext/align", "ext/isa", "index", "gassst/gpu/kernels"]
HEADERS += [
    "ext/pairwise",
    "ext/lanes",
    "ext/semiring",
    "ext/hmm",
    "ext/fold",
    "ext/thesis",
    "gassst/align/kernels",
    "gassst/fold/kernels",
]
# Python calls a module's init function and nothing else by name: the rest is hidden from other libraries.
COMMON_FLAGS = ["-g0", "-fno-math-errno", "-fvisibility=hidden"]
# The second version of x86-64, which current NumPy needs, too: processors have it since 2009.
BASELINE = ["-msse4.2", "-mpopcnt"] if sysconfig.get_platform().endswith("x86_64") else []
FLAGS = ["-O0", "-g"] if DEBUG else ["-O3", *COMMON_FLAGS, *BASELINE]
BOILERPLATE_FLAGS = FLAGS if DEBUG else ["-O1", *COMMON_FLAGS]
# The first finding of UBSan ends the process, as those of AddressSanitizer do.
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"] if SANITIZE else []
if SANITIZE:
    FLAGS = BOILERPLATE_FLAGS = ["-O1", "-g1", "-fno-omit-frame-pointer", *SANITIZERS]
TRANSLATORS = 4  # processes: each reads Cython's own sources once more, 1 s
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "wraparound": DEBUG,
    "initializedcheck": DEBUG,
    "cdivision": not DEBUG,
    "embedsignature": True,
}

# Cython's own code for memoryviews and functions. Without a module of its own it would be part of each of the others,
# and take two thirds of the time that all of them need to compile.
SHARED = "gassst._core._cyutility"
# Module of gassst._core: its source.
SOURCES = {
    "seed_index": "index/seed_index.pyx",
    "seeds": "index/seeds.pyx",
    "reads": "ext/io/reads.pyx",
    "error_cycles": "ext/io/error_cycles.pyx",
    "counts": "ext/io/counts.pyx",
    "contig_lines": "ext/io/contig_lines.pyx",
    "thesis_filters": "ext/thesis/thesis_filters.pyx",
    "stages": "ext/search/stages.pyx",
    "read_search": "ext/search/read_search.pyx",
    "bands": "ext/align/bands.pyx",
    "pairwise": "ext/pairwise/pairwise.pyx",
    "records": "ext/io/records.pyx",
    "duplicates": "ext/io/duplicates.pyx",
    "alignment_text": "ext/io/alignment_text.pyx",
    "bus_error": "ext/io/bus_error.pyx",
    "build_facts": "ext/io/build_facts.pyx",
    "best": "ext/pairwise/best.pyx",
    "pair_hmm": "ext/pairwise/pair_hmm.pyx",
    "find": "ext/pairwise/find.pyx",
    "problems": "ext/lanes/problems.pyx",
    "commands": "ext/device/commands.pyx",
    "stage_keys": "ext/device/stage_keys.pyx",
}
# C files that a module links besides its own.
KERNELS = {
    "stages": [
        "ext/isa/bands_avx512.c",
        "ext/isa/bands_avx2.c",
        "ext/isa/bands_generic.c",
    ],
    "best": ["ext/pairwise/best_kernels.c", "ext/pairwise/best_sweep.c"],
    "pairwise": ["ext/pairwise/lanes_kernels.c"],
    "pair_hmm": ["ext/pairwise/pair_hmm_kernels.c", "ext/pairwise/pair_hmm_plain.c"],
    "problems": [
        "ext/fold/fold_kernels.c",
        "ext/fold/fold_wide.c",
        "ext/hmm/chain_kernels.c",
        "ext/hmm/profile_kernels.c",
        "ext/semiring/semiring_kernels.c",
    ],
}


def requirements(commands):
    """Modules fit the series of pysam they were built with, and a wheel names it. An sdist is built with any."""
    if not WHEEL_COMMANDS.intersection(commands):
        return [*REQUIREMENTS, "pysam>=0.22,<0.25"]
    from pysam.version import __version__ as built

    series = ".".join(built.split(".")[:2])
    return [*REQUIREMENTS, f"pysam>={built},=={series}.*"]  # with no older htslib: gassst/files/htslib.py


def extensions():
    """Every module. What depends on other packages is added when it is built: a list of sources needs none of them."""
    modules = [
        Extension(
            f"gassst._core.{name}",
            [source, *KERNELS.get(name, [])],
            include_dirs=HEADERS,
            extra_compile_args=FLAGS,
        )
        for name, source in SOURCES.items()
    ]
    shared = Extension(SHARED, [SHARED.replace(".", "/") + ".c"], extra_compile_args=BOILERPLATE_FLAGS)
    return [*modules, shared]


def variable(name):
    """The value of an environment variable as a list of one, or of none."""
    return [os.environ[name]] if os.environ.get(name) else []


def build_facts():
    """Macros for `gassst.files.htslib`, which refuses another pysam than this one."""
    from pysam import config, version

    facts = {"PYSAM": version.__version__, "HTSLIB": version.__htslib_version__, "MODE": config.HTSLIB}
    return [(f"GASSST_{name}", f'"{value}"') for name, value in facts.items()]


def add_numpy(extension):
    """For modules that cimport numpy."""
    import numpy as np

    extension.include_dirs = [*extension.include_dirs, np.get_include()]
    extension.define_macros = [("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")]


def add_htslib(extension):
    """Link against the htslib inside pysam, or where it has none (conda, Debian), against the one that pysam links.

    The file of the former carries the Python ABI in its name, hence `-l:`. For the latter the variables are pysam's.
    """
    import pysam
    import pysam.libchtslib as libchtslib

    library = Path(libchtslib.__file__)
    includes = pysam.get_include()
    if pysam.config.HTSLIB == "external":
        link = [*(f"-L{folder}" for folder in variable("HTSLIB_LIBRARY_DIR")), "-lhts"]
        includes = [*variable("HTSLIB_INCLUDE_DIR"), *includes]
    elif sys.platform == "darwin":
        link = [str(library), "-Wl,-rpath,@loader_path/../../pysam", f"-Wl,-rpath,{library.parent}"]
    else:
        link = [f"-L{library.parent}", f"-l:{library.name}", "-Wl,-rpath,$ORIGIN/../../pysam"]
    extension.include_dirs = [*extension.include_dirs, *includes]
    extension.define_macros = pysam.get_defines()
    extension.extra_link_args = link


def options():
    """All but the sources that changes what the build makes."""
    import Cython
    import numpy as np
    import pysam

    versions = [f"{package.__name__} {package.__version__}" for package in (Cython, np, pysam)]
    names = ("CC", "CFLAGS", "CPPFLAGS", "LDFLAGS", "HTSLIB_INCLUDE_DIR", "HTSLIB_LIBRARY_DIR")
    variables = [f"{name}={os.environ.get(name)}" for name in names]
    return repr([versions, build_facts(), variables, FLAGS, BOILERPLATE_FLAGS, DIRECTIVES, SHARED])


@functools.cache
def headers(source):
    """The project's own headers that a C file or header includes, directly or through others; itself is left out."""
    found = set()
    for name in re.findall(
        r'^\s*#\s*(?:include|define LANES_TEMPLATE) "([^"]+)"', Path(source).read_text("utf-8"), re.MULTILINE
    ):
        places = [Path(folder, name) for folder in (Path(source).parent, *HEADERS)]
        for header in [str(place) for place in places if place.is_file()][:1]:
            found |= {header} | headers(header) if header != source else set()
    return found


class Build(build):
    """Begins with an empty build/lib: whatever an older version left there would become part of the wheel."""

    def run(self):
        if Path(self.build_lib).parent == Path(self.build_base):
            shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()


class BuildExtensions(build_ext):
    """Translates, compiles and links what is stale, on all cores, and tells of each file."""

    def build_extensions(self):
        needs = runpy.run_path("scripts/packaging/needs.py")
        if missing := needs["missing"](self.compiler.compiler_so[0], self.compiler.include_dirs):
            raise SystemExit(f"gassst: error: {missing}")
        modules = {extension.name: extension for extension in self.extensions}
        add_numpy(modules["gassst._core.reads"])
        modules["gassst._core.build_facts"].define_macros = build_facts()
        add_htslib(modules["gassst._core.records"])
        add_htslib(modules["gassst._core.alignment_text"])
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        workers = self.parallel or cores or 1

        translated = self.translate(workers)
        c_files = {
            name: [translated.get(source, source) for source in extension.sources]
            for name, extension in modules.items()
        }
        # Two modules may share a file: compiled twice at once, one would take the object of the other away.
        jobs = {c_file: modules[name] for name, files in c_files.items() for c_file in files}
        self.compile([(extension, c_file) for c_file, extension in jobs.items()], workers)
        for name, extension in modules.items():
            module = copy.copy(extension)  # the command of an sdist lists the sources of the original
            module.sources = []
            module.extra_link_args = [*module.extra_link_args, *SANITIZERS]
            module.depends = module.extra_objects = [str(self.object_of(c_file)) for c_file in c_files[name]]
            self.build_extension(module)

    def translate(self, workers):
        """Cython to C; returns the C file of each source."""
        from Cython.Build import cythonize

        sources = {
            extension.name: source
            for extension in self.extensions
            for source in extension.sources
            if source.endswith(".pyx") or extension.name == SHARED
        }
        stamp = GENERATED / "options"
        if self.force or not stamp.is_file() or stamp.read_text("utf-8") != options():
            for folder in (GENERATED, *GENERATED.parent.glob("objects-*")):
                shutil.rmtree(folder, ignore_errors=True)
        stamp.unlink(
            missing_ok=True
        )  # until all files are translated: a file cut short is not trusted either
        self.announce(f"gassst: translating {len(sources)} modules to C", level=logging.INFO)
        generated = cythonize(
            [Extension(name, [source]) for name, source in sources.items()],
            build_dir=str(GENERATED),
            compiler_directives=DIRECTIVES,
            shared_utility_qualified_name=SHARED,
            nthreads=min(workers, TRANSLATORS),
            quiet=True,
        )
        # cythonize copies headers there too, where a copy would hide the original even after that has moved.
        for header in GENERATED.rglob("*.h"):
            header.unlink()
        stamp.write_text(options(), "utf-8")
        return {sources[extension.name]: extension.sources[0] for extension in generated}

    def compile(self, jobs, workers):
        """Objects of (extension, C file) pairs; the first that fails ends the build."""
        jobs = [
            (extension, c_file)
            for extension, c_file in jobs
            if newer_group([c_file, *headers(c_file)], self.object_of(c_file))
        ]
        # The longest first, so that no core waits for one at the end: kernels, then what Cython made, by its length.
        jobs.sort(key=lambda job: (GENERATED in Path(job[1]).parents, -Path(job[1]).stat().st_size))
        if jobs:
            self.announce(f"gassst: compiling {len(jobs)} files", level=logging.INFO)
        with ThreadPoolExecutor(workers) as pool:
            running = {pool.submit(self.compile_file, *job): job for job in jobs}
            try:
                for done, job in enumerate(as_completed(running), 1):
                    job.result()
                    name = Path(running[job][1])
                    name = name.relative_to(GENERATED) if name.is_relative_to(GENERATED) else name
                    self.announce(
                        f"gassst: [{done:2}/{len(jobs)}] {name.with_suffix('')}", level=logging.INFO
                    )
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise

    def compile_file(self, extension, c_file):
        """An object takes its name when it is complete: a build that was killed leaves none behind to be trusted."""
        (made,) = self.compiler.compile(
            [c_file],
            output_dir=str(OBJECTS / "unfinished"),
            macros=extension.define_macros,
            include_dirs=extension.include_dirs,
            debug=self.debug,
            extra_postargs=extension.extra_compile_args,
        )
        self.object_of(c_file).parent.mkdir(parents=True, exist_ok=True)
        os.replace(made, self.object_of(c_file))

    def object_of(self, c_file):
        return OBJECTS / Path(c_file).with_suffix(".o")


class BuildPython(build_py):
    """Names the commit of a development build. An editable install runs the source, which looks for it itself."""

    def run(self):
        super().run()
        if not self.editable_mode:
            stamp(Path(self.build_lib), self.distribution.get_version())


class SourceDistribution(sdist):
    """Names the commit, too: what is built from it has no checkout to ask."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        stamp(Path(base_dir), self.distribution.get_version())


def stamp(folder, version):
    """Writes the version into a copy of the sources, which may be hard links."""
    metadata = runpy.run_path("scripts/packaging/metadata.py")
    path = folder / metadata["VERSION_FILE"]
    text = metadata["with_version"](path.read_text("utf-8"), version)
    path.unlink()
    path.write_text(text, "utf-8")


def described():
    """The version, the README and the addresses, as a package index shows them."""
    metadata = runpy.run_path("scripts/packaging/metadata.py")
    version = metadata["built_version"]()
    address, readme = metadata["repository"](), Path("README.md").read_text(encoding="utf-8")
    return {
        "version": version,
        "long_description": metadata["with_whole_links"](readme, address, metadata["revision"](version)),
        "long_description_content_type": "text/markdown",
        "project_urls": metadata["urls"](address),
    }


if __name__ == "__main__":  # Cython's processes import this file where they are not forked
    setup(
        ext_modules=extensions(),
        install_requires=requirements(sys.argv),
        **described(),
        cmdclass={
            "build": Build,
            "build_ext": BuildExtensions,
            "build_py": BuildPython,
            "sdist": SourceDistribution,
        },
    )
