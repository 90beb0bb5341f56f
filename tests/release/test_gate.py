"""Every validator passes the made edition and fails what breaks its rule: a check that cannot fail proves nothing."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pipeline.corpus import Exclusion
from pipeline.derivation import Inputs
from pipeline.editions import Edition, load, shipped
from pipeline.evidence import Outcome, canonical, digest
from pipeline.release import gate
from pipeline.release.case import Case
from pipeline.release.compose import Material, compose
from pipeline.release.freeze import freeze
from pipeline.release.gate import Given
from pipeline.release.report import Check, Report, Tally
from pipeline.release.tables import tables


@pytest.fixture(scope="module")
def held(made: ModuleType) -> Material:
    return made.material()


def case_of(held: Material) -> Case:
    made = compose(held)
    return Case(material=held, made=made, lines=tables(held, made))


@pytest.fixture(scope="module")
def good(held: Material) -> Case:
    return case_of(held)


@pytest.fixture
def case(good: Case) -> Case:
    """A case whose lines a test may break."""
    return replace(good, lines=copy.deepcopy(dict(good.lines)))


def wheres(check: Check) -> set[str]:
    return {failure.where for failure in check.failures}


def test_the_made_edition_passes_every_validator(made: ModuleType, held: Material, good: Case) -> None:
    report = gate.gate(good, made.given(held))
    assert report.ok, "\n".join(report.lines())
    assert len(report.checks) == len(gate.FOLDER) + len(gate.PAPERS) + len(gate.FREEZE)
    assert len({check.name for check in report.checks}) == len(report.checks)


def test_a_check_that_looked_at_nothing_has_failed_unless_nothing_is_expected() -> None:
    assert not Tally("nothing").done().ok
    assert Tally("nothing", expects_none=True).done().ok
    assert not Report(()).ok


@pytest.fixture(scope="module")
def empty(held: Material) -> Case:
    return case_of(replace(held, index=(), early=(), sample=(), receipts={}, entries=()))


@pytest.mark.parametrize("check", gate.FOLDER)
def test_no_validator_passes_an_edition_without_papers(empty: Case, check: Callable[[Case], Check]) -> None:
    """But for replacements, which most editions do not have."""
    found = check(empty)
    if check is gate.replacements_ruled:
        assert found.ok
    else:
        assert not found.ok
        assert found.failures


# Lines broken one by one; each names the validator that must see it.

Line = dict[str, Any]


def drop_field(line: Line) -> None:
    del line["agent_task"]


def add_field(line: Line) -> None:
    line["note"] = "x"


def put(*path: str, to: Any) -> Callable[[Line], None]:
    def change(line: Line) -> None:
        for key in path[:-1]:
            line = line[key]
        assert line[path[-1]] != to
        line[path[-1]] = to

    return change


@pytest.mark.parametrize(
    ("check", "table", "change"),
    [
        (gate.row_schema, "eval", drop_field),
        (gate.row_schema, "eval", add_field),
        (gate.row_schema, "dev", put("match_target", "match_bar_kind", to="none")),
        (gate.row_schema, "eval", put("match_target", "match_bar_kind", to=None)),
        (gate.row_schema, "eval", put("signals", "code_available", "value", to="true")),
        (gate.row_schema, "eval", put("signals", "code_available", "verification", to="tool_failed")),
        (gate.row_schema, "eval", put("score", to=1.5)),
        (gate.row_schema, "eval", put("verification_status", to="incomplete")),
        (gate.row_schema, "eval", put("claim_evidence", to="")),
        (gate.receipts_entail, "eval", put("signals", "dataset_available", "value", to=False)),
        (gate.receipts_entail, "eval", put("signals", "dataset_available", "verification", to="not_applicable")),
        (gate.receipts_entail, "eval", put("custom_id", to="2601.99999")),
        (gate.targets_gradeable, "targets", put("number", to=1.0)),
        (gate.targets_gradeable, "targets", put("bar", "tolerance", to=None)),
        (gate.targets_gradeable, "targets", put("bar", "kind", to="none")),
        (gate.targets_gradeable, "targets", put("anchor", "quote", to="nothing")),
        (gate.targets_gradeable, "targets", put("custom_id", to="2601.99999")),
        (gate.targets_gradeable, "eval", put("match_target", "value", to="about 80")),
        (gate.targets_gradeable, "eval", put("match_target", "match_bar_kind", to="direction")),
        (gate.tiers_follow, "eval", put("score", to=5)),
        (gate.tiers_follow, "eval", put("tier", to="Blocked")),
        (gate.tiers_follow, "eval", put("paper_kind", to="survey")),
        (gate.bands_follow, "eval", put("h100_band", to="0-1")),
        (gate.bands_follow, "eval", put("selection_band", to="0-1")),
        (gate.caps_hold, "eval", put("audited_h100_hours", to=96.5)),
        (gate.caps_hold, "eval", put("audited_h100_hours", to=-1.0)),
        (gate.splits_disjoint, "eval", put("split", to="dev")),
    ],
)
def test_a_broken_line_is_named_by_its_validator(
    case: Case, check: Callable[[Case], Check], table: str, change: Callable[[Line], None]
) -> None:
    assert check(case).ok
    line = case.lines[table][0]
    paper = line["custom_id"]
    change(line)
    assert wheres(check(case)) == {line["custom_id"] if table == "eval" else paper}


def test_a_paper_in_both_splits_is_named(case: Case) -> None:
    case.lines["dev"].append({**case.lines["eval"][0], "split": "dev"})
    assert wheres(gate.splits_disjoint(case)) == {case.lines["eval"][0]["custom_id"]}
    assert not gate.sizes_hold(case).ok


def test_a_split_short_of_a_row_is_named_by_split_and_tier(case: Case) -> None:
    gone = case.lines["eval"].pop()
    assert {w.split()[0] for w in wheres(gate.sizes_hold(case))} == {"eval"}
    assert wheres(gate.all_accounted(case)) == {gone["custom_id"]}


def test_every_entry_of_the_index_ends_in_exactly_one_place(case: Case) -> None:
    extra = case.lines["exclusions"][0]
    case.lines["exclusions"].append(dict(extra))
    assert wheres(gate.all_accounted(case)) == {extra["key"]}
    case.lines["exclusions"].pop()
    case.lines["exclusions"].append({**extra, "key": "2601.77777"})
    assert wheres(gate.all_accounted(case)) == {"2601.77777"}
    case.lines["exclusions"].pop()
    extra["reason"] = ""
    assert wheres(gate.all_accounted(case)) == {extra["key"]}


# Material broken, everything derived again.


def changed(held: Material, paper: str, **changes: Any) -> Material:
    sample = [
        Inputs.model_validate({**i.model_dump(mode="json"), **changes}) if i.arxiv_id == paper else i
        for i in held.sample
    ]
    return replace(held, sample=tuple(sample))


def first(held: Material) -> str:
    return compose(held).splits.eval[0]


def test_a_missing_receipt_is_named(held: Material) -> None:
    paper = first(held)
    gone = next(r.id for r in held.receipts.values() if r.paper == paper)
    check = gate.receipts_resolve(
        case_of(replace(held, receipts={i: r for i, r in held.receipts.items() if i != gone}))
    )
    assert wheres(check) == {paper}
    assert "missing" in check.failures[0].message


def test_a_row_without_every_decision_is_named_with_what_it_lacks(made: ModuleType, held: Material) -> None:
    paper = first(held)
    events = [e.event for e in held.entries if (e.event.paper, e.event.question) != (paper, "hours")]
    check = gate.pool_decided(case_of(replace(held, entries=made.chain(events))))
    assert [str(f) for f in check.failures] == [f"{paper}: waiting: hours waiting"]


def test_a_decision_on_an_earlier_state_of_the_row_is_stale(held: Material) -> None:
    paper = first(held)
    check = gate.pool_decided(case_of(changed(held, paper, central_claim="another claim")))
    assert wheres(check) == {paper}
    assert check.failures[0].message.startswith("stale")


def test_a_candidate_without_a_reason_of_the_guide_is_named(held: Material) -> None:
    paper = first(held)
    for reason in ("nice", ""):
        case = case_of(changed(held, paper, inventory=[{"item": "table 1", "caption": "", "reason": reason}]))
        assert wheres(gate.inventory_reasoned(case)) == {paper}


def items(*chosen: str, passed: tuple[str, ...] = ()) -> list[dict[str, str]]:
    return [
        {"item": item, "caption": "", "reason": reason}
        for group, reason in ((chosen, "chosen"), (passed, "ablation"))
        for item in group
    ]


@pytest.mark.parametrize(
    "inventory",
    [
        items(),
        items(passed=("table 1",)),
        items("table 2", passed=("table 1",)),
        items("figure 1", passed=("table 1",)),
        items("table 1", "table 2"),
    ],
)
def test_chosen_is_the_one_table_that_prints_the_target(held: Material, inventory: list[dict[str, str]]) -> None:
    paper = first(held)
    check = gate.inventory_reasoned(case_of(changed(held, paper, inventory=inventory)))
    assert [f.where for f in check.failures] == [paper]
    assert "printed in table 1" in check.failures[0].message


def test_where_running_text_prints_the_target_no_table_is_chosen(made: ModuleType, held: Material) -> None:
    paper = first(held)
    target = next(i.target for i in held.sample if i.arxiv_id == paper)
    assert target is not None
    anchor = target.anchor.model_copy(update={"table": None, "row": None, "column": None})
    prose = target.model_copy(update={"anchor": anchor}).model_dump(mode="json")
    told = made.decided(changed(held, paper, target=prose, inventory=items(passed=("table 1",))))
    assert gate.inventory_reasoned(case_of(told)).ok
    told = made.decided(changed(held, paper, target=prose, inventory=items("table 1")))
    assert "printed in running text" in gate.inventory_reasoned(case_of(told)).failures[0].message


def test_an_invented_candidate_is_named(made: ModuleType, held: Material) -> None:
    paper = first(held)
    told = changed(held, paper, inventory=items("table 1", passed=("table 9",)))
    check = gate.inventory_whole(case_of(told), made.given(held).papers)
    assert [(f.where, f.message) for f in check.failures] == [(paper, "table 9 is not in the source")]


def test_a_paper_left_out_as_undetermined_or_a_stage_left_unfinished_freezes_nothing(
    made: ModuleType, held: Material, good: Case
) -> None:
    assert gate.nothing_pending(good, made.given(held)).ok
    out = replace(held.early[0], stage="bundles", reason="undetermined", detail="timeout")
    waits = case_of(replace(held, early=(out, *held.early[1:])))
    assert wheres(gate.nothing_pending(waits, made.given(held))) == {out.key}
    left = replace(made.given(held), unfinished=("classification",))
    assert wheres(gate.nothing_pending(good, left)) == {"classification"}
    assert not gate.gate(good, left).ok


def test_old_evidence_is_named_with_a_remedy_that_works(made: ModuleType, held: Material, good: Case) -> None:
    later = replace(made.given(held), frozen_at=made.WHEN + timedelta(days=1000))
    message = gate.receipts_fresh(good, later).failures[0].message
    assert message.endswith("`reclaim build EDITION --refresh` asks for it anew")


def test_candidates_that_are_not_the_papers_inventory_are_named(made: ModuleType, held: Material) -> None:
    paper = first(held)
    for numbers in ([], [1, 1], [1, 2]):
        inventory = [{"item": f"table {n}", "caption": "", "reason": "chosen"} for n in numbers]
        check = gate.inventory_whole(case_of(changed(held, paper, inventory=inventory)), made.given(held).papers)
        assert wheres(check) == {paper}


def test_a_target_that_its_source_does_not_print_is_named(made: ModuleType, held: Material, good: Case) -> None:
    paper = first(held)
    target = next(i.target for i in held.sample if i.arxiv_id == paper)
    assert target is not None
    moved = target.model_copy(update={"anchor": target.anchor.model_copy(update={"row": 0})})
    resourced = target.model_copy(update={"anchor": target.anchor.model_copy(update={"source_sha256": "0" * 64})})
    for wrong in (moved, resourced):
        case = case_of(made.decided(changed(held, paper, target=wrong.model_dump(mode="json"))))
        assert wheres(gate.targets_anchored(case, made.given(held).papers)) == {paper}
    assert len(gate.targets_anchored(good, lambda _: None).failures) == 12


def test_evidence_older_than_the_edition_allows_is_named(made: ModuleType, held: Material, good: Case) -> None:
    given: Given = made.given(held)
    paper = good.made.chosen[0]
    cited = paper.labels[0].receipts[0]
    age = held.edition.max_receipt_age_days
    old = replace(given, seen={**given.seen, cited: given.frozen_at - timedelta(days=age, seconds=1)})
    just = replace(given, seen={**given.seen, cited: given.frozen_at - timedelta(days=age)})
    never = replace(given, seen={i: at for i, at in given.seen.items() if i != cited})
    assert wheres(gate.receipts_fresh(good, old)) == {paper.arxiv_id}
    assert gate.receipts_fresh(good, just).ok
    assert wheres(gate.receipts_fresh(good, never)) == {paper.arxiv_id}


def test_a_stale_or_missing_stage_is_named(made: ModuleType, held: Material, good: Case) -> None:
    given = replace(made.given(held), stages=(("rows", "a", "b"), ("audit", None, "c"), ("pool", "d", "d")))
    assert wheres(gate.stages_current(good, given)) == {"rows", "audit"}


def test_a_broken_chain_is_named(held: Material, good: Case) -> None:
    cut = replace(held, entries=held.entries[1:])
    check = gate.ledger_whole(replace(good, material=cut))
    assert "entries are missing" in check.failures[0].message


def test_a_paper_sampled_before_its_turn_is_named(made: ModuleType, held: Material) -> None:
    ids = made.order()
    swapped = [
        replace(e, key=ids[3]) if e.key == ids[25] else e
        for e in held.early
    ]  # fmt: skip
    sample = tuple(i for i in held.sample if i.arxiv_id != ids[3])
    check = gate.sampled_by_rank(case_of(replace(held, early=tuple(swapped), sample=sample)))
    assert ids[3] in check.failures[0].message
    assert ids[4] in wheres(check)
    assert ids[2] not in wheres(check)


def test_a_replacement_that_the_rule_does_not_give_is_named(made: ModuleType, held: Material) -> None:
    made_ = compose(held)
    event = {
        "kind": "replace",
        "paper": made_.splits.eval[0],
        "who": "ada",
        "at": "2026-02-27T10:00:00Z",
        "why": "gone",
    }
    right = made.chain([*(e.event for e in held.entries), made.Event.model_validate(event)])
    case = case_of(replace(held, entries=right))
    assert gate.replacements_ruled(case).ok
    assert gate.replacements_ruled(case).checked == 1
    wrong = made.chain([*(e.event for e in held.entries), made.Event.model_validate({**event, "value": "2601.00003"})])
    assert "the rule gives" in gate.replacements_ruled(case_of(replace(held, entries=wrong))).failures[0].message


def test_a_row_that_needs_a_paid_api_cannot_stay_in_a_split(good: Case) -> None:
    chosen = good.made.chosen[0]
    paid = replace(chosen, inputs=chosen.inputs.model_copy(update={"paid_api": "some API"}))
    blocked = replace(chosen, excluded="a person found it not eligible: x")
    for bad in (paid, blocked, replace(chosen, tier=None)):
        audited = tuple(bad if a is chosen else a for a in good.made.audited)
        check = gate.eligible_rows(replace(good, made=replace(good.made, audited=audited)))
        assert wheres(check) == {chosen.arxiv_id}


@pytest.mark.parametrize("name", shipped())
def test_an_editions_settings_survive_the_release_with_their_hash(name: str) -> None:
    edition = load(name)
    again = Edition.model_validate(json.loads(canonical(edition.settings())))
    assert again.hash == edition.hash == digest(edition.settings())


def test_nothing_is_frozen_and_every_failure_is_listed(made: ModuleType, held: Material, tmp_path: Path) -> None:
    paper = first(held)
    events = [e.event for e in held.entries if e.event.paper != paper]
    broken = replace(held, entries=made.chain(events), early=held.early[1:])
    given = replace(made.given(held), stages=(("rows", "a", "b"),))
    frozen = freeze(broken, given, tmp_path / "r", "code")
    assert frozen.place is None
    assert list(tmp_path.iterdir()) == []
    failed = {check.name for check in frozen.report.checks if not check.ok}
    assert failed == {
        "every pool row is decided on its present hash",
        "every paper of the index is accounted for, once",
        "every stage's output is current",
    }


def test_an_exclusion_of_a_later_stage_cannot_pass_for_a_recorded_one(held: Material) -> None:
    """Only stages before a derivation are recorded; such an exclusion beside a row is one place too many."""
    paper = first(held)
    extra = Exclusion(key=paper, title="", stage="classification", reason="tool_limit", detail="")
    check = gate.all_accounted(case_of(replace(held, early=(*held.early, extra))))
    assert wheres(check) == {paper}


def test_what_was_reached_without_an_exchange_is_named(held: Material) -> None:
    paper = first(held)
    one = next(r for r in held.receipts.values() if r.paper == paper and r.outcome is Outcome.AVAILABLE)
    for forged in (replace(one, exchanges=()), replace(one, tool="supplement_file", exchanges=())):
        check = gate.receipts_rest(case_of(replace(held, receipts={**held.receipts, one.id: forged})))
        assert wheres(check) == {paper}
    own = replace(one, tool="supplement_file", subject="supplement:train.py", exchanges=())
    assert gate.receipts_rest(case_of(replace(held, receipts={**held.receipts, one.id: own}))).ok


def target_of(held: Material, paper: str) -> dict[str, Any]:
    target = next(i for i in held.sample if i.arxiv_id == paper).target
    assert target is not None
    return target.model_dump(mode="json")


@pytest.mark.parametrize("part", [{"tolerance": 40.0}, {"tolerance_source": "authors"}, {"reference": 70.0}])
def test_a_bar_that_is_not_the_rules_is_named_unless_a_person_gave_it(
    made: ModuleType, held: Material, part: dict[str, Any]
) -> None:
    paper = first(held)
    target = target_of(held, paper)
    bar = {**target["bar"], **part}
    forged = made.decided(changed(held, paper, target={**target, "bar": bar}))
    assert wheres(gate.targets_ruled(case_of(forged))) == {paper}
    events = [e.event for e in held.entries]
    for question, value in (("bar", bar), ("target", {**target, "bar": bar})):
        said = [
            e.model_copy(update={"value": value, "why": "as printed"}) if (e.paper, e.question) == (paper, question)
            else e
            for e in events
        ]  # fmt: skip
        case = case_of(replace(held, entries=made.chain(said)))
        assert paper in {one.arxiv_id for one in case.made.chosen}
        assert gate.targets_ruled(case).ok


def test_a_target_of_another_source_is_named(made: ModuleType, held: Material) -> None:
    paper = first(held)
    target = target_of(held, paper)
    anchor = {**target["anchor"], "source_sha256": "0" * 64}
    forged = made.decided(changed(held, paper, target={**target, "anchor": anchor}))
    check = gate.targets_ruled(case_of(forged))
    assert [str(f) for f in check.failures] == [f"{paper}: its target is anchored in another source"]


@pytest.mark.parametrize(
    "part",
    [
        {"bar": {"kind": "direction", "op": ">", "reference": 70.0}, "baseline": 70.0},
        {"bar": {"kind": "threshold", "op": ">=", "reference": 80.0}, "number": 80.0, "value": "80"},
        {"bar": {"kind": "range", "op": "between", "low": 70.0, "high": 90.0}},
        {"uncertainty": 0.3},
    ],
)
def test_every_kind_of_bar_by_rule_passes(made: ModuleType, held: Material, part: dict[str, Any]) -> None:
    paper = first(held)
    target = {**target_of(held, paper), **part}
    if "uncertainty" in part:
        target["bar"] = {**target["bar"], "tolerance": 0.3, "tolerance_source": "authors"}
    if "number" in part:
        target["anchor"] = {**target["anchor"], "quote": "Ours | 80"}
    case = case_of(made.decided(changed(held, paper, target=target)))
    assert paper in {one.arxiv_id for one in case.made.chosen}
    assert gate.targets_ruled(case).ok


@pytest.mark.parametrize("junk", [[], {}, None, 7])
@pytest.mark.parametrize("table", ["eval", "targets", "agent_view", "exclusions"])
def test_a_line_that_no_rule_can_read_is_a_failure_with_the_rules_name_and_not_an_exception(
    made: ModuleType, held: Material, case: Case, table: str, junk: Any
) -> None:
    for line in ({**case.lines[table][0], "custom_id": junk, "key": junk}, junk):
        lines = {**case.lines, table: [line, *case.lines[table][1:]]}
        report = gate.gate(replace(case, lines=lines), made.given(held))
        assert not report.ok
        assert all(failure.message for failure in report.failures)
