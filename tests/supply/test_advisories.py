"""The question about known vulnerabilities fails on a finding, and where nobody answers it says that nobody did."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

from tests.e2e.tiny import ROOT

pytestmark = pytest.mark.slow
FOUND = {"id": "PYSEC-2026-1", "modified": "2026-01-01T00:00:00Z"}


class Advisories(BaseHTTPRequestHandler):
    """OSV's two addresses; `against` names the one package that something is known against."""

    against = ""
    broken = False
    asked: ClassVar[set[str]]

    def do_POST(self) -> None:
        queries = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["queries"]
        names = [query["package"]["name"] for query in queries]
        self.asked.update(names)
        self.answer({"results": [{"vulns": [FOUND]} if name == self.against else {} for name in names]})

    def do_GET(self) -> None:
        self.answer({**FOUND, "summary": "a hole", "affected": []})

    def answer(self, body: dict[str, Any]) -> None:
        text = json.dumps(body).encode()
        self.send_response(500 if self.broken else 200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def service() -> Iterator[tuple[type[Advisories], str]]:
    handler = type("Handler", (Advisories,), {"asked": set()})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield handler, f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def ask(url: str, *more: str) -> subprocess.CompletedProcess[str]:
    if not (os.environ.get("UV") or shutil.which("uv")):
        pytest.skip("uv is not on this machine")
    command = [sys.executable, ".ci/advisories.py", "--service-url", url, *more]
    # uv asks the index too, for what became of each project: that goes to a closed port of this machine
    nowhere = {"HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1", "UV_HTTP_RETRIES": "0"}
    environment = {**os.environ, **nowhere}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_every_locked_package_is_asked_about(service: tuple[type[Advisories], str]) -> None:
    handler, url = service
    said = ask(url)
    assert (said.returncode, said.stderr) == (0, "")
    assert said.stdout.startswith("no known vulnerability in ")
    assert {"dagster", "requests", "openai", "psycopg", "dagster-dask", "pytest"} <= handler.asked


def test_a_known_vulnerability_fails_with_the_package_and_the_advisory(service: tuple[type[Advisories], str]) -> None:
    handler, url = service
    handler.against = "requests"
    said = ask(url)
    assert said.returncode == 1
    assert "PYSEC-2026-1" in said.stdout
    assert "requests" in said.stdout


def test_no_answer_is_told_as_not_checked(service: tuple[type[Advisories], str]) -> None:
    handler, url = service
    handler.broken = True
    for where in (url, "http://127.0.0.1:9/"):
        said = ask(where)
        assert said.returncode == 0
        assert said.stdout.startswith("not checked: the advisory service cannot be reached (")
        assert "no known" not in said.stdout


def test_a_question_that_cannot_be_asked_fails(service: tuple[type[Advisories], str]) -> None:
    said = ask(service[1], "--no-such-option")
    assert said.returncode == 2
    assert "no-such-option" in said.stderr
