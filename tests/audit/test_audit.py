"""What decisions do: when a row is decided, what an answer changes, and how splits follow from history."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.audit import Audited, Splits, audit, replay, standing, unsupported
from pipeline.derivation import Derivation, Rules, derive
from pipeline.events import QUESTIONS, Event
from pipeline.evidence import Outcome, Receipt, Signal, Verification
from pipeline.release.compose import Material, compose, pool_of
from pipeline.tiers import Tier

Row = tuple[Derivation, dict[str, Receipt]]


@pytest.fixture
def run(made: ModuleType) -> Row:
    return row(made, "Run")


def row(made: ModuleType, tier: str, **changes: Any) -> Row:
    inputs, found = made.inputs(1, tier=tier, hours=4.0, **changes)
    receipts = {r.id: r for r in found}
    return derive(inputs, receipts, Rules.of(made.EDITION)), receipts


def audited(made: ModuleType, of: Row, *events: Event, without: str = "") -> Audited:
    """The row after one person agreed with everything and `events` came on top."""
    agreed = [e for e in made.agrees(of[0]) if e.question != without]
    return audit(of[0], [*agreed, *events], of[1], Rules.of(made.EDITION))


def settles(made: ModuleType, of: Row, question: str, value: Any, **changes: Any) -> Event:
    given_ = {
        "kind": "adjudicate",
        "phase": None,
        "who": "joan",
        "at": "2026-02-25T10:00:00Z",
        "why": "seen",
        **changes,
    }
    return made.says(of[0], question, value, **given_)  # type: ignore[no-any-return]


def test_a_row_is_decided_when_every_question_is_answered_on_its_present_hash(made: ModuleType, run: Row) -> None:
    events = made.agrees(run[0])
    assert standing(run[0].arxiv_id, run[0].row_hash, events).state == "decided"
    for event in events:
        rest = [e for e in events if e is not event]
        where = standing(run[0].arxiv_id, run[0].row_hash, rest)
        assert (where.state, dict(where.open)) == ("waiting", {event.question: "waiting"})


def test_answers_about_an_earlier_state_of_the_row_are_stale(made: ModuleType, run: Row) -> None:
    where = standing(run[0].arxiv_id, "b" * 64, made.agrees(run[0]))
    assert where.state == "stale"
    assert set(where.open) == set(QUESTIONS)


def test_an_answer_about_another_paper_decides_nothing(made: ModuleType, run: Row) -> None:
    assert standing("2601.99999", run[0].row_hash, made.agrees(run[0])).state == "waiting"


def test_cannot_tell_never_counts_as_done_and_goes_to_adjudication(made: ModuleType, run: Row) -> None:
    unsure = made.says(run[0], "hours", "cannot_tell", at="2026-02-21T10:00:00Z")
    found = audited(made, run, unsure)
    assert found.standing.open == {"hours": "disputed"}
    assert found.excluded == "disputed: hours"


def test_two_auditors_who_differ_wait_for_an_adjudication_which_wins(made: ModuleType, run: Row) -> None:
    other = made.says(run[0], "code_available", False, who="grace", why="eval only")
    disputed = audited(made, run, other)
    assert disputed.standing.state == "disputed"
    assert disputed.excluded == "disputed: code_available"
    judged = settles(made, run, "code_available", True)
    later = made.says(run[0], "code_available", False, who="grace", at="2026-02-26T10:00:00Z", why="still")
    settled = audited(made, run, other, judged, later)
    assert settled.standing.state == "decided"
    assert settled.label(Signal.CODE).value is True


def test_one_who_cannot_tell_beside_one_who_can_is_a_dispute(made: ModuleType, run: Row) -> None:
    assert audited(made, run, made.says(run[0], "kind", "cannot_tell", who="grace")).standing.state == "disputed"


def test_true_and_one_are_different_answers_but_two_and_two_point_zero_are_not(made: ModuleType, run: Row) -> None:
    two = [made.says(run[0], "hours", v, who=w, why="w") for v, w in ((2, "ada"), (2.0, "grace"))]
    assert standing(run[0].arxiv_id, run[0].row_hash, two).decisions["hours"].value == 2


def test_a_persons_later_answer_replaces_the_earlier_one(made: ModuleType, run: Row) -> None:
    revised = made.says(run[0], "hours", 2.5, phase="revised", at="2026-02-21T10:00:00Z", why="table 4")
    found = audited(made, run, revised)
    assert (found.hours, found.standing.state, found.overturned) == (2.5, "decided", ("hours",))


def test_agreeing_with_everything_changes_nothing(made: ModuleType, run: Row) -> None:
    found = audited(made, run)
    assert found.inputs == run[0].inputs
    assert found.labels == run[0].labels
    assert (found.hours, found.tier, found.excluded, found.overturned) == (4.0, Tier.RUN, None, ())


def test_missing_code_makes_a_row_one_to_reimplement_and_its_score_follows(made: ModuleType, run: Row) -> None:
    cited = run[0].label(Signal.CODE).receipts[0]
    gone = made.says(
        run[0], "code_available", False, at="2026-02-21T10:00:00Z", why="only an evaluation script", evidence=[cited]
    )
    found = audited(made, run, gone)
    assert (found.tier, found.score_needs, found.overturned) == (Tier.REIMPLEMENT, 2, ("code_available",))
    assert found.label(Signal.CODE).receipts == (cited,)
    assert "only an evaluation script" in found.label(Signal.CODE).reason
    assert unsupported(found, run[1]) == []


def test_an_overturn_needs_a_reason_and_a_receipt_of_this_paper(made: ModuleType, run: Row) -> None:
    bare = made.says(run[0], "code_available", False, at="2026-02-21T10:00:00Z", evidence=["f" * 64])
    text = " ".join(unsupported(audited(made, run, bare), run[1]))
    assert "without a reason" in text
    assert "without a receipt of this paper" in text


def overturn(made: ModuleType, of: Row, question: str, value: bool, *cited: str) -> tuple[Any, list[str]]:
    """The label that a person's overturn leaves, and what the gate would say of it."""
    event = made.says(of[0], question, value, at="2026-02-21T10:00:00Z", why="seen", evidence=list(cited))
    found = audited(made, of, event)
    return found.label(Signal(question)), unsupported(found, of[1])


