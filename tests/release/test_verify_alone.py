"""The verifier that needs nothing installed: it passes what is true, names every forgery, and agrees with the other."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pipeline.compute import load_devices
from pipeline.corpus import Exclusion
from pipeline.derivation import Inputs
from pipeline.events import QUESTIONS, Event
from pipeline.evidence import Receipt, Signal, digest
from pipeline.release import gate, verify_alone
from pipeline.release.compose import Material, compose
from pipeline.release.freeze import freeze
from pipeline.release.tables import SCHEMAS, TABLES, jsonl, parquet
from pipeline.release.verify import _expected_files, verify

ALONE = Path(verify_alone.__file__)
Line = dict[str, Any]


def loaded(name: str) -> ModuleType:
    """A file beside this one: test folders are no packages."""
    key = f"reclaim_{name}"
    if key not in sys.modules:
        spec = importlib.util.spec_from_file_location(key, Path(__file__).with_name(f"{name}.py"))
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[key] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[key]


made = loaded("made")
forging = loaded("test_verify")


@pytest.fixture(scope="module")
def held() -> Material:
    return made.material()


@pytest.fixture(scope="module")
def release(held: Material, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("releases") / "made-2026-v1"
    frozen = freeze(held, made.given(held), place, "code")
    assert frozen.place == place, "\n".join(frozen.report.lines())
    return place


@pytest.fixture
def copy(release: Path, tmp_path: Path) -> Path:
    return shutil.copytree(release, tmp_path / "copy")


def alone(folder: Path, **heads: str) -> tuple[bool, str]:
    checks, notes = verify_alone.verify(folder, heads.get("ledger_head"), heads.get("edition_hash"))
    return all(check.ok for check in checks), "\n".join(verify_alone.report(checks, notes, most=1000))


def run(folder: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """As a stranger runs it: the release's own file, no site packages, nothing of this project on the path."""
    command = [sys.executable, "-I", "-S", str(folder / "verify.py"), *arguments]
    return subprocess.run(command, capture_output=True, encoding="utf-8", cwd=cwd, env={"PATH": os.environ["PATH"]})


