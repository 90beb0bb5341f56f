"""What tests of every stage share: nothing leaves loopback, real services where they are there, and a reason where
not."""

from __future__ import annotations

import ipaddress
import os
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.e2e.tiny import Tiny

CHROMIUM = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"


# A shared machine may stall any example; how fast things are is what tests/bench prints.
settings.register_profile("shared", deadline=None)
settings.load_profile("shared")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--live", action="store_true", help="also talk to the real services (needs a network)")
    parser.addoption(
        "--require-services", action="store_true", help="fail, not skip, where PostgreSQL or Chromium is not there"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "fault(fault, where): a line of the fault matrix (tests/faults/matrix.py)")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    live = config.getoption("--live")
    slow = "slow" in (config.getoption("-m") or "")
    for item in items:
        if "live" in item.keywords and not live:
            item.add_marker(pytest.mark.skip(reason="talks to the real services; pass --live"))
        if "slow" in item.keywords and not slow:
            item.add_marker(pytest.mark.skip(reason="takes minutes; run with -m slow"))


@pytest.fixture(autouse=True)
def loopback_only(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any connection that would leave this machine fails the test."""
    if "live" in request.keywords:
        return
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: object) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and isinstance(address, tuple):
            where = str(address[0])
            if where != "localhost" and not ipaddress.ip_address(where).is_loopback:
                raise AssertionError(f"a test tried to reach {where}")
        connect(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    """One released tiny edition for all tests of this process; what changes it works on a `copy`."""
    from tests.e2e import tiny

    return tiny.finished(tmp_path_factory)


@pytest.fixture
def copy(finished: Tiny, tmp_path: Path) -> Tiny:
    return finished.copy(tmp_path / "copy")


@pytest.fixture
def realworld() -> Path:
    """Real papers and repositories, beside the checkout where they are there at all."""
    folder = SHARED / "realworld"
    if not folder.is_dir():
        pytest.skip("real papers are not on this machine (../shared/realworld)")
    return folder


@pytest.fixture
def published() -> Path:
    folder = SHARED / "reference" / "published"
    if not folder.is_dir():
        pytest.skip("published tables are not on this machine (../shared/reference/published)")
    return folder


@pytest.fixture
def postgres_url(request: pytest.FixtureRequest) -> str:
    """A real PostgreSQL, as a SQLAlchemy URL; each test makes a schema of its own."""
    url = os.environ.get("RECLAIM_TEST_DATABASE")
    if not url:
        reason = "no PostgreSQL on this machine (set RECLAIM_TEST_DATABASE)"
        if request.config.getoption("--require-services"):
            pytest.fail(reason)
        pytest.skip(reason)
    return url


@pytest.fixture(scope="module")
def chromium(request: pytest.FixtureRequest) -> Iterator[Browser]:
    """A real Chromium, driven by Playwright: Debian's, or the one that Playwright installed for this user.

    While it is open this thread has a running event loop: build in a process of its own, or before asking for it.
    """
    reason = ""
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        reason = "Playwright is not installed (uv sync --group checks)"
    else:
        place = os.environ.get("RECLAIM_CHROMIUM") or shutil.which("chromium")
        with sync_playwright() as driver:
            try:
                browser = driver.chromium.launch(executable_path=place, args=CHROMIUM)
            except Error as missing:
                reason = f"no Chromium on this machine ({str(missing).splitlines()[0]})"
            else:
                yield browser
                browser.close()
    if reason and request.config.getoption("--require-services"):
        pytest.fail(reason)
    if reason:
        pytest.skip(reason)
