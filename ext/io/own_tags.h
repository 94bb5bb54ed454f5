/* The tags that gassst writes. All that has to know them is made from this one table: their names where they are
 * written, the memory of a record, what is dropped of the tags of a read, and the table in docs/guide/output.md.
 */
#ifndef GASSST_OWN_TAGS_H
#define GASSST_OWN_TAGS_H

#include <stddef.h>
#include <stdint.h>

enum { MAX_DECIMAL = 20 /* digits of a 64-bit number and its sign */ };

/* When a tag that comes with a read is dropped, since a record must not have two of one name. */
enum {
    DROPPED_ALWAYS = 1,
    DROPPED_WITH_METH = 2,  /* the run writes tags of methylation */
    DROPPED_WITH_GROUPS = 4 /* the run has read groups of its own */
};

/* TAG(name, fixed, per_base, dropped, option, meaning). A value takes at most `fixed` bytes, and `per_base` for each base
 * of SEQ. Where it depends on anything else, that is bounded where it is written, and both are 0.
 */
#define OWN_TAGS(TAG)                                                                                                  \
    TAG(NM, MAX_DECIMAL, 0, DROPPED_ALWAYS, "",                                                                        \
        "errors: mismatches, inserted and deleted bases; with `--meth`, see [methylation](methylation.md#records)")    \
    TAG(MD, 0, 0, DROPPED_ALWAYS, "", "mismatched and deleted reference bases")                                        \
    TAG(AS, MAX_DECIMAL, 0, DROPPED_ALWAYS, "",                                                                        \
        "score of the alignment: `-NM` in global mode, the affine score in local mode")                                \
    TAG(XS, MAX_DECIMAL, 0, DROPPED_ALWAYS, "", "score of the next best position, if there is one")                    \
    TAG(MC, 0, 0, DROPPED_ALWAYS, "", "CIGAR of the mate")                                                             \
    TAG(MQ, MAX_DECIMAL, 0, DROPPED_ALWAYS, "", "MAPQ of the mate")                                                    \
    TAG(SA, 0, 0, DROPPED_ALWAYS, "", "other parts of a split read")                                                   \
    TAG(CG, 0, 0, DROPPED_ALWAYS, "", "CIGAR of more than 65,535 operations, in BAM")                                  \
    TAG(RG, 0, 0, DROPPED_WITH_GROUPS, "-R", "read group")                                                             \
    TAG(XA, 0, 0, DROPPED_ALWAYS, "--xa", "other positions")                                                           \
    TAG(X0, MAX_DECIMAL, 0, DROPPED_ALWAYS, "--tags X0", "number of positions with the fewest errors")                 \
    TAG(X1, MAX_DECIMAL, 0, DROPPED_ALWAYS, "--tags X1", "number of positions with the next higher number of errors")  \
    TAG(NH, MAX_DECIMAL, 0, DROPPED_ALWAYS, "--tags NH",                                                               \
        "number of hits: `X0`, or the number of records of this part of the read if that is more")                     \
    TAG(HI, MAX_DECIMAL, 0, DROPPED_ALWAYS, "--tags HI", "index of this hit")                                          \
    TAG(mt, 48, 0, DROPPED_ALWAYS, "--tags mt",                                                                        \
        "[terms of MAPQ](../mapq.md#tag-mt): weights of known, unseen and chance places in millionths, and the cap")     \
    TAG(cs, 0, 0, DROPPED_ALWAYS, "--cs", "differences to the reference, as minimap2 writes them in short form")         \
    TAG(BQ, 0, 1, DROPPED_ALWAYS, "--baq", "[base alignment quality](baq.md)")                                         \
    TAG(dt, 2, 0, DROPPED_ALWAYS, "--duplicate-type", "kind of duplicate: `LB` or `SQ`")                               \
    TAG(YC, 2, 0, DROPPED_WITH_METH, "--meth", "what was converted in the read: `CT` or `GA`")                         \
    TAG(YD, 1, 0, DROPPED_WITH_METH, "--meth", "strand that the read comes from: `f` or `r`")                          \
    TAG(XM, 0, 1, DROPPED_WITH_METH, "--meth-tags bismark", "a methylation call for each base")                        \
    TAG(XR, 2, 0, DROPPED_WITH_METH, "--meth-tags bismark", "what was converted in the read: `CT` or `GA`")            \
    TAG(XG, 2, 0, DROPPED_WITH_METH, "--meth-tags bismark", "strand that the read comes from: `CT` or `GA`")

#define OWN_TAG_NAME(name, fixed, per_base, dropped, option, meaning) static const char TAG_##name[] = #name;
#define OWN_TAG_SIZE(name, fixed, per_base, dropped, option, meaning) +7 + (fixed) /* tab, "XX:T:", closing zero */
#define OWN_TAG_SIZE_PER_BASE(name, fixed, per_base, dropped, option, meaning) +(per_base)
#define OWN_TAG_ROW(name, fixed, per_base, dropped, option, meaning) {#name, dropped, option, meaning},

OWN_TAGS(OWN_TAG_NAME)

enum {
    OWN_TAG_BYTES = OWN_TAGS(OWN_TAG_SIZE), /* that all of them take, but for what depends on the record */
    OWN_TAG_BYTES_PER_BASE = OWN_TAGS(OWN_TAG_SIZE_PER_BASE)
};

typedef struct {
    char name[3];
    uint8_t dropped;
    const char *option, *meaning;
} own_tag;

static const own_tag own_tags[] = {OWN_TAGS(OWN_TAG_ROW)};

enum { N_OWN_TAGS = sizeof own_tags / sizeof own_tags[0] };

/* Whether a tag of this name is dropped, in a run where those of the kinds `dropped` are. */
static inline int tag_is_dropped(const uint8_t *tag, int dropped)
{
    for (size_t i = 0; i < N_OWN_TAGS; i++)
        if (tag[0] == own_tags[i].name[0] && tag[1] == own_tags[i].name[1])
            return (own_tags[i].dropped & dropped) != 0;
    return 0;
}

#endif
