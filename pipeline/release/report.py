"""What a check says: how many items it looked at, and each failure with its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Failure:
    """`where` names a file, a row or a paper; `message` says what is wrong with it."""

    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


@dataclass(frozen=True, slots=True)
class Check:
    """The outcome of one named check. A check that looked at nothing has failed, unless nothing was expected."""

    name: str
    checked: int
    failures: tuple[Failure, ...]

    @property
    def ok(self) -> bool:
        return not self.failures


@dataclass(frozen=True, slots=True)
class Report:
    """All checks of a gate or a verification, and notes that fail nothing."""

    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return bool(self.checks) and all(check.ok for check in self.checks)

    @property
    def failures(self) -> tuple[Failure, ...]:
        return tuple(failure for check in self.checks for failure in check.failures)

    def lines(self, most: int = 20) -> list[str]:
        """The report as text: one line a check, and up to `most` failures under it. Names and messages may quote a
        forged file; what does not print stands escaped, so that none can end a line or draw on a terminal."""
        out: list[str] = []
        for check in self.checks:
            out.append(f"{'ok    ' if check.ok else 'FAILED'} {check.name} ({check.checked} checked)")
            out += [f"       {failure}" for failure in check.failures[:most]]
            if len(check.failures) > most:
                out.append(f"       … and {len(check.failures) - most} more")
        return [printable(line) for line in (*out, *(f"note   {note}" for note in self.notes))]


def printable(text: str) -> str:
    """One line for a terminal. What others wrote cannot end it or draw there: what does not print stands escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


@dataclass(slots=True)
class Tally:
    """Collects one check's outcome while it looks at its items."""

    name: str
    expects_none: bool = False
    checked: int = 0
    failures: list[Failure] = field(default_factory=list)

    def look(self, where: object, problems: Iterable[str] = ()) -> None:
        """One more item, with what is wrong with it. `where` may come from a forged file and be anything."""
        self.checked += 1
        self.failures += [Failure(str(where), problem) for problem in problems]

    def done(self) -> Check:
        if not self.checked and not self.expects_none:
            self.failures.append(Failure(self.name, "there was nothing to check"))
        return Check(self.name, self.checked, tuple(self.failures))


def tried(check: Callable[..., Check], *given: object) -> Check:
    """A check of values that a forger chose: what it cannot read in any way is a failure, not an exception."""
    try:
        return check(*given)
    except Exception as error:
        tally = Tally(check.__name__.strip("_").replace("_", " "))
        tally.look("the release", [f"cannot be read ({type(error).__name__}: {error})"])
        return tally.done()
