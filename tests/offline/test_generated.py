"""A made-up conference is the same for one seed, any size, and reads like papers."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from assets.workplace import load_edition
from pipeline.offline.content import whole
from pipeline.offline.generated import Conference, GeneratedFacts, load_generated, write_generated
from pipeline.offline.server import reply
from pipeline.offline.values import World, WorldError
from pipeline.offline.wire import Answer, Call, Failures, Fault
from pipeline.offline.world import load_world
from pipeline.paper import read
from pipeline.store import Store


def conference(papers: int, seed: str = "s") -> Conference:
    return Conference(GeneratedFacts(seed=seed, papers=papers), Path("no-folder"))


def asked(world: World, url: str) -> Answer | Fault:
    parts = urlsplit(url)
    return reply(world, Call("GET", parts.hostname or "", parts.path or "/"), Failures())


def test_one_seed_gives_the_same_bytes_and_another_gives_others() -> None:
    def everything(made: Conference) -> list[object]:
        sources = [{path: whole(c) for path, c in paper.source.items()} for paper in made.world.papers.values()]
        trees = [{path: whole(f.content) for path, f in r.files.items()} for r in made.world.repositories.values()]
        return [sources, trees, list(made.world.hub), list(made.world.sites)]

    assert everything(conference(12)) == everything(conference(12))
    assert everything(conference(12)) != everything(conference(12, "t"))


def test_a_paper_is_the_same_in_a_small_conference_and_in_a_large_one() -> None:
    small, large = conference(5), conference(40)
    for arxiv_id in small.world.papers:
        assert small.truth(arxiv_id) == large.truth(arxiv_id)


def test_as_many_papers_have_a_supplement_as_at_the_real_conference() -> None:
    made = conference(3414)
    assert sum(bool(made.truth(i).supplement) for i in made.world.papers) == 1547


def test_trouble_of_every_kind_occurs() -> None:
    made = conference(600)
    drawn = [made.truth(i) for i in made.world.papers]
    assert {d.code for d in drawn} >= {"code", "promised", "missing", "renamed", "empty", "archived", "mirror", ""}
    assert {d.weights for d in drawn} >= {"open", "gated", "missing", "release", ""}
    assert {d.data for d in drawn} >= {"open", "gated", "benchmark", "dead"}
    assert {d.story.kind for d in drawn} == {"empirical", "theory", "dataset"}
    assert 0.4 < sum(d.has_code for d in drawn) / len(drawn) < 0.9


def test_the_reader_finds_title_links_table_and_compute_of_each_paper() -> None:
    made = conference(40)
    for arxiv_id, paper in made.world.papers.items():
        drawn = made.truth(arxiv_id)
        found = read({path: whole(content) for path, content in paper.source.items()})
        assert found.title == drawn.story.title
        assert {url for _, url in drawn.story.links} <= {link.url for link in found.links}
        if drawn.story.kind == "theory":
            assert not found.tables
            continue
        (table,) = found.tables
        assert any(cell is not None and cell.value == drawn.story.value for row in table.grid for cell in row)
        assert [m.hours for m in found.compute] == ([] if drawn.story.hours is None else [drawn.story.hours])


def test_every_link_of_a_paper_leads_to_what_was_drawn() -> None:
    """A repository of GitHub's pages, a model, a data set, a site: nothing a paper names is unknown to its world."""
    made = conference(120)
    for arxiv_id in made.world.papers:
        for what, url in made.truth(arxiv_id).story.links:
            found = asked(made.world, url)
            if what == "data" and made.truth(arxiv_id).data == "dead":
                assert found == Fault("nxdomain")
            elif what != "page":
                assert isinstance(found, Answer), url
                assert found.status in (200, 301, 401, 404), url


def test_a_folder_with_nothing_but_its_settings_is_a_world(tmp_path: Path) -> None:
    made = load_world(write_generated(tmp_path / "made", 7, "x"))
    assert len(made.papers) == 7
    assert made.digest == load_generated(tmp_path / "made").digest
    assert made.digest != load_world(write_generated(tmp_path / "other", 7, "y")).digest


def test_an_edition_made_of_the_folder_takes_all_its_papers(tmp_path: Path) -> None:
    folder = write_generated(tmp_path / "made", 120, "x")
    assert load_edition(None, Store(tmp_path / "store"), folder).sample_limit == 120


def test_settings_that_cannot_be_name_their_file(tmp_path: Path) -> None:
    (tmp_path / "generated.toml").write_text("papers = 3\n")
    with pytest.raises(WorldError, match=r"generated\.toml"):
        load_world(tmp_path)
