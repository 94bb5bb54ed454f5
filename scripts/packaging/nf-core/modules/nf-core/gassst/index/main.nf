process GASSST_INDEX {
    tag "${fasta}"
    label 'process_medium'

    conda "${moduleDir}/environment.yml"
    container "${workflow.containerEngine == 'singularity' && !task.ext.singularity_pull_docker_container
        ? 'https://depot.galaxyproject.org/singularity/gassst:0.1.0--py312_0'
        : 'biocontainers/gassst:0.1.0--py312_0'}"

    input:
    tuple val(meta), path(fasta)

    output:
    tuple val(meta), path("*.gsi"), emit: index
    path "versions.yml", emit: versions

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    def prefix = task.ext.prefix ?: "${meta.id}"
    """
    gassst index \\
        -t ${task.cpus} \\
        ${args} \\
        ${fasta} \\
        -o ${prefix}.gsi

    cat <<-END_VERSIONS > versions.yml
    "${task.process}":
        gassst: \$(gassst --version | sed -n '1s/gassst //p')
    END_VERSIONS
    """

    stub:
    def prefix = task.ext.prefix ?: "${meta.id}"
    """
    touch ${prefix}.gsi

    cat <<-END_VERSIONS > versions.yml
    "${task.process}":
        gassst: \$(gassst --version | sed -n '1s/gassst //p')
    END_VERSIONS
    """
}
