"""An index file that was found intact is not read again until something is written to it."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import pytest

import gassst
from gassst.errors import IndexFormatError
from gassst.index import file, verified
from gassst.index.build_parts import build_parts
from gassst.index.file import Integrity
from gassst.index.seed_index import SeedIndex


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder / "gassst" / "intact-indexes"


@pytest.fixture
def reads(monkeypatch):
    """One item for each time that a file is read whole."""
    times: list[str] = []
    check_all = Integrity._check_all
    monkeypatch.setattr(Integrity, "_check_all", lambda self: (times.append(self._path), check_all(self)))
    return times


@pytest.fixture
def index(small_index, tmp_path):
    return shutil.copy(small_index, tmp_path / "ref.gsi")


def check(path) -> None:
    SeedIndex.open(path).integrity.wait()


def test_a_file_is_read_once(index, reads, cache):
    for _ in range(3):
        check(index)
    assert len(reads) == 1 and len(cache.read_text().split()) == 1


@pytest.mark.parametrize("parts", [None, 3])
def test_who_builds_an_index_need_not_read_it(small_index, reads, tmp_path, parts):
    reference, path = SeedIndex.open(small_index).reference, tmp_path / "own.gsi"
    if parts is None:
        SeedIndex.build(reference).save(path)
    else:
        build_parts(reference, path, parts)
    check(path)
    assert not reads
    os.utime(path)  # as a write would
    check(path)
    assert len(reads) >= 1


def test_what_is_written_later_is_found_although_the_file_looks_as_old(index, reads):
    check(index)
    before = os.stat(index)
    with open(index, "r+b") as written:
        written.seek(-1, os.SEEK_END)
        last = written.read(1)[0]
        written.seek(-1, os.SEEK_END)
        written.write(bytes([last ^ 1]))
    os.utime(index, ns=(before.st_atime_ns, before.st_mtime_ns))
    for _ in range(2):  # a damaged one is not remembered
        with pytest.raises(IndexFormatError, match="damaged index"):
            check(index)
    assert len(reads) == 3


@pytest.mark.parametrize("is_large", [False, True])
def test_a_run_waits_for_the_checksums_of_no_more_than_a_gibibyte(
    index, small_fastq, tmp_path, monkeypatch, caplog, is_large
):
    """What it has not verified it says; what it has found before its end is an error whatever the size."""
    content = bytearray(Path(index).read_bytes())
    content[-9] ^= 1
    Path(index).write_bytes(content)
    may_end, check_all = threading.Event(), Integrity._check_all
    monkeypatch.setattr(Integrity, "_check_all", lambda self: (may_end.wait(), check_all(self)))
    monkeypatch.setattr(file, "_WAITED_FOR", 0 if is_large else 1 << 30)
    mapper, output = gassst.Mapper(index, threads=1, device="none"), tmp_path / "out.sam"
    if is_large:
        mapper.map_file(small_fastq, output)
        assert output.exists() and "was over before all of the index was verified" in caplog.text
        output.unlink()
        may_end.set()
        with pytest.raises(IndexFormatError):
            mapper.index.integrity.wait()
    else:
        may_end.set()
    with pytest.raises(IndexFormatError, match="damaged index"):
        mapper.map_file(small_fastq, output)
    assert not output.exists() and caplog.text.count("was over before") == is_large


@pytest.mark.parametrize("place", ["missing/\0", "/dev/null/cache", "a-file"])
def test_without_a_place_to_remember_every_run_reads(index, reads, tmp_path, monkeypatch, place):
    if "\0" in place:
        monkeypatch.setattr(verified, "_list", lambda: (_ for _ in ()).throw(OSError("no home")))
    else:
        (tmp_path / "a-file").write_text("")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / place))
    check(index)
    check(index)
    assert len(reads) == 2
