"""The agreement page: what was answered blind by two people, and nothing that was said with the verdict in sight."""

from __future__ import annotations

from tests.audit_ui.conftest import World


def test_the_page_shows_agreement_of_blind_readers_and_who_knows_the_guide(world: World) -> None:
    ann, bob, cyd = world.person("ann"), world.person("bob"), world.person("cyd", "adjudicator")
    world.site.desk.fresh()
    paper = next(p for p, scope in world.site.desk.scopes().items() if scope == "full")
    assert "Agreement was not measured" in cyd.browser.get("/agreement").text
    ann.agrees(paper, "code_available")
    bob.agrees(paper, "code_available")
    bob.says(paper, "kind", "theoretical")
    text = cyd.browser.get("/agreement").text
    assert f"Two people answered 1 of {len(world.papers)} rows" in text
    assert "100.0 %" in text
    assert "undefined" in text
    assert "yes 100 %" in text
