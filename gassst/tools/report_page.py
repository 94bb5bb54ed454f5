"""HTML of the report: the page, its style sheet, panels and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from string import Template
from typing import Any

STYLE = """
:root {
  color-scheme: light dark;
  --paper: #fff; --ink: #1b1f24; --muted: #57606a; --line: #d8dee4; --tile: #f3f6f9;
  --blue: #0072b2; --orange: #d55e00; --green: #009e73; --pink: #cc79a7; --gold: #b8860b; --sky: #3a8fc4;
  --purple: #6f4bb0;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --paper: #12161b; --ink: #e6e9ec; --muted: #9aa4ae; --line: #2d343c; --tile: #1b2129;
    --blue: #56b4e9; --orange: #e69f00; --green: #2fc79a; --pink: #e39ac6; --gold: #d9b44a; --sky: #8ccbf0;
    --purple: #b79ff0;
  }
}
* { box-sizing: border-box }
body {
  margin: 0 auto; padding: 1.5rem clamp(1rem, 4vw, 2.5rem); max-width: 76rem;
  background: var(--paper); color: var(--ink);
  font: 1rem/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
}
h1 { font-size: 1.5rem; margin: 0 }
h2 { font-size: 1.05rem; margin: 0 0 .25rem }
p { margin: 0 0 .5rem; color: var(--muted); font-size: .9rem }
header .facts {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 0 2.5rem;
  margin: .5rem 0 1rem;
}
header .facts > :last-child { grid-column: 1/-1 }
header .facts div { grid-template-columns: 5.5rem 1fr }
dl, dd, figure { margin: 0 }
.tiles { display: flex; flex-wrap: wrap; gap: .75rem; margin-bottom: 1rem }
.tiles div { flex: 1 1 min(12rem, 45%); background: var(--tile); border-radius: .5rem; padding: .75rem 1rem }
.tiles dt { color: var(--muted); font-size: .85rem }
.tiles dd { font-size: 1.6rem; font-weight: 600; font-variant-numeric: tabular-nums }
.tiles small { display: block; font-size: .8rem; font-weight: 400; color: var(--muted) }
.panels {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 0 2.5rem;
}
.panel { border-top: 1px solid var(--line); padding: 1rem 0 1.25rem; min-width: 0 }
.wide { grid-column: 1/-1 }
svg { display: block; width: 100%; max-width: 32rem; height: auto }
.wide svg { max-width: 52rem }
svg * { stroke-linejoin: round; stroke-linecap: butt; font-family: inherit !important }
.scroll { overflow: auto; max-height: 22rem }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums }
th, td { padding: .15rem 0 .15rem .9rem; text-align: right; font-weight: 400 }
th:first-child { padding-left: 0 }
th:first-child, .text { text-align: left }
thead th { position: sticky; top: 0; background: var(--paper); color: var(--muted); vertical-align: bottom }
tbody tr { border-top: 1px solid var(--line) }
summary { cursor: pointer; color: var(--muted); font-size: .9rem; padding: .35rem 0 }
.facts { font-size: .9rem }
.facts div {
  display: grid; grid-template-columns: minmax(5.5rem, 24%) 1fr; gap: .75rem; padding: .15rem 0;
  border-top: 1px solid var(--line);
}
.facts dt { color: var(--muted) }
.facts dd { overflow-wrap: anywhere }
.small { display: grid; grid-template-columns: repeat(auto-fill, minmax(8rem, 1fr)); gap: .75rem 1.25rem }
.small svg { height: 3rem }
.small polyline { fill: none; stroke: var(--blue); stroke-width: 1.3; vector-effect: non-scaling-stroke }
.small .floor { stroke: var(--line); vector-effect: non-scaling-stroke }
.small figcaption { font-size: .8rem; color: var(--muted); overflow-wrap: anywhere }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }
@media (max-width: 30rem) {
  table { font-size: .75rem }
  th, td { padding-left: .45rem }
}
@media print {
  :root { font-size: 12px }
  body { padding: 0; max-width: none }
  .panels { grid-template-columns: 1fr 1fr }
  .panel, .tiles div { break-inside: avoid }
  .tiles div { border: 1px solid var(--line) }
  svg { max-width: 26rem }
  th, td { padding-left: .5rem }
  .scroll { max-height: none; overflow: visible }
  details:not([open]) { display: none }
}
"""

PAGE = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>gassst: $title</title>
<style>$style</style>
</head>
<body>
<header><h1>$title</h1>$head</header>
<main>
$tiles
<div class="panels">
$panels
</div>
</main>
</body>
</html>
""")


