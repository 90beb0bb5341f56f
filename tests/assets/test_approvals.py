"""An audit in the Dagster UI alone: links to a typed launchpad, decisions that say how they were made, and what is left
to do."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import dagster as dg
import pytest
import yaml

from assets import approvals
from assets.approvals import JOB, RECORD, ledger_sensor
from assets.build import instance
from assets.definitions import Shop, build_defs
from assets.shop import POOL_ROWS
from pipeline.events import QUESTIONS, Event
from pipeline.ledger import Ledger
from tests.e2e import tiny
from tests.e2e.tiny import Tiny

LINK = re.compile(r"\[([^\]]*)\]\((/locations/reclaim/jobs/record_audit_decision/playground/setup\?config=[^)]*)\)")


@pytest.fixture(scope="session")
def undecided(tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    """Three rows that nobody judged; any process finds the edition in the store by its name, as the UI's runs do."""
    papers = ("2505.90011", "2505.90038", "2505.90057")
    made = tiny.make(tmp_path_factory.mktemp("approvals") / "tiny", papers, pool_size=3, eval_size=3, dev_per_tier=0)
    (made.root / "editions").mkdir(parents=True)
    text = made.toml.read_text().replace('world = "world"', f"world = {json.dumps(str(made.world))}")
    (made.root / "editions" / "tiny.toml").write_text(text)
    assert made.build() == tiny.EXIT_WAITING
    return made


@pytest.fixture
def kept(undecided: Tiny, tmp_path: Path) -> Tiny:
    copy = undecided.copy(tmp_path / "copy")
    place = copy.root / "editions" / "tiny.toml"
    place.write_text(place.read_text().replace(str(undecided.world), str(copy.world)))
    return copy


@pytest.fixture
def home(kept: Tiny) -> Iterator[dg.DagsterInstance]:
    with instance(kept.root / "dagster") as found:
        yield found


def table(home: dg.DagsterInstance, asset: str) -> str:
    event = home.get_latest_materialization_event(dg.AssetKey(asset))
    assert event is not None
    assert event.asset_materialization is not None
    return str(event.asset_materialization.metadata["decide"].value)


def links(text: str, paper: str) -> dict[str, dict[str, Any]]:
    """What each link of a paper fills in, by the link's name."""
    (line,) = [line for line in text.splitlines() if line.startswith(f"| {paper} ")]
    return {name: yaml.safe_load(unquote(url.split("config=")[1])) for name, url in LINK.findall(line)}


def launch(kept: Tiny, home: dg.DagsterInstance, said: dict[str, Any]) -> dg.ExecuteInProcessResult:
    job = build_defs(Shop(root=kept.root)).resolve_job_def(JOB)
    return job.execute_in_process(instance=home, run_config=said, raise_on_error=False)


def cause(result: dg.ExecuteInProcessResult) -> str:
    (failure,) = [e for e in result.all_events if e.is_step_failure]
    return str(failure.step_failure_data)


def derive(kept: Tiny, home: dg.DagsterInstance) -> dg.AssetCheckEvaluation:
    job = build_defs(Shop(root=kept.root)).resolve_implicit_global_asset_job_def()
    keys = [dg.AssetKey("audit")]
    result = job.execute_in_process(instance=home, partition_key=kept.name, asset_selection=keys)
    (check,) = result.get_asset_check_evaluations()
    return check


@pytest.mark.slow
def test_a_small_audit_is_done_by_links_alone_and_the_check_turns_green(kept: Tiny, home: dg.DagsterInstance) -> None:
    text = table(home, "selection")
    papers = re.findall(r"^\| (\d{4}\.\d{5}) ", text, re.MULTILINE)
    assert len(papers) == 3
    before = derive(kept, home)
    assert not before.passed
    assert before.metadata["waiting"].value == 3
    keys = [f"tiny:{paper}" for paper in papers]
    assert sorted(home.get_dynamic_partitions(str(POOL_ROWS.name))) == sorted(keys)
    for paper in papers:
        said = links(text, paper)
        assert set(said) == {"approve", "drop", "code", "dataset", "weights", "standard"}
        assert (said["approve"]["decision"], said["approve"]["who"]) == ("approve", "")
        assert launch(kept, home, said["approve"] | {"who": "ada"}).success
    assert home.get_materialized_partitions(RECORD) == set(keys)
    after = derive(kept, home)
    assert after.passed
    assert after.metadata["waiting"].value == 0
    assert "| 0 |" in str(after.metadata["burn_down"].value)
    assert table(home, "audit") == "Every row is decided."
    events = [e.event for e in kept.ledger()]
    assert len(events) == 3 * len(QUESTIONS)
    assert {(e.kind, e.phase, e.mode, e.identity) for e in events} == {("answer", "revised", "unblinded", "asserted")}
    assert all(e.value is not None for e in events)
    assert kept.build() == tiny.EXIT_RELEASED
    told = json.loads((kept.releases()[0] / "agreement.json").read_text())
    assert told["measured"] is False


