"""The evidence pack: what it adds to a verification, and that it believes nothing it cannot hash."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pipeline.answers import Answer, Episode
from pipeline.classification import READ, extract, extraction
from pipeline.corpus import Exclusion, PaperRecord
from pipeline.derivation import Inputs
from pipeline.editions import Edition
from pipeline.evidence import Exchange, Signal
from pipeline.release import pack
from pipeline.release.case import Case
from pipeline.release.compose import Material, compose
from pipeline.release.extraction import CHECK, extracted
from pipeline.release.freeze import freeze
from pipeline.release.pack import Pack, PackError
from pipeline.release.report import Report
from pipeline.release.verify import verify


@pytest.fixture(scope="module")
def held(made: ModuleType) -> Material:
    return made.material()  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def release(made: ModuleType, held: Material, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = freeze(held, made.given(held), tmp_path_factory.mktemp("releases") / "r", "code").place
    assert place is not None
    return place


def answered(made: ModuleType, n: int) -> Episode:
    """An episode of one made paper, with an answer whose every word its source and receipts bear out."""
    known, found = made.inputs(n, tier="Run", hours=2.0)
    target = known.target
    answer = Answer.model_validate(
        {
            "central_claim": known.central_claim,
            "claim_quote": made.CLAIM,
            "paper_kind": "empirical",
            "mre_config": known.mre_config,
            "agent_task": known.agent_task,
            "target": {
                **{k: getattr(target, k) for k in ("config", "metric", "value", "unit", "direction", "scope")},
                **{k: getattr(target.anchor, k) for k in ("table", "row", "column")},
                "bar_kind": "point_estimate",
            },
            "candidates": [{"item": "table 1", "reason": "chosen"}],
            "signals": {str(s): {"value": True} for s in Signal},
            "verified_links": {"paper_or_project": [], "code": [], "dataset": [], "weights": []},
            "datasets": [{"name": "CIFAR-10"}],
            "training": "trained",
        }
    )
    return Episode(
        paper=known.arxiv_id, bundle="0" * 64, classifier="made", exit_reason="natural", answer=answer,
        receipts=tuple(found),
    )  # fmt: skip


def sampled(held: Material) -> list[int]:
    return sorted(int(i.arxiv_id.split(".")[1]) for i in held.sample)


def case_of(made: ModuleType, held: Material, *episodes: Episode) -> Case:
    """The case of a release whose sample is what these episodes give."""
    rows = []
    for episode in episodes:
        n = int(episode.paper.split(".")[1])
        record = PaperRecord(
            arxiv_id=episode.paper, version=1, title=f"Made paper {n}", authors=(), abstract="", forum_id=None,
            published="", categories=(), supplement_path=None, index_key="",
        )  # fmt: skip
        row = extract(record, made.paper(n), episode, held.edition, has_supplement=False)
        assert isinstance(row, Inputs)
        rows.append(row)
    receipts = {r.id: r for e in episodes for r in e.receipts}
    told = replace(held, sample=tuple(rows), receipts=receipts, early=())
    return Case(material=told, made=compose(told), lines={})


def failed(case: Case, place: Path) -> list[tuple[str, str]]:
    opened = Pack.open(place)
    with opened.archive:
        return [(f.where, f.message) for f in extracted(case, opened).failures]


class Watched:
    """An edition that remembers which of its settings were read."""

    def __init__(self, edition: Edition) -> None:
        self._edition = edition
        self.read: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        self.read.add(name)
        return getattr(self._edition, name)


def test_extraction_reads_no_setting_that_its_print_leaves_out(made: ModuleType, held: Material) -> None:
    episode = answered(made, sampled(held)[0])
    record = PaperRecord(
        arxiv_id=episode.paper, version=1, title="Made paper", authors=(), abstract="", forum_id=None,
        published="", categories=(), supplement_path=None, index_key="",
    )  # fmt: skip
    watched = Watched(held.edition)
    extract(record, made.paper(sampled(held)[0]), episode, watched, has_supplement=False)  # type: ignore[arg-type]
    assert watched.read == set(READ)
    told = {"has_supplement": False, "code": "c"}
    one, other = (
        extraction(record, episode, e, **told) for e in (held.edition, held.edition.model_copy(update={"seed": "x"}))
    )
    assert one == other
    assert one != extraction(record, replace(episode, bundle="1" * 64), held.edition, **told)
    assert one != extraction(record, episode, held.edition.model_copy(update={"tolerance_relative": 0.2}), **told)
    assert one != extraction(record, episode, held.edition, **told | {"code": "d"})


def test_rows_read_again_from_the_pack_are_the_releases(made: ModuleType, held: Material, tmp_path: Path) -> None:
    episodes = [answered(made, n) for n in sampled(held)[:2]]
    case = case_of(made, held, *episodes)
    target = case.material.sample[0].target
    assert target is not None
    assert target.value == f"80.{sampled(held)[0]:02}"
    opened = Pack.open(write(made, held, tmp_path / "p.zip", episodes=episodes))
    with opened.archive:
        check = extracted(case, opened)
    assert (check.checked, check.failures) == (2, ())


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("central_claim", "It is the best there is."),
        ("version", 2),
        ("title", "Another title"),
        ("datasets", ["MNIST"]),
        ("training", "released"),
        ("target", None),
        ("inventory", []),
        ("source_sha256", "0" * 64),
        ("links", {"paper_or_project": [], "code": ["https://x.example/"], "dataset": [], "weights": []}),
    ],
)
def test_a_forged_field_of_the_sample_is_named_by_paper_and_field(
    made: ModuleType, held: Material, tmp_path: Path, field: str, value: object
) -> None:
    """Every hash of the folder may be right: the paper's source and the answer say otherwise."""
    episodes = [answered(made, n) for n in sampled(held)[:2]]
    case = case_of(made, held, *episodes)
    first, second = case.material.sample
    forged = first.model_copy(update={field: value})
    told = replace(case, material=replace(case.material, sample=(forged, second)))
    found = failed(told, write(made, held, tmp_path / "p.zip", episodes=episodes))
    assert [where for where, _ in found] == [first.arxiv_id]
    assert found[0][1].startswith(f"{field} is ")


def test_an_answer_changed_in_the_pack_a_foreign_receipt_and_a_missing_episode_are_named(
    made: ModuleType, held: Material, tmp_path: Path
) -> None:
    one, two, three = (answered(made, n) for n in sampled(held)[:3])
    case = case_of(made, held, one, two, three)
    assert one.answer is not None
    lies = replace(one, answer=one.answer.model_copy(update={"claim_quote": "It is best."}))
    swapped = replace(two, receipts=(replace(two.receipts[0], facts={"code_files": 1}), *two.receipts[1:]))
    found = failed(case, write(made, held, tmp_path / "p.zip", episodes=[lies, swapped]))
    assert {where for where, _ in found} == {one.paper, two.paper, three.paper}
    said = {where: " ".join(m for w, m in found if w == where) for where, _ in found}
    assert "claim_quote is" in said[one.paper]
    assert "problems is []" in said[one.paper]
    assert "of its episode is not the release's" in said[two.paper]
    assert said[three.paper] == "its episode is not in the pack"


def test_an_excluded_paper_is_read_again_too(made: ModuleType, held: Material, tmp_path: Path) -> None:
    episode = replace(answered(made, sampled(held)[0]), answer=None, exit_reason="tool_limit", problem="no answer")
    out = Exclusion(
        key=episode.paper,
        title=f"Made paper {sampled(held)[0]}",
        stage="classification",
        reason="tool_limit",
        detail="no answer",
    )
    case = case_of(made, held)
    place = write(made, held, tmp_path / "p.zip", episodes=[episode])
    told = replace(case, material=replace(case.material, early=(out,)))
    assert failed(told, place) == []
    told = replace(case, material=replace(case.material, early=(replace(out, reason="crashed"),)))
    assert failed(told, place) == [(episode.paper, "reason is 'crashed', read again 'tool_limit'")]
    answers = write(made, held, place, episodes=[answered(made, sampled(held)[0])])
    assert failed(told, answers)[0][1] == "read again, it is a row; in the release it is excluded"


def write(
    made: ModuleType, held: Material, place: Path, *, leave_out: str = "", of: str = "",
    episodes: Sequence[Episode] = (),
) -> Path:  # fmt: skip
    numbers = {i.arxiv_id: int(i.arxiv_id.split(".")[1]) for i in held.sample}
    exchanges = [made.exchange_of(numbers[r.paper], r.tool, r.subject) for r in held.receipts.values()]
    papers = {
        paper: pack.Held(
            version=1,
            title=f"Made paper {n}",
            authors=("Ada Quill",),
            source={path: hashlib.sha256(data).hexdigest() for path, data in made.source(n).items()},
            supplement={},
        )
        for paper, n in numbers.items()
        if paper != of
    }
    kept = [e for e in exchanges if e.id != leave_out]
    seen = [pack.Seen(exchange=e.id, at=made.WHEN, attempt=1, headers={"etag": "x"}) for e in kept]
    return pack.export(kept, seen, papers, episodes, made.blobs().__getitem__, place)


def wheres(report: Report, name: str) -> set[str]:
    return {f.where for check in report.checks if name in check.name for f in check.failures}


def test_a_pack_proves_anchors_inventory_exchanges_and_bodies(
    made: ModuleType, held: Material, release: Path, tmp_path: Path
) -> None:
    report = verify(release, write(made, held, tmp_path / "p.zip"))
    # The made rows come from no answer, and the pack holds none: that check alone fails, for each of them.
    assert {check.name for check in report.checks if not check.ok} == {CHECK}
    assert len(wheres(report, CHECK)) == len(held.sample) + 1
    names = {check.name: check.checked for check in report.checks}
    assert names["every target is printed at its anchor"] == 12
    assert names["candidates are the paper's inventory"] == 12
    assert names["receipts rest on exchanges of the pack"] == len(held.receipts)
    assert names["bodies are what their hashes say"] == len({r.exchanges for r in held.receipts.values()})


def test_the_same_evidence_gives_the_same_pack(made: ModuleType, held: Material, tmp_path: Path) -> None:
    one, two = write(made, held, tmp_path / "1.zip"), write(made, held, tmp_path / "2.zip")
    assert one.read_bytes() == two.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["1.zip", "2.zip"]


def test_a_missing_exchange_and_a_missing_source_are_named_by_paper(
    made: ModuleType, held: Material, release: Path, tmp_path: Path
) -> None:
    paper = compose(held).splits.eval[0]
    receipt = next(r for r in held.receipts.values() if r.paper == paper)
    report = verify(release, write(made, held, tmp_path / "p.zip", leave_out=receipt.exchanges[0], of=paper))
    assert wheres(report, "exchanges of the pack") == {paper}
    assert wheres(report, "printed at its anchor") == {paper}
    assert wheres(report, "inventory") == {paper}


def rebuilt(place: Path, change: Callable[[str, bytes], bytes | None]) -> Path:
    """The pack with its entries changed, one by one; None leaves one out."""
    with zipfile.ZipFile(place) as old:
        entries = {name: change(name, old.read(name)) for name in old.namelist()}
    with zipfile.ZipFile(place, "w") as new:
        for name, data in entries.items():
            if data is not None:
                new.writestr(name, data)
    return place


def test_a_body_that_is_not_what_its_hash_says_is_named(
    made: ModuleType, held: Material, release: Path, tmp_path: Path
) -> None:
    place = write(made, held, tmp_path / "p.zip")
    receipt = next(iter(held.receipts.values()))
    n = int(receipt.paper.split(".")[1])
    name = "blobs/" + hashlib.sha256(made.body(n, receipt.tool, receipt.subject)).hexdigest()
    assert wheres(verify(release, rebuilt(place, lambda k, v: b"x" if k == name else v)), "bodies") == {receipt.paper}
    place = write(made, held, tmp_path / "p.zip")
    assert wheres(verify(release, rebuilt(place, lambda k, v: None if k == name else v)), "bodies") == {receipt.paper}