def percent(part: float, whole: float, digits: int = 2) -> str:
    """A share as text, a dash where there is no whole."""
    return f"{100 * part / whole:.{digits}f}\N{NO-BREAK SPACE}%" if whole else "–"


def text_of(value: Any) -> str:
    """A parameter as people read it."""
    if value is None or isinstance(value, bool):
        return "default" if value is None else "yes" if value else "no"
    if isinstance(value, dict):
        given = {name: each for name, each in value.items() if each is not None}
        return (
            ", ".join(f"{str(name).replace('_', ' ')} {text_of(each)}" for name, each in given.items())
            or "none"
        )
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)) or "none"
    return f"{value:,}" if isinstance(value, int) else str(value)


def page(title: str, head: str, tiles: str, panels: Iterable[str]) -> str:
    """The whole page; `title` is text, the others are HTML."""
    content = "\n".join(filter(None, panels))
    return PAGE.substitute(style=STYLE, title=escape(title), head=head, tiles=tiles, panels=content)


def folded(title: str, panels: Iterable[str]) -> str:
    """Panels behind a line of text, by which they are shown."""
    content = "\n".join(filter(None, panels))
    summary = f"<summary>{escape(title)}</summary>"
    return (
        f'<details class="wide">{summary}\n<div class="panels">{content}</div></details>' if content else ""
    )


def tiles(values: Iterable[tuple[str, str, str]]) -> str:
    """The few figures at the top: (name, value, remark) each."""
    cells = (
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}<small>{escape(remark)}</small></dd></div>"
        for name, value, remark in values
    )
    return f'<dl class="tiles">\n{"".join(cells)}\n</dl>'


def panel(name: str, title: str, note: str, *parts: str, wide: bool = False) -> str:
    """A section with its heading and a line that says what is seen; `parts` are HTML."""
    line = f"<p>{escape(note)}</p>" if note else ""
    classes = "panel wide" if wide else "panel"
    content = "\n".join(parts)
    return f'<section class="{classes}" id="{name}"><h2>{escape(title)}</h2>{line}\n{content}\n</section>'


def plot_and_table(plot: str, table: str) -> str:
    """A plot and, folded, the table of its values."""
    return f"<figure>{plot}</figure>\n<details><summary>Numbers</summary>{table}</details>"


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table whose first column names its rows: int with commas, float with two digits, text, None."""
    rows = list(rows)
    texts = {at for row in rows for at, value in enumerate(row) if at and isinstance(value, str)}
    kinds = [' class="text"' if at in texts else "" for at in range(len(head))]
    titles = "".join(
        f'<th scope="col"{kind}>{escape(title)}</th>' for kind, title in zip(kinds, head, strict=True)
    )
    body = "\n".join(
        f'<tr><th scope="row">{escape(str(first))}</th>{"".join(map(_cell, rest))}</tr>'
        for first, *rest in rows
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}">'
        f'<table><caption class="hidden">{escape(caption)}</caption>'
        f"<thead><tr>{titles}</tr></thead><tbody>\n{body}\n</tbody></table></div>"
    )


def _cell(value: Any) -> str:
    if value is None:
        return "<td>–</td>"
    if isinstance(value, str):
        return f'<td class="text">{escape(value)}</td>'
    return f"<td>{value:,}</td>" if isinstance(value, int) else f"<td>{value:,.2f}</td>"


def facts(values: dict[str, str]) -> str:
    """A list of names and what they are."""
    rows = "\n".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in values.items()
    )
    return f'<dl class="facts">\n{rows}\n</dl>'
