"""One paper, read: sources in, `Paper` out. The order of work, and nothing TeX-ish."""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from itertools import islice
from operator import gt

from pipeline.paper import bibliography, dispatch, floats, sentences, structure
from pipeline.paper.bundle import Bundle, choose_main, source_hash
from pipeline.paper.links import bare_urls, looks_linked, urls_in_source
from pipeline.paper.model import (
    Anchor,
    Figure,
    InventoryItem,
    Link,
    Place,
    Section,
    Sentence,
    Table,
)
from pipeline.paper.paper import Paper
from pipeline.paper.render import RawLink, Renderer
from pipeline.paper.tables import Tabular, directions

MAX_WARNINGS = 200
MAX_UNRENDERED_LINKS = 500
_PLACEHOLDER = re.compile(
    r"\x00([^\x00\n]{0,400})\x00|\x01([tp])([^\x01\n]*)\x01([^\x01\n]*)\x01([^\x01\n]*)\x01|[\x00\x01\x02]"
)


def read(files: Mapping[str, bytes]) -> Paper:
    """Read a paper's LaTeX source: bundle-relative POSIX path -> content.

    Whatever is wrong with the content ends as a warning of the paper.

    Raises:
        NoPaper: there is no main file, or only a template, or two whole papers; the reason says which.
    """
    bundle = Bundle(files)
    main = choose_main(bundle)
    renderer = Renderer(bundle, dispatch.handlers(), dispatch.PROTECTED)
    renderer.main = main
    renderer.tex.folder = posixpath.dirname(main)
    renderer.open_buffer()  # the preamble prints nothing
    renderer.tex.push_file(main)
    renderer.run()
    floats.settle(renderer)
    return _Assembly(renderer, main, files).paper()


