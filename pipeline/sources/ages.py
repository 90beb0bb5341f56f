"""What a refresh asks again: answers that are too old, and those about subjects that somebody names."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Self

from pipeline.record import Record, Sighting, request_of


@dataclass(frozen=True, kw_only=True)
class AgeRule:
    """Answers last seen longer ago than `older_than` (None: no age is too old), or to one of `requests`. All other
    answers stand, whichever edition or run they were asked for; so do those seen since `began`, when the refresh did:
    it asks nothing twice."""

    older_than: timedelta | None = None
    requests: frozenset[str] = frozenset()
    began: datetime | None = None

    @classmethod
    def of(cls, record: Record, *, older_than: timedelta | None = None, subjects: Collection[str] = ()) -> Self:
        """`subjects`: as receipts name them (`github:owner/name`, `hf:model:x/y`, `url:…`); all requests that receipts
        about them rest on."""
        return cls(older_than=older_than, requests=record.requests_about(subjects) if subjects else frozenset())

    def names(self, seen: Sighting, now: datetime) -> bool:
        if self.began is not None and seen.seen_at >= self.began:
            return False
        too_old = self.older_than is not None and now - seen.seen_at > self.older_than
        return too_old or request_of(seen.exchange) in self.requests
