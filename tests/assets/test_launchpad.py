"""The Dagster UI as a maintainer sees it, without the audit page: links, launchpad, an emptying list, a green check."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest

from tests.e2e import tiny
from tests.e2e.tiny import ROOT, Tiny

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow
PATIENCE = 180
"""Seconds for what takes Dagster ten on a quiet machine."""
PAPERS = ("2505.90011", "2505.90038", "2505.90057")


@pytest.fixture(scope="module")
def undecided(tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    made = tiny.make(tmp_path_factory.mktemp("launchpad") / "tiny", PAPERS, pool_size=3, eval_size=3, dev_per_tier=0)
    (made.root / "editions").mkdir(parents=True)
    text = made.toml.read_text().replace('world = "world"', f"world = {json.dumps(str(made.world))}")
    (made.root / "editions" / "tiny.toml").write_text(text)
    assert tiny.process(made.arguments("build", str(made.toml))).returncode == tiny.EXIT_WAITING
    return made


@pytest.fixture(scope="module")
def dagster(undecided: Tiny, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Webserver and daemon on a free port, over the edition's own instance."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = undecided.root / "dagster"
    log = tmp_path_factory.mktemp("log") / "dagster"
    environment = {**os.environ, "DAGSTER_HOME": str(home), "RECLAIM_STORE": str(undecided.root)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # Dagster compiles for 20 s otherwise
    command = [sys.executable, "-m", "dagster", "dev", "-w", str(home / "workspace.yaml")]
    with log.open("w") as out:
        server = subprocess.Popen(
            [*command, "-h", "127.0.0.1", "-p", str(port)],
            cwd=ROOT, env=environment, stdout=out, stderr=out, start_new_session=True,
        )  # fmt: skip
    address = f"http://127.0.0.1:{port}"
    try:
        until(lambda: answers(f"{address}/server_info"), f"Dagster to start; see {log}")
        yield address
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


def answers(url: str) -> bool:
    try:
        with urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except (URLError, OSError):
        return False


def until(done: Callable[[], Any], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < deadline, f"waited {PATIENCE} s for {what}"
        time.sleep(0.5)


def ask(address: str, query: str, **variables: Any) -> Any:
    body = json.dumps({"query": query, "variables": variables}).encode()
    request = Request(f"{address}/graphql", body, {"content-type": "application/json"})
    with urlopen(request, timeout=60) as answer:
        told = json.load(answer)
    assert "errors" not in told, told
    return told["data"]


CHECK = """query { assetChecksOrError: assetNodeOrError(assetKey: {path: ["audit"]}) { ... on AssetNode {
  assetChecksOrError { ... on AssetChecks { checks { name
    partitionStatuses: executionForLatestMaterialization { status evaluation { success
      metadataEntries { label ... on IntMetadataEntry { intValue } } } } } } } } } }"""
LIST = """query { assetNodeOrError(assetKey: {path: ["audit_decision"]}) { ... on AssetNode {
  assetPartitionStatuses { ... on DefaultPartitionStatuses {
    materializedPartitions unmaterializedPartitions } } } } }"""


def check(address: str) -> dict[str, Any] | None:
    node = ask(address, CHECK)["assetChecksOrError"]
    (found,) = [c for c in node["assetChecksOrError"]["checks"] if c["name"] == "audit_holds"]
    run = found["partitionStatuses"]
    return run["evaluation"] if run else None


def todo(address: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = ask(address, LIST)["assetNodeOrError"]["assetPartitionStatuses"]
    return found


def open_launchpad(page: Page, address: str, paper: str) -> None:
    """From the pool's own metadata, as a person goes."""
    page.goto(f"{address}/assets/selection?view=events")
    page.get_by_text("decide", exact=True).first.scroll_into_view_if_needed()
    row = page.locator("tr").filter(has=page.get_by_text("decide", exact=True))
    row.get_by_text("Show Markdown").first.click()
    page.locator("tr").filter(has_text=re.compile(f"^{paper}")).get_by_role("link", name="approve").click()
    page.get_by_text("Launch Run").wait_for()


def test_three_decisions_through_the_launchpad_turn_the_check_green(
    undecided: Tiny, dagster: str, chromium: Browser, tmp_path: Path
) -> None:
    evaluation = check(dagster)
    assert evaluation is not None
    assert not evaluation["success"]
    assert todo(dagster)["materializedPartitions"] == []
    assert sorted(todo(dagster)["unmaterializedPartitions"]) == sorted(f"tiny:{paper}" for paper in PAPERS)
    page = chromium.new_page(viewport={"width": 1400, "height": 1000})
    page.set_default_timeout(PATIENCE * 1000)
    for number, paper in enumerate(PAPERS, start=1):
        open_launchpad(page, dagster, paper)
        editor = page.locator(".CodeMirror")
        editor.click()
        page.keyboard.press("Control+End")  # the name stands last, between quotes
        page.keyboard.press("ArrowLeft")
        page.keyboard.type("ada")
        page.get_by_text("No errors").wait_for()
        assert 'who: "ada"' in editor.inner_text()
        page.get_by_role("button", name="Launch Run").click()
        until(lambda n=number: len(todo(dagster)["materializedPartitions"]) == n, f"decision {number} on {paper}")
    until(lambda: (check(dagster) or {}).get("success"), "the sensor to derive the audit again")
    (left,) = [e["intValue"] for e in (check(dagster) or {})["metadataEntries"] if e["label"] == "waiting"]
    assert left == 0
    page.goto(f"{dagster}/assets/audit?view=checks")
    page.get_by_text("audit_holds").first.wait_for()
    page.close()
    events = [entry.event for entry in undecided.ledger()]
    assert {(e.who, e.mode, e.identity) for e in events} == {("ada", "unblinded", "asserted")}
    assert {e.paper for e in events} == set(PAPERS)
    built = tiny.process(undecided.arguments("build", "tiny"))
    assert built.returncode == tiny.EXIT_RELEASED, built.stdout + built.stderr


def test_the_launchpad_refuses_what_is_no_answer_before_anything_runs(
    undecided: Tiny, dagster: str, chromium: Browser
) -> None:
    before = len(undecided.ledger())
    page = chromium.new_page(viewport={"width": 1400, "height": 1000})
    page.set_default_timeout(PATIENCE * 1000)
    open_launchpad(page, dagster, PAPERS[0])
    page.locator(".CodeMirror").click()
    page.keyboard.press("Control+End")
    page.keyboard.type('\nmode: "blind"')
    page.get_by_text("unexpected config entry", exact=False).first.wait_for()
    page.close()
    assert len(undecided.ledger()) == before
