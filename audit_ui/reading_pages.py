"""Pages to read: the queue, a paper with its panel, bodies as inert text, guide, agreement."""

from __future__ import annotations

import html
import re
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from audit_ui import show
from audit_ui.desk import Line
from audit_ui.flow import PROPOSED, SHORT, Reading, next_question
from audit_ui.security import INERT
from audit_ui.site import Site
from pipeline import calibration
from pipeline.accounts import Account
from pipeline.assignments import Taken
from pipeline.audit import support, verdict
from pipeline.calibration import accuracy
from pipeline.derivation import Derivation
from pipeline.events import NEEDS, SIGNALS, Question
from pipeline.evidence import Signal
from pipeline.store import StoreError

MAX_BODY = 1_000_000


def queue(site: Site, request: Request, me: Account) -> Response:
    desk = site.desk
    places = desk.places()
    first = {one.arxiv_id: n for n, one in reversed(list(enumerate(desk.pool.disagreements)))}
    rows = sorted(desk.pool.rows, key=lambda row: first.get(row.arxiv_id, len(first)))
    lines = [desk.line(me, row, places) for row in rows]
    wanted = {name: request.query_params.get(name, "") for name in ("tier", "band", "show")}
    shown = [line for line in lines if _fits(line, wanted)]
    return site.page(
        request,
        "queue.html",
        me,
        lines=shown,
        total=len(lines),
        wanted=wanted,
        tiers=sorted({line.tier for line in lines if line.tier}),
        bands=sorted({line.band for line in lines}, key=lambda b: int(re.match(r"\d*", b)[0] or 9999)),  # type: ignore[index]
        progress=desk.progress(places),
        calibrated=site.calibrated(me),
        share=site.given.share,
    )


def _fits(line: Line, wanted: dict[str, str]) -> bool:
    show_ = wanted["show"]
    return (
        wanted["tier"] in ("", line.tier)
        and wanted["band"] in ("", line.band)
        and (show_ != "stale" or line.stale)
        and (show_ != "disputed" or line.disputed)
        and (show_ != "mine" or bool(line.mine))
        and (show_ != "todo" or line.mine in ("begun", "taken", "stale"))
    )


def next_(site: Site, request: Request, me: Account) -> Response:
    """Take the next row and go there."""
    if not site.calibrated(me):
        return RedirectResponse("/calibrate", 303)
    for _ in range(20):  # others take places too
        found = site.desk.next_row(me)
        if found is None:
            return RedirectResponse("/?show=mine", 303)
        row, place = found
        scope = site.desk.scopes().get(row.paper) if place == 2 else "full"
        try:
            site.desk.assignments.take(row, place, me.name, "target" if scope == "target" else "full", site.given.now())
        except Taken:
            continue
        return RedirectResponse(f"/paper/{row.paper}", 303)
    return site.message(request, me, 503, "Everybody is taking rows at once. Try again.")


def paper(site: Site, request: Request, me: Account) -> Response:
    row = site.desk.pool.row(request.path_params["paper"])
    if row is None:
        return site.message(request, me, 404, "No row of the pool has that id.")
    try:
        shown = site.desk.shown(row)
    except StoreError as error:
        return site.message(request, me, 500, f"The paper's source cannot be read: {error}")
    values = panel(site, me, row, request.query_params.get("q"))
    return site.page(request, "paper.html", me, shown=shown, **values)


def panel(site: Site, me: Account, row: Derivation, asked: str | None = None, **notice: Any) -> dict[str, Any]:
    """What the panel beside a paper shows one person. Nothing of the row's verdict before `revealed`, and nothing that
    another person said, ever."""
    desk = site.desk
    places = desk.places()
    reading = desk.reading(me.name, row, places)
    held = desk.place_of(me.name, row.arxiv_id, places)
    question = next_question(reading, asked)
    known = desk.pool.receipts
    receipts = desk.receipts(row)
    near, others = show.for_signal(Signal(question), row, known) if question in SIGNALS else ([], list(receipts))
    target = row.inputs.target
    values: dict[str, Any] = {
        "reading": reading,
        "marks": {q: reading.mark(q) for q in reading.questions},
        "question": question,
        "held": held,
        "near": [receipts[i] for i in near],
        "others": [receipts[i] for i in others],
        "verdict": verdict(row, question) if question and reading.revealed else None,
        "label": row.label(Signal(question)) if question in SIGNALS and reading.revealed else None,
        "supporting": _supporting(reading, question, site),
        "doubts": desk.shown(row).doubts,
        "differing": [
            one
            for one in desk.pool.disagreements
            # What another reading says of a question that is answered blind waits as the verdict does.
            if one.arxiv_id == row.arxiv_id and (one.question in PROPOSED or reading.revealed)
        ],
        "bar": show.bar_words(target) if target else "",
        "parts": [show.part_words(part) for part in row.inputs.compute],
        "band": desk.band(row),
        "needs_list": NEEDS,
        "last_ten": desk.last_ten(me.name),
        "outcome": None,
        "notice": "",
        "conflict": None,
        "draft": {},
        "checks": {},
        "row": row,
        "guide_version": site.given.guide.version,
        "may": (row.arxiv_id, me.name) not in places.conflicts,
    }
    if reading.revealed:
        values["outcome"] = desk.audited(row) if reading.done else None
    return values | notice


