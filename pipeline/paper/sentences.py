"""Text to sentences: one span each, headings, list items and table lines included."""

from __future__ import annotations

import re

_END = re.compile(r"[.!?][\"')\]”’]*\s+(?=[\"'(\[“‘]?[A-Z0-9§$\\~∼≈√α-ωΑ-Ω])")
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|cf|vs|etc|et al|al|Fig|Figs|Tab|Tabs|Eq|Eqs|Eqn|Sec|Secs|App|Appx|Ref|Refs|Alg|Thm"
    r"|Prop|Def|Lem|Cor|No|Nos|Vol|pp"
    r"|approx|resp|w\.r\.t|i\.i\.d|a\.k\.a|Dr|Prof|Mr|Ms|St|Inc|Ltd|Dept|Univ|ca|max|min|std|hrs|ex|Ch|ver|v)|\b[A-Z]|\.[a-z])\.$"
)
MAX_SENTENCE = 6_000
_NESTED = 500  # a longer footnote is split like other text


def spans(text: str) -> list[tuple[int, int]]:
    """(start, end) of every sentence, in order. A footnote inside a sentence does not end it."""
    found: list[tuple[int, int]] = []
    start, n = 0, len(text)
    while start < n:
        stop = text.find("\n", start)
        if stop < 0:
            stop = n
        if stop > start:
            _line(text, start, stop, found)
        start = stop + 1
    return found


def _line(text: str, start: int, stop: int, found: list[tuple[int, int]]) -> None:
    if text[start] in "|#":
        found.append((start, stop))
        return
    begin = start
    for match in _END.finditer(text, start, stop):
        end = match.start() + len(match[0].rstrip())
        if text[match.start()] == "." and _ABBREVIATION.search(text, max(begin, match.start() - 12), match.start() + 1):
            continue
        opened = text.rfind("[Footnote: ", begin, end)
        if opened >= 0:
            closing = _closing(text, opened, stop)
            if end <= closing < opened + _NESTED:
                continue
        if text.startswith("[Footnote: ", match.end(), stop):  # a footnote after the full stop is the sentence's own
            closing = _closing(text, match.end(), stop)
            if closing < min(stop, match.end() + _NESTED):
                found.append((begin, closing + 1))
                begin = closing + 1
                while begin < stop and text[begin] == " ":
                    begin += 1
                continue
        if end > begin:
            found.append((begin, end))
        begin = match.end()
    while stop > begin and text[stop - 1] == " ":
        stop -= 1
    while stop - begin > MAX_SENTENCE:
        found.append((begin, begin + MAX_SENTENCE))
        begin += MAX_SENTENCE
    if stop > begin:
        found.append((begin, stop))


def _closing(text: str, opened: int, stop: int) -> int:
    """Where the bracket of a footnote closes."""
    depth = 0
    for i in range(opened, min(stop, opened + _NESTED)):
        if text[i] == "[":
            depth += 1
        elif text[i] == "]":
            depth -= 1
            if not depth:
                return i
    return min(stop, opened + _NESTED)
