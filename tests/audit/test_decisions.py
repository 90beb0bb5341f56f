"""The file that people fill in: read whole or not at all, every bad line named."""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

import pytest
import sqlalchemy as sa

from pipeline.audit import audit, standing
from pipeline.decisions import export_todo, living_repositories, read_decisions
from pipeline.derivation import Derivation, Rules, derive
from pipeline.events import MOST_HOURS, QUESTIONS, LedgerError
from pipeline.evidence import Outcome, Signal, Status
from pipeline.ledger import Ledger


@pytest.fixture
def row(made: ModuleType) -> Derivation:
    inputs, found = made.inputs(1, tier="Run", hours=4.0)
    return derive(inputs, {r.id: r for r in found}, Rules.of(made.EDITION))


def line(made: ModuleType, row: Derivation, **changes: Any) -> dict[str, Any]:
    return {
        "paper": row.arxiv_id,
        "row_hash": row.row_hash,
        "who": "ada",
        "at": "2026-02-20T10:00:00Z",
        "answers": made.answers_of(row),
        "why": "read it",
        **changes,
    }


def text(*lines: Any) -> str:
    return "".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in lines)


def test_a_line_becomes_one_event_a_question_bound_to_its_row(made: ModuleType, row: Derivation) -> None:
    events = read_decisions(text(line(made, row), ""), "decisions.jsonl")
    assert [e.question for e in events] == list(QUESTIONS)
    assert {(e.row_hash, e.who, e.phase, e.why) for e in events} == {(row.row_hash, "ada", "revised", "read it")}
    assert standing(row.arxiv_id, row.row_hash, events).state == "decided"


def test_importing_a_file_twice_changes_nothing(made: ModuleType, row: Derivation) -> None:
    book = Ledger(sa.create_engine("sqlite://"), "made-2026")
    whole = text(line(made, row))
    assert len(book.append(read_decisions(whole, "d.jsonl"))) == len(QUESTIONS)
    assert book.append(read_decisions(whole, "d.jsonl")) == []


def test_reasons_and_evidence_may_be_given_by_question(made: ModuleType, row: Derivation) -> None:
    one = line(made, row, answers={"hours": 2, "kind": "survey"}, why={"hours": "table 4"}, evidence={"kind": ["x"]})
    hours, kind = sorted(read_decisions(text(one), "d"), key=lambda e: e.question or "")
    assert (hours.question, hours.why, hours.evidence) == ("hours", "table 4", [])
    assert (kind.question, kind.why, kind.evidence) == ("kind", "", ["x"])


def test_the_form_as_exported_holds_no_decision_and_filled_in_decides(made: ModuleType, row: Derivation) -> None:
    form = export_todo([row], {}, {}, 4)
    assert read_decisions(form, "form") == []
    filled = json.loads(form)
    assert set(filled["answers"]) == set(QUESTIONS)
    assert set(filled["answers"].values()) == {None}
    assert filled["shown"]["claim"] == row.inputs.central_claim
    filled |= {"who": "ada", "at": "2026-02-20T10:00:00Z", "answers": made.answers_of(row)}
    events = read_decisions(json.dumps(filled), "form")
    where = standing(row.arxiv_id, row.row_hash, events)
    assert where.state == "decided"
    assert export_todo([row], {row.arxiv_id: where}, {}, 4) == ""


def test_the_form_asks_only_what_is_open(made: ModuleType, row: Derivation) -> None:
    events = [e for e in made.agrees(row) if e.question != "hours"]
    standings = {row.arxiv_id: standing(row.arxiv_id, row.row_hash, events)}
    form = json.loads(export_todo([row], standings, {}, 4))
    assert form["answers"] == {"hours": None}


def test_decisions_carry_the_version_of_the_guide_that_the_form_names(made: ModuleType, row: Derivation) -> None:
    filled = json.loads(export_todo([row], {}, {}, 4))
    filled |= {"who": "ada", "at": "2026-02-20T10:00:00Z", "answers": made.answers_of(row)}
    assert {e.guide for e in read_decisions(json.dumps(filled), "form")} == {4}


def test_contradicted_rows_come_first_then_the_cheapest(made: ModuleType) -> None:
    rules = Rules.of(made.EDITION)

    def of(n: int, hours: float | None, **changes: Any) -> Derivation:
        inputs, found = made.inputs(n, tier="Retrain", hours=hours, **changes)
        return derive(inputs, {r.id: r for r in found}, rules)

    said = {str(s): {"value": False, "cited": []} for s in Signal}
    rows = [of(5, None), of(4, 9.0), of(2, 1.0), of(3, 1.0), of(1, 50.0, claims=said)]
    assert any(one.status is Status.CONTRADICTED for one in rows[-1].labels)
    papers = [json.loads(text)["paper"] for text in export_todo(rows, {}, {}, 4).splitlines()]
    assert papers == [made.arxiv_id(n) for n in (1, 2, 3, 4, 5)]


