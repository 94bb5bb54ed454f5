//
// Map every sample in parts, one task each, and join the parts: the records are those of one run.
//
include { GASSST_MAP    } from '../../../modules/nf-core/gassst/map/main'
include { GASSST_GATHER } from '../../../modules/nf-core/gassst/gather/main'

workflow FASTQ_SHARD_GASSST {
    take:
    ch_reads // channel: [ val(meta), [ reads ] ], plain or BGZF
    ch_index // value channel: [ val(meta), index ]
    shards   // value: number of parts of each sample
    format   // value: 'bam' or 'cram'

    main:
    ch_parts = ch_reads.flatMap { meta, reads ->
        (1..shards).collect { i -> [ meta + [ shard: "${i}/${shards}" ], reads ] }
    }
    GASSST_MAP(ch_parts, ch_index, false, 'bam')

    // A sample goes on once all of its parts are there.
    ch_mapped = GASSST_MAP.out.bam
        .join(GASSST_MAP.out.stats)
        .map { meta, bam, stats -> [ groupKey(meta.findAll { it.key != 'shard' }, shards), bam, stats ] }
        .groupTuple()
        .map { key, bams, stats -> [ key.getGroupTarget(), bams, stats ] }
    GASSST_GATHER(ch_mapped, ch_index, true, format)

    emit:
    bam      = GASSST_GATHER.out.bam
    cram     = GASSST_GATHER.out.cram
    index    = GASSST_GATHER.out.index
    stats    = GASSST_GATHER.out.stats
    multiqc  = GASSST_GATHER.out.multiqc
}
