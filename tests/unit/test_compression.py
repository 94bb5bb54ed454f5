"""Compressed files: what may follow a stream, BGZF without its last block, and blocks that every reader takes."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import sys
from contextlib import closing, suppress
from functools import cache

import numpy as np
import pytest
from pysam import BGZFile

from gassst.errors import InputError
from gassst.files import bgzf, inflate
from gassst.files.inflate import BgzfAhead, CutShort, Damaged, Decompressed, Inflaters
from gassst.reads.input import open_reads, open_unparsed
from gassst.workers.threads import Workers

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


if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

TEXT = b"".join(b"@r%d\n%s\n+\n%s\n" % (i, b"ACGTTGCA" * 9, b"I" * 72) for i in range(3000))


def as_bgzf(text: bytes, end: bytes = bgzf.END_OF_FILE) -> bytes:
    return b"".join(bgzf.blocks(text, bgzf.deflater())) + end


PACKED = {
    "gz": gzip.compress(TEXT),
    "bgzf": as_bgzf(TEXT),
    "bz2": bz2.compress(TEXT),
    "xz": lzma.compress(TEXT),
    "zst": zstd.compress(TEXT),
}


class Trickle(io.BytesIO):
    """Hands out a few bytes at a time, as a pipe may."""

    def readinto(self, target):
        return super().readinto(memoryview(target)[:7])


def unpacked(data: bytes, kind: str, stream=io.BytesIO, **options) -> bytes:
    kind = "gz" if kind == "bgzf" else kind
    text, error = outcome(Decompressed(stream(data), kind, **options))
    if kind == "gz":
        for threads in (1, 3):
            with closing(Workers(threads)) as workers:
                assert outcome(BgzfAhead(stream(data), Inflaters(workers), **options)) == (text, error)
    if error is not None:
        raise error[0](error[1])
    return text


def outcome(stream) -> tuple[bytes, tuple[type, str] | None]:
    """What can be read, and the error that ends it."""
    text = io.BytesIO()
    try:
        while more := stream.read(5000):
            text.write(more)
    except (CutShort, Damaged, OSError) as error:
        return text.getvalue(), (type(error), str(error))
    return text.getvalue(), None


@pytest.mark.parametrize("kind", PACKED)
@pytest.mark.parametrize("stream", [io.BytesIO, Trickle])
def test_one_stream_and_two(kind, stream):
    data = PACKED[kind]
    assert unpacked(data, kind, stream) == TEXT
    assert unpacked(data + data, kind, stream) == TEXT + TEXT


ODD = {"gz": [], "bgzf": [], "bz2": [bytes(4)], "xz": [bytes(3), bytes(5)], "zst": [bytes(4)]}
OTHER = [b"garbage", b"garbage" * 9999]


@pytest.mark.parametrize(("kind", "more"), [(kind, more) for kind in ODD for more in ODD[kind] + OTHER])
def test_other_bytes_behind_a_stream_are_refused(kind, more):
    with pytest.raises(Damaged, match="other bytes follow the end"):
        unpacked(PACKED[kind] + more, kind)


@pytest.mark.parametrize("kind", PACKED)
def test_a_cut_second_stream_is_refused(kind):
    data = PACKED[kind]
    for size in (1, 2, len(data) // 2, len(data) - 1):
        with pytest.raises(CutShort):
            unpacked(data + data[:size], kind)


@pytest.mark.parametrize("kind", [kind for kind in PACKED if kind != "bz2"])
def test_a_wrong_checksum_is_refused(kind):
    data = bytearray(PACKED[kind])
    data[{"gz": -8, "bgzf": -36, "xz": -24}.get(kind, len(data) // 2)] ^= 1
    with pytest.raises((Damaged, CutShort)):
        unpacked(bytes(data), kind)


def test_bgzf_without_its_last_block():
    cut = as_bgzf(TEXT, end=b"")
    with pytest.raises(CutShort, match="no BGZF end-of-file block"):
        unpacked(cut, "gz")
    assert unpacked(cut, "gz", allow_truncated=True) == TEXT
    assert unpacked(cut + gzip.compress(TEXT), "gz") == TEXT + TEXT  # no longer the last stream
    with pytest.raises(CutShort):
        unpacked(cut[:-1], "gz", allow_truncated=True)


@pytest.mark.parametrize("chunk", [1, 3000, 1 << 18])
def test_blocks_inflated_ahead(monkeypatch, chunk):
    """Wherever chunks end and whatever is wrong with a block, text and error are those of one thread."""
    monkeypatch.setattr(inflate, "CHUNK", chunk)
    data = PACKED["bgzf"]
    assert unpacked(data, "bgzf") == TEXT
    for at in range(5, len(data), 997):
        damaged = bytearray(data)
        damaged[at] ^= 0x41
        for spoiled in (bytes(damaged), data[:at], data[:at] + data):
            with suppress(CutShort, Damaged):
                unpacked(spoiled, "bgzf")


def test_a_file_that_cannot_be_read_on():
    """What comes before the failure is read, and the failure is raised."""

    class Failing(io.RawIOBase):
        def __init__(self, data):
            self._data = io.BytesIO(data)

        def readable(self):
            return True

        def readinto(self, target):
            if count := self._data.readinto(target):
                return count
            raise OSError(5, "Input/output error")

    with pytest.raises(OSError, match="Input/output error"):
        unpacked(as_bgzf(TEXT, end=b""), "bgzf", Failing)


def test_readers_of_reads_take_it_only_where_they_are_told(tmp_path):
    path = tmp_path / "cut.fq.gz"
    path.write_bytes(as_bgzf(TEXT, end=b""))
    with pytest.raises(InputError, match=r"cut.fq.gz: (after record \d+: )?no BGZF end-of-file block"):
        list(open_reads(path))
    with closing(Workers(2)) as workers:
        for inflaters in (None, Inflaters(workers)):
            batches = open_unparsed(path, allow_truncated=True, inflaters=inflaters)
            assert sum(len(batch.parsed()) for batch in batches) == 3000
            with pytest.raises(InputError, match="no BGZF end-of-file block"):
                [batch.parsed() for batch in open_unparsed(path, inflaters=inflaters)]
