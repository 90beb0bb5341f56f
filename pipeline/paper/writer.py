"""Plain text being written: white space as TeX sees it, and buffers for what stands apart (cells, titles)."""

from __future__ import annotations

import re
import unicodedata

from pipeline.paper.expand import OutOfBudget

MAX_TEXT = 5_000_000  # characters written
MAX_PIECE = 20_000  # characters of a title, caption, cell or visible link text

SPACE = re.compile(r"\s+")


class Writer:
    """`out` is what was written so far to the innermost buffer, `pos` its length."""

    def __init__(self) -> None:
        self.out: list[str] = []
        self.pos = 0
        self.space = True  # the text so far ends in white space
        self.math = False
        self.buffers: list[tuple[list[str], int, bool]] = []

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
            text = SPACE.sub(" ", text)
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

    def tail(self, index: int) -> str:
        """What was written since `self.out` had `index` pieces, at most MAX_PIECE of them: no title is longer."""
        return "".join(self.out[index : index + MAX_PIECE])[:MAX_PIECE].strip()

    def open_buffer(self) -> None:
        self.buffers.append((self.out, self.pos, self.space))
        self.out, self.pos, self.space = [], 0, True

    def close_buffer(self) -> str:
        text = "".join(self.out)
        self.out, self.pos, self.space = self.buffers.pop()
        return text


def quotes(text: str) -> str:
    """TeX's dashes and quotation marks."""
    return (
        text.replace("---", "—").replace("--", "–").replace("``", "“").replace("''", "”").replace("`", "‘")
        if "--" in text or "`" in text or "''" in text
        else text
    )


def accent(base: str, mark: str) -> str:
    return unicodedata.normalize("NFC", base[:1] + mark) + base[1:]
