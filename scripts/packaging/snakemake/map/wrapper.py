"""Snakemake wrapper for gassst map."""

from shlex import quote

from snakemake.shell import shell

extra = snakemake.params.get("extra", "")  # noqa: F821 - Snakemake defines it
sort = "--sort" if snakemake.params.get("sort", True) else ""  # noqa: F821
part = snakemake.params.get("shard")  # noqa: F821
shard = f"--shard {quote(part)}" if part else ""
log = snakemake.log_fmt_shell(stdout=False, stderr=True)  # noqa: F821
more = {f"--{name}": snakemake.output.get(name) for name in ("stats", "multiqc")}  # noqa: F821
files = " ".join(f"{option} {quote(path)}" for option, path in more.items() if path)

shell(
    "gassst map -q -t {snakemake.threads} {sort} {shard} {files} {extra}"
    " {snakemake.input.index:q} {snakemake.input.reads:q} -o {snakemake.output[0]:q} {log}"
)
