"""Several classifiers on one self-contained HTML page: costs, shares side by side, and who differs from whom."""

from __future__ import annotations

from html import escape

from classifiers.comparison import Agreement, Comparison, letter
from classifiers.scorecard import Share
from classifiers.scorecard_page import confusion_table, details, document, share


def comparison_page(comparison: Comparison) -> str:
    """The whole report. Everything from papers and labels is escaped: their text cannot become markup."""
    readers = comparison.first_runs
    title = f"{len(readers)} classifiers on {len(readers[0].said)} gold papers"
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p>Gold folder: {escape(comparison.gold)}. Shares are k of n with Wilson's 95 % interval.</p>",
        _costs(comparison),
        "<h2>Against the labels</h2>",
        _shares(comparison),
    ]
    for heading, listed in (
        ("Between classifiers", comparison.between),
        ("Runs of one classifier", comparison.within),
    ):
        if listed:
            parts += [f"<h2>{heading}</h2>", *(_pair(one) for one in listed)]
    parts.append("<h2>Confusion with the labels</h2>")
    for one in readers:
        tables = [
            confusion_table(f"{t.measure.name}, {t.against}", t.confusion, "theirs", "ours")
            for t in one.card.tallies
            if t.confusion
        ]
        parts.append(details(one.name, "".join(tables)))
    return document(title, parts)


def _costs(comparison: Comparison) -> str:
    head = "<tr><th></th><th>classifier</th><th>papers</th><th>cost and tokens</th><th>a paper</th></tr>"
    rows = [
        f"<tr><td><b>{letter(n)}</b></td><td>{escape(one.name)}</td><td class=n>{len(one.said)}</td>"
        f"<td class=n>{escape(str(one.cost))}</td><td class=n>{escape(str(one.cost.of_one(len(one.said))))}</td></tr>"
        for n, one in enumerate(comparison.first_runs)
    ]
    return f"<table>{head}{''.join(rows)}</table>"


def _shares(comparison: Comparison) -> str:
    head = "".join(f"<th>{letter(n)}</th>" for n in range(len(comparison.first_runs)))
    rows = []
    for measure, against, shares in comparison.by_measure():
        cells = "".join(f"<td class=n>{share(s) if isinstance(s, Share) else escape(s)}</td>" for s in shares)
        rows.append(f"<tr><td>{escape(measure)}</td><td>{escape(against)}</td>{cells}</tr>")
    return f'<div class="wide"><table><tr><th>measure</th><th>against</th>{head}</tr>{"".join(rows)}</table></div>'


def _pair(one: Agreement) -> str:
    table = confusion_table("", one.confusion, one.first, one.second) if one.confusion else ""
    rows = "".join(f"<tr><td>{escape(w)}</td><td>{escape(a)}</td><td>{escape(b)}</td></tr>" for w, a, b in one.differ)
    differ = f"<table><tr><th>where</th><th>{escape(one.first)}</th><th>{escape(one.second)}</th></tr>{rows}</table>"
    summary = f"{one.question}: {one.agree} · {one.first} / {one.second}"
    return details(summary, table + (differ if rows else ""))
