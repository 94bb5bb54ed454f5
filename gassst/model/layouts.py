"""NumPy dtypes of the packed structs in `gassst/_core/common.pxd`, and the values that stand for nothing."""

import numpy as np

from gassst.model.array_types import COORDINATE

HIT = np.dtype(
    [
        ("read", np.uint32),
        ("position", COORDINATE),
        ("cigar_start", np.uint32),
        ("cigar_runs", np.uint16),
        ("edits", np.uint16),
        ("flag", np.uint16),
        ("mapq", np.uint8),
        ("strand", np.uint8),
        ("score", np.int32),
        ("mate", np.uint32),
        ("part", np.uint32),
    ]
)

RATING = np.dtype(
    [
        ("known", np.float64),
        ("unseen", np.float64),
        ("chance", np.float64),
        ("mapq", np.uint8),
        ("cap", np.uint8),
        ("capped_by", np.uint8),
    ]
)

READ_SUMMARY = np.dtype(
    [
        ("best", np.uint16),
        ("second", np.uint16),
        ("n_best", np.uint32),
        ("n_second", np.uint32),
        ("n_reported", np.uint32),
        ("suboptimal", np.int32),
        ("rating", RATING),
    ]
)

_WHOLE = "first:i8 read_strand:u4 end:u2 edits:u2 reach:u2 words:u1"
PLACE = np.dtype([tuple(field.split(":")) for field in _WHOLE.split()], align=True)
"""`place_t` of `gassst/_core/stages.pxd`."""
_LOCAL = (
    "read_strand:u4 band_start:i8 width:u2 score:i4 total:i4 reached:u1 strand_end:u2 diagonal:i8 given:?"
)
_LINE = (
    "read_strand:u4 begin:i8 end:i8 total:i4 first_diagonal:i8 last_diagonal:i8 low_diagonal:i8 high_diagonal:i8 "
    "given:?"
)
LOCAL_PLACE = np.dtype([tuple(field.split(":")) for field in _LOCAL.split()])
LOCAL_LINE = np.dtype([tuple(field.split(":")) for field in _LINE.split()])
OVER = np.dtype([("bases", "f8"), ("first", "i8"), ("end", "i8"), ("reseeded", "u1")], align=True)
"""`over_t` of `ext/search/mapq.pxi`: of a read with dense seeds, at how many bases among first .. end - 1 those begin
that occur too often."""

SOFT_CLIP = 4  # an operation of CIGARs in BAM
NO_SCORE = 0xFFFF
NO_SUBOPTIMAL = np.iinfo(np.int32).min
