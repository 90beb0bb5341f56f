"""One paper, read: sources in, `Paper` out. The order of work, and nothing TeX-ish."""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_right
from collections.abc import Mapping

from pipeline.paper import bibliography, dispatch, floats
from pipeline.paper.bundle import Bundle, choose_main, source_hash
from pipeline.paper.layout import Layout
from pipeline.paper.links import bare_urls, looks_linked, parses, urls_in_source
from pipeline.paper.model import (
    Anchor,
    Figure,
    InventoryItem,
    Link,
    Section,
    Sentence,
    Table,
)
from pipeline.paper.notes import RawLink
from pipeline.paper.paper import Paper
from pipeline.paper.render import Renderer
from pipeline.paper.tables import Tabular, directions

MAX_WARNINGS = 200
MAX_UNRENDERED_LINKS = 500


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
    return _Parts(renderer, main, files).paper()


class _Parts(Layout):
    """What the paper is made of, each part with its place in the text."""

    def paper(self) -> Paper:
        r = self.r
        abstract = " ".join(self.text[a:b].strip() for a, b, p in self.marks if p == "abstract").strip()
        sections = self.sections()
        listed = self.sentence_values(sections)
        links = self.links()
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
            links=links,
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
        r.warnings += [f"{k.url[:200]!r} is no address: the link is left out" for _, _, k in raw if not parses(k.url)]
        raw = [found for found in raw if parses(found[2].url)]
        citing: dict[str, list[str]] = {}
        for key, offset in self.cites:
            sentence = self.sentence(offset)
            if sentence not in citing.setdefault(key, []) and len(citing[key]) < 8:
                citing[key].append(sentence)
        bib_keys = [k for _, k in r.bib_starts]
        bib_starts = [self.at(o) for o, _ in r.bib_starts]
        found = [self.link(start, link, citing, bib_starts, bib_keys) for start, _, link in raw]
        return tuple(
            sorted(
                found,
                key=lambda k: (k.anchor.offset < 0, k.anchor.offset, k.anchor.file, k.anchor.line, k.url, k.place),
            )
        )

    def link(
        self, start: int, link: RawLink, citing: dict[str, list[str]], bib_starts: list[int], bib_keys: list[str]
    ) -> Link:
        place = link.place or self.place_at(start)
        if link.source is None:
            path, line = self.located(start)
        else:
            path, line = link.source.path, link.source.line_of(link.index)
        key = link.key
        if place == "bibliography" and not key and bib_starts:
            k = bisect_right(bib_starts, start) - 1
            key = bib_keys[k] if k >= 0 else ""
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
        sentences: dict[str, dict[str, None]] = {}
        for key, offset in self.refs:
            sentences.setdefault(key, {}).setdefault(self.sentence(offset))
        referring = {key: tuple(found) for key, found in sentences.items()}
        found = []
        for item in self.r.items:
            numeric = sum(c is not None and c.value is not None for t in item.tables for row in t.grid for c in row)
            found.append(
                InventoryItem(
                    kind="table" if item.kind == "table" else "figure",
                    number=item.number,
                    label=item.label,
                    caption=self.resolve(item.caption),
                    referred_from=referring.get(item.label, ()) if item.label else (),
                    results=numeric >= 2,
                    anchor=self.item_anchor(item),
                    place="appendix" if item.appendix else "body",
                )
            )
        return tuple(sorted(found, key=lambda i: (i.anchor.offset, i.kind, i.number)))
