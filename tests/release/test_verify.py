"""What verification proves: any changed byte is named, and so is a forgery that recomputes every hash."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from assets.cli import main
from pipeline.compute import Part, devices_of, hours, load_devices
from pipeline.derivation import Inputs
from pipeline.events import Entry, Event, chained, genesis
from pipeline.evidence import canonical, digest
from pipeline.fingerprints import code_print
from pipeline.release.compose import Material, compose
from pipeline.release.folder import MANIFEST, facts, render, seal
from pipeline.release.freeze import RULES, FreezeError, freeze
from pipeline.release.report import Report
from pipeline.release.tables import SCHEMAS, TABLES, document, jsonl, parquet
from pipeline.release.verify import verify


@pytest.fixture(scope="module")
def held(made: ModuleType) -> Material:
    return made.material()


@pytest.fixture(scope="module")
def release(made: ModuleType, held: Material, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("releases") / "made-2026-v1"
    frozen = freeze(held, made.given(held), place, "code")
    assert frozen.place == place, "\n".join(frozen.report.lines())
    return place


@pytest.fixture
def copy(release: Path, tmp_path: Path) -> Path:
    return shutil.copytree(release, tmp_path / "copy")


def said(report: Report) -> str:
    return "\n".join(report.lines(most=1000))


def test_a_frozen_release_verifies(release: Path) -> None:
    report = verify(release)
    assert report.ok, said(report)
    assert all(check.checked or "replacements" in check.name for check in report.checks)


def test_freezing_twice_gives_the_same_bytes(made: ModuleType, held: Material, release: Path, tmp_path: Path) -> None:
    shuffled = replace(
        held,
        sample=tuple(reversed(held.sample)),
        index=tuple(reversed(held.index)),
        entries=tuple(reversed(held.entries)),
        receipts=dict(reversed(held.receipts.items())),
        early=tuple(reversed(held.early)),
    )
    again = freeze(shuffled, made.given(held), tmp_path / release.name, "code").place
    assert again is not None
    assert {p.name: p.read_bytes() for p in again.iterdir()} == {p.name: p.read_bytes() for p in release.iterdir()}


def test_a_frozen_release_is_never_overwritten(made: ModuleType, held: Material, copy: Path) -> None:
    assert freeze(held, made.given(held), copy, "code").place == copy
    (copy / "eval.jsonl").write_bytes(b"")
    with pytest.raises(FreezeError, match="never overwritten"):
        freeze(held, made.given(held), copy, "code")


def test_other_code_with_the_same_outcome_makes_no_new_release(made: ModuleType, held: Material, copy: Path) -> None:
    before = (copy / MANIFEST).read_bytes()
    frozen = freeze(held, made.given(held), copy, "other code")
    assert frozen.place == copy
    assert (copy / MANIFEST).read_bytes() == before


def test_leftovers_of_a_killed_freeze_do_not_matter(made: ModuleType, held: Material, tmp_path: Path) -> None:
    (tmp_path / ".r.part").mkdir()
    (tmp_path / ".r.part" / "eval.jsonl").write_text("half")
    (tmp_path / ".r.part" / "stray").write_text("x")
    place = freeze(held, made.given(held), tmp_path / "r", "code").place
    assert place is not None
    assert verify(place).ok
    assert [p.name for p in tmp_path.iterdir()] == ["r"]


@pytest.mark.parametrize("kill", [9, 23])
def test_a_freeze_killed_at_any_write_leaves_no_release_and_can_be_done_again(
    made: ModuleType, held: Material, release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kill: int
) -> None:
    written = 0
    whole = Path.write_bytes

    def killed(self: Path, data: bytes) -> int:
        nonlocal written
        if written == kill:
            whole(self, data[: len(data) // 2])
            raise KeyboardInterrupt
        written += 1
        return whole(self, data)

    monkeypatch.setattr(Path, "write_bytes", killed)
    with pytest.raises(KeyboardInterrupt):
        freeze(held, made.given(held), tmp_path / release.name, "code")
    monkeypatch.undo()
    assert not (tmp_path / release.name).exists()
    place = freeze(held, made.given(held), tmp_path / release.name, "code").place
    assert place is not None
    assert {p.name: p.read_bytes() for p in place.iterdir()} == {p.name: p.read_bytes() for p in release.iterdir()}


ELSEWHERE = """
import importlib.util, os, sys
from pathlib import Path
os.umask(0o077)
spec = importlib.util.spec_from_file_location("reclaim_made", sys.argv[1])
made = importlib.util.module_from_spec(spec)
spec.loader.exec_module(made)
from pipeline.release.freeze import freeze
held = made.material()
print(freeze(held, made.given(held), Path(sys.argv[2]), "code").place)
"""


@pytest.mark.slow
def test_another_hash_seed_time_zone_locale_umask_and_thread_count_give_the_same_bytes(
    release: Path, tmp_path: Path
) -> None:
    env = {**os.environ, "PYTHONHASHSEED": "4242", "TZ": "Asia/Tokyo", "LC_ALL": "C", "POLARS_MAX_THREADS": "1"}
    script = [sys.executable, "-c", ELSEWHERE, str(Path(__file__).with_name("made.py")), str(tmp_path / release.name)]
    subprocess.run(script, env=env, check=True, cwd=tmp_path)
    there = {p.name: p.read_bytes() for p in (tmp_path / release.name).iterdir()}
    assert there == {p.name: p.read_bytes() for p in release.iterdir()}


def test_no_manifest_no_release(copy: Path) -> None:
    (copy / MANIFEST).unlink()
    report = verify(copy)
    assert not report.ok
    assert MANIFEST in said(report)


def test_an_unlisted_file_and_a_missing_one_are_named(copy: Path) -> None:
    (copy / "extra.txt").write_text("x")
    (copy / "dev.jsonl").unlink()
    text = said(verify(copy))
    assert "extra.txt: is not listed" in text
    assert "dev.jsonl: is listed and is not there" in text


def test_a_symlink_in_place_of_a_file_is_refused(copy: Path, tmp_path: Path) -> None:
    (copy / "dev.jsonl").rename(tmp_path / "elsewhere")
    (copy / "dev.jsonl").symlink_to(tmp_path / "elsewhere")
    assert "dev.jsonl: is listed and is not there as a plain file" in said(verify(copy))


NAMES = [MANIFEST, "edition.json", "funnel.json", *(f"{t}.jsonl" for t in TABLES), *(f"{t}.parquet" for t in SCHEMAS)]


def line_at(data: bytes, at: int) -> int:
    return data[:at].count(b"\n")


@pytest.mark.parametrize("name", NAMES)
def test_any_changed_byte_is_named_by_file_and_row(copy: Path, name: str) -> None:
    """First, last and sampled bytes, each flipped in one bit, each change on its own."""
    whole = (copy / name).read_bytes()
    manifest = json.loads((copy / MANIFEST).read_bytes())
    draw = random.Random(name)
    places = {0, len(whole) - 1, *(draw.randrange(len(whole)) for _ in range(6))}
    places |= {i for i, byte in enumerate(whole) if byte == 0x0A and draw.random() < 0.02}
    for at in sorted(places):
        changed = bytearray(whole)
        changed[at] ^= 1 << draw.randrange(8)
        (copy / name).write_bytes(changed)
        report = verify(copy)
        assert not report.ok
        assert {failure.where for failure in report.failures} == {name}
        if name.endswith(".jsonl"):
            row, _ = manifest["files"][name]["lines"][line_at(whole, at)]
            assert row in said(report), (at, said(report))


def test_a_removed_added_or_moved_line_is_named_by_file(copy: Path) -> None:
    whole = (copy / "eval.jsonl").read_bytes()
    lines = whole.splitlines(keepends=True)
    for forged in (lines[1:], [*lines, lines[0]], [lines[1], lines[0], *lines[2:]], []):
        (copy / "eval.jsonl").write_bytes(b"".join(forged))
        report = verify(copy)
        assert {failure.where for failure in report.failures} == {"eval.jsonl"}


# Forgeries that recompute every hash.


def files_of(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.name != MANIFEST}


def reseal(folder: Path, **said_too: Any) -> None:
    """What a careful forger does last: every hash of the manifest made true again."""
    manifest = json.loads((folder / MANIFEST).read_bytes())
    files = files_of(folder)
    rows = {s: [json.loads(line) for line in files[f"{s}.jsonl"].splitlines()] for s in ("eval", "dev")}
    facts_ = {k: v for k, v in manifest.items() if k not in ("files", "manifest_sha256")}
    facts_ |= {"rows_sha256": digest(rows), **said_too}
    (folder / MANIFEST).write_bytes(seal(files, facts_))


Line = dict[str, Any]


def forge(folder: Path, table: str, change: Callable[[Line], None], at: int = 0, *, render_too: bool = True) -> str:
    """Change one line of a table, its Parquet with it, and every hash; returns the line's paper."""
    lines = [json.loads(line) for line in (folder / f"{table}.jsonl").read_bytes().splitlines()]
    change(lines[at])
    (folder / f"{table}.jsonl").write_bytes(jsonl(lines))
    if render_too and table in SCHEMAS:
        (folder / f"{table}.parquet").write_bytes(parquet(table, lines))
    reseal(folder)
    return str(lines[at].get("custom_id") or lines[at].get("key"))


