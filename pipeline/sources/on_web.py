"""The probe of any URL: repositories are answered as such, some hosts through their own interface, the rest by
landing there."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from pipeline.artifacts import on
from pipeline.artifacts import subject as subject_of
from pipeline.evidence import Outcome
from pipeline.sources import on_github, on_hub
from pipeline.sources.drives import drive, dropbox, sharepoint
from pipeline.sources.guard import refusal
from pipeline.sources.hosts import anonymous_mirror, physionet
from pipeline.sources.landing import known_wall, page_or_file
from pipeline.sources.outcomes import Finding
from pipeline.sources.reach import Reach
from pipeline.sources.records import of_record

_SPECIAL: Sequence[tuple[tuple[str, ...], Callable[[Reach, str, str], Finding | None]]] = (
    (("zenodo.org", "figshare.com", "osf.io", "doi.org"), of_record),
    (("drive.google.com", "drive.usercontent.google.com", "docs.google.com"), drive),
    (("dropbox.com",), dropbox),
    (("sharepoint.com",), sharepoint),
    (("anonymous.4open.science",), anonymous_mirror),
    (("physionet.org",), physionet),
)
"""Places whose pages say less than what else they answer, and who asks there."""


def fetch(reach: Reach, url: str) -> Finding:
    text = url.strip()
    if "://" not in text and re.match(r"[\w-]+(\.[\w-]+)+(/|$)", text):
        text = f"https://{text}"
    text = text.split("#", 1)[0]
    blocked = refusal(text)
    if blocked is not None:
        # Asked nevertheless, so that the refusal itself is on record; the recorder sends nothing.
        reach.get(text)
        return Finding(
            outcome=Outcome.UNDETERMINED,
            reason=f"blocked: {blocked}",
            subject=f"url:{text[:300]}",
            content={"error": f"not opened: {blocked}"},
        )
    subject = subject_of(text)
    if subject.startswith("github:"):
        return on_github.overview(reach, subject.removeprefix("github:"))
    if subject.startswith("hf:"):
        _, kind, name = subject.split(":", 2)
        return on_hub.repository(reach, name, kind)
    for hosts, ask in _SPECIAL:
        if on(text, hosts) and known_wall(reach, text) is None:
            finding = ask(reach, text, subject)
            if finding is not None:
                return finding
    return page_or_file(reach, text, subject)
