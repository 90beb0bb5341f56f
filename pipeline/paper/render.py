"""TeX's stomach, as far as a reader needs one: walks the tokens once and writes plain text, noting what stands where.

Everything is noted with offsets into the text being written; a cell or a title is written to its own buffer first.
`\\x00key\\x00` and `\\x01key\\x01` stand for references and citations until both are known (reader.py resolves them).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pipeline.paper import environments
from pipeline.paper.bundle import Bundle
from pipeline.paper.conditionals import decide, is_conditional, skip_branch
from pipeline.paper.expand import Expander, Macro, OutOfBudget
from pipeline.paper.links import clean_url, looks_linked, urls_in_source
from pipeline.paper.notes import Env, Notes, RawLink
from pipeline.paper.tokens import Source, tokenize
from pipeline.paper.writer import MAX_TEXT, SPACE, Writer, quotes

MAX_DEPTH = 400  # open groups and environments that are still told apart
MAX_STEPS = 8_000_000  # tokens walked over, files read again and macros included; a long paper has half a million
MAX_OPEN = 60  # open captions, headings, footnotes, links: whoever opens more has left them open
MAX_HIDDEN_LINKS = 2_000  # links in comments and skipped branches

_SPECIAL = frozenset("\\{}$&~^_#%\n")


Handler = Callable[["Renderer", str], None]


class Renderer(Writer):
    def __init__(self, bundle: Bundle, handlers: dict[str, Any], protected: frozenset[str]) -> None:
        super().__init__()
        self.tex = Expander(bundle, handlers, protected)
        self.tex.dropped = self.note_hidden
        self.notes = Notes()
        self.display = False
        self.groups: list[Callable[[], None] | None] = []
        self.waiting = 0  # of these, the ones `group` opened with something to do at their end
        self.envs: list[Env] = []
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

    # -- groups

    def group(self, close: Callable[[], None] | None) -> None:
        """Open the group that should follow; `close` runs at its end (at once when no group follows)."""
        token = self.tex.skip_space()
        if close is not None:
            if self.waiting >= MAX_OPEN:
                close()
                close = None
            else:
                close = self.counted(close)
        if token == "{":
            self.tex.frame.i += 1
            self.groups.append(close)
        elif close is not None:
            if token is not None and token not in ("}", "&") and not token.startswith(("\\begin", "\\end")):
                self.tex.push([*self.tex.argument(), "}"])
                self.groups.append(close)
            else:
                close()

    def counted(self, close: Callable[[], None]) -> Callable[[], None]:
        self.waiting += 1

        def closing() -> None:
            self.waiting -= 1
            close()

        return closing

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
            self.waiting = 0
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
        frame, entered, steps = tex.frame, tex.frame.i, 0
        while not self.ended:
            steps += frame.i - entered + 1
            if steps > MAX_STEPS:
                raise OutOfBudget
            frame, entered = tex.frame, tex.frame.i
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
                        token = SPACE.sub(" ", token)
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
            environments.begin(self, token[7:-1])
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
        taken = decide(self.tex, token)
        if taken is None:
            note = f"{token} cannot be decided from the source: its first branch is read"
            if note not in self.warnings[-20:]:
                self.warnings.append(note)
        if taken is False:
            skip_branch(self.tex, to_else=True)

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
            text = self.tail(pieces)
            if link is None:
                return
            link.text = text
            bare = re.sub(r"^https?://|/$", "", link.url).lower()
            if re.sub(r"^https?://|/$", "", text.replace(" ", "")).lower() != bare and link.visible:
                self.emit(f" ({link.url})" if text else link.url)
            link.end = self.pos

        self.group(close)

    def end(self, name: str) -> None:
        self.close_env(name)

    def step(self, counter: str) -> str:
        self.counters[counter] = self.counters.get(counter, 0) + 1
        return str(self.counters[counter])