def flip_code(row: Line) -> None:
    row["signals"]["code_available"]["value"] = not row["signals"]["code_available"]["value"]


def set_(*path: str, to: Any) -> Callable[[Line], None]:
    def change(line: Line) -> None:
        for key in path[:-1]:
            line = line[key]
        assert line[path[-1]] != to
        line[path[-1]] = to

    return change


@pytest.mark.parametrize(
    ("table", "change", "rule"),
    [
        ("eval", flip_code, "labels follow from receipts and decisions"),
        ("eval", set_("signals", "weights_available", "verification", to="not_applicable"), "labels follow"),
        ("eval", set_("signals", "code_available", "evidence", to="trust me"), "labels follow"),
        ("eval", set_("score", to=3), "score and tier follow from the signals"),
        ("eval", set_("tier", to="Medium"), "tiers follow from the score"),
        ("eval", set_("audited_h100_hours", to=0.25), "hours follow from the compute parts"),
        ("eval", set_("h100_estimate", "hours", to=0.25), "hours follow from the compute parts"),
        ("eval", set_("audited_h100_hours", to=100.0), "96"),
        ("eval", set_("h100_band", to="8-32"), "bands follow from the hours"),
        ("eval", set_("match_target", "value", to="99.9"), "targets are the recorded ones"),
        ("eval", set_("central_claim", to="another claim"), "rows follow from recorded inputs"),
        ("eval", set_("split", to="dev"), "splits are the replay of selection and ledger"),
        ("eval", set_("paper_kind", to="survey"), "rows follow from recorded inputs"),
        ("targets", set_("number", to=99.9), "targets are the recorded ones"),
        ("selection", set_("pool_reason", to="luck"), "selection is the rule's"),
        ("selection", set_("row_hash", to="0" * 64), "selection is the rule's"),
        ("inventory", set_("reason", to="dearer"), "candidates are the paper's inventory"),
        ("exclusions", set_("reason", to="bad luck"), "every paper of the index is accounted for"),
        ("agent_view", set_("tier", to="none"), "the agent view is the row by allow-list"),
    ],
)
def test_a_resealed_forgery_of_a_derived_line_is_named_by_row_and_rule(
    copy: Path, table: str, change: Callable[[Line], None], rule: str
) -> None:
    # The first exclusion is of a derived paper; those of the corpus stage are recorded.
    paper = forge(copy, table, change, at=0 if table == "exclusions" else -1)
    report = verify(copy)
    assert any(
        paper in failure.where and rule in f"{failure.message} {check.name}"
        for check in report.checks
        for failure in check.failures
    ), said(report)


