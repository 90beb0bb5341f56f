"""Drift: what has become of the links of a frozen release, told from two receipts of one place.

A release is never edited. What drifted is reported, and an erratum proposed, which counts once a person has put it into
the ledger.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlsplit

from pipeline.artifacts import subject as subject_of
from pipeline.artifacts import url
from pipeline.audit import Audited
from pipeline.evidence import Json, Outcome, Receipt, lists
from pipeline.release.compose import Composition, Material


class Way(StrEnum):
    """What can become of a link, the gravest first."""

    GONE = "gone"
    GATED = "gated now"
    REVISION_GONE = "revision gone"
    FILES_MISSING = "files missing"
    BYTES = "bytes changed"
    SIZE = "size changed"
    MOVED = "moved"
    LICENCE = "licence changed"
    RENAMED = "renamed"
    OPENED = "opened"
    REACHABLE = "reachable again"
    ARCHIVED = "archived"
    UNREACHABLE = "unreachable once"
    UNDETERMINED = "undetermined"


PENDING = frozenset({Way.UNREACHABLE, Way.UNDETERMINED})
"""What a later look settles: gone takes two, a day apart, and trouble says nothing."""
PROPOSED = frozenset(Way) - PENDING - {Way.ARCHIVED}
"""What a reader of the release has to know. An archived repository is read as before."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """One way in which a link is not what it was, in a few words."""

    way: Way
    detail: str = ""


def classify(then: Receipt, now: Receipt, pinned: Receipt | None = None) -> tuple[Found, ...]:
    """What became of a place, gravest first; empty where it is as it was.

    `pinned`: the commit that the release names, asked for by itself where the head is another one by now. New commits
    alone are no drift: the frozen revision is what a release is about. A receipt that was undetermined then says
    nothing, and is compared with nothing.
    """
    if then.outcome is Outcome.UNDETERMINED:
        return ()
    if now.outcome is Outcome.UNDETERMINED:
        once = now.reason.startswith("gone_once")
        if once and then.outcome is Outcome.UNAVAILABLE:
            return ()
        return (Found(way=Way.UNREACHABLE if once else Way.UNDETERMINED, detail=now.reason),)
    if then.outcome is not now.outcome:
        return (Found(way=_TURNED[then.outcome, now.outcome], detail=now.reason),)
    if now.outcome is not Outcome.AVAILABLE:
        return ()
    found = sorted(_differences(then, now, pinned), key=lambda f: (list(Way).index(f.way), f.detail))
    return tuple(found)


_TURNED: Mapping[tuple[Outcome, Outcome], Way] = {
    (Outcome.AVAILABLE, Outcome.UNAVAILABLE): Way.GONE,
    (Outcome.GATED, Outcome.UNAVAILABLE): Way.GONE,
    (Outcome.AVAILABLE, Outcome.GATED): Way.GATED,
    (Outcome.UNAVAILABLE, Outcome.GATED): Way.REACHABLE,
    (Outcome.UNAVAILABLE, Outcome.AVAILABLE): Way.REACHABLE,
    (Outcome.GATED, Outcome.AVAILABLE): Way.OPENED,
}


def _differences(then: Receipt, now: Receipt, pinned: Receipt | None) -> Iterator[Found]:
    before, after = then.facts, now.facts
    elsewhere = list(_elsewhere(then, now))
    yield from elsewhere
    if now.subject.startswith("url:") and elsewhere:
        return  # another page: what it links to says nothing about the one that was frozen
    if after.get("archived") and not before.get("archived"):
        yield Found(way=Way.ARCHIVED)
    if "license" in before and "license" in after and before["license"] != after["license"]:
        yield Found(way=Way.LICENCE, detail=f"{before['license']}, now {after['license']}")
    if pinned is not None:
        yield from _revision(str(before.get("commit")), pinned)
    missing = _missing(before, after, pinned)
    if missing:
        yield Found(way=Way.FILES_MISSING, detail=", ".join(missing[:_NAMED]))
    sizes = list(_sizes(before, after))
    yield from sizes
    if not missing and not sizes and (read := _read_again(then, now)):
        yield Found(way=Way.BYTES, detail=f"{read} has other bytes")


_NAMED = 5
_LISTS = ("train_entries", "eval_entries", "construction_scripts", "data_open", "weights_open", "code_sample")
"""Facts that name files; `weight_files` and `release_assets` name them with sizes."""
_KINDS = ("code_files", "weight_files", "data_files", "weights_open", "data_open", "release_assets")
"""Facts that say whether a place has a kind of thing at all: those that labels rest on."""


def _elsewhere(then: Receipt, now: Receipt) -> Iterator[Found]:
    """Another name, or another place."""
    before, after = (str(r.facts.get("full_name") or "").lower() for r in (then, now))
    if before and after and before != after:
        parts = [name.rpartition("/")[::2] for name in (before, after)]
        apart = all(old != new for old, new in zip(*parts, strict=True))
        yield Found(way=Way.MOVED if apart else Way.RENAMED, detail=f"{before}, now {after}")
    first, last = (str(r.facts.get("final_url") or "") for r in (then, now))
    if first and last and _place(first) != _place(last):
        yield Found(way=Way.MOVED, detail=f"{first}, now {last}")


def _place(url: str) -> tuple[str, str]:
    """A URL without what says nothing of the place: scheme, `www.`, a slash at the end, query and fragment."""
    parts = urlsplit(url)
    return (parts.hostname or "").removeprefix("www."), parts.path.rstrip("/")


def _revision(commit: str, pinned: Receipt) -> Iterator[Found]:
    """What a place that is there says of the commit that was frozen. The Hub names a missing one as such; a bare 404
    of GitHub's has to be seen twice."""
    if pinned.outcome is Outcome.UNAVAILABLE or "no such folder or revision" in pinned.reason:
        yield Found(way=Way.REVISION_GONE, detail=commit)
    elif pinned.outcome is not Outcome.AVAILABLE:
        once = pinned.reason.startswith("gone_once")
        yield Found(way=Way.UNREACHABLE if once else Way.UNDETERMINED, detail=f"commit {commit}: {pinned.reason}")


