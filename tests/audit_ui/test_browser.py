"""In a real Chromium: an audit by keyboard alone up to the release, two windows, stale rows, accessibility."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn

from assets import audit
from assets.workplace import workplace
from pipeline.audit import verdict
from pipeline.calibration import exercises
from pipeline.derivation import Derivation
from pipeline.ledger import Ledger
from tests.audit_ui.conftest import PASSWORD, World
from tests.e2e import tiny
from tests.e2e.tiny import ROOT, SAMPLE, Tiny

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

KEYS: dict[Any, str] = {True: "y", False: "n", "not_needed": "a", "stands": "y", "cannot_tell": "c", "wrong": "n"} | {
    kind: kind[0] for kind in ("empirical", "theoretical", "position", "survey")
}
NEEDS = {"paid_api": "5", "human_raters": "6", "special_hardware": "7", "licensed_simulator": "8"}


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def listening(port: int, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError(f"nothing listens on port {port}")


@contextmanager
def served(world: World) -> Iterator[str]:
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(world.app, port=port, log_config=None, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    listening(port)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


def enter(browser: Browser, base: str, name: str, **context: Any) -> Page:
    """Log in by keyboard: the name has the focus, the rest is Tab and Enter."""
    page = browser.new_context(**context).new_page()
    page.goto(base)
    page.wait_for_selector("input[name=name]:focus")  # comes with the first drawing, which may be later than the load
    page.keyboard.type(name)
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    assert page.input_value("input[name=name]") == name
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Queue")
    return page


def question_of(page: Page) -> str | None:
    field = page.query_selector("form.answer input[name=question]")
    return None if field is None else field.get_attribute("value")


def press(page: Page, key: str) -> None:
    """One key that makes one decision, and the wait for its answer."""
    with page.expect_response(lambda r: r.request.method == "POST") as sent:
        page.keyboard.press(key)
    assert sent.value.status in (200, 204, 303), sent.value.status
    page.wait_for_load_state()
    page.wait_for_selector("html:not([data-busy])", state="attached")


def say(page: Page, value: Any) -> None:
    if isinstance(value, list):
        for need in value:
            page.keyboard.press(NEEDS[need])
        press(page, "y" if value else "n")
    else:
        press(page, KEYS[value])


def calibrate(page: Page) -> None:
    page.keyboard.press("s")
    page.wait_for_url("**/calibrate")
    for row in exercises():
        for asked in row.ask:
            say(page, asked.answer)
    all_ = sum(len(row.ask) for row in exercises())
    page.wait_for_selector(f"text=Through: {all_} of {all_}")
    page.keyboard.press("Enter")
    page.wait_for_url("**/paper/*")


def read_row(page: Page, row: Derivation, other: dict[str, Any]) -> None:
    for _ in range(30):
        question = question_of(page)
        if question is None:
            return
        say(page, other.get(question, verdict(row, question)))  # type: ignore[arg-type]
    raise AssertionError(f"{row.arxiv_id} does not end: {page.inner_text('#panel')}")


def next_row(page: Page) -> None:
    assert "This row is done" in page.inner_text("#panel")
    with page.expect_navigation():
        page.keyboard.press("Enter")


def add_user(edition: Tiny, name: str, role: str) -> None:
    command = [sys.executable, "-m", "assets.cli", *edition.arguments("audit", "user", "add", name, "--role", role)]
    made = subprocess.run(command, input=f"{PASSWORD}\n", text=True, capture_output=True, cwd=ROOT, timeout=120)
    assert made.returncode == 0, made.stderr


@pytest.fixture(scope="module")
def undecided(tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    """The sample edition's papers and sizes under another name, so that nobody decided anything yet."""
    papers = [paper.name for paper in (SAMPLE / "papers").iterdir()]
    sizes = {"sample": 60, "pool_size": 24, "eval_size": 12, "dev_per_tier": 2}
    edition = tiny.make(tmp_path_factory.mktemp("audit") / "tiny", papers, **sizes)
    assert edition.build() == tiny.EXIT_WAITING
    return edition


def test_an_audit_by_keyboard_alone_ends_in_a_frozen_release(undecided: Tiny, request: pytest.FixtureRequest) -> None:
    with workplace(str(undecided.toml), undecided.root, say=lambda _: None) as work:
        rows = {row.arxiv_id: row for row in audit.pool(work)}
    for name, role in (("ann", "auditor"), ("bob", "auditor"), ("cyd", "adjudicator")):
        add_user(undecided, name, role)
    port = free_port()
    command = [sys.executable, "-m", "assets.cli"]
    command += undecided.arguments("ui", str(undecided.toml), "--no-dagster", "--audit-port", str(port))
    server = subprocess.Popen(command, cwd=ROOT)
    try:
        listening(port)
        disputed = _audit(request.getfixturevalue("chromium"), f"http://127.0.0.1:{port}", rows)
    finally:
        server.terminate()
        server.wait()
    built = tiny.process(undecided.arguments("build", str(undecided.toml)))
    assert built.returncode == tiny.EXIT_RELEASED, built.stdout + built.stderr
    assert undecided.releases()
    entries = Ledger(undecided.store.engine, undecided.name).entries()
    settled = [e.event for e in entries if e.event.kind == "adjudicate"]
    assert [(e.paper, e.question, e.who) for e in settled] == [(disputed, "weights_available", "cyd")]
    assert {e.event.who for e in entries} == {"ann", "bob", "cyd"}
    assert {e.event.guide for e in entries if e.event.kind == "answer"} == {1}


