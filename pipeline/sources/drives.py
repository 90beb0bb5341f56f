"""Shared drives: Google Drive, Dropbox, SharePoint. A page of theirs may answer 200 where a download is refused, so the
download is asked for."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from pipeline.evidence import Json, Outcome
from pipeline.sources.landing import closed, file_of, gone_page, page_or_file, refused_page, said_gone
from pipeline.sources.outcomes import Finding, undetermined
from pipeline.sources.pages import doubtful, is_html, read_page, wall
from pipeline.sources.reach import Reach, missed
from pipeline.sources.reading import Entry, about_files, is_code, is_weights
from pipeline.sources.recorder import Answer

_OFFERED = re.compile(r"([^\n\[\]()]{1,300}?)(?:\]\([^)]{0,300}\))?\s?\((\d{1,9}(?:\.\d{1,9})?)\s?([KMGT])\)")
"""A file's name, perhaps a link, and its size."""
_ENTRY = re.compile(r"\[([^\[\]]{1,300})\]\(https://drive\.google\.com/(file/d|drive/folders)/([\w-]+)")
_TRIED = 2
"""Files of one folder whose download is asked for."""


def drive(reach: Reach, url: str, subject: str) -> Finding | None:
    """A file, folder or sheet on Google Drive."""
    parts = urlsplit(url)
    sheet = re.search(r"/spreadsheets/(?:u/\d+/)?d/([\w-]{10,})", parts.path)
    if sheet is not None:
        return _download(reach, f"https://docs.google.com/spreadsheets/d/{sheet[1]}/export?format=csv", subject)
    folder = re.search(r"/folders/([\w-]+)", parts.path)
    if folder is not None:
        return _folder(reach, folder[1], subject)
    match = re.search(r"/file/(?:u/\d+/)?d/([\w-]+)", parts.path)
    if match is not None:
        page = page_or_file(reach, url, subject)
        if page.outcome is not Outcome.AVAILABLE:
            return page
    file_id = match[1] if match else dict(parse_qsl(parts.query)).get("id", "")
    if not file_id or parts.hostname == "docs.google.com":
        return None
    finding = _download(reach, _file(file_id), subject)
    if match is not None and (finding.outcome is Outcome.UNAVAILABLE or finding.reason.startswith("gone_once")):
        return closed(subject, undetermined(f"a page, but no download: {finding.reason}"), finding.facts)
    return finding


def dropbox(reach: Reach, url: str, subject: str) -> Finding | None:
    """A shared link of Dropbox: `dl=1` gives the file, or a folder as a zip; the key of the link is kept."""
    parts = urlsplit(url)
    if not parts.path.startswith(("/s/", "/sh/", "/scl/")):
        return None
    return _download(reach, _asking(url, dl="1"), subject)


def sharepoint(reach: Reach, url: str, subject: str) -> Finding | None:
    """A shared file of SharePoint or OneDrive for Business; folders have pages only."""
    if not re.match(r"/:[a-z]:/", urlsplit(url).path) or urlsplit(url).path.startswith("/:f:/"):
        return None
    return _download(reach, _asking(url, download="1"), subject)


def _asking(url: str, **more: str) -> str:
    parts = urlsplit(url)
    query = [(name, value) for name, value in parse_qsl(parts.query, keep_blank_values=True) if name not in more]
    return urlunsplit(parts._replace(query=urlencode([*query, *more.items()])))


def _file(file_id: str) -> str:
    return f"https://drive.google.com/uc?export=download&id={file_id}"


def _download(reach: Reach, place: str, subject: str) -> Finding:
    answer = reach.recorder.ask("GET", place, says_gone=said_gone)
    verdict = refused_page(reach, answer)
    if verdict is not None:
        return closed(subject, verdict, {"wall": verdict[1]} if verdict[0] is Outcome.GATED else {})
    facts: dict[str, Json] = {"final_url": answer.exchange.final_url}
    if not is_html(answer.headers.get("content-type", ""), answer.body):
        return file_of(reach, place, subject, answer, facts, downloaded=True)
    return _notice(reach, answer, subject, facts)


