"""Batches cut by line and parsed elsewhere are those of the parser that reads the file itself; reading ahead."""

import os
import random
from unittest import mock

import pytest

from gassst.errors import InputError
from gassst.files.source import Source
from gassst.reads import streams as read_streams
from gassst.reads import texts
from gassst.reads.input import open_reads, open_unparsed
from gassst.reads.texts import ReadAhead


def fastq(n, seed=1, mate=""):
    rng = random.Random(seed)
    records = []
    for i in range(n):
        length = rng.choice([0, 1, 36, 100, 151])
        bases = "".join(rng.choices("ACGTN", k=length))
        blank = "\n" * rng.choice([0, 0, 0, 2]) if i else ""
        end = rng.choice(["\n", "\r\n"])
        lines = (f"@r{i}{mate} any comment", bases, "+", "@" * length)  # a quality may look like a header
        records.append(blank + end.join(lines) + end)
    return "".join(records).encode()


def described(batches):
    """What the batches hold, and the error that ends them."""
    found = []
    try:
        for batch in batches:
            batch = batch.parsed()
            rows = [(batch.name(i), batch.sequence(i), batch.quality(i)) for i in range(len(batch))]
            found.append((batch.first, None if batch.mate is None else batch.mate.tolist(), rows))
    except InputError as error:
        found.append(str(error))
    return found


def never_cut(*_):
    return False


SPOILED = {
    "whole": lambda text: text,
    "no newline at the end": lambda text: text.rstrip(),
    "empty lines at the end": lambda text: text + b"\r\n\n",
    "cut short": lambda text: text[: text.rindex(b"\n+")],
    "no marker": lambda text: text.replace(b"@r70", b"r70"),
    "no plus": lambda text: text.replace(b"@r70", b"@r70\nACGT\nIIII\n@r70"),
    "no name": lambda text: text.replace(b"@r70", b"@ r70"),
    "empty": lambda text: b"",
    "FASTA": lambda text: b">a\nACGT\nAC\n>b\nA\n",
    "nothing of the kind": lambda text: b"\n" + text,
}


@pytest.fixture(params=["file", "stream"])
def origin(request, monkeypatch):
    """Texts are places in a file, or in memory."""
    if request.param == "stream":
        monkeypatch.setattr(Source, "plain_file", None)


@pytest.mark.usefixtures("origin")
@pytest.mark.parametrize("spoil", SPOILED)
@pytest.mark.parametrize("size", [1, 7, 70, 71, 1000])
def test_single_reads_and_errors_are_the_same(tmp_path, monkeypatch, spoil, size):
    path = tmp_path / "reads"
    path.write_bytes(SPOILED[spoil](fastq(150)))
    cut = described(open_unparsed(path, batch_size=size))
    assert cut == described(open_reads(path, batch_size=size, buffer_size=50))
    monkeypatch.setattr(read_streams, "_is_cut", never_cut)
    assert cut == described(open_reads(path, batch_size=size))


@pytest.mark.parametrize("second", [None, *SPOILED])
@pytest.mark.parametrize("first", ["whole", "no marker", "cut short"])
@pytest.mark.parametrize("origin, size", [("file", 2), ("stream", 34), ("file", 142)], indirect=["origin"])
@pytest.mark.usefixtures("origin")
def test_pairs_and_errors_are_the_same(tmp_path, monkeypatch, first, second, size):
    paths = tmp_path / "one", tmp_path / "two"
    paths[0].write_bytes(SPOILED[first](fastq(150, 1, "/1")))
    paths[1].write_bytes(fastq(140, 2, "/2") if second is None else SPOILED[second](fastq(150, 2, "/2")))
    cut = described(open_unparsed(*paths, batch_size=size))
    assert cut == described(open_reads(paths[0], mates=paths[1], batch_size=size, buffer_size=64))
    monkeypatch.setattr(read_streams, "_is_cut", never_cut)
    assert cut == described(open_reads(paths[0], mates=paths[1], batch_size=size))


@pytest.mark.parametrize("reader", [(Source, "readinto"), (texts, "pass_over")])
def test_a_line_much_longer_than_a_buffer(tmp_path, monkeypatch, reader):
    """A comment may be long; a sequence is refused before all of it is in memory."""
    path = tmp_path / "reads"
    path.write_bytes(b"@a " + b"x" * 3_000_000 + b"\nACGT\n+\nIIII\n" + fastq(10))
    assert [len(batch.parsed()) for batch in open_unparsed(path, batch_size=4)] == [4, 4, 3]
    path.write_bytes(fastq(10) + b"@long\n" + b"A" * 3_000_000)
    asked = mock.Mock(side_effect=getattr(*reader))
    monkeypatch.setattr(*reader, lambda *arguments: asked(*arguments))
    if reader[0] is Source:
        monkeypatch.setattr(Source, "plain_file", None)
    with pytest.raises(InputError, match=r"record 11 \(long\): longer than 1000 bases"):
        list(open_reads(path, max_length=1000))
    assert 0 < asked.call_count < 6


