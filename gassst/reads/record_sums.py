"""A count and a running checksum of records, by which a part of a run is told to be whole."""

from __future__ import annotations

from typing import NamedTuple

import gassst.files.htslib  # noqa: F401 - before the compiled modules that link its htslib
from gassst._core.records import ORDER_FACTOR, EncodedRecords, sum_of_records

MODULUS = 1 << 64


class RecordSum(NamedTuple):
    """Of records that follow each other.

    Attributes
    ----------
    records : int
    total : int
        The sum of their hashes modulo 2**64: the same in any order.
    ordered : int
        The same with weights that depend on the order.
    """

    records: int = 0
    total: int = 0
    ordered: int = 0

    @classmethod
    def of(cls, data: bytes | memoryview | EncodedRecords, file_format: str) -> RecordSum:
        """Of records of BAM, or lines of SAM. Raises ValueError where the last one is cut short."""
        return cls(*sum_of_records(data, bam=file_format == "bam"))

    def followed_by(self, other: RecordSum) -> RecordSum:
        """That of all records of both."""
        weight = pow(ORDER_FACTOR, other.records, MODULUS)
        return RecordSum(
            self.records + other.records,
            (self.total + other.total) % MODULUS,
            (self.ordered * weight + other.ordered) % MODULUS,
        )
