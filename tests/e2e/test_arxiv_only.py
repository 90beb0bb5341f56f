"""An edition without OpenReview: its papers come from a CSV of titles and arXiv ids, and it ends in a release."""

from __future__ import annotations

import csv
import tomllib
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.e2e import tiny
from tests.e2e.tiny import EXIT_RELEASED, EXIT_WAITING, Tiny

pytestmark = pytest.mark.slow


def listed(edition: Tiny) -> None:
    """The world's papers as a CSV beside the edition, with one that was never posted."""
    facts = [tomllib.loads(p.read_text(encoding="utf-8")) for p in sorted(edition.world.glob("papers/*/paper.toml"))]
    with (edition.folder / "papers.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["title", "arxiv_id", "authors"])
        rows.writerows([f.get("openreview_title") or f["title"], f["arxiv_id"], "; ".join(f["authors"])] for f in facts)
        rows.writerow(["Never Posted Anywhere", "", "Nobody Known"])
    tiny.edit(edition.toml, lambda text: f'{text}\n[live]\nindex_file = "papers.csv"\n')


def test_an_edition_of_arxiv_ids_alone_ends_in_a_release(tmp_path: Path) -> None:
    edition = tiny.make(tmp_path / "tiny", eval_size=2, dev_per_tier=0)
    listed(edition)
    assert edition.build() == EXIT_WAITING
    edition.decide()
    assert edition.build() == EXIT_RELEASED
    ends = edition.rows("papers") + edition.rows("corpus_exclusions")
    assert len(edition.rows("index")) == len(ends) == 13
    never = next(row for row in edition.rows("corpus_exclusions") if row["title"] == "Never Posted Anywhere")
    assert (never["stage"], never["reason"]) == ("corpus", "no_arxiv_id")
    assert all(row["forum_id"] is None and row["supplement_path"] is None for row in edition.rows("papers"))
    with edition.store.engine.connect() as connection:
        asked = sa.text("select count(*) from sightings where url like 'https://api2.openreview.net/%'")
        assert connection.execute(asked).scalar() == 0
    (release,) = edition.releases()
    assert edition.run("verify", str(release)) == 0
