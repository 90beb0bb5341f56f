"""What the validators look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.audit import Audited
from pipeline.release.compose import Composition, Material
from pipeline.release.tables import Lines


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """What the validators look at: the recorded material, what follows from it, and the tables as they stand."""

    material: Material
    made: Composition
    lines: Mapping[str, Lines]

    @property
    def rows(self) -> Lines:
        return [*self.lines["eval"], *self.lines["dev"]]

    @property
    def audited(self) -> dict[str, Audited]:
        return {paper.arxiv_id: paper for paper in self.made.audited}
