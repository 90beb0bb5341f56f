"""`reclaim publish` and `reclaim register`: a frozen release to the Hub, and what must be known there before it."""

from __future__ import annotations

import argparse
import json
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from assets.workplace import store_root, workplace
from pipeline import events
from pipeline.files import json_object, write
from pipeline.release import publication, registration
from pipeline.release.case import Case
from pipeline.release.folder import MANIFEST
from pipeline.release.pack import Pack
from pipeline.release.publication import Refusal, Release, Step, There, Tree
from pipeline.release.registration import Registration, RegistrationError
from pipeline.release.report import Check, Report, Tally
from pipeline.release.tables import document
from pipeline.release.verify import Look, verify
from pipeline.sources.hub_release import Hub, HubError


def command(arguments: argparse.Namespace) -> int:
    """Show what publishing would change; with `--yes`, do it. Interrupted anywhere, the same command goes on."""
    root = store_root(arguments.store)
    release = proven(_folder(arguments.what, root), arguments.repo)
    hub = _hub(release.repo)
    there = hub.there(release.name)
    step, notes = publication.next_step(release, there), as_registered(hub, release, there)
    main = None if there is None else there.main
    found = publication.changes(release, main, lambda path: _file(hub, main, path)) if step == "commit" else ()
    if arguments.json:
        plan = {"release": release.name, "repo": release.repo, "next": step, "notes": notes}
        print(json.dumps({**plan, "changes": [asdict(change) for change in found]}, indent=2))
    else:
        print("\n".join([*publication.told(release, there, step, found), *(f"  note: {note}" for note in notes)]))
    if not arguments.yes:
        _say(arguments, "nothing was sent; --yes does it")
        return 0
    commit = carry_out(hub, release, there, step)
    record(root, release, commit)
    _say(arguments, f"published: tag {release.name} of {release.repo} is on commit {commit}, which holds this release")
    return 0


def _say(arguments: argparse.Namespace, line: str) -> None:
    if not arguments.json:
        print(line)


def _hub(repo: str) -> Hub:
    """The Hub with the token of the environment, the only place where one is looked for."""
    return Hub(repo, os.environ.get("HF_TOKEN"), os.environ.get("HF_ENDPOINT"))


def _file(hub: Hub, tree: Tree | None, path: str) -> bytes:
    return b"" if tree is None else hub.read(tree, path)


def _folder(what: str | None, root: Path) -> Path:
    """A release's folder: as it is named, or the newest one of an edition."""
    if what is not None and (Path(what) / MANIFEST).is_file():
        return Path(what).resolve()
    with workplace(what or "sample-2025", root) as work:
        name, releases = work.edition.name, work.store.releases
    found = {path: publication.version_of(path.name, name) for path in releases.glob(f"{name}-v*")}
    if not any(found.values()):
        raise Refusal(f"edition {name} has no frozen release in {root}; `reclaim build` makes one")
    return max(found, key=lambda path: found[path])


def proven(folder: Path, repo: str) -> Release:
    """The release in a folder that verifies, and says that it is published there. Raises Refusal."""
    report = verify(folder)
    if not report.ok:
        failed = "\n".join(line for line in report.lines(5) if not line.startswith("ok"))
        raise Refusal(f"{folder} does not verify, and is not published\n{failed}")
    release = publication.release_of(folder)
    if release.repo != repo:
        raise Refusal(f"{release.name} says that it is published at {release.repo}; it does not go to {repo}")
    return release


def carry_out(hub: Hub, release: Release, there: There | None, step: Step) -> str:
    """Commit and tag what is missing, then read back what is there. The commit that the tag is on."""
    if step == "commit":
        if there is None:
            hub.create()
            there = hub.there(release.name)
        main = None if there is None else there.main
        commit = hub.commit(release.files, main, f"Release {release.name}", whole=True)
        hub.tag(release.name, commit)
    elif step == "tag" and there is not None and there.main is not None:
        hub.tag(release.name, there.main.commit)
    now = hub.there(release.name)
    if now is None or now.tagged is None or not now.tagged.holds(release.files):
        raise HubError(f"{release.repo}: tag {release.name} does not hold the release that was sent; look at it there")
    return now.tagged.commit


def record(root: Path, release: Release, commit: str) -> None:
    """Remember in the store which commit a release was published as. Raises Refusal where it was another one: then the
    tag was moved there, by whoever it was."""
    place = root / "published" / f"{release.name}.json"
    hashes = {key: release.manifest[key] for key in ("rows_sha256", "manifest_sha256")}
    now = {"repo": release.repo, "tag": release.name, "commit": commit, **hashes}
    if place.is_file():
        then = json_object(
            place, "delete it, and compare with the tag on the Hub: publishing again notes what is there"
        )
        if {**now, **then} != now:  # a record of before the manifest's hash was kept holds no such field
            raise Refusal(
                f"{release.name} was published as commit {then['commit']} of {then['repo']}, and its tag is on "
                f"{commit} now; somebody moved it. Look there, and remove {place} only if that is right"
            )
        return
    write(place, document(now))