def _missing(before: Mapping[str, Json], after: Mapping[str, Json], pinned: Receipt | None) -> list[str]:
    """What was listed then and is not now.

    A kind of thing that is gone from the head always counts; single files do where no frozen revision keeps them. What
    could not be seen now is not missing.
    """
    unseen = set(_names(after, "unseen"))
    if after.get("tree_truncated") or "tree" in unseen:
        return []
    blind = {f"{part}_open" for part in unseen} | ({"release_assets"} if "releases" in unseen else set())
    kinds = [kind for kind in _KINDS if before.get(kind) and kind in after and not after[kind] and kind not in blind]
    found = [f"no {kind.replace('_', ' ')} any more" for kind in kinds]
    if pinned is None:
        listed = {name for fact in (*_LISTS, *_SIZED) for name in _names(before, fact) if fact not in blind}
        there = {name for fact in (*_LISTS, *_SIZED) for name in _names(after, fact)}
        whole = (before.get("commit"), before.get("files")) == (after.get("commit"), after.get("files"))
        found += [] if kinds or (whole and before.get("commit")) else sorted(listed - there)
    return found


_SIZED = ("weight_files", "release_assets")


def _names(facts: Mapping[str, Json], fact: str) -> list[str]:
    value = facts.get(fact)
    if not isinstance(value, list):
        return []
    named = (v.get("path") or v.get("name") if isinstance(v, Mapping) else v for v in value)
    return [str(name) for name in named if name]


def _sizes(before: Mapping[str, Json], after: Mapping[str, Json]) -> Iterator[Found]:
    """Other sizes of the same things: of a file behind a link, of checkpoints and of assets."""
    a, b = before.get("size"), after.get("size")
    if "file" in before and isinstance(a, int) and isinstance(b, int) and a != b:
        yield Found(way=Way.SIZE, detail=f"{before['file']}: {a} bytes, now {b}")
    for fact in _SIZED:
        old, new = _by_size(before, fact), _by_size(after, fact)
        for name in sorted(old.keys() & new.keys()):
            if old[name] != new[name]:
                yield Found(way=Way.SIZE, detail=f"{name}: {old[name]} bytes, now {new[name]}")


def _read_again(then: Receipt, now: Receipt) -> str:
    """The file whose bytes a probe asked for last, where it is the same file of the same revision and the answer is
    another one; "" else. Bytes are the last thing a probe asks for, and an exchange's id is that of its content."""
    if not then.subject.startswith("url:"):
        return ""  # a commit names the bytes of a repository
    before, after = then.facts, now.facts
    same = all(before.get(f) == after.get(f) for f in ("file", "size", "data_open", "weights_open", "links"))
    opened = [*_names(before, "data_open"), *_names(before, "weights_open")] or [str(before.get("file") or "")]
    other = then.exchanges[-1:] != now.exchanges[-1:] and len(then.exchanges) == len(now.exchanges)
    return opened[-1] if same and other else ""


def _by_size(facts: Mapping[str, Json], fact: str) -> dict[str, int]:
    value = facts.get(fact)
    entries = [v for v in value if isinstance(v, Mapping)] if isinstance(value, list) else []
    return {str(v.get("path") or v.get("name")): v["size"] for v in entries if isinstance(v.get("size"), int)}


# The links of a release


@dataclass(frozen=True, kw_only=True, slots=True)
class Link:
    """One place that split rows rest on: what was seen of it then, and which rows rest on it."""

    subject: str
    receipt: Receipt
    papers: tuple[str, ...]

    @property
    def commit(self) -> str | None:
        """The revision that was frozen with it."""
        commit = self.receipt.facts.get("commit")
        return commit if isinstance(commit, str) and commit else None

    @property
    def swhid(self) -> str | None:
        """The Software Heritage id that the frozen commit has or would have: computed, not looked up."""
        return swhid(self.subject, self.commit)

    def pinned_call(self, now: Receipt) -> tuple[str, dict[str, Json]] | None:
        """The tool call that asks for the frozen revision by itself, by the name that the place has `now`."""
        name = str(now.facts.get("full_name") or "")
        if not self.commit or not name:
            return None
        if self.subject.startswith("github:"):
            return "github_tree", {"repo": name, "path": "", "ref": self.commit}
        if self.subject.startswith("hf:"):
            kind = self.subject.split(":")[1]
            return "hub_tree", {"repo": name, "kind": kind, "path": "", "revision": self.commit}
        return None


