"""Ledgers and decisions from elsewhere: refused by name and line, or taken exactly once, and the chain holds."""

from __future__ import annotations

import json
import re
from typing import Any

import sqlalchemy as sa
from hypothesis import strategies as st

from pipeline.decisions import read_decisions
from pipeline.events import QUESTIONS, SIGNALS, Entry, Event, LedgerError, chained, fold, genesis, head, read_chains
from pipeline.events import verify_chain as wrong_in
from pipeline.evidence import canonical, digest
from pipeline.ledger import Ledger
from pipeline.release import verify_alone
from tests.fuzz.mutating import edited, edits, odd
from tests.fuzz.running import Target

EDITION, NAME = "sample-2025", "other.jsonl"
VALUES = {
    **dict.fromkeys(SIGNALS, st.sampled_from([True, False, "not_needed", "cannot_tell"])),
    "kind": st.sampled_from(["empirical", "survey", "cannot_tell"]),
    "needs": st.sampled_from([[], ["paid_api"], ["human_raters", "paid_api"]]),
    "hours": st.sampled_from(["stands", "wrong", 1, 2.5, 10**6]),
    "eligibility": st.booleans(),
    **dict.fromkeys(("claim", "target", "bar"), st.sampled_from(["stands", "wrong", "cannot_tell"])),
}
times = st.builds("2026-03-0{}T12:00:0{}{}Z".format, st.integers(1, 9), st.integers(0, 9), st.sampled_from(["", ".5"]))


@st.composite
def events(draw: st.DrawFn) -> list[Event]:
    made: list[Event] = []
    for _ in range(draw(st.integers(1, 6))):
        said: dict[str, Any] = {"paper": f"2501.0000{draw(st.integers(1, 3))}", "who": draw(st.sampled_from("ab"))}
        said |= {"at": draw(times), "why": draw(st.sampled_from(["", "so", "a\u2028line"]))}
        if made and draw(st.integers(0, 4)) == 0:
            undone = draw(st.sampled_from(made))
            made.append(Event(**{**said, "who": undone.who}, kind="undo", undoes=undone.id))
            continue
        question = draw(st.sampled_from(QUESTIONS))
        said |= {"question": question, "value": draw(VALUES[question]), "row_hash": draw(st.sampled_from("ab")) * 64}
        made.append(
            Event.model_validate({**said, "kind": "answer", "phase": draw(st.sampled_from(["blind", "revised"]))})
        )
    return made


@st.composite
def exports(draw: st.DrawFn) -> list[Entry]:
    """Chains of one or two sites, as one of them exports them."""
    found: list[Entry] = []
    for site in draw(st.sampled_from([("east",), ("west",), ("east", "west")])):
        found += chained(draw(events()), site, 0, genesis(EDITION, site))
    return found


LineEdit = tuple[int, str, Any]
line_edits = st.lists(
    st.tuples(
        st.integers(0, 50),
        st.sampled_from(["drop", "double", "swap", "cut", "json", "sealed", "junk", "blank", "glue"]),
        st.one_of(edits, st.just([])),
        odd,
    ),
    max_size=3,
)


