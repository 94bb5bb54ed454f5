"""What to use here for options that bwa, bowtie2, minimap2 and samtools have made a habit.

`HINTS` are added to a usage error; `NOTES` go to the log where such an option is valid here but means something else.
"""

from __future__ import annotations

import re

_PRESETS = ("very-fast", "fast", "sensitive", "very-sensitive")  # of bowtie2

HINTS = {
    # Valid here, with another kind of value.
    "-p": "Here -p is the least identity in percent. Threads (-p of bowtie2) are set by -t, interleaved pairs "
    "(-p of bwa) by --interleaved.",
    "-O": "Here -O is the output format. The gap open penalty (-O of bwa and minimap2) is set by --gap-open.",
    "-w": "Here -w is the seed length. The band (-w of bwa) is set by -g.",
    "-k": "Here -k is the most alignments reported per read. The seed length (-k of bwa and minimap2) is set by -w.",
    "-s": "Here -s is the sensitivity, from 0 to 5.",
    "-M": "Here -M takes no value.",
    "-5": "Here -5 takes no value. --preset hic maps Hi-C reads (-5SP of bwa).",
    # Unknown here.
    "-a": "--all reports every alignment of whole reads (-a of bowtie2), --all --mode local every local one (-a of "
    "bwa). SAM output (-a of minimap2) needs no option.",
    "-x": "The index is the first argument (-x of bowtie2). No preset is needed (-x of minimap2): seeds follow from "
    "the reads.",
    "-ax": "Neither SAM output nor a preset needs an option (-ax sr of minimap2).",
    "-U": "Single reads are named after the index (-U of bowtie2), with --single if there are several files.",
    "-S": "The output (-S of bowtie2) is named by -o. --no-rescue leaves mate rescue out (-S of bwa).",
    "-SP": "--preset hic maps Hi-C reads (-5SP of bwa).",
    "-I": "The insert size (-I of bwa and bowtie2) is learned from the reads, or set by --insert MEAN,SD.",
    "-X": "The insert size (-X of bowtie2) is learned from the reads, or set by --insert MEAN,SD.",
    "--minins": "The insert size is learned from the reads, or set by --insert MEAN,SD.",
    "--maxins": "The insert size is learned from the reads, or set by --insert MEAN,SD.",
    "-N": "-k sets how many alignments are reported per read (-N of minimap2).",
    "--secondary": "One alignment is reported per read; -k sets how many.",
    "-D": "-s sets how much work goes into a read (-D of bwa and bowtie2).",
    "-@": "-t sets the number of threads (-@ of samtools).",
    "-b": "A name that ends in .bam, or -O bam, gives BAM (-b of samtools).",
    "-f": "FASTA and FASTQ are told by their content (-f of bowtie2).",
    "-c": "CIGARs are always written (-c of minimap2).",
    "-r": "The band is set by -g (-r of minimap2).",
    "--local": "--mode local clips the ends of reads.",
    "--end-to-end": "--mode global aligns whole reads.",
    "--rg": r"The read group is set by -R '@RG\tID:x\tSM:y'.",
    "--rg-id": r"The read group is set by -R '@RG\tID:x\tSM:y'.",
    "--no-unal": "--no-unmapped leaves unmapped reads out.",
    **dict.fromkeys(("--un", "--un-gz"), "--unmapped FILE.fq.gz takes the unmapped reads."),
    "--un-conc": "--unmapped R1.fq --unmapped2 R2.fq takes pairs of which no mate is mapped.",
    "--un-conc-gz": "--unmapped R1.fq.gz --unmapped2 R2.fq.gz takes pairs of which no mate is mapped.",
    "--use-read-groups": "--markdup-within read-group marks read groups apart.",
    "--sam": "SAM is written by default, and wherever the output is named .sam.",
    "--bam": "A name that ends in .bam, or -O bam, gives BAM.",
    "--norc": "--strand + searches the forward strand alone (--norc of bowtie2).",
    "--nofw": "--strand - searches the reverse strand alone (--nofw of bowtie2).",
    "-u": "--upto maps this many reads alone (-u of bowtie2).",
    "-3": "--trim3 cuts bases from the 3' end, --trim5 from the 5' end (-3 and -5 of bowtie2).",
    "--al": "Mapped reads are in the output, whose unmapped ones --no-unmapped leaves out (--al of bowtie2).",
    "--aemb": "--coverage FILE.tsv writes a table of contigs, with their abundance (--aemb of strobealign).",
    "--met-file": "--stats FILE.json takes the figures of the run (--met-file of bowtie2).",
    "--score-min": "-T sets the least score of a local alignment, and -p the least identity of a whole read.",
    "--ma": "-A sets the score of a match (--ma of bowtie2).",
    "--mp": "-B sets the penalty of a mismatch (--mp of bowtie2).",
    **dict.fromkeys(
        ("--rdg", "--rfg"), "--gap-open and -E set the penalties of gaps (--rdg and --rfg of bowtie2)."
    ),
    "-m": "--unique omits reads with several positions (-m 1 of bowtie); the summary counts them.",
    "--MD": "The MD tag is always written.",
    "--seed": "Nothing is random here (--seed of bowtie2 and minimap2). The seed length is set by -w.",
    "--no-mixed": "Every mate is reported, paired or not (--no-mixed of bowtie2). Proper pairs have flag 0x2.",
    "--no-discordant": "Every pair is reported (--no-discordant of bowtie2). Proper pairs have flag 0x2.",
    "--phred64": "Qualities are Phred+33 (--phred64 of bowtie2). Convert others first (seqtk seq -Q64 -V).",
    "--phred33": "Qualities are always Phred+33 (--phred33 of bowtie2).",
    "--dovetail": "Mates that extend past each other are proper pairs wherever the insert size fits (--dovetail of "
    "bowtie2).",
    **{
        f"--{name}{mode}": "-s sets the sensitivity, from 0 to 5."
        for name in _PRESETS
        for mode in ("", "-local")
    },
}

