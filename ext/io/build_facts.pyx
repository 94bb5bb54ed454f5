"""What the compiled modules that link htslib were built with; `gassst.files.htslib` compares."""

cdef extern from *:
    const char *GASSST_PYSAM
    const char *GASSST_HTSLIB
    const char *GASSST_MODE

PYSAM = GASSST_PYSAM.decode()
HTSLIB = GASSST_HTSLIB.decode()
HTSLIB_MODE = GASSST_MODE.decode()
