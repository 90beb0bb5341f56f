"""Where a URL leads: a page, a wall, a page that says "not found", a file or an archive. 200 is not access."""

from __future__ import annotations

import hashlib
import io
import re
import struct
import zipfile
from collections.abc import Mapping
from urllib.parse import urlsplit

from pipeline import archives, reference
from pipeline.artifacts import on
from pipeline.evidence import Json, Outcome
from pipeline.sources import reading
from pipeline.sources.guard import refusal
from pipeline.sources.outcomes import Finding, Verdict, json_of, refused, turned_away, undetermined
from pipeline.sources.pages import Page, doubtful, is_html, read_page, says_gone, wall
from pipeline.sources.reach import FILLER, Reach, bytes_seen, missed
from pipeline.sources.reading import MEGABYTE, Entry, about_files, coming_soon, is_data, is_weights, names_paper
from pipeline.sources.recorder import TRUNCATED, Answer
from pipeline.textfiles import readable

_PAGE_CHARS = 24_000
_LINKS = 100
_DATA_BYTES = 200
"""Bytes below which a file is no data to reproduce anything with."""
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
    "1drv.ms",
    "forms.gle",
)
"""Hosts whose business is to lead elsewhere: another domain at the end is what they are for."""


_PARKERS = ("hugedomains.com", "sedo.com", "sedoparking.com", "dan.com", "afternic.com", "bodis.com", "parkingcrew.net")
"""Where names lead that somebody wants to sell."""
_SHARED = re.compile(r"(^|\.)(ac|co|com|edu|gov|net|org|github|gitlab|netlify|vercel|pages)\.[a-z]{2,4}$")
"""Two last labels that many owners share; the third is the owner's."""


def names_file(url: str) -> bool:
    """Whether a URL's path ends as a file of data, weights or an archive does."""
    return bool(_FILE.search(urlsplit(url).path))


def known_wall(reach: Reach, url: str) -> str | None:
    """The kind of wall that the reference table, or this reach, states for a place."""
    listed = reference.wall_of(url)
    if listed is not None:
        return listed.kind
    name = (urlsplit(url).hostname or "").lower().removeprefix("www.")
    return next((kind for host, kind in reach.walls.items() if name == host or name.endswith(f".{host}")), None)


def closed(subject: str, verdict: Verdict, facts: Mapping[str, Json] | None = None, **shown: Json) -> Finding:
    return Finding(
        outcome=verdict[0],
        reason=verdict[1],
        subject=subject,
        facts=facts or {},
        content={"error": f"{verdict[0]}: {verdict[1]}", **shown},
    )


def page_or_file(reach: Reach, url: str, subject: str) -> Finding:
    answer = reach.recorder.ask("GET", url, says_gone=said_gone)
    facts: dict[str, Json] = {"final_url": answer.exchange.final_url}
    kind = known_wall(reach, url) or known_wall(reach, answer.exchange.final_url)
    if kind is not None and answer.status is not None and answer.status < 500:
        facts["wall"] = kind
        return closed(subject, (Outcome.GATED, kind), facts)
    verdict = refused_page(reach, answer)
    if verdict is not None:
        if verdict[0] is Outcome.GATED:
            facts["wall"] = verdict[1]
        return closed(subject, verdict, facts)
    if not is_html(answer.headers.get("content-type", ""), answer.body):
        return file_of(reach, url, subject, answer, facts)
    return _page(reach, url, subject, answer, facts)


def refused_page(reach: Reach, answer: Answer) -> Verdict | None:
    """`refused`, for a page: a bare refusal is undetermined, one that shows a login form or asks for money is gated."""
    verdict = refused(answer, reach.recorder)
    if not turned_away(answer, verdict):
        return verdict
    told, final = answer.headers.get("content-type", ""), answer.exchange.final_url
    page = read_page(answer.body, told, final)
    shut = wall(page, final, refused=True) if is_html(told, answer.body) and doubtful(page) is None else None
    return (Outcome.GATED, shut) if shut else undetermined(f"forbidden: {answer.status}")


def said_gone(answer: Answer) -> bool | None:
    """Whether a page says "not found"; None where it says nothing, as a robot check does. Both are looked at again on
    another day, as an honest 404 is."""
    if answer.status != 200:
        return None
    if not is_html(answer.headers.get("content-type", ""), answer.body):
        return False
    page = read_page(answer.body, answer.headers.get("content-type", ""), answer.exchange.final_url)
    return None if doubtful(page) else says_gone(page) or _misplaced(answer.exchange.url, page)


def gone_page(reach: Reach, answer: Answer, page: Page) -> Verdict | None:
    """What a page means that says "not found" with a 200: gone at the second look, a day later; None for other
    pages."""
    if not (says_gone(page) or _misplaced(answer.exchange.url, page)):
        return None
    if reach.recorder.said_gone_twice(answer.exchange, said_gone):
        return Outcome.UNAVAILABLE, "gone: soft_404"
    return undetermined("gone_once: soft_404")


def _misplaced(url: str, page: Page) -> bool:
    """A page that leads nowhere, in place of the file that was asked for."""
    return names_file(url) and not page.links


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
        return closed(subject, verdict, facts, **shown)
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
    if astray and not facts["names_paper"]:
        facts["astray"] = True
    if on(answer.exchange.final_url, _PARKERS):
        return undetermined("parked")
    rooted = asked.path.strip("/") and not final.path.strip("/") and not final.query
    if rooted and answer.exchange.redirects and not facts["names_paper"]:
        return undetermined("parked" if astray else "redirected_to_root")
    gone = gone_page(reach, answer, page) if says_gone(page) or not facts["names_paper"] else None
    if gone is not None:
        facts["soft_404"] = True
        return gone
    if asked.path.strip("/") and not facts["names_paper"] and _same_as_any(reach, url, answer):
        facts["soft_404"] = True
        return undetermined("same_page_for_any_path")
    return None


