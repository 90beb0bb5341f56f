"""What is registered of an edition before anything can be chosen by its outcome, and what it holds a release to.

The edition's settings by hash before the first episode, the ends of the ledger's chains before a freeze. A registration
only grows: what it said once it says for good.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pipeline import events
from pipeline.editions import Edition
from pipeline.events import Entry, explain
from pipeline.evidence import Json, digest
from pipeline.release.tables import document

FOLDER = "registered/"
"""Where registrations lie in a repository, beside the files of a release."""

End = tuple[str, int, str]


class RegistrationError(ValueError):
    """A registration that would take back what was registered, or a file that is none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Registration:
    """`episodes`: how many were recorded when the settings were registered, 0 for one that came before the first.
    `ledger`: the ends of the chains at each registration, oldest first."""

    edition: str
    settings: dict[str, Json]
    episodes: int
    ledger: tuple[tuple[End, ...], ...] = ()

    @property
    def edition_hash(self) -> str:
        return digest(self.settings)

    @property
    def heads(self) -> tuple[str, ...]:
        return tuple(digest([list(end) for end in ends]) for ends in self.ledger)

    def to_bytes(self) -> bytes:
        return document(
            {
                "edition": self.edition,
                "edition_hash": self.edition_hash,
                "settings": self.settings,
                "episodes": self.episodes,
                "ledger": [[list(end) for end in ends] for ends in self.ledger],
            }
        )

    @classmethod
    def from_bytes(cls, data: bytes) -> Registration:
        """Raises RegistrationError for what is no registration, or does not hash to what it says."""
        try:
            told = _File.model_validate_json(data)
        except ValidationError as error:
            raise RegistrationError(f"is no registration: {explain(error)}") from None
        made = cls(edition=told.edition, settings=told.settings, episodes=told.episodes, ledger=told.ledger)
        if made.edition_hash != told.edition_hash or made.to_bytes() != data:
            raise RegistrationError("is not what its own hash says")
        return made


class _File(BaseModel):
    model_config = ConfigDict(strict=False, extra="forbid", frozen=True)

    edition: str
    edition_hash: str
    settings: dict[str, Json]
    episodes: Annotated[int, Field(ge=0)]
    ledger: tuple[tuple[End, ...], ...]


def place(edition: str) -> str:
    """The path of an edition's registration in its repository."""
    return f"{FOLDER}{edition}.json"


def registered(
    before: Registration | None, edition: Edition, episodes: int, entries: Iterable[Entry]
) -> Registration:  # fmt: skip
    """The registration that stands after `before`: the same where nothing is new.

    Raises RegistrationError where other settings were registered, or a ledger that this one does not continue.
    """
    held = list(entries)
    if before is None:
        before = Registration(edition=edition.name, settings=edition.settings(), episodes=episodes)
    if before.edition_hash != edition.hash:
        raise RegistrationError(
            f"{edition.name} was registered with hash {before.edition_hash}, and has {edition.hash} now; settings that "
            "were registered stay: undo the change, or make it an edition of its own"
        )
    ends = events.ends(held)
    if before.ledger and not set(before.ledger[-1]) <= {(e.site, e.seq, e.hash) for e in held}:
        raise RegistrationError(
            f"the ledger of {edition.name} does not continue the one that was registered (head {before.heads[-1]}); "
            "merge the decisions that it lacks"
        )
    if not ends or ends in before.ledger:
        return before
    return replace(before, ledger=(*before.ledger, ends))


def problems(held: Registration, edition_hash: str, ledger_head: str, entries: Iterable[End]) -> list[str]:
    """What of a release is not as it was registered; `entries`: site, number and hash of each of its ledger."""
    found = []
    if held.edition_hash != edition_hash:
        found.append(f"edition {held.edition} was registered with hash {held.edition_hash}, the release has another")
    if held.ledger:
        if ledger_head not in held.heads:
            found.append(f"ledger head {ledger_head} is none of the {len(held.heads)} that were registered")
        known = set(entries)
        upto = held.ledger[: held.heads.index(ledger_head) + 1] if ledger_head in held.heads else held.ledger[:1]
        lost = sorted({end for ends in upto for end in ends} - known)
        found += [
            f"entry {seq} of site {site} was registered as {hash_}, and is not there" for site, seq, hash_ in lost
        ]
    return found


def notes(held: Registration) -> list[str]:
    """What a reader should know of a registration that proves less than it could."""
    late = f"registered after {held.episodes} episodes, not before the first" if held.episodes else ""
    open_ = "" if held.ledger else "no ledger head was registered before the freeze"
    return [f"edition {held.edition}: {note}" for note in (late, open_) if note]


def rewritten(then: Registration, now: Registration | None) -> list[str]:
    """How a later registration takes back what an earlier one said."""
    if now is None:
        return ["what was registered is gone from main"]
    same = (then.edition, then.settings, then.episodes) == (now.edition, now.settings, now.episodes)
    if not same or now.ledger[: len(then.ledger)] != then.ledger:
        return ["main says other things than were registered before the release"]
    return []
