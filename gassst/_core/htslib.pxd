# What we use of htslib. pysam has declarations of it, too, but whoever cimports these imports all of pysam at run time.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

cdef extern from "htslib/kstring.h" nogil:
    ctypedef struct kstring_t:
        size_t l, m
        char *s

cdef extern from "htslib/hfile.h" nogil:
    ctypedef struct hFILE:
        pass
    hFILE *hdopen(int fd, const char *mode)
    int hclose(hFILE *stream)
    int herrno(hFILE *stream)

cdef extern from "htslib/bgzf.h" nogil:
    ctypedef struct BGZF:
        pass
    BGZF *bgzf_hopen(hFILE *stream, const char *mode)
    int bgzf_close(BGZF *file)

cdef extern from "htslib/cram.h" nogil:
    ctypedef struct cram_fd:
        pass
    void *cram_fd_get_header(cram_fd *file)

cdef extern from "htslib/hts.h" nogil:
    ctypedef enum htsExactFormat:
        sam, bam, cram
    ctypedef enum htsCompression:
        no_compression, gzip, bgzf, custom
    ctypedef struct htsFormat:
        htsExactFormat format
        htsCompression compression
    ctypedef struct htsFile:
        htsFormat format
        cram_fd *cram "fp.cram"
    ctypedef struct hts_idx_t:
        pass
    enum:
        CRAM_OPT_REQUIRED_FIELDS, HTS_FMT_BAI, HTS_FMT_CSI
    int hts_detect_format2(hFILE *stream, const char *name, htsFormat *found)
    htsFile *hts_hopen(hFILE *stream, const char *name, const char *mode)
    int hts_close(htsFile *file)
    int hts_set_threads(htsFile *file, int n)
    int hts_set_opt(htsFile *file, int option, ...)
    int hts_set_fai_filename(htsFile *file, const char *name)
    int hts_check_EOF(htsFile *file)
    int hts_reg2bin(int64_t begin, int64_t end, int min_shift, int levels)
    hts_idx_t *hts_idx_init(int contigs, int format, uint64_t offset, int min_shift, int levels)
    void hts_idx_destroy(hts_idx_t *index)
    int hts_idx_push(hts_idx_t *index, int contig, int64_t begin, int64_t end, uint64_t offset, int is_mapped)
    int hts_idx_finish(hts_idx_t *index, uint64_t offset)
    int hts_idx_save_as(const hts_idx_t *index, const char *file, const char *name, int format)

cdef extern from "htslib/sam.h" nogil:
    enum:
        BAM_CREF_SKIP, BAM_CSOFT_CLIP, BAM_CHARD_CLIP
        BAM_FPAIRED, BAM_FPROPER_PAIR, BAM_FUNMAP, BAM_FMUNMAP, BAM_FREVERSE, BAM_FMREVERSE, BAM_FREAD1, BAM_FREAD2
        BAM_FSECONDARY, BAM_FDUP, BAM_FSUPPLEMENTARY
    ctypedef struct bam1_core_t:
        int64_t pos, mpos, isize
        int32_t tid, mtid, l_qseq
        uint16_t bin, flag, l_qname
        uint8_t qual, l_extranul
        uint32_t n_cigar
    ctypedef struct bam1_t:
        bam1_core_t core
    bam1_t *bam_init1()
    void bam_destroy1(bam1_t *record)
    int64_t bam_endpos(const bam1_t *record)
    char *bam_get_qname(const bam1_t *record)
    uint32_t *bam_get_cigar(const bam1_t *record)
    int bam_cigar_op(uint32_t run)
    uint32_t bam_cigar_oplen(uint32_t run)
    int bam_cigar_type(int operation)
    void *sam_hdr_parse(size_t length, const char *text)
    void *sam_hdr_read(htsFile *file)
    int sam_hdr_write(htsFile *file, const void *header)
    void sam_hdr_destroy(void *header)
    const char *sam_hdr_str(void *header)
    int sam_hdr_nref(const void *header)
    const char *sam_hdr_tid2name(const void *header, int contig)
    int sam_hdr_find_tag_id(void *header, const char *type, const char *id_key, const char *id, const char *key,
                            kstring_t *value)
    int sam_hdr_remove_tag_id(void *header, const char *type, const char *id_key, const char *id, const char *key)
    int sam_read1(htsFile *file, void *header, bam1_t *record)
    int sam_write1(htsFile *file, const void *header, const bam1_t *record)