def swhid(subject: str, commit: str | None) -> str | None:
    """`swh:1:rev:…` of a git commit (Software Heritage identifiers, core part: the revision's own SHA-1)."""
    if subject.startswith("github:") and commit and re.fullmatch("[0-9a-f]{40}", commit):
        return f"swh:1:rev:{commit}"
    return None


def links(material: Material, made: Composition) -> tuple[Link, ...]:
    """The places that the split rows' links and labels name, each once, by subject.

    Of several receipts about a place the one that says most is compared: an overview before a listing before a page.
    """
    held: dict[str, list[Receipt]] = {}
    papers: dict[str, set[str]] = {}
    for row in made.chosen:
        for receipt in _about_links(row, material.receipts):
            held.setdefault(receipt.subject, []).append(receipt)
            papers.setdefault(receipt.subject, set()).add(row.arxiv_id)
    return tuple(
        Link(subject=s, receipt=min(held[s], key=_telling), papers=tuple(sorted(papers[s]))) for s in sorted(held)
    )


def _about_links(row: Audited, receipts: Mapping[str, Receipt]) -> Iterator[Receipt]:
    cited = {i for label in row.labels for i in label.receipts}
    named = {subject_of(one) for urls in row.inputs.links.values() for one in urls}
    for id_ in row.inputs.citable:
        receipt = receipts.get(id_)
        if receipt is None or not receipt.exchanges or receipt.outcome is Outcome.UNDETERMINED:
            continue
        if receipt.subject.startswith(("search:", "supplement:")) or not lists(receipt):
            continue
        if id_ in cited or receipt.subject in named:
            yield receipt


_TOOLS = ("github_repo", "hub_repo", "fetch_url", "github_tree", "hub_tree")


def _telling(receipt: Receipt) -> tuple[int, bool, str, str]:
    place = _TOOLS.index(receipt.tool) if receipt.tool in _TOOLS else len(_TOOLS)
    return place, receipt.outcome is Outcome.UNAVAILABLE, receipt.paper, receipt.id


# A report


@dataclass(frozen=True, kw_only=True, slots=True)
class Checked:
    """A link after a look. `head`: the newest commit, where it is not the frozen one."""

    link: Link
    found: tuple[Found, ...]
    head: str | None = None

    @property
    def way(self) -> Way | None:
        """The gravest finding; None for a link that is as it was."""
        return self.found[0].way if self.found else None

    @property
    def pending(self) -> bool:
        return any(f.way in PENDING for f in self.found)

    def to_json(self) -> dict[str, Json]:
        return {
            "subject": self.link.subject,
            "url": url(self.link.subject),
            "papers": list(self.link.papers),
            "way": "same" if self.way is None else str(self.way),
            "found": [{"way": str(f.way), "detail": f.detail} for f in self.found],
            "commit": self.link.commit,
            "head": self.head,
            "swhid": self.link.swhid,
            "receipt": self.link.receipt.id,
        }


def counts(checked: Iterable[Checked]) -> dict[str, int]:
    """How many links went which way, by their gravest finding; "same" first, the rest by gravity, none left out."""
    told = Counter("same" if one.way is None else str(one.way) for one in checked)
    return {way: told[way] for way in ("same", *map(str, Way)) if told[way]}


def proposals(release: str, checked: Sequence[Checked]) -> list[dict[str, Json]]:
    """Errata for a person to accept: one for each row and link that a reader has to know about.

    They lack who and when, so none can enter the ledger by itself. Dropping a line rejects it.
    """
    found: list[dict[str, Json]] = []
    for one in checked:
        ways = [f for f in one.found if f.way in PROPOSED]
        for paper in one.link.papers if ways else ():
            told = "; ".join(f"{f.way}{f': {f.detail}' if f.detail else ''}" for f in ways)
            found.append(
                {
                    "kind": "erratum",
                    "paper": paper,
                    "why": f"{url(one.link.subject)}: {told}",
                    "evidence": [one.link.receipt.id, *([one.link.swhid] if one.link.swhid else [])],
                    "value": {"release": release, "subject": one.link.subject, "ways": [str(f.way) for f in ways]},
                }
            )
    return sorted(found, key=lambda e: (e["paper"], e["value"]["subject"]))


def accepted(text: str, who: str, at: str) -> list[dict[str, Json]]:
    """A file of proposals, as events of the person who accepts all that is left in it."""
    return [{**json.loads(line), "who": who, "at": at} for line in text.splitlines() if line.strip()]