def _supporting(reading: Reading, question: Question | None, site: Site) -> tuple[str, ...]:
    """Receipts on which the person's overturn of a signal can rest, to be ticked already."""
    answer = reading.answers.get(question) if question else None
    if question not in SIGNALS or answer is None or not isinstance(answer.value, bool) or not reading.revealed:
        return ()
    known = site.desk.pool.receipts
    mine, _ = show.for_signal(Signal(question), reading.row, known)
    return tuple(r.id for r in support(Signal(question), answer.value, [known[i] for i in mine]))


def body(site: Site, request: Request, me: Account) -> Response:
    """A recorded body as plain text in a sandbox: only bodies behind this paper's receipts."""
    row = site.desk.pool.row(request.path_params["paper"])
    wanted = request.path_params["sha256"]
    if row is None or wanted not in show.bodies(site.given.store, row, site.desk.pool.receipts):
        return site.message(request, me, 404, "No receipt of this paper rests on such a body.")
    try:
        data = site.given.store.blobs.get(wanted)
    except StoreError:
        return site.message(request, me, 404, "The body was not kept, only its hash.")
    text = data[:MAX_BODY].decode("utf-8", errors="replace")
    if b"\0" in data[:4000]:
        text = f"{len(data)} bytes that are no text, beginning {data[:64].hex(' ')}"
    elif request.query_params.get("as") != "source" and re.search(r"(?i)<(?:!doctype html|html|body)", text[:2000]):
        text = flat(text)
    return PlainTextResponse(text, headers={"content-security-policy": INERT, "content-disposition": "inline"})


def flat(text: str) -> str:
    """A web page as lines of text, links kept."""
    text = re.sub(r"(?is)<(script|style|svg)\b.*?</\1\s*>|<!--.*?-->", "", text)
    text = re.sub(r'(?is)<a\b[^>]*?href\s*=\s*["\']?([^"\'\s>]+)[^>]*>(.*?)</a\s*>', r"\2 [\1]", text)
    text = re.sub(r"(?i)<(?:br|/p|/div|/li|/tr|/h\d)\b[^>]*>", "\n", text)
    text = html.unescape(re.sub(r"<[^>]*>", "", text))
    return re.sub(r"\n\s*\n\s*", "\n\n", re.sub(r"[ \t]+", " ", text)).strip()


def guide(site: Site, request: Request, me: Account) -> Response:
    given = site.given.guide
    return site.page(
        request,
        "guide.html",
        me,
        parts=_markdown(given.text),
        version=given.version,
        examples=calibration.examples(),
        questions=SHORT,
    )


def _markdown(text: str) -> list[dict[str, Any]]:
    """The guide's own Markdown, as far as it uses it: headings, lists, tables, code, paragraphs."""
    parts: list[dict[str, Any]] = []
    for chunk in re.split(r"\n\s*\n", text):
        lines = chunk.strip("\n").split("\n")
        if heading := re.match(r"(#+) (.*)", lines[0]):
            parts.append({"kind": f"h{len(heading[1]) + 1}", "text": heading[2]})
            lines = lines[1:]
        if not lines or not lines[0].strip():
            continue
        if lines[0].startswith("|"):
            cells = [[c.strip() for c in line.strip().strip("|").split("|")] for line in lines]
            parts.append({"kind": "table", "rows": [r for r in cells if not set("".join(r)) <= set("-: ")]})
        elif lines[0].startswith("- "):
            parts.append({"kind": "list", "items": re.split(r"\n- ", "\n".join(lines)[2:])})
        elif lines[0].startswith("    "):
            parts.append({"kind": "code", "text": "\n".join(line.strip() for line in lines)})
        else:
            parts.append({"kind": "p", "text": " ".join(lines)})
    for part in parts:
        for key in ("text", "items", "rows"):
            if key in part:
                part[key] = _plain(part[key])
    return parts


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return re.sub(r"\*\*|`", "", value)


def agreement(site: Site, request: Request, me: Account) -> Response:
    """How far people agree, and how near they are to the guide; for those who judge, not for blind readers."""
    if not me.adjudicates:
        return site.message(request, me, 403, "Agreement is shown to adjudicators: a blind reader must not see it.")
    desk = site.desk
    return site.page(
        request,
        "agreement.html",
        me,
        measured=desk.agreement(),
        accuracy=accuracy(site.calibrations.answers()),
        alone=desk.alone(),
        progress=desk.progress(desk.places()),
    )
