"""One person reads one row: blind, then revealed, revised, undone, gone stale."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from audit_ui.flow import BLIND
from pipeline.audit import Audited
from pipeline.deciding import Deciding
from pipeline.evidence import Outcome, Receipt
from tests.audit_ui.conftest import Person, World, build, hidden
from tests.release import made


def run_row(world: World) -> str:
    return next(row.arxiv_id for row in world.pool.rows if row.tier == "Run")


def state(world: World, paper: str) -> Audited:
    world.site.desk.fresh()
    return world.site.desk.audited(world.row(paper))


def blind(person: Person, paper: str, **other: str) -> None:
    for question in BLIND:
        if question in other:
            assert person.says(paper, question, other[question]).status_code == 200
        else:
            assert person.agrees(paper, question).status_code == 200


def test_nothing_of_the_verdict_is_shown_before_all_blind_questions_are_answered(world: World) -> None:
    ann, paper = world.person("ann"), run_row(world)
    reasons = [label.reason for label in world.row(paper).labels]
    for question in BLIND:
        page = ann.sees(paper, question)
        assert "The row says" not in page
        assert not any(reason in page for reason in reasons)
        assert "Retrain" not in page
        ann.agrees(paper, question)
    assert "The row says" in ann.sees(paper, "code_available")


def test_tiers_stay_hidden_in_the_queue_until_the_verdict_was_seen(world: World) -> None:
    ann, paper = world.person("ann"), run_row(world)
    before = ann.browser.get("/").text
    assert "hidden" in before
    assert not any(f"<td>{tier}</td>" in before for tier in ("Run", "Retrain", "Reimplement"))
    assert paper not in ann.browser.get("/?tier=Run").text
    blind(ann, paper)
    assert "<td>Run</td>" in ann.browser.get("/").text
    assert paper in ann.browser.get("/?tier=Run").text


def test_a_proposal_cannot_be_answered_before_the_blind_questions(world: World) -> None:
    ann, paper = world.person("ann"), run_row(world)
    fields = ann.fields(paper, "code_available", "yes") | {"question": "hours"}
    refused = ann.posts(f"/answer/{paper}", fields)
    assert refused.status_code == 409
    assert "not open to you now" in refused.text


def test_answering_everything_decides_the_row_and_names_guide_and_row(world: World) -> None:
    ann, paper = world.person("ann"), run_row(world)
    ann.reads(paper)
    found = state(world, paper)
    assert found.standing.state == "decided"
    assert {d.event.guide for d in found.standing.decisions.values()} == {1}
    assert {d.event.row_hash for d in found.standing.decisions.values()} == {world.row(paper).row_hash}
    assert {d.event.phase for q, d in found.standing.decisions.items() if q in BLIND} == {"blind"}
    assert "This row is done" in ann.sees(paper)


def test_an_overturn_made_blind_must_be_confirmed_with_a_reason_and_a_receipt(world: World) -> None:
    ann, paper = world.person("ann"), run_row(world)
    blind(ann, paper, code_available="no")
    assert "Yours differs from the row" in ann.sees(paper, "code_available")
    bare = ann.says(paper, "code_available", "no")
    assert (bare.status_code, "Say why" in bare.text) == (422, True)
    unsupported = ann.says(paper, "code_available", "no", why="evaluation only")
    assert (unsupported.status_code, "No receipt you cite supports that" in unsupported.text) == (422, True)
    assert "evaluation only" in unsupported.text, "what was typed is kept"
    cited = world.row(paper).inputs.receipts[0]
    assert ann.says(paper, "code_available", "no", why="evaluation only", evidence=[cited]).status_code == 200
    said = [e.event for e in world.site.desk.entries(paper) if e.event.question == "code_available"]
    assert [(e.phase, e.value) for e in said] == [("blind", False), ("revised", False)], "both answers are kept"
    assert state(world, paper).tier == "Reimplement"


def test_an_overturn_made_blind_may_be_revised_and_both_answers_are_kept(world: World) -> None:
    ann, paper = world.person("ann"), run_row(world)
    blind(ann, paper, code_available="no")
    assert ann.says(paper, "code_available", "yes").status_code == 200
    page = ann.sees(paper, "code_available")
    assert "You said <b>yes</b>" in page
    assert "Blind: no." in page


def test_undo_goes_back_as_far_as_one_likes_and_what_was_seen_stays_seen(world: World) -> None:
    ann, paper = world.person("ann"), run_row(world)
    blind(ann, paper)
    for question in reversed(BLIND):
        last = hidden(ann.sees(paper, "claim"), "event")
        answer = ann.posts("/undo", {"csrf": ann.csrf, "event": last, "on": paper})
        assert (answer.status_code, "Taken back" in answer.text) == (200, True)
        assert f'value="{question}"' in answer.text
    assert not world.site.desk.reading("ann", world.row(paper)).answers
    assert "The row says" in ann.sees(paper, "code_available")
    ann.agrees(paper, "code_available")
    assert world.site.desk.reading("ann", world.row(paper)).answers["code_available"].phase == "revised"
    assert len(world.site.desk.entries(paper)) == 13, "nothing is removed from the ledger"


def test_nobody_takes_back_what_another_person_said(world: World) -> None:
    ann, bob, paper = world.person("ann"), world.person("bob"), run_row(world)
    ann.agrees(paper, "code_available")
    event = world.site.desk.entries(paper)[0].event.id
    assert bob.posts("/undo", {"csrf": bob.csrf, "event": event, "on": paper}).status_code == 404


def test_the_second_of_two_windows_is_told_what_happened_and_loses_nothing(world: World) -> None:
    ann, paper = world.person("ann"), run_row(world)
    first = ann.fields(paper, "code_available", "yes")
    second = {**first, "value": "no", "why": "a long reason that I typed"}
    assert ann.posts(f"/answer/{paper}", first).status_code == 200
    refused = ann.posts(f"/answer/{paper}", second)
    assert refused.status_code == 409
    assert "Nothing was overwritten" in refused.text
    assert "What happened: <b>yes</b>" in refused.text
    assert [e.event.value for e in world.site.desk.entries(paper)] == [True]


def test_when_a_row_changes_its_answers_are_stale_shown_and_asked_again(world: World) -> None:
    ann, paper = world.person("ann"), run_row(world)
    ann.reads(paper)
    old = ann.fields(paper, "code_available", "yes")
    world.change(paper, central_claim="The method is best on CIFAR-100.")
    assert state(world, paper).standing.state == "stale"
    assert "about an earlier state of this row" in ann.sees(paper, "code_available")
    assert "The row says" not in ann.sees(paper, "code_available")
    assert paper in ann.browser.get("/?show=stale").text
    refused = ann.posts(f"/answer/{paper}", old)
    assert (refused.status_code, "The row changed" in refused.text) == (409, True)
    ann.reads(paper)
    assert state(world, paper).standing.state == "decided"


def test_corrected_hours_are_previewed_with_tier_band_and_place_and_saved_with_a_reason(world: World) -> None:
    ann, paper = world.person("ann"), run_row(world)
    blind(ann, paper)
    fields = ann.fields(paper, "hours", "correct", hours="64")
    shown = ann.posts(f"/preview/{paper}", fields).text
    assert "64 h" in shown
    assert "32-96" in shown
    assert "rank" in shown
    assert not [e for e in world.site.desk.entries(paper) if e.event.question == "hours"], "a preview saves nothing"
    assert ann.posts(f"/answer/{paper}", fields).status_code == 422
    assert ann.posts(f"/answer/{paper}", fields | {"why": "Appendix B"}).status_code == 200
    assert state(world, paper).hours == 64


def test_a_new_target_is_a_cell_of_the_paper_or_refused(world: World) -> None:
    ann, paper = world.person("ann"), run_row(world)
    blind(ann, paper)
    table = made.paper(int(paper.split(".")[1])).tables[0]
    cell = next(c for row in table.grid for c in row if c and c.text.startswith("70."))
    place = {"table": table.number, "table_row": str(cell.row), "table_column": str(cell.column)}
    more = {"target_value": cell.text, "why": "the baseline is the finding", **place}
    off = ann.says(paper, "target", "correct", **{**more, "table_row": "99"})
    assert (off.status_code, "no such table, row and column" in off.text) == (422, True)
    other = ann.says(paper, "target", "correct", **{**more, "target_value": "12.5"})
    assert (other.status_code, "could not grade" in other.text) == (422, True)
    assert ann.says(paper, "target", "correct", **more).status_code == 200
    target = state(world, paper).inputs.target
    assert target is not None
    assert (target.number, target.anchor.row, target.bar.reference) == (cell.value, cell.row, cell.value)


def test_work_is_measured_and_kept_with_the_decision(world: World) -> None:
    ann, paper = world.person("ann"), run_row(world)
    opened = world.row(paper).inputs.receipts[0]
    ann.says(paper, "code_available", "yes", active_ms="4200", opened=f"{opened} nonsense")
    (turn,) = Deciding(world.site.desk.ledger).all()
    assert (turn.who, turn.active_seconds, turn.opened) == ("ann", 4.2, (opened,))


def test_the_first_screen_says_what_code_finds_odd(world: World) -> None:
    ann, paper = world.person("ann"), run_row(world)
    target = world.row(paper).inputs.target
    assert target is not None
    wrong = target.model_copy(update={"value": "91.7", "number": 91.7})
    world.change(paper, target=wrong.model_dump(), central_claim="Best by 12 points.")
    page = ann.sees(paper)
    assert "the paper does not print 91.7 where the target says" in page
    assert "the claim says 12, its quote does not" in page


def test_a_probe_made_again_shows_the_difference_and_changes_nothing(tmp_path: Path) -> None:
    def gone(receipt: Receipt) -> Receipt:
        return replace(receipt, outcome=Outcome.UNAVAILABLE, reason="gone: 404")

    world = build(tmp_path, recheck=gone)
    ann, paper = world.person("ann"), run_row(world)
    receipt = world.row(paper).inputs.receipts[0]
    shown = ann.posts(f"/recheck/{paper}", {"csrf": ann.csrf, "receipt": receipt}).text
    assert "gone: 404" in shown
    assert "available" in shown
    assert not world.site.desk.entries(paper)
    foreign = next(r for i, r in world.pool.receipts.items() if r.paper != paper)
    assert ann.posts(f"/recheck/{paper}", {"csrf": ann.csrf, "receipt": foreign.id}).status_code == 404


@pytest.mark.slow
def test_eight_made_rows_come_before_the_first_real_one(tmp_path: Path) -> None:
    world = build(tmp_path, calibrate=True)
    ann, paper = world.person("ann"), run_row(world)
    assert "eight made ones" in ann.browser.get("/").text
    assert ann.browser.get("/next").url.path == "/calibrate"
    refused = ann.says(paper, "code_available", "yes")
    assert (refused.status_code, refused.headers["hx-redirect"]) == (204, "/calibrate")
    seen = set()
    while "Through:" not in (page := ann.browser.get("/calibrate").text):
        seen.add(hidden(page, "exercise"))
        fields = {"csrf": ann.csrf, "exercise": hidden(page, "exercise"), "question": hidden(page, "question")}
        page = ann.posts("/calibrate", fields | {"value": "cannot_tell"}).text
        assert "Not as the guide has it" in page
    assert len(seen) == 8
    assert ann.browser.get("/next").url.path.startswith("/paper/")
    assert ann.agrees(paper, "code_available").status_code == 200


def test_the_form_on_the_page_names_the_row_the_question_and_the_last_event(world: World) -> None:
    ann, paper = world.person("ann"), run_row(world)
    ann.agrees(paper, "code_available")
    for question in BLIND:
        page, fields = ann.sees(paper, question), ann.fields(paper, question, "")
        assert {n: hidden(page, n) for n in ("question", "row_hash", "after", "csrf")} == {
            n: fields[n] for n in ("question", "row_hash", "after", "csrf")
        }


def test_a_page_reads_and_decides_without_javascript(world: World) -> None:
    ann, paper = world.person("ann"), run_row(world)
    page = ann.sees(paper)
    assert made.CLAIM in page
    assert 'class="cell" id="at-target"' in page
    answer = ann.posts(f"/answer/{paper}", ann.fields(paper, "code_available", "yes"), htmx=False)
    assert (answer.status_code, answer.url.path) == (200, f"/paper/{paper}")
    assert len(world.site.desk.entries(paper)) == 1
