process GASSST_GATHER {
    tag "${meta.id}"
    label 'process_medium'

    conda "${moduleDir}/environment.yml"
    container "${workflow.containerEngine in ['singularity', 'apptainer'] && !task.ext.singularity_pull_docker_container ?
        'https://depot.galaxyproject.org/singularity/gassst:0.2.0--py312_0' :
        'quay.io/biocontainers/gassst:0.2.0--py312_0'}"

    input:
    tuple val(meta), path(parts), path(part_stats)
    tuple val(meta2), path(index)
    val sort
    val format

    output:
    tuple val(meta), path("${prefix}.bam"), emit: bam, optional: true
    tuple val(meta), path("${prefix}.cram"), emit: cram, optional: true
    tuple val(meta), path("${prefix}.{bam,cram}.{bai,csi,crai}"), emit: index, optional: true
    tuple val(meta), path("${prefix}.json"), emit: stats
    tuple val(meta), path("${prefix}*_mqc.json"), emit: multiqc
    tuple val("${task.process}"), val('gassst'), eval("gassst --version | sed -n '1s/gassst //p'"), topic: versions, emit: versions_gassst

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    def reference = format == 'cram' ? "--reference ${index}" : ''
    def sorting = sort ? '--sort' : ''
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    gassst gather \\
        -t ${task.cpus} \\
        ${sorting} \\
        ${reference} \\
        ${args} \\
        ${parts} \\
        --part-stats ${part_stats} \\
        -o ${prefix}.${format} \\
        --stats ${prefix}.json \\
        --multiqc ${prefix}_mqc.json
    """

    stub:
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    touch ${prefix}.${format} ${prefix}.${format}.${format == 'cram' ? 'crai' : 'bai'} ${prefix}.json ${prefix}_mqc.json
    """
}
