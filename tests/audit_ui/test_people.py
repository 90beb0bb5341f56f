"""Several people: places, second readers who see nothing, adjudication by a third person."""

from __future__ import annotations

from dataclasses import replace

import pytest

from audit_ui.flow import BLIND
from pipeline.assignments import FIRST, SECOND
from pipeline.disagreements import Disagreement
from pipeline.evidence import Outcome
from pipeline.ledger import verify_chain
from tests.audit_ui.conftest import Person, World


def row_of(world: World, *, tier: str = "Run", twice: bool = True) -> str:
    """A row of a tier that is, or is not, drawn for a second reader."""
    world.site.desk.fresh()
    scopes = world.site.desk.scopes()
    return next(r.arxiv_id for r in world.pool.rows if r.tier == tier and (scopes.get(r.arxiv_id) == "full") == twice)


def overturns_code(person: Person, paper: str) -> None:
    for question in BLIND:
        if question == "code_available":
            assert person.says(paper, question, "no").status_code == 200
        else:
            person.agrees(paper, question)
    cited = person.world.row(paper).inputs.receipts[0]
    assert person.says(paper, "code_available", "no", why="a demo only", evidence=[cited]).status_code == 200
    for question in ("claim", "target", "bar", "hours", "eligibility"):
        assert person.agrees(paper, question).status_code == 200


def test_the_second_reader_sees_nothing_of_the_first(world: World) -> None:
    ann, bob, paper = world.person("ann"), world.person("bob"), row_of(world)
    overturns_code(ann, paper)
    for page in (bob.sees(paper), bob.sees(paper, "code_available"), bob.browser.get("/?show=disputed").text):
        assert "a demo only" not in page
        assert "The row says" not in page
    line = next(text for text in bob.browser.get("/").text.split("<tr>") if paper in text)
    assert "decided" not in line
    assert "done" not in line


def test_a_row_that_needs_one_reader_takes_no_second(world: World) -> None:
    ann, bob = world.person("ann"), world.person("bob")
    world.site.desk.fresh()
    paper = row_of(world, twice=False)
    ann.agrees(paper, "code_available")
    refused = bob.agrees(paper, "code_available")
    assert refused.status_code == 409
    assert "needs no further reader" in refused.text


@pytest.mark.slow
def test_an_overturn_asks_for_a_second_reader(world: World) -> None:
    ann, bob, paper = world.person("ann"), world.person("bob"), row_of(world, twice=False)
    overturns_code(ann, paper)
    assert world.site.desk.scopes()[paper] == "full"
    assert bob.agrees(paper, "code_available").status_code == 200
    places = world.site.desk.places()
    assert (places[paper, FIRST].who, places[paper, SECOND].who) == ("ann", "bob")


@pytest.mark.slow
def test_the_target_of_every_split_row_gets_a_second_reader_for_claim_target_and_bar_alone(world: World) -> None:
    ann, bob = world.person("ann"), world.person("bob")
    for paper in world.papers:
        ann.reads(paper)
    world.site.desk.fresh()
    scopes = world.site.desk.scopes()
    narrow = [p for p, scope in scopes.items() if scope == "target"]
    assert narrow
    seen = set()
    while (there := bob.browser.get("/next").url.path).startswith("/paper/"):
        paper = there.removeprefix("/paper/")
        assert paper not in seen
        seen.add(paper)
        if scopes.get(paper) == "full":
            bob.reads(paper)
            continue
        page = bob.sees(paper)
        assert "Is this the central claim?" in page
        assert "The row says" not in page
        for question in ("claim", "target", "bar"):
            assert bob.agrees(paper, question).status_code == 200
        assert "This row is done" in bob.sees(paper)
    assert seen == {p for p, scope in scopes.items() if scope}