def touched(lines: list[str], given: Any) -> list[str]:
    """Lines of an export spoiled; "sealed": by somebody who makes the entry's own hashes true again."""
    lines = list(lines)
    for number, kind, json_edits, other in given:
        at = number % len(lines) if lines else 0
        if kind == "junk":
            lines.insert(at, json.dumps(other))
        elif kind == "blank":
            lines.insert(at, "")
        elif not lines:
            continue
        elif kind == "drop":
            del lines[at]
        elif kind == "double":
            lines.insert(at, lines[at])
        elif kind == "swap":
            lines[at], lines[-1] = lines[-1], lines[at]
        elif kind == "cut":
            lines[at] = lines[at][: len(lines[at]) // 2]
        elif kind == "glue":
            lines[at] += lines[-1]
        else:
            lines[at] = _edited(lines[at], json_edits, sealed=kind == "sealed")
    return lines


def _edited(line: str, json_edits: Any, *, sealed: bool) -> str:
    try:
        value = edited(json.loads(line), json_edits)
        if sealed and isinstance(value, dict) and isinstance(value.get("event"), dict):
            value["id"] = digest(value["event"])
            value["hash"] = digest([value["site"], value["seq"], value["prev_hash"], value["event"]])
    except (ValueError, KeyError, TypeError):
        return line
    return json.dumps(value)


def an_import(given: tuple[list[Entry], Any, list[Event]]) -> None:
    export, spoil, own = given
    lines = touched([canonical(entry.to_json()) for entry in export], spoil)
    ledger = Ledger(sa.create_engine("sqlite://"), EDITION, "home")
    ledger.append(own)
    before = ledger.entries()
    text = "".join(line + "\n" for line in lines)
    try:
        read = read_chains(text, EDITION, NAME)
    except LedgerError as error:
        refused(str(error))
        assert ledger.entries() == before
        assert alone_refuses(lines), lines
        return
    assert not alone_refuses(lines)
    alone = [json.loads(line) for line in lines]
    assert verify_alone.ledger_head(alone) == head(read)
    assert verify_alone.fold(alone) == [event.to_json() for event in fold(read)]
    new = ledger.adopt(read)
    assert [e.hash for e in new] == [e.hash for e in read]
    held = ledger.entries()
    assert len(held) == len(before) + len(read)
    assert wrong_in(held, EDITION) == []
    assert ledger.adopt(read) == []
    assert ledger.entries() == held


def refused(said: str) -> None:
    named = re.match(rf"{NAME}(:\d+)?: (.*)", said, re.DOTALL)
    assert named, said
    assert named[1] or re.search(r"entry \S+ about|nothing was taken", named[2]), said


def alone_refuses(lines: list[str]) -> bool:
    """Whether the verifier that a release carries finds anything wrong with these lines."""
    try:
        read = [json.loads(line) for line in lines]
        wrong = [problem for line in read for problem in verify_alone.entry_problems(line)]
        return bool(wrong) or bool(list(verify_alone.chain_problems(read, EDITION)))
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return True


# Decisions as people write them.

forms = st.lists(
    st.fixed_dictionaries(
        {
            "paper": st.sampled_from(["2501.00001", "2501.00002"]),
            "row_hash": st.just("a" * 64),
            "who": st.sampled_from(["ada", "grace"]),
            "at": times,
            "answers": st.fixed_dictionaries({}, optional=VALUES),
        },
        optional={
            "why": st.sampled_from(["", "so", {"hours": "they say so"}]),
            "evidence": st.sampled_from([[], ["r1"], {"hours": ["r1"]}]),
            "phase": st.sampled_from(["blind", "revised"]),
            "guide": st.integers(1, 3),
            "shown": odd,
        },
    ).map(json.dumps),
    min_size=1,
    max_size=4,
)


def bad_lines(said: str, most: int) -> None:
    *bad, last = said.split("\n")
    assert bad, said
    assert all(re.match(rf"{NAME}:\d+: .", line) for line in bad), said
    numbers = [int(line.split(":")[1]) for line in bad]
    assert numbers == sorted(set(numbers)), said
    assert max(numbers) <= most
    assert last == f"{len(bad)} bad line(s); nothing was imported"


def decisions(given: tuple[list[str], Any]) -> None:
    lines = touched(given[0], given[1])
    try:
        read = read_decisions("\n".join(lines), NAME)
    except LedgerError as error:
        bad_lines(str(error), len(lines))
        return
    ledger = Ledger(sa.create_engine("sqlite://"), EDITION, "home")
    try:
        new = ledger.append(read)
    except LedgerError as error:
        said = str(error)
        assert "cannot undo" in said
        assert ledger.entries() == []
        return
    assert [e.event.id for e in new] == list(dict.fromkeys(e.id for e in read))
    assert ledger.append(read) == []
    assert wrong_in(ledger.entries(), EDITION) == []
    assert read_chains("".join(canonical(e.to_json()) + "\n" for e in new), EDITION, NAME) == ledger.entries()


TARGETS = (
    Target("ledgers", st.tuples(exports(), line_edits, st.one_of(st.just([]), events())), an_import, round=100, few=6),
    Target("decisions", st.tuples(forms, line_edits), decisions, round=150, few=8),
)
