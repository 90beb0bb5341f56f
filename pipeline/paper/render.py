"""TeX's stomach, as far as a reader needs one: walks the tokens once and writes plain text, noting what stands where.

Everything is noted with offsets into the text being written; a cell or a title is written to its own buffer first.
`\\x00key\\x00` and `\\x01key\\x01` stand for references and citations until both are known (reader.py resolves them).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pipeline.paper import symbols
from pipeline.paper.bundle import Bundle
from pipeline.paper.expand import Expander, Macro, OutOfBudget, is_conditional
from pipeline.paper.links import clean_url, looks_linked, urls_in_source
from pipeline.paper.tokens import Source, tokenize

MAX_TEXT = 5_000_000  # characters written
MAX_DEPTH = 400  # open groups and environments that are still told apart
MAX_HIDDEN_LINKS = 2_000  # links in comments and skipped branches

_SPACE = re.compile(r"\s+")
_SPECIAL = frozenset("\\{}$&~^_#%\n")


@dataclass(slots=True)
class RawLink:
    url: str
    raw: str
    source: Source | None
    index: int
    start: int
    end: int
    place: str = ""  # "" = decided by the marks around it
    visible: bool = True
    level: int = 0  # buffer the offsets count in
    text: str = ""
    sentence: str = ""
    key: str = ""  # bibliography entry


@dataclass(slots=True)
class Heading:
    title: str
    start: int
    level: int
    appendix: bool
    number: str


@dataclass(slots=True)
class Env:
    name: str
    groups: int
    math: bool
    end: Callable[[], None] | None = None


@dataclass(slots=True)
class Notes:
    """What the walk found, offsets still those of the unresolved text."""

    links: list[RawLink] = field(default_factory=list)
    marks: list[tuple[int, int, str]] = field(default_factory=list)  # start, end, place
    headings: list[Heading] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    cited: dict[str, None] = field(default_factory=dict)
    bib_files: list[str] = field(default_factory=list)
    bib_labels: dict[str, str] = field(default_factory=dict)
    map_offsets: list[int] = field(default_factory=list)
    map_tokens: list[int] = field(default_factory=list)
    appendix_at: int = -1
    bibliography_at: int = -1


Handler = Callable[["Renderer", str], None]


class Renderer:
    def __init__(self, bundle: Bundle, handlers: dict[str, Any], protected: frozenset[str]) -> None:
        self.tex = Expander(bundle, handlers, protected)
        self.tex.dropped = self.note_hidden
        self.notes = Notes()
        self.out: list[str] = []
        self.pos = 0
        self.space = True  # the text so far ends in white space
        self.math = False
        self.display = False
        self.groups: list[Callable[[], None] | None] = []
        self.envs: list[Env] = []
        self.buffers: list[tuple[list[str], int, bool]] = []
        self.counters: dict[str, int] = {}
        self.here_number = ""  # what \label names now
        self.label_sink: Callable[[str], None] | None = None
        self.appendix = False
        self.body = False  # after \begin{document}
        self.ended = False
        self.cell: Any = None  # open table (tables.OpenTabular)
        self.floats: list[Any] = []
        self.tables: list[Any] = []
        self.items: list[Any] = []
        self.titles: list[str] = []
        self.authors: list[str] = []
        self.front_links: list[RawLink] = []
        self.warnings = bundle.warnings
        self.hidden = 0
        self.here_section = "0"
        self.within: set[str] = set()
        self.pending_sub = ""
        self.main = ""
        self.pending_bib: list[Source] | None = None
        self.references_piece = 0
        self.references_start = 0
        self.bib_count = 0
        self.bib_starts: list[tuple[int, str]] = []

    # -- writing

    def emit(self, text: str) -> None:
        if text:
            self.out.append(text)
            self.pos += len(text)
            self.space = text[-1] in " \n"
            if self.pos > MAX_TEXT:
                raise OutOfBudget

    def write(self, text: str) -> None:
        """Text from the source, white space as TeX sees it."""
        if "\n" in text or "  " in text or "\t" in text:
            text = _SPACE.sub(" ", text)
        if not self.math:
            text = quotes(text)
        if self.space and text[0] == " ":
            text = text[1:]
        self.emit(text)

    def blank(self) -> None:
        if not self.space:
            self.out.append(" ")
            self.pos += 1
            self.space = True

    def line(self) -> None:
        """Start a new line."""
        if self.buffers:
            self.blank()
            return
        if self.pos and not (self.out and self.out[-1].endswith("\n")):
            self.emit("\n")
        self.space = True

    def paragraph(self) -> None:
        if self.buffers:
            self.blank()
            return
        if not self.pos:
            return
        last = self.out[-1]
        if last.endswith("\n\n") or (last == "\n" and len(self.out) > 1 and self.out[-2].endswith("\n")):
            return
        self.emit("\n" if last.endswith("\n") else "\n\n")

    def tail(self, index: int, start: int) -> str:
        """What was written since `self.out` had `index` pieces."""
        return "".join(self.out[index:])

    def open_buffer(self) -> None:
        self.buffers.append((self.out, self.pos, self.space))
        self.out, self.pos, self.space = [], 0, True

    def close_buffer(self) -> str:
        text = "".join(self.out)
        self.out, self.pos, self.space = self.buffers.pop()
        return text

    # -- groups

    def group(self, close: Callable[[], None] | None) -> None:
        """Open the group that should follow; `close` runs at its end (at once when no group follows)."""
        token = self.tex.skip_space()
        if token == "{":
            self.tex.frame.i += 1
            self.groups.append(close)
        elif close is not None:
            if token is not None and token not in ("}", "&") and not token.startswith(("\\begin", "\\end")):
                self.tex.push([*self.tex.argument(), "}"])
                self.groups.append(close)
            else:
                close()

    def close_group(self) -> None:
        if self.groups:
            close = self.groups.pop()
            if close is not None:
                close()

    def in_text(self) -> Callable[[], None]:
        """Leave math for a group; the result restores it."""
        math, self.math = self.math, False

        def restore() -> None:
            self.math = math

        return restore

    # -- environments

    def open_env(self, name: str, end: Callable[[], None] | None = None) -> None:
        if len(self.envs) > MAX_DEPTH:
            raise OutOfBudget
        self.envs.append(Env(name, len(self.groups), self.math, end))

    def close_env(self, name: str) -> None:
        """Ends the innermost environment of that name, and whatever was left open inside it."""
        if not any(e.name == name for e in self.envs[-60:]):
            return
        while self.envs:
            env = self.envs.pop()
            while len(self.groups) > env.groups:
                self.close_group()
            self.math = env.math
            if env.end is not None:
                env.end()
            if env.name == name:
                return

    def inside(self, names: frozenset[str]) -> bool:
        return any(e.name in names for e in self.envs)

    # -- links

    def note_hidden(self, token: str) -> None:
        """Links in comments and in text TeX skips."""
        if not looks_linked(token) or self.hidden >= MAX_HIDDEN_LINKS:
            return
        source, index = self.tex.here()
        for url, raw in urls_in_source(token[:5_000]):
            self.hidden += 1
            shown = token.strip().lstrip("%").strip()[:600]
            self.notes.links.append(RawLink(url, raw, source, index, -1, -1, "comment", False, text="", sentence=shown))

    def add_link(self, raw: str, start: int, end: int, text: str) -> RawLink | None:
        url = clean_url(raw)
        if not url:
            return None
        source, index = self.tex.here()
        link = RawLink(url, raw, source, index, start, end, level=len(self.buffers), text=text)
        if not self.body and not self.buffers:
            link.place, link.visible = "unrendered", False
        (self.front_links if self.front else self.notes.links).append(link)
        return link

    @property
    def front(self) -> bool:
        """Inside \\title or \\author."""
        return any(e.name in ("\x02title", "\x02author") for e in self.envs)

    # -- the walk

    def run(self) -> None:
        try:
            self._walk()
        except OutOfBudget:
            source, index = self.tex.here()
            at = f" near line {source.line_of(index)} of {source.path}" if source else ""
            self.warnings.append(f"reading stopped{at}: the source expands beyond what a paper may cost")
            self.tex.frames.clear()
        self._finish()

    def _finish(self) -> None:
        self.tex.frames.clear()
        self.tex.frame.i = self.tex.frame.n
        try:
            while self.envs:
                self.close_env(self.envs[-1].name)
            while self.groups:
                self.close_group()
        except OutOfBudget:
            self.envs.clear()
            self.groups.clear()
        while self.buffers:
            rest = self.close_buffer()
            if self.pos < MAX_TEXT:
                self.out.append(rest)
                self.pos += len(rest)

    def _walk(self) -> None:
        tex = self.tex
        table = tex.table
        note_offset, note_token = self.notes.map_offsets.append, self.notes.map_tokens.append
        special = _SPECIAL
        while not self.ended:
            frame = tex.frame
            toks, n = frame.toks, frame.n
            base = frame.base if frame.source is not None else -1
            while frame.i < n:
                i = frame.i
                token = toks[i]
                frame.i = i + 1
                first = token[0]
                if first not in special or (first == "\n" and not token.isspace()):
                    # plain text, by far the most frequent: written here rather than by `write`
                    if base >= 0 and not self.buffers:
                        note_offset(self.pos)
                        note_token(base + i)
                    if "\n" in token:
                        token = token.replace("\n", " ")
                    if "  " in token or "\t" in token:
                        token = _SPACE.sub(" ", token)
                    if not self.math and ("-" in token or "`" in token or "'" in token):
                        token = quotes(token)
                    if self.space and token[0] == " ":
                        token = token[1:]
                        if not token:
                            continue
                    self.out.append(token)
                    self.pos += len(token)
                    self.space = token[-1] == " "
                    if self.pos > MAX_TEXT:
                        raise OutOfBudget
                    continue
                if first == "\\":
                    action = table.get(token)
                    if action is None:
                        self.unknown(token)
                    elif type(action) is str:
                        if action and action[0] != " ":
                            self.out.append(action)
                            self.pos += len(action)
                            self.space = False
                            continue
                        self.symbol(action)
                    elif type(action) is Macro:
                        tex.call(action)
                    else:
                        action(self, token)
                elif first == "{":
                    self.groups.append(None)
                    continue
                elif first == "}":
                    if self.groups:
                        close = self.groups.pop()
                        if close is None:
                            continue
                        close()
                elif first == "\n":
                    self.newlines(token)
                    continue
                elif first == "$":
                    if frame.i < n and toks[frame.i] != "$":
                        self.math = not self.math
                        self.display = False
                        continue
                    self.dollar()
                elif first == "&":
                    self.ampersand()
                elif first == "%":
                    if "/" in token or "." in token:
                        self.note_hidden(token)
                    if frame.i < n and toks[frame.i][0] == "\n":
                        self.paragraph()
                elif first == "~":
                    self.blank()
                elif first == "#":
                    self.emit(token)
                else:
                    self.script(token)
                if tex.frame is not frame or self.ended:
                    break
            else:
                if not tex.pop():
                    return

    def newlines(self, token: str) -> None:
        """White space with a line end in it: an empty line ends the paragraph, and math that was left open."""
        if token.count("\n") > 1:
            if self.math and not self.display:
                self.math = False
            self.paragraph()
        else:
            self.blank()

    def symbol(self, text: str) -> None:
        if not text:
            return
        if text[0] == " " and not text.strip():
            # 12\,345 is one number; elsewhere a thin space is a space
            if self.out and self.out[-1][-1:].isdigit():
                ahead = self.tex.peek()
                if ahead is not None and ahead[:3].isdigit() and not ahead[3:4].isdigit():
                    return
            self.blank()
            return
        self.emit(text)

    def unknown(self, token: str) -> None:
        if token.startswith("\\begin{"):
            self.begin(token[7:-1])
        elif token.startswith("\\end{"):
            self.end(token[5:-1])
        elif token.startswith(("\\url", "\\path", "\\nolinkurl", "\\burl", "\\href")) and token[-1] == "}":
            self.address(token)
        elif token.startswith(("\\verb", "\\lstinline")) and len(token) > 6:
            body = token.split("verb", 1)[-1] if token.startswith("\\verb") else token[10:]
            self.emit(body.lstrip("*")[1:-1])
        elif token.startswith("\\if") and is_conditional(token):
            self.conditional(token)
        elif token[-1] == "*" and token[:-1] in self.tex.table:
            self.tex.push([token[:-1]])
        else:
            ahead = self.tex.peek()
            if ahead is not None and ahead[0] == "[" and ahead.rstrip().endswith("]") and not self.math:
                frame = self.tex.frame
                if frame.i + 1 < frame.n and frame.toks[frame.i + 1] == "{":
                    frame.i += 1  # \unknown[options]{text}

    def conditional(self, token: str) -> None:
        taken = self.tex.decide(token)
        if taken is None:
            note = f"{token} cannot be decided from the source: its first branch is read"
            if note not in self.warnings[-20:]:
                self.warnings.append(note)
        if taken is False:
            self.tex.skip_branch(to_else=True)

    def dollar(self) -> None:
        if self.tex.peek() == "$":
            self.tex.frame.i += 1
            self.math = self.display = not self.math
            self.blank()
            return
        self.math = not self.math
        self.display = False

    def ampersand(self) -> None:
        if self.cell is not None and len(self.groups) == self.cell.depth:
            self.cell.end_cell(self)
        else:
            self.blank()

    def script(self, token: str) -> None:
        """Sub- and superscripts: braces only where more than one character hangs on."""
        self.emit(token)
        if not self.math:
            return
        tex = self.tex
        frame = tex.frame
        if frame.i < frame.n and frame.toks[frame.i] == "{":
            toks, i = frame.toks, frame.i
            if i + 2 < frame.n and toks[i + 2] == "}":
                inner = toks[i + 1]
                if inner[0] == "\\" or len(inner.strip()) == 1 or inner.strip().lstrip("-−").isdigit():
                    return  # x_{i}, 10^{-3}: read on as if the braces were not there
                if inner.strip() == "":
                    return
            frame.i += 1
            self.emit("{")
            self.groups.append(self.close_script)

    def close_script(self) -> None:
        self.emit("}")

    def address(self, token: str) -> None:
        """\\url{...} and the first half of \\href{...}{...}, captured whole by the tokenizer."""
        name, _, raw = token[:-1].partition("{")
        if "\\" in raw:
            raw = self.tex.flat(tokenize(raw))
        if name.strip().startswith("\\href"):
            self.href(raw)
            return
        shown = clean_url(raw) if name.strip() != "\\path" else ""
        literal = re.sub(r"\s+", "", raw).replace("\\_", "_").replace("\\%", "%").replace("\\#", "#")
        if shown.startswith("https://") and "://" not in raw:
            shown = literal
        start = self.pos
        self.emit(shown or literal)
        if name.strip() != "\\path" or "://" in raw:
            self.add_link(raw, start, self.pos, literal)

    def href(self, raw: str) -> None:
        start, pieces = self.pos, len(self.out)
        link = self.add_link(raw, start, start, "")

        def close() -> None:
            text = "".join(self.out[pieces:]).strip()
            if link is None:
                return
            link.text = text
            bare = re.sub(r"^https?://|/$", "", link.url).lower()
            if re.sub(r"^https?://|/$", "", text.replace(" ", "")).lower() != bare and link.visible:
                self.emit(f" ({link.url})" if text else link.url)
            link.end = self.pos

        self.group(close)

    def begin(self, name: str) -> None:
        tex = self.tex
        defined = tex.environments.get(name)
        if defined is not None:
            opening, closing = defined
            self.open_env(name, lambda: tex.push(closing.body))
            tex.call(opening)
            return
        pattern = symbols.ENVIRONMENT_ARGUMENTS.get(name)
        math = name.rstrip("*") in symbols.MATH_ENVIRONMENTS
        if name in symbols.DROPPED_ENVIRONMENTS:
            self.drop_environment(name)
            return
        self.open_env(name)
        if math:
            if not self.math:
                self.math = self.display = True
                self.paragraph()
                env = self.envs[-1]
                env.end = self.paragraph
                if not name.endswith("*") and name in ("equation", "align", "gather", "multline", "eqnarray"):
                    self.here_number = self.step("equation")
            if pattern:
                tex.skip(pattern)
            return
        tex.skip(pattern) if pattern else None
        if not pattern:
            given = tex.optional()
            if given and name.rstrip("*") in _THEOREMS:
                self.theorem(name, tex.flat(given))
                return
        if name in symbols.LISTS:
            self.line()
            self.envs[-1].end = self.line
        elif name.rstrip("*") in _THEOREMS:
            self.theorem(name, "")

    def theorem(self, name: str, note: str) -> None:
        self.paragraph()
        number = self.step("theorem")
        self.here_number = number
        self.emit(f"{_THEOREMS[name.rstrip('*')]}{' (' + note + ')' if note else ''}. ")
        self.envs[-1].end = self.paragraph

    def end(self, name: str) -> None:
        self.close_env(name)

    def drop_environment(self, name: str) -> None:
        """A drawing: nothing in it is text."""
        tex, closing = self.tex, f"\\end{{{name}}}"
        depth = 0
        while (token := tex.next()) is not None:
            if token == closing:
                if not depth:
                    return
                depth -= 1
            elif token == f"\\begin{{{name}}}":
                depth += 1
            elif token == "\\end{document}":
                tex.push([token])
                return

    def step(self, counter: str) -> str:
        self.counters[counter] = self.counters.get(counter, 0) + 1
        return str(self.counters[counter])


_THEOREMS = {
    n: n.capitalize()
    for n in [
        "theorem",
        "lemma",
        "proposition",
        "corollary",
        "definition",
        "remark",
        "assumption",
        "example",
        "claim",
        "proof",
        "fact",
        "observation",
        "conjecture",
    ]
} | {"thm": "Theorem", "lem": "Lemma", "prop": "Proposition", "cor": "Corollary", "defn": "Definition", "rem": "Remark"}


def quotes(text: str) -> str:
    """TeX's dashes and quotation marks."""
    return (
        text.replace("---", "—").replace("--", "–").replace("``", "“").replace("''", "”").replace("`", "‘")
        if "--" in text or "`" in text or "''" in text
        else text
    )


def accent(base: str, mark: str) -> str:
    return unicodedata.normalize("NFC", base[:1] + mark) + base[1:]
