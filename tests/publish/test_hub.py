"""The Hub as huggingface_hub speaks to it: one commit and its tag, and a line that is cut at any byte."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from typing import Any

import pytest

from assets.publish import carry_out
from pipeline.release.publication import Release, next_step
from pipeline.sources.hub_release import Hub, HubError

TOKEN = "hf_a_token_that_may_write"
Toy = Callable[..., Release]


def publish(release: Release, url: str, token: str | None = TOKEN) -> str:
    hub = Hub(release.repo, token, url)
    there = hub.there(release.name)
    return carry_out(hub, release, there, next_step(release, there))


def held(hub: Any, release: Release, revision: str) -> bool:
    """Whether a revision has these files and the Hub's own, looked up in the server's memory."""
    repo = hub.repos[release.repo]
    files = repo.commits[repo.at(revision)].files
    return {path: data for path, data in files.items() if path != ".gitattributes"} == release.files


def test_a_release_is_one_commit_with_all_its_files_and_a_tag_on_it(hub: Any, toy: Toy) -> None:
    commit = publish(toy(), hub.url)
    repo = hub.repos["lab/toy"]
    assert [repo.commits[id_].title for id_ in repo.history()] == ["Release toy-2026-v1", "initial commit"]
    assert repo.tags == {"toy-2026-v1": commit} == {"toy-2026-v1": repo.main}
    assert held(hub, toy(), "toy-2026-v1")
    sent = [line for line in hub.requests if line.startswith("PUT /lfs/")]
    assert sum(line.count("/") == 5 for line in sent) >= 2  # parts of the large one
    assert sum(line.count("/") == 4 for line in sent) >= 1  # a whole small one
    assert hub.unknown == []


def test_what_is_published_is_not_sent_again(hub: Any, toy: Toy) -> None:
    commit = publish(toy(), hub.url)
    hub.requests.clear()
    assert publish(toy(), hub.url) == commit
    assert {line.split()[0] for line in hub.requests} == {"GET"}


def test_the_next_version_leaves_the_last_one_under_its_tag(hub: Any, toy: Toy) -> None:
    first = publish(toy(1, old_txt=b"only then"), hub.url)
    second = publish(toy(2), hub.url)
    repo = hub.repos["lab/toy"]
    assert repo.tags == {"toy-2026-v1": first, "toy-2026-v2": second}
    assert held(hub, toy(1, old_txt=b"only then"), "toy-2026-v1")
    assert held(hub, toy(2), "main")


def test_a_commit_whose_tag_was_never_set_is_tagged_and_not_made_again(hub: Any, toy: Toy) -> None:
    first = publish(toy(1), hub.url)
    client = Hub("lab/toy", TOKEN, hub.url)
    there = client.there("toy-2026-v2")
    assert there is not None
    commit = client.commit(toy(2).files, there.main, "Release toy-2026-v2", whole=True)
    assert hub.repos["lab/toy"].tags == {"toy-2026-v1": first}
    hub.requests.clear()
    assert publish(toy(2), hub.url) == commit
    assert [line for line in hub.requests if not line.startswith("GET")] == [f"POST /api/datasets/lab/toy/tag/{commit}"]


def test_files_are_read_back_through_the_redirect_and_checked(hub: Any, toy: Toy) -> None:
    publish(toy(), hub.url)
    client = Hub("lab/toy", None, hub.url)
    there = client.there("toy-2026-v1")
    assert there is not None
    assert there.tagged is not None
    assert client.read_all(there.tagged) == toy().files
    repo = hub.repos["lab/toy"]
    kept = repo.commits[there.tagged.commit].files["README.md"]
    repo.commits[there.tagged.commit].files["README.md"] = kept[:-1] + b"?"
    with pytest.raises(HubError, match=r"README\.md at .* other bytes than the Hub lists"):
        client.read(there.tagged, "README.md")


def test_a_commit_on_a_main_that_moved_meanwhile_is_refused(hub: Any, toy: Toy) -> None:
    publish(toy(1), hub.url)
    client = Hub("lab/toy", TOKEN, hub.url)
    there = client.there("toy-2026-v2")
    hub.repos["lab/toy"].add("by hand", {"other": b"x"}, frozenset())
    with pytest.raises(HubError, match=r"status 412 .*main moved meanwhile"):
        carry_out(client, toy(2), there, "commit")
    assert "toy-2026-v2" not in hub.repos["lab/toy"].tags


def test_a_tag_that_is_there_is_not_moved_by_a_second_one(hub: Any, toy: Toy) -> None:
    first = publish(toy(1), hub.url)
    client = Hub("lab/toy", TOKEN, hub.url)
    other = hub.repos["lab/toy"].add("by hand", {"other": b"x"}, frozenset())
    with pytest.raises(HubError, match="status 409"):
        client.tag("toy-2026-v1", other)
    assert hub.repos["lab/toy"].tags["toy-2026-v1"] == first


@pytest.mark.parametrize("token", [None, "hf_some_other_secret"])
def test_without_a_token_that_may_write_nothing_is_written_and_no_token_is_told(
    hub: Any, toy: Toy, token: str | None, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("HF_HUB_VERBOSITY", "debug")
    with pytest.raises(HubError, match=r"lab/toy: making the repository: status 401 .*set HF_TOKEN") as refused:
        publish(toy(), hub.url, token)
    assert hub.repos == {}
    assert "hf_some_other_secret" not in str(refused.value) + caplog.text


def test_a_hub_that_is_busy_ends_the_try_and_nobody_waits(hub: Any, toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: pytest.fail("somebody waited"))
    closed = hub.url.rsplit(":", 1)[0] + ":1"
    with pytest.raises(HubError, match="goes on from here"):
        publish(toy(), closed)


def cut_and_finished(hub: Any, line: Any, toy: Toy, point: int, settled: Callable[[], None]) -> bool:
    """Publish the second version over a line that is cut at a byte, look, mend it, and publish again. Whether the cut
    hit."""
    line.cut_after(point)
    cut = False
    try:
        publish(toy(2), line.url)
    except HubError:
        cut = True
    settled()
    line.mend()
    commit = publish(toy(2), line.url)
    assert hub.repos["lab/toy"].tags["toy-2026-v2"] == commit
    assert held(hub, toy(2), "toy-2026-v2")
    titles = [hub.repos["lab/toy"].commits[id_].title for id_ in hub.repos["lab/toy"].history()]
    assert titles == ["Release toy-2026-v2", "Release toy-2026-v1", "initial commit"]
    return cut


def test_cut_at_any_byte_the_last_release_stays_whole_and_the_next_try_completes(hub: Any, line: Any, toy: Toy) -> None:
    def start() -> None:
        hub.repos.clear()
        publish(toy(1), hub.url)

    def settled() -> None:
        repo = hub.repos["lab/toy"]
        assert held(hub, toy(1), "toy-2026-v1")
        assert held(hub, toy(1), "main") or held(hub, toy(2), "main")
        assert repo.tags.keys() <= {"toy-2026-v1", "toy-2026-v2"}
        if "toy-2026-v2" in repo.tags:
            assert held(hub, toy(2), "toy-2026-v2")

    start()
    before = line.passed
    publish(toy(2), line.url)
    whole = line.passed - before
    draw = random.Random("cut")
    points = [draw.randrange(1, whole) for _ in range(2)] + [whole - 2000, whole - 300]
    hit = 0
    for point in points:
        start()
        hit += cut_and_finished(hub, line, toy, point, settled)
    assert hit >= 3
