"""Hosts with an interface of their own: what their pages show to everybody, the interface tells apart."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

from pipeline import archives
from pipeline.evidence import Json, Outcome
from pipeline.sources.landing import closed, file_of, page_or_file, refused_page, said_gone
from pipeline.sources.outcomes import Finding, json_of, refused, undetermined
from pipeline.sources.pages import doubtful, is_html, read_page, wall
from pipeline.sources.reach import Reach, bytes_seen, gives_bytes, missed
from pipeline.sources.reading import MEGABYTE, Entry, about_files, is_weights, names_paper
from pipeline.sources.recorder import TRUNCATED, Answer


def zenodo(reach: Reach, url: str, subject: str) -> Finding | None:
    """Zenodo's records API says what is restricted; its pages do not."""
    match = re.search(r"/(?:records?|deposit)/(\d+)|zenodo\.(\d+)", url)
    if match is None:
        return None
    answer, told = reach.json(f"https://zenodo.org/api/records/{match[1] or match[2]}")
    verdict = refused(answer, reach.recorder)
    if verdict is None and not isinstance(told, dict):
        verdict = undetermined("answer is not a record")
    if verdict is not None:
        return closed(subject, verdict)
    metadata, access = told.get("metadata") or {}, told.get("access") or {}
    entries = told.get("files") or []
    if isinstance(entries, dict):
        entries = list((entries.get("entries") or {}).values())
    files = [(str(f.get("key")), f.get("size"), (f.get("links") or {})) for f in entries if isinstance(f, dict)]
    title = str(metadata.get("title") or told.get("title") or "")
    facts: dict[str, Json] = {
        "title": title,
        "names_paper": names_paper(f"{title}\n{metadata.get('description') or ''}", reach.paper),
        "license": (metadata.get("license") or {}).get("id") if isinstance(metadata.get("license"), dict) else None,
        **about_files([Entry(key, size) for key, size, _ in files]),
    }
    facts["data_files"] = sum(not is_weights(key) for key, _, _ in files)
    right = metadata.get("access_right")
    if access.get("files") == "restricted" or right in ("restricted", "embargoed", "closed"):
        embargo = (access.get("embargo") or {}).get("active") or right == "embargoed"
        facts["wall"] = "embargo" if embargo else "restricted"
        return closed(subject, (Outcome.GATED, str(facts["wall"])), facts, title=title)
    places = [(key, str(links.get("content") or links.get("self") or ""), size) for key, size, links in files]
    places = [(key, place, size) for key, place, size in places if place.startswith("https://")]
    unseen: list[str] = []
    heavy = [(k, p) for k, p, s in places if is_weights(k) and (s or 0) >= MEGABYTE]
    facts["weights_open"] = reach.opened("weights", heavy, unseen)
    others = [(k, p) for k, p, s in places if not is_weights(k)]
    facts |= _code_in_archive(
        reach, [(k, p) for k, p, s in places if k.endswith((".zip", ".tar.gz")) and (s or 0) <= 20 << 20], unseen
    )
    # An archive that was not listed may be code as well as data.
    unclear = facts["code_files"] or "tree" in unseen
    facts["data_open"] = [] if unclear else reach.opened("data", others, unseen)
    facts |= {"unseen": unseen} if unseen else {}
    content = {"title": title, "files": [{"path": k, "size": s} for k, s, _ in files[:100]]}
    return Finding(
        outcome=Outcome.AVAILABLE, reason=f"{len(files)} open files", subject=subject, facts=facts, content=content
    )


def _code_in_archive(reach: Reach, files: list[tuple[str, str]], unseen: list[str]) -> dict[str, Json]:
    """What the first small archive holds."""
    for _, place in files[:1]:
        answer = reach.get(place, limit=reach.recorder.limits.archive_bytes)
        if bytes_seen(answer) is None:
            missed(unseen, "tree")
        elif gives_bytes(answer) and TRUNCATED not in answer.headers:
            listed = [Entry(member.path, member.size) for member in archives.listing(answer.body)]
            if any(listed):
                facts = about_files(listed)
                return {key: facts[key] for key in ("code_files", "code_sample", "train_entries", "eval_entries")}
    return {}


_MIRROR_ERRORS = {
    "repository_expired": "expired",
    "repo_not_found": "repo_not_found",
    "repo_not_accessible": "repo_not_accessible",
    "repository_not_ready": "not_ready",
}
_PATH_CHARS = 1_000
_MIRRORED = 20_000
"""Files of one mirror that are read."""
_MIRROR_GONE = ("expired", "repo_not_found")


def anonymous_mirror(reach: Reach, url: str, subject: str) -> Finding | None:
    """anonymous.4open.science is a page of scripts that answers 200 for everything; its options API knows."""
    match = re.search(r"/(?:r|api/repo|repository)/([\w.-]+)", urlsplit(url).path)
    if match is None:
        return None
    api = f"https://anonymous.4open.science/api/repo/{match[1]}"
    answer = reach.recorder.ask("GET", f"{api}/options", says_gone=_mirror_gone)
    error = _mirror_error(answer)
    if error in _MIRROR_GONE:
        if reach.recorder.said_gone_twice(answer.exchange, _mirror_gone):
            return closed(subject, (Outcome.UNAVAILABLE, f"gone: {error}"))
        return closed(subject, undetermined(f"gone_once: {error}"))
    if error is not None:
        return closed(subject, undetermined(error))
    verdict = refused(answer, reach.recorder)
    if verdict is not None:
        return closed(subject, verdict)
    listing, told = reach.json(f"{api}/files/")
    if listing.status != 200:
        listing, told = reach.json(f"{api}/files")
    if listing.status != 200 or not isinstance(told, dict | list):
        return closed(subject, refused(listing, reach.recorder) or undetermined("no file list"))
    entries, whole = _mirror_files(told)
    facts = about_files(entries) | ({} if whole else {"unseen": ["tree"]})
    content = {"files": [e.path for e in entries[:200]]}
    return Finding(
        outcome=Outcome.AVAILABLE,
        reason=f"{facts['code_files']} code files",
        subject=subject,
        facts={**facts, "names_paper": []},
        content=content,
    )


