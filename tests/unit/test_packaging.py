"""Modules of pipelines (scripts/packaging) call this gassst, with options that it takes, and give full read groups."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pysam
import pytest

from gassst.cli.parser import build_parser, subparser_of
from gassst.version import __version__

ROOT = Path(__file__).parents[2]
PACKAGING = ROOT / "scripts" / "packaging"
DATA = ROOT / "tests" / "data"
NF = PACKAGING / "nf-core" / "modules" / "nf-core" / "gassst"
GALAXY = PACKAGING / "galaxy"
COMMANDS = [
    *sorted(PACKAGING.glob("nf-core/**/main.nf")),
    *sorted(PACKAGING.glob("snakemake/**/wrapper.py")),
    GALAXY / "gassst_map.xml",
]


def options_of(command: str) -> set[str]:
    """All options of `gassst COMMAND`."""
    parser = subparser_of(build_parser(command), command)
    return {option for action in parser._actions for option in action.option_strings}


def test_one_version_in_all_of_them():
    released = __version__.partition(".dev")[0]
    pinned = re.compile(
        r"gassst(?: =|=|:)(\d+\.\d+\.\d+)|TOOL_VERSION@\">([\d.]+)<|set version = \"([\d.]+)\""
    )
    folders = ("nf-core", "snakemake", "galaxy", "bioconda")
    files = [path for folder in folders for path in (PACKAGING / folder).rglob("*") if path.is_file()]
    found = {"".join(match) for path in files for match in pinned.findall(path.read_text())}
    assert found == {released}


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: "-".join(path.relative_to(PACKAGING).parts[-3:]))
def test_commands_name_options_that_exist_and_are_not_quiet(path):
    text = path.read_text()
    if path.suffix == ".xml":
        text = re.search(r"<!\[CDATA\[(.*?)\]\]>", text, re.DOTALL)[1]
    calls = re.findall(
        r"gassst (index|map|mem|gather)\b(.*?)(?=gassst (?:index|map|mem|gather)\b|\Z)", text, re.DOTALL
    )
    assert calls or "include" in text  # a subworkflow calls its modules
    for command, rest in calls:
        called = rest.partition("stub:")[0]
        words = set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", called)) & set(re.findall(r"\S+", called))
        assert "-q" not in words and "--quiet" not in words
        assert words - {"-n"} <= options_of(command), command


# --- nf-core --------------------------------------------------------------------------------------------------


def nf_command(module: str, values: dict[str, str]) -> str:
    """The shell command of a module for the values of its variables."""
    text = (NF / module / "main.nf").read_text().partition("script:")[2].partition("stub:")[0]
    script = re.search(r'"""\n(.*?)"""', text, re.DOTALL)[1].replace("\\\\", "\\")
    return re.sub(r"\$\{([\w.]+)\}", lambda name: values[name[1]], script)


def nf_read_group(args: str, reads: str, **meta: str) -> str:
    """What the module makes of its arguments: Groovy's patterns are those of Python here."""
    text = (NF / "map" / "main.nf").read_text()
    [(pattern, suffixes)] = re.findall(r"args =~ /(.*?)/ \|\| \"\$\{reads\}\" =~ /(.*?)/\n", text)
    if re.search(pattern, args) or re.search(suffixes, reads):
        return ""
    [template] = re.findall(r"has_group \? '' : \"(.*)\"\n", text)

    def value(found: re.Match[str]) -> str:
        name, _, otherwise = found[1].partition(" ?: ")
        return meta.get(
            name.removeprefix("meta."), meta.get(otherwise.removeprefix("meta."), otherwise.strip("'"))
        )

    return re.sub(r"\$\{(.*?)\}", value, template.replace("\\\\", "\\"))


