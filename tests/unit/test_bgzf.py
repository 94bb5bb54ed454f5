"""BGZF blocks: whoever reads gzip or BGZF reads them, at every level and with every library that may be missing."""

import gzip
import struct
import sys
from functools import cache

import numpy as np
import pytest
from pysam import BGZFile

from gassst.files import bgzf

SIZES = [0, 1, 17, bgzf.BLOCK_SIZE - 1, bgzf.BLOCK_SIZE, bgzf.BLOCK_SIZE + 1, 3 * bgzf.BLOCK_SIZE + 5]


@pytest.fixture(params=["all", "without isal", "zlib only"])
def libraries(request, monkeypatch):
    if request.param != "all":
        monkeypatch.setitem(sys.modules, "isal.igzip_lib", None)
    if request.param == "zlib only":
        monkeypatch.setitem(sys.modules, "zlib_ng.zlib_ng", None)


@cache
def text(size):
    rng = np.random.default_rng(size)
    return b"".join(b"read%d\t%d\tACGT" % (i, rng.integers(1 << 30)) for i in range(size // 12 + 1))[:size]


@cache
def noise(size):
    return np.random.default_rng(size).integers(0, 256, size, np.uint8).tobytes()


def block_sizes(stream):
    """By the headers of the blocks, which must lead from one to the next up to the end."""
    sizes, at = [], 0
    while at < len(stream):
        assert stream[at : at + 4] == b"\x1f\x8b\x08\x04"
        assert stream[at + 10 : at + 16] == b"\x06\0BC\x02\0"
        sizes.append(struct.unpack_from("<H", stream, at + 16)[0] + 1)
        at += sizes[-1]
    assert at == len(stream)
    return sizes


@pytest.mark.parametrize("level", range(10))
@pytest.mark.parametrize("content", [text, noise])
def test_what_goes_in_comes_out(libraries, tmp_path, level, content):
    for size in SIZES:
        data = content(size)
        stream = b"".join(bgzf.blocks(data, bgzf.deflater(level))) + bgzf.END_OF_FILE
        assert gzip.decompress(stream) == data
        assert len(block_sizes(stream)) == -(-size // bgzf.BLOCK_SIZE) + 1
        (tmp_path / "file.gz").write_bytes(stream)
        with BGZFile(str(tmp_path / "file.gz")) as file:
            assert file.read() == data