def with_receipt(made: ModuleType, of: Row, tool: str, subject: str, outcome: Outcome, **facts: Any) -> tuple[Row, str]:
    """The row with one more receipt in its episode."""
    extra = made.receipt(1, tool, subject, outcome, **facts)
    inputs = of[0].inputs.model_copy(update={"receipts": [*of[0].inputs.receipts, extra.id]})
    receipts = {**of[1], extra.id: extra}
    return (derive(inputs, receipts, Rules.of(made.EDITION)), receipts), extra.id


@pytest.mark.parametrize("outcome", list(Outcome))
@pytest.mark.parametrize("value", [True, False])
def test_a_place_supports_an_overturn_by_what_was_found_there(made: ModuleType, outcome: Outcome, value: bool) -> None:
    """True needs it available; false takes any settled one, since a person may read a place and find it lacking."""
    of, question = row(made, "Reimplement" if value else "Run"), "code_available"
    of, cited = with_receipt(made, of, "fetch_url", "url:https://lab.example/", outcome)
    label, problems = overturn(made, of, question, value, cited)
    fits = outcome is Outcome.AVAILABLE if value else outcome is not Outcome.UNDETERMINED
    assert (label.receipts, bool(problems)) == (((cited,), False) if fits else ((), True))
    assert label.value is value
    if fits:
        assert label.verification is Verification.TOOL_VERIFIED


def test_a_search_never_shows_that_something_is_there(made: ModuleType) -> None:
    of = row(made, "Reimplement")
    search = of[0].label(Signal.CODE).receipts[0]
    label, problems = overturn(made, of, "code_available", True, search)
    assert label.receipts == ()
    assert any("a search only names places" in p for p in problems)


def test_a_search_that_did_not_come_back_whole_shows_no_absence(made: ModuleType, run: Row) -> None:
    of, cited = with_receipt(made, run, "github_search_code", "search:github", Outcome.AVAILABLE, complete=False)
    label, problems = overturn(made, of, "code_available", False, cited)
    assert label.receipts == ()
    assert any("complete searches" in p for p in problems)


def test_a_receipt_made_with_credentials_is_no_public_access(made: ModuleType) -> None:
    of, cited = with_receipt(
        made, row(made, "Reimplement"), "github_repo", "github:lab/x", Outcome.AVAILABLE, authenticated=True
    )
    assert overturn(made, of, "code_available", True, cited)[1]


def test_a_receipt_of_another_paper_supports_nothing(made: ModuleType, run: Row) -> None:
    other = made.receipt(2, "github_repo", "github:lab/p2", Outcome.UNAVAILABLE)
    of = (run[0], {**run[1], other.id: other})
    label, problems = overturn(made, of, "code_available", False, other.id)
    assert (label.receipts, len(problems)) == ((), 1)


def test_a_gated_home_shows_that_data_is_standard_and_not_that_it_can_be_had(made: ModuleType) -> None:
    of, cited = with_receipt(made, row(made, "blocked"), "hub_repo", "hf:dataset:a/b", Outcome.GATED)
    assert overturn(made, of, "dataset_is_standard", True, cited)[1] == []
    assert overturn(made, of, "dataset_available", True, cited)[1]


