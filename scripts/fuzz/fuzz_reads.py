"""Files of reads: the packing is found from the content, then FASTQ or FASTA is parsed."""

from pathlib import Path

from gassst.errors import InputError
from gassst.reads.input import open_reads


def one(data: bytes, folder: Path) -> bool:
    path = folder / "reads"
    path.write_bytes(data)
    try:
        for batch in open_reads(path, batch_size=8, interleaved=data[-1:] == b"\n"):
            len(batch)
    except InputError:
        return False
    return True
