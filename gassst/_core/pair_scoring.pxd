# Of ext/pairing/pair_scoring.pyx, for ext/pairing/joint.pyx.
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from gassst._core.coordinates cimport coordinate_t
from gassst._core.orientation cimport windows_t
from gassst._core.rooms cimport room_t


cdef struct spot_t:
    # A place of a mate.
    coordinate_t end        # behind the last aligned base
    uint32_t read_strand
    int32_t contig
    int loss                # errors, or points of score


cdef struct mate_t:
    # A mate and its places, of which the first is the one that it has alone.
    room_t spots
    Py_ssize_t n
    int64_t length
    bint flip
    int best                # least loss
    double odds             # how much less likely a place becomes with one more lost


cdef struct choice_t:
    Py_ssize_t[2] place     # of both mates
    double[2] wrong         # what all pairs of places without it weigh, relative to those with it
    bint concordant


cdef class PairChooser:
    cdef const int64_t[::1] borders
    cdef int64_t lowest, highest    # of the coordinates on `contig`
    cdef int32_t contig
    cdef windows_t windows          # of each orientation of the library
    cdef double[3] mean, sd
    cdef double[3] weight   # of a pair whose template length is the mean, relative to a library of the first one alone
    cdef double unpaired_phred, phred
    cdef mate_t[2] mates
    cdef room_t keys, options
    cdef Py_ssize_t n_options
    cdef void open(self, int side, int64_t length, bint flip) noexcept nogil
    cdef int add(self, int side, uint32_t read_strand, coordinate_t end, int loss) except -1 nogil
    cdef int choose(self, uint64_t digest, choice_t *choice) except -1 nogil
