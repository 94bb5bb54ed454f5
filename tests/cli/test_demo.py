"""`make demo` says that both of its runs wrote the same records only if they did."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

demo = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "demo.py"))
HEADER = "@HD\tVN:1.6\n@SQ\tSN:c\tLN:100\n"
RECORDS = [f"r{number}\t0\tc\t{number}\t60\t4M\t*\t0\t0\tACGT\tIIII\tNM:i:0\n" for number in (1, 2, 3)]


def sam(path, records, command="one"):
    path.write_text(f"{HEADER}@PG\tID:gassst\tCL:{command}\n{''.join(records)}")
    return path


def test_equal_records_below_another_header(tmp_path):
    files = sam(tmp_path / "a.sam", RECORDS), sam(tmp_path / "b.sam", RECORDS, "two")
    assert demo["same_records"](*files) == 3


@pytest.mark.parametrize(
    ("records", "number"),
    [
        (RECORDS[:2], 3),
        ([*RECORDS, RECORDS[0]], 4),
        ([RECORDS[0], RECORDS[2], RECORDS[1]], 2),
        ([RECORDS[0].replace("NM:i:0", "NM:i:1"), *RECORDS[1:]], 1),
    ],
    ids=["one less", "one more", "another order", "another tag"],
)
def test_any_difference_ends_it(tmp_path, records, number):
    with pytest.raises(SystemExit, match=f"differ from record {number} on"):
        demo["same_records"](sam(tmp_path / "a.sam", RECORDS), sam(tmp_path / "b.sam", records))