def _mirror_error(answer: Answer) -> str | None:
    told = json_of(answer)
    error = str(told.get("error") or "") if isinstance(told, dict) else ""
    return _MIRROR_ERRORS.get(error, error or None)


def _mirror_gone(answer: Answer) -> bool | None:
    error = _mirror_error(answer)
    return error in _MIRROR_GONE if error in (None, *_MIRROR_GONE) else None


def _mirror_files(told: Json) -> tuple[list[Entry], bool]:
    """Files, and whether they are all: a tree of names, folders as objects and files with a size; or a flat list of
    objects with path and name."""
    entries: list[Entry] = []
    whole = True
    if isinstance(told, list):
        for one in told:
            if not isinstance(one, dict) or not all(isinstance(one.get(k) or "", str) for k in ("path", "name")):
                whole = False
            elif one.get("size") is not None:
                entries.append(_mirror_file("/".join(p for p in (one.get("path"), one.get("name")) if p), one))
        return entries, whole
    folders = [("", told)]
    while folders:
        prefix, folder = folders.pop()
        for name, node in sorted(folder.items()):
            if not isinstance(node, dict) or len(prefix) + len(name) > _PATH_CHARS or len(entries) >= _MIRRORED:
                whole = False
            elif (isinstance(node.get("size"), int) and "sha" in node) or not node:
                entries.append(_mirror_file(f"{prefix}{name}", node))
            else:
                folders.append((f"{prefix}{name}/", node))
    return sorted(entries, key=lambda e: e.path), whole


def _mirror_file(path: str, told: dict[str, Json]) -> Entry:
    size = told.get("size")
    return Entry(path, size if isinstance(size, int) else None)


_OFFERED = re.compile(r"([^\n\[\]()]{1,300}?)(?:\]\([^)]{0,300}\))?\s?\((\d{1,9}(?:\.\d{1,9})?)\s?([KMGT])\)")
"""A file's name, perhaps a link, and its size."""


def drive(reach: Reach, url: str, subject: str) -> Finding | None:
    """A file on Google Drive: its page may answer 200 where a download is refused, so the download is asked for too."""
    parts = urlsplit(url)
    match = re.search(r"/file/(?:u/\d+/)?d/([\w-]+)", parts.path)
    if match is not None:
        page = page_or_file(reach, url, subject)
        if page.outcome is not Outcome.AVAILABLE:
            return page
    file_id = match[1] if match else (parse_qs(parts.query).get("id") or [""])[0]
    if not file_id or "/folders/" in parts.path:
        return None
    download = f"https://drive.google.com/uc?export=download&id={file_id}"
    answer = reach.recorder.ask("GET", download, says_gone=said_gone)
    verdict = refused_page(reach, answer)
    if verdict is not None:
        if verdict[0] is not Outcome.GATED and match is not None:
            verdict = undetermined(f"a page, but no download: {verdict[1]}")
        return closed(subject, verdict)
    facts: dict[str, Json] = {"final_url": answer.exchange.final_url}
    if not is_html(answer.headers.get("content-type", ""), answer.body):
        return file_of(reach, download, subject, answer, facts, downloaded=True)
    return _drive_notice(answer, subject, facts)


def _drive_notice(answer: Answer, subject: str, facts: dict[str, Json]) -> Finding:
    page = read_page(answer.body, answer.headers.get("content-type", ""), answer.exchange.final_url)
    facts["title"] = page.title
    unsaid, shut = doubtful(page), wall(page, answer.exchange.final_url)
    if unsaid:
        return closed(subject, undetermined(unsaid), facts, title=page.title)
    if shut:
        return closed(subject, (Outcome.GATED, shut), {**facts, "wall": shut}, title=page.title)
    # Above 100 MB Drive cannot scan for viruses and asks once more; whoever sees that page may download.
    if not re.search(r"(?i)can.?t scan this file|virus scan warning", f"{page.title}\n{page.text}"):
        return closed(subject, undetermined("a page instead of the file"), facts, title=page.title)
    told = re.search(
        r"([^\n\[\]()]{1,300}?)(?:\]\([^)]{0,300}\))?\s?\((\d{1,9}(?:\.\d{1,9})?)\s?([KMGT])\)", page.text[:20_000]
    )
    name = told[1].strip() if told else "file"
    weights = is_weights(name)
    big = bool(told and told[3] in "MGT" and float(told[2]) >= 1)
    facts |= {"file": name, "weights_open": [name] if weights and big else [], "data_open": [] if weights else [name]}
    content = {"file": name, "title": page.title}
    return Finding(
        outcome=Outcome.AVAILABLE, reason="offered for download", subject=subject, facts=facts, content=content
    )
