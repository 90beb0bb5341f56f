"""Publishing a release: what stands against it, which step comes next, and what would change, row by row.

Rules over what a repository holds, as it was read; nothing here talks to it. A release is one commit with all its files
and nothing else beside what is kept, and a tag of its name on that commit, which never moves.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pipeline.evidence import Json, canonical
from pipeline.release.folder import MANIFEST, by_name, open_sealed, same
from pipeline.release.registration import FOLDER as REGISTERED
from pipeline.release.registration import End
from pipeline.release.report import Check, Tally, printable
from pipeline.release.tables import TABLES, Lines, document

KEPT = (".gitattributes",)
"""What the Hub itself puts into a repository."""
_GREETING = ("README.md",)
"""What a repository may hold that was made on the Hub's page and never held a release."""

Step = Literal["commit", "tag", "nothing"]


class Refusal(Exception):
    """Why a release may not be published as asked; the message says what to do."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Release:
    """A sealed folder, ready to be published: every file with its bytes, the manifest among them."""

    name: str
    repo: str
    manifest: Mapping[str, Json]
    files: Mapping[str, bytes]

    @property
    def edition(self) -> str:
        return str(self.manifest["edition"])

    @property
    def version(self) -> int:
        return version_of(self.name, self.edition)

    @property
    def ledger(self) -> list[End]:
        return [(line["site"], line["seq"], line["hash"]) for line in lines_of(self.files["ledger.jsonl"])]


@dataclass(frozen=True, kw_only=True, slots=True)
class Blob:
    """A file as a repository lists it: git's hash of what git holds; for a large file (LFS) the SHA-256 of its
    bytes."""

    size: int
    oid: str
    sha256: str | None = None

    def holds(self, data: bytes) -> bool:
        if self.size != len(data):
            return False
        if self.sha256 is not None:
            return self.sha256 == hashlib.sha256(data).hexdigest()
        return self.oid == hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


@dataclass(frozen=True, kw_only=True, slots=True)
class Tree:
    """What a commit holds."""

    commit: str
    files: Mapping[str, Blob]

    @property
    def release_files(self) -> frozenset[str]:
        return frozenset(p for p in self.files if p not in KEPT and not p.startswith(REGISTERED))

    def holds(self, files: Mapping[str, bytes]) -> bool:
        """Whether these are its files, byte by byte, and no other."""
        return self.release_files == files.keys() and all(self.files[p].holds(data) for p, data in files.items())


@dataclass(frozen=True, kw_only=True, slots=True)
class There:
    """What a repository holds now. `release`: the name of the release on main, "" where there is none; `tagged`: what
    the tag of the release in question points to."""

    main: Tree | None
    tags: Mapping[str, str]
    release: str
    tagged: Tree | None


def release_of(folder: Path) -> Release:
    """The release in a folder, which was verified before. Raises Refusal where its name or its repository are not those
    that it was frozen with."""
    sealed, checks = open_sealed(folder)
    if sealed is None:
        raise Refusal(f"{folder} is not as it was sealed ({checks[-1].name}); see `reclaim verify {folder}`")
    name, repo = _named(sealed.files), json.loads(sealed.files["edition.json"]).get("repo")
    if name != folder.name or version_of(name, str(sealed.manifest["edition"])) < 1:
        raise Refusal(f"{folder} holds release {name!r}; a release is published under its own name: rename the folder")
    if repo is None:
        raise Refusal(
            f"edition {sealed.manifest['edition']} names no repository, so it is not published; give its file "
            'repo = "ORG/NAME" and build it again'
        )
    files = {**sealed.files, MANIFEST: document(sealed.manifest)}
    return Release(name=name, repo=repo, manifest=sealed.manifest, files=files)


def _named(files: Mapping[str, bytes]) -> str:
    """The name that a release was frozen under."""
    return str(json.loads(files["croissant.json"]).get("name"))


def name_of(croissant: bytes) -> str:
    """The name of the release that a published `croissant.json` describes; "" for what is none."""
    try:
        return _named({"croissant.json": croissant})
    except (ValueError, AttributeError, RecursionError):
        return ""


def version_of(name: str, edition: str) -> int:
    """The N of EDITION-vN; 0 for a name that is none of this edition."""
    found = re.fullmatch(re.escape(edition) + r"-v([1-9]\d{0,8})", name)
    return int(found[1]) if found else 0


def next_step(release: Release, there: There | None) -> Step:
    """What is left to do; `there` is None where there is no repository yet. Raises Refusal.

    A commit whose tag is missing, since the last try was interrupted, is known by its bytes and gets its tag.
    """
    if there is None:
        return "commit"
    if release.name in there.tags:
        if there.tagged is not None and there.tagged.holds(release.files):
            return "nothing"
        raise Refusal(
            f"tag {release.name} of {release.repo} is on another release; a tag never moves. What changed since is the "
            "next version"
        )
    if there.main is None:
        return "commit"
    if there.main.holds(release.files):
        return "tag"
    _may_replace(release, there, there.main)
    return "commit"


def _may_replace(release: Release, there: There, main: Tree) -> None:
    on_main = version_of(there.release, release.edition)
    if MANIFEST not in main.files:
        strange = sorted(main.release_files - set(_GREETING))
        if strange:
            raise Refusal(
                f"{release.repo} holds files that no release put there ({', '.join(strange[:5])}); remove them, or "
                "name a repository of the edition's own"
            )
    elif not on_main:
        raise Refusal(
            f"main of {release.repo} holds {there.release or 'a release without a name'}, which is none of edition "
            f"{release.edition}; each edition has a repository of its own"
        )
    newest = max(on_main, *(version_of(tag, release.edition) for tag in there.tags), 0)
    if newest >= release.version:
        raise Refusal(
            f"{release.repo} holds {release.edition}-v{newest}, and {release.name} is not newer; a fix of what is "
            "published is the next version"
        )
    if on_main and there.release not in there.tags:
        raise Refusal(
            f"main of {release.repo} holds {there.release} without its tag: its publication was interrupted. Publish "
            "it again, which sets the tag, and then this one"
        )


# What would change


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """One row that is not as it was. `fields`: name, before, after; empty for a row that came or went."""

    table: str
    row: str
    kind: Literal["added", "dropped", "changed"]
    fields: tuple[tuple[str, Json, Json], ...] = ()


def row_changes(table: str, before: Lines, after: Lines) -> tuple[Change, ...]:
    """How a table's rows differ, by the names of their rows."""
    old, new = by_name(table, before), by_name(table, after)
    found = []
    for name in sorted(old.keys() | new.keys()):
        if name not in old or name not in new:
            found.append(Change(table=table, row=name, kind="added" if name in new else "dropped"))
        elif not same(old[name], new[name]):
            a, b = old[name], new[name]
            differ = [k for k in sorted(a.keys() | b.keys()) if (k in a) != (k in b) or not same(a.get(k), b.get(k))]
            fields = tuple((k, a.get(k), b.get(k)) for k in differ)
            found.append(Change(table=table, row=name, kind="changed", fields=fields))
    return tuple(found)


