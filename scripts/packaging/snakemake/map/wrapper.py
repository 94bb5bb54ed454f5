"""Snakemake wrapper for gassst map."""

from pathlib import Path
from shlex import quote, split

from snakemake.shell import shell

extra = snakemake.params.get("extra", "")  # noqa: F821 - Snakemake defines it
sort = "--sort" if snakemake.params.get("sort", True) else ""  # noqa: F821
part = snakemake.params.get("shard")  # noqa: F821
shard = f"--shard {quote(part)}" if part else ""
log = snakemake.log_fmt_shell(stdout=False, stderr=True)  # noqa: F821
more = {f"--{name}": snakemake.output.get(name) for name in ("stats", "multiqc", "coverage")}  # noqa: F821
files = " ".join(f"{option} {quote(path)}" for option, path in more.items() if path)

# Callers need a read group; reads in BAM or CRAM bring theirs.
reads = snakemake.input.reads  # noqa: F821
first = reads if isinstance(reads, str) else reads[0]
given = ("-R", "--read-group", "--rg-from-name")
read_group = ""
if not first.endswith((".bam", ".cram", ".sam")) and not any(word.startswith(given) for word in split(extra)):
    sample = snakemake.params.get("sample") or Path(snakemake.output[0]).stem  # noqa: F821
    library = snakemake.params.get("library", sample)  # noqa: F821
    platform = snakemake.params.get("platform", "ILLUMINA")  # noqa: F821
    read_group = "-R " + quote(rf"@RG\tID:{sample}\tSM:{sample}\tLB:{library}\tPL:{platform}")

shell(
    "gassst map -t {snakemake.threads} {sort} {shard} {files} {read_group} {extra}"
    " {snakemake.input.index:q} {snakemake.input.reads:q} -o {snakemake.output[0]:q} {log}"
)
