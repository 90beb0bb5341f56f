"""How far each label was proven: three levels, and what takes one away."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pipeline.release.case import Case
from pipeline.release.compose import Material, compose
from pipeline.release.extraction import CHECK as READ_AGAIN
from pipeline.release.levels import levels, told
from pipeline.release.report import Check, Failure, Report
from pipeline.release.tables import tables


@pytest.fixture(scope="module")
def case(held: Material) -> Case:
    made = compose(held)
    return Case(material=held, made=made, lines=tables(held, made))


def test_a_folder_alone_proves_hashes_and_derivation_and_says_so_of_every_label(case: Case) -> None:
    found = levels(case, Report(()), {})
    assert len(found) == 4 * len(case.rows)
    assert {level.mark for level in found} == {"hd-"}
    lines = list(told(found))
    assert lines[
        0
    ] == f"labels {len(found)}: {len(found)} with their hash, {len(found)} derived again, 0 replayed, " + (
        f"{len(found)} hash only"
    )
    assert len(lines) == 2 + len(case.rows)


def test_one_receipt_that_does_not_come_back_fails_the_labels_that_rest_on_it_and_no_other(case: Case) -> None:
    paper = case.made.chosen[0]
    label = next(label for label in paper.labels if label.receipts)
    came_back = {id_: id_ != label.receipts[0] for id_ in case.material.receipts}
    failed = {
        (level.paper, level.signal) for level in levels(case, Report(()), came_back) if level.replayed == "failed"
    }
    resting = sum(label.receipts[0] in other.receipts for other in paper.labels)
    assert {name for name, _ in failed} == {paper.arxiv_id}
    assert len(failed) == resting >= 1
    unseen = levels(case, Report(()), {id_: True for id_ in case.material.receipts if id_ != label.receipts[0]})
    assert sum(level.replayed == "hash only" for level in unseen if level.paper == paper.arxiv_id) >= resting


def test_a_label_without_receipts_is_replayed_with_the_source_it_rests_on(case: Case) -> None:
    first = case.made.chosen[0]
    bare = replace(first, labels=tuple(replace(label, receipts=()) for label in first.labels))
    others = tuple(bare if a.arxiv_id == first.arxiv_id else a for a in case.made.audited)
    alone = replace(case, made=replace(case.made, audited=others))

    def said(*failures: Failure) -> set[str]:
        report = Report((Check(READ_AGAIN, 1, failures),))
        return {level.replayed for level in levels(alone, report, {}) if level.paper == first.arxiv_id}

    assert said() == {"replayed"}
    assert said(Failure(first.arxiv_id, "its source differs")) == {"failed"}


def test_a_label_that_its_receipts_do_not_give_is_marked(case: Case) -> None:
    rows = json.loads(json.dumps(case.lines["eval"]))
    rows[0]["signals"]["code_available"]["evidence"] += " and more"
    found = levels(replace(case, lines={**case.lines, "eval": rows}), Report(()), {})
    assert [(level.paper, level.signal) for level in found if not level.derived] == [(rows[0]["custom_id"], "code")]