@pytest.mark.parametrize(
    "change",
    [
        lambda line: line["compute"][0].update(wall_hours=0.25),
        lambda line: line["target"].update(config="an easier one"),
        lambda line: line["target"]["bar"].update(tolerance=40.0),
        lambda line: line.update(central_claim="another claim"),
        lambda line: line["contexts"]["weights_available"].update(not_needed="so we say"),
        lambda line: line.update(needs={"special_hardware": "a chip"}),
        lambda line: line["links"].update(code=["https://github.com/else/where"]),
    ],
)
@pytest.mark.slow
def test_a_forgery_carried_through_every_table_breaks_the_binding_of_its_decisions(
    held: Material, copy: Path, change: Callable[[Line], None]
) -> None:
    """The forger changes what rows are derived from and derives everything again; people's answers still name the old
    row."""
    paper = compose(held).splits.eval[0]
    sample = [i.model_dump(mode="json") for i in held.sample]
    change(next(line for line in sample if line["arxiv_id"] == paper))
    rewrite(copy, replace(held, sample=tuple(Inputs.model_validate(line) for line in sample)))
    assert undecided(verify(copy)) == [paper]


def test_a_receipt_whose_facts_were_forged_breaks_the_binding_too(held: Material, copy: Path) -> None:
    paper = compose(held).splits.eval[0]
    receipts = dict(held.receipts)
    forged = next(r for r in receipts.values() if r.paper == paper and "code_files" in r.facts)
    receipts[forged.id] = replace(forged, facts={**forged.facts, "code_files": 13})
    assert receipts[forged.id].id == forged.id
    rewrite(copy, replace(held, receipts=receipts))
    assert undecided(verify(copy)) == [paper]