def changes(release: Release, main: Tree | None, read: Callable[[str], bytes]) -> tuple[Change, ...]:
    """Every row that publishing would add, drop or change; `read` gives a file of main, asked only for those that are
    not the same already."""
    found: list[Change] = []
    for table in TABLES:
        path = f"{table}.jsonl"
        there = None if main is None else main.files.get(path)
        if there is not None and there.holds(release.files[path]):
            continue
        before = [] if there is None else lines_of(read(path))
        try:
            found += row_changes(table, before, lines_of(release.files[path]))
        except (ValueError, KeyError, TypeError, AttributeError):  # by other hands: a line without its name, a NaN
            raise Refusal(f"{path} {_UNREADABLE}") from None
    return tuple(found)


_UNREADABLE = "of what is there holds a table that cannot be read; look at it before it is replaced"


def lines_of(data: bytes) -> Lines:
    """Raises Refusal for a file that holds no rows."""
    try:
        lines = [json.loads(line) for line in data.split(b"\n") if line]
    except (ValueError, RecursionError):
        lines = [None]
    if not all(isinstance(line, dict) for line in lines):
        raise Refusal(f"a file {_UNREADABLE}")
    return lines


def told(release: Release, there: There | None, step: Step, found: Sequence[Change], most: int = 20) -> Iterator[str]:
    """A dry run as text: what is there, what would change, what comes next."""
    return map(printable, _told(release, there, step, found, most))


