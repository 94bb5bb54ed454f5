"""Parts of inputs: shards that users ask for, and stretches of libraries."""

from __future__ import annotations

import random

import numpy as np
import pysam
import pytest

from gassst.errors import InputError, UsageError
from gassst.files import bgzf
from gassst.reads.alignment_input import alignment_inputs
from gassst.reads.in_memory import batch_of_records, batch_records
from gassst.reads.input import open_unparsed
from gassst.reads.shards import Shard, slices_of
from gassst.reads.stretches import spread, whole_stretches

PARTS = (1, 2, 3, 7, 100)
READS = 250


def bgzf_of(text: bytes, size: int = 900) -> bytes:
    """Small blocks, so that records begin in one and end in another; some blocks are empty."""
    deflate = bgzf.deflater(1)
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    return (
        b"".join(bgzf.block(piece, deflate) for piece in [*pieces[:3], b"", *pieces[3:]]) + bgzf.END_OF_FILE
    )


def fastq_of(names, draw, mate=""):
    """Qualities begin with '@' and '+' often, and a read may have no base at all but one."""
    records = []
    for name in names:
        size = draw.choice([1, 2, 30, 90])
        bases, quality = draw.choices("ACGTN", k=size), draw.choices("@+I5", k=size)
        records.append((f"{name}{mate}", "".join(bases), "".join(quality)))
    return records


