"""Counts and checksums of records: those of pieces make that of the whole, and damage changes them."""

import struct

import pytest

from gassst.reads.record_sums import RecordSum
from gassst.reads.shards import PartOfRun, Shard

LINES = [b"r%d\t4\t*\t0\t0\t*\t*\t0\t0\t%s\t*\n" % (i, b"ACGT"[: i % 5]) for i in range(40)]


def sum_of(records, file_format="sam"):
    return RecordSum.of(b"".join(records), file_format)


def bam(lines):
    return [struct.pack("<i", 32 + len(line)) + bytes(32) + line for line in lines]


@pytest.mark.parametrize("file_format, records", [("sam", LINES), ("bam", bam(LINES))])
def test_sums_of_pieces_are_that_of_the_whole(file_format, records):
    whole = sum_of(records, file_format)
    assert whole.records == len(records)
    for cut in (0, 1, 17, len(records)):
        first, second = sum_of(records[:cut], file_format), sum_of(records[cut:], file_format)
        assert first.followed_by(second) == whole


def test_what_changes_them():
    whole = sum_of(LINES)
    swapped = sum_of([LINES[1], LINES[0], *LINES[2:]])
    assert swapped[:2] == whole[:2] and swapped.ordered != whole.ordered
    assert sum_of(LINES[1:]).total != whole.total != sum_of([*LINES, LINES[3]]).total
    text = LINES[3]
    for at in range(len(text) - 1):
        for bit in range(8):
            if (changed := text[at] ^ 1 << bit) != ord("\n"):
                other = text[:at] + bytes([changed]) + text[at + 1 :]
                assert sum_of([other]).total != sum_of([text]).total


@pytest.mark.parametrize("file_format, records", [("sam", LINES), ("bam", bam(LINES))])
def test_records_that_are_cut_short(file_format, records):
    for left in (1, 20, len(records[0]) - 1):
        with pytest.raises(ValueError, match="cut short"):
            sum_of([records[1], records[0][:left]], file_format)


def test_the_header_keeps_its_size():
    place = PartOfRun(Shard(3, 7), "0123456789abcdef")
    text = f"@HD\tVN:1.6\n@PG\tID:gassst\tPN:gassst\tDS:{place}\n@CO\tx\n"
    empty = place.with_sum("bam", RecordSum())
    full = place.with_sum("bam", RecordSum(10**12 - 1, 2**64 - 1, 1))
    assert full.put_into(empty.put_into(text)) == full.put_into(text)
    assert len(full.put_into(text)) == len(empty.put_into(text))
    assert PartOfRun.in_header(full.put_into(text)) == full
    assert PartOfRun.in_header(text) == place
    assert full.removed_from(full.put_into(text)) == place.removed_from(text)
