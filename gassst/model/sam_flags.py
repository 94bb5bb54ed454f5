"""The bits of a SAM record's FLAG field, by the names of the SAM specification (section 1.4).

Plain integers, so that they combine with NumPy arrays of any integer type.
"""

PAIRED = 0x1  # the read is one of a pair
PROPER_PAIR = 0x2  # both mates lie as the library predicts: orientation and insert size
UNMAPPED = 0x4  # the read has no alignment
MATE_UNMAPPED = 0x8  # its mate has none
REVERSE = 0x10  # SEQ is the reverse complement of the read
MATE_REVERSE = 0x20  # that of the mate is
FIRST_IN_PAIR = 0x40  # the first mate
SECOND_IN_PAIR = 0x80  # the second mate
SECONDARY = 0x100  # another place of the same bases
FAILED_QC = 0x200  # the sequencer rejected the read
DUPLICATE = 0x400  # a copy of another read: PCR or optical
SUPPLEMENTARY = 0x800  # another part of a read that is split

NOT_PRIMARY = SECONDARY | SUPPLEMENTARY  # every read has exactly one record without these