def test_a_receipt_taken_from_another_paper_is_named(held: Material, copy: Path) -> None:
    paper = compose(held).splits.eval[0]
    receipts = dict(held.receipts)
    taken = next(r for r in receipts.values() if r.paper == paper)
    stolen = replace(taken, paper="2601.99999")
    sample = tuple(
        i.model_copy(update={"receipts": [stolen.id if r == taken.id else r for r in i.receipts]}) for i in held.sample
    )
    rewrite(copy, replace(held, sample=sample, receipts={**receipts, stolen.id: stolen}))
    text = said(verify(copy))
    assert f"{paper}: receipt {stolen.id[:16]} is another paper's" in text


def undecided(report: Report) -> list[str]:
    name = "every pool row is decided on its present hash"
    return [f.where for check in report.checks if check.name == name for f in check.failures]


def rewrite(folder: Path, forged: Material) -> None:
    """Everything a forger can do: derive all tables again from forged records, and seal them."""
    made = compose(forged)
    files = {name: data for name, data in files_of(folder).items() if name != MANIFEST} | render(forged, made)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    (folder / MANIFEST).write_bytes(seal(files, facts(forged, made, "code")))


def changed_event(held: Material, made: ModuleType, **changes: Any) -> tuple[str, tuple[Entry, ...]]:
    """The ledger with one answer about an evaluation row changed, and every later hash of the chain made anew."""
    paper = compose(held).splits.eval[0]
    events = [e.event for e in held.entries]
    at = next(i for i, e in enumerate(events) if e.paper == paper and e.question == "claim")
    events[at] = Event.model_validate({**events[at].to_json(), **changes})
    return paper, tuple(chained(events, "main", 0, genesis(made.EDITION.name, "main")))


def test_a_changed_ledger_event_with_its_chain_made_anew_is_named_by_row(
    made: ModuleType, held: Material, copy: Path
) -> None:
    paper, entries = changed_event(held, made, value="wrong")
    lines = [e.to_json() for e in entries]
    (copy / "ledger.jsonl").write_bytes(jsonl(lines))
    (copy / "ledger.parquet").write_bytes(parquet("ledger", lines))
    reseal(copy, ledger_head=facts(replace(held, entries=entries), compose(held), "code")["ledger_head"])
    report = verify(copy)
    assert any(
        paper in f.where and "splits are the replay of selection and ledger" in f.message for f in report.failures
    )


def test_a_changed_event_whose_chain_is_not_made_anew_is_named_by_its_paper(held: Material, copy: Path) -> None:
    paper = forge(copy, "ledger", lambda line: line["event"].update(value=False), at=0)
    assert paper == "None"  # the ledger's lines name their paper inside the event
    first = held.entries[0].event.paper
    assert f"{first} (main 1)" in said(verify(copy))


