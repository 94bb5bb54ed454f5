"""A sheet of samples."""

from pathlib import Path

from gassst.errors import InputError
from gassst.reads.sample_sheet import read_sheet


def one(data: bytes, folder: Path) -> bool:
    path = folder / "sheet.csv"
    path.write_bytes(data)
    try:
        samples = read_sheet(str(path))
    except InputError:
        return False
    assert all(sample.reads and sample.output for sample in samples)
    return True