def _audit(chromium: Browser, base: str, rows: dict[str, Derivation]) -> str:
    """Two readers and an adjudicator; returns the paper on which they differed."""
    ann = enter(chromium, base, "ann")
    calibrate(ann)
    while "/paper/" in ann.url:
        read_row(ann, rows[ann.url.rpartition("/")[2]], {})
        next_row(ann)
    bob = enter(chromium, base, "bob")
    calibrate(bob)
    disputed = ""
    while "/paper/" in bob.url:
        paper = bob.url.rpartition("/")[2]
        full = bob.locator(".steps li").count() == 11
        other = {} if disputed or not full else {"weights_available": "cannot_tell"}
        disputed = paper if other else disputed
        read_row(bob, rows[paper], other)
        next_row(bob)
    assert disputed
    assert len(rows) == 24
    cyd = enter(chromium, base, "cyd")
    cyd.goto(f"{base}/adjudicate/{disputed}")
    sides = cyd.inner_text(".sides")
    assert "cannot tell" in sides
    assert "ann" in sides
    value = verdict(rows[disputed], "weights_available")
    cyd.focus("textarea[name=why]")
    cyd.keyboard.type("as the receipts show; y n a c do nothing here")
    cyd.keyboard.press("Tab")
    cyd.evaluate("document.activeElement.blur()")
    press(cyd, KEYS[value])
    cyd.wait_for_selector("text=Nothing of this row waits")
    return disputed


def test_two_windows_stale_rows_undo_and_keys_that_rest_in_fields(world: World, chromium: Browser) -> None:
    world.site.desk.fresh()
    paper = next(row.arxiv_id for row in world.pool.rows if row.tier == "Run")
    world.person("ann")
    with served(world) as base:
        one = enter(chromium, base, "ann")
        one.goto(f"{base}/paper/{paper}")
        two = one.context.new_page()
        two.goto(f"{base}/paper/{paper}")
        press(one, "y")
        with two.expect_response(lambda r: r.status == 409):
            two.keyboard.press("n")
        two.wait_for_selector("text=Nothing was overwritten")
        assert len(world.site.desk.ledger.entries()) == 1
        one.keyboard.press("Control+y")
        one.keyboard.press("Alt+n")
        one.wait_for_timeout(100)
        assert len(world.site.desk.ledger.entries()) == 1
        one.keyboard.press("?")
        assert "take back the last decision" in one.inner_text("#keys")
        one.keyboard.press("y")
        one.wait_for_timeout(100)
        assert len(world.site.desk.ledger.entries()) == 1, "no decision while the help is open"
        one.keyboard.press("Escape")
        press(one, "u")
        one.wait_for_selector("text=Taken back")
        read_row(one, world.row(paper), {})
        one.goto(f"{base}/paper/{paper}?q=hours")
        one.keyboard.press("w")
        one.keyboard.type("yes no cannot")
        one.keyboard.press("Escape")
        before = len(world.site.desk.ledger.entries())
        assert one.input_value("textarea[name=why]").endswith("yes no cannot")
        one.evaluate("document.activeElement.blur()")
        one.keyboard.press("m")
        one.keyboard.type("64")
        one.wait_for_selector("td.changed")
        assert "32-96" in one.inner_text(".correct .preview")
        assert len(world.site.desk.ledger.entries()) == before
        world.change(paper, central_claim="Something else.")
        one.goto(f"{base}/?show=stale")
        one.wait_for_selector(f"text={paper}")
        one.goto(f"{base}/paper/{paper}")
        one.wait_for_selector("text=about an earlier state of this row")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_no_page_has_a_serious_accessibility_finding_or_scrolls_sideways(
    world: World, chromium: Browser, scheme: str, width: int
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    ann, cyd = world.person("ann"), world.person("cyd", "adjudicator")
    paper, other = world.papers[:2]
    ann.reads(paper, weights_available="cannot_tell")
    look: dict[str, Any] = {"color_scheme": scheme, "viewport": {"width": width, "height": 800}}
    found: list[str] = []
    with served(world) as base:
        pages = {
            ann.name: [
                "/",
                f"/paper/{paper}?q=target",
                f"/paper/{paper}?q=code_available",
                f"/paper/{other}",
                "/guide",
            ],
            cyd.name: ["/?show=disputed", f"/adjudicate/{paper}", "/agreement"],
        }
        for name, paths in pages.items():
            page = enter(chromium, base, name, **look, bypass_csp=True)
            for path in paths:
                page.goto(base + path)
                assert page.evaluate("document.documentElement.scrollWidth") <= width, path
                report = Axe().run(page).response
                assert len(report["passes"]) > 10, "axe looked at the page"
                for one in report["violations"]:
                    if one["impact"] in ("serious", "critical"):
                        found.append(f"{path}: {one['id']}: {one['nodes'][0]['html'][:200]}")
    assert found == []


def test_scripts_in_papers_do_not_run_and_the_pages_own_breaks_no_policy(tmp_path: Path, chromium: Browser) -> None:
    from tests.audit_ui.test_access import hostile

    world = hostile(tmp_path)
    world.person("ann")
    with served(world) as base:
        page = enter(chromium, base, "ann")
        said: list[str] = []
        page.on("console", lambda m: said.append(m.text) if m.type == "error" else None)
        page.on("dialog", lambda d: said.append(f"dialog {d.message}"))
        page.goto(f"{base}/paper/{world.papers[0]}")
        press(page, "c")
        for summary in page.query_selector_all("summary"):
            summary.click()
        page.wait_for_timeout(200)
        assert said == []
