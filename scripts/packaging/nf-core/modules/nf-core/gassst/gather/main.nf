process GASSST_GATHER {
    tag "${meta.id}"
    label 'process_medium'

    conda "${moduleDir}/environment.yml"
    container "${workflow.containerEngine == 'singularity' && !task.ext.singularity_pull_docker_container
        ? 'https://depot.galaxyproject.org/singularity/gassst:0.1.0--py312_0'
        : 'biocontainers/gassst:0.1.0--py312_0'}"

    input:
    tuple val(meta), path(parts), path(part_stats)

    output:
    tuple val(meta), path("${prefix}.bam"), emit: bam
    tuple val(meta), path("${prefix}.bam.{bai,csi}"), emit: index, optional: true
    tuple val(meta), path("${prefix}.json"), emit: stats
    tuple val(meta), path("${prefix}_mqc.json"), emit: multiqc
    path "versions.yml", emit: versions

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: '--sort'
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    gassst gather \\
        -q \\
        -t ${task.cpus} \\
        ${args} \\
        ${parts} \\
        --part-stats ${part_stats} \\
        -o ${prefix}.bam \\
        --stats ${prefix}.json \\
        --multiqc ${prefix}_mqc.json

    cat <<-END_VERSIONS > versions.yml
    "${task.process}":
        gassst: \$(gassst --version | sed -n '1s/gassst //p')
    END_VERSIONS
    """

    stub:
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    touch ${prefix}.bam ${prefix}.bam.bai ${prefix}.json ${prefix}_mqc.json

    cat <<-END_VERSIONS > versions.yml
    "${task.process}":
        gassst: \$(gassst --version | sed -n '1s/gassst //p')
    END_VERSIONS
    """
}
