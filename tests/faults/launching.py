"""The other end of `launcher.py`: orders to a process that has everything imported, and what became of them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tests.e2e.tiny import ROOT, environment

KILLED = -9


@dataclass(frozen=True, slots=True)
class Kill:
    """`share` of the way from beginning to end (0 to 1), counted in the moments of the launcher, in seconds, or in
    bytes that pass a line."""

    share: float
    by: Literal["moment", "clock", "byte"]


@dataclass(frozen=True, slots=True)
class Ended:
    """`status`: of the process, -9 where it was killed; `moments` it had; `seconds` it took."""

    status: int
    moments: int
    seconds: float

    @property
    def killed(self) -> bool:
        return self.status == KILLED


class Launcher:
    def __init__(self, folder: Path) -> None:
        self.log = folder / "log.txt"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.launcher"],
            cwd=ROOT,
            env=environment(ROOT),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def run(
        self,
        arguments: list[str],
        kill: Kill | None = None,
        whole: Ended | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> Ended:
        """`reclaim` with these arguments, killed after a share of what `whole`, the same run undisturbed, had."""
        self.start(arguments, kill=kill, whole=whole, variables=variables)
        return self.end()

    def start(
        self,
        arguments: list[str] | None = None,
        page: Mapping[str, Any] | None = None,
        kill: Kill | None = None,
        whole: Ended | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> int:
        """Begin a command, or an audit page; its process's id. One at a time: `end` waits for it."""
        order: dict[str, Any] = {"arguments": arguments, "page": page, "environment": dict(variables or {})}
        order |= {"log": str(self.log), "moment": None, "after": None}
        if kill is not None and whole is not None:
            if kill.by == "moment":
                order["moment"] = int(kill.share * whole.moments)
            elif kill.by == "clock":
                order["after"] = kill.share * whole.seconds
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return int(self._answer()["pid"])

    def end(self) -> Ended:
        return Ended(**self._answer())

    def told(self) -> str:
        """The end of what the last commands printed."""
        return self.log.read_text(errors="replace")[-3000:] if self.log.exists() else ""

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the launcher ended"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        self._process.communicate()
