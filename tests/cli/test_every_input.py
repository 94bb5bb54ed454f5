"""Every kind of input, far beyond its first batches, with one worker and with several: always the same records.

The library is learned from few reads, and batches are small. So most of them reach the workers as readers made them.
Layouts are stated: nothing here depends on the number of cores.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import subprocess
from contextlib import ExitStack
from unittest import mock

import pysam
import pytest

ONE = ["-t", "1"]
SEVERAL = ["-t", "2"]
BATCH = ["--batch-size", "50"]
LEARNED = 60  # reads, of 400


def fastq(reads):
    return "".join(f"@{name}\n{bases}\n+\n{quals}\n" for name, bases, quals in reads).encode()


def fasta(reads):
    return "".join(f">{name}\n{bases}\n" for name, bases, _ in reads).encode()


def bgzip(text, path):
    path.with_suffix(".plain").write_bytes(text)
    pysam.tabix_compress(str(path.with_suffix(".plain")), str(path), force=True)
    return path.read_bytes()


TEXTS = {
    "fq": lambda reads, path: fastq(reads),
    "fa": lambda reads, path: fasta(reads),
    "fq.gz": lambda reads, path: gzip.compress(fastq(reads)),
    "fq.bgz": lambda reads, path: bgzip(fastq(reads), path),
    "fq.bz2": lambda reads, path: bz2.compress(fastq(reads)),
    "fq.xz": lambda reads, path: lzma.compress(fastq(reads)),
}
ALIGNMENTS = {"sam": "-h", "bam": "-b", "cram": "-C"}
KINDS = [
    *((form, shape) for form in TEXTS for shape in ("single", "two files", "interleaved")),
    *((form, shape) for form in ALIGNMENTS for shape in ("single", "interleaved")),
    *((form, "mixed") for form in ("fq", "fq.bgz", "bam")),
]


def alignments(reads, form, path):
    """Neighbours of one name are mates."""
    names = ["", *(name for name, _, _ in reads), ""]
    flags = [
        77 if names[i] == names[i + 1] else 141 if names[i] == names[i - 1] else 4
        for i in range(1, len(names) - 1)
    ]
    rows = [
        f"{n}\t{flag}\t*\t0\t0\t*\t*\t0\t0\t{s}\t{q}\n" for flag, (n, s, q) in zip(flags, reads, strict=True)
    ]
    plain = path.with_suffix(".plain")
    plain.write_text("@HD\tVN:1.6\tSO:unsorted\n" + "".join(rows))
    pysam.view(ALIGNMENTS[form], "-o", str(path), str(plain), catch_stdout=False)


@pytest.fixture(scope="module")
def inputs(small_reads, tmp_path_factory):
    """(format, shape) -> files; those of one shape hold the same reads."""
    folder = tmp_path_factory.mktemp("inputs")
    mates = [[(n, s[cut], q[cut]) for n, s, q in small_reads[:200]] for cut in (slice(60), slice(-60, None))]
    both = [read for pair in zip(*mates, strict=True) for read in pair]
    single = [(f"{name}.{i}", bases, quals) for i, (name, bases, quals) in enumerate(both)]

    def files(form, shape):
        mixed = [*single[:1], *both]  # pairs at odd places
        parts = {"single": [single], "two files": mates, "interleaved": [both], "mixed": [mixed]}[shape]
        for i, reads in enumerate(parts):
            path = folder / f"{shape[0]}{i}.{form}"
            if form in TEXTS:
                path.write_bytes(TEXTS[form](reads, path))
            else:
                alignments(reads, form, path)
            yield path

    return {kind: list(files(*kind)) for kind in KINDS}


@pytest.fixture
def records_of(gassst_map, tmp_path, monkeypatch):
    """Maps files, each by a way (a file, a pipe, standard input); gives the records."""
    for name in ("HEAD", "STRETCH"):
        monkeypatch.setattr(f"gassst.runs.run.{name}", LEARNED)

    def run(paths, shape, ways, *options):
        with ExitStack() as stack:
            names = [
                opened(stack, path, way, tmp_path / f"pipe{i}")
                for i, (path, way) in enumerate(zip(paths, ways, strict=True))
            ]
            shaped = ["--interleaved"] * (shape in ("interleaved", "mixed"))
            code, out, error = gassst_map("-q", *names, *shaped, *BATCH, *options, "-O", "sam")
        assert code == 0, error
        return [line for line in out.splitlines() if not line.startswith("@")]

    return run


@pytest.fixture(scope="module")
def known():
    """What `expected` has mapped."""
    return {}


@pytest.fixture
def expected(inputs, records_of, known):
    """The records of plain text with mates in one file, by one worker."""

    def of(form, shape, *options):
        shape = "interleaved" if shape == "two files" else shape
        if (form, shape, options) not in known:
            known[form, shape, options] = records_of(inputs[form, shape], shape, ["file"], *ONE, *options)
        assert len(known[form, shape, options]) >= 400
        return known[form, shape, options]

    return of


def opened(stack, path, way, pipe):
    """What names the file on a command line, as long as the stack is open."""
    if way == "stdin":
        stdin = mock.Mock(buffer=io.BufferedReader(io.BytesIO(path.read_bytes())))
        stack.enter_context(mock.patch("sys.stdin", stdin))
        return "-"
    if way == "pipe":
        pipe.unlink(missing_ok=True)
        os.mkfifo(pipe)
        writer = stack.enter_context(subprocess.Popen(["cp", path, pipe]))
        stack.callback(writer.kill)  # nobody may have opened the pipe
        return pipe
    return path


@pytest.mark.parametrize("form, shape", KINDS, ids=map("-".join, KINDS))
def test_records_do_not_depend_on_format_way_or_workers(inputs, expected, records_of, form, shape):
    paths = inputs[form, shape]
    others = ["file"] * (len(paths) - 1)
    records = expected("fa" if form == "fa" else "fq", shape)
    stream = "stdin" if shape == "interleaved" else "pipe"
    for way, workers in (("file", ONE), ("file", SEVERAL), (stream, SEVERAL)):
        assert records_of(paths, shape, [way, *others], *workers) == records


@pytest.mark.parametrize("form", ["fq.bgz", *ALIGNMENTS])
def test_a_library_that_is_known(inputs, expected, records_of, run, small_index, tmp_path, form):
    """Nothing is learned: even the first batch reaches the workers unparsed."""
    model = tmp_path / "insert.json"
    plain = inputs["fq", "interleaved"]
    assert run("insert", small_index, *plain, "--interleaved", "-q", "-o", model)[0] == 0
    records = expected("fq", "interleaved", "--insert-model", model)
    paths = inputs[form, "interleaved"]
    assert records_of(paths, "interleaved", ["file"], *SEVERAL, "--insert-model", model) == records