def _strayed(asked: str, final: str) -> bool:
    if any(asked == h or asked.endswith("." + h) for h in _MOVING):
        return False
    return _owner(asked) != _owner(final)


def _owner(host: str) -> str:
    """The part of a host's name that somebody registered."""
    return ".".join(host.split(".")[-3 if _SHARED.search(host) else -2 :])


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
    unseen: list[str] = []
    opened = reach.opened("data", [(link, link) for link in data], unseen)
    heavy = [link for link in weights[:1] if _is_big(reach.get(link, first=2048), unseen)]
    return {
        "data_files": len(data),
        "data_open": opened,
        "weight_files": [{"path": link, "size": None} for link in weights[:20]],
        "weights_open": heavy,
        **({"unseen": unseen} if unseen else {}),
    }


def _is_big(answer: Answer, unseen: list[str]) -> bool:
    seen = bytes_seen(answer, "weights")
    if seen is None:
        missed(unseen, "weights")
    return bool(seen) and (_total(answer) or 0) >= MEGABYTE


def _total(answer: Answer) -> int | None:
    """The size of a whole file, from a range's total, the announced length, or the body where it came whole."""
    match = re.search(r"/(\d{1,18})$", answer.headers.get("content-range", ""))
    if match:
        return int(match[1])
    if TRUNCATED not in answer.headers:
        return answer.exchange.body_size
    length = answer.headers.get("content-length", "")
    return int(length) if re.fullmatch(r"\d{1,18}", length) else answer.exchange.body_size


def _notice(text: str, answer: Answer) -> str | None:
    """What a text says in place of the file that was asked for: a wall, trouble, "not found"; or None."""
    told = json_of(answer)
    if isinstance(told, dict) and told.get("error"):
        return "error"
    page = Page(title="", text=text, links=(), password_field=False, scripted=False, cited=False)
    return doubtful(page) or wall(page, "") or ("not found" if says_gone(page) else None)


def _hollow(body: bytes) -> bool:
    """Whether a zip lists no file with anything in it. One that only others can read says nothing of the kind."""
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            return not any(member.file_size for member in archive.infolist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError, struct.error):
        return False


def file_of(
    reach: Reach, url: str, subject: str, answer: Answer, facts: dict[str, Json], *, downloaded: bool = False
) -> Finding:
    named = re.search(r"filename=\"?([^\";]+)", answer.headers.get("content-disposition", ""))
    last = (urlsplit(place).path.rsplit("/", 1)[-1] for place in (answer.exchange.final_url, url))
    name = named[1].strip() if named else next(filter(None, last), "")
    if not answer.body:
        return closed(subject, undetermined("empty_answer"), facts)
    form, size = archives.sniff(answer.body), _total(answer)
    whole, filler = TRUNCATED not in answer.headers, not answer.body.strip(FILLER)
    if filler and not (whole and answer.status == 200):
        return closed(subject, undetermined("begins with filler"), facts)
    facts |= {"file": name, "form": form, "size": size}
    if not whole and form in ("zip", "gzip", "tar") and (size or 0) <= reach.recorder.limits.archive_bytes:
        longer = reach.get(url, limit=reach.recorder.limits.archive_bytes)
        if longer.status != 200 or not longer.body:
            facts |= {"weights_open": [], "data_open": [], "unseen": ["tree"]}
            reason = "an archive whose listing did not come"
            content: dict[str, Json] = {"file": name, "form": form, "size": size, "error": reason}
            return Finding(outcome=Outcome.AVAILABLE, reason=reason, subject=subject, facts=facts, content=content)
        answer, whole = longer, TRUNCATED not in longer.headers
    if form in ("html", "text") and _ARCHIVE.search(f"/{name}"):
        return closed(subject, undetermined(f"{form} instead of an archive"), facts)
    text = readable(name, answer.body) if whole else None
    shown: dict[str, Json] = {"file": name, "form": form, "size": size}
    if whole and form in ("zip", "gzip", "tar"):
        listed = [Entry(member.path, member.size) for member in archives.listing(answer.body)]
        facts |= about_files(listed)
        shown["members"] = [e.path for e in listed[:200]]
    if form == "pdf":
        return Finding(outcome=Outcome.AVAILABLE, reason="a PDF", subject=subject, facts=facts, content=shown)
    holds_weights = is_weights(url) or is_weights(name)
    heavy = (size or 0) >= MEGABYTE and reading.holds_weights(answer.body)
    facts["weights_open"] = [name] if holds_weights and heavy else []
    archived_code = bool(facts.get("code_files")) and not facts.get("data_files")
    picture = answer.headers.get("content-type", "").startswith(("image/", "video/"))
    is_file = bool(named or downloaded or _FILE.search(name) or _FILE.search(urlsplit(url).path)) or (
        text is None and not picture
    )
    notice = _notice(text, answer) if text is not None and is_file else None
    if notice is not None:
        return closed(subject, undetermined(f"a notice instead of a file: {notice}"), facts)
    empty = filler or (size or 0) < _DATA_BYTES or (whole and form == "zip" and _hollow(answer.body))
    facts["data_open"] = [name] if is_file and not holds_weights and not archived_code and not empty else []
    if text is not None:
        facts |= {"names_paper": names_paper(text, reach.paper), "coming_soon": coming_soon(text)}
        shown["text"] = text[:_PAGE_CHARS]
    return Finding(
        outcome=Outcome.AVAILABLE, reason="a stranger gets its bytes", subject=subject, facts=facts, content=shown
    )
