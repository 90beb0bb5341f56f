"""What is said in a launchpad: absolute answers of a whole row or of one question, or a refusal with its reason."""

from __future__ import annotations

from datetime import UTC, datetime
from types import ModuleType
from typing import Any

import pytest

from pipeline.agreement import counts
from pipeline.approvals import Approval, burn_down, decide, spoken
from pipeline.audit import audit
from pipeline.derivation import Derivation, Rules, derive
from pipeline.events import QUESTIONS, Event, LedgerError
from pipeline.evidence import Receipt

AT = datetime(2026, 2, 20, 12, tzinfo=UTC)
Row = tuple[Derivation, dict[str, Receipt]]


@pytest.fixture
def run(made: ModuleType) -> Row:
    inputs, found = made.inputs(1, tier="Run", hours=4.0)
    receipts = {r.id: r for r in found}
    return derive(inputs, receipts, Rules.of(made.EDITION)), receipts


def says(made: ModuleType, of: Row, before: list[Event], **said: Any) -> list[Event]:
    given = {"paper": of[0].arxiv_id, "row_hash": of[0].row_hash, "choice": "approve", "who": "ada"} | said
    return decide(Approval(**given), of[0], before, of[1], Rules.of(made.EDITION), AT)


def state(made: ModuleType, of: Row, events: list[Event]) -> str:
    return audit(of[0], events, of[1], Rules.of(made.EDITION)).standing.state


def test_an_approval_answers_every_open_question_absolutely(made: ModuleType, run: Row) -> None:
    events = says(made, run, [])
    assert [e.question for e in events] == list(QUESTIONS)
    assert events[0].value is True
    assert not any(counts(e) for e in events), "it measures no agreement"
    assert state(made, run, events) == "decided"


def test_approving_after_an_overturn_leaves_the_overturn(made: ModuleType, run: Row) -> None:
    seen = [r.id for r in run[1].values()]
    one = says(made, run, [], choice="overturn", question="weights_available", value="no", why="gone", evidence=seen)
    rest = says(made, run, one)
    assert "weights_available" not in {e.question for e in rest}
    found = audit(run[0], [*one, *rest], run[1], Rules.of(made.EDITION))
    assert (found.standing.state, found.overturned) == ("decided", ("weights_available",))
    back = says(made, run, [*one, *rest], choice="overturn", question="weights_available", value="yes")
    assert audit(run[0], [*one, *rest, *back], run[1], Rules.of(made.EDITION)).overturned == ()


def test_a_drop_decides_the_row_alone(made: ModuleType, run: Row) -> None:
    events = says(made, run, [], choice="drop", why="withdrawn")
    assert [(e.question, e.value) for e in events] == [("eligibility", False)]
    assert state(made, run, events) == "decided"


def test_cannot_tell_goes_to_another_person(made: ModuleType, run: Row) -> None:
    unsure = says(made, run, [], choice="overturn", question="kind", value="cannot tell")
    events = [*unsure, *says(made, run, unsure)]
    assert state(made, run, events) == "disputed"
    settles = {"choice": "adjudicate", "question": "kind", "value": "empirical", "why": "it has tables"}
    with pytest.raises(LedgerError, match="another person adjudicates"):
        says(made, run, events, **settles)
    assert state(made, run, [*events, *says(made, run, events, **settles, who="joan")]) == "decided"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"row_hash": "0" * 64}, "has changed since this link was made"),
        ({"who": ""}, "who: String should have at least 1 character"),
        ({"choice": "overturn"}, "overturn is about one question; name it"),
        ({"choice": "overturn", "question": "hours", "value": "3"}, "says why"),
        ({"choice": "overturn", "question": "hours", "value": "long", "why": "w"}, "hours is answered by"),
        ({"choice": "overturn", "question": "kind", "value": "empirical"}, "that is what the row says of kind"),
        ({"choice": "overturn", "question": "code_available", "value": "no", "why": "w"}, "without a receipt"),
        ({"choice": "drop"}, "a drop needs a reason"),
        ({"choice": "adjudicate", "question": "kind", "value": "theoretical", "why": "w"}, "kind is not disputed"),
    ],
)
def test_what_cannot_be_said_is_refused_with_paper_and_reason(
    made: ModuleType, run: Row, said: dict[str, Any], reason: str
) -> None:
    with pytest.raises(LedgerError, match=reason) as refused:
        says(made, run, [], **said)
    assert run[0].arxiv_id in str(refused.value)


def test_what_nothing_settles_cannot_be_approved(made: ModuleType) -> None:
    inputs, _ = made.inputs(1, tier="Run", hours=4.0)
    bare = derive(inputs, {}, Rules.of(made.EDITION))
    with pytest.raises(LedgerError, match="nothing settles code_available"):
        says(made, (bare, {}), [])


def test_nothing_is_approved_twice(made: ModuleType, run: Row) -> None:
    with pytest.raises(LedgerError, match="nothing is left to approve; every question is decided"):
        says(made, run, says(made, run, []))


@pytest.mark.parametrize(
    ("question", "text", "value"),
    [
        ("code_available", "yes", True),
        ("code_available", "Not  applicable", "not_needed"),
        ("needs", "none", []),
        ("needs", "special_hardware, paid_api", ["paid_api", "special_hardware"]),
        ("hours", "3.5", 3.5),
        ("hours", "wrong", "wrong"),
        ("claim", '{"claim": "a", "quote": "b"}', {"claim": "a", "quote": "b"}),
        ("kind", "theoretical", "theoretical"),
        ("hours", "[" * 9999, "[" * 9999),
    ],
)
def test_answers_are_written_as_people_write_them(question: Any, text: str, value: Any) -> None:
    assert spoken(question, text) == value


def test_a_burn_down_counts_what_waits_at_the_end_of_each_day(made: ModuleType, run: Row) -> None:
    def on(paper: str, day: int, **more: Any) -> Event:
        given = {"kind": "answer", "paper": paper, "row_hash": "a" * 64, "who": "ada", "phase": "revised", "why": "w"}
        told = {"question": "eligibility", "value": False, "at": f"2026-03-{day:02}T12:00:00Z"}
        return Event.model_validate(given | told | more)

    rows = [(name, "a" * 64) for name in "123"]
    events = [on("1", 1), on("2", 3), on("3", 4, row_hash="b" * 64)]
    assert burn_down(rows, events) == [("2026-03-01", 2), ("2026-03-03", 1), ("2026-03-04", 1)]
