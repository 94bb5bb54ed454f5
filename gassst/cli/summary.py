"""What `gassst map` says at the end: the answers a user looks for, and with -v what the search did for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gassst.cli.progress import clock
from gassst.model.stats import CONFIDENT

if TYPE_CHECKING:
    from gassst.model.stats import Stats

MOST_LIBRARIES = 8  # rows


def summary(stats: Stats, seconds: float | None = None) -> str:
    """A short table of a run that took `seconds`; None for parts that several machines have mapped."""
    rows = [
        ("reads", f"{stats.reads:,}", ""),
        ("mapped", f"{stats.mapped:,}", _percent(stats.mapped, stats.reads)),
        (f"MAPQ >= {CONFIDENT}", f"{stats.confident:,}", _percent(stats.confident, stats.reads)),
    ]
    if stats.mapq:
        several = stats.mapq[0]
        rows += [
            ("one position", f"{stats.mapped - several:,}", _percent(stats.mapped - several, stats.reads)),
            ("several", f"{several:,}", f"{_percent(several, stats.reads)}, equally likely (MAPQ 0)"),
            (
                "unmapped",
                f"{stats.reads - stats.mapped:,}",
                _percent(stats.reads - stats.mapped, stats.reads),
            ),
        ]
    for name, count in (("adapters cut", stats.trimmed), ("too short", stats.too_short)):
        if stats.trimmed and count:
            rows.append((name, f"{count:,}", _percent(count, stats.reads)))
    if stats.copies:
        share = _percent(stats.copies_mapped, stats.copies)
        rows += [("copies", f"{stats.copies:,}", ""), ("copies mapped", f"{stats.copies_mapped:,}", share)]
    if stats.pairs:
        rows += [
            ("pairs", f"{stats.pairs:,}", ""),
            ("proper pairs", f"{stats.proper:,}", _percent(stats.proper, stats.pairs)),
        ]
        rows += _insert_size(stats.run)
    rows += _libraries(stats.run)
    if stats.duplicates:
        rows.append(("duplicates", f"{stats.duplicates:,}", _percent(stats.duplicates, stats.mapped)))
    if seconds is not None:
        speed = f"{stats.reads / seconds:,.0f} reads/s" if seconds > 0 else ""
        rows.append(("mapping time", f"{seconds:.2f} s" if seconds < 60 else clock(seconds), speed))
    return "\n".join(f"{name:<14}{value:>14}  {note}".rstrip() for name, value, note in rows)


def _insert_size(run: dict[str, Any]) -> list[tuple[str, str, str]]:
    """One row, or none where no run has said what insert size it used."""
    insert = run.get("insert")
    if not insert:
        return []
    learned = f"learned from {insert['pairs']:,} pairs"
    given = run.get("parameters", {}).get("insert") is not None
    source = learned if insert["pairs"] else "as given" if given else "assumed: too few pairs to learn from"
    return [("insert size", f"{insert['mean']:.0f} +- {insert['sd']:.0f}", source)]


def _libraries(run: dict[str, Any]) -> list[tuple[str, str, str]]:
    """A row for each library that a run met, the largest first, if there are several."""
    found = sorted(run.get("libraries", []), key=lambda library: -library["reads"])
    if len(found) < 2:
        return []
    from gassst.runs.libraries import library_text

    rows = [("libraries", f"{len(found):,}", "as the errors and insert sizes of the reads differ")]
    return rows + [("", f"{one['share']:.2%}", library_text(one)) for one in found[:MOST_LIBRARIES]]


def internals(stats: Stats) -> str:
    """What the search did: counts that explain speed and sensitivity."""
    edits = sum(k * v for k, v in stats.errors.items()) / max(stats.mapped, 1)
    rows = [
        ("errors per mapped read", f"{edits:.3f}", ""),
        ("reads with a seed passed over", f"{stats.capped:,}", _percent(stats.capped, stats.reads)),
        ("seed occurrences", f"{stats.occurrences:,}", ""),
        ("anchors made of them", f"{stats.candidates:,}", ""),
        ("bands scored", f"{stats.scored:,}", f"{stats.on_device['scored']:.1%} by OpenCL"),
        ("of these beside a mate", f"{stats.rescued:,}", ""),
        ("alignments traced back", f"{stats.traced:,}", f"{stats.on_device['traced']:.1%} by OpenCL"),
    ]
    kernel, *moved = (stats.on_device[f"{name}_seconds"] for name in ("kernel", "upload", "download"))
    if kernel:
        rows.append(
            (
                "seconds of OpenCL kernels",
                f"{kernel:.3f}",
                "{:.3f} of uploads, {:.3f} of downloads".format(*moved),
            )
        )
    lines = [f"{name:<30}{value:>14}  {note}".rstrip() for name, value, note in rows]
    return "\n".join([*lines, str(stats.funnel)] if stats.funnel.stages else lines)


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / max(whole, 1):.2f} %"
