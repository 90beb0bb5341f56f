"""A stage is stale exactly when something it was made from changed."""

from pathlib import Path

import pytest

from pipeline import fingerprints
from pipeline.fingerprints import bare, closure, fingerprint

CODE = b'''"""Module words."""
import math
LIMIT = 3
"""What the limit means."""

def area(r: float) -> float:
    """Square metres."""
    return math.pi * r * r  # a circle
'''


def test_rewording_docstrings_and_comments_changes_nothing():
    reworded = CODE.replace(b"Square metres.", b"In m2.").replace(b"# a circle", b"# round").replace(b"Module", b"")
    assert reworded != CODE
    assert bare(reworded) == bare(CODE)


def test_moving_code_down_a_line_changes_nothing():
    assert bare(b"\n\n" + CODE) == bare(CODE)


@pytest.mark.parametrize(
    ("old", "new"), [(b"LIMIT = 3", b"LIMIT = 4"), (b"r * r", b"r + r"), (b"def area(r: float)", b"def area(r: int)")]
)
def test_changing_what_code_does_changes_the_print(old, new):
    assert bare(CODE.replace(old, new)) != bare(CODE)


def test_a_string_that_is_a_value_is_code_and_not_prose():
    assert bare(b"x = 'a'") != bare(b"x = 'b'")


def test_the_closure_follows_imports_of_imports_and_packages():
    reached = closure("pipeline.derivation")
    assert {"pipeline", "pipeline.evidence", "pipeline.tiers", "pipeline.compute", "pipeline.paper"} <= set(reached)
    assert not any(name.startswith(("assets", "classifiers", "pipeline.sources")) for name in reached)


def test_a_module_that_is_not_there_is_an_error_that_names_it():
    with pytest.raises(ValueError, match=r"pipeline\.nowhere"):
        closure("pipeline.nowhere")


def test_every_ingredient_moves_the_fingerprint():
    base = {"inputs": {"a": "1"}, "settings": {"cap": 96}, "code": "c"}
    prints = {
        fingerprint("s", **base),
        fingerprint("t", **base),
        fingerprint("s", **{**base, "inputs": {"a": "2"}}),
        fingerprint("s", **{**base, "settings": {"cap": 95}}),
        fingerprint("s", **{**base, "code": "d"}),
    }
    assert len(prints) == 5


def test_a_relative_import_is_followed(tmp_path, monkeypatch):
    package = tmp_path / "pipeline" / "inner"
    package.mkdir(parents=True)
    (tmp_path / "pipeline" / "__init__.py").write_text("")
    (package / "__init__.py").write_text("from . import leaf\n")
    (package / "leaf.py").write_text("from ..root import X\n")
    (tmp_path / "pipeline" / "root.py").write_text("X = 1\n")
    monkeypatch.setattr(fingerprints, "_ROOT", tmp_path)
    fingerprints._parsed.cache_clear()
    fingerprints._imports.cache_clear()
    try:
        assert closure("pipeline.inner") == ("pipeline", "pipeline.inner", "pipeline.inner.leaf", "pipeline.root")
    finally:
        fingerprints._parsed.cache_clear()
        fingerprints._imports.cache_clear()


def test_what_was_parsed_before_gives_the_same_print_without_parsing(tmp_path, monkeypatch):
    def forget():
        for cached in (fingerprints._parsed, fingerprints._imports, fingerprints.code_print):
            cached.cache_clear()
        fingerprints._known.clear()
        fingerprints._used.clear()

    before = fingerprints.code_print("pipeline.tiers", "pipeline.selection")
    place = tmp_path / "parsed.json"
    fingerprints.keep(place)
    forget()
    try:
        fingerprints.remember(place)
        monkeypatch.setattr(fingerprints.ast, "parse", lambda source: pytest.fail("parsed again"))
        assert fingerprints.code_print("pipeline.tiers", "pipeline.selection") == before
    finally:
        monkeypatch.undo()
        forget()


def test_no_more_is_kept_than_a_process_used(tmp_path, monkeypatch):
    place = tmp_path / "parsed.json"
    monkeypatch.setitem(fingerprints._known, "of another state of the code", ("print", ()))
    closure("pipeline.tiers")
    fingerprints.keep(place)
    assert "of another state" not in place.read_text()


def test_without_a_store_it_is_kept_in_the_users_cache_for_each_installation(monkeypatch):
    home = fingerprints.cache({"HOME": "/home/ada"})
    assert home == Path("/home/ada/.cache/reclaim") / home.name
    assert fingerprints.cache({"HOME": "/home/ada", "XDG_CACHE_HOME": "/c"}) == Path("/c/reclaim") / home.name
    assert fingerprints.cache({}) is None
    monkeypatch.setattr(fingerprints, "_ROOT", Path("/elsewhere"))
    assert fingerprints.cache({"HOME": "/home/ada"}).name != home.name


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": 1}', '{"a": ["b", [[1]]]}'])
def test_a_damaged_memory_of_parsing_is_as_good_as_none(tmp_path, text):
    place = tmp_path / "parsed.json"
    place.write_text(text)
    fingerprints.remember(place)
    assert closure("pipeline.tiers")
