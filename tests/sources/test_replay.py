"""Replay: receipts made again by their tools from a pack alone, and what it says where they do not come back."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import httpx2
import pytest

from pipeline.editions import Classifier, Edition, LanguageModel
from pipeline.evidence import Outcome, Receipt
from pipeline.record import request_of
from pipeline.release import pack
from pipeline.release.case import Case
from pipeline.release.compose import Composition, Material
from pipeline.release.pack import Pack
from pipeline.release.report import Report
from pipeline.sources.probes import PaperFacts, Probes
from pipeline.sources.replay import replay
from pipeline.sources.web_search import Engine

PAPER = "2505.00001"
SOURCE = rb"\documentclass{article}\title{Lantern Attention for Foggy Graphs}\begin{document}Text.\end{document}"
README = "# Lantern Attention for Foggy Graphs\nBy Ada Quill and Bo Farrow.\n"
SUPPLEMENT = {"code/train.py": b"import torch\n", "README.md": b"see https://github.com/fog/lantern\n"}
EDITION = Edition.model_validate(
    {
        "name": "tiny",
        "conference": "Tiny",
        "year": 2025,
        "venue": "Tiny.test/2025",
        "as_of": "2026-12-01",
        "world": "tiny",
        "seed": "tiny",
        "sample": 9,
        "split_cap_hours": 8,
        "pool_cap_hours": 8,
        "band_edges_hours": (8,),
        "band_weights": (1,),
        "pool_size": 9,
        "eval_size": 1,
        "dev_per_tier": 1,
    }
)
Keep = Callable[[Any], bool]


def everything(_: Any) -> bool:
    return True


@pytest.fixture
def packed(town, tmp_path: Path) -> Callable[..., Pack]:
    """A pack of what the town's record holds for some receipts, as the build exports it."""
    opened: list[Pack] = []

    def make(receipts: list[Receipt], exchange: Keep = everything, sighting: Keep = everything) -> Pack:
        record = town.recorder().record
        named = [record.get_exchange(id_) for r in receipts for id_ in r.exchanges]
        seen = [s for request in sorted({request_of(e) for e in named}) for s in record.seen(request)]
        listed = [pack.Seen(exchange=s.exchange.id, at=s.seen_at, attempt=s.attempt, headers=s.headers) for s in seen]
        files = {"main.tex": town.store.blobs.put(SOURCE)}
        held = pack.Held(
            version=1,
            title="",
            authors=("Ada Quill", "Bo Farrow", "Cy Marsh"),
            source=files,
            supplement={path: town.store.blobs.put(data) for path, data in SUPPLEMENT.items()},
        )
        kept = [s.exchange for s in seen if exchange(s.exchange)]
        place = pack.export(
            kept, filter(sighting, listed), {PAPER: held}, (), town.store.blobs.get, tmp_path / f"{len(opened)}.zip"
        )
        opened.append(Pack.open(place))
        return opened[-1]

    yield make
    for one in opened:
        one.archive.close()


def replayed(receipts: list[Receipt], opened: Pack | None, edition: Edition = EDITION) -> Report:
    material = Material(
        edition=edition, index=(), early=(), sample=(), receipts={r.id: r for r in receipts}, entries=()
    )
    return replay(Case(material=material, made=cast(Composition, None), lines={}), opened)


def said(report: Report) -> str:
    return "\n".join(str(failure) for failure in report.failures)


def looked(town) -> list[Receipt]:
    """One look at a town: a repository, a model, a page, searches, the supplement."""
    town.repo("fog/lantern", {"train.py": "import torch\n" * 5, "README.md": README})
    town.hub("fog/lantern", {"README.md": README, "model.safetensors": 2 << 20})
    town.site("fog.example.org", {"path": "/", "body": "<html><body><p>Lantern, a method for fog.</p></body></html>"})
    probes = town.probes(SUPPLEMENT)
    return [
        probes.github_repo("fog/lantern").receipt,
        probes.github_tree("fog/lantern", "src").receipt,
        probes.github_search_repositories("lantern").receipt,
        probes.hub_repo("fog/lantern").receipt,
        probes.hub_search("lantern", "model").receipt,
        probes.fetch_url("https://fog.example.org/").receipt,
        probes.supplement_file("").receipt,
        probes.supplement_file("README.md").receipt,
        probes.supplement_file("none.md").receipt,
    ]


