"""Small genomes, and files of random reads of them, for scripts/check/fuzz_options.py."""

from __future__ import annotations

import gzip
import random
from collections.abc import Mapping, Sequence
from contextlib import chdir
from pathlib import Path
from typing import NamedTuple

import pysam
from fuzz import PACKERS
from record_oracle import Key, Read, reverse_complement

from gassst.cli import main as cli

PHIX = Path(__file__).resolve().parents[2] / "tests" / "data" / "phix174.fa.gz"
ADAPTER = "TGGAATTCTCGGGTGCCAAGG"
ALIGNED = ("sam", "bam", "cram")


def bases_of(rng: random.Random, count: int) -> str:
    return "".join(rng.choices("ACGT", k=count))


class World:
    """Two genomes in a folder, as FASTA and as every kind of index: phiX, and one with repeats, ALT and N."""

    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir()
        rng = random.Random(1)
        unit = bases_of(rng, 300)
        one = bases_of(rng, 1500) + unit + bases_of(rng, 700) + "CA" * 60 + unit + bases_of(rng, 90)
        two = "N" * 40 + bases_of(rng, 800) + "RYK" + unit + "N" * 25 + bases_of(rng, 300)
        alt = "".join(rng.choice("ACGT") if rng.random() < 0.04 else base for base in one[1000:2200])
        made = {"one": one, "two:HLA*01": two, "alt": alt, "short": one[-70:], "shorter": bases_of(rng, 21)}
        phix = gzip.decompress(PHIX.read_bytes()).decode().upper().partition("\n")[2].replace("\n", "")
        self.genomes = {"phix": {"phix": phix}, "made": made}
        (folder / "made.alt").write_text("alt\n")
        with chdir(folder):
            for name, genome in self.genomes.items():
                for fasta in (f"{name}.fa", f"{name}.plain.fa"):  # the second one has no index beside it
                    Path(fasta).write_text("".join(f">{n} of {name}\n{s}\n" for n, s in genome.items()))
                self._make(name, "--alt made.alt" if name == "made" else "")

    def _make(self, name: str, alt: str) -> None:
        pysam.faidx(f"{name}.fa")
        mates, none = f"{name}.1.fq {name}.2.fq", "--device none"
        for line in (
            f"index {name}.fa {alt}",
            f"index {name}.fa {alt} --parts 2 -o {name}.parts.gsi",
            f"index {name}.fa --meth",
            f"simulate {name}.fa -n 300 -l 60 -e 0.02 --pairs 250,30 -o {mates.replace(' ', ' -o ')}",
            f"insert {name}.gsi {mates} {none} -o {name}.json",
            # Imports once what runs need.
            f"map {name}.gsi {mates} {none} -o {name}.bam --sort --markdup --stats {name}.stats.json",
        ):
            if cli.main([*line.split(), *(["-q"] if "simulate" not in line else [])]):
                raise RuntimeError(f"gassst {line}")


def sequenced(rng: random.Random, bases: str, rate: float) -> str:
    """With errors: other bases, N, inserted and deleted ones."""
    out = ""
    for base in bases:
        kind = rng.random() / rate if rate else 1
        changed = rng.choice("ACGTN") if kind < 0.7 else "" if kind < 0.8 else base
        out += changed + (bases_of(rng, rng.choice([1, 1, 7])) if 0.8 <= kind < 0.9 else "")
    return out


def random_reads(
    rng: random.Random, genome: Mapping[str, str], count: int, pairs: float = 0, is_meth: bool = False
) -> dict[Key, Read]:
    """Templates in order: ordinary ones, copies, chimeras, read-through, junk, ends of contigs, short and long ones."""
    reads: dict[Key, Read] = {}
    contigs, rate = list(genome.values()), rng.choice([0, 0.01, 0.05, 0.15])
    length, whole = rng.choice([20, 36, 60, 100, 100, 150, 250, 600]), ""
    for i in range(count):
        kind = rng.random()
        if kind > 0.1 or not whole:  # else a copy of the one before
            contig = rng.choices(contigs, weights=list(map(len, contigs)))[0]
            start = max(0, rng.randrange(-20, len(contig)))
            whole = contig[start : start + max(15, int(rng.gauss(250, 30)))]
            whole = reverse_complement(whole) if rng.random() < 0.5 else whole
        if kind > 0.93:
            other = rng.choice(["", bases_of(rng, 90), rng.choice(contigs)[-200:]])
            whole = rng.choice(["A" * 90, "N" * 50 + whole, contigs[0], whole[: rng.choice([9, 60])] + other])
        whole = whole.replace("C", "T") if is_meth and rng.random() < 0.8 else whole
        name = f"M0:1:FC:{1 + i * 2 // count}:1101:{100 + i}:{rng.randrange(2000)}:ACGT{'CAT'[i % 3]}"
        for mate in (1, 2) if rng.random() < pairs else (0,):
            own = length if rng.random() < 0.9 else rng.choice([1, 14, 15, 30, 1001, 4001])
            end = reverse_complement(whole) if mate == 2 else whole
            end += ADAPTER + "G" * 40 if rng.random() < 0.2 else ""
            bases = sequenced(rng, end[:own], rate) or "A"
            reads[name, mate] = bases, "".join(rng.choices("!#5?FIII", k=len(bases)))
    return reads


