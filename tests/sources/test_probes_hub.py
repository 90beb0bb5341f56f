"""Probes of the Hub: a gate beats a listing, a card is no checkpoint, bytes decide."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from pipeline.evidence import Outcome
from pipeline.sources.probes import PaperFacts, Probes

CARD = "---\nlicense: mit\n---\n# Lantern Attention for Foggy Graphs\nCode: https://github.com/fog/lantern\n"
MODEL = {"README.md": CARD, "config.json": "{}", "model.safetensors": 5_000_000}


def test_an_open_model_gives_bytes(town: Any) -> None:
    town.hub("fog/lantern-7b", MODEL, license="mit", sha="a" * 40)
    receipt, content = town.probes().hub_repo("fog/lantern-7b")
    facts = receipt.facts
    assert (receipt.outcome, receipt.subject) == (Outcome.AVAILABLE, "hf:model:fog/lantern-7b")
    assert facts["weights_open"] == ["model.safetensors"]
    assert (facts["names_paper"], facts["commit"], facts["gated"]) == (["title"], "a" * 40, False)
    assert facts["readme_links"] == ["https://github.com/fog/lantern"]
    assert "7b" in facts["scope_words"]
    assert "Lantern" in content["card"]


@pytest.mark.parametrize("gate", ["auto", "manual"])
def test_a_gated_repository_is_never_available(town: Any, gate: str) -> None:
    town.hub("fog/lantern-7b", MODEL, gated=gate)
    for probes in (town.probes(), town.a_day_later()):
        receipt = probes.hub_repo("fog/lantern-7b").receipt
        assert (receipt.outcome, receipt.reason) == (Outcome.GATED, gate)
        assert receipt.facts["weights_open"] == []
        assert probes.hub_tree("fog/lantern-7b").receipt.outcome is Outcome.GATED


def test_the_gate_counts_where_no_file_is_large_enough_to_ask_for(town: Any) -> None:
    town.hub("fog/small", {"README.md": CARD, "config.json": "{}"}, gated="manual")
    receipt, _ = town.probes().hub_repo("fog/small")
    assert (receipt.outcome, receipt.reason) == (Outcome.GATED, "manual")


def test_a_missing_or_private_repository_is_gone_only_at_the_second_look(town: Any) -> None:
    town.hub("fog/hidden", MODEL, private=True)
    assert town.probes().hub_repo("fog/hidden").receipt.reason == "gone_once: missing or private"
    assert town.a_day_later().hub_repo("fog/hidden").receipt.outcome is Outcome.UNAVAILABLE


def test_a_disabled_repository_is_closed(town: Any) -> None:
    town.hub("fog/banned", MODEL, disabled=True)
    assert town.probes().hub_repo("fog/banned").receipt.outcome is Outcome.GATED


def test_a_card_alone_and_small_files_are_no_weights(town: Any) -> None:
    town.hub("fog/soon", {"README.md": "Weights coming soon.\n", "model.bin": 700_000})
    facts = town.probes().hub_repo("fog/soon").receipt.facts
    assert facts["weights_open"] == []
    assert facts["coming_soon"] == ["coming soon"]


def test_an_adapter_without_its_base_is_told(town: Any) -> None:
    files = {"adapter_config.json": "{}", "adapter_model.safetensors": 9_000_000}
    town.hub("fog/lora", files, base_model="big/base-70b")
    facts = town.probes().hub_repo("fog/lora").receipt.facts
    assert facts["adapter_only"]
    assert "big/base-70b" in str(facts["base_model"])


def test_an_open_data_set_gives_bytes_and_a_kind_is_not_guessed(town: Any) -> None:
    town.hub("fog/graphs", {"README.md": CARD, "data/train.parquet": 40_000}, kind="datasets")
    probes = town.probes()
    receipt, _ = probes.hub_repo("https://huggingface.co/datasets/fog/graphs/tree/main", "dataset")
    assert receipt.subject == "hf:dataset:fog/graphs"
    assert receipt.facts["data_open"] == ["data/train.parquet"]
    assert probes.hub_tree("fog/graphs", "dataset", "data").receipt.facts["data_open"] == ["data/train.parquet"]


def test_a_loading_script_is_no_data_but_says_where_it_leads(town: Any) -> None:
    script = 'URL = "https://data.example.org/graphs.zip"\n'
    town.hub("fog/graphs", {"README.md": CARD, "graphs.py": script}, kind="datasets")
    facts = town.probes().hub_repo("fog/graphs", "dataset").receipt.facts
    assert (facts["data_open"], facts["script_only"]) == ([], True)
    assert facts["script_links"] == ["https://data.example.org/graphs.zip"]


def test_trouble_is_undetermined(town: Any) -> None:
    town.hub("fog/lantern-7b", MODEL, fail_first={"status": 503, "times": 99})
    assert town.probes().hub_repo("fog/lantern-7b").receipt.outcome is Outcome.UNDETERMINED


def test_searches_are_complete_when_answered(town: Any) -> None:
    town.hub("fog/lantern-7b", MODEL)
    probes = town.probes()
    assert probes.hub_search("lantern").receipt.facts["results"] == ["fog/lantern-7b"]
    assert probes.hub_search("zebra", "dataset").receipt.facts["complete"]
    assert probes.hub_search("lantern", "paper").receipt.outcome is Outcome.UNDETERMINED


def test_a_long_tree_is_read_by_pages(town: Any) -> None:
    town.hub("fog/many", {f"shard/{n:05}.bin": 10 for n in range(1203)})
    receipt, content = town.probes().hub_tree("fog/many")
    assert receipt.facts["files"] == 1203
    assert content["more"] == 1203 - len(content["entries"])
    assert len(receipt.exchanges) >= 2


@pytest.mark.parametrize("repo", ["", "a/b/c?x", "..", "a b", "\u0000"])
def test_a_bad_argument_is_no_evidence(town: Any, repo: str) -> None:
    assert town.probes().hub_repo(repo).receipt.outcome is Outcome.UNDETERMINED
    assert town.probes().hub_repo("fog/x", "paper").receipt.reason.startswith("invalid_argument")
    assert town.probes().hub_tree("fog/x", "model", "../..").receipt.reason.startswith("invalid_argument")


@pytest.mark.parametrize(
    ("body", "headers", "opened"),
    [
        (b"<html><title>Log in</title></html>", {"content-type": "text/html"}, []),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9000000\n", {}, []),
        (bytes(2048), {}, []),
        (bytes(range(256)) * 8, {}, ["model.safetensors"]),
    ],
)
def test_a_page_a_pointer_or_nothing_in_place_of_a_listed_checkpoint_is_none(
    recording: Any, body: bytes, headers: dict[str, str], opened: list[str]
) -> None:
    told = {"id": "fog/lantern", "siblings": [{"rfilename": "model.safetensors", "size": 5_000_000}]}

    def answer(request: httpx2.Request) -> httpx2.Response:
        if "/api/" in request.url.path:
            return httpx2.Response(200, json=told)
        return httpx2.Response(200, headers=headers, content=body)

    probes = Probes("2505.00001", recording(answer), {}, PaperFacts(title="Lantern"))
    facts = probes.hub_repo("fog/lantern").receipt.facts
    assert facts["weights_open"] == opened
    assert facts.get("unseen", []) == ([] if opened else ["weights"])
