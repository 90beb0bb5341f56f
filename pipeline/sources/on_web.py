"""The probe of any URL: page, file, archive or wall. Hosts with an interface of their own are asked through it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from urllib.parse import parse_qs, urlsplit

from pipeline import archives
from pipeline.artifacts import subject as subject_of
from pipeline.evidence import Json, Outcome
from pipeline.sources import on_github, on_hub
from pipeline.sources.guard import refusal
from pipeline.sources.outcomes import Finding, Verdict, json_of, refused, undetermined
from pipeline.sources.pages import Page, doubtful, is_html, read_page, says_gone, wall
from pipeline.sources.reach import Reach, gives_bytes
from pipeline.sources.reading import (
    MEGABYTE,
    Entry,
    about_files,
    coming_soon,
    is_data,
    is_weights,
    names_paper,
)
from pipeline.sources.recorder import TRUNCATED, Answer
from pipeline.textfiles import readable

_PAGE_CHARS = 24_000
_LINKS = 100
_ARCHIVE = re.compile(r"(?i)\.(zip|tar|tar\.(gz|bz2|xz)|tgz|7z|rar|gz|bz2|xz|zst)$")
_FILE = re.compile(
    r"(?i)\.(zip|tar|gz|tgz|bz2|xz|7z|rar|zst|csv|tsv|jsonl?|parquet|npz|npy|h5|hdf5|pkl|pt|pth|ckpt|bin|safetensors"
    r"|mat|onnx|gguf)$"
)
_MOVING = (
    "doi.org",
    "bit.ly",
    "tinyurl.com",
    "t.co",
    "goo.gl",
    "w3id.org",
    "purl.org",
    "hdl.handle.net",
    "t.ly",
    "rb.gy",
)
"""Hosts whose business is to lead elsewhere: another domain at the end is what they are for."""


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
    host = (urlsplit(text).hostname or "").removeprefix("www.")
    for hosts, ask in _SPECIAL.items():
        if host in hosts:
            finding = ask(reach, text, subject)
            if finding is not None:
                return finding
    return _page_or_file(reach, text, subject)


def known_wall(reach: Reach, url: str) -> str | None:
    """The kind of wall that the reference table states for a host or for one above it."""
    name = (urlsplit(url).hostname or "").lower().removeprefix("www.")
    while "." in name:
        if name in reach.walls:
            return reach.walls[name]
        name = name.split(".", 1)[1]
    return None


def _closed(subject: str, verdict: Verdict, facts: Mapping[str, Json] | None = None, **shown: Json) -> Finding:
    return Finding(
        outcome=verdict[0],
        reason=verdict[1],
        subject=subject,
        facts=facts or {},
        content={"error": f"{verdict[0]}: {verdict[1]}", **shown},
    )


def _page_or_file(reach: Reach, url: str, subject: str) -> Finding:
    answer = reach.recorder.ask("GET", url, settles=_settles)
    facts: dict[str, Json] = {"final_url": answer.exchange.final_url}
    kind = known_wall(reach, url) or known_wall(reach, answer.exchange.final_url)
    if kind is not None and answer.status is not None and answer.status < 500:
        facts["wall"] = kind
        return _closed(subject, (Outcome.GATED, kind), facts)
    verdict = refused(answer, reach.recorder)
    if verdict is not None:
        if verdict[0] is Outcome.GATED:
            facts["wall"] = verdict[1]
        return _closed(subject, verdict, facts)
    if not is_html(answer.headers.get("content-type", ""), answer.body):
        return _file(reach, url, subject, answer, facts)
    return _page(reach, url, subject, answer, facts)


def _settles(answer: Answer) -> bool:
    """Pages that say "not found" or "not now" are looked at again on another day, as an honest 404 is."""
    if answer.status != 200 or not is_html(answer.headers.get("content-type", ""), answer.body):
        return True
    page = read_page(answer.body, answer.headers.get("content-type", ""), answer.exchange.final_url)
    return not (says_gone(page) or doubtful(page))


def _page(reach: Reach, url: str, subject: str, answer: Answer, facts: dict[str, Json]) -> Finding:
    final = answer.exchange.final_url
    page = read_page(answer.body, answer.headers.get("content-type", ""), final)
    shut = wall(page, final)
    facts |= {
        "title": page.title,
        "links": list(page.links[:_LINKS]),
        "names_paper": names_paper(f"{page.title}\n{page.text}", reach.paper),
        "coming_soon": coming_soon(page.text),
        "wall": shut,
        "soft_404": False,
    }
    shown = {"title": page.title, "final_url": final}
    verdict = _verdict(reach, url, answer, page, facts)
    if verdict is not None:
        return _closed(subject, verdict, facts, **shown)
    facts |= _linked_data(reach, page)
    content: dict[str, Json] = {
        **shown,
        "text": page.text[:_PAGE_CHARS],
        "cut": len(page.text) > _PAGE_CHARS or TRUNCATED in answer.headers,
        "data_open": facts["data_open"],
    }
    return Finding(outcome=Outcome.AVAILABLE, reason="page read", subject=subject, facts=facts, content=content)


def _verdict(reach: Reach, url: str, answer: Answer, page: Page, facts: dict[str, Json]) -> Verdict | None:
    """What a page says that is not what was asked for, or None."""
    unsaid = doubtful(page)
    if unsaid is not None:
        return undetermined(unsaid)
    if facts["wall"]:
        return Outcome.GATED, str(facts["wall"])
    asked, final = urlsplit(url), urlsplit(answer.exchange.final_url)
    astray = _strayed(asked.hostname or "", final.hostname or "")
    if asked.path.strip("/") and not final.path.strip("/") and answer.exchange.redirects and not facts["names_paper"]:
        return undetermined("parked" if astray else "redirected_to_root")
    if says_gone(page) or (_FILE.search(asked.path) and not page.links and not facts["names_paper"]):
        facts["soft_404"] = True
    elif asked.path.strip("/") and not facts["names_paper"] and _same_as_any(reach, url, answer):
        facts["soft_404"] = True
        return undetermined("same_page_for_any_path")
    if facts["soft_404"]:
        if reach.recorder.seen_apart(answer.exchange):
            return Outcome.UNAVAILABLE, "gone: soft_404"
        return undetermined("gone_once: soft_404")
    return None


def _strayed(asked: str, final: str) -> bool:
    if any(asked == h or asked.endswith("." + h) for h in _MOVING):
        return False
    return ".".join(asked.split(".")[-2:]) != ".".join(final.split(".")[-2:])


def _same_as_any(reach: Reach, url: str, answer: Answer) -> bool:
    """Whether the host gives these very bytes for a sibling path that nobody could have made.

    The sibling's name comes from the URL, so that a replay asks for the same one.
    """
    name = hashlib.sha256(url.encode()).hexdigest()[:32]
    parts = urlsplit(url)
    folder = parts.path.rstrip("/").rsplit("/", 1)[0]
    sibling = reach.get(f"{parts.scheme}://{parts.netloc}{folder}/{name}")
    return sibling.status == 200 and sibling.exchange.body_sha256 == answer.exchange.body_sha256


def _linked_data(reach: Reach, page: Page) -> dict[str, Json]:
    """A page that leads to files: the first that looks like data is asked for its bytes."""
    about_data = bool(
        re.search(r"(?i)\b(data ?sets?|corpus|benchmark|annotations)\b", f"{page.title}\n{page.text[:4000]}")
    )
    files = [
        link
        for link in page.links
        if is_data(urlsplit(link).path.lstrip("/")) or (about_data and _ARCHIVE.search(urlsplit(link).path))
    ]
    weights = [link for link in page.links if is_weights(urlsplit(link).path)]
    data = [link for link in files if link not in weights and refusal(link) is None]
    opened = reach.opened([(link, link) for link in data])
    return {
        "data_files": len(data),
        "data_open": opened,
        "weight_files": [{"path": link, "size": None} for link in weights[:20]],
        "weights_open": [link for link in weights[:1] if _is_big(reach.get(link, first=2048))],
    }


def _is_big(answer: Answer) -> bool:
    return gives_bytes(answer) and (_total(answer) or 0) >= MEGABYTE


def _total(answer: Answer) -> int | None:
    """The size of a whole file, from a range's total, the announced length, or the body where it came whole."""
    match = re.search(r"/(\d+)$", answer.headers.get("content-range", ""))
    if match:
        return int(match[1])
    if TRUNCATED not in answer.headers:
        return answer.exchange.body_size
    length = answer.headers.get("content-length", "")
    return int(length) if length.isdecimal() else answer.exchange.body_size