def test_every_receipt_comes_back_from_the_pack_alone(town, packed) -> None:
    receipts = looked(town)
    opened = packed(receipts)
    town.close()
    report = replayed(receipts, opened)
    assert report.ok, said(report)
    assert [check.checked for check in report.checks] == [len(receipts)]
    assert "names_paper" in receipts[0].facts
    assert receipts[0].facts["names_paper"]  # rests on title and authors, which the pack carries


@pytest.mark.parametrize("key", ["", "k-3f9d27aa61"])
def test_a_web_search_comes_back_from_the_pack_under_its_editions_engine_and_without_a_key(
    town, packed, key: str
) -> None:
    template = "https://search.example.org/api?q={query}"
    engine = httpx2.MockTransport(
        lambda request: httpx2.Response(200, json={"results": [{"url": "https://a.example"}]})
    )
    paper = PaperFacts(title="Lantern")
    probes = Probes(PAPER, town.recorder(transport=engine), {}, paper, engine=Engine(template, key))
    receipt = probes.web_search("lantern").receipt
    assert (receipt.outcome, receipt.facts["leads"]) == (Outcome.AVAILABLE, 1)
    asks = Classifier(model="openai:some", llm=LanguageModel(web_search=template))
    searching = EDITION.model_copy(update={"classifier": asks})
    opened = packed([receipt])
    assert replayed([receipt], opened, searching).ok
    forged = replace(receipt, subject="github:fog/lantern", facts={**receipt.facts, "code_files": 9})
    assert "facts.code_files" in said(replayed([forged], opened, searching))
    assert "not_configured" in said(replayed([receipt], opened))


def test_a_forged_fact_outcome_or_subject_is_named_by_paper_tool_and_arguments(town, packed) -> None:
    receipts = looked(town)
    repo, others = receipts[0], receipts[1:]
    opened = packed(receipts)
    forged = replace(repo, facts={**repo.facts, "code_files": 99, "invented": True})
    report = replayed([forged, *others], opened)
    assert {f.where for f in report.failures} == {PAPER}
    assert 'github_repo {"repo":"fog/lantern"}: facts.code_files is 99, replayed 1' in said(report)
    assert "facts.invented: replay does not show it" in said(report)
    assert len(report.failures) == 2
    report = replayed([replace(repo, outcome=Outcome.GATED)], opened)
    assert 'outcome is "gated", replayed "available"' in said(report)
    report = replayed([replace(repo, subject="github:fog/other")], opened)
    assert 'subject is "github:fog/other", replayed "github:fog/lantern"' in said(report)


def test_a_missing_exchange_is_named_by_what_was_asked(town, packed) -> None:
    receipts = looked(town)
    lacking = receipts[0].exchanges[0]
    report = replayed(receipts[:1], packed(receipts, exchange=lambda e: e.id != lacking))
    assert "GET https://api.github.com/repos/fog/lantern is not in the record" in said(report)
    report = replayed(receipts[:1], packed(receipts, sighting=lambda s: s.exchange != lacking))
    assert "GET https://api.github.com/repos/fog/lantern is not in the record" in said(report)


def test_a_receipt_may_rest_on_nothing_that_its_tool_does_not_ask_for(town, packed) -> None:
    """Nor may a tool be answered from what another receipt rests on."""
    receipts = looked(town)
    page, hub = receipts[5], receipts[3]
    opened = packed(receipts)
    more = replace(page, exchanges=(*page.exchanges, hub.exchanges[0]))
    assert "does not ask for: GET https://huggingface.co/" in said(replayed([more], opened))
    fewer = replace(hub, exchanges=hub.exchanges[:-1])
    assert "is not in the record" in said(replayed([fewer], opened))


