process GASSST_MEM {
    tag "${meta.id}"
    label 'process_high'

    conda "${moduleDir}/environment.yml"
    container "${workflow.containerEngine in ['singularity', 'apptainer'] && !task.ext.singularity_pull_docker_container ?
        'https://depot.galaxyproject.org/singularity/gassst:0.2.0--py312_0' :
        'quay.io/biocontainers/gassst:0.2.0--py312_0'}"

    input:
    tuple val(meta), path(reads)
    tuple val(meta2), path(index)

    output:
    tuple val(meta), path("${prefix}.bam"), emit: bam
    tuple val("${task.process}"), val('gassst'), eval("gassst --version | sed -n '1s/gassst //p'"), topic: versions, emit: versions_gassst

    when:
    task.ext.when == null || task.ext.when

    script:
    // The options of bwa mem, in place of BWA_MEM: the records are unsorted, and go to samtools.
    def args = task.ext.args ?: ''
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    gassst mem \\
        ${args} \\
        -t ${task.cpus} \\
        -o ${prefix}.bam \\
        ${index} \\
        ${reads}
    """

    stub:
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    touch ${prefix}.bam
    """
}
