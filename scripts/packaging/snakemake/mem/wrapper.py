"""Snakemake wrapper for gassst mem, which takes the options of bwa mem; the records are in the order of the reads."""

from snakemake.shell import shell

extra = snakemake.params.get("extra", "")  # noqa: F821 - Snakemake defines it
log = snakemake.log_fmt_shell(stdout=False, stderr=True)  # noqa: F821

shell(
    "gassst mem -t {snakemake.threads} {extra} -o {snakemake.output[0]:q}"
    " {snakemake.input.idx:q} {snakemake.input.reads:q} {log}"
)