INDEX_HINTS = {
    "-p": "The index is named by -o REF.gsi (-p of bwa).",
    "-a": "The kind of index needs no option (-a of bwa).",
    "-f": "FASTA is recognised by content (-f of bowtie2-build).",
    "-d": "The index is named by -o REF.gsi (-d of minimap2).",
    "": "The index is named by -o REF.gsi, not behind the FASTA (bowtie2-build).",
}
"""Of `gassst index`; the last is for a second argument."""
SEED_LENGTHS = {15: "minimap2", 19: "bwa mem", 21: "minimap2 -x sr"}  # their default -k


def hint_for(token: str, command: str = "map") -> str:
    """The hint for an option as it was typed, '' if there is none: '-x', '-ax', '-@8', '--secondary=no'."""
    if command == "index":
        return INDEX_HINTS.get(token.partition("=")[0][:2] if token.startswith("-") else "", "")
    if command != "map":
        return ""
    name = token.partition("=")[0]
    return HINTS.get(name) or ("" if name.startswith("--") else HINTS.get(name[:2], ""))


def hint_in(message: str) -> str:
    """The hint for the option that a usage error begins with, '' if there is none."""
    found = re.match(r"(?:argument )?(-\w)\b", message)
    return HINTS.get(found[1], "") if found else ""


def similar(token: str, options: list[str]) -> str:
    """'Did you mean --x?' for a misspelt long option, else ''."""
    from difflib import get_close_matches

    close = get_close_matches(token[2:].partition("=")[0], [name[2:] for name in options], 1, CLOSE)
    return f"Did you mean --{close[0]}?" if close and token.startswith("--") else ""


CLOSE = 0.66  # of `get_close_matches`: mpa is close to map; sort is not close to report, nor rdg to shard
NO_LEVEL = "here -v takes no number (-v of bwa); -q says less"
COMMANDS_ELSEWHERE = {
    "help": "--help",
    "version": "--version",
    "aln": "map",
    "samse": "map",
    "sampe": "map",
    "build": "index",
    "sort": "map --sort",
    "markdup": "map --sort --markdup",
}


def other_command(token: str, commands: list[str]) -> str:
    """'Did you mean `gassst map`?' for a command of another mapper, or a misspelt one, else ''."""
    from difflib import get_close_matches

    meant = COMMANDS_ELSEWHERE.get(token) or next(iter(get_close_matches(token, commands, 1, CLOSE)), "")
    return f"Did you mean `gassst {meant}`?" if meant else ""


def note_on_max_hits(max_hits: int) -> str:
    """A remark where the number of alignments looks like another mapper's seed length, else ''."""
    tool = SEED_LENGTHS.get(max_hits)
    if tool is None:
        return ""
    return f"-k {max_hits} reports up to {max_hits} alignments per read; the seed length (-k of {tool}) is set by -w"


def note_on_ignored(bases_at_once: str | None, processes: str | None) -> str:
    """A remark where -K of bwa is given, or --processes of earlier versions, else ''."""
    if bases_at_once is not None:
        return f"-K {bases_at_once} is ignored: records do not depend on batches"
    return "" if processes is None else "--processes does nothing any more: the threads of one process map"


def note_on_stdout(output: str, sort: bool, file_format: str | None) -> str:
    """A remark where sorted records go to standard output, which samtools sort writes as BAM, else ''."""
    if output != "-" or not sort or file_format is not None:
        return ""
    return "standard output is SAM; -O bam writes BAM, and so does -o with a name that ends in .bam"


def note_on_mode(mode: str | None, min_identity: float | None, is_single: bool) -> str:
    """A remark where an option that limits whole reads has chosen the mode, else ''."""
    if mode is not None or min_identity is None or not is_single:
        return ""
    return f"-p {min_identity:g} limits whole reads, so they are aligned as by --mode global; --mode local clips others"