def test_gone_takes_two_looks_a_day_apart_in_replay_too(town, packed) -> None:
    town.repo("fog/away", {"train.py": "import torch\n" * 5}, missing=True)
    once = town.probes().github_repo("fog/away").receipt
    twice = town.a_day_later(again=True).github_repo("fog/away").receipt
    assert (once.outcome, twice.outcome) == (Outcome.UNDETERMINED, Outcome.UNAVAILABLE)
    opened = packed([once, twice])
    report = replayed([once, twice], opened)  # each at the moment when it was true
    assert report.ok, said(report)
    day = min(s.at for s in opened.sightings)
    only_once = packed([once, twice], sighting=lambda s: s.at == day)
    assert 'outcome is "unavailable", replayed "undetermined"' in said(replayed([twice], only_once))


def test_another_answer_at_another_time_does_not_stand_in_for_the_receipts_own(town, packed) -> None:
    town.repo("fog/lantern", {"train.py": "import torch\n" * 5}, fail_first={"status": 502, "times": 4})
    first = town.probes().github_repo("fog/lantern").receipt
    later = town.a_day_later(again=True).github_repo("fog/lantern").receipt
    assert (first.outcome, later.outcome) == (Outcome.UNDETERMINED, Outcome.AVAILABLE)
    assert first.exchanges != later.exchanges
    report = replayed([first, later], packed([first, later]))
    assert report.ok, said(report)


def test_what_was_asked_with_a_token_is_replayed_without_one(town, packed) -> None:
    town.repo("fog/lantern", {"train.py": "import torch\n" * 5, "README.md": README})
    receipt = town.probes(github_token="ghp_secret").github_repo("fog/lantern").receipt
    opened = packed([receipt])
    assert opened.exchanges[receipt.exchanges[0]].authenticated
    report = replayed([receipt], opened)
    assert report.ok, said(report)


def test_calls_that_reached_no_tool_are_skipped_and_counted(town, packed) -> None:
    receipts = looked(town)[5:6]
    idle = [
        replace(receipts[0], exchanges=(), outcome=Outcome.UNDETERMINED, arguments={"url": f"https://x{n}/"}, reason=r)
        for n, r in enumerate(("not_probed: over the bound of 60 links", "tool_crashed: KeyError: 'x'"))
    ]
    odd = town.probes().fetch_url(cast(str, 5)).receipt
    report = replayed([*receipts, *idle, odd], packed(receipts))
    assert report.ok, said(report)
    assert [check.checked for check in report.checks] == [1]
    (note,) = report.notes
    assert note.startswith("3 receipts of calls that reached no tool")
    assert note.endswith("1 invalid_argument, 1 not_probed, 1 tool_crashed")


def test_a_receipt_that_claims_something_is_never_skipped(town, packed) -> None:
    receipt = looked(town)[5]
    forged = replace(receipt, exchanges=(), reason="not_probed: trust me")
    assert "is not in the record" in said(replayed([forged], packed([receipt])))


@pytest.mark.parametrize("change", [{"tool": "no_tool"}, {"arguments": {"url": "https://a/", "more": 1}}])
def test_forged_calls_that_no_tool_takes_are_failures_not_crashes(town, packed, change: dict[str, Any]) -> None:
    receipt = looked(town)[5]
    assert "cannot be called again" in said(replayed([replace(receipt, **change)], packed([receipt])))


def test_a_supplement_of_other_bytes_or_no_source_is_named(town, packed) -> None:
    receipts = looked(town)[6:7]
    opened = packed(receipts)
    held = opened.papers[PAPER]
    lost = replace(held, supplement={"README.md": hashlib.sha256(b"other").hexdigest()})
    report = replayed(receipts, replace(opened, papers={PAPER: lost}))
    assert "the paper's supplement is not whole in the pack" in said(report)
    assert "the paper's source is not in the pack" in said(replayed(receipts, replace(opened, papers={})))


def test_a_replay_needs_a_pack_and_something_to_replay(town, packed) -> None:
    receipts = looked(town)[5:6]
    assert "--evidence" in said(replayed(receipts, None))
    assert "there was nothing to check" in said(replayed([], packed(receipts)))
