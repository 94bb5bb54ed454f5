process GASSST_INDEX {
    tag "${fasta}"
    label 'process_medium'

    conda "${moduleDir}/environment.yml"
    container "${workflow.containerEngine in ['singularity', 'apptainer'] && !task.ext.singularity_pull_docker_container ?
        'https://depot.galaxyproject.org/singularity/gassst:0.2.0--py312_0' :
        'quay.io/biocontainers/gassst:0.2.0--py312_0'}"

    input:
    tuple val(meta), path(fasta)

    output:
    tuple val(meta), path("*.gsi"), emit: index
    tuple val("${task.process}"), val('gassst'), eval("gassst --version | sed -n '1s/gassst //p'"), topic: versions, emit: versions_gassst

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
    """

    stub:
    def prefix = task.ext.prefix ?: "${meta.id}"
    """
    touch ${prefix}.gsi
    """
}