def _file(
    reach: Reach, url: str, subject: str, answer: Answer, facts: dict[str, Json], *, downloaded: bool = False
) -> Finding:
    named = re.search(r"filename=\"?([^\";]+)", answer.headers.get("content-disposition", ""))
    last = (urlsplit(place).path.rsplit("/", 1)[-1] for place in (answer.exchange.final_url, url))
    name = named[1].strip() if named else next(filter(None, last), "")
    if not answer.body:
        return _closed(subject, undetermined("empty_answer"), facts)
    form, size = archives.sniff(answer.body), _total(answer)
    whole = TRUNCATED not in answer.headers
    facts |= {"file": name, "form": form, "size": size}
    if not whole and form in ("zip", "gzip", "tar") and (size or 0) <= reach.recorder.limits.archive_bytes:
        answer = reach.get(url, limit=reach.recorder.limits.archive_bytes)
        whole = TRUNCATED not in answer.headers
    text = readable(name, answer.body) if whole else None
    shown: dict[str, Json] = {"file": name, "form": form, "size": size}
    if whole and form in ("zip", "gzip", "tar"):
        listed = [Entry(member.path, member.size) for member in archives.listing(answer.body)]
        facts |= about_files(listed)
        shown["members"] = [e.path for e in listed[:200]]
    if form == "pdf":
        return Finding(outcome=Outcome.AVAILABLE, reason="a PDF", subject=subject, facts=facts, content=shown)
    holds_weights = is_weights(url) or is_weights(name)
    facts["weights_open"] = [name] if holds_weights and (size or 0) >= MEGABYTE else []
    archived_code = bool(facts.get("code_files")) and not facts.get("data_files")
    picture = answer.headers.get("content-type", "").startswith(("image/", "video/"))
    is_file = bool(named or downloaded or _FILE.search(name) or _FILE.search(urlsplit(url).path)) or (
        text is None and not picture
    )
    facts["data_open"] = [name] if is_file and not holds_weights and not archived_code else []
    if text is not None:
        facts |= {"names_paper": names_paper(text, reach.paper), "coming_soon": coming_soon(text)}
        shown["text"] = text[:_PAGE_CHARS]
    return Finding(
        outcome=Outcome.AVAILABLE, reason="a stranger gets its bytes", subject=subject, facts=facts, content=shown
    )