def _notice(reach: Reach, answer: Answer, subject: str, facts: dict[str, Json]) -> Finding:
    """A page in place of a download: trouble, a wall, "not found", or Drive's question before a large file."""
    page = read_page(answer.body, answer.headers.get("content-type", ""), answer.exchange.final_url)
    facts["title"] = page.title
    unsaid, shut = doubtful(page), wall(page, answer.exchange.final_url)
    if unsaid:
        return closed(subject, undetermined(unsaid), facts, title=page.title)
    if shut:
        return closed(subject, (Outcome.GATED, shut), {**facts, "wall": shut}, title=page.title)
    gone = gone_page(reach, answer, page)
    if gone is not None:
        return closed(subject, gone, {**facts, "soft_404": True}, title=page.title)
    # Above 100 MB Drive cannot scan for viruses and asks once more; whoever sees that page may download.
    if not re.search(r"(?i)can.?t scan this file|virus scan warning", f"{page.title}\n{page.text}"):
        return closed(subject, undetermined("a page instead of the file"), facts, title=page.title)
    told = _OFFERED.search(page.text[:20_000])
    name = told[1].strip() if told else "file"
    weights = is_weights(name)
    big = bool(told and told[3] in "MGT" and float(told[2]) >= 1)
    facts |= {"file": name, "weights_open": [name] if weights and big else [], "data_open": [] if weights else [name]}
    content = {"file": name, "title": page.title}
    return Finding(
        outcome=Outcome.AVAILABLE, reason="offered for download", subject=subject, facts=facts, content=content
    )


def _folder(reach: Reach, folder_id: str, subject: str) -> Finding:
    """A folder, through the list that Drive makes for other people's pages: its own page is scripts."""
    place = f"https://drive.google.com/embeddedfolderview?id={folder_id}"
    answer = reach.recorder.ask("GET", place, says_gone=said_gone)
    verdict = refused_page(reach, answer)
    if verdict is not None:
        return closed(subject, verdict, {"wall": verdict[1]} if verdict[0] is Outcome.GATED else {})
    page = read_page(answer.body, answer.headers.get("content-type", ""), answer.exchange.final_url)
    listed = _ENTRY.findall(page.text)
    if not listed:
        shut, unsaid = wall(page, answer.exchange.final_url), doubtful(page)
        if shut and not unsaid:
            return closed(subject, (Outcome.GATED, shut), {"wall": shut}, title=page.title)
        told = undetermined(unsaid) if unsaid else gone_page(reach, answer, page)
        if told is not None:
            return closed(subject, told, title=page.title)
    files = [(name.strip(), id_) for name, kind, id_ in listed if kind == "file/d"]
    facts = {**about_files([Entry(name, None) for name, _ in files]), **_opened(reach, files, subject)}
    facts |= {"title": page.title, "names_paper": []}
    # A folder in it that nobody looked into may hold what is missing.
    if any(kind != "file/d" for _, kind, _ in listed):
        facts["unseen"] = [*facts.get("unseen", []), "tree"]
    content = {"title": page.title, "files": [name for name, _ in files[:100]]}
    return Finding(
        outcome=Outcome.AVAILABLE, reason=f"{len(files)} files listed", subject=subject, facts=facts, content=content
    )


def _opened(reach: Reach, files: list[tuple[str, str]], subject: str) -> dict[str, Json]:
    """What of a folder's files a stranger gets: of weights and of other files the first few are asked for."""
    facts: dict[str, Json] = {"weights_open": [], "data_open": []}
    unseen: list[str] = []
    for kind in ("weights", "data"):
        wanted = [f for f in files if is_weights(f[0]) == (kind == "weights") and not is_code(f[0])]
        if kind == "data":
            facts["data_files"] = len(wanted)
        for name, file_id in wanted[:_TRIED]:
            found = _download(reach, _file(file_id), subject)
            if found.facts.get(f"{kind}_open"):
                facts[f"{kind}_open"] = [name]
                break
            if found.outcome is Outcome.UNDETERMINED:
                missed(unseen, kind)
        else:
            continue
        unseen = [part for part in unseen if part != kind]
    return {**facts, **({"unseen": unseen} if unseen else {})}
