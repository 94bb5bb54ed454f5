"""The bits of a SAM record's FLAG field; `gassst/model/sam_flags.py` has the same names, and says what each means."""

cdef enum:
    PAIRED = 0x1
    PROPER_PAIR = 0x2
    UNMAPPED = 0x4
    MATE_UNMAPPED = 0x8
    REVERSE = 0x10
    MATE_REVERSE = 0x20
    FIRST_IN_PAIR = 0x40
    SECOND_IN_PAIR = 0x80
    SECONDARY = 0x100
    FAILED_QC = 0x200
    DUPLICATE = 0x400
    SUPPLEMENTARY = 0x800
    NOT_PRIMARY = 0x900