def test_a_whole_other_history_is_caught_by_the_head_published_before(
    made: ModuleType, held: Material, copy: Path
) -> None:
    """Whoever rewrites a reason and every table after it breaks no rule; the published head tells."""
    paper, entries = changed_event(held, made, why="another reason")
    assert paper
    rewrite(copy, replace(held, entries=entries))
    assert verify(copy).ok
    report = verify(copy, ledger_head=made.head(held), edition_hash=made.EDITION.hash)
    assert [f.where for f in report.failures] == ["ledger_head"]


def test_other_edition_settings_than_those_registered_are_caught(made: ModuleType, held: Material, copy: Path) -> None:
    forged = made.EDITION.model_copy(update={"dev_per_tier": 2})
    rewrite(copy, replace(held, edition=forged))
    report = verify(copy, edition_hash=made.EDITION.hash)
    assert any(f.where == "edition_hash" for f in report.failures)


def test_a_parquet_file_that_says_otherwise_is_named_with_its_row(held: Material, copy: Path) -> None:
    lines = [json.loads(line) for line in (copy / "eval.jsonl").read_bytes().splitlines()]
    lines[2]["score"] = 3 - lines[2]["score"]
    (copy / "eval.parquet").write_bytes(parquet("eval", lines))
    reseal(copy)
    report = verify(copy)
    assert [(f.where, lines[2]["custom_id"] in f.message) for f in report.failures] == [("eval.parquet", True)]


def test_a_damaged_parquet_file_with_a_true_hash_costs_a_failure_not_a_crash(copy: Path) -> None:
    (copy / "eval.parquet").write_bytes(b"PAR1" + b"\x00" * 64 + b"PAR1")
    reseal(copy)
    assert [f.where for f in verify(copy).failures] == ["eval.parquet"]


@pytest.mark.parametrize("junk", ["[]", '{"custom_id":1}', "nonsense"])
@pytest.mark.parametrize("table", TABLES)
def test_a_resealed_line_of_junk_costs_a_failure_not_a_crash(copy: Path, table: str, junk: str) -> None:
    place = copy / f"{table}.jsonl"
    lines = place.read_text().splitlines()
    manifest = json.loads((copy / MANIFEST).read_bytes())
    place.write_text("\n".join([junk, *lines[1:]]) + "\n")
    listed = manifest["files"][place.name]
    listed["sha256"], listed["size"] = sha256(place.read_bytes()).hexdigest(), place.stat().st_size
    body = {k: v for k, v in manifest.items() if k != "manifest_sha256"}
    (copy / MANIFEST).write_text(canonical({**body, "manifest_sha256": digest(body)}) + "\n")
    report = verify(copy)
    assert not report.ok
    assert any(place.name in f.where for f in report.failures), said(report)


@pytest.mark.parametrize(
    "change",
    [
        lambda line: line["contexts"].pop("code_available"),
        lambda line: line["contexts"]["code_available"].pop("groups"),
        lambda line: line["claims"].pop("dataset_available"),
        lambda line: line["links"].pop("code"),
        lambda line: line["compute"][0].update(runs=-1),
    ],
)
def test_inputs_that_no_rule_can_read_cost_a_named_failure_not_a_crash(
    held: Material, copy: Path, change: Callable[[Line], object]
) -> None:
    lines = [json.loads(line) for line in (copy / "sample.jsonl").read_bytes().splitlines()]
    paper = compose(held).splits.eval[0]
    change(next(line for line in lines if line["arxiv_id"] == paper))
    (copy / "sample.jsonl").write_bytes(jsonl(lines))
    reseal(copy)
    assert any(paper in f.where for f in verify(copy).failures)


def test_a_paper_sampled_twice_is_named(copy: Path) -> None:
    lines = [json.loads(line) for line in (copy / "sample.jsonl").read_bytes().splitlines()]
    (copy / "sample.jsonl").write_bytes(jsonl([*lines, lines[0]]))
    reseal(copy)
    assert [f"{f.where}: {f.message}" for f in verify(copy).failures] == [
        f"{lines[0]['arxiv_id']}: stands twice in the sample"
    ] * 2


def test_json_that_is_not_canonical_is_refused_even_when_its_hash_is_true(copy: Path) -> None:
    place = copy / "eval.jsonl"
    lines = place.read_text().split("\n")
    lines[0] = json.dumps(json.loads(lines[0]))
    place.write_text("\n".join(lines))
    reseal(copy)
    assert "is not canonical JSON" in said(verify(copy))