def test_a_disagreement_goes_to_a_third_person_with_both_sides_in_view(world: World) -> None:
    ann, bob, cyd, paper = world.person("ann"), world.person("bob"), world.person("cyd", "adjudicator"), row_of(world)
    overturns_code(ann, paper)
    assert "Nothing of this row waits" in cyd.browser.get(f"/adjudicate/{paper}").text, "only one side is there yet"
    bob.reads(paper)
    assert f"/adjudicate/{paper}" in cyd.browser.get("/?show=disputed").text
    for reader in (ann, bob):
        assert reader.browser.get(f"/adjudicate/{paper}").status_code == 403
    page = cyd.browser.get(f"/adjudicate/{paper}").text
    assert "a demo only" in page
    assert "<h3>ann</h3>" in page
    assert "<h3>bob</h3>" in page
    fields = {
        "csrf": cyd.csrf, "question": "code_available", "row_hash": world.row(paper).row_hash, "after": "",
        "value": "yes",
    }  # fmt: skip
    assert cyd.posts(f"/adjudicate/{paper}", fields).status_code == 422
    assert cyd.posts(f"/adjudicate/{paper}", fields | {"why": "train.py trains it"}).status_code == 204
    world.site.desk.fresh()
    found = world.site.desk.audited(world.row(paper))
    assert (found.standing.state, found.tier) == ("decided", "Run")
    again = cyd.posts(f"/adjudicate/{paper}", fields | {"why": "in another window"})
    assert (again.status_code, "Nothing was written" in again.text) == (409, True)
    event = next(e.event.id for e in world.site.desk.entries(paper) if e.event.kind == "adjudicate")
    assert f'value="{event}"' in cyd.browser.get(f"/adjudicate/{paper}").text
    assert cyd.posts("/undo", {"csrf": cyd.csrf, "event": event}).status_code == 204
    world.site.desk.fresh()
    assert world.site.desk.audited(world.row(paper)).standing.state == "disputed"
    assert verify_chain(world.site.desk.ledger.entries(), world.given.edition.name) == []


def test_cannot_tell_is_never_done_and_the_adjudicators_own_drops_the_row(world: World) -> None:
    ann, cyd, paper = world.person("ann"), world.person("cyd", "adjudicator"), row_of(world, twice=False)
    ann.reads(paper, weights_available="cannot_tell")
    world.site.desk.fresh()
    assert world.site.desk.audited(world.row(paper)).standing.state == "disputed"
    fields = {
        "csrf": cyd.csrf, "question": "weights_available", "row_hash": world.row(paper).row_hash, "after": "",
        "value": "cannot_tell", "why": "the host answers nobody",
    }  # fmt: skip
    assert cyd.posts(f"/adjudicate/{paper}", fields).status_code == 204
    world.site.desk.fresh()
    found = world.site.desk.audited(world.row(paper))
    assert found.standing.state == "decided"
    assert found.excluded is not None
    assert "cannot tell weights_available either: the host answers nobody" in found.excluded


def test_who_adjudicates_reads_no_rows_and_who_reads_does_not_settle(world: World) -> None:
    ann, cyd, paper = world.person("ann"), world.person("cyd", "adjudicator"), row_of(world)
    fields = ann.fields(paper, "code_available", "yes") | {"csrf": cyd.csrf}
    assert cyd.posts(f"/answer/{paper}", fields).status_code == 403
    settle = {"csrf": ann.csrf, "question": "code_available", "row_hash": "", "value": "yes", "why": "mine"}
    assert ann.posts(f"/adjudicate/{paper}", settle).status_code == 403
    assert not world.site.desk.entries(paper)


@pytest.mark.slow
def test_a_conflict_of_interest_hands_the_row_on_and_stays(world: World) -> None:
    ann, bob, paper = world.person("ann"), world.person("bob"), row_of(world, twice=False)
    ann.posts(f"/place/{paper}", {"csrf": ann.csrf, "state": "conflict"})
    assert "You declared a conflict of interest" in ann.sees(paper)
    assert bob.agrees(paper, "code_available").status_code == 200
    taken = set()
    while (there := ann.browser.get("/next").url.path).startswith("/paper/"):
        taken.add(there.removeprefix("/paper/"))
        ann.posts(f"/place/{there.removeprefix('/paper/')}", {"csrf": ann.csrf, "state": "parked"})
    assert paper not in taken


