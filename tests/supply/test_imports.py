"""Importing Reclaim and asking what it can do reaches nothing and leaves nothing behind."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.tiny import ROOT, environment

OURS = ("pipeline", "classifiers", "audit_ui", "assets")


def run(home: Path, script: str | Path, *arguments: str) -> tuple[dict[str, Any], str]:
    """What `quiet` tells of a process whose home, working and temporary folders are new, and everything it printed."""
    folders = {name: str(home / name) for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")}
    for folder in folders.values():
        Path(folder).mkdir()
    said = subprocess.run(
        [sys.executable, str(script), *arguments],
        cwd=folders["HOME"],
        env={**environment(ROOT), **folders},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert said.returncode == 0, said.stderr
    *_, last = said.stdout.splitlines()
    return json.loads(last), said.stdout


def left(home: Path) -> list[str]:
    return [path.name for path in home.rglob("*") if path.is_file()]


@pytest.mark.slow
def test_importing_any_module_reaches_nothing_and_writes_nothing(tmp_path: Path) -> None:
    told, _ = run(tmp_path, ROOT / "tests" / "supply" / "quiet.py", "import", *OURS)
    files = [path for package in OURS for path in (ROOT / package).rglob("*.py")]
    assert told["done"] == len(files) - len(OURS) > 200  # every file is a module, and the packages' own were first
    assert told["tried"] == []
    assert left(tmp_path) == []


@pytest.mark.parametrize("command", [("--help",), ("build", "--help"), ("verify", "--help")])
def test_help_reaches_nothing_and_writes_nothing(command: tuple[str, ...], tmp_path: Path) -> None:
    told, said = run(tmp_path, ROOT / "tests" / "supply" / "quiet.py", "reclaim", *command)
    assert said.startswith("usage: reclaim")
    assert told == {"done": 0, "tried": []}
    assert left(tmp_path) == []


def test_a_module_that_calls_home_is_told_even_where_it_swallows_the_refusal(tmp_path: Path) -> None:
    package = tmp_path / "chatty"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "home.py").write_text(
        "import contextlib, pathlib, socket\n"
        "with contextlib.suppress(OSError):\n    socket.create_connection(('127.0.0.1', 9))\n"
        "with contextlib.suppress(OSError):\n    socket.socket().connect(('127.0.0.1', 9))\n"
        "pathlib.Path('left.txt').write_text('here')\n"
    )
    script = tmp_path / "quiet.py"
    script.write_text((ROOT / "tests" / "supply" / "quiet.py").read_text(encoding="utf-8"))
    told, _ = run(tmp_path, script, "import", "chatty")
    assert told["done"] == 1
    events = [line.split()[0] for line in told["tried"]]
    assert events == ["socket.getaddrinfo", "socket.connect", "open"]
    assert left(tmp_path / "HOME") == ["left.txt"]
