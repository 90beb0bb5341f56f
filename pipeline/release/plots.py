"""A release's figures as SVG, drawn from its tables: the same bytes for the same release, without dates."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pipeline.release.contents import (
    TIERS,
    Contents,
    funnel_steps,
    hours_by_tier,
    month_range,
    months,
    pool_by_tier_and_band,
    tier,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS: Mapping[str, str] = {"Run": "#2f6f9f", "Retrain": "#c7812b", "Reimplement": "#8a4f7d"}
"""Told apart by people who do not tell red from green, and in print by their lightness."""
_INK, _FAINT = "#3a3a3a", "#c9c9c9"
_STYLE: Mapping[str, Any] = {
    "svg.hashsalt": "reclaim",  # ids of elements are random otherwise
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "text.color": _INK,
    "axes.edgecolor": _FAINT,
    "axes.labelcolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
Box = tuple[float, float, float, float]
_LEAST_HOURS = 0.01
"""Where the logarithmic axis begins; rows of fewer hours, or none, stand there."""


def figures(contents: Contents) -> dict[str, str]:
    """SVG texts by file name."""
    return {name: _svg(draw, contents, height, box) for name, (draw, height, box) in _DRAWN.items()}


def _svg(draw: Draw, contents: Contents, height: float, box: Box) -> str:
    return svg(lambda axes: draw(axes, contents), height, box)


def svg(draw: Callable[[Axes], None], height: float, box: Box) -> str:
    """A figure in the house's style. `height` in inches; `box`: where its axes lie, as shares."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with rc_context(dict(_STYLE)):  # type: ignore[arg-type]
        figure = Figure(figsize=(7.2, height))
        FigureCanvasSVG(figure)
        draw(figure.add_axes(box))
        out = io.StringIO()
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": "reclaim"})
    return out.getvalue()


def _hours(axes: Axes, contents: Contents) -> None:
    """One dot a row, on a logarithmic axis; a bar at each tier's median. Dev rows are hollow."""
    for at, name in enumerate(reversed(TIERS)):
        for table, filled in (("eval", True), ("dev", False)):
            values = sorted(
                max(float(row["audited_h100_hours"]), _LEAST_HOURS)
                for row in contents.lines[table]
                if tier(row) == name
            )
            # A fixed spread by rank, not a random one: dots of equal hours stay apart and the picture the same.
            heights = [at + 0.12 * ((k % 5) - 2) / 2 for k in range(len(values))]
            face = _COLOURS[name] if filled else "none"
            axes.scatter(values, heights, s=22, facecolors=face, edgecolors=_COLOURS[name], linewidths=1, alpha=0.85)
        found = hours_by_tier(contents, "eval")[name]
        if found is not None:
            axes.vlines(max(found.median, _LEAST_HOURS), at - 0.28, at + 0.28, colors=_INK, linewidths=1.6)
    axes.set_xscale("log")
    axes.set_xlim(_LEAST_HOURS * 0.8, max(contents.edition["split_cap_hours"], 1) * 1.5)
    for edge in contents.edition["band_edges_hours"]:
        if edge <= contents.edition["split_cap_hours"]:
            axes.axvline(edge, color=_FAINT, linewidth=0.8, linestyle=(0, (4, 3)), zorder=0)
    axes.set_yticks(range(len(TIERS)), list(reversed(TIERS)))
    axes.set_xlabel("H100-hours after the audit")


def _months(axes: Axes, contents: Contents) -> None:
    """Rows of both splits by the month their paper was first posted, tiers stacked."""
    from matplotlib.ticker import MaxNLocator

    counted = {t: months(contents, "eval")[t] + months(contents, "dev")[t] for t in TIERS}
    found = month_range({month for counter in counted.values() for month in counter})
    base = [0] * len(found)
    for name in TIERS:
        heights = [counted[name][month] for month in found]
        axes.bar(range(len(found)), heights, bottom=base, color=_COLOURS[name], label=name, width=0.8)
        base = [b + h for b, h in zip(base, heights, strict=True)]
    axes.set_xticks(range(len(found)), found, rotation=45, ha="right")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylabel("rows")
    axes.legend(frameon=False, ncols=3, loc="upper left", bbox_to_anchor=(0, 1.22))


