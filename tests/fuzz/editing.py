"""Edition files as people write them: an edition, or an error that names the file."""

from __future__ import annotations

import re
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from pipeline.editions import _READS, Edition, EditionError, data, load, shipped
from pipeline.evidence import canonical
from tests.fuzz.mutating import cut, cuts
from tests.fuzz.running import Target

_VALUES = (
    '"x"', "0", "-1", "1e400", "nan", "inf", "true", "[]",
    "[8, 24]", "[8, 8]", "[24, 8]", '["a"]', "{}", "2025-12-01",
    "2025-12-01T10:00:00Z", '"2025-13-01"', "{Run = 3}", "{Run = 3, Retrain = 1}", '"../x"', '""',
    "99999999999999999999",
    '"\\u0000"', "[1, 2, 3, 4, 5]", "0.5", "96", '"seeded"', '"after_audit"', "'sample-2025'",
    '"https://h/{query}"', "[[1]]",
)  # fmt: skip
_KEYS = (
    *Edition.model_fields,
    "live.venues",
    "live.index_file",
    "corpus.min_papers",
    "classifier.model",
    "llm",
    "capp",
)
lines = st.lists(st.tuples(st.sampled_from(_KEYS), st.sampled_from(_VALUES)), max_size=4)
files = st.fixed_dictionaries(
    {
        "base": st.sampled_from(shipped()),
        "extends": st.booleans(),
        "lines": lines,
        "drop": st.lists(st.sampled_from(_KEYS), max_size=2),
        "cuts": st.one_of(st.just([]), st.just([]), cuts),
    }
)


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="reclaim-fuzz-")


def written(given: dict[str, Any]) -> bytes:
    """A shipped edition (or one that extends it) with keys dropped and put, and bytes cut."""
    own = (
        f'extends = "{given["base"]}"\n' if given["extends"] else data("editions", f"{given['base']}.toml").read_text()
    )
    gone = {key for key, _ in given["lines"]} | set(given["drop"])
    kept = [line for line in own.splitlines() if re.split(r"[ =]", line)[0] not in gone]
    text = "\n".join([*(f"{key} = {value}" for key, value in dict(given["lines"]).items()), *kept]) + "\n"
    return cut(text.encode(), given["cuts"])


def an_edition(given: dict[str, Any]) -> None:
    place = Path(_folder().name) / "mine.toml"
    place.write_bytes(written(given))
    try:
        edition = load(place)
    except EditionError as error:
        said = str(error).partition("\n")[0]
        assert str(place) in said or "no edition" in said, said
        return
    assert edition.name == "mine"
    assert edition.hash == load(place).hash
    assert canonical(edition.settings())
    assert all(canonical(edition.part(stage)) for stage in _READS)
    assert Edition.model_validate(edition.settings()).hash == edition.hash
    assert edition.split_edges_hours[-1] == edition.split_cap_hours
    assert edition.sample_limit >= edition.pool_size >= edition.eval_size
    assert edition.variant({}).hash == edition.hash
    try:
        edition.variant({"split_cap_hours": 24})
    except EditionError as error:
        said = str(error)
        assert "variant of mine" in said


TARGETS = (Target("editions", files, an_edition, round=200, few=20),)