class Source(NamedTuple):
    """Reads of a case, how they are written in all of its runs, and what their files may be."""

    reads: Mapping[Key, Read]
    name: str  # of the genome
    world: World
    kinds: Sequence[str] = ()
    comment: str = ""
    suffix: str = ""  # of the names of mates, "/" and their number

    @property
    def mates(self) -> set[int]:
        return {mate for _, mate in self.reads}

    def put(self, rng: random.Random, folder: Path, kinds: Sequence[str] = ()) -> list[str]:
        """Write files of one kind, of these if there are any. Returns what names them on the command line."""
        own = random.Random(rng.random())  # so the layout does not depend on which kinds there are
        kind = own.choice([kind for kind in self.kinds if not kinds or kind in kinds])
        if kind in ALIGNED:
            self._write_alignments(folder / f"reads.{kind}", rng.random() < 0.5)
            more = ["--reference", f"../../world/{self.name}.fa"] if kind == "cram" else []
            return [f"reads.{kind}", *more, *(["--interleaved"] if len(self.mates) == 3 else [])]
        if len(self.mates) < 3 and rng.random() < 0.7:
            ones, twos = self.put_lanes(folder, kind, rng.choice([1, 2]))
            if not twos:
                return [*ones, "--single"]
            return [*ones, *twos] if len(ones) == 1 and rng.random() < 0.7 else ["-1", *ones, "-2", *twos]
        (folder / f"reads.{kind}").write_bytes(PACKERS[kind](self.text(self.reads)))
        return [f"reads.{kind}", *(["--interleaved"] if self.mates != {0} else [])]

    def put_lanes(
        self, folder: Path, kind: str, count: int, prefix: str = "lane"
    ) -> tuple[list[str], list[str]]:
        """Files of first mates or single reads, and those of second mates."""
        names = list(dict.fromkeys(name for name, _ in self.reads))
        lane = {name: i * count // len(names) for i, name in enumerate(names)}
        found: tuple[list[str], list[str]] = ([], [])
        for i in range(count):
            for second in {mate == 2 for mate in self.mates}:
                part = {k: v for k, v in self.reads.items() if lane[k[0]] == i and (k[1] == 2) == second}
                found[second].append(f"{prefix}{i + 1}_{1 + second}.fq.{kind}")
                (folder / found[second][-1]).write_bytes(PACKERS[kind](self.text(part)))
        return found

    def text(self, reads: Mapping[Key, Read]) -> bytes:
        """FASTQ, or FASTA where there are no qualities."""
        lines = []
        for (name, mate), (bases, quals) in reads.items():
            comment = self.comment.replace(" 1", f" {mate or 1}")
            head = f"{name}{self.suffix and mate and f'/{mate}' or ''}{comment}"
            lines += [f">{head}", bases] if quals is None else [f"@{head}", bases.lower(), "+", quals]
        return "".join(f"{line}\n" for line in lines).encode()

    def _write_alignments(self, path: Path, are_mapped: bool) -> None:
        """Unmapped records, or those of another mapper: with reverse strands, and a tag that means nothing now."""
        contigs = [{"SN": name, "LN": len(bases)} for name, bases in self.world.genomes[self.name].items()]
        header, mode = (
            {"HD": {"VN": "1.6"}, "SQ": contigs},
            {"sam": "wh", "bam": "wb"}.get(path.suffix[1:], "wc"),
        )
        fasta = str(self.world.folder / f"{self.name}.fa")
        with pysam.AlignmentFile(str(path), mode, header=header, reference_filename=fasta) as file:
            for i, ((name, mate), (bases, quals)) in enumerate(self.reads.items()):
                record = pysam.AlignedSegment(file.header)
                record.query_name, record.flag = name, (4, 77, 141)[mate]
                if are_mapped and len(bases) < 900:
                    record.reference_id, record.reference_start, record.cigartuples = 0, i, [(0, len(bases))]
                    record.flag += 16 * (i % 3 == 0) - 4
                    record.set_tag("AS", 7)
                record.query_sequence = reverse_complement(bases) if record.is_reverse else bases
                step = -1 if record.is_reverse else 1
                record.query_qualities = pysam.qualitystring_to_array((quals or "")[::step])
                file.write(record)