def test_the_form_names_linked_repositories_that_live_where_the_row_says_no_code(made: ModuleType) -> None:
    inputs, found = made.inputs(1, tier="Reimplement", hours=4.0)
    live = made.receipt(1, "github_repo", "github:lab/live", Outcome.AVAILABLE, code_files=3)
    bare = made.receipt(1, "github_repo", "github:lab/bare", Outcome.AVAILABLE, code_files=0)
    gone = made.receipt(1, "github_repo", "github:lab/gone", Outcome.UNAVAILABLE, code_files=3)
    loose = made.receipt(1, "github_repo", "github:lab/loose", Outcome.AVAILABLE, code_files=3)
    receipts = {r.id: r for r in (*found, live, bare, gone, loose)}
    more = {"receipts": list(receipts), "linked": [live.id, bare.id, gone.id]}
    row = derive(inputs.model_copy(update=more), receipts, Rules.of(made.EDITION))
    assert row.label(Signal.CODE).value is False
    form = json.loads(export_todo([row], {}, receipts, 4))
    assert form["shown"]["living_repositories"] == ["github:lab/live"]
    other, found = made.inputs(1, tier="Run", hours=4.0)
    other = other.model_copy(update={"receipts": [*other.receipts, live.id], "linked": [live.id]})
    receipts = {r.id: r for r in (*found, live)}
    assert living_repositories(derive(other, receipts, Rules.of(made.EDITION)), receipts) == []


def test_any_other_event_has_a_line_of_its_own(made: ModuleType, row: Derivation) -> None:
    drop = {"kind": "drop", "paper": row.arxiv_id, "who": "ada", "at": "2026-02-20T10:00:00Z", "why": "withdrawn"}
    assert [e.kind for e in read_decisions(text(drop), "d")] == ["drop"]


def test_every_bad_line_is_named_with_its_reason_and_nothing_is_taken(made: ModuleType, row: Derivation) -> None:
    good = line(made, row)
    bad = [
        "{",
        "[]",
        {**good, "row_hash": "present"},
        {**good, "who": ""},
        {**good, "at": "yesterday"},
        {**good, "answers": {"colour": True}},
        {**good, "answers": {"code_available": "yes"}},
        {**good, "answers": {}},
        {**good, "verdict": "agree"},
        '{"paper": "a", "paper": "b"}',
        {"kind": "drop", "paper": "a", "who": "ada", "at": "2026-02-20T10:00:00Z"},
    ]
    with pytest.raises(LedgerError) as caught:
        read_decisions(text(good, *bad), "d.jsonl")
    lines = str(caught.value).splitlines()
    assert [one.split(": ")[0] for one in lines[:-1]] == [f"d.jsonl:{n}" for n in range(2, len(bad) + 2)]
    assert lines[-1] == f"{len(bad)} bad line(s); nothing was imported"
    reasons = dict(zip(range(2, 13), lines, strict=False))
    assert "64-digit hash" in reasons[4]
    assert "no UTC time" in reasons[6]
    assert "not_needed or cannot_tell" in reasons[8]
    assert "no question is answered" in reasons[9]
    assert "'paper' stands twice" in reasons[11]
    assert "needs a reason" in reasons[12]


def test_a_line_separator_inside_a_text_ends_no_line(made: ModuleType, row: Derivation) -> None:
    why = "first\u2028second\u0085third"
    one = json.dumps(line(made, row, why=why), ensure_ascii=False)
    assert read_decisions(one, "d")[0].why == why


def test_a_line_nested_too_deeply_is_a_bad_line() -> None:
    with pytest.raises(LedgerError, match="d:1: is nested too deeply"):
        read_decisions("[" * 200_000, "d")


@pytest.mark.parametrize("value", [10**400, 1e300])
def test_hours_beyond_all_bounds_are_a_bad_line_and_never_reach_the_audit(
    made: ModuleType, row: Derivation, value: float
) -> None:
    with pytest.raises(LedgerError, match="H100-hours from 0 to 1,000,000"):
        read_decisions(text(line(made, row, answers={"hours": value})), "d")


def test_the_most_hours_that_can_be_stated_are_derived_and_keep_the_row_out(made: ModuleType, row: Derivation) -> None:
    said = {**made.answers_of(row), "hours": MOST_HOURS}
    events = read_decisions(text(line(made, row, answers=said)), "d")
    receipts = {r.id: r for r in made.inputs(1, tier="Run", hours=4.0)[1]}
    one = audit(row, events, receipts, Rules.of(made.EDITION))
    assert one.hours == MOST_HOURS
    assert one.excluded
