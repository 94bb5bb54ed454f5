process GASSST_MAP {
    tag "${meta.id}${meta.shard ? " ${meta.shard}" : ''}"
    label 'process_high'

    conda "${moduleDir}/environment.yml"
    container "${workflow.containerEngine in ['singularity', 'apptainer'] && !task.ext.singularity_pull_docker_container ?
        'https://depot.galaxyproject.org/singularity/gassst:0.2.0--py312_0' :
        'quay.io/biocontainers/gassst:0.2.0--py312_0'}"

    input:
    tuple val(meta), path(reads)
    tuple val(meta2), path(index)
    val sort
    val format

    output:
    tuple val(meta), path("${prefix}.bam"), emit: bam, optional: true
    tuple val(meta), path("${prefix}.cram"), emit: cram, optional: true
    tuple val(meta), path("${prefix}.{bam,cram}.{bai,csi,crai}"), emit: index, optional: true
    tuple val(meta), path("${prefix}.json"), emit: stats
    tuple val(meta), path("${prefix}.coverage.tsv"), emit: coverage, optional: true
    tuple val(meta), path("${prefix}*_mqc.json"), emit: multiqc
    tuple val("${task.process}"), val('gassst'), eval("gassst --version | sed -n '1s/gassst //p'"), topic: versions, emit: versions_gassst

    when:
    task.ext.when == null || task.ext.when

    script:
    // Duplicates of a part of a sample (meta.shard, such as '3/7') are marked by GASSST_GATHER.
    def args = task.ext.args ?: ''
    def sorting = sort ? '--sort' : ''
    def shard = meta.shard ? "--shard ${meta.shard}" : ''
    prefix = task.ext.prefix ?: "${meta.id}${meta.shard ? ".${meta.shard.tokenize('/')[0]}" : ''}"
    def contigs = meta.shard ? '' : "--coverage ${prefix}.coverage.tsv"
    // Callers need a read group; reads in BAM or CRAM bring theirs.
    def has_group = args =~ /(^|\s)(-R|--read-group|--rg-from-name)/ || "${reads}" =~ /\.(bam|cram|sam)$/
    def read_group = has_group ? '' : "-R '@RG\\tID:${meta.id}\\tSM:${meta.id}\\tLB:${meta.library ?: meta.id}\\tPL:${meta.platform ?: 'ILLUMINA'}'"
    """
    gassst map \\
        -t ${task.cpus} \\
        ${sorting} \\
        ${read_group} \\
        ${args} \\
        ${shard} \\
        ${index} \\
        ${reads} \\
        -o ${prefix}.${format} \\
        --stats ${prefix}.json \\
        ${contigs} \\
        --multiqc ${prefix}_mqc.json
    """

    stub:
    prefix = task.ext.prefix ?: "${meta.id}${meta.shard ? ".${meta.shard.tokenize('/')[0]}" : ''}"
    """
    touch ${prefix}.${format} ${prefix}.${format}.${format == 'cram' ? 'crai' : 'bai'} ${prefix}.json ${prefix}.coverage.tsv ${prefix}_mqc.json
    """
}
