"""The scorecard as one self-contained HTML page: no script, no font, no request."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from classifiers.judged import MEASURES, Judged
from classifiers.scorecard import Scorecard, Share

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #5b6570; --line: #d9dee4; --paper: #fff; --bar: #2f6fb2;
  --span: #a9c8e8; --wash: #f5f7f9; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --soft: #9aa5b1; --line: #39424c; --paper: #14181c;
  --bar: #7fb4ea; --span: #31506f; --wash: #1c2228; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 76rem;
  margin: 2rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.5rem; margin-bottom: .25rem } h2 { font-size: 1.15rem; margin: 2.2rem 0 .5rem }
p, td small { color: var(--soft) } a { color: var(--bar) }
table { border-collapse: collapse; width: 100% } td, th { text-align: left; vertical-align: top; padding: .35rem .6rem;
  border-bottom: 1px solid var(--line) } th { font-weight: 600; color: var(--soft); font-size: .85rem }
td.n { font-variant-numeric: tabular-nums; white-space: nowrap } tr.first td { border-top: 2px solid var(--line) }
.scale { position: relative; display: inline-block; width: 8rem; height: .6rem; background: var(--wash);
  border: 1px solid var(--line); vertical-align: middle; margin-right: .5rem }
.scale i { position: absolute; top: 0; bottom: 0; background: var(--span) }
.scale b { position: absolute; top: -2px; bottom: -2px; width: 3px; background: var(--bar) }
details { margin: .4rem 0; border: 1px solid var(--line); border-radius: 4px; padding: .4rem .8rem }
table.small { width: auto }
summary { cursor: pointer; font-weight: 600 } details table { margin: .5rem 0 }
td.evidence { overflow-wrap: anywhere; font-size: .87rem; width: 38% }
.wide { overflow-x: auto }
"""


def page(card: Scorecard) -> str:
    """The whole report. Everything from papers and labels is escaped: their text cannot become markup."""
    title = f"{card.classifier} on {len(card.papers)} gold papers"
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p>Gold folder: {escape(card.gold)}. Shares are k of n with Wilson's 95 % interval (bar). <b>both</b>: only "
        "labels on which the two readers agree; <b>either</b>: among any reader's labels; <b>record</b>: a fetched "
        "repository decides. Open answers are undetermined; they count in recall as a miss, and nowhere else.</p>",
        _measures(card),
        _confusions(card),
        "<h2>Disagreements</h2>",
        _by_measure(card.disagreements) or "<p>None.</p>",
        "<h2>Left open</h2>",
        _by_measure(card.left_open) or "<p>Nothing.</p>",
    ]
    if card.trouble:
        rows = "".join(f"<tr><td>{escape(paper)}</td><td>{escape(why)}</td></tr>" for paper, why in card.trouble)
        parts.append(f"<h2>Papers without an answer</h2><table>{rows}</table>")
    return document(title, parts)


def document(title: str, parts: Iterable[str]) -> str:
    """A whole page around its parts."""
    head = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>",
    ]
    return "\n".join([*head, *parts, "</body></html>\n"])


def details(summary: str, inner: str) -> str:
    """A part that opens; `inner` is markup."""
    return f"<details><summary>{escape(summary)}</summary>{inner}</details>"


def _measures(card: Scorecard) -> str:
    head = "".join(
        f"<th>{h}</th>" for h in ("measure", "against", "agree", "open", "precision", "recall", "readers agree")
    )
    rows = []
    last = ""
    for one in card.tallies:
        new = one.measure.name != last
        last = one.measure.name
        name = f"<b>{escape(last)}</b><br><small>{escape(one.measure.about)}</small>" if new else ""
        span = sum(t.measure.name == last for t in card.tallies)
        name = f'<td rowspan="{span}">{name}</td>' if new else ""
        readers = f'<td class="n" rowspan="{span}">{share(one.readers)}</td>' if new else ""
        rows.append(
            f'<tr{" class=first" if new else ""}>{name}<td>{one.against}</td><td class="n">{_bar(one.agree)}</td>'
            f'<td class="n">{one.open or ""}</td><td class="n">{share(one.precision)}</td>'
            f'<td class="n">{share(one.recall)}</td>{readers}</tr>'
        )
    return f'<div class="wide"><table><tr>{head}</tr>{"".join(rows)}</table></div>'


def _bar(one: Share) -> str:
    if not one.n:
        return ""
    low, high = one.interval
    scale = (
        f'<span class="scale"><i style="left:{100 * low:.1f}%;width:{100 * (high - low):.1f}%"></i>'
        f'<b style="left:calc({100 * one.k / one.n:.1f}% - 1px)"></b></span>'
    )
    return scale + share(one)


def share(one: Share | None) -> str:
    """k of n with its interval; nothing where nothing was compared."""
    if one is None or not one.n:
        return ""
    low, high = one.interval
    return f"{one.k}/{one.n} <small>{one.k / one.n:.2f} [{low:.2f}, {high:.2f}]</small>"


def _confusions(card: Scorecard) -> str:
    tables = "".join(
        confusion_table(f"{one.measure.name}, {one.against}", one.confusion, "theirs", "ours")
        for one in card.tallies
        if len(one.confusion) > 1
    )
    return details("Confusion, measure by measure", tables) if tables else ""


def confusion_table(title: str, counted: Iterable[tuple[str, str, int]], row: str, column: str) -> str:
    """How often each answer of one side met each of the other: (answer of the rows, of the columns, how often)."""
    counts = {(a, b): n for a, b, n in counted}
    columns = sorted({b for _, b in counts})
    head = "".join(f"<th>{escape(column)}: {escape(b)}</th>" for b in columns)
    rows = "".join(
        f"<tr><th>{escape(row)}: {escape(a)}</th>"
        + "".join(f"<td class=n>{counts.get((a, b), '')}</td>" for b in columns)
        + "</tr>"
        for a in sorted({a for a, _ in counts})
    )
    named = f"<p><b>{escape(title)}</b></p>" if title else ""
    return f"{named}<table class=small><tr><th></th>{head}</tr>{rows}</table>"


def _by_measure(listed: Iterable[Judged]) -> str:
    judged = list(listed)
    out = []
    for measure in MEASURES:
        mine = [one for one in judged if one.measure == measure.name]
        if not mine:
            continue
        rows = "".join(
            f"<tr><td>{escape(one.paper)}<br><small>{one.against}</small></td><td>{escape(one.theirs)}</td>"
            f"<td>{escape(one.ours or 'open')}</td><td class=evidence>{escape(one.our_evidence)}</td>"
            f"<td class=evidence>{escape(one.their_evidence)}</td></tr>"
            for one in mine
        )
        head = "<tr><th>paper</th><th>theirs</th><th>ours</th><th>our evidence</th><th>their evidence</th></tr>"
        out.append(
            f"<details><summary>{escape(measure.name)} ({len(mine)})</summary><table>{head}{rows}</table></details>"
        )
    return "".join(out)