def test_in_a_row_found_not_eligible_no_other_answer_needs_support(made: ModuleType, run: Row) -> None:
    found = audited(
        made,
        run,
        made.says(run[0], "code_available", False, at="2026-02-21T10:00:00Z", why="seen"),
        made.says(run[0], "eligibility", False, at="2026-02-21T10:00:00Z", why="two papers in one archive"),
    )
    assert unsupported(found, run[1]) == []


def test_absence_that_rests_on_searches_is_published_as_searched(made: ModuleType) -> None:
    retrain = row(made, "Retrain")
    search = next(i for i, r in retrain[1].items() if r.tool == "hub_search")
    gone = made.says(
        retrain[0], "code_available", False, at="2026-02-21T10:00:00Z", why="another paper's", evidence=[search]
    )
    label = audited(made, retrain, gone).label(Signal.CODE)
    assert label.verification is Verification.SEARCHED_NOT_FOUND


def test_what_is_not_needed_is_not_charged(made: ModuleType) -> None:
    retrain = row(made, "Retrain")
    free = made.says(retrain[0], "weights_available", "not_needed", at="2026-02-21T10:00:00Z", why="nothing is trained")
    found = audited(made, retrain, free)
    assert (found.tier, found.score_needs, found.score_published) == (Tier.RUN, 0, 1)
    assert found.label(Signal.WEIGHTS).verification is Verification.NOT_APPLICABLE
    assert unsupported(found, retrain[1]) == []


def test_weights_found_released_take_the_training_out_of_the_hours(made: ModuleType) -> None:
    parts = [made.part(40.0, "train"), made.part(1.5, "eval")]
    retrain = row(made, "Retrain", compute=parts)
    cited = retrain[0].label(Signal.CODE).receipts[0]
    there = made.says(
        retrain[0], "weights_available", True, at="2026-02-21T10:00:00Z", why="in the release page", evidence=[cited]
    )
    assert retrain[0].hours == 41.5
    assert audited(made, retrain, there).hours == 1.5


def test_weights_found_missing_leave_the_hours_unknown_until_a_person_states_them(made: ModuleType, run: Row) -> None:
    cited = run[0].label(Signal.WEIGHTS).receipts[0]
    gone = made.says(
        run[0], "weights_available", False, at="2026-02-21T10:00:00Z", why="the base model", evidence=[cited]
    )
    found = audited(made, run, gone)
    assert (found.tier, found.hours) == (Tier.RETRAIN, None)
    assert found.excluded is not None
    assert found.excluded.startswith("hours unknown")
    stated = made.says(run[0], "hours", 60, at="2026-02-21T10:00:00Z", why="appendix C")
    assert audited(made, run, gone, stated).hours == 60.0


@pytest.mark.parametrize(
    ("question", "value", "reason"),
    [
        ("eligibility", False, "not eligible"),
        ("claim", "wrong", "its claim wrong"),
        ("target", "wrong", "its target wrong"),
        ("bar", "wrong", "its bar wrong"),
        ("hours", "wrong", "hours unknown"),
        ("hours", 500, "above the cap"),
        ("kind", "theoretical", "out of scope"),
        ("needs", ["human_raters"], "needs human raters"),
        ("dataset_available", False, ""),
    ],
)
def test_what_a_person_finds_wrong_keeps_a_row_out_with_its_reason(
    made: ModuleType, run: Row, question: str, value: Any, reason: str
) -> None:
    found = audited(made, run, made.says(run[0], question, value, at="2026-02-21T10:00:00Z", why="seen"))
    if reason:
        assert found.excluded is not None
        assert reason in found.excluded
    else:
        assert found.excluded is None  # the data set is a standard one all the same
    assert found.overturned == (question,)


def test_a_row_found_not_eligible_needs_no_other_answer(made: ModuleType, run: Row) -> None:
    only = [made.says(run[0], "eligibility", False, why="two papers in one archive")]
    assert standing(run[0].arxiv_id, run[0].row_hash, only).state == "decided"


def test_a_corrected_target_and_bar_replace_the_classifiers(made: ModuleType, run: Row) -> None:
    target = run[0].inputs.target
    assert target is not None
    other = target.model_copy(update={"config": "ResNet-50"}).model_dump(mode="json")
    bar = {**target.bar.model_dump(mode="json"), "tolerance": 0.2, "tolerance_source": "authors"}
    found = audited(
        made,
        run,
        made.says(run[0], "target", other, at="2026-02-21T10:00:00Z", why="table 2"),
        made.says(run[0], "bar", bar, at="2026-02-21T10:00:00Z", why="std over seeds"),
    )
    assert found.inputs.target is not None
    assert (found.inputs.target.config, found.inputs.target.bar.tolerance) == ("ResNet-50", 0.2)
    assert found.excluded is None


