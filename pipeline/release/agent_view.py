"""What an agent that reproduces a row may see of it: an allow-list, and one task text made from it.

Never the running configuration, evidence texts or the basis of the hours, all of which say how the authors did it
(benchmark paper: the agent's prompt leaves `match_target.config` out).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pipeline.evidence import Json, Signal
from pipeline.row import Row

TASK = """\
Reproduce one result of a paper ({custom_id}).

Claim: {claim}
Measure: {metric}{scope}. The paper reports {value}; your result is held against it as a {bar}.

{code}
{data}
{weights}

You may use at most {grant:g} H100-hours. Report the measured value, its unit, and the number of seeds.
Copying the paper's numbers, tables or figures is no reproduction.
"""
_PLACES: Mapping[str, tuple[str, str, str]] = {
    # what: (with links, without, when the signal is false)
    "code": ("Released code: {links}", "The paper's code is released with its supplement.", "No code is released."),
    "dataset": ("Data: {links}", "The data is a public benchmark; find it by its name.", "No data is released."),
    "weights": (
        "Released weights: {links}",
        "Weights come with the code or are not needed.",
        "No weights are released: train what you need.",
    ),
}
_SETTING = re.compile(
    r"(?<!\S)--?[A-Za-z][\w-]*(?:=\S+| [\d.]\S*)?"  # a flag
    r"|[A-Za-z_]\w*\s*=\s*[^\s,;]+"  # an assignment
    r"|\b\d+(?:\.\d+)?[eE]-?\d+\b"  # 1e-3
    r"|\b\d+[- ]?(?:epochs?|steps?|iterations?|layers?|shots?|warmup\w*)\b"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """One figure file of a paper's source: a harness finds copies of it by its hash."""

    custom_id: str
    file: str
    sha256: str
    size: int


def is_figure(path: str) -> bool:
    return path.lower().endswith((".png", ".jpg", ".jpeg", ".gif", ".pdf", ".eps", ".ps", ".svg", ".webp", ".tif"))


def grant(band: str) -> float:
    """H100-hours an agent may spend on a row: the upper edge of its band."""
    return float(band.split("-")[1])


def agent_view(row: Row, figures: Iterable[Figure] = ()) -> dict[str, Json]:
    """The row by allow-list, with the task text and the hashes of the paper's own figures."""
    target = row.match_target
    return {
        "custom_id": row.custom_id,
        "split": row.split,
        "tier": row.tier,
        "central_claim": row.central_claim,
        "task": task(row),
        "verified_links": row.verified_links.model_dump(mode="json"),
        "signals": {str(s): getattr(row.signals, str(s)).value for s in Signal},
        "match_target": {
            "metric": target.metric,
            "value": target.value,
            "scope": target.scope,
            "match_bar_kind": target.match_bar_kind,
        },
        "h100_band": row.h100_band,
        "grant_h100_hours": grant(row.h100_band),
        "figure_sha256": sorted({figure.sha256 for figure in figures}),
    }


def task(row: Row) -> str:
    """The task in words. An absent field has its own sentence; a placeholder nothing fills is a KeyError. What the row
    says stays on its line: a claim with line breaks cannot add a sentence of its own, such as another grant."""
    target, signals, links = row.match_target, row.signals, row.verified_links
    places = {name: _place(name, getattr(signals, f"{name}_available").value, getattr(links, name)) for name in _PLACES}
    return TASK.format(
        custom_id=row.custom_id,
        claim=_line(row.central_claim),
        metric=_line(target.metric),
        scope=f" on {scope}" if (scope := _line(target.scope)) else "",
        value=_line(target.value),
        bar=target.match_bar_kind.replace("_", " "),
        code=places["code"],
        data=places["dataset"],
        weights=places["weights"],
        grant=grant(row.h100_band),
    )


def _place(name: str, available: bool, links: Sequence[str]) -> str:
    linked, unlinked, absent = _PLACES[name]
    if not available:
        return absent
    return linked.format(links=_line(", ".join(links))) if links else unlinked


def _line(text: str) -> str:
    return " ".join(text.split())


def given_away(row: Mapping[str, Json], view: Mapping[str, Json]) -> list[str]:
    """Settings of the running configuration (flags, assignments, counts of steps) that the view's words restate, though
    neither metric nor scope names them. What the claim itself says is what is to be reproduced, and no secret."""
    target = row["match_target"]
    open_ = _squeezed(f"{row['central_claim']} {target['metric']} {target['scope']} {target['value']}")
    settings = {_squeezed(found) for found in _SETTING.findall(f"{target['config']} {row['mre_config']}")}
    told = _squeezed(f"{view['central_claim']} {view['task']}")
    return sorted(s for s in settings if s in told and s not in open_)


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text).lower()
