"""The fault matrix: what was done to what, how often, and how often it ended as if nothing had been done.

Two ways into it. A *campaign* (`tests/faults/campaigns.py`) is one kind of kill, repeated at seeded moments. Any test
below `tests/faults` is a line of the matrix too once it says what it does:

    @pytest.mark.fault("disk full", "blobs")

Tests of the same fault and place are one line; a test that tries several cases tells how many by
`record_property("cases", n)`. `python -m tests.faults` runs both and prints the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """`same`: runs that ended as undisturbed ones do; `lost`: acknowledged events that were not there afterwards, or
    were there twice; `seconds` of all runs; `notes`: what went wrong, or why it was not run."""

    fault: str
    where: str
    runs: int = 0
    same: int = 0
    lost: int = 0
    seconds: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """A line that was not run at all (no PostgreSQL here) fails nothing, but it says so."""
        return self.same == self.runs and not self.lost and bool(self.runs or self.notes)

    def __add__(self, other: Line) -> Line:
        assert (self.fault, self.where) == (other.fault, other.where)
        return replace(
            self,
            runs=self.runs + other.runs,
            same=self.same + other.same,
            lost=self.lost + other.lost,
            seconds=self.seconds + other.seconds,
            notes=(*self.notes, *other.notes),
        )


def summed(lines: Iterable[Line]) -> list[Line]:
    """One line for each fault and place, in the order in which they came."""
    found: dict[tuple[str, str], Line] = {}
    for line in lines:
        key = (line.fault, line.where)
        found[key] = found[key] + line if key in found else line
    return list(found.values())


def table(lines: Sequence[Line]) -> str:
    """The matrix as Markdown, what went wrong below it."""
    rows = ["| fault | where | runs | ended the same | lost events | seconds |", "|---|---|---:|---:|---:|---:|"]
    for line in lines:
        runs = f"{line.runs} | {line.same} | {line.lost}" if line.runs else "not run | – | –"
        rows.append(f"| {line.fault} | {line.where} | {runs} | {line.seconds:.0f} |")
    total = sum(line.runs for line in lines)
    same, lost = sum(line.same for line in lines), sum(line.lost for line in lines)
    rows.append(f"| all | | {total} | {same} | {lost} | {sum(line.seconds for line in lines):.0f} |")
    notes = [f"- {line.fault}, {line.where}: {note}" for line in lines for note in line.notes]
    return "\n".join([*rows, *([""] if notes else []), *notes])


def as_json(lines: Sequence[Line]) -> list[dict[str, Any]]:
    return [{**asdict(line), "ok": line.ok} for line in lines]


class Marked:
    """A pytest plugin that makes lines of tests with the marker."""

    def __init__(self) -> None:
        self._told: dict[str, tuple[str, str]] = {}
        self.lines: list[Line] = []

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            if (mark := item.get_closest_marker("fault")) is not None:
                fault, where = mark.args
                self._told[item.nodeid] = (fault, where)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.nodeid not in self._told or (report.when != "call" and report.passed):
            return
        fault, where = self._told[report.nodeid]
        line = Line(fault=fault, where=where, seconds=report.duration)
        if report.skipped:
            why = report.longrepr[2] if isinstance(report.longrepr, tuple) else "skipped"
            self.lines.append(replace(line, notes=(why.removeprefix("Skipped: "),)))
            return
        cases = next((int(str(n)) for name, n in report.user_properties if name == "cases"), 1)
        crash = getattr(getattr(report.longrepr, "reprcrash", None), "message", report.longreprtext)
        notes = () if report.passed else (f"{report.nodeid}: {crash.splitlines()[0][:300] if crash else 'failed'}",)
        self.lines.append(replace(line, runs=cases, same=cases if report.passed else 0, notes=notes))


def marked(options: Sequence[str] = ()) -> list[Line]:
    """Run every marked test below `tests/faults` in this process."""
    plugin = Marked()
    # The slow ones too: tests/conftest.py leaves them out unless they are spoken of.
    chosen = ["-m", "fault and (slow or not slow)", "-q", "-p", "no:cacheprovider"]
    status = pytest.main([str(HERE), *chosen, *options], plugins=[plugin])
    lines = summed(plugin.lines)
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        lines.append(Line(fault="tests", where="their collection", runs=1, notes=(f"pytest ended with {status}",)))
    return lines
