"""Snakemake wrapper for gassst index."""

from snakemake.shell import shell

log = snakemake.log_fmt_shell(stdout=False, stderr=True)  # noqa: F821 - Snakemake defines it

shell("gassst index -t {snakemake.threads} {snakemake.input[0]:q} -o {snakemake.output[0]:q} {log}")
