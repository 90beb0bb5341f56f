"""Papers nobody here wrote. Needs ../shared beside the checkout; nothing of it is copied."""

import json
import re
from functools import cache
from pathlib import Path

import pytest

from pipeline.paper import NoPaper, Paper, read

REAL = Path(__file__).resolve().parents[2] / ".." / "shared" / "realworld"
pytestmark = pytest.mark.skipif(not (REAL / "papers").is_dir(), reason="no ../shared/realworld beside the checkout")
IDS = sorted(p.name for p in (REAL / "papers").iterdir()) if (REAL / "papers").is_dir() else []


@cache
def paper(name: str) -> Paper | None:
    src = REAL / "papers" / name / "src"
    files = {
        p.relative_to(src).as_posix(): p.read_bytes()
        for p in sorted(src.rglob("*"))
        if p.is_file() and not p.is_symlink()
    }
    try:
        return read(files)
    except NoPaper:
        return None


def gold(name: str) -> dict:
    return json.loads((REAL / "papers" / name / "meta.json").read_text())


def same(url: str) -> str:
    return re.sub(r"^https?://(?:www\.)?", "", url.lower()).rstrip("/").removesuffix(".git")


@pytest.mark.parametrize("name", IDS)
def test_every_paper_is_read_or_is_no_paper_for_a_reason(name: str) -> None:
    p = paper(name)
    if p is None:
        assert any("template" in o.lower() for o in gold(name)["oddities"])
        return
    assert p.main == gold(name)["main_tex"]
    assert len(p.text) > 5_000
    assert p.title
    assert p.abstract
    assert p.sections
    left = re.findall(r"\\(?:begin|end|textbf|cite|ref|caption|footnote)\b", p.text)
    assert len(left) <= 3, left  # a checklist may print a command with \\verb
    for sentence in p.sentences():
        assert p.text.startswith(sentence.text, sentence.anchor.offset)
    for link in p.links:
        assert (link.anchor.offset >= 0) or not link.visible
    for mention in p.compute:
        assert p.find(mention.quote) is not None


def test_own_code_links_are_found_and_their_visibility_is_right() -> None:
    wanted = found = right = 0
    for name in IDS:
        p = paper(name)
        for link in gold(name)["gold"]["code_links"] if p else ():
            wanted += 1
            here = [k for k in p.links if same(k.url) == same(link["url"])] if p else []
            found += bool(here)
            right += bool(here) and any(k.visible for k in here) == link["visible_in_pdf"]
    assert wanted
    assert found / wanted >= 0.95
    assert right / wanted >= 0.95


def test_compute_statements_are_found_where_they_stand() -> None:
    wanted = found = 0
    for line in (REAL / "compute_phrases.jsonl").read_text().splitlines():
        phrase = json.loads(line)
        p = paper(phrase["paper"])
        if p is None:
            continue
        wanted += 1
        found += any(
            m.anchor.file == phrase["file"]
            and m.anchor.line <= phrase["line"] <= m.anchor.end_line
            and (m.devices or m.hours or m.denial or m.acknowledgement)
            for m in p.compute
        )
    assert wanted
    assert found / wanted >= 0.85


def test_metric_values_that_stand_in_tables_are_cells_of_the_grid() -> None:
    wanted, missing = 0, []
    for name in IDS:
        p = paper(name)
        metric = gold(name)["gold"]["metric"]
        if p is None or not metric or "&" not in metric["evidence"]["quote"]:
            continue
        wanted += 1
        value = float(re.sub(r"[^\d.]", "", metric["value"]))
        if not any(c.value == value for t in p.tables for c in t.numeric_cells()):
            missing.append((name, metric["value"]))
    assert wanted
    assert len(missing) <= 0.1 * wanted, missing
