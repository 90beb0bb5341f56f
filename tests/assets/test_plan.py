"""A plan says what is known, what is forecast and what is unknown; a status what is done and what waits."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from assets import plan, status
from assets.cli import main
from assets.stages import UNFINISHED, write_rows
from assets.workplace import Workplace
from pipeline.editions import Edition, load
from pipeline.record import Waiting
from pipeline.record_tables import lanes
from pipeline.sources.budget import Interval, exactly, is_named, lane_of
from pipeline.store import Store
from tests.bench.rehearsal import rehearsal


def place(tmp_path: Path, edition: Edition | str = "neurips-2025") -> Workplace:
    told = load(edition) if isinstance(edition, str) else edition
    return Workplace(edition=told, store=Store(tmp_path / "store"), say=lambda line: None)


def paper(number: int, supplement: bool) -> dict[str, object]:
    return {
        "arxiv_id": f"2505.{number:05d}",
        "version": 1,
        "title": f"Title {number}",
        "authors": ["Ada Stone"],
        "abstract": "",
        "forum_id": f"F{number}",
        "published": "2025-05-01T00:00:00Z",
        "categories": ["cs.LG"],
        "supplement_path": "/attachment/x.zip" if supplement else None,
        "index_key": f"index#{number}",
    }


def with_corpus(work: Workplace, papers: int, supplements: int) -> Workplace:
    rows = [paper(number, number < supplements) for number in range(papers)]
    write_rows(work, "papers", rows, ["arxiv_id"], "print")
    return work


# ---------------------------------------------------------------------------------------------------------------- plan


def test_an_edition_that_nothing_is_known_of_is_planned_by_its_floor_and_says_so(tmp_path: Path) -> None:
    found = plan.plan(place(tmp_path))
    assert found.requests["arxiv.org"] == exactly(1000 + 30)  # a source a sampled paper, metadata of 3,000 papers
    assert found.requests["api2.openreview.net"] == exactly(4)
    assert found.requests["huggingface.co/api"] is not None
    assert found.requests["api2.openreview.net/attachment"] is None
    assert found.requests["api.github.com"] is None
    assert (found.to_come, found.done, found.disk) == (1000, 0, None)
    assert any("floor of 3,000" in note for note in found.notes)


def test_a_known_corpus_fixes_sources_and_supplements_exactly(tmp_path: Path) -> None:
    whole = load("neurips-2025").variant({"sample": 3414})
    found = plan.plan(with_corpus(place(tmp_path, whole), 3414, 1547))
    assert found.requests["api2.openreview.net/attachment"] == exactly(31)
    assert found.requests["arxiv.org"] == exactly(3414)
    assert found.longest == 3414 * 3


def test_tables_of_another_version_count_as_none(tmp_path: Path) -> None:
    work = place(tmp_path)
    write_rows(work, "papers", [paper(1, True) | {"a_field_of_old": 1}], ["arxiv_id"], "print")
    write_rows(work, "bundles", [{"arxiv_id": "2505.00001", "source_files": [], "supplement_files": []}], [], "print")
    found = plan.plan(work)
    assert (found.to_come, found.done) == (1000, 0)
    assert found.requests["api2.openreview.net/attachment"] is None


def test_only_the_sample_is_fetched_and_planned(tmp_path: Path) -> None:
    found = plan.plan(with_corpus(place(tmp_path), 3414, 3414))
    assert found.requests["arxiv.org"] == exactly(1000)
    assert found.requests["api2.openreview.net/attachment"] == exactly(20)


def test_a_plan_shows_intervals_for_forecasts_and_unknown_for_what_nobody_knows(tmp_path: Path) -> None:
    work = place(tmp_path)
    made = plan.plan(work)
    said = plan.text(work, made)
    assert "api.github.com                    unknown" in said
    assert "disk       unknown" in said
    forecast = replace(
        made, requests={"arxiv.org": exactly(1000), "huggingface.co/api": Interval(871.2, 1234.5, 1598.9)}
    )
    said = plan.text(work, forecast)
    assert "about 1,200 (870 to 1,600)" in said
    assert "at least 50 minutes" in said


def test_dollars_and_tokens_are_shown_for_a_language_model_and_none_for_rules(tmp_path: Path) -> None:
    work = place(tmp_path)
    model = place(tmp_path, load("neurips-2025").variant({"classifier": {"model": "anthropic:claude-sonnet-5"}}))
    made = plan.plan(work)
    assert "tokens     none" in plan.text(work, made)
    spent = replace(made, tokens=Interval(9e6, 12e6, 15e6), micro_usd=Interval(20e6, 30e6, 40e6))
    said = plan.text(model, spent)
    assert "about 12,000,000 (9,000,000 to 15,000,000)" in said
    assert "dollars    about 30 (20 to 40)" in said
    assert "dollars    unknown" in plan.text(model, plan.plan(model))


def test_a_model_without_a_known_price_does_not_cost_nothing(tmp_path: Path) -> None:
    work = place(tmp_path, load("neurips-2025").variant({"classifier": {"model": "openai:nobody-sells-this"}}))
    found = plan.plan(work)
    assert found.micro_usd is None
    assert any("No price is known for openai:nobody-sells-this" in note for note in found.notes)


def test_a_pilot_of_one_paper_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["plan", "sample-2025", "--pilot", "1"])
    assert "give 2 or more" in capsys.readouterr().err


def test_missing_secrets_are_named_with_what_works_without_them() -> None:
    edition = load("neurips-2025")
    said = plan.secrets(edition, {})
    assert len(said) == 2
    assert "GITHUB_TOKEN is not set" in said[0]
    assert "60 requests an hour" in said[0]
    assert "OPENREVIEW_USERNAME and OPENREVIEW_PASSWORD are not set" in said[1]
    login = {"OPENREVIEW_USERNAME": "someone", "OPENREVIEW_PASSWORD": "secret-word"}
    assert plan.secrets(edition, {"GITHUB_TOKENS": "t", **login}) == []
    (half,) = plan.secrets(edition, {"GITHUB_TOKEN": "t", "OPENREVIEW_USERNAME": "someone"})
    assert half.startswith("OPENREVIEW_PASSWORD is not set")
    model = edition.variant({"classifier": {"model": "anthropic:claude-sonnet-5"}})
    (key,) = plan.secrets(model, {"GITHUB_TOKEN": "t", **login})
    assert "ANTHROPIC_API_KEY" in key
    assert "secret-word" not in "".join(said)


@pytest.mark.slow
def test_a_pilot_of_a_few_papers_foretells_what_the_rest_ask_for_and_wastes_nothing(tmp_path: Path) -> None:
    with rehearsal(tmp_path, 48) as work:
        plan.pilot(work, 12)
        foretold = plan.plan(work)
        before = len(work.keeper.seen)
        sources = {seen.path for seen in work.keeper.seen if seen.path.startswith("/src/")}
        plan.pilot(work, 48)
        after = work.keeper.seen[before:]
        assert plan.plan(work).to_come == 0
    assert (foretold.sample, foretold.done, foretold.to_come) == (48, 12, 36)
    assert len(sources) == 12
    assert not sources & {seen.path for seen in after}
    actual = Counter(lane_of(f"https://{seen.host}{seen.path}", seen.who != "anonymous") for seen in after)
    assert foretold.requests["arxiv.org"] == exactly(actual["arxiv.org"])
    held = {
        lane: interval.low <= actual[lane] <= interval.high
        for lane, interval in foretold.requests.items()
        if interval is not None and is_named(lane)
    }
    assert {"huggingface.co/api", "api.github.com/search"} <= held.keys()
    assert list(held.values()).count(False) <= 1, (held, actual, foretold.requests)


# -------------------------------------------------------------------------------------------------------------- status


def waits(request: str, not_before: datetime | None) -> Waiting:
    return Waiting(
        request=request,
        method="GET",
        url=f"https://example.org/{request}",
        paper="2505.00001",
        reason="rate limited",
        epoch="live:x",
        put_off_at=datetime(2026, 1, 1, tzinfo=UTC),
        not_before=not_before,
        tries=1,
    )


def test_a_store_without_anything_says_so(tmp_path: Path) -> None:
    said = status.text(place(tmp_path))
    assert said.count("not yet") == 6
    assert "nothing waits" in said


def test_finished_and_unfinished_stages_are_told_apart_with_their_counts(tmp_path: Path) -> None:
    work = with_corpus(place(tmp_path), 12, 5)
    write_rows(work, "index", [{"key": f"index#{n}"} for n in range(14)], ["key"], "print")
    gone = [{"key": f"index#{n}", "stage": "corpus", "reason": "no_arxiv_id"} for n in (12, 13)]
    write_rows(work, "corpus_exclusions", gone, ["key", "stage", "reason"], "print")
    write_rows(work, "pins", [], ["arxiv_id"], "print")
    write_rows(work, "bundles", [], ["arxiv_id", "digest"], f"print{UNFINISHED}")
    lines = {line.split()[0]: line for line in status.text(work).splitlines() if line.startswith("  ")}
    assert lines["corpus"].split("done")[1].strip() == "14 in the index, 12 papers, 2 no arxiv id"
    assert "not finished" in lines["bundles"]
    assert "not yet" in lines["classification"]


def test_waits_are_told_by_when_they_end(tmp_path: Path) -> None:
    work, now = place(tmp_path), datetime.now(UTC)
    tomorrow = now + timedelta(days=1)
    for waiting in (waits("a", now - timedelta(hours=1)), waits("b", tomorrow), waits("c", tomorrow), waits("d", None)):
        work.record.put_off("live:", waiting)
    until = now + timedelta(minutes=40)
    state = f'{{"until": {until.timestamp()}, "why": "its budget is spent"}}'
    with work.store.engine.begin() as connection:
        connection.execute(sa.insert(lanes).values(key="live:api.github.com#12ab34cd", state=state))
        connection.execute(sa.insert(lanes).values(key="offline:arxiv.org", state=state))
    said = status.text(work)
    assert f"api.github.com waits until {until:%Y-%m-%d %H:%M} UTC (40 minutes; its budget is spent)" in said
    assert "arxiv.org waits" not in said  # another line of time
    assert "1 question may be asked again now" in said
    assert f"2 questions put off to a later day, from {tomorrow:%Y-%m-%d %H:%M} UTC" in said
    assert "1 question given up" in said
    assert "4 rate limited" in said


def test_plan_and_status_are_commands_that_leave_dagster_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "dagster", None)  # an import of it fails
    for command in ("plan", "status"):
        assert main(["--store", str(tmp_path / "store"), command, "sample-2025"]) == 0
        assert "Sample Conference on Machine Learning 2025 (sample-2025)" in capsys.readouterr().out
