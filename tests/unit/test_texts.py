"""Batches cut by line and parsed elsewhere are those of the parser that reads the file itself; reading ahead."""

import gzip
import random
import threading
from unittest import mock

import pytest

from gassst.errors import InputError, UsageError
from gassst.io import read_streams, texts
from gassst.io.reads import open_pairs, open_reads, open_unparsed
from gassst.io.texts import ReadAhead


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
@pytest.mark.parametrize("size", [2, 34, 142])
def test_pairs_and_errors_are_the_same(tmp_path, monkeypatch, first, second, size):
    paths = tmp_path / "one", tmp_path / "two"
    paths[0].write_bytes(SPOILED[first](fastq(150, 1, "/1")))
    paths[1].write_bytes(fastq(140, 2, "/2") if second is None else SPOILED[second](fastq(150, 2, "/2")))
    cut = described(open_unparsed(*paths, batch_size=size))
    assert cut == described(open_pairs(*paths, batch_size=size, buffer_size=64))
    monkeypatch.setattr(read_streams, "_is_cut", never_cut)
    assert cut == described(open_pairs(*paths, batch_size=size))


@pytest.mark.parametrize("spoil", [lambda packed: packed[:-9], lambda packed: packed[:900] + packed[901:]])
def test_damaged_data_are_found_at_the_same_record(tmp_path, monkeypatch, spoil):
    path = tmp_path / "reads.gz"
    path.write_bytes(spoil(gzip.compress(fastq(400))))
    cut = described(open_unparsed(path, batch_size=50))
    assert "gz data" in cut[-1]
    monkeypatch.setattr(read_streams, "_is_cut", never_cut)
    assert cut == described(open_reads(path, batch_size=50))


def test_a_line_much_longer_than_a_buffer(tmp_path, monkeypatch):
    """A comment may be of any length; a sequence is refused before all of it is in memory."""
    path = tmp_path / "reads"
    path.write_bytes(b"@a " + b"x" * 3_000_000 + b"\nACGT\n+\nIIII\n" + fastq(10))
    assert [len(batch.parsed()) for batch in open_unparsed(path, batch_size=4)] == [4, 4, 3]
    path.write_bytes(fastq(10) + b"@long\n" + b"A" * 3_000_000)
    asked = mock.Mock(side_effect=texts._Buffer.fill, autospec=True)
    monkeypatch.setattr(texts._Buffer, "fill", lambda self, source: asked(self, source))
    with pytest.raises(InputError, match=r"record 11 \(long\): longer than 1000 bases"):
        list(open_reads(path, max_length=1000))
    assert asked.call_count < 5


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
    expected = reads_of(open_pairs(*paths)), reads_of(open_reads(paths[1]))
    monkeypatch.setattr(texts, "ENOUGH", enough)
    assert (reads_of(open_unparsed(*paths)), reads_of(open_unparsed(paths[1]))) == expected


def test_other_batches_than_by_lines(tmp_path):
    """Interleaved reads, and batches that may hold too many bases, are parsed where they are read."""
    path = tmp_path / "reads"
    path.write_bytes(fastq(10))
    assert described(open_unparsed(path, interleaved=True)) == described(open_reads(path, interleaved=True))
    assert described(open_reads(path, max_batch_bases=200)) != described(open_reads(path))


def test_arguments_are_checked_at_once(tmp_path):
    with pytest.raises(InputError):
        open_unparsed(tmp_path / "none")
    path = tmp_path / "reads"
    path.write_bytes(b"")
    with pytest.raises(UsageError):
        open_unparsed(path, path)
    with pytest.raises(UsageError):
        open_unparsed(path, path, interleaved=True)


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


def test_closing_ends_the_thread_that_waits_for_room():
    ended = threading.Event()

    def items():
        try:
            while True:
                yield 1
        finally:
            ended.set()

    ahead = ReadAhead(items())
    assert next(ahead) == 1
    ahead.close()
    assert ended.wait(60)
    assert list(ahead) == []