@pytest.mark.slow
def test_a_parked_row_waits_until_its_reader_comes_back(world: World) -> None:
    ann, paper = world.person("ann"), row_of(world)
    ann.agrees(paper, "code_available")
    ann.posts(f"/place/{paper}", {"csrf": ann.csrf, "state": "parked"})
    assert ann.browser.get("/next").url.path != f"/paper/{paper}"
    assert "parked" in next(t for t in ann.browser.get("/").text.split("<tr>") if paper in t)
    assert ann.agrees(paper, "dataset_available").status_code == 200
    assert "begun" in next(t for t in ann.browser.get("/").text.split("<tr>") if paper in t)


def test_progress_and_time_left_follow_the_pace(world: World) -> None:
    ann, _ = world.person("ann"), world.person("bob")
    assert "known once the first reading is done" in ann.browser.get("/").text
    paper = ann.browser.get("/next").url.path.removeprefix("/paper/")
    ann.reads(paper)
    world.site.desk.fresh()
    progress = world.site.desk.progress(world.site.desk.places())
    assert progress.people == (("ann", 1, 1, 28),)
    assert progress.decided == 1
    left = progress.rows - 1 + progress.seconds_due
    assert progress.minutes_left == round(left * 27.5 / 60)


def differing(world: World, paper: str) -> None:
    """Two second looks at a row: one at its code, which is answered blind, one at its target."""
    given = {"arxiv_id": paper, "look": "double read", "classifier": "another", "receipts": (), "reason": "seen"}
    target = world.row(paper).inputs.target
    assert target is not None
    other = target.model_copy(update={"value": "12.3"}).model_dump(mode="json")
    found = (
        Disagreement(question="code_available", ours=True, theirs=False, **given),
        Disagreement(
            question="target", ours=None, theirs=other, cheaper=True, together={"hours": 0.25, "target": other}, **given
        ),
    )
    world.pool = replace(world.pool, print="looked", disagreements=found)


def test_where_another_reading_differs_comes_first_and_tells_of_blind_questions_only_afterwards(world: World) -> None:
    ann, paper = world.person("ann"), world.papers[-1]
    differing(world, paper)
    rows = ann.browser.get("/").text.partition("<tbody>")[2].split("<tr>")[1:]
    assert (paper in rows[0], "readings differ" in rows[0], "readings differ" in rows[1]) == (True, True, False)
    page = ann.sees(paper)
    assert "double read says 12.3 accuracy (ResNet-18, learning rate 0.1) at 0.25 h" in page
    assert "double read says no" not in page
    for question in BLIND:
        ann.agrees(paper, question)
    assert "double read says no, the row yes" in ann.sees(paper)


def test_a_decision_may_rest_on_what_a_second_look_found(world: World) -> None:
    ann, paper = world.person("ann"), row_of(world, tier="Reimplement")
    extra = replace(
        next(iter(world.pool.receipts.values())), paper=paper, subject="github:lab/found", outcome=Outcome.AVAILABLE
    )
    look = {"look": "prober", "classifier": "another", "answered": True, "receipts": [extra.id]}
    world.pool = replace(world.pool, receipts={**world.pool.receipts, extra.id: extra})
    world.change(paper, looks=[look])
    for question in BLIND:
        if question == "code_available":
            ann.says(paper, question, "yes")
        else:
            ann.agrees(paper, question)
    assert "second look" in ann.sees(paper, "code_available")
    said = ann.says(paper, "code_available", "yes", why="the second look found it", evidence=[extra.id])
    assert said.status_code == 200
    world.site.desk.fresh()
    assert world.site.desk.entries(paper)[-1].event.evidence == [extra.id]