def _told(release: Release, there: There | None, step: Step, found: Sequence[Change], most: int) -> Iterator[str]:
    main = None if there is None else there.main
    yield f"{release.name} to {release.repo} ({len(release.files)} files, {_sized(release.files.values())})"
    if there is None:
        yield "  there: no repository of that name, or none that this token may see"
    else:
        on_main = there.release or "no release"
        yield f"  there: {on_main} on main, tags: {', '.join(sorted(there.tags)) or 'none'}"
    if step == "commit":
        for table in TABLES:
            yield from _table_told(table, [change for change in found if change.table == table], most)
        yield from _files_told(release, main)
    onto = "a new repository" if main is None else main.commit[:12]
    yield {
        "commit": f"  next: one commit with all files onto {onto}, then tag {release.name} on it",
        "tag": f"  next: main holds this very release; tag {release.name} on {onto}",
        "nothing": f"  next: nothing, tag {release.name} holds this very release",
    }[step]


def _table_told(table: str, found: Sequence[Change], most: int) -> Iterator[str]:
    if not found:
        return
    counted = [(sum(c.kind == kind for c in found), kind) for kind in ("added", "dropped", "changed")]
    yield f"  {table}: " + ", ".join(f"{n} {kind}" for n, kind in counted if n)
    new = all(change.kind == "added" for change in found)
    for change in [] if new else found[:most]:
        sign = {"added": "+", "dropped": "-", "changed": "~"}[change.kind]
        fields = "; ".join(f"{k}: {_short(a)} → {_short(b)}" for k, a, b in change.fields)
        yield f"    {sign} {change.row}" + (f"  {fields}" if fields else "")
    if not new and len(found) > most:
        yield f"    … and {len(found) - most} more (--json lists all)"


def _files_told(release: Release, main: Tree | None) -> Iterator[str]:
    held = {} if main is None else main.files
    changed = [p for p, data in release.files.items() if p not in held or not held[p].holds(data)]
    gone = sorted(set() if main is None else main.release_files - release.files.keys())
    removed = f"; removed: {', '.join(gone)}" if gone else ""
    yield f"  files: {len(changed)} of {len(release.files)} new or changed{removed}"


def _short(value: Json) -> str:
    text = canonical(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _sized(files: Iterable[bytes]) -> str:
    return f"{sum(map(len, files)) / 1e6:.1f} MB"


# What was downloaded


def plain(path: str) -> bool:
    """Whether a path that a repository lists is the name of a file, which climbs out of no folder."""
    return Path(path).name == path and path not in ("", ".", "..") and not any(c in path for c in "\\\0:")


def own_tag(repo: str, tag: str, tree: Tree, files: Mapping[str, bytes]) -> Check:
    """That a tag holds one release, that of its name and its repository, and nothing beside it."""
    tally = Tally("the tag holds the release of its name, and nothing else")
    named = name_of(files.get("croissant.json", b""))
    tally.look(tag, [] if named == tag else [f"the release in it is {named or 'without a name'}"])
    try:
        said = json.loads(files.get("edition.json", b"{}")).get("repo")
    except (ValueError, AttributeError, RecursionError):
        said = None
    tally.look(repo, [] if said == repo else [f"the release says that it is published at {said}"])
    for path in sorted(tree.release_files):
        tally.look(path, [] if plain(path) else ["is no plain file of a release"])
    return tally.done()
