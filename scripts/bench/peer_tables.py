"""Tables for people from the results of `peers.py` (its JSON)."""

from __future__ import annotations

MEGABYTE = 1 << 20
PAIR_SHARES = ("proper_share", "both_right_share", "proper_accuracy")
SHARES = ("mapped_share", "confident_share", "placed_right", "sensitivity", "accuracy")


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """A markdown table whose columns also line up as plain text; all but the first two are numbers."""
    cells = [header, *rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]

    def line(row: list[str]) -> str:
        padded = (
            c.ljust(w) if i < 2 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))
        )
        return f"| {' | '.join(padded)} |"

    rule = "|".join("-" * (w + 2) if i < 2 else "-" * (w + 1) + ":" for i, w in enumerate(widths))
    return "\n".join([line(header), f"|{rule}|", *map(line, rows)])


def number(value: float | None, digits: int = 1, scale: float = 1.0) -> str:
    return "-" if value is None else f"{value * scale:.{digits}f}"


def plural(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def rounds(n: int) -> str:
    return "each tool once" if n == 1 else f"median of {n} rounds, tools in turn"


def about(result: dict) -> str:
    """What was measured where."""
    machine, genome = result["machine"], result["reference"]
    lines = [
        f"Measured {result['date']} on {machine['cpu']}, {plural(machine['cores'], 'core')},"
        f" {machine['ram_gb']} GB, {machine['system']}, load {machine['load']} at the start.",
        f"Reference {genome['file']}, {genome['bytes'] / 1e6:.1f} MB; {plural(result['threads'], 'thread')};"
        f" {rounds(result['rounds'])}. Whole processes: index from disk, SAM to disk.",
    ]
    lines += [f"Missing: {name} ({how})." for name, how in result["missing"].items()]
    return "\n".join(lines)


def tools(result: dict) -> str:
    """Versions, and what index and start cost."""
    rows = []
    for name, tool in result["tools"].items():
        index, start = tool["index"] or {}, tool["start"] or {}
        usage = [number(index.get("wall")), number(index.get("cpu"))]
        memory = [number(index.get(key), 0, 1 / MEGABYTE) for key in ("rss", "bytes")]
        starts = [number(start.get(key), 2) for key in ("wall", "cpu")]
        rows.append([name, tool["version"], *usage, *memory, *starts])
    header = ["tool", "version", "index s", "CPU s", "RSS MB", "index MB", "start s", "start CPU s"]
    return markdown(header, rows)


def has_pairs(result: dict) -> bool:
    return any(one.get("paired") for one in result["sets"])


def pairs(result: dict) -> str:
    """Of pairs: placed right, properly paired, and CPU time in multiples of ours, a row for each set."""
    rows = []
    for one in result["sets"]:
        ours = one["runs"].get("gassst", {})
        row = [one["name"]]
        for name in result["tools"]:
            run = one["runs"][name]
            row += [number(run.get(key), 2, 100) for key in ("placed_right", "proper_share")]
            if name != "gassst":
                row.append(number(run["cpu"] / ours["cpu"], 2) if "cpu" in run and "cpu" in ours else "-")
        rows.append(row)
    header = ["reads"]
    for name in result["tools"]:
        header += [f"{name} right %", "proper %", *(["CPU / ours"] if name != "gassst" else [])]
    return markdown(header, rows)


def agreements(result: dict) -> str:
    """How many reads the tool agreed with places alike, where both are confident: a row for each set and tool."""
    rows = [
        [one["name"], name, str(found["both"]), str(found["same"]), number(found["share"], 3, 100)]
        for one in result["sets"]
        for name, run in one["runs"].items()
        if (found := run.get("agreement")) and name != result["agree_with"]
    ]
    return markdown(["reads", "tool", "both sure", "same place", "%"], rows)


def sets(result: dict) -> str:
    """A row for each set and tool."""
    agree_with = result["agree_with"]
    wanted = SHARES + (PAIR_SHARES if has_pairs(result) else ())
    rows = []
    for one in result["sets"]:
        for name, run in one["runs"].items():
            if "failed" in run:
                rows.append([one["name"], name, run["failed"], *["-"] * (5 + len(wanted) + bool(agree_with))])
                continue
            shares = [run.get(key) for key in wanted]
            row = [
                one["name"],
                name,
                number(run["wall"]),
                number(run["cpu"]),
                number(run["rss"] / MEGABYTE, 0),
            ]
            row += [number(run["reads_per_s"], 0), number(run["reads_per_cpu_s"], 0), number(run["net_us"])]
            row += [number(share, 2, 100) for share in shares]
            if agree_with:
                row.append(number(run["agreement"]["share"], 3, 100))
            rows.append(row)
    header = ["reads", "tool", "wall s", "CPU s", "RSS MB", "reads/s", "reads/CPU s", "net us/read"]
    header += ["mapped %", "MAPQ>=20 %", "right %", "sens. %", "acc. %"]
    header += ["proper %", "both right %", "right of proper %"] if has_pairs(result) else []
    return markdown(header + ([f"as {agree_with} %"] if agree_with else []), rows)


EXPLAIN = """\
net us/read: CPU time less that of a run with two reads, divided by the reads. right: of all reads, those
whose primary alignment is within 10 bases of the truth. sens., acc.: right with MAPQ >= 20, of all reads and of
those with MAPQ >= 20. RazerS 3 writes 255, which is no quality."""
EXPLAIN_PAIRS = """\
proper: both mates flagged as properly paired, of all pairs (without truth: of all reads). both right: pairs with
both mates right, of all pairs. right of proper: of the proper pairs."""


def everything(result: dict) -> str:
    parts = [about(result), tools(result), sets(result), EXPLAIN]
    if has_pairs(result):
        parts += [EXPLAIN_PAIRS, pairs(result)]
    if result["agree_with"]:
        parts += [f"Where both are sure (MAPQ >= 20), against {result['agree_with']}", agreements(result)]
    return "\n\n".join(parts)
