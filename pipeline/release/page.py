"""The report of a release: one HTML page that opens offline, without scripts, made from the frozen tables."""

from __future__ import annotations

from pathlib import Path

from pipeline.release.contents import ROW_WORDS, SPLITS, Contents, by_tier_and_band, funnel_steps, hours_by_tier
from pipeline.release.plots import figures

_CAPTIONS = (
    (
        "hours.svg",
        "Hours of each row by tier: eval filled, dev hollow, a bar at the median of eval, dashes at the bands' edges.",
    ),
    ("months.svg", "When the papers of both splits were first posted."),
    ("funnel.svg", "From the index to the splits."),
    ("pool.svg", "The pool by tier and band."),
    ("agreement.svg", "How far two people agree who answered the same rows blind."),
)


def page(contents: Contents, drawn: dict[str, str] | None = None) -> str:
    """`drawn`: the release's figures, where they are drawn already."""
    import jinja2

    template = Path(__file__).with_name("page.html.j2").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    found = {name: inline(svg) for name, svg in (drawn or figures(contents)).items()}
    return environment.from_string(template).render(
        c=contents,
        steps=funnel_steps(contents),
        captions=[one for one in _CAPTIONS if one[0] != "agreement.svg" or contents.agreement["measured"]],
        figures=found,
        grids={split: by_tier_and_band(contents, split) for split in SPLITS},
        hours={split: hours_by_tier(contents, split) for split in SPLITS},
        words=ROW_WORDS,
    )


def inline(svg: str) -> str:
    """An SVG inside a page: without the XML head, and without its metadata, which names schemas on the web."""
    body = svg[svg.index("<svg") :]
    start, end = body.find("<metadata>"), body.find("</metadata>")
    return body if start < 0 else body[:start] + body[end + len("</metadata>") :]