# Hosts with an interface of their own


def _zenodo(reach: Reach, url: str, subject: str) -> Finding | None:
    """Zenodo's records API says what is restricted; its pages do not."""
    match = re.search(r"/(?:records?|deposit)/(\d+)|zenodo\.(\d+)", url)
    if match is None:
        return None
    answer, told = reach.json(f"https://zenodo.org/api/records/{match[1] or match[2]}")
    verdict = refused(answer, reach.recorder)
    if verdict is None and not isinstance(told, dict):
        verdict = undetermined("answer is not a record")
    if verdict is not None:
        return _closed(subject, verdict)
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
        return _closed(subject, (Outcome.GATED, str(facts["wall"])), facts, title=title)
    places = [(key, str(links.get("content") or links.get("self") or ""), size) for key, size, links in files]
    places = [(key, place, size) for key, place, size in places if place.startswith("https://")]
    facts["weights_open"] = reach.opened([(k, p) for k, p, s in places if is_weights(k) and (s or 0) >= MEGABYTE])
    others = [(k, p) for k, p, s in places if not is_weights(k)]
    facts |= _code_in_archive(
        reach, [(k, p) for k, p, s in places if k.endswith((".zip", ".tar.gz")) and (s or 0) <= 20 << 20]
    )
    facts["data_open"] = [] if facts["code_files"] else reach.opened(others)
    content = {"title": title, "files": [{"path": k, "size": s} for k, s, _ in files[:100]]}
    return Finding(
        outcome=Outcome.AVAILABLE, reason=f"{len(files)} open files", subject=subject, facts=facts, content=content
    )


def _code_in_archive(reach: Reach, files: list[tuple[str, str]]) -> dict[str, Json]:
    """What the first small archive holds."""
    for _, place in files[:1]:
        answer = reach.get(place, limit=reach.recorder.limits.archive_bytes)
        if gives_bytes(answer) and TRUNCATED not in answer.headers:
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