def test_a_release_carries_it_and_it_runs_with_nothing_installed(held: Material, copy: Path, tmp_path: Path) -> None:
    assert (copy / "verify.py").read_bytes() == ALONE.read_bytes()
    ran = run(copy, f"--ledger-head={made.head(held)}", f"--edition-hash={held.edition.hash}", cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    lines = ran.stdout.splitlines()
    assert lines[-1] == "every check holds"
    assert "ok     labels follow from receipts and decisions (66 checked)" in lines
    assert f"note   Parquet files ({len(SCHEMAS)}): their hashes were checked, their contents were not read" in lines
    assert not [line for line in lines if "(0 checked)" in line and "replacements" not in line]


def test_a_published_head_that_differs_fails_with_exit_code_one_and_is_told_as_json(
    release: Path, tmp_path: Path
) -> None:
    ran = run(release, "--ledger-head", "0" * 64, "--json", cwd=tmp_path)
    assert ran.returncode == 1
    told = json.loads(ran.stdout)
    wrong = [(check["name"], f["where"]) for check in told["checks"] for f in check["failures"]]
    assert told["ok"] is False
    assert wrong == [("the manifest says what the files give", "ledger_head")]


def test_what_no_rule_derives_is_held_by_the_manifest_that_was_published_alone(
    held: Material, release: Path, copy: Path, tmp_path: Path
) -> None:
    """Configuration, task and basis are outside the row hash: who changes them everywhere breaks no rule."""
    published = json.loads((release / "manifest.json").read_bytes())["manifest_sha256"]
    paper = json.loads((release / "eval.jsonl").read_bytes().splitlines()[0])["custom_id"]
    forged = {"mre_config": "another", "agent_task": "another", "basis": "another"}
    sample = tuple(i.model_copy(update=forged) if i.arxiv_id == paper else i for i in held.sample)
    forging.rewrite(copy, replace(held, sample=sample))
    heads = {"ledger_head": made.head(held), "edition_hash": held.edition.hash}
    for given, ok in ((heads, True), ({**heads, "manifest": published}, False)):
        arguments = [f"--{name.replace('_', '-')}={value}" for name, value in given.items()]
        assert verify(copy, **given).ok is ok
        ran = run(copy, *arguments, "--json", cwd=tmp_path)
        wrong = [f["where"] for check in json.loads(ran.stdout)["checks"] for f in check["failures"]]
        assert (ran.returncode, wrong) == ((0, []) if ok else (1, ["manifest_sha256"]))
    ran = run(release, f"--manifest={published}", cwd=tmp_path)
    assert ran.returncode == 0
    assert verify(release, manifest=published).ok


def test_it_takes_a_folder_and_says_so_where_there_is_no_release(release: Path, tmp_path: Path) -> None:
    assert run(release, str(release), cwd=tmp_path).returncode == 0
    ran = run(release, str(tmp_path), cwd=tmp_path)
    assert ran.returncode == 1
    assert "this is no release folder" in ran.stdout


def test_it_is_one_file_of_the_standard_library_for_python_3_9() -> None:
    tree = ast.parse(ALONE.read_text(encoding="utf-8"), feature_version=(3, 9))
    imported = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    imported |= {n.module or "." for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in imported} <= sys.stdlib_module_names


def test_it_knows_the_files_the_gate_and_the_device_table_of_this_code() -> None:
    assert sorted(verify_alone.FILES) == sorted(_expected_files())
    assert [check.__name__ for check in verify_alone.GATE] == [check.__name__ for check in gate.FOLDER]
    devices = load_devices()
    assert verify_alone.KNOWN_DEVICES[devices.version] == digest(devices.model_dump(mode="json")), (
        "a table whose factors change gets a new version, and its hash here"
    )


# One forgery for each rule of the gate: values changed, then every table, Parquet file and hash made true again.

Forgery = Callable[[Path, Material], str]
"""Forges a copied release; returns the row that a failure has to name."""


def material_with(held: Material, paper: str, change: Callable[[Line], object], *, decide: bool = True) -> Material:
    """The material with one paper's inputs changed; the forger answers for people too unless `decide` is false."""
    sample = [i.model_dump(mode="json") for i in held.sample]
    change(next(line for line in sample if line["arxiv_id"] == paper))
    forged = replace(held, sample=tuple(Inputs.model_validate(line) for line in sample))
    return made.decided(forged) if decide else forged


@cache
def chosen() -> str:
    """A paper of the evaluation split."""
    return compose(made.material()).splits.eval[0]


def from_inputs(change: Callable[[Line], object]) -> Forgery:
    def forgery(folder: Path, held: Material) -> str:
        paper = chosen()
        forging.rewrite(folder, material_with(held, paper, change))
        return paper

    return forgery


def from_line(table: str, change: Callable[[Line], None]) -> Forgery:
    return lambda folder, held: forging.forge(folder, table, change, at=0)


def write(folder: Path, table: str, lines: list[Line], **said_too: Any) -> None:
    (folder / f"{table}.jsonl").write_bytes(jsonl(lines))
    if table in SCHEMAS:
        (folder / f"{table}.parquet").write_bytes(parquet(table, lines))
    forging.reseal(folder, **said_too)


def read(folder: Path, table: str) -> list[Line]:
    return [json.loads(line) for line in (folder / f"{table}.jsonl").read_bytes().splitlines()]


def other_receipt(folder: Path, held: Material, change: Callable[[Receipt], Receipt]) -> str:
    paper = chosen()
    receipts = dict(held.receipts)
    taken = next(r for r in receipts.values() if r.paper == paper)
    forged = change(taken)
    receipts[forged.id] = forged
    rest = replace(held, receipts=receipts)
    swap = [forged.id if i == taken.id else i for i in next(i for i in held.sample if i.arxiv_id == paper).receipts]
    forging.rewrite(folder, material_with(rest, paper, lambda line: line.update(receipts=swap)))
    return paper


def stolen(folder: Path, held: Material) -> str:
    return other_receipt(folder, held, lambda r: replace(r, paper="2601.99999"))


def rests_on_nothing(folder: Path, held: Material) -> str:
    return other_receipt(folder, held, lambda r: replace(r, exchanges=()))


def broken_chain(folder: Path, held: Material) -> str:
    """The last entry stands alone: its own hash is true, and so is the head."""
    lines = read(folder, "ledger")
    last = lines[-1]
    last["prev_hash"] = "0" * 64
    last["hash"] = digest([last["site"], last["seq"], last["prev_hash"], last["event"]])
    write(folder, "ledger", lines, ledger_head=digest([[last["site"], last["seq"], last["hash"]]]))
    return f"{last['event']['paper']} ({last['site']} {last['seq']})"


def unanswered(folder: Path, held: Material) -> str:
    paper = chosen()
    events = [e.event for e in held.entries if (e.event.paper, e.event.question) != (paper, "bar")]
    forging.rewrite(folder, replace(held, entries=made.chain(events)))
    return paper


def unfit_row(folder: Path, held: Material) -> str:
    """A paper that nothing selects, in the place and with the words of one that was selected."""
    unfit = next(d.arxiv_id for d in compose(held).derivations if not d.eligible)
    lines = read(folder, "eval")
    lines[0]["custom_id"] = unfit
    write(folder, "eval", sorted(lines, key=lambda line: line["custom_id"]))
    return unfit


def lost_row(folder: Path, held: Material) -> str:
    lines = read(folder, "eval")
    write(folder, "eval", lines[1:])
    return str(lines[0]["custom_id"])


def row_in_both(folder: Path, held: Material) -> str:
    line = {**read(folder, "eval")[0], "split": "dev"}
    write(folder, "dev", sorted([*read(folder, "dev"), line], key=lambda line: line["custom_id"]))
    return str(line["custom_id"])


def chosen_successor(folder: Path, held: Material) -> str:
    """A replacement that names who shall come in, and it is not who comes next."""
    paper = chosen()
    swap = Event(
        kind="replace", paper=paper, who="ada", at="2026-02-21T10:00:00Z", why="a better one", value="2601.99999"
    )
    forging.rewrite(folder, replace(held, entries=made.chain([*(e.event for e in held.entries), swap])))
    return paper


def skipped_rank(folder: Path, held: Material) -> str:
    """A paper that was sampled is said to lie beyond the sample."""
    order = made.order()
    gone = order[10]
    early = (*held.early, Exclusion(key=gone, title="", stage="sample", reason="beyond the sample", detail=""))
    rest = replace(held, sample=tuple(i for i in held.sample if i.arxiv_id != gone), early=early)
    kept = {r for i in rest.sample for r in i.receipts}
    forging.rewrite(folder, made.decided(replace(rest, receipts={k: r for k, r in rest.receipts.items() if k in kept})))
    return str(order[11])


def lost_paper(folder: Path, held: Material) -> str:
    lines = read(folder, "exclusions")
    gone = next(line for line in lines if line["stage"] == "corpus")
    write(folder, "exclusions", [line for line in lines if line is not gone])
    return str(gone["key"])


def told_by_a_link(line: Line) -> None:
    line["mre_config"] = "ResNet-18 with lr=0.1"
    line["links"]["dataset"] = ["https://cifar.example/?lr=0.1"]


FORGERIES: dict[str, Forgery] = {
    "row_schema": from_line("eval", lambda row: row.update(votes=1)),
    "receipts_resolve": stolen,
    "receipts_rest": rests_on_nothing,
    "receipts_entail": from_line("eval", forging.flip_code),
    "targets_gradeable": from_inputs(lambda line: line["target"].update(value="about eighty")),
    "targets_ruled": from_inputs(lambda line: line["target"]["bar"].update(tolerance=40.0)),
    "agents_untold": from_inputs(told_by_a_link),
    "inventory_reasoned": from_inputs(lambda line: line["inventory"][0].update(reason="we like it")),
    "ledger_whole": broken_chain,
    "pool_decided": unanswered,
    "tiers_follow": from_line("eval", lambda row: row.update(score=3 - row["score"])),
    "bands_follow": from_line("eval", forging.set_("h100_band", to="32-96")),
    "caps_hold": from_line("eval", forging.set_("audited_h100_hours", to=100.0)),
    "eligible_rows": unfit_row,
    "sizes_hold": lost_row,
    "splits_disjoint": row_in_both,
    "replacements_ruled": chosen_successor,
    "sampled_by_rank": skipped_rank,
    "all_accounted": lost_paper,
}


@pytest.mark.parametrize("rule", [check.__name__ for check in gate.FOLDER])
def test_a_planted_forgery_of_each_rule_of_the_gate_is_caught_alone_by_rule_and_row(
    rule: str, held: Material, copy: Path
) -> None:
    assert rule in FORGERIES, f"{rule} is a rule of the gate; plant a forgery that breaks it"
    row = FORGERIES[rule](copy, held)
    checks, notes = verify_alone.verify(copy)
    text = "\n".join(verify_alone.report(checks, notes, most=1000))
    name = next(check for check in verify_alone.GATE if check.__name__ == rule)(verify_alone_case(held)).name
    broken = next(check for check in checks if check.name == name)
    assert not broken.ok, text
    assert any(row in f"{where} {problem}" for check in checks for where, problem in check.failures), (row, text)


def verify_alone_case(held: Material) -> Any:
    """An empty case, to ask a rule its name."""
    nothing = verify_alone.Held(held.edition.settings(), None, [], {}, [], [], [], [])
    nowhere = verify_alone.Splits({}, {s: verify_alone.Selection([], {}, {}) for s in ("eval", "dev")}, [], [])
    empty = verify_alone.Made([], verify_alone.Selection([], {}, {}), {}, nowhere, {}, [], [])
    return verify_alone.Case(nothing, empty, {table: [] for table in TABLES})


def test_a_second_reading_that_is_owed_is_named_by_paper_and_scope(held: Material, copy: Path) -> None:
    """One blind answer of a second person makes two readers of the pool, and both verifiers ask for the rest."""
    row = next(d for d in compose(held).derivations if d.arxiv_id == chosen())
    second = made.says(row, "claim", "stands", who="bob", at="2026-02-20T11:00:00Z")
    forging.rewrite(copy, replace(held, entries=made.chain([*(e.event for e in held.entries), second])))
    name = "every pool row is decided on its present hash"
    due = {(f.where, f.message) for check in verify(copy).checks if check.name == name for f in check.failures}
    told = {said for check in verify_alone.verify(copy)[0] if check.name == name for said in check.failures}
    assert told == due
    assert {message for _, message in due} == {
        f"a second reading ({scope}) is owed, and not in yet" for scope in ("full", "target")
    }


def test_changed_device_factors_are_caught_though_every_hash_is_true(copy: Path) -> None:
    place = copy / "devices.json"
    devices = json.loads(place.read_bytes())
    devices["device"][0].update(factor=0.5, low=0.5)
    place.write_bytes(forging.document(devices))
    forging.reseal(copy)
    ok, text = alone(copy)
    assert not ok
    assert "devices.json: is not version 1 of the device table" in text
    assert not verify(copy).ok


def test_any_changed_byte_is_named_by_file_and_row(copy: Path) -> None:
    for name in sorted(path.name for path in copy.iterdir()):
        whole = (copy / name).read_bytes()
        at = len(whole) // 3
        (copy / name).write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        checks, _ = verify_alone.verify(copy)
        assert {where for check in checks for where, _ in check.failures} == {name}
        (copy / name).write_bytes(whole)
    lines = (copy / "eval.jsonl").read_bytes().splitlines(keepends=True)
    (copy / "eval.jsonl").write_bytes(lines[0] + lines[1].replace(b"best", b"BEST") + b"".join(lines[2:]))
    assert f"row {json.loads(lines[1])['custom_id']}: changed" in alone(copy)[1]


def test_whatever_stands_in_a_file_costs_a_failure_not_a_crash(copy: Path) -> None:
    for name in ("edition.json", "devices.json", "agreement.json", "sample.jsonl", "ledger.jsonl"):
        whole = (copy / name).read_bytes()
        for junk in (b"\xff\xfe\n", b"[" * 100_000 + b"\n", b"", b'{"event":[]}\n'):
            (copy / name).write_bytes(junk)
            listed = json.loads((copy / "manifest.json").read_bytes())
            listed["files"][name] = {
                **listed["files"][name],
                "size": len(junk),
                "sha256": forging.sha256(junk).hexdigest(),
            }
            listed.pop("manifest_sha256")
            (copy / "manifest.json").write_bytes(forging.document({**listed, "manifest_sha256": digest(listed)}))
            assert not alone(copy)[0], (name, junk[:10])
        (copy / name).write_bytes(whole)


# Both over whole folders, of which one field was changed.


def leaves(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Places of all values inside a JSON value, the whole lists and objects among them."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(place for key, one in inside for place in leaves(one, (*at, key)))] if at else [
        place for key, one in inside for place in leaves(one, (key,))
    ]  # fmt: skip


def others(value: Any) -> list[Any]:
    """Other values of the same type, and null."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, 0, value + 1000]
    if isinstance(value, float):
        return [value * 2 + 1, 0.0, value + 0.001]
    if isinstance(value, str):
        return ["", f"{value}x", "stands", "available", "H100 PCIe", "2601.00001", value[:-1]]
    if isinstance(value, list):
        return [[], value[1:], value + value[:1]]
    if isinstance(value, dict):
        return [{}, dict(list(value.items())[1:]), {**value, "more": 1}]
    return ["x", 1.0]


def changed(line: Line, place: tuple[Any, ...], value: Any) -> None:
    for key in place[:-1]:
        line = line[key]
    line[place[-1]] = value


def agree(folder: Path, draw: Callable[[int], int]) -> bool:
    """Change one field of a release's table, seal it again, ask both, and put it back. True where both say ok."""
    table = TABLES[draw(len(TABLES))]
    names = [name for name in (f"{table}.jsonl", f"{table}.parquet", "manifest.json") if (folder / name).exists()]
    before = {name: (folder / name).read_bytes() for name in names}
    lines = read(folder, table)
    line = lines[draw(len(lines))]
    places_ = leaves(line)
    place = places_[draw(len(places_))]
    value = line
    for key in place:
        value = value[key]
    choices = [*others(value), None]
    changed(line, place, choices[draw(len(choices))])
    if draw(2) and table == "ledger" and isinstance(line["event"], dict):  # a forger who knows what hashes are for
        rest = read(folder, table)
        line["id"] = digest(line["event"])
        line["hash"] = digest([line["site"], line["seq"], line["prev_hash"], line["event"]])
        assert len(rest) == len(lines)
    (folder / f"{table}.jsonl").write_bytes(jsonl(lines))
    try:
        if table in SCHEMAS:
            (folder / f"{table}.parquet").write_bytes(parquet(table, lines))
        forging.reseal(folder)
    except Exception:  # no type of the table holds it, or no line can be named: not even a forger can write this
        for name, data in before.items():
            (folder / name).write_bytes(data)
        return False
    try:
        theirs, (ours, text) = verify(folder), alone(folder)
        assert ours == theirs.ok, (table, place, choices, text, "\n".join(theirs.lines()))
        return ours
    finally:
        for name, data in before.items():
            (folder / name).write_bytes(data)


def test_both_verifiers_agree_on_a_few_random_mutations(copy: Path) -> None:
    draw = random.Random(4)
    both_ok = [agree(copy, draw.randrange) for _ in range(3)]
    assert False in both_ok


@pytest.mark.slow
def test_both_verifiers_agree_on_many_random_mutations(copy: Path) -> None:
    draw = random.Random(11)
    both_ok = [agree(copy, draw.randrange) for _ in range(120)]
    assert 0 < both_ok.count(True) < 60, "some fields bind nothing (a title); most must"


# Both over whole other releases: other settings, inputs and decisions, with every table derived from them.


def other_inputs(line: Line, draw: random.Random) -> None:
    """Something else that a classifier, a probe or a paper could have said of one sampled paper."""
    part = line["compute"][0]
    signal = draw.choice(list(line["contexts"]))
    changes: list[Callable[[], object]] = [
        lambda: part.update(wall_hours=draw.choice([0.0, 8.0, 40.0, 97.0, 250.0, None])),
        lambda: part.update(device=draw.choice(["A100 80GB", "TPU v3-8", "RTX 4090 or A6000", "Xeon", "", "A10G"])),
        lambda: part.update(runs=draw.choice([1, 3]), count=draw.choice([1.0, 8.0, None])),
        lambda: line.update(compute=[part, {**part, "kind": "eval", "quote": "eval"}]),
        lambda: line.update(compute=[{**part, "kind": "eval"}], basis_kind="compute_unspecified"),
        lambda: line.update(paper_kind=draw.choice(["survey", "empirical"])),
        lambda: line.update(needs={draw.choice(["paid_api", "human_raters", "special_hardware"]): "as it says"}),
        lambda: line.update(problems=["its loop did not end by itself"], target_problems=["value is prose"]),
        lambda: line["target"].update(value="81.5", number=81.5),
        lambda: line["target"].update(direction="lower", baseline=70.0, uncertainty=0.5),
        lambda: line["target"]["bar"].update(kind="threshold", op=">=", tolerance=None, tolerance_source=None),
        lambda: line["target"]["anchor"].update(table=None),
        lambda: line["inventory"].append({"item": "figure 1", "caption": "", "reason": "dearer"}),
        lambda: line["claims"][signal].update(value=not line["claims"][signal]["value"], cited=["unknown"]),
        lambda: line["contexts"][signal].update(not_needed="not needed, as the paper says"),
        lambda: line["contexts"][signal].update(unresolved_links=["url:https://slow.example/"]),
        lambda: line["contexts"][signal].update(groups=[], custom_data=True, words=["title"]),
        lambda: line["contexts"][signal].update(gated_homes=["url:https://cifar.example/"]),
        lambda: line["links"].update(code=["https://github.com/lab/p"], weights=["https://huggingface.co/lab/p"]),
        lambda: line.update(receipts=line["receipts"][1:]),
        lambda: line.update(basis="about \u2028 a day", exit_reason=draw.choice(["natural", "time_limit"])),
    ]
    draw.choice(changes)()


def other_words(held: Material, draw: random.Random) -> list[Event]:
    """What people could also have said about the pool: overturns with and without receipts, disputes, drops."""
    rows = {a.arxiv_id: a.derivation for a in compose(held).audited}
    said: list[Event] = []
    for row in draw.sample(sorted(rows), k=min(len(rows), draw.randrange(6))):
        judged, at = rows[row], f"2026-02-21T1{draw.randrange(10)}:00:00Z"
        evidence = draw.sample(judged.inputs.receipts, k=draw.randrange(len(judged.inputs.receipts) + 1))
        question = draw.choice(QUESTIONS)
        target = json.loads(judged.inputs.target.model_dump_json()) if judged.inputs.target else None
        bar = {"kind": "range", "op": "between", "low": 70, "high": 90.5}
        values: Line = dict.fromkeys((str(s) for s in Signal), draw.choice([True, False, "not_needed"]))
        values |= {"kind": draw.choice(["survey", "empirical"]), "needs": draw.choice([[], ["paid_api"]])}
        values |= {"claim": draw.choice(["wrong", {"claim": "Another.", "quote": "It is."}]), "bar": bar}
        values |= {"target": "wrong" if target is None else {**target, "metric": "top-1 accuracy"}}
        values |= {"hours": draw.choice([2, 9.5, 100, "wrong"]), "eligibility": draw.choice([True, False])}
        kind = draw.choice(["answer", "adjudicate", "undo", "drop", "replace", "replace"])
        basic = {"paper": row, "who": draw.choice(["ada", "bob"]), "at": at, "why": draw.choice(["it is so", "so: "])}
        if kind in ("drop", "replace"):
            other = draw.choice(sorted(rows))
            value = draw.choice([None, other, {"paper": other, "because": "its data is gone"}, {"paper": other}])
            said.append(Event.model_validate({**basic, "kind": kind, "value": value if kind == "replace" else None}))
        elif kind == "undo":
            undone = draw.choice([e.event for e in held.entries if e.event.paper == row])
            said.append(Event.model_validate({**basic, "who": undone.who, "kind": kind, "undoes": undone.id}))
        else:
            phase = {"phase": draw.choice(["blind", "revised"])} if kind == "answer" else {}
            asked = {"question": question, "value": values[question], "row_hash": judged.row_hash, "evidence": evidence}
            said.append(Event.model_validate({**basic, **phase, **asked, "kind": kind}))
    return said


def other_material(held: Material, draw: random.Random) -> Material:
    settings_ = {
        "scoring": draw.choice(["needs", "published"]),
        "draw": draw.choice(["cheapest", "seeded"]),
        "paid_api_policy": draw.choice(["before_pool", "after_audit"]),
        "eval_size": draw.choice([5, 9]),
        "dev_per_tier": draw.choice([0, 1, 2]),
        "tolerance_relative": draw.choice([0.05, 0.1]),
    }
    sample = [i.model_dump(mode="json") for i in held.sample]
    for line in draw.sample(sample, k=draw.randrange(12)):
        other_inputs(line, draw)
    edition = made.EDITION.model_copy(update=settings_)
    forged = replace(held, edition=edition, sample=tuple(Inputs.model_validate(line) for line in sample))
    cited = {r for i in forged.sample for r in i.citable}
    decided = made.decided(replace(forged, receipts={k: r for k, r in forged.receipts.items() if k in cited}))
    return replace(decided, entries=made.chain([*(e.event for e in decided.entries), *other_words(decided, draw)]))


def both_over(folder: Path, held: Material, seed: int) -> bool:
    forging.rewrite(folder, other_material(held, random.Random(seed)))
    theirs, (checks, notes) = verify(folder), verify_alone.verify(folder)
    text = "\n".join([*theirs.lines(), "", *verify_alone.report(checks, notes)])
    broken = {check.name for check in checks if not check.ok}
    assert broken == {check.name for check in theirs.checks if not check.ok}, (seed, text)
    assert "every row is what its evidence, edition and ledger give" not in broken, (seed, text)
    assert "the manifest says what the files give" in {check.name for check in checks}, (seed, text)
    return not broken


def test_both_derive_the_same_release_from_other_inputs_and_decisions(held: Material, copy: Path) -> None:
    for seed in range(2):
        both_over(copy, held, seed)


@pytest.mark.slow
def test_both_derive_the_same_releases_from_many_other_inputs_and_decisions(held: Material, copy: Path) -> None:
    assert {both_over(copy, held, seed) for seed in range(100, 160)} == {True, False}


@pytest.mark.slow
def test_it_passes_a_release_that_the_whole_pipeline_made(tmp_path_factory: pytest.TempPathFactory) -> None:
    sys.path.insert(0, str(Path(__file__).parent.parent / "e2e"))
    import tiny

    place = tiny.finished(tmp_path_factory).releases()[-1]
    ran = run(place, cwd=place)
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout
