"""TeX source to tokens. Lossless: the tokens of a file joined are the file, so any token's line is known for free."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from itertools import accumulate

MAX_FILE_CHARS = 4_000_000  # of one source file; the rest is left unread, with a warning

VERBATIM = (
    "verbatim",
    "Verbatim",
    "lstlisting",
    "minted",
    "comment",
    "alltt",
    "filecontents",
    "BVerbatim",
    "LVerbatim",
    "SaveVerbatim",
    "pyglist",
)
_DELIMITERS = "|+!\"'`@/#=?:;,.^$&~-"
_VERB = "|".join(rf"{re.escape(d)}[^{re.escape(d)}\n]*{re.escape(d)}" for d in _DELIMITERS)

# The most frequent first; they differ in their first character, so order changes speed alone.
TOKEN = re.compile(
    r"[^\\{}$&%#^_~\n]+(?:\n(?![ \t]*\n)[^\\{}$&%#^_~\n]*)*"
    r"|[{}$&~^_]"
    rf"|\\begin\s{{0,8}}\{{(?:{'|'.join(VERBATIM)})\*?\}}"  # what follows is not TeX
    r"|\\(?:begin|end)\s{0,8}\{[A-Za-z@* ]{1,40}\}"
    r"|\\(?:url|path|nolinkurl|burl|href)\*?\s{0,8}\{[^{}]{0,4000}\}"  # % and # are plain characters in here
    rf"|\\(?:verb|lstinline)\*?(?:{_VERB})"
    r"|\\[A-Za-z@]+(?:\*(?![A-Za-z]))?[ \t]*(?:\n(?![ \t]*\n)[ \t]*)?"
    r"|\\(?:[^A-Za-z@]|$)"
    r"|#+[1-9]?"
    r"|%[^\n]*(?:\n[ \t]*)?"
    r"|\n[ \t]*\n\s*"
    r"|(?:\n(?![ \t]*\n)[^\\{}$&%#^_~\n]*)+",
    re.DOTALL,
)


class _Canonical(dict[str, str]):
    """Control words without the spaces TeX swallows after them; every other token as it is."""

    def __missing__(self, token: str) -> str:
        if token[0] == "\\" and len(token) > 2 and token[1].isalpha():
            if token.startswith(("\\begin", "\\end")) and token.endswith("}"):
                name = token[token.index("{") + 1 : -1].strip()
                token = f"{token[: 6 if token[1] == 'b' else 4]}{{{name}}}"
            elif not token.endswith("}"):
                token = token.rstrip() if not token.startswith(("\\verb", "\\lstinline")) else token
        if len(self) < 50_000 and len(token) < 40:
            self[token] = token
        return token


_canonical = _Canonical()


class Source:
    """One decoded file and its tokens."""

    __slots__ = ("_lines", "offsets", "path", "text", "tokens")

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        raw = TOKEN.findall(text)
        self.offsets = [0, *accumulate(map(len, raw))]
        canonical = _canonical
        self.tokens = [canonical[t] if t[0] == "\\" else t for t in raw]
        self._lines: list[int] | None = None

    def line_at(self, offset: int) -> int:
        if self._lines is None:
            self._lines = [m.start() for m in re.finditer("\n", self.text)]
        return bisect_left(self._lines, offset) + 1

    def line_of(self, index: int) -> int:
        return self.line_at(self.offsets[min(index, len(self.tokens))])

    def index_at(self, offset: int) -> int:
        """The first token that starts at or after an offset."""
        return bisect_right(self.offsets, offset - 1)


def tokenize(text: str) -> list[str]:
    canonical = _canonical
    return [canonical[t] if t[0] == "\\" else t for t in TOKEN.findall(text)]


def decode(data: bytes) -> str:
    """Text of a source file in whatever encoding; NULs dropped, line ends made \\n."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = data.decode("utf-16", errors="replace")
    else:
        data = data.removeprefix(b"\xef\xbb\xbf")
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            text = data.decode("cp1252", errors="replace")
            if b"\xe9" in data and "latin9" in text[:5000]:
                text = data.decode("iso8859-15", errors="replace")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    for control in "\x00\x01\x02\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029":
        if control in text:
            text = text.replace(control, " " if control in "\x0b\x0c\x85\u2028\u2029" else "")
    return text
