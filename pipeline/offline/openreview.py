"""OpenReview API v2: notes, attachments, PDFs, groups, login. Form: openreview-py 2.9 and recorded public notes.

Since about August 2026 anonymous `GET /notes` may be refused with a challenge; a world says so with
`openreview_challenge`. That is a caller without an account, never a paper without a supplement.
"""

import json
from datetime import UTC, datetime
from html import escape
from typing import Any

from pipeline.offline.content import Held, media_type, minimal_pdf, packed_zip, stable_hex, stable_id, whole
from pipeline.offline.values import Paper, World
from pipeline.offline.wire import UNREACHABLE, Answer, Call, Failures, Fault, as_html, as_json

API_HOST, WEB_HOST = "api2.openreview.net", "openreview.net"
HOSTS = frozenset({API_HOST, WEB_HOST})
ATTACHMENTS = 50
"""Ids that one attachment request may name."""


def answer(world: World, call: Call, failures: Failures) -> Answer | Fault:
    if call.host == WEB_HOST and call.segments[:1] == ["forum"]:
        return _forum_page(world, call)
    if call.method == "POST":
        return _login(call) if call.segments == ["login"] else UNREACHABLE
    if world.facts.openreview_challenge and not call.has_token:
        return _error(403, "ChallengeRequiredError", "Please complete the challenge to continue")
    match call.segments:
        case ["notes"] if call.host == API_HOST:
            return _notes(world, call)
        case ["groups"] if call.host == API_HOST:
            return _groups(world, call)
        case ["attachment"] if call.arg("ids"):
            return _attachments(world, call.arg("ids").split(","), call.arg("name"))
        case ["attachment"]:
            return _attachment(_by_forum(world, call.arg("id")), call.arg("name"))
        case ["attachment", name]:
            paper = next((p for p in _papers(world) if _attachment_path(p) == f"/attachment/{name}"), None)
            return _attachment(paper, "supplementary_material")
        case ["pdf"]:
            return _pdf(_by_forum(world, call.arg("id")))
        case ["pdf", name]:
            return _pdf(next((p for p in _papers(world) if _pdf_path(p) == f"/pdf/{name}"), None))
    return UNREACHABLE


def _papers(world: World) -> list[Paper]:
    return [paper for forum in world.forums for paper in _all_of(world, forum)]


def _all_of(world: World, forum: str) -> list[Paper]:
    return [world.papers[arxiv_id] for arxiv_id in world.forums.get(forum, ())]


def _by_forum(world: World, forum: str) -> Paper | None:
    return next(iter(_all_of(world, forum)), None)


def _attachment_path(paper: Paper) -> str | None:
    told = paper.facts
    if told.supplement == "none":
        return None
    return f"/attachment/{stable_hex('attachment', told.forum_id or '')}.{told.supplement}"


def _pdf_path(paper: Paper) -> str:
    return f"/pdf/{stable_hex('pdf', paper.facts.forum_id or '')}.pdf"


def _notes(world: World, call: Call) -> Answer:
    named = call.arg("id") or call.arg("forum")
    papers = _all_of(world, named) if named else _papers(world)
    for key, wanted in call.query:
        if key in {"id", "forum"}:
            papers = [paper for paper in papers if paper.facts.forum_id == wanted]
        elif key.startswith("content.venueid"):
            papers = papers if wanted == world.facts.venue else []
        elif key in {"number", "domain"}:
            papers = [paper for paper in papers if str(_note(world, paper)[key]) == wanted]
        elif key == "invitation":
            papers = [paper for paper in papers if wanted in _note(world, paper)["invitations"]]
        elif key.startswith("content."):
            field = key.removeprefix("content.").removesuffix(".value")
            papers = [paper for paper in papers if _value(_note(world, paper), field) == wanted]
    total, after = len(papers), call.arg("after")
    if after:
        papers = [paper for paper in papers if (paper.facts.forum_id or "") > after]
    start, size = call.number("offset", 0, 1 << 30), call.number("limit", 1000, 1000)
    body: dict[str, Any] = {"notes": [_note(world, paper) for paper in papers[start : start + size]]}
    return as_json(body if call.arg("count") == "false" else body | {"count": total})


def _value(note: dict[str, Any], field: str) -> Any:
    return note["content"].get(field, {}).get("value")


