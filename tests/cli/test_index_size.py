"""`gassst index` says what an index takes before it sorts a seed."""

import os
import shutil
from collections import namedtuple

import numpy as np
import pytest

import gassst
from gassst.cli import index as index_command
from gassst.cli.main import main
from gassst.index.build_parts import build_parts

Usage = namedtuple("Usage", "total used free")


@pytest.fixture(scope="module")
def fasta(tmp_path_factory):
    """300,000 bases, some of them N."""
    path = tmp_path_factory.mktemp("sizes") / "ref.fa"
    bases = np.random.default_rng(3).choice(list("ACGT"), 300_000)
    bases[1000:9000] = "N"
    path.write_text(f">one\n{''.join(bases[:200_000])}\n>two\n{''.join(bases[200_000:])}\n")
    return path


@pytest.mark.parametrize("step", [1, 2, 4])
@pytest.mark.parametrize("parts", [None, 3])
def test_the_size_is_that_of_the_files(fasta, tmp_path, step, parts):
    """But for pages that are filled, and what parts say of themselves."""
    heard, path = [], tmp_path / "ref.gsi"
    if parts is None:
        gassst.Index.build(fasta, 1, None, step, heard.append, lambda *size: heard.append(size)).save(path)
    else:
        build_parts(fasta, path, parts, None, 1, None, step, heard.append, lambda *size: heard.append(size))
    (size,) = (one for one in heard if not isinstance(one, str))
    at = heard.index(size)
    assert not any("sorted" in one for one in heard[:at])
    assert any("sorted" in one for one in heard[at + 1 :])
    written = sum(os.path.getsize(tmp_path / name) for name in os.listdir(tmp_path))
    assert size[0] == pytest.approx(written, abs=(parts or 1) * 16 * 4096)
    # A genome this small keeps all positions at step 2.
    seeds = 300_000 * {1: 5, 2: 5, 4: 6 / 4}[step] / (parts or 1)
    assert size[1] - 40_000_000 > seeds * 0.9


def free(monkeypatch, disk, memory):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(0, 0, disk))
    monkeypatch.setattr(index_command, "available_memory", lambda: memory)


@pytest.mark.parametrize(
    "disk, memory, short",
    [
        (10**6, 10**12, ["1.0 MB of disk"]),
        (10**12, 2 * 10**6, ["2.0 MB of memory"]),
        (10**6, 2 * 10**6, ["1.0 MB of disk", "2.0 MB of memory"]),
    ],
)
def test_a_warning_says_what_is_too_small(fasta, tmp_path, monkeypatch, caplog, disk, memory, short):
    """It is no error: the system may give more than it says."""
    free(monkeypatch, disk, memory)
    assert main(["index", str(fasta), "-o", str(tmp_path / "a.gsi"), "-q"]) == 0
    (line,) = (record.message for record in caplog.records if record.levelname == "WARNING")
    assert f"; {' and '.join(short)} are free (--step 4 makes it smaller, --parts takes less memory)" in line
