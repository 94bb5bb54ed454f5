process GASSST_MAP {
    tag "${meta.id}${meta.shard ? " ${meta.shard}" : ''}"
    label 'process_high'

    conda "${moduleDir}/environment.yml"
    container "${workflow.containerEngine == 'singularity' && !task.ext.singularity_pull_docker_container
        ? 'https://depot.galaxyproject.org/singularity/gassst:0.1.0--py312_0'
        : 'biocontainers/gassst:0.1.0--py312_0'}"

    input:
    tuple val(meta), path(reads)
    tuple val(meta2), path(index)

    output:
    tuple val(meta), path("${prefix}.bam"), emit: bam
    tuple val(meta), path("${prefix}.bam.{bai,csi}"), emit: index, optional: true
    tuple val(meta), path("${prefix}.json"), emit: stats
    tuple val(meta), path("${prefix}_mqc.json"), emit: multiqc
    path "versions.yml", emit: versions

    when:
    task.ext.when == null || task.ext.when

    script:
    // A part of a sample (meta.shard, such as '3/7') is sorted, and its duplicates marked, by GASSST_GATHER.
    def args = task.ext.args ?: (meta.shard ? '' : '--sort')
    def shard = meta.shard ? "--shard ${meta.shard}" : ''
    prefix = task.ext.prefix ?: "${meta.id}${meta.shard ? ".${meta.shard.tokenize('/')[0]}" : ''}"
    def read_group = meta.read_group ? "-R '${meta.read_group}'" : "-R '@RG\\tID:${meta.id}\\tSM:${meta.id}'"
    """
    gassst map \\
        -q \\
        -t ${task.cpus} \\
        ${read_group} \\
        ${args} \\
        ${shard} \\
        ${index} \\
        ${reads} \\
        -o ${prefix}.bam \\
        --stats ${prefix}.json \\
        --multiqc ${prefix}_mqc.json

    cat <<-END_VERSIONS > versions.yml
    "${task.process}":
        gassst: \$(gassst --version | sed -n '1s/gassst //p')
    END_VERSIONS
    """

    stub:
    prefix = task.ext.prefix ?: "${meta.id}${meta.shard ? ".${meta.shard.tokenize('/')[0]}" : ''}"
    """
    touch ${prefix}.bam ${prefix}.bam.bai ${prefix}.json ${prefix}_mqc.json

    cat <<-END_VERSIONS > versions.yml
    "${task.process}":
        gassst: \$(gassst --version | sed -n '1s/gassst //p')
    END_VERSIONS
    """
}
