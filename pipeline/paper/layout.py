"""The written text with its references filled in, and where everything in it came from."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from itertools import islice
from operator import gt

from pipeline.paper import bibliography, sentences, structure
from pipeline.paper.model import Anchor, Place
from pipeline.paper.notes import RawLink
from pipeline.paper.render import Renderer
from pipeline.paper.writer import MAX_PIECE

_PLACEHOLDER = re.compile(
    r"\x00([^\x00\n]{0,400})\x00|\x01([tp])([^\x01\n]*)\x01([^\x01\n]*)\x01([^\x01\n]*)\x01|[\x00\x01\x02]"
)


class Layout:
    """Turns the walk's notes into a Paper: references resolved, offsets final, places and sentences found."""

    def __init__(self, renderer: Renderer, main: str, files: Mapping[str, bytes]) -> None:
        self.r = renderer
        self.main = main
        self.files = files
        notes = renderer.notes
        text = "".join(renderer.out)
        self.bib_links: list[RawLink] = []
        self.inserted = (len(text), 0)
        if renderer.pending_bib is not None:
            listing, self.bib_links = bibliography.write_references(renderer)
            at = len("".join(renderer.out[: renderer.references_piece]))
            text = text[:at] + listing + text[at:]
            self.inserted = (at, len(listing))
            for link in self.bib_links:
                link.start += at
                link.end += at
            if listing:
                notes.marks.append((at - len(listing), at - len(listing), "none"))
        self.title = self.resolve(renderer.titles[-1] if renderer.titles else "")
        self.authors = self.split_authors()
        self.refs: list[tuple[str, int]] = []
        self.cites: list[tuple[str, int]] = []
        self.shift_at: list[int] = []
        self.shift_by: list[int] = []
        header = self.header()
        body = self.patch(text, len(header))
        self.header_length = len(header)
        self.text = (header + body).rstrip() + "\n"
        self.spans = sentences.spans(self.text)
        self.starts = [s for s, _ in self.spans]
        self.quoted: dict[tuple[int, int], str] = {}
        self.marks = sorted((self.at(a), self.at(b), p) for a, b, p in notes.marks if p != "none" and a >= 0)
        if self.inserted[1]:
            start = self.final(self.inserted[0])
            self.marks.append((start, self.final(self.inserted[0] + self.inserted[1]), "bibliography"))
            self.marks.sort()
        self.appendix_at = self.at(notes.appendix_at) if notes.appendix_at >= 0 else len(self.text) + 1
        self.locations()
        self.segments()

    # -- text

    def header(self) -> str:
        parts = [f"# {self.title}\n\n" if self.title else ""]
        names = self.resolve("; ".join(self.r.authors))
        self.author_text = names
        parts.append(f"{names}\n\n" if names else "")
        return "".join(parts)

    def split_authors(self) -> tuple[str, ...]:
        names: list[str] = []
        for block in self.r.authors:
            text = re.sub(r"\[[^\]]*\]", " ", self.resolve(block))
            for part in re.split(r",|;|\band\b|\n|\||•|·", text):
                name = re.sub(r"[\d∗*†‡§¶^_{}$♠♣♥♦⋆~♯♭∥✉#]|\\\w+", "", part).strip(" .()-–")
                name = re.sub(r"\s+", " ", name)
                words = name.split()
                if not 2 <= len(words) <= 5 or len(name) > 60 or "@" in part or not name[0].isupper():
                    continue
                if re.search(
                    r"\b(?:University|Institute|Department|Lab\w*|College|School|Inc|Research|Center|Centre|AI|Google|Academy|Equal|http\w*)\b",
                    name,
                ):
                    continue
                if name not in names:
                    names.append(name)
        return tuple(names[:200])

    def resolve(self, text: str) -> str:
        """A piece of text with its references and citations filled in; an unclosed one is cut, not read to the end."""
        text = text[:MAX_PIECE]
        if "\x00" not in text and "\x01" not in text:
            return text
        return _PLACEHOLDER.sub(self.shown, text)

    def shown(self, match: re.Match[str]) -> str:
        if match[1] is not None:
            return self.reference(match[1])
        if match[2]:
            return self.citation(match[2], match[3], match[4], match[5])
        return ""

    def reference(self, marked: str) -> str:
        style, key = marked[:1], marked[1:]
        number = self.r.notes.labels.get(key, "")
        if not number:
            number = key or "?"
        if style == "(":
            return f"({number})"
        if style == "n":
            kind = structure.REFERENCE_NAMES.get(re.split(r"[:_.-]", key.lower())[0], "")
            return f"{kind} {number}" if kind else number
        return number

    def citation(self, style: str, lead: str, keys: str, trail: str) -> str:
        labels = []
        for key in keys.split(","):
            label = self.r.notes.bib_labels.get(key, key)
            if style == "t" and ", " in label:
                name, _, year = label.rpartition(", ")
                label = f"{name} ({year})"
            labels.append(label)
        if style == "t":
            return f"{lead}{', '.join(labels)}{trail}"
        if all(label.isdigit() for label in labels):
            return f"[{lead}{', '.join(labels)}{trail}]"
        return f"({lead}{'; '.join(labels)}{trail})"

    def patch(self, text: str, shift: int) -> str:
        """Fill references in; `shift_at`/`shift_by` carry old offsets to new ones."""
        if "\x00" not in text and "\x01" not in text:
            self.shift_at, self.shift_by = [0], [shift]
            return text
        at, by = [0], [shift]
        pieces: list[str] = []
        last = 0
        for match in _PLACEHOLDER.finditer(text):
            shown = self.shown(match)
            pieces.append(text[last : match.start()])
            pieces.append(shown)
            if match[1] is not None:
                self.refs.append((match[1][1:], match.start() + shift))
            elif match[2]:
                self.cites += [(key, match.start() + shift) for key in match[4].split(",")]
            last = match.end()
            shift += len(shown) - (match.end() - match.start())
            at.append(match.end())
            by.append(shift)
        pieces.append(text[last:])
        self.shift_at, self.shift_by = at, by
        return "".join(pieces)

    def final(self, offset: int) -> int:
        """Offset in the inserted text -> offset in Paper.text."""
        return offset + self.shift_by[bisect_right(self.shift_at, offset) - 1]

    def at(self, offset: int) -> int:
        """Offset noted during the walk -> offset in Paper.text."""
        if offset >= self.inserted[0]:
            offset += self.inserted[1]
        return self.final(offset)

    # -- places

    def locations(self) -> None:
        """Where in the sources each written token came from, by its final offset, in order."""
        notes = self.r.notes
        offsets, tokens = notes.map_offsets, notes.map_tokens
        if any(map(gt, offsets, islice(offsets, 1, None))):
            order = sorted(range(len(offsets)), key=offsets.__getitem__)
            offsets, tokens = [offsets[k] for k in order], [tokens[k] for k in order]
        at, length = self.inserted
        if length:
            k = bisect_left(offsets, at)
            offsets = offsets[:k] + [o + length for o in offsets[k:]]
        self.map_tokens = tokens
        self.map_offsets: list[int] = []
        low = 0
        for by, until in zip(self.shift_by, [*self.shift_at[1:], 1 << 60], strict=True):
            high = bisect_left(offsets, until, low)
            self.map_offsets += [o + by for o in offsets[low:high]]
            low = high
        self.where: dict[int, tuple[str, int, tuple[int, ...]]] = {}

    def anchor(self, offset: int, end: int = 0) -> Anchor:
        offsets = self.map_offsets
        k = bisect_right(offsets, offset) - 1
        path, line = self.line(k, offset)
        last = line
        if end > offset:
            n = k if k + 1 < len(offsets) and offsets[k + 1] >= end else bisect_right(offsets, end - 1, max(k, 0)) - 1
            other, last = self.line(n, end - 1)
            last = last if other == path and last >= line else line
        return Anchor(path, line, offset, last)

    def located(self, offset: int) -> tuple[str, int]:
        return self.line(bisect_right(self.map_offsets, offset) - 1, offset)

    def line(self, k: int, offset: int) -> tuple[str, int]:
        """File and line of an offset that falls into the k-th written token."""
        if k < 0:
            return self.main, 1
        known = self.where.get(k)
        if known is None:
            tex = self.r.tex
            token = self.map_tokens[k]
            b = bisect_right(tex.bases, token) - 1
            source, index = tex.based[b], token - tex.bases[b]
            chunk = source.tokens[index] if index < len(source.tokens) else ""
            known = self.where[k] = (
                source.path,
                source.line_of(index),
                tuple(k for k, char in enumerate(chunk) if char == "\n") if "\n" in chunk else (),
            )
        path, line, breaks = known
        if breaks:
            # a chunk of several lines: the newlines in it up to about where the offset falls
            within = offset - self.map_offsets[k]
            extra = bisect_right(breaks, within)
            line += max(extra, 1) if within == 0 and breaks[0] == 0 else extra
        return path, line

    def segments(self) -> None:
        """Marks nest; flattened once into consecutive stretches, each with its innermost place."""
        starts: list[int] = [0]
        places: list[str] = [""]
        stack: list[tuple[int, str]] = []

        def until(offset: int) -> None:
            while stack and stack[-1][0] <= offset:
                end, _ = stack.pop()
                starts.append(end)
                places.append(stack[-1][1] if stack else "")

        for start, end, place in sorted(self.marks, key=lambda m: (m[0], -m[1])):
            until(start)
            starts.append(start)
            places.append(place)
            stack.append((min(end, stack[-1][0]) if stack else end, place))
        until(len(self.text) + 1)
        self.segment_starts, self.segment_places = starts, places

    def place_at(self, offset: int) -> Place:
        place = self.segment_places[bisect_right(self.segment_starts, offset) - 1]
        if place:
            return place  # type: ignore[return-value]
        if offset < self.header_length:
            return "title"
        return "appendix" if offset >= self.appendix_at else "body"

    def sentence_span(self, offset: int) -> tuple[int, int]:
        k = bisect_right(self.starts, offset) - 1
        return self.spans[k] if k >= 0 else (0, 0)

    def sentence(self, offset: int) -> str:
        span = self.sentence_span(offset)
        if span not in self.quoted:  # one string for all who quote it
            self.quoted[span] = self.text[span[0] : span[1]]
        return self.quoted[span]
