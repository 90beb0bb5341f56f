"""One picture of a run: reader beside its peers, selection by engine, growth over papers, rebuilds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from tests.bench.telling import Row

OURS, PEERS = "#0b5fa5", ("#b3541e", "#4c7a34", "#7a4b8c", "#6b6b6b")
_GREY = "#5a5a5a"


def draw(said: Mapping[str, Any], place: Path) -> None:
    rows: Sequence[Row] = said["rows"]
    with plt.rc_context(
        {"font.size": 13, "axes.titlesize": 15, "axes.titleweight": "bold", "axes.titlelocation": "left"}
    ):
        figure, axes = plt.subplots(2, 2, figsize=(14, 10), facecolor="white", layout="constrained")
        panels = (_reader, _selection, _growth, _rebuilds)
        for axis, panel in zip(axes.flat, panels, strict=True):
            axis.set_facecolor("white")
            axis.spines[["top", "right"]].set_visible(False)
            panel(axis, rows)
            if not axis.has_data():
                axis.set_axis_off()
                axis.text(0.5, 0.5, "not measured in this run", ha="center", color=_GREY, transform=axis.transAxes)
        figure.savefig(place, dpi=110, facecolor="white", metadata={"Software": None})
        plt.close(figure)


def _reader(axis: Axes, rows: Sequence[Row]) -> None:
    axis.set_title("Reading a paper, median")
    mine = [row for row in rows if row["bench"] == "reader" and row.get("median_ms")]
    mine = [row for row in mine if row["case"] == mine[0]["case"] and row["who"] != "and compute"]
    for place, row in enumerate(reversed(mine)):
        ours = row["who"] == "ours"
        axis.barh(place, row["median_ms"], color=OURS if ours else "#c9c9c9", height=0.62)
        kept = "" if row.get("kept_share") is None else f", {row['kept_share']:.1%} of table numbers"
        failed = f", {row['failed']} of {row['papers']} failed" if row["failed"] else ""
        axis.text(row["median_ms"] * 1.06, place, f"{row['median_ms']:,.0f} ms{kept}{failed}", va="center", fontsize=12)
    if mine:
        axis.set_yticks(range(len(mine)), [row["who"] for row in reversed(mine)])
        axis.set_xscale("log")
        axis.set_xlim(min(r["median_ms"] for r in mine) / 2, max(r["median_ms"] for r in mine) * 40)
        axis.set_xlabel(f"milliseconds a paper (log); {mine[0]['case']}, {mine[0]['papers']} papers")
        axis.tick_params(axis="y", length=0)


def _selection(axis: Axes, rows: Sequence[Row]) -> None:
    axis.set_title("Selecting papers")
    mine = [row for row in rows if row["bench"] == "selection"]
    lines = {}
    for n, who in enumerate(dict.fromkeys(row["who"] for row in mine)):
        points = [(row["rows"], row["ms"]) for row in mine if row["who"] == who]
        lines[who] = (points, OURS if "ours" in who else PEERS[n % len(PEERS)])
    _lines(axis, lines)
    axis.set_xlabel("candidates (log)")
    axis.set_ylabel("milliseconds (log)")


def _growth(axis: Axes, rows: Sequence[Row]) -> None:
    axis.set_title("A first build of a generated conference")
    mine = [row for row in rows if row["bench"] == "growth" and row["case"] == "cold"]
    named = {"seconds": "time, s", "peak_mb": "memory, MB", "disk_mb": "disk, MB"}
    lines = {}
    for n, (field, name) in enumerate(named.items()):
        points = [(row["papers"], row[field]) for row in mine if row.get(field)]
        lines[name] = (points, (OURS, *PEERS)[n])
    _lines(axis, {name: line for name, line in lines.items() if line[0]})
    axis.set_xlabel("papers (log)")
    axis.set_ylabel("seconds, megabytes (log)")


def _lines(axis: Axes, lines: Mapping[str, tuple[list[tuple[float, float]], str]]) -> None:
    """Lines on two logarithmic scales, each named at its end; names that would overlap are moved apart."""
    if not lines:
        return
    ends: list[tuple[float, str, str]] = []
    for name, (points, colour) in lines.items():
        points.sort()
        axis.plot(*zip(*points, strict=True), marker="o", color=colour, linewidth=2.2)
        ends.append((points[-1][1], name, colour))
    axis.set_xscale("log")
    axis.set_yscale("log")
    right = max(points[-1][0] for points, _ in lines.values())
    low = min(y for points, _ in lines.values() for _, y in points)
    high = max(y for points, _ in lines.values() for _, y in points)
    step, last = max((high / low) ** 0.07, 1.12), 0.0
    for y, name, colour in sorted(ends):
        last = max(y, last * step)
        axis.annotate(name, (right, last), xytext=(10, 0), textcoords="offset points", color=colour, va="center")
    axis.set_xlim(right=right * 6)
    axis.set_ylim(top=max(last, high) * 1.5)
    axis.grid(visible=True, which="major", color="#e6e6e6")


def _rebuilds(axis: Axes, rows: Sequence[Row]) -> None:
    mine = [row for row in rows if row["bench"] == "growth" and row.get("papers") and row.get("seconds") is not None]
    most = max((row["papers"] for row in mine if row["case"] == "from evidence"), default=0)
    axis.set_title(f"Building and rebuilding {most:,} papers" if most else "Rebuilds")
    mine = [row for row in mine if row["papers"] == most]
    for place, row in enumerate(reversed(mine)):
        first = row["case"] == "cold"
        axis.barh(place, row["seconds"], color="#c9c9c9" if first else OURS, height=0.62)
        axis.text(row["seconds"] * 1.06, place, f"{row['seconds']:,.1f} s", va="center")
    if mine:
        axis.set_yticks(range(len(mine)), [str(row["case"]) for row in reversed(mine)])
        axis.set_xscale("log")
        axis.set_xlim(min(r["seconds"] for r in mine) / 2, max(r["seconds"] for r in mine) * 4)
        axis.set_xlabel("seconds (log)")
        axis.tick_params(axis="y", length=0)