def text_of(records, end="\n"):
    return "".join(f"@{n} c{end}{s}{end}+{end}{q}{end}" for n, s, q in records).encode()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files by name, and what is in them: (name without /1 and /2, bases)."""
    draw, folder = random.Random(4), tmp_path_factory.mktemp("shards")
    names = [f"run:{draw.randrange(10**6)}:{i}" for i in range(READS)]
    first, second = fastq_of(names, draw, "/1"), fastq_of(names, draw, "/2")
    same = [fastq_of(["r"] * READS, draw, mate) for mate in ("/1", "/2")]
    repeated = [name for name in names for _ in range(draw.choice([1, 2, 2, 3]))]
    mixed = fastq_of(repeated, draw)
    texts = {
        "first": text_of(first),
        "second": text_of(second),
        "same1": text_of(same[0]),
        "same2": text_of(same[1]),
        "crlf": text_of(first, "\r\n"),
        "open": text_of(first)[:-1],
        "mixed": text_of(mixed),
        "fasta": b"".join(b">%s\n%s\n%s\n" % (n.encode(), s.encode(), s.encode()) for n, s, _ in first),
    }
    for name, text in texts.items():
        (folder / name).write_bytes(text)
        (folder / f"{name}.gz").write_bytes(bgzf_of(text))
    header = pysam.AlignmentHeader.from_dict({"HD": {"VN": "1.6"}, "CO": ["x" * 3000]})
    with pysam.AlignmentFile(folder / "plain.bam", "wb", header=header) as bam:
        for one, two in zip(first, second, strict=True):
            for flag, (name, bases, quality) in ((77, one), (141, two)):
                record = pysam.AlignedSegment(header)
                record.query_name, record.flag, record.query_sequence = name[:-2], flag, bases
                record.query_qualities = pysam.qualitystring_to_array(quality)
                bam.write(record)
    with pysam.BGZFile(folder / "plain.bam") as file:
        (folder / "reads.bam").write_bytes(bgzf_of(file.read()))
    return folder


def read(folder, reads, mates=None, shards=None, interleaved=False):
    """(name, bases, mate, read group) of all reads."""
    reads, mates = [str(folder / x) for x in reads], mates and [str(folder / x) for x in mates]
    batches = open_unparsed(
        reads, mates, 64, shards=shards, interleaved=interleaved, alignments=alignment_inputs(reads, 1)
    )
    found = []
    for batch in batches:
        batch = batch.parsed()
        mate = [0] * len(batch) if batch.mate is None else batch.mate.tolist()
        names, at = batch.names.tobytes(), batch.name_offsets.tolist()
        bases, start = batch.bases.tobytes(), batch.offsets.tolist()
        for i in range(len(batch)):
            found.append((names[at[i] : at[i + 1]], bases[start[i] : start[i + 1]], mate[i]))
    return found


def expected_of(path):
    """Names without marks of mates, and bases, by splitting lines."""
    lines = path.read_bytes().split()
    return [(lines[i][1:].split(b"/")[0], lines[i + 2]) for i in range(0, len(lines), 5)]


def in_parts(folder, n, reads, mates=None, interleaved=False):
    paths = [str(folder / x) for x in reads], mates and [str(folder / x) for x in mates]
    found = []
    for i in range(1, n + 1):
        shards = slices_of(Shard(i, n), *paths, by_template=interleaved)
        found.append(read(folder, reads, mates, shards, interleaved))
    return found


@pytest.mark.parametrize("n", PARTS)
@pytest.mark.parametrize("name", ["first", "crlf", "open", "first.gz", "fasta", "fasta.gz"])
def test_parts_of_single_reads_are_all_reads(folder, name, n):
    found = [read for shard in in_parts(folder, n, [name]) for read in shard]
    expected = expected_of(folder / "first")
    doubled = 2 if name.startswith("fasta") else 1
    assert [(n, s) for n, s, _ in found] == [(n, s * doubled) for n, s in expected]


@pytest.mark.parametrize("n", PARTS)
@pytest.mark.parametrize(
    "names", [("first", "second"), ("first.gz", "second"), ("first", "second.gz"), ("same1", "same2")]
)
def test_mates_are_in_one_part(folder, names, n):
    """Also where all names are the same, so that records must be counted."""
    found = [read for shard in in_parts(folder, n, names[:1], names[1:]) for read in shard]
    one, two = (expected_of(folder / name.removesuffix(".gz")) for name in names)
    expected = [(*read, mate) for pair in zip(one, two, strict=True) for mate, read in enumerate(pair, 1)]
    assert found == expected


@pytest.mark.parametrize("n", PARTS)
@pytest.mark.parametrize("name", ["mixed", "mixed.gz"])
def test_interleaved_pairs_stay_together(folder, name, n):
    assert [read for shard in in_parts(folder, n, [name], interleaved=True) for read in shard] == read(
        folder, [name], interleaved=True
    )


@pytest.mark.parametrize("n", PARTS)
@pytest.mark.parametrize("name", ["plain.bam", "reads.bam"])
def test_pairs_of_bam_stay_together(folder, name, n):
    found = [read for shard in in_parts(folder, n, [name]) for read in shard]
    pairs = zip(expected_of(folder / "first"), expected_of(folder / "second"), strict=True)
    assert found == [(*read, mate) for pair in pairs for mate, read in enumerate(pair, 1)]


def test_what_has_no_parts(folder, tmp_path):
    import gzip

    (tmp_path / "plain.gz").write_bytes(gzip.compress((folder / "first").read_bytes()))
    (tmp_path / "lines").write_text("@a\nAC\nGT\n+\nIIII\n" * 50)
    (tmp_path / "x.sam").write_text("@HD\tVN:1.6\n")
    with pytest.raises(InputError, match="gassst split"):
        slices_of(Shard(1, 2), [str(tmp_path / "plain.gz")])
    with pytest.raises(InputError, match="four lines"):
        slices_of(Shard(1, 2), [str(tmp_path / "lines")])
    with pytest.raises(InputError, match="no other format"):
        slices_of(Shard(1, 2), [str(tmp_path / "x.sam")])
    with pytest.raises(UsageError, match="standard input"):
        slices_of(Shard(1, 2), ["-"])


SIZE, HEAD = 16, 6


class Lazy:
    """A batch of one file that is not parsed yet; it can be parsed once."""

    def __init__(self, batch, lane=0, begins_at=None):
        self.batch, self.lane, self.begins_at = batch, lane, begins_at

    def __len__(self):
        return len(self.batch)

    def parsed(self):
        batch, self.batch = self.batch, None
        return batch


def mixed_reads(seed, n=150):
    """Pairs and single reads by turns, interleaved."""
    rng = np.random.default_rng(seed)
    reads = []
    while len(reads) < n:
        name, bases = f"r{len(reads)}", "".join(rng.choice(list("ACGT"), 20))
        reads += [(name, bases, "I" * 20)] * rng.integers(1, 3)
    return reads


def stretches_of(batches):
    """The names and mates of every stretch, by where it begins in its file."""
    found = {}
    for stretches in whole_stretches(batches, SIZE, HEAD):
        batch = stretches.parsed()
        bounds = stretches.bounds(batch)
        for start, stop in zip(bounds, bounds[1:], strict=False):
            mates = [0] * len(batch) if batch.mate is None else batch.mate.tolist()
            of_stretch = [(batch.name(i), batch.sequence(i), mates[i]) for i in range(start, stop)]
            at = stretches.before + start
            found.setdefault(at // SIZE + (at >= HEAD), []).append(of_stretch)
    return found


@pytest.mark.parametrize("seed", range(5))
def test_stretches_do_not_depend_on_the_batches(seed):
    reads = mixed_reads(seed)
    whole = batch_of_records(reads)
    expected = None
    for size in (1000, 16, 15, 17, 5, 1, 40):
        found = stretches_of(batch_records(reads, batch_size=size, interleaved=True))
        # The first stretch comes as it is read, all others as wholes.
        assert all(len(pieces) == 1 for k, pieces in found.items() if k)
        found = {k: [read for piece in pieces for read in piece] for k, pieces in found.items()}
        expected = expected or found
        assert found == expected
        names = [name for of_stretch in found.values() for name, _, _ in of_stretch]
        assert names == [whole.name(i) for i in range(len(whole))]
        assert HEAD <= len(found[0]) <= HEAD + 1 and len(found[0]) + len(found[1]) - SIZE in (0, 1)
        assert all(SIZE - 1 <= len(found[k]) <= SIZE + 1 for k in range(2, len(found) - 1))


def test_what_is_whole_already_is_not_parsed():
    reads = [(str(i), "ACGTACGTAC", None) for i in range(5 * SIZE)]
    sizes = (HEAD, SIZE - HEAD, SIZE, SIZE, SIZE + 3, SIZE - 3)
    at, batches = 0, []
    for size in sizes:
        batches.append(Lazy(batch_of_records(reads[at : at + size])))
        at += size
    found = [stretches.batch for stretches in whole_stretches(batches, SIZE, HEAD)]
    assert found[:4] == batches[:4]
    assert [len(batch) for batch in found] == [HEAD, SIZE - HEAD, SIZE, SIZE, SIZE, SIZE]


def test_every_file_begins_a_stretch():
    reads = [(str(i), "ACGTACGTAC", None) for i in range(40)]
    batches = [Lazy(batch_of_records(reads[:20]), 0, 0), Lazy(batch_of_records(reads[20:]), 1, 0)]
    found = list(whole_stretches(batches, SIZE, HEAD))
    assert [(stretches.before, len(stretches), stretches.head) for stretches in found] == [
        (0, 20, HEAD),
        (0, 20, 0),
    ]


def test_a_part_goes_on_where_the_one_before_it_ends():
    reads = [(str(i), "ACGTACGTAC", None) for i in range(40)]
    (found,) = whole_stretches([Lazy(batch_of_records(reads), 0, 3 * SIZE)], SIZE, HEAD)
    assert found.before == 3 * SIZE and found.judged(found.parsed())[0] == (0, SIZE)


def test_a_sample_is_of_whole_pairs_from_everywhere():
    reads = [(f"p{i // 2}", "ACGT" * 5, None) for i in range(2000)]
    (batch,) = batch_records(reads, batch_size=2000, interleaved=True)
    some, _, numbers = spread(batch, [(400, 1000), (1000, 1600)], 50)
    assert numbers == [50, 50]
    assert some.mate is not None and some.mate.tolist() == [1, 2] * 50
    alone = batch_of_records([(str(i), "A" * (10 + i // 10), None) for i in range(1000)])
    lengths = np.diff(spread(alone, [(100, 900)], 64)[0].offsets)
    assert len(lengths) == 64 and 20 <= lengths.min() < 25 and 94 < lengths.max() < 100
    assert len(spread(alone, [(990, 1000)], 64)[0]) == 10
