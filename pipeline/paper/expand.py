"""TeX's mouth: token lists on a stack, the author's macros, conditionals, \\input. One budget pays for every loop."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from typing import Any

from pipeline.paper.bundle import Bundle
from pipeline.paper.tokens import Source

MAX_TOKENS = 3_000_000  # tokens pushed over one reading, macro expansions included
MAX_FRAMES = 2_000  # nested macros and files
MAX_INPUTS = 2_000  # files pushed, repetitions included
MAX_ARGUMENT = 60_000  # tokens of one macro argument
MAX_PARAMETER_TEXT = 40

Tokens = list[str]


class OutOfBudget(Exception):
    """The source asks for more work than a paper may cost; what was read so far stands."""


class Frame:
    __slots__ = ("base", "close", "folder", "i", "n", "source", "toks")

    def __init__(self, toks: Tokens, source: Source | None = None, base: int = 0) -> None:
        self.toks, self.i, self.n = toks, 0, len(toks)
        self.source, self.base = source, base
        self.folder = posixpath.dirname(source.path) if source else ""
        self.close: Callable[[], None] | None = None


class Macro:
    """One author's definition; `used` says whether the visible document ever expanded it."""

    __slots__ = ("body", "default", "delimiters", "index", "name", "params", "prefix", "source", "used")

    def __init__(self, name: str, params: int, default: Tokens | None, body: Tokens) -> None:
        self.name, self.params, self.default = name, params, default
        # a macro that calls itself never ends in TeX; here the inner call prints nothing
        self.body = [t for t in body if t[0] != "%" and t != name]
        self.delimiters: tuple[str, ...] = ()
        self.prefix = ""  # what \\def wants before the first parameter
        self.used = False
        self.source: Source | None = None
        self.index = 0


