"""The sample edition's two auditors: fictional, like its papers. They answer every pool row from TRUTH.toml.

    uv run python tests/e2e/sample_auditors.py [STORE]

rewrites `data/editions/sample-2025.decisions.jsonl` for the rows as they are now. Decisions are bound to row hashes, so
a change of rules that changes what is judged needs this run again, and a look at the difference.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assets import audit, classification
from assets.workplace import store_root, workplace
from classifiers import guide
from pipeline import editions
from pipeline.audit import Audited, support
from pipeline.evidence import Receipt, Signal
from pipeline.paper import parse_number

EDITION = "sample-2025"
CLOSE = 0.25
"""An auditor lets hours stand that are this close to their own reckoning."""
SECOND = 3
"""Every third row is judged by both."""


Receipts = Mapping[str, Receipt]


def cited(row: Audited, signal: Signal, value: bool, receipts: Receipts) -> list[str]:
    """Receipts of the row on which an overturn can rest: the label's own where they do, else the first that does."""
    mine = [receipts[i] for i in row.derivation.label(signal).receipts]
    if found := support(signal, value, mine):
        return [r.id for r in found]
    found = support(signal, value, [receipts[i] for i in row.derivation.inputs.receipts])
    return [r.id for r in found if r.subject.startswith("search:")] or [r.id for r in found[:1]]


def answers(
    row: Audited, truth: dict[str, Any], receipts: Receipts
) -> tuple[dict[str, Any], dict[str, str], dict[str, list[str]]]:
    """What a careful person says about one row: answers, reasons and evidence by question."""
    inputs, said, why, evidence = row.derivation.inputs, {}, {}, {}
    for signal in Signal:
        label, true = row.derivation.label(signal), truth["signals"][str(signal)]
        mine = "not_needed" if not label.applicable else label.value
        value = (
            {"not_applicable": "not_needed", "undetermined": mine}.get(true, true) if isinstance(true, str) else true
        )
        said[str(signal)] = value
        if value != mine:
            why[str(signal)] = truth["why"]
            evidence[str(signal)] = [] if value == "not_needed" else cited(row, signal, value, receipts)
    said["kind"] = truth["kind"]
    said["needs"] = sorted(truth["needs"])
    said["claim"] = said["bar"] = "stands"
    printed = parse_number(str(truth.get("target", {}).get("value", "")))
    same = inputs.target is not None and printed is not None and abs(printed.value - inputs.target.number) < 1e-9
    said["target"] = "stands" if same else "wrong"
    due, hours = truth.get("hours"), row.derivation.hours
    near = due is not None and hours is not None and abs(due - hours) <= CLOSE * max(due, hours)
    said["hours"] = "stands" if near else due if due is not None else "wrong"
    said["eligibility"] = truth["tier"] in ("Run", "Retrain", "Reimplement") and not truth["needs"]
    for question in ("target", "hours", "kind", "needs", "eligibility"):
        if said[question] not in ("stands", True):
            why[question] = truth["why"]
    return said, why, evidence


def lines(rows: list[Audited], truths: dict[str, Any], receipts: Receipts) -> list[dict[str, Any]]:
    found = []
    for n, row in enumerate(sorted(rows, key=lambda r: r.arxiv_id)):
        said, why, evidence = answers(row, truths[row.arxiv_id], receipts)
        who = ["ada"] if n % SECOND else ["ada", "grace"]
        for k, person in enumerate(who):
            found.append(
                {
                    "paper": row.arxiv_id,
                    "row_hash": row.derivation.row_hash,
                    "who": person,
                    "at": f"2025-12-{8 + k:02}T{9 + n // 12:02}:{n % 12 * 5:02}:00Z",
                    "answers": said,
                    "why": why,
                    "evidence": evidence,
                    "guide": guide.load().version,
                }
            )
    return found


def main() -> None:
    truths = tomllib.loads(editions.data("offline", EDITION, "TRUTH.toml").read_text(encoding="utf-8"))
    with workplace(EDITION, store_root(sys.argv[1] if len(sys.argv) > 1 else None)) as work:
        found = lines(audit.audited(work, []), truths, classification.receipts_of(work))
    place = Path(editions.data("editions", f"{EDITION}.decisions.jsonl"))
    place.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in found), encoding="utf-8")
    print(f"{len(found)} decisions in {place}")


if __name__ == "__main__":
    main()
