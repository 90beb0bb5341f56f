"""Where assets and ops get an edition's workplace from, and the two kinds of partitions."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import dagster as dg

from assets.workplace import Workplace, store_root, workplace

EDITIONS = dg.DynamicPartitionsDefinition(name="edition")
POOL_ROWS = dg.DynamicPartitionsDefinition(name="pool_row")
"""`edition:arxiv_id`, one a row of a pool: the audit's to-do list."""


class Shop:
    """Opens workplaces for assets. A process that already holds an edition (a build) lends its own."""

    def __init__(self, root: Path | None = None, lent: Workplace | None = None) -> None:
        self.root = root
        self.lent = lent

    @contextlib.contextmanager
    def open(self, edition: str, say: Callable[[str], None]) -> Iterator[Workplace]:
        """To change its tables: under the edition's lock."""
        if self.lent is not None and self.lent.edition.name == edition:
            yield self.lent
            return
        with self.look(edition, say) as work, work.store.lock(edition):
            work.runs_begun.parent.mkdir(parents=True, exist_ok=True)
            work.runs_begun.touch()
            yield work

    def look(self, edition: str, say: Callable[[str], None]) -> contextlib.AbstractContextManager[Workplace]:
        """To read its tables, and to append to what takes many writers."""
        return workplace(edition, self.root or store_root(), say)
