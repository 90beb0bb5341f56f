"""The paper as a whole: what the reader hands out, and what follows from it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property

from pipeline.paper.mentions import mentions
from pipeline.paper.model import ComputeMention, Figure, InventoryItem, Link, Section, Sentence, Table
from pipeline.paper.numbers import Number, find_numbers


@dataclass(frozen=True)
class Paper:
    """One paper, read. Two papers are equal when what was read is; `compute` follows from it."""

    main: str
    title: str
    authors: tuple[str, ...]
    abstract: str
    text: str
    sections: tuple[Section, ...]
    links: tuple[Link, ...]
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...]
    inventory: tuple[InventoryItem, ...]
    warnings: tuple[str, ...]
    source_sha256: str
    sentence_list: tuple[Sentence, ...] = field(default=(), repr=False)
    files_read: tuple[str, ...] = ()

    @cached_property
    def compute(self) -> tuple[ComputeMention, ...]:
        """Every compute statement, in reading order. Worked out when first asked for."""
        return mentions(self.text, self.sentence_list, self.tables)

    def sentences(self) -> tuple[Sentence, ...]:
        """Every sentence, list item, heading and table line of the text, in reading order."""
        return self.sentence_list

    def numbers_in(self, sentence: str | Sentence) -> tuple[Number, ...]:
        """Every number printed in a sentence, left to right."""
        return find_numbers(sentence if isinstance(sentence, str) else sentence.text)

    def find(self, quote: str) -> int | None:
        """Offset of a quote in the text, white space aside; None when it is not there."""
        words = quote.split()
        if not words:
            return None
        at = self.text.find(quote)
        if at >= 0:
            return at
        found = re.search(r"\s+".join(map(re.escape, words)), self.text)
        return found.start() if found else None