def test_another_state_of_the_code_is_noted_and_fails_nothing(release: Path) -> None:
    report = verify(release, code_print="another")
    assert report.ok
    assert "another state of the code" in report.notes[0]
    assert verify(release, code_print="code").notes == ()


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("score.py", b"print('within_bar')\n", "not as this code writes them: score.py;"),
        ("README.md", b"# 1000 papers\n", "not as this code writes them: README.md;"),
        ("croissant.json", b"[]", "README.md, CITATION.cff, croissant.json"),
        ("croissant.json", b'{"name": "\\ud800"}', "name no release"),
    ],
)
def test_a_forged_companion_with_true_hashes_is_noted(copy: Path, name: str, data: bytes, said: str) -> None:
    (copy / name).write_bytes(data)
    reseal(copy)
    report = verify(copy, code_print="code")
    assert report.ok
    assert said in "\n".join(report.notes).replace("ATTRIBUTION.md, ", "")


def test_a_release_is_held_against_the_device_table_it_was_frozen_with(release: Path) -> None:
    """Factors of a later version of devices.toml make no old release false."""
    now = load_devices()
    dearer = [d.model_copy(update={"factor": d.factor * 2, "high": d.high * 2}) for d in now.device]
    later = now.model_copy(update={"version": now.version + 1, "device": tuple(dearer)})
    with devices_of(later):
        assert hours([Part(kind="train", device="H100", count=1.0, wall_hours=1.0)]).mid == 2.0
        assert verify(release).ok, verify(release).failures[:3]
        assert load_devices() is later
    assert load_devices() is now


def test_a_device_table_of_an_unknown_version_or_of_none_is_named(copy: Path) -> None:
    place = copy / "devices.json"
    table = json.loads(place.read_bytes())
    for change, said in (
        ({"version": 99}, "is version 99, which this code does not know"),
        ({"version": True}, "is not version 1 of the device table"),
        ({"device": []}, "is no device table"),
    ):
        place.write_bytes(document({**table, **change}))
        reseal(copy)
        assert any(f.where == "devices.json" and said in f.message for f in verify(copy).failures), change


def test_the_agent_view_holds_no_configuration_evidence_or_basis(release: Path) -> None:
    rows = [json.loads(line) for s in ("eval", "dev") for line in (release / f"{s}.jsonl").read_bytes().splitlines()]
    views = (release / "agent_view.jsonl").read_text().splitlines()
    assert len(views) == len(rows)
    for row, view in zip(rows, views, strict=True):
        withheld = [
            row["mre_config"],
            row["match_target"]["config"],
            row["claim_evidence"],
            row["h100_estimate"]["basis"],
        ]
        withheld += [signal["evidence"] for signal in row["signals"].values()]
        assert not [text for text in withheld if canonical(text)[1:-1] in view]
        assert row["match_target"]["value"] in view


