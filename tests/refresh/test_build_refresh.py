"""`reclaim build --refresh`: evidence asked for anew, and papers read again only where it changed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from assets import refreshing
from assets.build import End, build
from assets.workplace import Workplace, workplace
from tests.e2e import tiny
from tests.e2e.tiny import Tiny

DAY = 24 * 3600


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    return tiny.finished(tmp_path_factory)


@contextmanager
def later(edition: Tiny, days: float) -> Iterator[Workplace]:
    """The edition's workplace some days after its last request."""
    with workplace(str(edition.toml), edition.root) as work:
        work.clock.sleep(days * DAY)
        yield work


def episodes(edition: Tiny) -> dict[str, str]:
    """Every recorded episode, by its key."""
    with edition.store.engine.connect() as connection:
        return {row.key: row.json for row in connection.execute(sa.text("select key, json from episodes"))}


def refreshed(edition: Tiny, days: float, older_than: float | None = None) -> tuple[End, list[str]]:
    said: list[str] = []
    with later(edition, days) as work:
        work.say = said.append
        refreshing.begin(work, older_than)
        end = build(work)
    return end, said


def drop(edition: Tiny) -> None:
    """One more event, so that the next build freezes again."""
    row = json.loads((edition.releases()[-1] / "eval.jsonl").read_text().splitlines()[0])
    event = {"kind": "erratum", "paper": row["custom_id"], "who": "ada", "at": "2026-01-02T10:00:00Z", "why": "a typo"}
    path = edition.folder / "more.jsonl"
    path.write_text(json.dumps(event) + "\n")
    assert edition.run("audit", "import", str(path), "--edition", str(edition.toml)) == 0


@pytest.mark.slow
def test_receipts_too_old_block_a_freeze_and_a_refresh_makes_them_new_without_an_episode(
    released: Tiny, tmp_path: Path
) -> None:
    edition = released.copy(tmp_path / "copy")
    before, sightings = episodes(edition), edition.count("sightings")
    drop(edition)
    with later(edition, 20) as work:
        blocked = build(work)
    assert blocked.name == "blocked"
    assert "is older than 14 days" in blocked.detail
    assert "`reclaim build EDITION --refresh` asks for it anew" in blocked.detail
    assert edition.count("sightings") == sightings

    end, said = refreshed(edition, 20)
    assert end.name == "released", end.detail
    assert [path.name for path in edition.releases()] == ["tiny-v1", "tiny-v2"]
    assert episodes(edition) == before
    assert any("that of 0 changed" in line for line in said)
    assert edition.count("sightings") > sightings
    assert "typo" in (edition.releases()[1] / "ERRATA.md").read_text()
    assert "0 added, 0 dropped, 0 moved, 0 changed" in (edition.releases()[1] / "CHANGELOG.md").read_text()
    again = edition.count("sightings")
    assert edition.build() == tiny.EXIT_RELEASED
    assert edition.count("sightings") == again


@pytest.mark.slow
def test_a_refresh_asks_nothing_that_is_settled_and_not_too_old(released: Tiny, tmp_path: Path) -> None:
    edition = released.copy(tmp_path / "copy")
    sightings = edition.count("sightings")
    end, _ = refreshed(edition, days=3, older_than=30)
    assert end.name == "released"
    asked = sa.text(
        "select e.json from sightings s join exchanges e on e.id = s.exchange_id order by s.rowid limit -1 offset :seen"
    )
    with edition.store.engine.connect() as connection:
        anew = [json.loads(text) for text in connection.execute(asked, {"seen": sightings}).scalars()]
    # What nobody has answered yet, or has said is not there, is asked again on any later day; answers are not.
    assert not [one["url"] for one in anew if one["status"] is not None and one["status"] < 400]
    assert len(edition.releases()) == 1


@pytest.mark.slow
def test_with_one_changed_source_exactly_that_papers_episode_runs_again(released: Tiny, tmp_path: Path) -> None:
    edition = released.copy(tmp_path / "copy")
    before = episodes(edition)
    card = edition.world / "hf/models/pebblenorm-lab/pebblenorm-resnet18-cifar10/repo.toml"
    tiny.edit(card, lambda text: text.replace("44712336", "44712338"))
    end, said = refreshed(edition, days=20)
    after = episodes(edition)
    assert after.keys() == before.keys()
    changed = {json.loads(after[key])["paper"] for key in after if after[key] != before[key]}
    assert changed == {"2505.90011"}
    assert any("that of 1 changed" in line for line in said)
    assert end.name in ("released", "waiting for people")
    told = end.name
    # The refreshed world is the edition's own from now on: nothing is stale, nothing is asked.
    sightings = edition.count("sightings")
    assert edition.build() == {"released": tiny.EXIT_RELEASED, "waiting for people": tiny.EXIT_WAITING}[told]
    assert edition.count("sightings") == sightings


@pytest.mark.slow
def test_an_answer_that_cannot_be_had_now_leaves_the_evidence_as_it_was(released: Tiny, tmp_path: Path) -> None:
    edition = released.copy(tmp_path / "copy")
    before = episodes(edition)
    site = edition.world / "sites/ogb.stanford.edu/site.toml"
    site.write_text('[default]\nfault = "timeout"\n')
    end, said = refreshed(edition, days=3, older_than=1)
    assert any("gave no settled answer" in line and "ogb.stanford.edu" in line for line in said)
    assert episodes(edition) == before
    assert end.name == "released"
