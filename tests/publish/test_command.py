"""`reclaim publish`, `register` and `verify hub:` as a person runs them, against a Hub on loopback."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assets.cli import main
from assets.publish import carry_out, record
from assets.workplace import workplace
from pipeline.events import Event
from pipeline.release import registration
from pipeline.release.compose import Material
from pipeline.release.publication import Refusal, Release, release_of
from pipeline.release.registration import Registration, registered
from pipeline.sources.hub_release import Hub

REPO = "lab/made"
Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(hub: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """`reclaim` with this Hub and a token that may write; exit code, and all that was printed."""
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    monkeypatch.setenv("HF_TOKEN", "hf_a_token_that_may_write")
    monkeypatch.setattr("assets.verification.code_print", lambda *modules: "code")  # it takes a second to compute

    def told(*arguments: str) -> tuple[int, str]:
        code = main(["--store", str(tmp_path / "store"), *arguments])
        shown = capsys.readouterr()
        return code, shown.out + shown.err

    return told


@pytest.fixture
def send(run: Run) -> Callable[[Path], str]:
    def sent(folder: Path) -> str:
        code, text = run("publish", str(folder), "--repo", REPO, "--yes")
        assert code == 0, text
        return text

    return sent


@pytest.fixture(scope="module")
def kept() -> dict[str, Any]:
    return {}


@pytest.fixture
def there(hub: Any, kept: dict[str, Any], v1: Path) -> str:
    """The first version, published as any other; sent once for all tests here. The name of its tag."""
    release = release_of(v1)
    if not kept:
        carry_out(Hub(REPO, "hf_a_token_that_may_write", hub.url), release, None, "commit")
        kept[REPO] = hub.repos[REPO].copy()
    hub.repos[REPO] = kept[REPO].copy()
    return f"{REPO}@{release.name}"


def on_main(hub: Any, title: str, **files: bytes) -> str:
    """A commit on main by other hands; `__` in a name is a slash, `_` a dot."""
    repo = hub.repos[REPO]
    named = {path.replace("__", "/").replace("_", "."): data for path, data in files.items()}
    return str(repo.add(title, {**repo.commits[repo.main].files, **named}, repo.commits[repo.main].large))


@pytest.mark.slow
def test_two_versions_are_published_one_after_the_other_and_each_verifies_by_its_tag(
    hub: Any, run: Run, send: Callable[[Path], str], v1: Path, v2: Path
) -> None:
    first = re.search(r"commit ([0-9a-f]{40})", send(v1))
    code, text = run("publish", str(v2), "--repo", REPO, "--dry-run", "--json")
    told = json.loads(text)
    assert (code, told["next"]) == (0, "commit")
    assert (hub.repos[REPO].tags.keys(), len(hub.repos[REPO].history())) == ({"made-2026-v1"}, 2)
    kinds = [(c["table"], c["kind"]) for c in told["changes"]]
    assert (kinds.count(("eval", "added")), kinds.count(("eval", "dropped"))) == (1, 2)
    changed = next(c for c in told["changes"] if c["table"] == "selection" and len(c["fields"]) > 3)
    assert ["audited_hours", 0.52, 7.25] in changed["fields"]
    assert "audited_hours: 0.52 → 7.25" in send(v2)
    assert first is not None
    assert hub.repos[REPO].tags["made-2026-v1"] == first[1]
    for version, folder in (("v1", v1), ("v2", v2)):
        code, text = run("verify", f"hub:{REPO}@made-2026-{version}")
        assert code == 0, text
        rows = len((folder / "eval.jsonl").read_bytes().splitlines() + (folder / "dev.jsonl").read_bytes().splitlines())
        count = 4 * rows
        assert f"labels {count}: {count} with their hash, {count} derived again, 0 replayed, {count} hash only" in text
        assert "was not registered before this release" in text
    assert hub.unknown == []


def test_a_release_that_does_not_verify_goes_nowhere(hub: Any, run: Run, v1: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(v1, tmp_path / v1.name)
    (copy / "README.md").write_bytes((copy / "README.md").read_bytes() + b" ")
    code, text = run("publish", str(copy), "--repo", REPO, "--yes")
    assert code == 1
    assert "does not verify, and is not published" in text
    assert "README.md" in text
    assert hub.requests == []


def test_a_release_goes_to_no_repository_but_its_own(hub: Any, run: Run, v1: Path) -> None:
    code, text = run("publish", str(v1), "--repo", "someone/else", "--yes")
    assert code == 1
    assert "says that it is published at lab/made; it does not go to someone/else" in text
    assert hub.requests == []


def test_a_tag_that_somebody_moved_to_another_commit_is_told(toy: Callable[..., Release], tmp_path: Path) -> None:
    record(tmp_path, toy(), "a" * 40)
    record(tmp_path, toy(), "a" * 40)
    kept = json.loads((tmp_path / "published" / "toy-2026-v1.json").read_bytes())
    assert kept == {
        "repo": "lab/toy",
        "tag": "toy-2026-v1",
        "commit": "a" * 40,
        "rows_sha256": toy().manifest["rows_sha256"],
        "manifest_sha256": toy().manifest["manifest_sha256"],
    }
    with pytest.raises(Refusal, match=f"its tag is on {'b' * 40} now; somebody moved it"):
        record(tmp_path, toy(), "b" * 40)
    assert [path.name for path in (tmp_path / "published").iterdir()] == ["toy-2026-v1.json"]


def test_a_record_kept_before_manifests_were_is_no_moved_tag(toy: Callable[..., Release], tmp_path: Path) -> None:
    record(tmp_path, toy(), "a" * 40)
    place = tmp_path / "published" / "toy-2026-v1.json"
    kept = json.loads(place.read_bytes())
    del kept["manifest_sha256"]
    place.write_text(json.dumps(kept))
    record(tmp_path, toy(), "a" * 40)
    with pytest.raises(Refusal, match="somebody moved it"):
        record(tmp_path, toy(), "b" * 40)


def test_a_tag_that_holds_anything_else_fails(hub: Any, run: Run, there: str) -> None:
    hub.repos[REPO].tags["made-2026-v1"] = on_main(hub, "forged", data__x_parquet=b"x", __etc__x=b"x")
    code, text = run("verify", f"hub:{there}")
    assert code == 1
    for path in ("data/x.parquet", "/etc/x"):
        assert f"{path}: is no plain file of a release" in text
    hub.repos[REPO].tags["made-2026-v1"] = on_main(hub, "forged", extra_parquet=b"x")
    code, text = run("verify", f"hub:{REPO}@made-2026-v1")
    assert (code, "extra.parquet: is not listed in the manifest" in text) == (1, True)


def test_a_release_under_the_tag_of_another_fails(hub: Any, run: Run, there: str) -> None:
    hub.repos[REPO].tags["made-2026-v2"] = hub.repos[REPO].main
    hub.repos["lab/copy"] = hub.repos[REPO]
    assert "the release in it is made-2026-v1" in run("verify", f"hub:{REPO}@made-2026-v2")[1]
    code, text = run("verify", "hub:lab/copy@made-2026-v1")
    assert code == 1
    assert "lab/copy: the release says that it is published at lab/made" in text


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("lab/made", "write hub:ORG/NAME@TAG"),
        ("lab/../x@v1", "write hub:ORG/NAME@TAG"),
        ("lab/made@v1/..", "write hub:ORG/NAME@TAG"),
        ("lab/none@v1", "no such data set for a stranger"),
        ("lab/made@v7", "no tag v7; it has none"),
    ],
)
def test_what_names_no_release_is_told_in_one_line(hub: Any, run: Run, named: str, said: str) -> None:
    hub.make(REPO)
    code, text = run("verify", f"hub:{named}")
    assert code == 1
    assert said in text
    assert text.count("\n") == 1


# What is registered


def registers(hub: Any, held: Registration) -> None:
    on_main(hub, "registered", **{f"registered__{held.edition}_json": held.to_bytes()})


@pytest.mark.slow
def test_a_release_that_was_registered_is_held_to_it(
    hub: Any, run: Run, send: Callable[[Path], str], v1: Path, held: Material, second: Material
) -> None:
    hub.make(REPO)
    first = registered(None, held.edition, 0, held.entries)
    registers(hub, first)
    send(v1)
    code, text = run("verify", f"hub:{REPO}@made-2026-v1")
    assert code == 0, text
    assert "ok     the release is as its edition was registered (1 checked)" in text
    registers(hub, registered(first, second.edition, 3, second.entries))
    assert run("verify", f"hub:{REPO}@made-2026-v1")[0] == 0
    registers(hub, replace(first, ledger=()))
    code, text = run("verify", f"hub:{REPO}@made-2026-v1")
    assert code == 1
    assert "main says other things than were registered" in text


def test_a_release_of_other_settings_or_another_ledger_than_registered_is_not_published(
    hub: Any, run: Run, v1: Path, held: Material, second: Material
) -> None:
    hub.make(REPO)
    other = held.edition.model_copy(update={"seed": "another"})
    registers(hub, registered(None, other, 0, ()))
    code, text = run("publish", str(v1), "--repo", REPO, "--yes")
    assert (code, "is not as it was registered: edition made-2026 was registered with hash" in text) == (1, True)
    registers(hub, registered(None, held.edition, 0, second.entries))
    code, text = run("publish", str(v1), "--repo", REPO, "--yes")
    assert (code, "is none of the 1 that were registered" in text) == (1, True)
    assert hub.repos[REPO].tags == {}


def test_an_edition_is_registered_before_its_first_episode_and_its_ledger_before_the_freeze(
    hub: Any, run: Run, tmp_path: Path
) -> None:
    toml = tmp_path / "mine.toml"
    toml.write_text('extends = "sample-2025"\nrepo = "lab/mine"\n', encoding="utf-8")
    code, text = run("register", str(toml))
    assert code == 0, text
    assert "no ledger yet; register again before the freeze" in text
    repo = hub.repos["lab/mine"]
    first = Registration.from_bytes(repo.commits[repo.main].files["registered/mine.json"])
    assert (first.episodes, first.heads) == (0, ())
    assert "was registered before" in run("register", str(toml))[1]
    assert len(repo.history()) == 2
    erratum = {"kind": "erratum", "paper": "2505.90011", "who": "ada", "at": "2026-01-01T10:00:00Z", "why": "a typo"}
    with workplace(str(toml), tmp_path / "store") as work:
        work.ledger.append([Event.model_validate(erratum)])
    code, text = run("register", str(toml))
    second = Registration.from_bytes(repo.commits[repo.main].files["registered/mine.json"])
    assert second.heads[0] in text
    assert registration.rewritten(first, second) == []
    assert [repo.commits[id_].title for id_ in repo.history()[:2]] == [
        "Register the ledger head of mine",
        "Register mine",
    ]
    toml.write_text('extends = "sample-2025"\nrepo = "lab/mine"\neval_size = 11\n', encoding="utf-8")
    code, text = run("register", str(toml))
    assert code == 1
    assert "settings that were registered stay" in text
    assert len(repo.history()) == 3
    toml.write_text('extends = "sample-2025"\n', encoding="utf-8")
    assert "names no repository" in run("register", str(toml))[1]


def test_the_folder_that_is_published_is_read_once_and_sealed(v1: Path) -> None:
    release = release_of(v1)
    assert release.files.keys() == {path.name for path in v1.iterdir()}
    assert all((v1 / path).read_bytes() == data for path, data in release.files.items())
