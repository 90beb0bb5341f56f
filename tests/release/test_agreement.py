"""What a release says of agreement: derived from its ledger, shown in card and figure; a forged one is caught."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from pipeline.derivation import Rules, derive
from pipeline.release import plots, verify_alone
from pipeline.release.card import card
from pipeline.release.companions import contents
from pipeline.release.compose import Material, compose, pool_of
from pipeline.release.contents import Contents
from pipeline.release.folder import MANIFEST, seal
from pipeline.release.freeze import freeze
from pipeline.release.verify import verify


@pytest.fixture(scope="module")
def held(made: ModuleType) -> Material:
    """Two people read every row of the pool blind; in every fourth they differ on weights, and one looks again."""
    alone = made.material()
    rows = [derive(i, alone.receipts, Rules.of(alone.edition)) for i in alone.sample]
    chosen = set(pool_of(rows, alone.edition).ids)
    events = []
    for n, row in enumerate(row for row in rows if row.arxiv_id in chosen):
        events += made.agrees(row)
        for event in made.agrees(row):
            second = event.model_copy(update={"who": "grace", "at": "2026-02-21T10:00:00Z"})
            if second.question == "weights_available" and n % 4 == 0:
                other = second.model_copy(update={"value": not second.value})
                again = {"phase": "revised", "at": "2026-02-21T11:00:00Z"}
                events += [other, second.model_copy(update=again)]
            else:
                events.append(second)
    return replace(alone, entries=made.chain(events))


@pytest.fixture(scope="module")
def shown(held: Material) -> Contents:
    return contents("made-2026-v3", held, compose(held), "f" * 64)


def section(text: str) -> str:
    return text.split("## How far people agree\n")[1].split("\n## ")[0]


def test_blind_answers_differ_and_the_revised_ones_decide(shown: Contents, held: Material) -> None:
    told = shown.agreement["questions"]["weights_available"]
    assert (told["n"], told["agreed"]) == (18, 13)
    assert 0 < told["kappa"] < 1
    assert told["kappa_low"] <= told["kappa"] <= told["kappa_high"]
    assert told["readers"] == 2
    assert shown.agreement["questions"]["kind"]["kappa"] is None  # all are empirical: one class
    assert all(a.standing.state == "decided" for a in compose(held).audited)


def test_every_number_of_the_cards_section_is_counted_from_the_ledger(shown: Contents) -> None:
    firsts: dict[tuple[str, str], list[str]] = {}
    for line in shown.lines["ledger"]:
        event = line["event"]
        if event["phase"] == "blind":
            firsts.setdefault((event["question"], event["paper"]), []).append(json.dumps(event["value"]))
    known = {"95", "18"}
    for question in {q for q, _ in firsts}:
        pairs = [tuple(said) for (q, _), said in firsts.items() if q == question]
        known |= {str(n) for n in Counter(pairs).values()} | {f"{100 * sum(a == b for a, b in pairs) / len(pairs):.1f}"}
        every = Counter(value for pair in pairs for value in pair)
        known.add(f"{100 * max(every.values()) / every.total():.1f}")
    for one in shown.agreement["questions"].values():
        known |= {f"{one[k]:.2f}" for k in ("kappa", "kappa_low", "kappa_high", "alpha") if one[k] is not None}
    numbers = re.findall(r"-?\d+(?:\.\d+)?", section(card(shown)))
    assert len(numbers) > 30
    assert sorted(set(numbers) - known) == []
    assert "undefined" in section(card(shown))


def test_alone_the_card_says_that_agreement_was_not_measured(made: ModuleType) -> None:
    alone = made.material()
    told = contents("made-2026-v3", alone, compose(alone), "f" * 64)
    assert section(card(told)).strip() == "Agreement was not measured: no row was answered blind by two people."
    assert told.agreement["measured"] is False


def test_the_figure_shows_kappa_where_it_was_measured(shown: Contents, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plots, "_DRAWN", {"agreement.svg": plots._DRAWN["agreement.svg"]})
    bare = replace(shown, agreement={**shown.agreement, "questions": {}, "measured": False})
    with_, without = plots.figures(shown)["agreement.svg"], plots.figures(bare)["agreement.svg"]
    assert with_.count("<use") > without.count("<use")
    assert with_ == plots.figures(shown)["agreement.svg"]


@pytest.mark.slow
def test_agreement_made_better_than_it_was_is_caught_by_both_verifiers(
    made: ModuleType, held: Material, tmp_path: Path
) -> None:
    place = freeze(held, made.given(held), tmp_path / "made-2026-v1", "code").place
    assert place is not None
    checks, _ = verify_alone.verify(place)
    assert [check.failures for check in checks if check.failures] == []
    copy = shutil.copytree(place, tmp_path / "copy")
    told = json.loads((copy / "agreement.json").read_bytes())
    told["questions"]["weights_available"]["kappa"] = 0.99
    (copy / "agreement.json").write_text(verify_alone.canonical(told) + "\n", encoding="utf-8")
    said = {
        k: v for k, v in json.loads((copy / MANIFEST).read_bytes()).items() if k not in ("files", "manifest_sha256")
    }
    files = {path.name: path.read_bytes() for path in copy.iterdir() if path.name != MANIFEST}
    (copy / MANIFEST).write_bytes(seal(files, said))
    assert {failure.where for failure in verify(copy).failures} == {"agreement.json"}
    checks, _ = verify_alone.verify(copy)
    assert {where for check in checks for where, _ in check.failures} == {"agreement.json"}
