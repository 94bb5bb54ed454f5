"""The only shard of a run in BAM, taken apart and put together again."""

from __future__ import annotations

import gzip
import random
import struct

from gassst.cli.main import main
from gassst.files import bgzf


def write_reads(path, genome, count):
    """Reads of 90 bases of the longest contig."""
    draw, contig = random.Random(5), max((s.decode().upper() for s in genome.values()), key=len)
    starts = [draw.randrange(len(contig) - 100) for _ in range(count)]
    path.write_text("".join(f"@r{i}\n{contig[at : at + 90]}\n+\n{'I' * 90}\n" for i, at in enumerate(starts)))
    return path


def mapped_shard(index, reads, path, *options):
    command = ["map", index, reads, "--shard", "1/1", "-o", path, *options, "-q", "--device", "none"]
    assert main([*map(str, command)]) == 0
    return path


def apart(path):
    """All before the first record, and the records."""
    data = gzip.decompress(path.read_bytes())
    at = 8 + struct.unpack_from("<i", data, 4)[0]
    contigs, at = struct.unpack_from("<i", data, at)[0], at + 4
    for _ in range(contigs):
        at += 8 + struct.unpack_from("<i", data, at)[0]
    head, records = data[:at], []
    while at < len(data):
        end = at + 4 + struct.unpack_from("<i", data, at)[0]
        records.append(data[at:end])
        at = end
    return head, records


def put_together(path, *texts):
    """BAM whose blocks have these texts, or as much of each as a block holds."""
    deflate = bgzf.deflater(1)
    pieces = [text[i : i + 60_000] for text in texts for i in range(0, len(text), 60_000)]
    path.write_bytes(b"".join(bgzf.block(piece, deflate) for piece in pieces) + bgzf.END_OF_FILE)
