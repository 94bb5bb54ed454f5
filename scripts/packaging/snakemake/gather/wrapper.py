"""Snakemake wrapper for gassst gather."""

from shlex import quote

from snakemake.shell import shell

extra = snakemake.params.get("extra", "--sort")  # noqa: F821 - Snakemake defines it
log = snakemake.log_fmt_shell(stdout=False, stderr=True)  # noqa: F821
more = {f"--{name}": snakemake.output.get(name) for name in ("stats", "multiqc")}  # noqa: F821
files = " ".join(f"{option} {quote(path)}" for option, path in more.items() if path)
counts = " ".join(map(quote, snakemake.input.get("stats", [])))  # noqa: F821
index = snakemake.input.get("index")  # noqa: F821
reference = f"--reference {quote(index)}" if index else ""
counts = f"--part-stats {counts}" if files else ""

shell(
    "gassst gather -t {snakemake.threads} {files} {reference} {extra} {snakemake.input.parts:q} {counts}"
    " -o {snakemake.output[0]:q} {log}"
)