def test_the_command_takes_the_published_heads_and_notes_another_state_of_the_code(
    made: ModuleType, held: Material, release: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def told(**heads: str) -> tuple[int, str]:
        given = [f"--{name.replace('_', '-')}={value}" for name, value in heads.items()]
        return main(["verify", str(release), *given]), capsys.readouterr().out

    code, text = told(ledger_head=made.head(held), edition_hash=held.edition.hash)
    assert code == 0, text
    assert "made by another state of the code" in text  # this release's print is no print of any code
    code, text = told(ledger_head="0" * 64)
    assert code == 1
    assert "ledger_head: is" in text
    code, text = told(edition_hash="0" * 64)
    assert code == 1
    assert "edition_hash: is" in text
    code, text = told(manifest="0" * 64)
    assert code == 1
    assert "manifest_sha256: is" in text


def test_a_release_of_this_code_carries_no_note(
    made: ModuleType, held: Material, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = freeze(held, made.given(held), tmp_path / "r", code_print(*RULES)).place
    assert main(["verify", str(place)]) == 0
    assert "note" not in capsys.readouterr().out


# What a forger may write instead of a document, a table or a manifest.


def test_no_document_however_broken_makes_verification_raise(copy: Path) -> None:
    deep = b"[" * 200_000
    for name in ("edition.json", "funnel.json"):
        whole = (copy / name).read_bytes()
        for data in (b"[]\n", b"\xff\xfe", deep, b"", b"null\n", b'{"a":"\\ud800"}\n'):
            (copy / name).write_bytes(data)
            reseal(copy)
            report = verify(copy)
            assert name in {failure.where for failure in report.failures}, (name, data[:10])
            said(report).encode()
        (copy / name).write_bytes(whole)


def test_a_document_has_one_spelling(copy: Path) -> None:
    for name in ("edition.json", "funnel.json"):
        whole = (copy / name).read_bytes()
        first = next(iter(json.loads(whole)))
        twice = b'{"%s":0,' % first.encode() + whole[1:]
        for data in (twice, json.dumps(json.loads(whole), sort_keys=True).encode() + b"\n", whole[:-1]):
            (copy / name).write_bytes(data)
            reseal(copy)
            text = said(verify(copy))
            assert f"{name}: " in text
            assert "is not canonical JSON" in text
        (copy / name).write_bytes(whole)


@pytest.mark.parametrize("table", TABLES)
def test_every_line_of_a_table_ends_in_one_line_feed(copy: Path, table: str) -> None:
    place = copy / f"{table}.jsonl"
    place.write_bytes(place.read_bytes()[:-1])
    reseal(copy)
    assert f"{table}.jsonl: is not UTF-8 lines" in said(verify(copy))


def reseal_raw(folder: Path, change: Callable[[Line], None]) -> None:
    manifest = json.loads((folder / MANIFEST).read_bytes())
    change(manifest)
    manifest.pop("manifest_sha256")
    (folder / MANIFEST).write_bytes(document({**manifest, "manifest_sha256": digest(manifest)}))


def no_print(manifest: Line) -> None:
    del manifest["code_print"]


def number_print(manifest: Line) -> None:
    manifest["code_print"] = 7


def object_as_hash(manifest: Line) -> None:
    manifest["files"]["eval.jsonl"]["lines"][0][1] = {}


def more_in_an_entry(manifest: Line) -> None:
    manifest["files"]["funnel.json"]["lines"] = []


def deep_fact(manifest: Line) -> None:
    nested: Any = []
    for _ in range(900):
        nested = [nested]
    manifest["edition"] = nested


@pytest.mark.parametrize("change", [no_print, number_print, object_as_hash, more_in_an_entry])
def test_a_manifest_of_another_shape_is_refused(copy: Path, change: Callable[[Line], None]) -> None:
    reseal_raw(copy, change)
    (copy / "eval.jsonl").write_bytes(b"{}\n")
    failures = verify(copy).failures
    assert [failure.where for failure in failures] == [MANIFEST]


def test_a_deeply_nested_fact_of_the_manifest_is_a_failure(copy: Path) -> None:
    reseal_raw(copy, deep_fact)
    assert not verify(copy).ok


def test_the_manifest_names_each_line_by_its_row(copy: Path) -> None:
    def renamed(manifest: Line) -> None:
        manifest["files"]["eval.jsonl"]["lines"][0][0] = "2601.99999"

    reseal_raw(copy, renamed)
    assert "eval.jsonl: the manifest does not list it as it is" in said(verify(copy))


def test_an_empty_folder_inside_and_a_symlinked_manifest_are_refused(copy: Path, tmp_path: Path) -> None:
    (copy / "more").mkdir()
    assert "more: is not listed" in said(verify(copy))
    (copy / "more").rmdir()
    assert verify(copy).ok
    (copy / MANIFEST).rename(tmp_path / "elsewhere")
    (copy / MANIFEST).symlink_to(tmp_path / "elsewhere")
    assert "is no plain file" in said(verify(copy))


def test_no_name_of_a_file_can_draw_a_line_of_the_report(copy: Path) -> None:
    (copy / "x\n\x1b[2Jok     every file is listed").write_text("")
    (copy / os.fsdecode(b"\xff")).write_text("")
    lines = verify(copy).lines()
    "\n".join(lines).encode()
    assert all(line.isprintable() for line in lines)
    assert not any(line.startswith("ok     every file") for line in lines)