@pytest.mark.slow
def test_what_cannot_be_is_refused_by_name_and_leaves_nothing(kept: Tiny, home: dg.DagsterInstance) -> None:
    said = links(table(home, "selection"), "2505.90011")["approve"] | {"who": "ada"}
    for changes, reason in (
        ({"edition": "venus-2030"}, "edition 'venus-2030' is not known here; known: tiny"),
        ({"edition": "/etc/passwd.toml"}, "is not known here"),
        ({"paper": "2501.00001"}, "paper '2501.00001' is not in the pool of tiny"),
        ({"row_hash": "0" * 64}, "the row has changed since this link was made"),
    ):
        result = launch(kept, home, said | changes)
        assert not result.success
        assert reason in cause(result)
    assert kept.ledger() == []


@pytest.mark.parametrize(
    "changes",
    [
        {"decision": "agree"},
        {"question": "colour"},
        {"at": "2026-01-01T00:00:00Z"},
        {"mode": "blind"},
        {"value": True},
        {"why": {"env": "HOME"}},
        {"who": {"env": "HF_TOKEN"}},
        {"resources": {"io_manager": {"config": {"base_dir": "/"}}}},
        {"execution": {}},
        {"ops": {}},
    ],
)
def test_the_launchpad_takes_nothing_but_what_an_auditor_says(changes: dict[str, Any]) -> None:
    job = build_defs().resolve_job_def(JOB)
    said = {"edition": "tiny", "paper": "x", "row_hash": "y", "decision": "approve", "who": "ada"}
    assert dg.validate_run_config(job, said)
    with pytest.raises(dg.DagsterInvalidConfigError):
        dg.validate_run_config(job, said | changes)


@pytest.mark.slow
def test_an_overturn_is_filled_in_with_the_receipts_it_can_rest_on_and_needs_a_reason(
    kept: Tiny, home: dg.DagsterInstance
) -> None:
    said = links(table(home, "selection"), "2505.90038")["weights"]
    assert (said["decision"], said["question"], said["value"], said["why"]) == (
        "overturn",
        "weights_available",
        "yes",
        "",
    )
    receipts = {row["id"]: row for row in kept.rows("receipts")}
    assert all(receipts[id_]["subject"].startswith(("hf:", "github:")) for id_ in said["evidence"])
    assert "says why" in cause(launch(kept, home, said | {"who": "ada"}))
    without = said | {"who": "ada", "why": "they are on the Hub", "evidence": []}
    assert "without a receipt" in cause(launch(kept, home, without))
    said = links(table(home, "selection"), "2505.90011")["standard"]
    unsure = {"value": "cannot tell", "who": "ada"}
    assert launch(kept, home, said | unsure).success
    assert home.get_materialized_partitions(RECORD) == set()
    assert launch(kept, home, links(table(home, "selection"), "2505.90011")["approve"] | {"who": "ada"}).success
    assert not derive(kept, home).passed
    text = table(home, "audit")
    assert "disputed: dataset_is_standard" in text
    settles = links(text, "2505.90011")["adjudicate dataset_is_standard"] | {"value": "yes", "why": "it is listed"}
    assert "another person adjudicates" in cause(launch(kept, home, settles | {"who": "ada"}))
    assert launch(kept, home, settles | {"who": "joan"}).success
    assert home.get_materialized_partitions(RECORD) == {"tiny:2505.90011"}


@pytest.mark.slow
def test_a_decision_taken_back_is_to_be_made_again(kept: Tiny, home: dg.DagsterInstance) -> None:
    assert launch(kept, home, links(table(home, "selection"), "2505.90011")["approve"] | {"who": "ada"}).success
    assert home.get_materialized_partitions(RECORD) == {"tiny:2505.90011"}
    last = kept.ledger()[-1].event
    book = Ledger(kept.store.engine, kept.name)
    book.append([Event(kind="undo", paper=last.paper, who="ada", at="2026-12-01T00:00:00Z", undoes=last.id)])
    derive(kept, home)
    name = str(POOL_ROWS.name)
    todo = set(home.get_dynamic_partitions(name)) - home.get_materialized_partitions(RECORD)
    assert "tiny:2505.90011 again" in todo
    assert "tiny:2505.90011" not in home.get_dynamic_partitions(name)
    assert launch(kept, home, links(table(home, "audit"), "2505.90011")["approve"] | {"who": "ada"}).success
    assert "tiny:2505.90011 again" in home.get_materialized_partitions(RECORD)


@pytest.mark.slow
def test_the_sensor_asks_once_for_each_state_of_the_ledger_and_waits_for_a_builder(
    kept: Tiny, home: dg.DagsterInstance
) -> None:
    def look(cursor: str | None) -> Any:
        context = dg.build_sensor_context(instance=home, cursor=cursor, resources={"shop": Shop(root=kept.root)})
        return ledger_sensor(context)

    assert isinstance(look(None), dg.SkipReason), "nobody decided anything"
    assert launch(kept, home, links(table(home, "selection"), "2505.90011")["approve"] | {"who": "ada"}).success
    with kept.store.lock(kept.name):
        assert isinstance(look(None), dg.SkipReason), "a build is at work; its own audit sees the ledger"
    found = look(None)
    assert [one.partition_key for one in found.run_requests] == [kept.name]
    assert isinstance(look(found.cursor), dg.SkipReason)


def test_a_papers_links_cannot_break_out_of_the_table() -> None:
    shown = approvals._joined([("code", "https://x.example/a b|c)](javascript:1)<b>"), ("bad", "javascript:alert(1)")])
    assert "|" not in shown
    assert "<" not in shown
    assert "bad" not in shown
    assert shown.count("(") == shown.count(")") == 1