def _anonymous_mirror(reach: Reach, url: str, subject: str) -> Finding | None:
    """anonymous.4open.science is a page of scripts that answers 200 for everything; its options API knows."""
    match = re.search(r"/(?:r|api/repo|repository)/([\w.-]+)", urlsplit(url).path)
    if match is None:
        return None
    api = f"https://anonymous.4open.science/api/repo/{match[1]}"
    answer = reach.recorder.ask("GET", f"{api}/options", settles=lambda a: not _mirror_error(a))
    error = _mirror_error(answer)
    if error in ("expired", "repo_not_found"):
        if reach.recorder.seen_apart(answer.exchange):
            return _closed(subject, (Outcome.UNAVAILABLE, f"gone: {error}"))
        return _closed(subject, undetermined(f"gone_once: {error}"))
    if error is not None:
        return _closed(subject, undetermined(error))
    verdict = refused(answer, reach.recorder)
    if verdict is not None:
        return _closed(subject, verdict)
    listing, told = reach.json(f"{api}/files/")
    if listing.status != 200:
        listing, told = reach.json(f"{api}/files")
    if listing.status != 200 or not isinstance(told, dict | list):
        return _closed(subject, refused(listing, reach.recorder) or undetermined("no file list"))
    entries = list(_mirror_files(told, ""))
    facts = about_files(entries)
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


def _mirror_files(told: Json, prefix: str) -> list[Entry]:
    """A tree of names, folders as objects and files with a size; or a flat list of objects with path and name."""
    if isinstance(told, list):
        files = (f for f in told if isinstance(f, dict) and f.get("size") is not None)
        return [Entry("/".join(p for p in (f.get("path"), f.get("name")) if p), f["size"]) for f in files]
    entries: list[Entry] = []
    for name, node in sorted(told.items()):
        if not isinstance(node, dict) or len(prefix) > 1000:
            continue
        if (isinstance(node.get("size"), int) and "sha" in node) or not node:
            entries.append(Entry(f"{prefix}{name}", node.get("size")))
        else:
            entries += _mirror_files(node, f"{prefix}{name}/")
    return entries


def _drive(reach: Reach, url: str, subject: str) -> Finding | None:
    """A file on Google Drive: its page may answer 200 where a download is refused, so the download is asked for too."""
    parts = urlsplit(url)
    match = re.search(r"/file/(?:u/\d+/)?d/([\w-]+)", parts.path)
    if match is not None:
        page = _page_or_file(reach, url, subject)
        if page.outcome is not Outcome.AVAILABLE:
            return page
    file_id = match[1] if match else (parse_qs(parts.query).get("id") or [""])[0]
    if not file_id or "/folders/" in parts.path:
        return None
    download = f"https://drive.google.com/uc?export=download&id={file_id}"
    answer = reach.recorder.ask("GET", download, settles=_settles)
    verdict = refused(answer, reach.recorder)
    if verdict is not None:
        if verdict[0] is not Outcome.GATED and match is not None:
            verdict = undetermined(f"a page, but no download: {verdict[1]}")
        return _closed(subject, verdict)
    facts: dict[str, Json] = {"final_url": answer.exchange.final_url}
    if not is_html(answer.headers.get("content-type", ""), answer.body):
        return _file(reach, download, subject, answer, facts, downloaded=True)
    return _drive_notice(answer, subject, facts)


def _drive_notice(answer: Answer, subject: str, facts: dict[str, Json]) -> Finding:
    page = read_page(answer.body, answer.headers.get("content-type", ""), answer.exchange.final_url)
    facts["title"] = page.title
    unsaid, shut = doubtful(page), wall(page, answer.exchange.final_url)
    if unsaid:
        return _closed(subject, undetermined(unsaid), facts, title=page.title)
    if shut:
        return _closed(subject, (Outcome.GATED, shut), {**facts, "wall": shut}, title=page.title)
    # Above 100 MB Drive cannot scan for viruses and asks once more; whoever sees that page may download.
    if not re.search(r"(?i)can.?t scan this file|virus scan warning", f"{page.title}\n{page.text}"):
        return _closed(subject, undetermined("a page instead of the file"), facts, title=page.title)
    told = re.search(r"([^\n\[\]()]+?)(?:\]\([^)]*\))?\s*\((\d+(?:\.\d+)?)\s*([KMGT])\)", page.text)
    name = told[1].strip() if told else "file"
    weights = is_weights(name)
    big = bool(told and told[3] in "MGT" and float(told[2]) >= 1)
    facts |= {"file": name, "weights_open": [name] if weights and big else [], "data_open": [] if weights else [name]}
    content = {"file": name, "title": page.title}
    return Finding(
        outcome=Outcome.AVAILABLE, reason="offered for download", subject=subject, facts=facts, content=content
    )


_SPECIAL: Mapping[tuple[str, ...], Callable[[Reach, str, str], Finding | None]] = {
    ("zenodo.org", "doi.org", "dx.doi.org"): _zenodo,
    ("anonymous.4open.science",): _anonymous_mirror,
    ("drive.google.com", "drive.usercontent.google.com", "docs.google.com"): _drive,
}
