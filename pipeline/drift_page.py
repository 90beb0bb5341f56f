"""The report of drift: one HTML page that opens offline, with the history over all looks, made from their JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.drift import Way
from pipeline.evidence import Json
from pipeline.release.page import inline
from pipeline.release.plots import svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GROUPS: Mapping[str, tuple[str, str]] = {
    "as it was": ("#2f6f9f", ""),
    "not reached": ("#b0483f", "///"),
    "something else there": ("#c7812b", "..."),
    "other name, licence, state": ("#8a4f7d", ""),
    "open by now": ("#7fae5a", "\\\\\\"),
    "undetermined": ("#c9c9c9", "xx"),
}
"""Hatched too: colour alone tells nothing to some, and in print."""
_GROUP: Mapping[str, str] = {
    "same": "as it was",
    **dict.fromkeys((Way.GONE, Way.GATED, Way.REVISION_GONE, Way.UNREACHABLE), "not reached"),
    **dict.fromkeys((Way.FILES_MISSING, Way.BYTES, Way.SIZE, Way.MOVED), "something else there"),
    **dict.fromkeys((Way.LICENCE, Way.RENAMED, Way.ARCHIVED), "other name, licence, state"),
    **dict.fromkeys((Way.OPENED, Way.REACHABLE), "open by now"),
    Way.UNDETERMINED: "undetermined",
}


def page(runs: Sequence[Mapping[str, Json]]) -> str:
    """`runs`: the reports of all looks at one release, oldest first; the last is told in full."""
    import jinja2

    template = Path(__file__).with_name("drift_page.html.j2").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    ways = [way for way in ("same", *map(str, Way)) if any(way in run["counts"] for run in runs)]
    drifted = [link for link in runs[-1]["links"] if link["found"]]
    drifted.sort(key=lambda link: (ways.index(link["way"]), link["subject"]))
    plot = inline(svg(lambda axes: _history(axes, runs), 2.9, (0.08, 0.31, 0.9, 0.55)))
    return environment.from_string(template).render(runs=runs, last=runs[-1], ways=ways, drifted=drifted, plot=plot)


def _history(axes: Axes, runs: Sequence[Mapping[str, Json]]) -> None:
    """Links by what became of them, a bar a look."""
    from matplotlib.ticker import MaxNLocator

    base = [0] * len(runs)
    for name, (colour, hatch) in _GROUPS.items():
        heights = [sum(n for way, n in run["counts"].items() if _GROUP[way] == name) for run in runs]
        axes.bar(range(len(runs)), heights, bottom=base, color=colour, hatch=hatch, label=name, width=0.7)
        base = [b + h for b, h in zip(base, heights, strict=True)]
    axes.set_xlim(-0.6, max(len(runs), 6) - 0.4)
    axes.set_xticks(range(len(runs)), [run["day"] for run in runs], rotation=45, ha="right")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylabel("links")
    axes.legend(frameon=False, ncols=6, loc="upper left", bbox_to_anchor=(-0.09, 1.26), fontsize=7, columnspacing=0.8)