# What is there, as a stranger sees it


@contextmanager
def downloaded(named: str) -> Iterator[tuple[Path, Look]]:
    """The files of ORG/NAME@TAG in a folder of that name, which is forgotten at the end, and what only the repository
    can tell: that the tag is the release's own, and that the release is as its edition was registered."""
    repo, at, tag = named.partition("@")
    if not at or not re.fullmatch(r"[\w-][\w.-]*/[\w-][\w.-]*", repo) or not re.fullmatch(r"[\w-][\w.-]*", tag):
        raise HubError(f"hub:{named} names no release; write hub:ORG/NAME@TAG")
    hub = Hub(repo, None, os.environ.get("HF_ENDPOINT"))
    there = hub.there(tag)
    if there is None:
        raise HubError(f"{repo}: there is no such data set for a stranger")
    if there.tagged is None:
        raise HubError(f"{repo}: no tag {tag}; it has {', '.join(sorted(there.tags)) or 'none'}")
    tree, main = there.tagged, there.main
    files = {path: data for path, data in hub.read_all(tree).items() if publication.plain(path)}

    def look(case: Case, pack: Pack | None) -> Report:
        checks, notes = _registered(hub, tree, main, case)
        return Report(
            (publication.own_tag(repo, tag, tree, files), *checks), (*notes, f"{named} is commit {tree.commit}")
        )

    with tempfile.TemporaryDirectory(prefix="reclaim-hub-") as folder:
        place = Path(folder) / tag
        place.mkdir()
        for path, data in files.items():
            (place / path).write_bytes(data)
        yield place, look


def _registered(hub: Hub, tagged: Tree, main: Tree | None, case: Case) -> tuple[list[Check], list[str]]:
    """Whether a release is as its edition was registered, at its own commit and still on main."""
    edition, entries = case.material.edition, case.material.entries
    tally = Tally("the release is as its edition was registered")
    try:
        then = registered_at(hub, tagged, edition.name)
        now = None if main is None else registered_at(hub, main, edition.name)
    except RegistrationError as error:
        tally.look(edition.name, [str(error)])
        return [tally.done()], []
    if then is None:
        return [], [
            f"edition {edition.name} was not registered before this release: nothing but its own files speaks for it"
        ]
    known = [(entry.site, entry.seq, entry.hash) for entry in entries]
    wrong = registration.problems(then, edition.hash, events.head(entries), known)
    tally.look(edition.name, [*wrong, *registration.rewritten(then, now)])
    return [tally.done()], registration.notes(then)


# What is registered


def register(arguments: argparse.Namespace) -> int:
    """Commit the edition's settings by hash, and the ends of its ledger where there is one; what was registered
    stays."""
    with workplace(arguments.edition or "sample-2025", store_root(arguments.store)) as work:
        edition, episodes = work.edition, len(work.record.episode_keys(work.edition.name))
        entries = work.ledger.entries()
    if edition.repo is None:
        raise Refusal(f'edition {edition.name} names no repository; give its file repo = "ORG/NAME"')
    hub = _hub(edition.repo)
    there = hub.there("")
    main = None if there is None else there.main
    before = None if main is None else registered_at(hub, main, edition.name)
    now = registration.registered(before, edition, episodes, entries)
    if now != before:
        if there is None:
            hub.create()
            fresh = hub.there("")
            main = None if fresh is None else fresh.main
        hub.commit({registration.place(edition.name): now.to_bytes()}, main, _message(now, before), whole=False)
    said = "was registered before" if now == before else "is registered"
    print(f"{edition.name} {said} at {edition.repo}: edition hash {now.edition_hash}")
    print(f"  ledger head {now.heads[-1]}" if now.heads else "  no ledger yet; register again before the freeze")
    for note in registration.notes(now) if now.episodes else ():
        print(f"  note: {note}")
    return 0


def _message(now: Registration, before: Registration | None) -> str:
    return f"Register {now.edition}" if before is None else f"Register the ledger head of {now.edition}"


def registered_at(hub: Hub, tree: Tree, edition: str) -> Registration | None:
    """What a commit says was registered. Raises RegistrationError for a file that is no registration."""
    place = registration.place(edition)
    if place not in tree.files:
        return None
    try:
        held = Registration.from_bytes(hub.read(tree, place))
    except RegistrationError as error:
        raise RegistrationError(f"{place} of {hub.repo} {error}") from None
    if held.edition != edition:
        raise RegistrationError(f"{place} of {hub.repo} is about edition {held.edition}")
    return held


def as_registered(hub: Hub, release: Release, there: There | None) -> list[str]:
    """Notes on what was registered. Raises Refusal for a release that is not as it was registered."""
    held = None if there is None or there.main is None else registered_at(hub, there.main, release.edition)
    if held is None:
        return [f"edition {release.edition} was not registered there (`reclaim register`)"]
    said = release.manifest
    wrong = registration.problems(held, said["edition_hash"], said["ledger_head"], release.ledger)
    if wrong:
        raise Refusal(f"{release.name} is not as it was registered: {'; '.join(wrong)}")
    return registration.notes(held)