def test_a_bar_that_cannot_grade_the_target_keeps_the_row_out(made: ModuleType, run: Row) -> None:
    bar = {"kind": "direction", "op": ">", "reference": 70.0}
    found = audited(made, run, made.says(run[0], "bar", bar, at="2026-02-21T10:00:00Z", why="only better"))
    assert found.excluded is not None
    assert "cannot be graded" in found.excluded


def test_relabel_and_re_estimate_stand_over_answers(made: ModuleType, run: Row) -> None:
    cited = run[0].label(Signal.CODE).receipts[0]
    found = audited(
        made,
        run,
        settles(made, run, "code_available", False, kind="relabel", evidence=[cited]),
        settles(made, run, "hours", 7.0, kind="re_estimate"),
    )
    assert (found.tier, found.hours) == (Tier.REIMPLEMENT, 7.0)


# Replay.


@pytest.fixture(scope="module")
def held(made: ModuleType) -> Material:
    return made.material()  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def rows(held: Material) -> tuple[Audited, ...]:
    return compose(held).audited


def change(kind: str, paper: str, second: int = 0, **more: Any) -> Event:
    at = f"2026-02-27T10:00:{second:02}Z"
    return Event.model_validate({"kind": kind, "paper": paper, "who": "ada", "at": at, "why": "gone", **more})


def test_a_dropped_paper_leaves_a_gap_and_a_replaced_one_is_followed_by_the_reserve(
    made: ModuleType, rows: tuple[Audited, ...]
) -> None:
    before = replay(rows, made.EDITION, [])
    first, second = before.eval[0], before.eval[1]
    dropped = replay(rows, made.EDITION, [change("drop", first)])
    assert dropped.eval == before.eval[1:]
    replaced = replay(rows, made.EDITION, [change("replace", second)])
    entered = replaced.changes[0].entered
    assert entered is not None
    assert replaced.eval == (first, entered, *before.eval[2:])
    tier = {r.arxiv_id: r.tier for r in rows}
    assert tier[entered] == tier[second]
    assert entered not in (*before.eval, *before.dev)


def test_a_paper_that_left_never_comes_back(made: ModuleType, rows: tuple[Audited, ...]) -> None:
    history: list[Event] = []
    seen: set[str] = set()
    splits = replay(rows, made.EDITION, history)
    for second in range(30):
        runs = [i for i in splits.eval if next(r.tier for r in rows if r.arxiv_id == i) is Tier.RUN]
        if not runs:
            break
        seen.add(runs[0])
        history.append(change("replace", runs[0], second))
        splits = replay(rows, made.EDITION, history)
        assert not seen & {*splits.eval, *splits.dev}
    assert any("reserve of its tier is empty" in p for p in splits.problems)


def test_a_replacement_of_a_paper_in_no_split_is_a_problem(made: ModuleType, rows: tuple[Audited, ...]) -> None:
    splits = replay(rows, made.EDITION, [change("replace", "2601.99999")])
    assert splits.problems == ("2601.99999: cannot be replaced, it is in no split",)


def test_an_undecided_row_enters_no_split(made: ModuleType, held: Material) -> None:
    nothing = compose(made.material([]))
    assert nothing.splits.eval == nothing.splits.dev == ()
    assert {a.standing.state for a in nothing.audited} == {"waiting"}


def same(a: Splits, b: Splits) -> bool:
    return (a.eval, a.dev) == (b.eval, b.dev)


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_any_history_keeps_splits_disjoint_within_their_tiers_and_free_of_what_left(
    made: ModuleType, rows: tuple[Audited, ...], data: st.DataObject
) -> None:
    ids = [r.arxiv_id for r in rows]
    picks = data.draw(st.lists(st.tuples(st.sampled_from(["drop", "replace"]), st.sampled_from(ids)), max_size=8))
    history = [change(kind, paper, second) for second, (kind, paper) in enumerate(picks)]
    splits = replay(rows, made.EDITION, history)
    assert not set(splits.eval) & set(splits.dev)
    assert len({*splits.eval, *splits.dev}) == len(splits.eval) + len(splits.dev)
    assert not {paper for _, paper in picks} & {*splits.eval, *splits.dev}
    tiers = {r.arxiv_id: r.tier for r in rows}
    before = replay(rows, made.EDITION, [])
    for tier in (Tier.RUN, Tier.RETRAIN, Tier.REIMPLEMENT):
        assert sum(tiers[i] is tier for i in splits.eval) <= sum(tiers[i] is tier for i in before.eval)
    assert same(splits, replay(tuple(reversed(rows)), made.EDITION, history))


def test_the_pool_does_not_depend_on_the_order_of_rows(made: ModuleType, held: Material) -> None:
    rows_ = [derive(i, held.receipts, Rules.of(made.EDITION)) for i in held.sample]
    assert pool_of(rows_, made.EDITION).ids == pool_of(rows_[::-1], made.EDITION).ids
