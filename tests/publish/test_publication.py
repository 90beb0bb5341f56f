"""The rules of publishing, over what a repository was read to hold; and what a registration lets pass."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline import events
from pipeline.editions import load
from pipeline.events import Entry, Event, chained, genesis
from pipeline.release import registration
from pipeline.release.folder import FORMAT, seal
from pipeline.release.publication import (
    Blob,
    Refusal,
    Release,
    There,
    Tree,
    changes,
    next_step,
    plain,
    release_of,
    row_changes,
    told,
)
from pipeline.release.registration import Registration, RegistrationError, registered
from pipeline.release.tables import document

Toy = Callable[..., Release]
EDITION = load("sample-2025")


def blob(data: bytes, large: bool = False) -> Blob:
    oid = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
    return Blob(size=len(data), oid=oid, sha256=hashlib.sha256(data).hexdigest() if large else None)


def tree(files: dict[str, bytes], commit: str = "c" * 40) -> Tree:
    return Tree(commit=commit, files={path: blob(data, path.endswith(".parquet")) for path, data in files.items()})


def there(main: Tree | None, release: str = "", tagged: Tree | None = None, **tags: str) -> There:
    named = {name.replace("_", "-"): commit for name, commit in tags.items()}
    return There(main=main, tags=named, release=release, tagged=tagged)


def test_a_repository_that_is_not_there_gets_a_commit_and_a_tag(toy: Toy) -> None:
    assert next_step(toy(), None) == "commit"
    assert next_step(toy(), there(tree({".gitattributes": b"x", "README.md": b"made on the Hub's page"}))) == "commit"


def test_a_commit_without_its_tag_is_known_by_its_bytes(toy: Toy) -> None:
    held = tree({**toy().files, ".gitattributes": b"x", "registered/toy-2026.json": b"{}"})
    assert next_step(toy(), there(held, "toy-2026-v1")) == "tag"
    assert next_step(toy(), there(held, "toy-2026-v1", held, toy_2026_v1=held.commit)) == "nothing"


@pytest.mark.parametrize("change", ["a byte", "a file more", "a file less"])
def test_a_tag_on_anything_but_this_very_release_is_refused(toy: Toy, change: str) -> None:
    files = dict(toy().files)
    if change == "a byte":
        files["README.md"] = files["README.md"].replace(b"mit", b"mot")
    elif change == "a file more":
        files["eval.yaml"] = b""
    else:
        del files["eval.parquet"]
    other = tree(files)
    with pytest.raises(Refusal, match="a tag never moves"):
        next_step(toy(), there(other, "toy-2026-v1", other, toy_2026_v1=other.commit))


def test_only_a_newer_version_replaces_what_is_on_main(toy: Toy) -> None:
    second = tree(dict(toy(2).files))
    with pytest.raises(Refusal, match=r"holds toy-2026-v2, and toy-2026-v1 is not newer"):
        next_step(toy(1), there(second, "toy-2026-v2", toy_2026_v2=second.commit))
    with pytest.raises(Refusal, match=r"holds toy-2026-v2, and toy-2026-v2 is not newer"):
        next_step(toy(2, rows=4), there(second, "toy-2026-v2"))
    assert next_step(toy(3), there(second, "toy-2026-v2", toy_2026_v2=second.commit)) == "commit"


def test_a_version_that_was_tagged_is_not_followed_by_an_older_one_even_where_main_went_back(toy: Toy) -> None:
    first = tree(dict(toy(1).files))
    with pytest.raises(Refusal, match=r"toy-2026-v3, and toy-2026-v2 is not newer"):
        next_step(toy(2), there(first, "toy-2026-v1", toy_2026_v1=first.commit, toy_2026_v3="d" * 40))
    with pytest.raises(Refusal, match=r"toy-2026-v3, and toy-2026-v2 is not newer"):
        next_step(toy(2), there(tree({}), "", toy_2026_v3="d" * 40))


def test_a_release_whose_tag_is_missing_is_finished_before_the_next_one(toy: Toy) -> None:
    with pytest.raises(Refusal, match="Publish it again"):
        next_step(toy(2), there(tree(dict(toy(1).files)), "toy-2026-v1"))


def test_a_repository_of_another_edition_or_of_other_files_is_left_alone(toy: Toy) -> None:
    other = tree(dict(toy(1, edition="other-2026").files))
    with pytest.raises(Refusal, match="each edition has a repository of its own"):
        next_step(toy(2), there(other, "other-2026-v1"))
    with pytest.raises(Refusal, match=r"no release put there \(data\.csv\)"):
        next_step(toy(), there(tree({"data.csv": b"a", "README.md": b"b"})))


def test_git_and_lfs_hashes_both_say_whether_bytes_are_there() -> None:
    # git hash-object of b"hello\n", as every git prints it
    assert Blob(size=6, oid="ce013625030ba8dba906f756967f9e9ca394464a").holds(b"hello\n")
    for large in (False, True):
        assert blob(b"hello", large).holds(b"hello")
        assert not blob(b"hello", large).holds(b"hellO")
        assert not replace(blob(b"hello", large), size=4).holds(b"hello")


@pytest.mark.parametrize("path", ["", ".", "..", "../x", "a/b", "/etc/passwd", "a\\b", "c:x", "a\0"])
def test_what_is_no_plain_name_is_never_written(path: str) -> None:
    assert plain("eval.parquet")
    assert not plain(path)


CELLS = st.one_of(st.none(), st.booleans(), st.integers(0, 3), st.text("ab", max_size=2))
ROWS = st.dictionaries(st.sampled_from("pqrs"), st.dictionaries(st.sampled_from("xyz"), CELLS, max_size=3), max_size=4)


@given(ROWS, ROWS)
def test_the_changes_lead_from_what_was_there_to_what_comes(before: dict[str, Any], after: dict[str, Any]) -> None:
    rows = [[{"custom_id": name, **cells} for name, cells in sorted(held.items())] for held in (before, after)]
    found = row_changes("targets", *rows)
    again = {name: dict(cells) for name, cells in before.items()}
    for change in found:
        if change.kind == "dropped":
            del again[change.row]
        elif change.kind == "added":
            again[change.row] = after[change.row]
        else:
            for field, was, now in change.fields:
                assert (before[change.row].get(field), after[change.row].get(field)) == (was, now)
                again[change.row].pop(field, None)
                if field in after[change.row]:
                    again[change.row][field] = now
    assert again == after
    assert len({change.row for change in found}) == len(found)


def test_a_dry_run_names_rows_and_fields_and_asks_only_for_tables_that_differ(toy: Toy) -> None:
    old, new, asked = toy(1), toy(2, rows=4), []

    def read(path: str) -> bytes:
        asked.append(path)
        return old.files[path]

    main = tree(dict(old.files))
    found = changes(new, main, read)
    assert asked == ["eval.jsonl"]
    text = "\n".join(told(new, there(main, "toy-2026-v1", toy_2026_v1=main.commit), "commit", found))
    assert "eval: 1 added, 2 changed" in text
    assert "~ 2601.00001  hours: 1.0 → 2.0" in text
    assert "+ 2601.00003" in text
    assert "toy-2026-v1 on main" in text
    assert "then tag toy-2026-v2 on it" in text


@pytest.mark.parametrize("junk", [b"[1]\n", b"x\n", b'{"custom_id": "2601.00000", "hours": NaN}\n'])
def test_a_table_that_other_hands_broke_on_main_is_refused_by_name_not_a_crash(toy: Toy, junk: bytes) -> None:
    with pytest.raises(Refusal, match="of what is there holds a table that cannot be read"):
        changes(toy(2), tree({**toy(1).files, "eval.jsonl": junk}), lambda path: junk)


def test_no_name_on_main_draws_on_a_terminal(toy: Toy) -> None:
    old = dict(toy(1).files) | {"eval.jsonl": b'{"custom_id": "\\u001b[2Jx", "hours": 1.0}\n'}
    main = tree(old)
    found = changes(toy(2), main, lambda path: old[path])
    text = "\n".join(told(toy(2), there(main, "toy\x1b[31m", **{"t\x1b": main.commit}), "commit", found))
    assert "\x1b" not in text
    assert "\\x1b[2Jx" in text


def sealed(place: Path, name: str, **edition: str) -> Path:
    """A folder that is sealed and holds no more than what a release is named by."""
    files = {"croissant.json": document({"name": name}), "edition.json": document(edition)}
    place.mkdir()
    for path, data in files.items():
        (place / path).write_bytes(data)
    (place / "manifest.json").write_bytes(seal(files, {"format": FORMAT, "code_print": "", "edition": "toy-2026"}))
    return place


def test_a_folder_is_published_under_the_name_and_where_its_edition_says(tmp_path: Path) -> None:
    good = release_of(sealed(tmp_path / "toy-2026-v3", "toy-2026-v3", repo="lab/toy"))
    assert (good.name, good.edition, good.version, good.repo) == ("toy-2026-v3", "toy-2026", 3, "lab/toy")
    assert good.files.keys() == {"croissant.json", "edition.json", "manifest.json"}
    for folder, name in (("toy-2026-v4", "toy-2026-v3"), ("toy-2026", "toy-2026"), ("toy-v1", "toy-v1")):
        with pytest.raises(Refusal, match="published under its own name"):
            release_of(sealed(tmp_path / folder, name, repo="lab/toy"))
    with pytest.raises(Refusal, match="names no repository"):
        release_of(sealed(tmp_path / "toy-2026-v1", "toy-2026-v1"))


# What is registered


def chain(*kinds: str, before: tuple[Entry, ...] = (), site: str = "main") -> tuple[Entry, ...]:
    one = {"kind": "erratum", "paper": "2601.00001", "who": "ada", "at": "2026-02-20T10:00:00Z"}
    made = [Event.model_validate({**one, "why": kind}) for kind in kinds]
    start = (before[-1].seq, before[-1].hash) if before else (0, genesis(EDITION.name, site))
    return (*before, *chained(made, site, *start))


def test_a_registration_grows_with_the_ledger_and_says_nothing_twice() -> None:
    first = registered(None, EDITION, 0, ())
    assert (first.edition_hash, first.ledger) == (EDITION.hash, ())
    assert registered(first, EDITION, 9, ()) == first
    one = chain("a", "b")
    second = registered(first, EDITION, 9, one)
    assert second.heads == (events.head(one),)
    assert registered(second, EDITION, 9, one) == second
    third = registered(second, EDITION, 9, (*chain("c", before=one), *chain("x", site="other")))
    assert len(third.heads) == 2
    assert third.episodes == 0
    assert Registration.from_bytes(third.to_bytes()) == third
    assert registration.rewritten(first, third) == []


def test_what_was_registered_is_not_taken_back() -> None:
    held = registered(None, EDITION, 0, chain("a", "b"))
    with pytest.raises(RegistrationError, match="settings that were registered stay"):
        registered(held, EDITION.variant({"eval_size": 9}), 0, chain("a", "b"))
    for ledger in (chain("a"), chain("a", "c"), ()):
        with pytest.raises(RegistrationError, match="does not continue"):
            registered(held, EDITION, 0, ledger)
    assert registration.rewritten(held, None) != []
    assert registration.rewritten(held, replace(held, episodes=1)) != []
    assert registration.rewritten(held, replace(held, ledger=())) != []


def test_a_release_is_held_to_what_was_registered() -> None:
    one = chain("a", "b")
    two = chain("c", before=one)
    held = registered(registered(None, EDITION, 0, one), EDITION, 0, two)
    ends = {"one": events.ends(one), "two": events.ends(two)}

    def found(entries: tuple[Entry, ...], hash_: str = EDITION.hash) -> list[str]:
        known = [(entry.site, entry.seq, entry.hash) for entry in entries]
        return registration.problems(held, hash_, events.head(entries), known)

    assert ends["one"] != ends["two"]
    assert found(one) == found(two) == []
    assert "was registered with hash" in found(one, "0" * 64)[0]
    assert "none of the 2" in found(chain("d", before=two))[0]
    assert any("entry 2 of site main was registered as" in line for line in found(chain("a", "x")))


@pytest.mark.parametrize("change", [b"{", b"[]", b'{"edition": 1}'])
def test_a_file_that_is_no_registration_says_so(change: bytes) -> None:
    with pytest.raises(RegistrationError, match="is no registration"):
        Registration.from_bytes(change)


def test_a_registration_whose_settings_were_changed_does_not_hash_to_itself() -> None:
    data = registered(None, EDITION, 0, ()).to_bytes()
    with pytest.raises(RegistrationError, match="not what its own hash says"):
        Registration.from_bytes(data.replace(b'"eval_size":12', b'"eval_size":13'))
