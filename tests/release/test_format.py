"""The documentation of a release's format: every example in it is what the rules give."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from pipeline.compute import load_devices
from pipeline.release import verify_alone as alone
from pipeline.release.agent_view import TASK
from pipeline.release.changelog import LATER
from pipeline.row import Row

DOCUMENT = Path(__file__).parent.parent.parent / "docs" / "release-format.md"
TEXT = DOCUMENT.read_text(encoding="utf-8")
DEVICES = alone.DeviceTable(load_devices().model_dump(mode="json"))


def label(signal: str, claim: Any, receipts: Any, context: Any) -> Any:
    found = alone.label(signal, claim, receipts, context)
    return [found.value, found.verification, found.status, len(found.receipts), found.reason]


def hours(parts: Any) -> Any:
    found = DEVICES.hours(parts)
    return [found.low, found.mid, found.high, list(found.factors)] if found.mid is not None else found.reason


def device(phrase: str) -> str | None:
    named = DEVICES.named(phrase)
    return None if named is None else named["id"]


def score_and_tier(signals: Any, scoring: str) -> Any:
    read = {signal: tuple(one) for signal, one in signals.items()}
    return [alone.score(read, scoring, "empirical"), alone.tier(read, scoring, "empirical")]


def plan(names: Any, quotas: Any, supply: Any) -> Any:
    strata = alone.plan("Run", names, quotas, supply)
    return [[s.band, s.want, s.taken, [list(pair) for pair in s.cascaded], s.topped_up] for s in strata]


def select(candidates: Any, total: int, edges: Any, weights: Any, seed: str | None) -> Any:
    found = alone.select([alone.Candidate(*c) for c in candidates], total, edges, weights, seed)
    return {i: [row["status"], row["reason"], row["rank"], row["inclusion"]] for i, row in found.rows.items()}


def standing(row_hash: str, events: Any) -> Any:
    entries = [{"site": "main", "seq": n, "id": alone.digest(e), "event": e} for n, e in enumerate(events, start=1)]
    found = alone.standing(row_hash, alone.fold(entries))
    return [found.open.get("eligibility"), found.value("eligibility"), found.state]


def bar(kind: str, number: float, direction: Any, uncertainty: Any, baseline: Any, unit: str, relative: float) -> Any:
    target = {"number": number, "direction": direction, "uncertainty": uncertainty, "baseline": baseline}
    target |= {"value": "", "unit": unit, "metric": "", "bar": {"kind": kind, "low": None, "high": None}}
    found = alone.bar_by_rule(target, relative)
    return found and [found[key] for key in ("op", "reference", "tolerance", "tolerance_source")]


def order(seed: str, ids: list[str]) -> list[str]:
    return sorted(ids, key=lambda i: alone.sha256((seed + i).encode()))


def drawn(seed: str, count: int) -> list[float]:
    lot = random.Random(seed)
    return [lot.random() for _ in range(count)]


RULES: dict[str, Any] = {
    "literal": repr,
    "g": lambda x: f"{x:g}",
    "canonical": alone.canonical,
    "digest": alone.digest,
    "label": label,
    "device": device,
    "hours": hours,
    "band": alone.band,
    "score_and_tier": score_and_tier,
    "order": order,
    "shares": alone.shares,
    "plan": plan,
    "select": select,
    "standing": standing,
    "printed_number": alone.printed_number,
    "bar": bar,
    "kappa": lambda pairs: alone.kappa([tuple(pair) for pair in pairs]),
    "alpha": alone.alpha,
    "random": drawn,
}
EXAMPLES = [
    json.loads(line)
    for block in re.findall(r"^```json examples\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    for line in block.splitlines()  # JSON of ASCII only
]


@pytest.mark.parametrize("rule", RULES)
def test_every_example_of_the_document_is_what_its_rule_gives(rule: str) -> None:
    examples = [one for one in EXAMPLES if one["rule"] == rule]
    assert examples, f"the document has no example of {rule}"
    for one in examples:
        assert alone.canonical(RULES[rule](*one["given"])) == alone.canonical(one["gives"]), one


def test_the_document_names_every_file_table_field_and_setting_that_rules_read() -> None:
    words = set(re.findall(r"[\w.]+", TEXT))
    assert not {name for name in (*alone.FILES, *LATER) if not name.endswith(".parquet")} - words
    shapes = (
        alone.SAMPLE,
        alone.RECEIPT,
        alone.EVENT,
        alone.TARGET,
        alone.BAR,
        alone.ANCHOR,
        alone.PART,
        alone.CONTEXT,
    )
    fields = {name for shape in (*shapes, *alone.SHAPES.values(), alone.ROW) for name in shape}
    assert not (fields | set(Row.model_fields)) - words
    read = set(re.findall(r'(?:edition|said)\["(\w+)"\]', Path(alone.__file__).read_text()))
    assert (
        not {name for name in read & set(alone.EDITION) if re.search(r"cap|band|size|draw|scoring|tol", name)} - words
    )


def test_the_document_prints_the_task_its_sentences_and_every_expression_as_code_does() -> None:
    for line in TASK.splitlines():
        fixed = [part for part in re.split(r"\{[^}]*\}", line) if part.strip(" .;:(),")]
        assert all(part.strip() in TEXT for part in fixed), line
    for sentence in (text for words in alone.PLACES.values() for text in words):
        assert sentence.partition("{")[0].strip() in TEXT
    patterns = (alone._SETTING, alone._PRINTED, *alone._AROUND, alone._INTERVAL, alone._MORE, alone._SECOND)
    assert not [pattern.pattern for pattern in patterns if pattern.pattern not in TEXT]
    assert alone.KNOWN_DEVICES[load_devices().version] in TEXT
