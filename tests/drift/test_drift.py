"""What became of a link, told from two receipts of it; and what is proposed, never done."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.drift import PENDING, PROPOSED, Checked, Link, Way, accepted, classify, counts, proposals, swhid
from pipeline.drift_page import page
from pipeline.events import Event
from pipeline.evidence import Outcome, Receipt

COMMIT, HEAD = "a" * 40, "b" * 40
FACTS: dict[str, Any] = {
    "full_name": "lab/paper", "archived": False, "license": "MIT", "commit": COMMIT, "files": 9, "code_files": 4,
    "train_entries": ["train.py"], "weight_files": [{"path": "model.pt", "size": 9}], "weights_open": ["model.pt"],
}  # fmt: skip


def seen(outcome: Outcome = Outcome.AVAILABLE, reason: str = "", /, **facts: Any) -> Receipt:
    told = {**FACTS, **facts} if outcome is Outcome.AVAILABLE else facts
    return Receipt(
        paper="2601.00001", tool="github_repo", arguments={"repo": "lab/paper"}, exchanges=("one",), outcome=outcome,
        reason=reason, subject="github:lab/paper", facts=told,
    )  # fmt: skip


def file(size: int = 900, exchange: str = "one", **facts: Any) -> Receipt:
    told = {"file": "data.zip", "size": size, "data_open": ["data.zip"], "final_url": "https://lab.example/data.zip"}
    return replace(seen(), subject="url:https://lab.example/data.zip", exchanges=(exchange,), facts={**told, **facts})


GONE, GATED = seen(Outcome.UNAVAILABLE, "gone: 404"), seen(Outcome.GATED, "gated")
ONCE, LIMITED = seen(Outcome.UNDETERMINED, "gone_once: 404"), seen(Outcome.UNDETERMINED, "rate_limited")


def ways(then: Receipt, now: Receipt, pinned: Receipt | None = None) -> list[str]:
    return [str(found.way) for found in classify(then, now, pinned)]


@pytest.mark.parametrize(
    ("then", "now", "pinned", "way"),
    [
        (seen(), GONE, None, Way.GONE),
        (GATED, GONE, None, Way.GONE),
        (seen(), ONCE, None, Way.UNREACHABLE),
        (seen(), LIMITED, None, Way.UNDETERMINED),
        (GONE, LIMITED, None, Way.UNDETERMINED),
        (seen(), GATED, None, Way.GATED),
        (GATED, seen(), None, Way.OPENED),
        (GONE, seen(), None, Way.REACHABLE),
        (GONE, GATED, None, Way.REACHABLE),
        (seen(), seen(full_name="lab/newer"), None, Way.RENAMED),
        (seen(), seen(full_name="elsewhere/newer"), None, Way.MOVED),
        (seen(), seen(archived=True), None, Way.ARCHIVED),
        (seen(), seen(license=None), None, Way.LICENCE),
        (seen(), seen(commit=HEAD), GONE, Way.REVISION_GONE),
        (seen(), seen(commit=HEAD), seen(Outcome.UNDETERMINED, "no such folder or revision"), Way.REVISION_GONE),
        (seen(), seen(commit=HEAD), ONCE, Way.UNREACHABLE),
        (seen(), seen(commit=HEAD), LIMITED, Way.UNDETERMINED),
        (seen(), seen(weight_files=[{"path": "model.pt", "size": 8}]), None, Way.SIZE),
        (seen(), seen(code_files=0, train_entries=[]), None, Way.FILES_MISSING),
        (seen(), seen(commit=HEAD, weight_files=[], weights_open=[]), seen(), Way.FILES_MISSING),
        (file(), file(size=901), None, Way.SIZE),
        (file(), file(exchange="two"), None, Way.BYTES),
        (file(), file(final_url="https://other.example/data.zip"), None, Way.MOVED),
    ],
)
def test_each_way_is_told_alone(then: Receipt, now: Receipt, pinned: Receipt | None, way: Way) -> None:
    assert ways(then, now, pinned) == [way]


@pytest.mark.parametrize(
    ("then", "now", "pinned"),
    [
        (seen(), seen(), None),
        (GONE, GONE, None),
        (GONE, ONCE, None),  # it takes two again, and that is what it was
        (GATED, replace(GATED, reason="manual"), None),
        (ONCE, GONE, None),  # nothing was known then
        (seen(), seen(full_name="Lab/Paper"), None),
        (seen(archived=True), seen(archived=True), None),
        (seen(), replace(seen(pushed_at="later", stars=7), exchanges=("other",)), None),
        (seen(), seen(commit=HEAD, train_entries=["run.py"]), seen()),  # the frozen commit has its files
        (seen(), seen(train_entries=[], code_files=0, tree_truncated=True), None),
        (seen(), seen(weights_open=[], unseen=["weights"]), None),
        (file(), file(final_url="http://www.lab.example/data.zip/?utm=1"), None),
    ],
)
def test_what_is_no_drift_is_not_told(then: Receipt, now: Receipt, pinned: Receipt | None) -> None:
    assert ways(then, now, pinned) == []


def test_a_link_that_changed_in_several_ways_is_told_with_all_of_them_the_gravest_first() -> None:
    now = seen(full_name="lab/newer", archived=True, license="GPL-3.0", code_files=0)
    assert ways(seen(), now) == ["files missing", "licence changed", "renamed", "archived"]


outcomes = st.sampled_from([seen(), GONE, GATED, ONCE, LIMITED])


@given(then=outcomes, now=outcomes)
def test_trouble_and_a_first_absence_never_tell_that_something_is_gone(then: Receipt, now: Receipt) -> None:
    found = classify(then, now)
    if now.outcome is Outcome.UNDETERMINED:
        assert {f.way for f in found} <= PENDING
    assert not (now.outcome is then.outcome and found and now.outcome is not Outcome.UNDETERMINED)
    assert (Way.GONE in {f.way for f in found}) == (now is GONE and then.outcome in (Outcome.AVAILABLE, Outcome.GATED))


def checked(now: Receipt, *papers: str, then: Receipt | None = None) -> Checked:
    receipt = then or seen()
    link = Link(subject=receipt.subject, receipt=receipt, papers=papers or ("2601.00001",))
    return Checked(link=link, found=classify(receipt, now))


def test_an_erratum_is_proposed_for_each_row_and_is_no_event_until_a_person_signs_it() -> None:
    lines = proposals("made-2026-v1", [checked(GONE, "2601.00002", "2601.00001"), checked(seen(archived=True))])
    assert [line["paper"] for line in lines] == ["2601.00001", "2601.00002"]
    assert lines[0]["why"] == "https://github.com/lab/paper: gone: gone: 404"
    assert f"swh:1:rev:{COMMIT}" in lines[0]["evidence"]
    with pytest.raises(ValueError, match="who"):
        Event.model_validate(lines[0])
    text = "".join(json.dumps(line) + "\n" for line in lines)
    events = [Event.model_validate(line) for line in accepted(text, "ada", "2026-03-05T10:00:00Z")]
    assert [event.kind for event in events] == ["erratum", "erratum"]
    assert {event.value["release"] for event in events} == {"made-2026-v1"}


@pytest.mark.parametrize("now", [seen(), ONCE, LIMITED, seen(archived=True)])
def test_nothing_is_proposed_for_what_is_open_or_harms_nobody(now: Receipt) -> None:
    assert proposals("made-2026-v1", [checked(now)]) == []


def test_every_way_is_open_or_proposed_or_archived() -> None:
    assert set(Way) == PENDING | PROPOSED | {Way.ARCHIVED}


def test_a_software_heritage_id_is_made_of_a_git_commit_and_nothing_else() -> None:
    assert swhid("github:lab/paper", COMMIT) == f"swh:1:rev:{COMMIT}"
    assert swhid("hf:model:lab/paper", COMMIT) is None
    assert swhid("github:lab/paper", "main") is None
    assert swhid("github:lab/paper", None) is None


@pytest.mark.slow
def test_the_page_tells_every_look_and_shows_hostile_text_as_text() -> None:
    runs = []
    for day, now in (("2026-03-01", seen()), ("2026-04-01", seen(full_name="lab/<script>alert(1)</script>"))):
        one = checked(now)
        runs.append(
            {
                "release": "made-2026-v1", "day": day, "rows": 12, "requests": 3, "second_look_hours": 24.0,
                "counts": counts([one]), "pending": 0, "links": [one.to_json()],
            }
        )  # fmt: skip
    html = page(runs)
    assert html == page(runs)
    assert "2026-03-01" in html
    assert "<script" not in html
    assert "computed, not looked up" in html
    assert "<svg" in html
    assert "http://www.w3.org/1999/02/22-rdf-syntax-ns" not in html
