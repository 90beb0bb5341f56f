"""What a language model reads: the task and the guide as instructions, then one paper, once and readable.

The stable part comes first, so that a provider's cache hits. Tables stand in the text as the grids whose cells an
answer names. Appendices and bibliography come last and are cut by rule where the message would be too long; what was
cut is said to the model and recorded with the episode.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from classifiers import guide, prompts
from classifiers.toolbox import Desk, PaperInput
from pipeline.artifacts import ARTIFACT_HOSTS, on, presented_as_own
from pipeline.evidence import Receipt
from pipeline.paper import Paper, Table

SHORT_ID = 12
"""Hex digits of a receipt's id that a model reads and may cite; the whole id is put back before anything is checked."""
MAX_LINKS, MAX_PATHS, MAX_MENTIONS = 60, 120, 30
FACTS, CAPTION, MENTION, EXCERPT = 320, 80, 160, 3_000
"""Characters shown of a link's facts, a caption in the inventory, a compute mention, a file of the supplement."""
PUBLISHED_FILES, PUBLISHED_EXCERPT = 12, 12_000
"""Files of the supplement that the published classifier read from, and characters of each."""

_TOKEN = re.compile(r"[^\W\d_]{1,6}|\d{1,3}|[^\w\s]|_|\n")
_CODE = re.compile(r"(^|/)(readme[^/]*|[^/]*\.(py|ipynb|sh|ya?ml|toml|json|md|txt|cfg))$", re.IGNORECASE)
_README = re.compile(r"(^|/)(readme[^/]*|[^/]*\.md)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Message:
    """The first message about a paper. `cut` says what was left out, one line each."""

    text: str
    cut: tuple[str, ...] = ()


def tokens(text: str) -> int:
    """How many tokens a text is, by a fixed rule that needs no tokenizer: a token for up to six letters in a row, up to
    three digits, any other sign, a line's end. Real tokenizers differ by some tens of percent, and not in ratios.
    """
    return sum(1 for _ in _TOKEN.finditer(text))


def instructions(*, searches_web: bool = False) -> str:
    """The system's part, equal for all papers: task, what is said of the web search where there is one, and guide."""
    told = [prompts.task().text, *([prompts.web_search().text] if searches_web else []), guide.load().text]
    return "\n\n".join(told)


def message(desk: Desk, linked: Sequence[str], room: int) -> Message:
    """Our message about the desk's paper: at most `room` tokens by `tokens`."""
    given = desk.given
    known = {r.id: r for r in desk.receipts}
    about = [
        f"# {given.record}: {given.paper.title or given.title}",
        *_supplement(given),
        "## Where the paper's links lead (opened before you were asked)",
        *_links(given.paper, [known[i] for i in linked]),
        "## Tables and figures",
        *(
            f"- {i.kind} {i.number}{' (results)' if i.results else ''}: {_short(i.caption)}"
            for i in given.paper.inventory
        ),
        "## Sentences about compute",
        *_mentions(given.paper),
        "## The paper",
    ]
    head = "\n".join(about)
    body, cut = _body(given.paper, room - tokens(head))
    told = [f"## Left out of the paper\n{chr(10).join(f'- {line}' for line in cut)}"] if cut else []
    note = [given.note] if given.note else []
    return Message("\n".join([head, body, *told, *note]), tuple(cut))


def published(desk: Desk) -> Message:
    """The message as the published classifier had it: the rendered text, the supplement's manifest with excerpts, all
    LaTeX. Nothing of the link check. Raises ValueError where the LaTeX was not handed in.
    """
    given = desk.given
    if not given.latex:
        raise ValueError("the published prompt shows all LaTeX, and none was read for it")
    files = [f"- {path} ({size} bytes)" for path, size in given.supplement]
    first = sorted(given.texts, key=lambda one: (_CODE.search(one[0]) is None, one[0]))[:PUBLISHED_FILES]
    parts = [
        f"# {given.record}: {given.paper.title or given.title}",
        "## Supplement" if files else "There is no supplement.",
        *files,
        *(f"### {path}\n{text[:PUBLISHED_EXCERPT]}" for path, text in first),
        "## Rendered text",
        given.paper.text,
        "## LaTeX",
        given.latex,
        *([given.note] if given.note else []),
    ]
    return Message("\n".join(parts))


def latex_of(files: Mapping[str, bytes]) -> str:
    """All .tex files behind one another, each under its name."""
    found = sorted(path for path in files if path.lower().endswith(".tex"))
    return "\n".join(f"%%% {path}\n{files[path].decode('utf-8', 'replace')}" for path in found)


def texts_of(files: Mapping[str, bytes], *, code: bool = False) -> tuple[tuple[str, str], ...]:
    """The supplement's texts that matter, outermost first: READMEs, and code-like files where asked for."""
    wanted = _CODE if code else _README
    found = sorted((p for p in files if wanted.search(p)), key=lambda p: (p.count("/"), p))
    most, size = (PUBLISHED_FILES, PUBLISHED_EXCERPT) if code else (4, EXCERPT)
    return tuple((path, files[path][: 4 * size].decode("utf-8", "replace")[:size]) for path in found[:most])


def _supplement(given: PaperInput) -> Iterator[str]:
    if not given.supplement:
        yield "There is no supplement."
        return
    yield f"## Supplement: {len(given.supplement)} files"
    likely = sorted(given.supplement, key=lambda f: (_CODE.search(f[0]) is None, f[0].count("/"), f[0]))
    yield from (f"- {path} ({size} bytes)" for path, size in likely[:MAX_PATHS])
    if len(likely) > MAX_PATHS:
        yield f"- … and {len(likely) - MAX_PATHS} more; supplement_file with an empty path lists all"
    yield from (f"### {path}\n{text}" for path, text in given.texts)


def _links(paper: Paper, receipts: Sequence[Receipt]) -> Iterator[str]:
    """What was opened, once a place; facts only of what could be an artifact."""
    shown: set[str] = set()
    hidden = {link.url for link in paper.links if not link.visible}
    own = {link.url for link in paper.links if presented_as_own(link, paper.title)}
    for receipt in receipts:
        if receipt.subject in shown or len(shown) >= MAX_LINKS:
            continue
        shown.add(receipt.subject)
        asked = str(receipt.arguments.get("url") or receipt.arguments.get("repo") or "")
        told = f"- {receipt.subject} [{receipt.id[:SHORT_ID]}] {receipt.outcome}: {receipt.reason}"
        if asked and any(asked in url for url in own):
            told += "; the paper's own"
        if asked and any(asked in url for url in hidden):
            told += "; not shown to readers"
        if receipt.facts and (on(_url(receipt), ARTIFACT_HOSTS) or "paper's own" in told):
            told += "; " + json.dumps(dict(receipt.facts), ensure_ascii=False, sort_keys=True)[:FACTS]
        yield told
    if not shown:
        yield "- none"
    if left := len({r.subject for r in receipts}) - len(shown):
        yield f"- … and {left} more"


def _url(receipt: Receipt) -> str:
    kind, _, rest = receipt.subject.partition(":")
    return {"github": f"https://github.com/{rest}", "hf": "https://huggingface.co/x/y"}.get(kind, rest)


def _short(caption: str) -> str:
    return caption if len(caption) <= CAPTION else caption[:CAPTION] + "…"


def _mentions(paper: Paper) -> Iterator[str]:
    """Sentences about devices and times, each once; they also bring back what a cut appendix says of them."""
    quotes = list(dict.fromkeys(m.quote[:MENTION] for m in paper.compute))
    yield from (f"- {quote}" for quote in quotes[:MAX_MENTIONS])
    if not quotes:
        yield "- none"


# ------------------------------------------------------------------------------------------------ the paper's text


@dataclass(frozen=True, slots=True)
class _Piece:
    """A stretch of the text; `rank` is the order in which pieces stay: 0 main, 1 telling appendix, 2 other appendix,
    3 bibliography.
    """

    name: str
    start: int
    end: int
    rank: int


def _body(paper: Paper, room: int) -> tuple[str, list[str]]:
    """The text with its tables as grids, the main part first, and what was cut: bibliography first, then appendices
    that print neither results nor compute, the last first, then the others; at worst the end of the main part.
    """
    pieces = _pieces(paper)
    texts = {piece: _shown(paper, piece.start, piece.end) for piece in pieces}
    sizes = {piece: tokens(text) for piece, text in texts.items()}
    kept, cut = list(pieces), []
    for piece in sorted(pieces, key=lambda p: (p.rank, p.start), reverse=True):
        if sum(sizes[p] for p in kept) <= room or piece.rank == 0:
            break
        kept.remove(piece)
        cut.append(f"{piece.name}, {sizes[piece]} tokens")
    body = "".join(texts[p] for p in sorted(kept, key=lambda p: (p.rank > 0, p.rank == 3, p.start)))
    if (size := tokens(body)) > room:
        ends = [found.end() for found in _TOKEN.finditer(body)][: max(room, 0)]
        body = body[: ends[-1]] if ends else ""
        cut.append(f"the end of the main part, {size - len(ends)} tokens")
    return body, cut


def _pieces(paper: Paper) -> list[_Piece]:
    """Main part, appendices by top section, bibliography: all of the text, each character once, in reading order."""
    size = len(paper.text)
    marks: dict[int, tuple[str, int]] = {0: ("main part", 0)}
    top = min((s.level for s in paper.sections if s.appendix), default=1)
    telling = [t.anchor.offset for t in paper.tables if t.place == "appendix"]
    telling += [m.anchor.offset for m in paper.compute]
    for section in (s for s in paper.sections if s.appendix and s.level == top):
        tells = any(section.start <= place < section.end for place in telling)
        marks[section.start] = (f"appendix {section.number} {section.title}".strip(), 1 if tells else 2)
    listed = [s.anchor.offset for s in paper.sentences() if s.place == "bibliography" and s.anchor.offset >= 0]
    if listed:
        start, last = min(listed), max(listed)
        after = next((at for at in sorted(marks) if at > last), None)
        covered = max((at for at in marks if at <= start), default=0)
        resumed = marks[covered]
        marks = {at: mark for at, mark in marks.items() if not start <= at <= last}
        marks[start] = ("bibliography", 3)
        end = paper.text.find("\n\n", last)
        if after is None and 0 <= end < size - 1:
            marks.setdefault(end, resumed)  # what follows the references belongs to the part that they interrupt
        elif after is not None and 0 <= end < after:
            marks.setdefault(end, resumed)
    places = sorted(marks)
    return [_Piece(marks[a][0], a, b, marks[a][1]) for a, b in zip(places, [*places[1:], size], strict=True) if a < b]


def _shown(paper: Paper, start: int, end: int) -> str:
    """A stretch of the text in which every table is the grid that answers point into."""
    out, at = [], start
    for table in sorted(paper.tables, key=lambda t: t.anchor.offset):
        if start <= table.anchor.offset < table.end <= end and table.anchor.offset >= at:
            out += [paper.text[at : table.anchor.offset], "\n".join(grid(table)), "\n"]
            at = table.end
    return "".join([*out, paper.text[at:end]])


def grid(table: Table) -> Iterable[str]:
    """A table's rows with their numbers; `=` stands where a spanning cell goes on."""
    yield f"[table {table.number or '?'}: columns 0 to {table.columns - 1}]"
    for number, row in enumerate(table.grid):
        cells = ("" if c is None else c.text if (c.row, c.column) == (number, k) else "=" for k, c in enumerate(row))
        yield f"{number}: " + " | ".join(cells)
