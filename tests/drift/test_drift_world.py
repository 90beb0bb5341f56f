"""The sample edition's release in a world where thirty links changed in twelve ways, and eleven did not."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.drift import Way
from pipeline.offline.content import stable_hex
from tests.e2e import tiny
from tests.e2e.tiny import SAMPLE, Tiny, contents

Change = Callable[[Path], None]


def told(place: str, line: str) -> Change:
    """Let a file of facts say one more thing, in place of what it said of it."""

    def change(world: Path) -> None:
        path = world / place / "repo.toml"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        name = line.partition(" = ")[0]
        kept = [one for one in lines if not one.startswith(f"{name} = ")]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join([line, *kept]) + "\n", encoding="utf-8")

    return change


def replaced(place: str, old: str, new: str) -> Change:
    def change(world: Path) -> None:
        tiny.edit(world / place, lambda text: text.replace(old, new))

    return change


def answers(host: str, path: str, *lines: str) -> Change:
    """Let a path answer otherwise: the first route that fits is taken."""

    def change(world: Path) -> None:
        site = world / "sites" / host / "site.toml"
        routes = "\n".join(["[[route]]", f'path = "{path}"', *lines, ""])
        site.write_text(f"{routes}\n{site.read_text(encoding='utf-8')}", encoding="utf-8")

    return change


def without(place: str, *names: str) -> Change:
    """Take files out of a repository: those that lie there, and those that are told."""

    def change(world: Path) -> None:
        folder = world / place
        for name in names:
            (folder / "files" / name).unlink(missing_ok=True)
        text = (folder / "repo.toml").read_text(encoding="utf-8")
        first, *entries = text.split("[[files]]")
        kept = [entry for entry in entries if not any(f'"{name}"' in entry for name in names)]
        (folder / "repo.toml").write_text("[[files]]".join([first, *kept]), encoding="utf-8")

    return change


def taken_over(old: str, new: str) -> Change:
    """A repository lives under another name now, and the old one leads there."""

    def change(world: Path) -> None:
        shutil.copytree(world / "github" / old, world / "github" / new)
        told(f"github/{new}", f'head_commit = "{stable_hex("commit", old)}"')(world)
        told(f"github/{old}", f'renamed_to = "{new}"')(world)

    return change


def code(place: str) -> Change:
    def change(world: Path) -> None:
        (world / place / "files").mkdir(parents=True, exist_ok=True)
        (world / place / "files" / "train.py").write_text("print('trained')\n", encoding="utf-8")

    return change


def no_code(place: str) -> Change:
    def change(world: Path) -> None:
        scripts = list((world / place / "files").rglob("*.py"))
        assert scripts
        for path in scripts:
            path.unlink()

    return change


def both(*changes: Change) -> Change:
    def change(world: Path) -> None:
        for one in changes:
            one(world)

    return change


OTHER_BYTES = ('content_type = "application/octet-stream"', 'body = "another archive"', "status = 200")
ZENODO, JOINERY = "sites/zenodo.org/site.toml", "/api/records/90229415/files/joinery.zip/content"
CHANGES: dict[str, tuple[Way, Change]] = {
    "github:arcadia-kitchen/fennel": (Way.GONE, told("github/arcadia-kitchen/fennel", "missing = true")),
    "github:thule-recurrence/rnn-baselines": (
        Way.GONE, told("github/thule-recurrence/rnn-baselines", "private = true"),
    ),
    "hf:dataset:cais/mmlu": (Way.GONE, told("hf/datasets/cais/mmlu", "missing = true")),
    "url:https://foxglove-rl.example.org": (Way.GONE, answers("foxglove-rl.example.org", "/", "status = 404")),
    "github:littoral-lab/sandpiper": (Way.GATED, told("github/littoral-lab/sandpiper", "disabled = true")),
    "hf:dataset:allenai/c4": (Way.GATED, told("hf/datasets/allenai/c4", 'gated = "auto"')),
    "hf:model:poison-garden/foxglove-agents": (
        Way.GATED, told("hf/models/poison-garden/foxglove-agents", 'gated = "manual"'),
    ),
    "github:hyperborea-vision/cartouche": (
        Way.REVISION_GONE, told("github/hyperborea-vision/cartouche", f'head_commit = "{"f" * 40}"'),
    ),
    "github:visipedia/inat_comp": (
        Way.REVISION_GONE, told("github/visipedia/inat_comp", f'head_commit = "{"e" * 40}"'),
    ),
    "hf:dataset:nyu-mll/multi_nli": (
        Way.REVISION_GONE, told("hf/datasets/nyu-mll/multi_nli", f'sha = "{"d" * 40}"'),
    ),
    "github:river-eldorado/otterplan": (Way.FILES_MISSING, no_code("github/river-eldorado/otterplan")),
    "hf:dataset:openai/gsm8k": (
        Way.FILES_MISSING,
        without("hf/datasets/openai/gsm8k", *(f"main/{part}-00000-of-00001.parquet" for part in ("train", "test"))),
    ),
    "hf:model:river-eldorado/otter-7b": (
        Way.FILES_MISSING,
        without("hf/models/river-eldorado/otter-7b", *(f"model-0000{n}-of-00003.safetensors" for n in (1, 2, 3))),
    ),
    "url:https://www.openslr.org/12": (
        Way.BYTES, answers("www.openslr.org", "/resources/12/test-clean.tar.gz", *OTHER_BYTES),
    ),
    "url:https://zenodo.org/records/90229415/files/joinery.zip": (
        Way.BYTES,
        answers("zenodo.org", JOINERY, *OTHER_BYTES),
    ),
    "github:lilliput-coast/driftwood": (
        Way.SIZE, replaced("github/lilliput-coast/driftwood/repo.toml", "size = 2704000000", "size = 2704000001"),
    ),
    "hf:model:pebblenorm-lab/pebblenorm-resnet18-cifar10": (
        Way.SIZE,
        replaced("hf/models/pebblenorm-lab/pebblenorm-resnet18-cifar10/repo.toml", "44712336", "44712337"),
    ),
    "hf:model:syldavia-stationers/inkwell-3b": (
        Way.SIZE, replaced("hf/models/syldavia-stationers/inkwell-3b/repo.toml", "6200000000", "6100000000"),
    ),
    "url:https://zenodo.org/records/90217701": (Way.SIZE, replaced(ZENODO, "181004120", "181004121")),
    "github:poison-garden/foxglove": (Way.MOVED, taken_over("poison-garden/foxglove", "hothouse/nightshade")),
    "url:https://cocodataset.org": (
        Way.MOVED, answers("cocodataset.org", "/", "status = 301", 'location = "https://ogb.stanford.edu/"'),
    ),
    "url:https://grouplens.org/datasets/movielens": (
        Way.MOVED,
        answers(
            "grouplens.org", "/datasets/movielens/", "status = 301",
            'location = "https://grouplens.org/datasets/movielens/20m/"',
        ),
    ),
    "github:farama-foundation/arcade-learning-environment": (
        Way.LICENCE, told("github/Farama-Foundation/Arcade-Learning-Environment", 'license = "MIT"'),
    ),
    "github:syldavia-stationers/inkwell": (
        Way.LICENCE, told("github/syldavia-stationers/inkwell", 'license = "AGPL-3.0"'),
    ),
    "hf:dataset:Salesforce/wikitext": (
        Way.LICENCE,
        both(
            told("hf/datasets/Salesforce/wikitext", 'license = "other"'),
            told("hf/datasets/Salesforce/wikitext", 'tags = ["license:other"]'),
        ),
    ),
    "github:barataria-mag/lodestone": (Way.RENAMED, taken_over("barataria-mag/lodestone", "barataria-mag/magnetite")),
    "hf:model:littoral-lab/sandpiper-160m": (
        Way.OPENED, told("hf/models/littoral-lab/sandpiper-160m", "gated = false"),
    ),
    "github:toytown-mining/hopscotch": (
        Way.REACHABLE,
        both(told("github/toytown-mining/hopscotch", "blocked = false"), code("github/toytown-mining/hopscotch")),
    ),
    "github:dowsing-lab/hazel": (Way.ARCHIVED, told("github/dowsing-lab/hazel", "archived = true")),
    "github:pebblenorm-lab/pebblenorm": (Way.ARCHIVED, told("github/pebblenorm-lab/pebblenorm", "archived = true")),
}  # fmt: skip


@pytest.mark.slow
def test_thirty_links_that_changed_in_twelve_ways_are_each_told_and_nothing_else(tmp_path: Path) -> None:
    edition = Tiny(tmp_path, "sample-2025")
    assert edition.run("build") == tiny.EXIT_RELEASED
    (release,) = edition.releases()
    before = contents(release)
    record = edition.count("sightings"), edition.count("receipts")
    world = tmp_path / "world"
    shutil.copytree(SAMPLE, world)
    assert edition.run("drift", release.name, "--world", str(world)) == 0
    place = edition.root / "drift" / release.name
    assert json.loads(next((place / "looks").iterdir()).read_text())["counts"].keys() == {"same"}
    assert (place / "errata.jsonl").read_text() == ""

    assert len(CHANGES) == 30
    assert len({way for way, _ in CHANGES.values()}) == 12
    for _, change in CHANGES.values():
        change(world)
    shutil.rmtree(edition.root / "drift")
    assert edition.run("drift", release.name, "--world", str(world)) == 0
    (report,) = (json.loads(path.read_text()) for path in (place / "looks").iterdir())
    ways = {link["subject"]: link["way"] for link in report["links"]}
    assert {subject: way for subject, way in ways.items() if way != "same"} == {
        subject: str(way) for subject, (way, _) in CHANGES.items()
    }
    assert report["counts"] == {**Counter(str(way) for way, _ in CHANGES.values()), "same": len(ways) - 30}
    assert report["pending"] == 0
    proposed = [json.loads(line) for line in (place / "errata.jsonl").read_text().splitlines()]
    assert {line["value"]["subject"] for line in proposed} == {
        subject for subject, (way, _) in CHANGES.items() if way is not Way.ARCHIVED
    }
    assert contents(release) == before
    assert edition.run("verify", str(release)) == 0
    assert (edition.count("sightings"), edition.count("receipts")) == record
