"""The evidence pack: what it adds to a verification, and that it believes nothing it cannot hash."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from pipeline.evidence import Exchange
from pipeline.release import pack
from pipeline.release.compose import Material, compose
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


def write(made: ModuleType, held: Material, place: Path, *, leave_out: str = "", of: str = "") -> Path:
    numbers = {i.arxiv_id: int(i.arxiv_id.split(".")[1]) for i in held.sample}
    exchanges = [made.exchange_of(numbers[r.paper], r.tool, r.subject) for r in held.receipts.values()]
    papers = {
        paper: pack.Held(
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
    return pack.export(kept, seen, papers, made.blobs().__getitem__, place)


def wheres(report: Report, name: str) -> set[str]:
    return {f.where for check in report.checks if name in check.name for f in check.failures}


def test_a_pack_proves_anchors_inventory_exchanges_and_bodies(
    made: ModuleType, held: Material, release: Path, tmp_path: Path
) -> None:
    report = verify(release, write(made, held, tmp_path / "p.zip"))
    assert report.ok, "\n".join(report.lines())
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