def test_another_source_under_the_papers_name_does_not_pass(
    made: ModuleType, held: Material, release: Path, tmp_path: Path
) -> None:
    """The pack is consistent in itself; the release's source hash tells."""
    paper = compose(held).splits.eval[0]
    forged = made.source(int(paper.split(".")[1]))["main.tex"] + b"% easier\n\\section{More}\n"
    sha256 = hashlib.sha256(forged).hexdigest()

    def change(name: str, data: bytes) -> bytes:
        if name != pack.PAPERS:
            return data
        lines = [json.loads(line) for line in data.splitlines()]
        for line in lines:
            if line["arxiv_id"] == paper:
                line["source"] = {"main.tex": sha256}
        return "".join(json.dumps(line) + "\n" for line in lines).encode()

    place = rebuilt(write(made, held, tmp_path / "p.zip"), change)
    with zipfile.ZipFile(place, "a") as out:
        out.writestr("blobs/" + sha256, forged)
    assert paper in wheres(verify(release, place), "printed at its anchor")


@pytest.mark.parametrize("junk", [b"", b"PK\x03\x04 no", b"{}"])
def test_what_is_no_pack_is_a_failure_that_says_so(release: Path, tmp_path: Path, junk: bytes) -> None:
    place = tmp_path / "junk.zip"
    place.write_bytes(junk)
    report = verify(release, place)
    assert not report.ok
    assert str(place) in wheres(report, "evidence pack can be read")
    assert str(tmp_path / "none") in wheres(verify(release, tmp_path / "none"), "evidence pack can be read")


def test_a_pack_without_its_lists_is_none(made: ModuleType, held: Material, tmp_path: Path) -> None:
    place = write(made, held, tmp_path / "p.zip")
    rebuilt(place, lambda name, data: None if name == pack.EXCHANGES else data)
    with pytest.raises(PackError, match="no evidence pack"):
        Pack.open(place)
    rebuilt(write(made, held, place), lambda name, data: b"{" if name == pack.EXCHANGES else data)
    with pytest.raises(PackError, match="no evidence pack"):
        Pack.open(place)


@pytest.mark.parametrize("at", ["2026-03-01T00:00:00", "yesterday", 5])
def test_a_sighting_without_a_time_of_this_world_is_refused(
    made: ModuleType, held: Material, tmp_path: Path, at: object
) -> None:
    line = json.dumps({"exchange": "0" * 64, "at": at, "attempt": 1, "headers": {}}).encode()
    place = rebuilt(write(made, held, tmp_path / "p.zip"), lambda name, data: line if name == pack.SIGHTINGS else data)
    with pytest.raises(PackError, match="no evidence pack"):
        Pack.open(place)


def test_an_exchange_keeps_its_identity_through_a_pack(made: ModuleType, held: Material, tmp_path: Path) -> None:
    opened = Pack.open(write(made, held, tmp_path / "p.zip"))
    receipt = next(iter(held.receipts.values()))
    exchange = opened.exchanges[receipt.exchanges[0]]
    assert isinstance(exchange, Exchange)
    assert exchange.id == receipt.exchanges[0]


def test_a_pack_knows_when_exchanges_were_seen_and_whose_papers_they_are(
    made: ModuleType, held: Material, tmp_path: Path
) -> None:
    opened = Pack.open(write(made, held, tmp_path / "p.zip"))
    assert {s.exchange for s in opened.sightings} == set(opened.exchanges)
    assert {s.at for s in opened.sightings} == {made.WHEN}
    assert opened.sightings[0].headers == {"etag": "x"}
    assert opened.papers[held.sample[0].arxiv_id].authors == ("Ada Quill",)