def test_a_file_that_changes_while_it_is_read(tmp_path):
    """Batches are read again where they are parsed, of the file that was opened."""
    path, other = tmp_path / "reads", tmp_path / "other"
    path.write_bytes(fastq(20))
    other.write_bytes(fastq(20))
    batches = list(open_unparsed(path, batch_size=10))
    assert len(batches[0].parsed()) == 10
    os.truncate(path, 30)
    with pytest.raises(InputError, match="reads: cut short while it was read"):
        batches[1].parsed()
    path.write_bytes(fastq(20))
    batches = list(open_unparsed(path, batch_size=10))
    other.replace(path)
    path.unlink()
    assert [len(batch.parsed()) for batch in batches] == [10, 10]


@pytest.mark.usefixtures("origin")
@pytest.mark.parametrize("enough", [1, 900, 20_000])
@pytest.mark.parametrize(
    "second", ["whole", "no newline at the end", "empty lines at the end", "cut short", "no plus"]
)
def test_texts_that_end_by_bytes_hold_the_same_reads(tmp_path, monkeypatch, second, enough):
    """Long records fill a text early, and those of two files not at the same record."""

    def reads_of(batches):
        """The reads, or the error: how many reads come before it depends on the texts."""
        found = described(batches)
        return found[-1] if isinstance(found[-1], str) else [row for batch in found for row in batch[2]]

    paths = tmp_path / "one", tmp_path / "two"
    paths[0].write_bytes(fastq(120, 1, "/1"))
    paths[1].write_bytes(SPOILED[second](fastq(120, 3, "/2")))
    expected = reads_of(open_reads(paths[0], mates=paths[1])), reads_of(open_reads(paths[1]))
    monkeypatch.setattr(texts, "ENOUGH", enough)
    assert (reads_of(open_unparsed(*paths)), reads_of(open_unparsed(paths[1]))) == expected


def interleaved_fastq(seed: int, n: int) -> tuple[bytes, list[int]]:
    """Single reads, mates, and names up to five times in a row, blank lines between; and their mates."""
    rng = random.Random(seed)
    text, mates = b"", []
    while len(mates) < n:
        times = rng.choice([1, 2, 2, 2, 3, 4, 5])
        for i in range(times):
            suffix = rng.choice([b"", b" 1", b"\tx"]) if times != 2 else b"/%d" % (i + 1)
            text += b"\n" * rng.choice([0, 0, 0, 1]) * bool(mates)
            text += b"@\xffr%d%s\nACGT\n+\nIIII\n" % (len(mates), suffix)
        pairs = times // 2
        mates += [1, 2] * pairs + [0] * (times % 2)
    return text, mates


@pytest.mark.usefixtures("origin")
@pytest.mark.parametrize("end", [b"\n", b"", b"@cut\nACG"])
@pytest.mark.parametrize("size", [1, 2, 3, 10, 1000])
def test_interleaved_mates_are_not_parted(tmp_path, monkeypatch, size, end):
    text, expected = interleaved_fastq(size, 120)
    path = tmp_path / "reads"
    path.write_bytes(text[:-1] + end if len(end) < 2 else text + end)
    cut = described(open_unparsed(path, batch_size=size, interleaved=True))
    monkeypatch.setattr(read_streams, "_is_cut", never_cut)
    whole = described(open_reads(path, batch_size=1000, interleaved=True))
    if len(end) > 1:
        assert cut.pop() == whole.pop() and not whole
    else:
        assert [row for _, _, rows in cut for row in rows] == whole[0][2]
    found = [mate for _, mates, _ in cut for mate in mates]
    assert found == expected[: len(found)]
    assert len(found) == len(expected) or len(end) > 1


def test_interleaved_text_is_passed_over_once(tmp_path, monkeypatch):
    """The names at the end of a text show whether it may end there; it is not searched for them from its beginning."""
    path = tmp_path / "reads"
    path.write_bytes(b"".join(b"@%d\nACGT\n+\nIIII\n" % (i // 2) for i in range(2000)))
    passed = []

    def counted(*arguments):
        found = cut(*arguments)
        passed.append(found[0])
        return found

    cut = texts.cut
    monkeypatch.setattr(texts, "cut", counted)
    batches = list(open_unparsed(path, batch_size=100, interleaved=True))
    assert [len(batch) for batch in batches] == [100] * 20
    size = path.stat().st_size
    assert size <= sum(passed) < 1.1 * size
    assert [len(batch.parsed()) for batch in batches] == [100] * 20


def test_a_line_without_end_does_not_fill_the_memory(tmp_path, monkeypatch):
    """It lies where a batch may end, and the line tells whether it does."""
    path = tmp_path / "reads"
    path.write_bytes(b"@a\nACGT\n+\nIIII\n" + bytes(1 << 20))
    monkeypatch.setattr("gassst.reads.input.BUFFER_SIZE", 1 << 10)
    monkeypatch.setattr(texts, "LONG_RECORD", 1 << 14)
    readinto, read = Source.readinto, []
    monkeypatch.setattr(Source, "readinto", lambda *args: read.append(readinto(*args)) or read[-1])
    first, last = open_unparsed(path, batch_size=1, interleaved=True)
    assert len(first.parsed()) == 1
    with pytest.raises(InputError):
        last.parsed()
    assert sum(read) < 1 << 16


def test_reading_ahead_keeps_order_and_raises_in_its_turn():
    def items():
        yield from range(20)
        raise ValueError("at the end")

    ahead, seen = ReadAhead(items()), []
    with pytest.raises(ValueError, match="at the end"):
        for item in ahead:
            seen.append(item)
    assert seen == list(range(20))
    assert list(ahead) == []