class Expander:
    """Delivers tokens; knows what a name means (`table`): a string to print, a Macro, or a handler."""

    def __init__(self, bundle: Bundle, table: dict[str, Any], protected: frozenset[str]) -> None:
        self.bundle = bundle
        self.table = table
        self.protected = protected
        self.harvesting = False  # in a style file: it may add names, not change them
        self.frames: list[Frame] = []
        self.frame = Frame([])
        self.budget = MAX_TOKENS
        self.inputs = 0
        self.flags: dict[str, bool] = {}
        self.macros: list[Macro] = []
        self.environments: dict[str, tuple[Macro, Macro]] = {}
        self.sources: dict[str, Source] = {}
        self.bases: list[int] = []
        self.based: list[Source] = []
        self._next_base = 0
        self.folder = ""
        self.dropped: Callable[[str], None] = lambda token: None

    # -- frames

    def push(self, toks: Tokens) -> None:
        if not toks:
            return
        self.budget -= len(toks) + 1
        if self.budget < 0 or len(self.frames) > MAX_FRAMES:
            raise OutOfBudget
        frame = self.frame
        if frame.i < frame.n or frame.source is not None:
            self.frames.append(frame)  # a spent macro frame is dropped: tail calls cost no depth
        self.frame = Frame(toks)

    def spend(self, steps: int) -> None:
        """Pay for work that no pushed token pays for."""
        self.budget -= steps
        if self.budget < 0:
            raise OutOfBudget

    def pop(self) -> bool:
        """Leave a spent frame; False at the end of everything."""
        close = self.frame.close
        if not self.frames:
            if self.frame.n:
                self.frame = Frame([])
            return False
        self.frame = self.frames.pop()
        if close:
            close()
        return True

    def source(self, path: str) -> Source:
        if path not in self.sources:
            self.sources[path] = Source(path, self.bundle.text(path))
        return self.sources[path]

    def push_file(self, path: str) -> bool:
        if any(f.source is not None and f.source.path == path for f in (*self.frames, self.frame)):
            self.bundle.warnings.append(f"\\input loop: {path} is already being read")
            return False
        self.inputs += 1
        if self.inputs > MAX_INPUTS:
            raise OutOfBudget
        source = self.source(path)
        self.budget -= len(source.tokens) // 4 + 20
        if self.budget < 0 or len(self.frames) > MAX_FRAMES:
            raise OutOfBudget
        self.frames.append(self.frame)
        self.frame = Frame(source.tokens, source, self._next_base)
        self.bases.append(self._next_base)
        self.based.append(source)
        self._next_base += len(source.tokens) + 1
        return True

    def end_file(self) -> None:
        """\\endinput: nothing more of the file being read."""
        for frame in (self.frame, *reversed(self.frames)):
            for token in frame.toks[frame.i :]:
                self.dropped(token)
            frame.i = frame.n
            if frame.source is not None:
                return

    def file_frame(self) -> Frame:
        """The file frame that what is being read came from."""
        if self.frame.source is not None:
            return self.frame
        for frame in reversed(self.frames):
            if frame.source is not None:
                return frame
        return self.frame

    def here(self) -> tuple[Source | None, int]:
        frame = self.file_frame()
        return frame.source, max(frame.i - 1, 0)

    # -- tokens and arguments

    def next(self) -> str | None:
        frame = self.frame
        while frame.i >= frame.n:
            if not self.pop():
                return None
            frame = self.frame
        token = frame.toks[frame.i]
        frame.i += 1
        return token

    def peek(self) -> str | None:
        frame = self.frame
        while frame.i >= frame.n:
            if frame.source is not None or not self.pop():
                return None
            frame = self.frame
        return frame.toks[frame.i]

    def skip_space(self) -> str | None:
        """Pass white space and comments; the token that follows, not taken."""
        while (token := self.peek()) is not None:
            if token[0] == "%" or (token[0] in " \n\t" and not token.strip()):
                if token[0] == "%":
                    self.dropped(token)
                self.frame.i += 1
                continue
            if token[0] in " \n\t":
                self.frame.i += 1
                self.push([token.lstrip()])
                return self.frame.toks[0]
            return token
        return None

    def argument(self) -> Tokens:
        """The next {group} without its braces, or the next single token."""
        token = self.skip_space()
        if token is None or token == "}" or token == "&" or token.startswith("\\end{"):
            return []
        self.frame.i += 1
        if token == "{":
            return self._balanced()
        if token[0] not in "\\$#~^_" and len(token) > 1:
            self.push([token[1:]])
            return [token[0]]
        return [token]

    def _balanced(self) -> Tokens:
        frame = self.frame
        toks, start, n = frame.toks, frame.i, frame.n
        depth = 1
        stop = min(n, start + MAX_ARGUMENT)
        for j in range(start, stop):
            token = toks[j]
            if token == "{":
                depth += 1
            elif token == "}":
                depth -= 1
                if not depth:
                    frame.i = j + 1
                    self.budget -= (j - start) // 4
                    return toks[start:j]
        taken = toks[start:stop]
        frame.i = stop
        self.budget -= stop - start
        if self.budget < 0:
            raise OutOfBudget
        if frame.source is not None or stop < n or not self.frames:
            self.bundle.warnings.append(f"a brace is not closed after line {self._line()}")
            return taken
        while depth and len(taken) < MAX_ARGUMENT and (more := self.next()) is not None:
            depth += (more == "{") - (more == "}")
            if depth:
                taken.append(more)
        return taken

    def _line(self) -> str:
        source, index = self.here()
        return f"{source.line_of(index)} of {source.path}" if source else "?"

    def optional(self) -> Tokens | None:
        """The next [argument], if one follows."""
        token = self.peek()
        if token is None or not token.lstrip().startswith("["):
            if token is None or token[0] != "%":
                return None
            token = self.skip_space()
            if token is None or not token.startswith("["):
                return None
        self.frame.i += 1
        rest = token.lstrip()[1:]
        taken: Tokens = []
        depth = brackets = 0
        for _ in range(4_000):
            if rest and not depth and rest[0] not in "\\%":
                for k, char in enumerate(rest):
                    if char == "[":
                        brackets += 1
                    elif char == "]":
                        if brackets:
                            brackets -= 1
                            continue
                        if k:
                            taken.append(rest[:k])
                        if rest[k + 1 :]:
                            self.push([rest[k + 1 :]])
                        return taken
            depth += (rest == "{") - (rest == "}")
            if depth < 0:
                self.push([rest])
                return taken
            if rest:
                taken.append(rest)
            following = self.next()
            if following is None:
                break
            rest = following
        return taken

    def star(self) -> bool:
        token = self.peek()
        if token is not None and token[0] == "*":
            self.frame.i += 1
            if len(token) > 1:
                self.push([token[1:]])
            return True
        return False

    def skip(self, pattern: str) -> None:
        """Pass over arguments: s star, o [optional], m {mandatory}, c (coordinates)."""
        for kind in pattern:
            if kind == "m":
                self.argument()
            elif kind == "o":
                self.optional()
            elif kind == "s":
                self.star()
            elif kind == "c":
                token = self.peek()
                if token is not None and token.startswith("(") and ")" in token:
                    self.frame.i += 1
                    rest = token[token.index(")") + 1 :]
                    if rest:
                        self.push([rest])

    # -- macros

    def define(self, name: str, params: int, default: Tokens | None, body: Tokens, *, provide: bool = False) -> None:
        if name in self.protected or ((provide or self.harvesting) and name in self.table):
            return
        macro = Macro(name, params, default, body)
        macro.source, macro.index = self.here()
        self.table[name] = macro
        self.macros.append(macro)

    def define_tex(self, name: str, *, skip_spaces: bool = True) -> None:
        """\\def: a parameter text, then the body."""
        params, delimiters = 0, []
        text: Tokens = []
        while (token := self.next()) is not None and token != "{" and len(text) < MAX_PARAMETER_TEXT:
            text.append(token)
        current = prefix = ""
        for token in text:
            if token[0] == "#" and token[-1].isdigit():
                if params:
                    delimiters.append(current)
                else:
                    prefix = current.strip()
                params, current = params + 1, ""
            else:
                current += token
        if params:
            delimiters.append(current)
        body = self._balanced()
        self.define(name, params, None, body)
        macro = self.table.get(name)
        if isinstance(macro, Macro) and macro.body is not None:
            macro.prefix = prefix
            if any(d.strip() for d in delimiters):
                macro.delimiters = tuple(delimiters)

    def call(self, macro: Macro) -> None:
        macro.used = True
        if not macro.params:
            self.push(macro.body)
            return
        if macro.prefix:
            self._until(macro.prefix)
        args: list[Tokens] = []
        for k in range(macro.params):
            if k == 0 and macro.default is not None:
                given = self.optional()
                args.append(macro.default if given is None else given)
            elif macro.delimiters and macro.delimiters[k].strip():
                args.append(self._until(macro.delimiters[k].strip()))
            else:
                args.append(self.argument())
        self.push(substitute(macro.body, args, self.budget))

    def _until(self, delimiter: str) -> Tokens:
        taken: Tokens = []
        while len(taken) < 2_000 and (token := self.next()) is not None:
            at = token.find(delimiter) if token[0] not in "{}" else -1
            if at >= 0:
                if at:
                    taken.append(token[:at])
                if token[at + len(delimiter) :]:
                    self.push([token[at + len(delimiter) :]])
                return taken
            if token == "{":
                taken += ["{", *self._balanced(), "}"]
            else:
                taken.append(token)
        return taken

    def flat(self, toks: Tokens, depth: int = 0) -> str:
        """A short argument as characters, its parameterless macros replaced: names of files, keys, URLs."""
        out: list[str] = []
        for token in toks[:2_000]:
            if token[0] == "\\" and depth < 8:
                meaning = self.table.get(token)
                if isinstance(meaning, Macro):
                    if not meaning.params:
                        meaning.used = True
                        self.budget -= len(meaning.body)
                        if self.budget < 0:  # the walk stops at its next push; here a short text is cut
                            break
                        out.append(self.flat(meaning.body, depth + 1))
                    continue
                if isinstance(meaning, str):
                    out.append(meaning)
                    continue
            if token[0] != "%":
                out.append(token)
        return "".join(out)[:20_000]


def substitute(body: Tokens, args: list[Tokens], limit: int) -> Tokens:
    """A macro's body with its parameters filled in."""
    out: Tokens = []
    for token in body:
        if token[0] == "#":
            if token[-1].isdigit() and token.count("#") == 1:
                k = int(token[-1]) - 1
                if k < len(args):
                    out += args[k]
                    if len(out) > limit:
                        raise OutOfBudget
            else:
                out.append(token[1:] or token)
        elif token[0] == "\\" and "#" in token and token[-1] == "}":
            for k, arg in enumerate(args):
                token = token.replace(f"#{k + 1}", "".join(arg))
                if len(token) > 100_000:
                    raise OutOfBudget
            out.append(token)
        else:
            out.append(token)
    return out
