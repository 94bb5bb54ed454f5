"""Snakemake wrapper for gassst index."""

from snakemake.shell import shell

extra = snakemake.params.get("extra", "")  # noqa: F821 - Snakemake defines it
log = snakemake.log_fmt_shell(stdout=False, stderr=True)  # noqa: F821

shell("gassst index -t {snakemake.threads} {extra} {snakemake.input[0]:q} -o {snakemake.output[0]:q} {log}")
