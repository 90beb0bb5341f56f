"""The published row: 25 fields derived, null where nothing is known, refused where it cannot say the truth."""

from __future__ import annotations

import io
from dataclasses import replace
from types import ModuleType
from typing import Any

import polars as pl
import pytest

from pipeline.audit import Audited, audit
from pipeline.derivation import Rules, derive
from pipeline.evidence import Signal, Status, Verification
from pipeline.release.rows import RowError, published_row
from pipeline.release.tables import SCHEMAS, parquet, schema
from pipeline.row import Row


def audited(made: ModuleType, tier: str = "Run", hours: float = 4.0, answers: Any = (), **changes: Any) -> Audited:
    inputs, found = made.inputs(1, tier=tier, hours=hours, **changes)
    receipts = {r.id: r for r in found}
    row = derive(inputs, receipts, Rules.of(made.EDITION))
    said = [made.says(row, q, v, at="2026-02-21T10:00:00Z", why="seen") for q, v in answers]
    return audit(row, [*made.agrees(row), *said], receipts, Rules.of(made.EDITION))


def published(made: ModuleType, paper: Audited) -> Row:
    return published_row(paper, "eval", made.EDITION)


def test_a_row_has_the_published_names_in_their_order(made: ModuleType) -> None:
    row = published(made, audited(made)).model_dump(mode="json")
    assert list(row) == list(Row.model_fields)
    assert len(row) == 25
    assert (row["tier"], row["score"], row["h100_band"], row["selection_band"]) == ("Easy", 0, "0-8", "0-8")


def test_one_stated_part_shows_its_count_wall_hours_and_factor_whose_product_is_the_hours(made: ModuleType) -> None:
    part = {**made.part(2.0), "device": "A100 80GB", "count": 4.0, "runs": 3}
    stated = published(made, audited(made, compute=[part])).h100_estimate
    assert stated.gpu_type == "A100 80GB"
    assert stated.gpu_count is not None
    assert stated.wallclock_hours == 6.0
    assert stated.h100_equivalent_multiplier is not None
    assert stated.gpu_count * stated.wallclock_hours * stated.h100_equivalent_multiplier == pytest.approx(stated.hours)


def test_several_parts_state_no_single_count_or_factor(made: ModuleType) -> None:
    stated = published(made, audited(made, compute=[made.part(2.0), made.part(1.0, "eval")])).h100_estimate
    assert (stated.hours, stated.gpu_count, stated.wallclock_hours, stated.h100_equivalent_multiplier) == (
        3.0,
        None,
        None,
        None,
    )


def test_hours_of_selection_and_hours_shipped_are_two_fields(made: ModuleType) -> None:
    row = published(made, audited(made, answers=[("hours", 40)]))
    assert (row.h100_hours_estimate, row.audited_h100_hours, row.h100_recomputed_hours) == (4.0, 40.0, 4.0)
    assert (row.h100_arithmetic_mismatch, row.h100_hours_adjudicated, row.h100_needs_human_review) == (True, True, True)
    assert row.h100_band == "32-96"


def test_a_person_within_the_tolerance_is_no_mismatch(made: ModuleType) -> None:
    row = published(made, audited(made, answers=[("hours", 5)]))
    assert (row.h100_arithmetic_mismatch, row.h100_hours_adjudicated) == (False, True)
    assert published(made, audited(made, answers=[("hours", 5.1)])).h100_arithmetic_mismatch is True


def test_an_estimate_whose_interval_crosses_an_edge_is_flagged_for_review(made: ModuleType) -> None:
    near = {**made.part(24.0), "device": "A100"}
    clear = {**made.part(60.0), "device": "H100"}
    assert published(made, audited(made, compute=[near])).h100_needs_human_review is True
    assert published(made, audited(made, compute=[clear])).h100_needs_human_review is False


def test_an_unverified_signal_cannot_be_published(made: ModuleType) -> None:
    paper = audited(made)
    label = replace(
        paper.label(Signal.CODE), value=None, status=Status.UNVERIFIED, verification=Verification.TOOL_FAILED
    )
    open_ = replace(paper, labels=(label, *paper.labels[1:]))
    with pytest.raises(RowError, match="code_available is unverified"):
        published(made, open_)


def test_a_row_without_hours_or_target_cannot_be_published(made: ModuleType) -> None:
    unknown = audited(made, answers=[("hours", "wrong")])
    with pytest.raises(RowError, match=r"2601\.00001"):
        published(made, unknown)


def test_parquet_types_come_from_the_row_and_not_from_its_values(made: ModuleType) -> None:
    """An empty table, an empty list and an all-null column have the types of full ones."""
    assert list(SCHEMAS["eval"]) == list(Row.model_fields)
    line = published(made, audited(made, compute=[made.part(2.0), made.part(1.0)])).model_dump(mode="json")
    for lines in ([], [line], [line, line]):
        there = pl.read_parquet(io.BytesIO(parquet("eval", lines)))
        assert dict(there.schema) == schema(Row)
        assert there.height == len(lines)
    assert there["verified_links"].dtype == pl.Struct(
        dict.fromkeys(("paper_or_project", "code", "dataset", "weights"), pl.List(pl.String()))
    )
    assert there["score"].dtype == pl.Int64()