@pytest.mark.parametrize(
    ("sort", "form", "args"),
    [(True, "cram", ""), (False, "bam", ""), (True, "bam", "--meth")],
)
def test_the_nf_core_modules_map_and_gather(tmp_path, sort, form, args):
    """Their shell commands, run as Nextflow would: two parts, which are joined."""
    (tmp_path / "gassst").write_text(f'#!/bin/sh\nexec {sys.executable} -m gassst "$@"\n')
    (tmp_path / "gassst").chmod(0o755)
    path = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": path}

    def run(module: str, **values: str) -> None:
        command = nf_command(module, {"task.cpus": "1", "args": "", **values})
        subprocess.run(
            ["bash", "-ec", command], check=True, cwd=tmp_path, env=environment, capture_output=True
        )

    shutil.copy(DATA / "phix174.fa.gz", tmp_path / "ref.fa.gz")
    reads = str(tmp_path / "reads.fq")
    with pysam.FastxFile(str(DATA / "phix_SRR1377138_R1.fastq.gz")) as file, open(reads, "w") as out:
        out.writelines(f"{record}\n" for record in file)
    run("index", fasta="ref.fa.gz", prefix="ref", args=args)
    group = nf_read_group("", reads, id="x", library="l")
    common = {"index": "ref.gsi", "reads": reads, "read_group": group, "sorting": "", "format": "bam"}
    run("map", **common, args=args, prefix="y", shard="", contigs="--coverage y.coverage.tsv")
    assert (tmp_path / "y.coverage.tsv").read_text().startswith("contig\t")
    for part in (1, 2):
        run("map", **common, args=args, prefix=f"x.{part}", shard=f"--shard {part}/2", contigs="")
    parts = {"parts": "x.1.bam x.2.bam", "part_stats": "x.1.json x.2.json"}
    parts["reference"] = "--reference ref.gsi" if form == "cram" else ""
    run("gather", **parts, sorting="--sort" if sort else "", format=form, prefix="x")
    with pysam.AlignmentFile(str(tmp_path / f"x.{form}"), check_sq=False) as file:
        header = file.header.to_dict()
        assert form == "cram" or any(record.has_tag("YD") for record in file) == bool(args)
    assert header["HD"]["SO"] == ("coordinate" if sort else "unsorted")
    assert header["RG"] == [{"ID": "x", "SM": "x", "LB": "l", "PL": "ILLUMINA"}]
    indexes = [*tmp_path.glob(f"x.{form}.*")]
    assert len(indexes) == sort
    assert {file.name for file in tmp_path.glob("x*_mqc.json")} >= {"x_mqc.json", "x_mapq_mqc.json"}


# --- bioconda -------------------------------------------------------------------------------------------------

CONDA_NAMES = {"isal": "python-isal", "zlib-ng": "python-zlib-ng", "matplotlib": "matplotlib-base"}


def rendered(text: str) -> dict:
    yaml, jinja2 = pytest.importorskip("yaml"), pytest.importorskip("jinja2")
    functions = {
        "compiler": lambda name: f"{name} compiler",
        "pin_subpackage": lambda name, **_: name,
        "pin_compatible": lambda name, **_: name,
        "PYTHON": "python",
        "PREFIX": "prefix",
    }
    return yaml.safe_load(jinja2.Template(text).render(functions))


def test_the_recipe_needs_what_the_package_needs():
    """With what draws reports, as conda knows no extras, and without PoCL."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    text = (ROOT / "setup.py").read_text()
    [listed] = re.findall(r"^REQUIREMENTS = (\[.*?^\])", text, re.MULTILINE | re.DOTALL)
    extra = project["optional-dependencies"]["report"]
    needed = [*ast.literal_eval(listed), *extra, "pysam", "python", "htslib"]
    names = {re.match(r"[\w.-]+", requirement)[0] for requirement in needed}
    recipe = rendered((PACKAGING / "bioconda" / "meta.yaml").read_text())
    run = {requirement.split()[0] for requirement in recipe["requirements"]["run"]}
    assert run == {CONDA_NAMES.get(name, name) for name in names}
    assert f"python {project['requires-python']}" in recipe["requirements"]["run"]