def _funnel(axes: Axes, contents: Contents) -> None:
    steps = funnel_steps(contents)
    for at, (_, n) in enumerate(reversed(steps)):
        axes.barh(at, n, color=_COLOURS["Run"], height=0.62)
        axes.text(n, at, f" {n:,}", va="center", color=_INK)
    axes.set_yticks(range(len(steps)), [what for what, _ in reversed(steps)])
    axes.set_xlim(0, max(n for _, n in steps) * 1.12)
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)


def _pool(axes: Axes, contents: Contents) -> None:
    """The pool's rows by tier, bands stacked from light to dark."""
    from matplotlib.ticker import MaxNLocator

    counted = pool_by_tier_and_band(contents)
    found = list(next(iter(counted.values()), {}))
    left = [0] * len(TIERS)
    for k, band in enumerate(found):
        widths = [counted[t][band] for t in reversed(TIERS)]
        shade = 0.35 + 0.65 * (k + 1) / len(found)
        bars = axes.barh(range(len(TIERS)), widths, left=left, height=0.6, label=f"{band} h", alpha=shade)
        for bar, name, width, start in zip(bars, reversed(TIERS), widths, left, strict=True):
            bar.set_facecolor(_COLOURS[name])
            if width:
                ink = "white" if shade > 0.7 else _INK
                axes.text(start + width / 2, bar.get_y() + 0.3, str(width), ha="center", va="center", color=ink)
        left = [a + b for a, b in zip(left, widths, strict=True)]
    axes.set_yticks(range(len(TIERS)), list(reversed(TIERS)))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("rows of the pool; darker: a dearer band (" + ", ".join(found) + " H100-hours)")


def _agreement(axes: Axes, contents: Contents) -> None:
    """Percent agreement as a ring, kappa as a dot with its interval; a sentence where no row was read twice."""
    told = contents.agreement["questions"]
    if not contents.agreement["measured"]:
        axes.set_axis_off()
        axes.text(0, 0.5, "Agreement was not measured: no row was answered blind by two people.", va="center")
        return
    names = [name for name in reversed(told) if told[name]["n"]]
    for at, name in enumerate(names):
        one = told[name]
        axes.scatter([one["agreed"] / one["n"]], [at], s=30, facecolors="none", edgecolors=_COLOURS["Retrain"])
        if one["kappa_low"] is not None:
            axes.hlines(at, one["kappa_low"], one["kappa_high"], colors=_COLOURS["Run"], linewidth=1.6)
        if one["kappa"] is not None:
            axes.scatter([one["kappa"]], [at], s=26, color=_COLOURS["Run"])
    axes.set_yticks(range(len(names)), [name.replace("_", " ") for name in names])
    axes.set_ylim(-0.6, max(len(names), 1) - 0.4)
    low = min([0.0, *(told[name]["kappa_low"] or told[name]["kappa"] or 0.0 for name in names)])
    axes.set_xlim(low - 0.05, 1.05)
    axes.axvline(0, color=_FAINT, linewidth=0.8)
    axes.set_xlabel("ring: share of rows on which both readers agree; dot: Cohen's kappa with its interval")


Draw = Callable[["Axes", Contents], None]
_DRAWN: Mapping[str, tuple[Draw, float, Box]] = {
    "hours.svg": (_hours, 2.6, (0.13, 0.2, 0.85, 0.76)),
    "months.svg": (_months, 2.6, (0.08, 0.26, 0.9, 0.6)),
    "funnel.svg": (_funnel, 2.4, (0.29, 0.03, 0.7, 0.94)),
    "pool.svg": (_pool, 2.2, (0.13, 0.23, 0.85, 0.74)),
    "agreement.svg": (_agreement, 2.2, (0.2, 0.23, 0.78, 0.74)),
}
"""By file name: what draws it, inches of height, and the axes' box, as shares. Fixed: a layout that is solved for costs
four times as much."""
