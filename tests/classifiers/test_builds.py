"""`reclaim build --classifier`: an edition of its own, refused before it costs, paused by name, never paid twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assets.workplace import load_edition
from pipeline.editions import EditionError
from pipeline.store import Store
from tests.classifiers.fake_openai import Fail, Say, results, serving, tools, turns
from tests.classifiers.readers import PRICED, answering, good, searching
from tests.e2e.tiny import Tiny, make


def test_another_classifier_makes_an_edition_of_its_own_that_does_not_know_the_address(tmp_path: Path) -> None:
    store = Store(tmp_path)
    base = load_edition("sample-2025", store)
    found = load_edition("sample-2025", store, classifier="openai:Org/Model-7B@http://127.0.0.1:1/v1")
    assert found.name == "sample-2025-openai-org-model-7b"
    assert found.classifier.model == "openai:Org/Model-7B@http://127.0.0.1:1/v1"
    assert found.settings()["classifier"]["model"] == "openai:Org/Model-7B"
    assert found.world_path == base.world_path
    moved = load_edition("sample-2025", store, classifier="openai:Org/Model-7B@http://127.0.0.1:2/v1")
    assert moved.hash == found.hash != base.hash
    assert load_edition(found.name, store).classifier.model.endswith(":2/v1")
    assert load_edition("sample-2025", store, classifier="embedded").hash == base.hash


def test_an_address_that_moved_leaves_what_was_set_by_hand(tmp_path: Path) -> None:
    store = Store(tmp_path)
    name = load_edition("sample-2025", store, classifier="openai:m@http://127.0.0.1:1/v1").name
    path = tmp_path / "editions" / f"{name}.toml"
    path.write_text(path.read_text() + '[classifier.llm]\nseed = 7\nprompt = "published"\n')
    again = load_edition("sample-2025", store, classifier="openai:m@http://127.0.0.1:2/v1")
    assert again.classifier.llm is not None
    assert (again.classifier.llm.seed, again.classifier.llm.prompt) == (7, "published")
    assert again.classifier.model.endswith(":2/v1")


def test_an_edition_of_the_embedded_rules_is_hashed_as_if_no_other_classifier_existed(tmp_path: Path) -> None:
    settings = load_edition("sample-2025", Store(tmp_path)).settings()["classifier"]
    assert "llm" not in settings
    with pytest.raises(EditionError, match="reasoning"):
        load_edition("sample-2025", Store(tmp_path)).variant({"classifier": {"llm": {"reasoning": "loud"}}})


def build(tiny: Tiny, fake_url: str, *more: str, model: str = PRICED) -> int:
    return tiny.run("build", str(tiny.toml), "--classifier", f"openai:{model}@{fake_url}", *more)


@pytest.mark.slow
def test_a_build_is_refused_paused_resumed_and_pays_for_no_turn_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECLAIM_IN_FLIGHT", "2")
    good()
    tiny = make(tmp_path / "tiny")
    state: dict[str, Any] = {"dead": False}

    def script(told: dict[str, Any]) -> Say | Fail:
        return Fail(401) if state["dead"] else searching(1)(told)

    with serving(script) as fake:
        assert build(tiny, fake.url, "--budget", "usd=0") == 4
        assert "the run's budget is usd=0" in capsys.readouterr().out
        assert build(tiny, fake.url, model="home-made") == 6
        assert "no price is known for openai:home-made" in capsys.readouterr().out
        assert build(tiny, fake.url, "--budget", "gold=1") == 1
        assert "write any of usd=20" in capsys.readouterr().err
        assert fake.asked == 0

        assert build(tiny, fake.url, "--budget", "requests=4") == 4
        assert "does not bear another turn" in capsys.readouterr().out
        assert fake.asked == 4
        state["dead"] = True
        assert build(tiny, fake.url) == 6
        out = capsys.readouterr().out
        assert "refuses to be asked" in out
        state["dead"] = False
        build(tiny, fake.url)
        assert len(fake.paid) == len(set(fake.paid))
        asked = fake.asked
        build(tiny, fake.url)
        assert fake.asked == asked


@pytest.mark.slow
def test_a_build_whose_environment_names_a_search_engine_searches_the_web_and_keeps_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "k-3f9d27aa61"
    good()
    tiny = make(tmp_path / "tiny")
    site = next(tmp_path.rglob("world.toml")).parent / "sites" / "search.example.org" / "site.toml"
    site.parent.mkdir(parents=True)
    lead = {"url": "https://github.com/some/where", "title": "Code", "content": "All of it."}
    site.write_text(f"[default]\nstatus = 200\nbody = {json.dumps(json.dumps({'results': [lead]}))}\n")
    seen: list[dict[str, Any]] = []

    def script(told: dict[str, Any]) -> Say:
        if not turns(told) and "web_search" in tools(told):
            return Say(calls=[("web_search", {"query": "gizmo"})])
        seen.extend(results(told))
        return answering(told)

    with serving(script) as fake:
        monkeypatch.setenv("RECLAIM_WEB_SEARCH", "https://search.example.org/api?q={query}")
        monkeypatch.setenv("RECLAIM_WEB_SEARCH_KEY", key)
        build(tiny, fake.url)
    seen = [one for one in seen if "subject" in one]  # answers sent back are results too
    assert {one["subject"] for one in seen} == {"search:web"}
    assert all(one["content"]["leads"][0]["url"] == lead["url"] for one in seen)
    held = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in held if key.encode() in path.read_bytes()]