class _Assembly:
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
        """A piece of text with its references and citations filled in."""
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
        self.where: dict[int, tuple[str, int, str]] = {}

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
            known = self.where[k] = (source.path, source.line_of(index), chunk if "\n" in chunk else "")
        path, line, chunk = known
        if chunk:
            # a chunk of several lines: the newlines in it up to about where the offset falls
            within = offset - self.map_offsets[k]
            extra = chunk.count("\n", 0, within + 1)
            line += max(extra, 1) if within == 0 and chunk[0] == "\n" else extra
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
        start, end = self.sentence_span(offset)
        return self.text[start:end]

    # -- parts

    def paper(self) -> Paper:
        r = self.r
        abstract = " ".join(self.text[a:b].strip() for a, b, p in self.marks if p == "abstract").strip()
        sections = self.sections()
        listed = self.sentence_values(sections)
        tables = tuple(self.table(t) for t in r.tables)
        warnings = tuple(dict.fromkeys(r.warnings))
        if len(warnings) > MAX_WARNINGS:
            warnings = (*warnings[:MAX_WARNINGS], f"{len(warnings) - MAX_WARNINGS} more warnings")
        return Paper(
            main=self.main,
            title=self.title,
            authors=self.authors,
            abstract=abstract,
            text=self.text,
            sections=sections,
            links=self.links(),
            tables=tables,
            figures=self.figures(),
            inventory=self.inventory(),
            warnings=warnings,
            source_sha256=source_hash(self.files),
            sentence_list=listed,
            files_read=tuple(dict.fromkeys(s.path for s in r.tex.based)),
        )

    def sections(self) -> tuple[Section, ...]:
        headings = sorted(self.r.notes.headings, key=lambda h: h.start)
        ends = [len(self.text)] * len(headings)
        open_: list[int] = []
        for k, heading in enumerate(headings):
            while open_ and headings[open_[-1]].level >= heading.level:
                ends[open_.pop()] = self.at(heading.start)
            open_.append(k)
        return tuple(
            Section(self.resolve(h.title), min(self.at(h.start), end), end, h.level, h.appendix, h.number)
            for h, end in zip(headings, ends, strict=True)
        )

    def sentence_values(self, sections: tuple[Section, ...]) -> tuple[Sentence, ...]:
        text, places, place_starts = self.text, self.segment_places, self.segment_starts
        titles, starts = ["", *(s.title for s in sections)], [s.start for s in sections]
        found = []
        for start, end in self.spans:
            place = places[bisect_right(place_starts, start) - 1] or self.place_at(start)
            title = titles[bisect_right(starts, start)]
            anchor = self.anchor(start, end)
            found.append(Sentence(text[start:end], anchor, title, start >= self.appendix_at, place))  # type: ignore[arg-type]
        return tuple(found)

    def links(self) -> tuple[Link, ...]:
        r = self.r
        raw: list[tuple[int, int, RawLink]] = []
        for link in r.notes.links:
            if link.start < 0 or link.place == "unrendered":
                raw.append((-1, -1, link))
            else:
                start = self.at(link.start)
                if start >= len(self.text):  # reading stopped before the cell or title it stood in was printed
                    start, link.place, link.visible = -1, "unrendered", False
                raw.append((start, max(self.at(link.end), start + 1), link))
        for link in self.bib_links:
            start = self.final(link.start)
            raw.append((start, start + len(link.url), link))
        for link in r.front_links:
            at = self.text.find(link.text or link.url, 0, self.header_length)
            raw.append((max(at, 0), max(at, 0) + len(link.text or link.url), link))
        taken = sorted((s, e) for s, e, _ in raw if s >= 0)
        taken_starts = [s for s, _ in taken]
        for start, end, url in bare_urls(self.text):
            k = bisect_right(taken_starts, end - 1) - 1
            if any(s < end and start < e for s, e in taken[max(0, k - 3) : k + 1]):
                continue
            line = 0
            raw.append(
                (
                    start,
                    end,
                    RawLink(url, self.text[start:end], None, line, start, end, text=self.text[start:end], key=""),
                )
            )
        raw += [(-1, -1, link) for link in self.unrendered()]
        raw += [(-1, -1, link) for link in bibliography.uncited_links(r)]
        citing: dict[str, list[str]] = {}
        for key, offset in self.cites:
            sentence = self.sentence(offset)
            if sentence not in citing.setdefault(key, []) and len(citing[key]) < 8:
                citing[key].append(sentence)
        bib_starts = [(self.at(o), k) for o, k in r.bib_starts]
        found = [self.link(start, link, citing, bib_starts) for start, _, link in raw]
        return tuple(
            sorted(
                found,
                key=lambda k: (k.anchor.offset < 0, k.anchor.offset, k.anchor.file, k.anchor.line, k.url, k.place),
            )
        )

    def link(self, start: int, link: RawLink, citing: dict[str, list[str]], bib_starts: list[tuple[int, str]]) -> Link:
        place = link.place or self.place_at(start)
        if link.source is None:
            path, line = self.located(start)
        else:
            path, line = link.source.path, link.source.line_of(link.index)
        key = link.key
        if place == "bibliography" and not key and bib_starts:
            k = bisect_right([s for s, _ in bib_starts], start) - 1
            key = bib_starts[k][1] if k >= 0 else ""
        return Link(
            url=link.url,
            visible_text=self.resolve(link.text),
            sentence=self.sentence(start) if start >= 0 else link.sentence,
            place=place,  # type: ignore[arg-type]
            visible=link.visible,
            anchor=Anchor(path, line, start, line),
            raw=link.raw,
            cited_in=tuple(citing.get(key, ())) if key else (),
        )

    def unrendered(self) -> list[RawLink]:
        """Addresses in macros the visible document never used."""
        found: list[RawLink] = []
        for macro in self.r.tex.macros:
            if macro.used:
                continue
            body = "".join(macro.body)[:5_000]
            if looks_linked(body) or "\\url" in body or "\\href" in body:
                for url, raw in urls_in_source(body):
                    if "#" in raw and re.search(r"#\d", raw):
                        continue
                    text = f"{macro.name} is defined as {body.strip()[:400]} and never used"
                    found.append(
                        RawLink(url, raw, macro.source, macro.index, -1, -1, "unrendered", False, sentence=text)
                    )
                    if len(found) >= MAX_UNRENDERED_LINKS:
                        return found
        return found

    def caption_of(self, table: Tabular) -> tuple[str, str, str]:
        item = table.item
        number, label, caption = "", "", ""
        if isinstance(item, floats.Item):
            number, label, caption = item.number, item.label, self.resolve(item.caption)
        if table.subcaption:
            caption = f"{self.resolve(table.subcaption)} — {caption}" if caption else self.resolve(table.subcaption)
        return number, label, caption

    def table(self, t: Tabular) -> Table:
        number, label, caption = self.caption_of(t)
        start = self.at(t.start)
        grid = t.grid
        if any(c is not None and ("\x00" in c.text or "\x01" in c.text) for row in grid for c in row):
            grid = self.resolved_grid(t)
        path, line = (t.source.path, t.source.line_of(t.index)) if t.source else (self.main, 1)
        return Table(
            number=number,
            label=label,
            caption=caption,
            header_rows=t.header_rows,
            grid=grid,
            directions=directions(grid, t.header_rows, caption),
            anchor=Anchor(path, line, start, line),
            place="appendix" if t.appendix else "body",
            end=self.at(t.end),
            row_anchors=tuple(self.anchor(self.at(s)) for s in t.row_starts),
        )

    def resolved_grid(self, t: Tabular):  # type: ignore[no-untyped-def]
        from dataclasses import replace

        done = {}
        rows = []
        for row in t.grid:
            cells = []
            for cell in row:
                if cell is not None and id(cell) not in done:
                    done[id(cell)] = replace(cell, text=self.resolve(cell.text))
                cells.append(done[id(cell)] if cell is not None else None)
            rows.append(tuple(cells))
        return tuple(rows)

    def item_anchor(self, item: floats.Item) -> Anchor:
        path, line = (item.source.path, item.source.line_of(item.index)) if item.source else (self.main, 1)
        return Anchor(path, line, self.at(item.offset), line)

    def figures(self) -> tuple[Figure, ...]:
        return tuple(
            Figure(
                i.number,
                i.label,
                self.resolve(i.caption),
                tuple(i.graphics),
                self.item_anchor(i),
                "appendix" if i.appendix else "body",
            )
            for i in self.r.items
            if i.kind == "figure"
        )

    def inventory(self) -> tuple[InventoryItem, ...]:
        referring: dict[str, list[str]] = {}
        for key, offset in self.refs:
            sentence = self.sentence(offset)
            if sentence not in referring.setdefault(key, []):
                referring[key].append(sentence)
        found = []
        for item in self.r.items:
            numeric = sum(c is not None and c.value is not None for t in item.tables for row in t.grid for c in row)
            found.append(
                InventoryItem(
                    kind="table" if item.kind == "table" else "figure",
                    number=item.number,
                    label=item.label,
                    caption=self.resolve(item.caption),
                    referred_from=tuple(referring.get(item.label, ())) if item.label else (),
                    results=numeric >= 2,
                    anchor=self.item_anchor(item),
                    place="appendix" if item.appendix else "body",
                )
            )
        return tuple(sorted(found, key=lambda i: (i.anchor.offset, i.kind, i.number)))
