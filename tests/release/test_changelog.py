"""What changed between two versions: exact, with its causes; the version before stays as it is."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pipeline.events import Event, chained
from pipeline.release.changelog import HistoryError, Past, changelog, companions_of, errata_text, markdown
from pipeline.release.compose import Composition, Material, compose
from pipeline.release.freeze import freeze
from pipeline.release.verify import verify

AT = "2026-03-05T10:00:00Z"


def later(held: Material, *events: Event) -> Material:
    """The same material with more events at the end of its chain."""
    last = held.entries[-1]
    return replace(held, entries=(*held.entries, *chained(events, last.site, last.seq, last.hash)))


def event(kind: str, paper: str, **more: Any) -> Event:
    return Event.model_validate({"kind": kind, "paper": paper, "who": "bea", "at": AT, "why": f"{kind} it", **more})


def re_estimate(made: Composition, paper: str, hours: float, **more: Any) -> Event:
    row = next(a for a in made.audited if a.arxiv_id == paper).derivation.row_hash
    return event("re_estimate", paper, question="hours", value=hours, row_hash=row, **more)


def hashes(folder: Path) -> dict[str, str]:
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.iterdir())}


@pytest.fixture(scope="module")
def first(made: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> tuple[Material, Composition, Path]:
    """Version 1, frozen. Not to be changed."""
    held = made.material()
    frozen = freeze(held, made.given(held), tmp_path_factory.mktemp("releases") / "made-2026-v1", "code")
    assert frozen.place is not None, frozen.report.lines()
    return held, frozen.made, frozen.place


def log_of(first: tuple[Material, Composition, Path], material: Material) -> dict[str, dict[str, Any]]:
    _, _, place = first
    log = changelog("made-2026-v2", Past.of(place), material, compose(material))
    return {row.paper: row.to_json() for row in log.rows}


def causes(told: dict[str, Any]) -> list[tuple[str, str]]:
    return [(c["cause"], f"{c['kind']} {c['paper']}" if c["cause"] == "event" else "") for c in told["causes"]]


def swap_and_estimate(made: Composition) -> tuple[str, str, str, list[Event]]:
    out, other = made.splits.eval[0], made.splits.eval[1]
    comes = made.splits.by_rule.replacement(out, {*made.splits.eval, *made.splits.dev})
    assert comes is not None
    hours = next(a.hours for a in made.audited if a.arxiv_id == other)
    assert hours is not None
    return out, other, comes, [event("replace", out), re_estimate(made, other, hours * 1.01)]


@pytest.mark.slow
def test_after_two_events_the_second_version_says_exactly_what_changed_and_why(
    made: ModuleType, first: tuple[Material, Composition, Path]
) -> None:
    held, before, place = first
    untouched = hashes(place)
    out, other, comes, events = swap_and_estimate(before)
    second = later(held, *events)
    frozen = freeze(second, made.given(second), place.with_name("made-2026-v2"), "code")
    assert frozen.place is not None, frozen.report.lines()

    told = {line["custom_id"]: line for line in map(json.loads, (frozen.place / "changelog.jsonl").open())}
    assert {paper: line["what"] for paper, line in told.items()} == {out: "dropped", comes: "added", other: "changed"}
    assert causes(told[out]) == causes(told[comes]) == [("event", f"replace {out}")]
    fields = {f["field"]: f for f in told[other]["fields"]}
    assert set(fields) == {"audited_h100_hours", "h100_hours_adjudicated"}
    assert fields["audited_h100_hours"]["after"] == pytest.approx(fields["audited_h100_hours"]["before"] * 1.01)
    assert all(causes(f) == [("event", f"re_estimate {other}")] for f in fields.values())

    text = (frozen.place / "CHANGELOG.md").read_text()
    assert f"### {out}" in text
    assert "1 added, 1 dropped, 0 moved, 1 changed" in text
    assert hashes(place) == untouched
    assert verify(place).ok
    proof = verify(frozen.place)
    assert proof.ok, proof.lines()


def test_the_same_versions_give_the_same_changelog(first: tuple[Material, Composition, Path]) -> None:
    held, before, place = first
    texts = []
    for _ in range(2):
        second = later(held, *swap_and_estimate(before)[3])
        texts.append(companions_of(changelog("made-2026-v2", Past.of(place), second, compose(second))))
    assert texts[0] == texts[1]
    assert all(texts[0].values())


def test_the_first_version_has_no_changelog(first: tuple[Material, Composition, Path]) -> None:
    assert not {"CHANGELOG.md", "ERRATA.md", "changelog.jsonl"} & set(hashes(first[2]))


def test_nothing_changed_is_an_empty_changelog(first: tuple[Material, Composition, Path]) -> None:
    assert log_of(first, first[0]) == {}


def test_a_row_that_comes_in_because_another_grew_dear_names_that_ones_event(
    first: tuple[Material, Composition, Path],
) -> None:
    held, before, _ = first
    out = before.splits.eval[0]
    told = log_of(first, later(held, re_estimate(before, out, 150.0)))
    assert told[out]["what"] == "dropped"
    came = [line for line in told.values() if line["what"] in ("added", "moved")]
    assert came
    assert all(causes(line) == [("event", f"re_estimate {out}")] for line in (told[out], *came))


def test_an_undo_is_the_cause_of_what_it_brings_back(first: tuple[Material, Composition, Path]) -> None:
    held, before, place = first
    gone = event("replace", before.splits.eval[0])
    second = later(held, gone)
    rows = {r.custom_id: r.model_dump(mode="json") for rows in compose(second).rows.values() for r in rows}
    past = replace(Past.of(place), rows=rows, entries=second.entries)
    third = later(second, event("undo", gone.paper, undoes=gone.id, at="2026-03-06T10:00:00Z"))
    log = changelog("made-2026-v3", past, third, compose(third))
    told = {r.paper: (r.what, [c.entry and c.entry.event.kind for c in r.causes]) for r in log.rows}
    assert told[gone.paper] == ("added", ["undo"])
    assert sorted(told.values()) == [("added", ["undo"]), ("dropped", ["undo"])]


def test_two_events_that_each_would_do_are_both_named(first: tuple[Material, Composition, Path]) -> None:
    held, before, _ = first
    paper = before.splits.eval[0]
    row = next(a for a in before.audited if a.arxiv_id == paper)
    assert row.hours is not None
    more = row.hours + 0.25
    events = [re_estimate(before, paper, more), re_estimate(before, paper, more, at="2026-03-06T10:00:00Z")]
    told = log_of(first, later(held, *events))
    changed = {f["field"]: f for f in told[paper]["fields"]}
    assert len(changed["audited_h100_hours"]["causes"]) == 2


def test_what_no_event_explains_is_evidence_edition_or_code(first: tuple[Material, Composition, Path]) -> None:
    held, before, _ = first
    paper = before.splits.eval[0]
    task = [i.model_copy(update={"agent_task": "Do it."}) if i.arxiv_id == paper else i for i in held.sample]
    evidence = log_of(first, replace(held, sample=tuple(task)))
    assert [(f["field"], causes(f)) for f in evidence[paper]["fields"]] == [("agent_task", [("evidence", "")])]
    narrower = held.edition.model_copy(update={"compute_audit_tolerance": 0.3, "eval_size": 8})
    edition = log_of(first, replace(held, edition=narrower))
    assert edition
    assert all(causes(line) == [("edition", "")] for line in edition.values() if line["what"] == "dropped")
    past = Past.of(first[2])
    row = dict(past.rows[paper]) | {"agent_task": "As older code wrote it."}
    log = changelog("made-2026-v2", replace(past, rows={**past.rows, paper: row}), held, before)
    assert [[c.word for c in f.causes] for r in log.rows for f in r.fields] == [["code"]]


def test_errata_stand_in_the_next_version_under_the_version_they_are_about(
    first: tuple[Material, Composition, Path],
) -> None:
    held, before, place = first
    paper = before.splits.eval[0]
    wrong = event("erratum", paper, why="its `link` is\ndead <b>now</b>", evidence=["receipt-1"])
    named = event("erratum", paper, why="older", value={"release": "made-2026-v0"})
    taken_back = event("erratum", paper, why="not so")
    undo = event("undo", paper, undoes=taken_back.id, at="2026-03-06T10:00:00Z")
    second = later(held, wrong, named, taken_back, undo)
    log = changelog("made-2026-v2", Past.of(place), second, compose(second))
    assert {v: [e.event.why for e in entries] for v, entries in log.errata.items()} == {
        "made-2026-v0": ["older"],
        "made-2026-v1": [wrong.why],
    }
    text = errata_text(log)
    assert "## made-2026-v1" in text
    assert "is dead \\<b\\>now" in text
    assert "not so" not in text


def test_neither_the_name_of_a_person_nor_that_of_a_version_is_markup(
    first: tuple[Material, Composition, Path],
) -> None:
    held, before, place = first
    paper, who = before.splits.eval[0], "*bea* <img src=x> [x](javascript:y)"
    wrong = event("erratum", paper, who=who, value={"release": "x\n# <b>v9"})
    second = later(held, wrong, re_estimate(before, before.splits.eval[1], 7.25, who=who))
    log = changelog("made-2026-v2", Past.of(place), second, compose(second))
    for text in (errata_text(log), markdown(log)):
        assert "bea" in text
        assert not re.search(r"(?<!\\)[<\[]|(?<!\\)\*bea", text)
        assert "\n# <b>" not in text


@pytest.mark.slow
def test_a_version_is_not_frozen_after_one_that_is_gone_or_was_touched(
    made: ModuleType, first: tuple[Material, Composition, Path], tmp_path: Path
) -> None:
    held = first[0]
    with pytest.raises(HistoryError, match="made-2026-v1 is not there"):
        freeze(held, made.given(held), tmp_path / "made-2026-v2", "code")
    copy = tmp_path / "made-2026-v1"
    copy.mkdir()
    for path in first[2].iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    (copy / "eval.jsonl").write_bytes((copy / "eval.jsonl").read_bytes() + b"\n")
    with pytest.raises(HistoryError, match="is not as it was frozen"):
        freeze(held, made.given(held), tmp_path / "made-2026-v2", "code")
    assert not (tmp_path / "made-2026-v2").exists()