def _note(world: World, paper: Paper) -> dict[str, Any]:
    told, venue = paper.facts, world.facts.venue
    forum, title = told.forum_id or "", told.openreview_title or told.title
    authors = told.openreview_authors if told.openreview_authors is not None else told.authors
    number = _number(paper)
    content: dict[str, Any] = {
        "title": title,
        "authors": list(authors),
        "authorids": ["~" + "_".join(name.split()) + "1" for name in authors],
        "abstract": told.abstract,
        "venue": world.facts.name,
        "venueid": venue,
        "pdf": _pdf_path(paper),
        "paperhash": "|".join([(authors or ("",))[0].split(" ")[-1].lower(), "_".join(title.lower().split())]),
        "_bibtex": f"@inproceedings{{\n{forum},\ntitle={{{title}}},\nurl={{https://openreview.net/forum?id={forum}}}\n}}",
    }
    if path := _attachment_path(paper):
        content["supplementary_material"] = path
    when = _millis(told.published)
    submission = f"{venue}/Submission{number}"
    return {
        "id": forum,
        "forum": forum,
        "number": number,
        "invitations": [f"{venue}/-/Submission", f"{venue}/-/Edit", f"{submission}/-/Camera_Ready_Revision"],
        "domain": venue,
        "license": "CC BY 4.0",
        "signatures": [f"{submission}/Authors"],
        "readers": ["everyone"],
        "writers": [venue, f"{submission}/Authors"],
        "cdate": when,
        "tcdate": when,
        "pdate": when,
        "odate": when,
        "mdate": _millis(told.updated or told.published),
        "tmdate": _millis(told.updated or told.published),
        "version": 2,
        "content": {key: {"value": value} for key, value in content.items()},
    }


def _millis(when: datetime) -> int:
    return int(when.astimezone(UTC).timestamp()) * 1000


def _attachment(paper: Paper | None, name: str) -> Answer:
    if paper is None or name != "supplementary_material" or paper.facts.supplement == "none":
        return _error(404, "NotFoundError", "The requested attachment was not found")
    if paper.facts.supplement == "zip":
        return _file(packed_zip(paper.supplement), "zip")
    held = next((content for path, content in sorted(paper.supplement.items()) if path.endswith(".pdf")), None)
    return _file(whole(held) if held else minimal_pdf(f"Supplement: {paper.facts.title}"), "pdf")


def _attachments(world: World, ids: list[str], name: str) -> Answer:
    """Up to 50 notes' files as one zip, each named after its note's number; one id is answered with the file itself.

    Form: openreview-py 2.9.1, `tools.get_all_attachments`, and openreview-py#3143.
    """
    if len(set(ids)) > ATTACHMENTS:
        return _error(400, "ValidationError", f"ids must NOT have more than {ATTACHMENTS} items")
    wanted = set(ids)
    papers = [paper for forum in sorted(wanted) for paper in _all_of(world, forum)]
    if len(wanted) == 1:
        return _attachment(papers[0] if papers else None, name)
    files = {
        f"{_number(paper)}_{name}.{paper.facts.supplement}": found.content
        for paper in papers
        if (found := _attachment(paper, name)).status == 200
    }
    if not files:
        return _error(404, "NotFoundError", "The requested attachments were not found")
    header = ("Content-Disposition", f'attachment; filename="{name}.zip"')
    return Answer(200, Held(packed_zip(files)), (("Content-Type", "application/zip"), header))


def _number(paper: Paper) -> int:
    return stable_id("openreview", paper.facts.forum_id or "", digits=5)


def _pdf(paper: Paper | None) -> Answer:
    if paper is None:
        return _error(404, "NotFoundError", "The requested pdf was not found")
    return _file(minimal_pdf(paper.facts.openreview_title or paper.facts.title), "pdf")


def _file(body: bytes, suffix: str) -> Answer:
    name = f'attachment; filename="supplementary_material.{suffix}"' if suffix == "zip" else "inline"
    return Answer(
        200, Held(body), (("Content-Type", media_type(f"x.{suffix}")), ("Content-Disposition", name)), ranges=True
    )


def _groups(world: World, call: Call) -> Answer:
    venue = world.facts.venue
    if call.arg("id") != venue:
        return _error(404, "NotFoundError", f"Group Not Found: {call.arg('id')}")
    group = {"id": venue, "readers": ["everyone"], "writers": [venue], "signatures": ["~Super_User1"], "members": []}
    content = {"title": {"value": world.facts.name}, "submission_venue_id": {"value": f"{venue}/Submission"}}
    submissions = {"submission_id": {"value": f"{venue}/-/Submission"}, "submission_name": {"value": "Submission"}}
    return as_json({"groups": [group | {"signatories": [venue], "content": content | submissions}], "count": 1})


def _login(call: Call) -> Answer:
    """Any account of this world is good, as long as both halves are there."""
    try:
        told = json.loads(call.body)
    except ValueError:
        told = {}
    if not isinstance(told, dict) or not told.get("id") or not told.get("password"):
        return _error(400, "LoginError", "Invalid username or password")
    user = {"id": told["id"], "profile": {"id": "~Offline_Reader1"}}
    return as_json({"token": "offline-token", "user": user})


def _forum_page(world: World, call: Call) -> Answer | Fault:
    paper = _by_forum(world, call.arg("id"))
    if paper is None:
        return UNREACHABLE
    title = escape(paper.facts.openreview_title or paper.facts.title)
    path = _attachment_path(paper)
    link = (
        f'<a href="/attachment?id={paper.facts.forum_id}&amp;name=supplementary_material">Supplement</a>'
        if path
        else ""
    )
    return as_html(f"{title} | OpenReview", f"<h2>{title}</h2>\n<p>{escape(paper.facts.abstract)}</p>\n{link}")


def _error(status: int, name: str, message: str) -> Answer:
    return as_json({"name": name, "message": message, "status": status, "details": {}}, status)
