"""Card, figures, report and Croissant: all they show is counted from the frozen tables, and hostile text stays text."""

from __future__ import annotations

import io
import json
import re
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import replace
from pathlib import Path
from statistics import median
from types import ModuleType

import polars as pl
import pytest

from pipeline.release.card import SIDE_TABLES, attribution, card, citation
from pipeline.release.companions import COMPANIONS, companions, contents
from pipeline.release.compose import compose
from pipeline.release.contents import Contents, month_range
from pipeline.release.croissant import croissant
from pipeline.release.freeze import freeze
from pipeline.release.page import page
from pipeline.release.plots import figures
from pipeline.release.tables import SCHEMAS, parquet


@pytest.fixture(scope="module")
def shown(made: ModuleType) -> Contents:
    held = made.material()
    return contents("made-2026-v3", held, compose(held), "f" * 64)


@pytest.fixture(scope="module")
def drawn(shown: Contents) -> dict[str, str]:
    return figures(shown)


def known_numbers(shown: Contents) -> set[str]:
    """Every number that the tables give, counted here in another way than the card counts: from the Parquet files."""
    found = {"1", "2026", "3", "4.0", "1.2.0", str(shown.edition["max_receipt_age_days"])}
    tables = {t: pl.read_parquet(io.BytesIO(parquet(t, shown.lines[t])), use_pyarrow=False) for t in SCHEMAS}
    found |= {str(table.height) for table in tables.values()}
    for split in ("eval", "dev"):
        rows = tables[split].with_columns(pl.col("match_target").struct.field("match_bar_kind"))
        for keys in (["tier"], ["tier", "h100_band"], ["h100_band"], ["match_bar_kind"]):
            found |= {str(n) for n in rows.group_by(keys).len()["len"].to_list()}
        for values in rows.group_by("tier").agg(pl.col("audited_h100_hours"))["audited_h100_hours"].to_list():
            hours = [float(v) for v in values]
            found |= {f"{x:.2f}" for x in (sum(hours), min(hours), median(hours), max(hours))}
        for signal in ("code_available", "dataset_available", "weights_available", "dataset_is_standard"):
            said = rows.select(pl.col("signals").struct.field(signal)).unnest(signal)
            found |= {str(n) for n in said.group_by(["value", "verification"]).len()["len"].to_list()}
    pool = tables["selection"].filter(pl.col("pool_status") == "taken")
    for keys in (["tier"], ["tier", "band"], ["band"]):
        found |= {str(n) for n in pool.group_by(keys).len()["len"].to_list()}
    left = Counter((line["stage"], line["reason"]) for line in shown.lines["exclusions"])
    found |= {str(n) for n in left.values()} | {"0"}
    eligible = tables["selection"].height - left["selection", "not eligible"]
    found |= {str(eligible), str(pool.height), str(tables["selection"].height), str(tables["index"].height)}
    return found


def test_every_number_of_the_card_is_one_of_the_frozen_data(shown: Contents) -> None:
    body = card(shown).split("---\n", 2)[2]
    body = re.sub(r"```.*?```|`[^`]*`|\d{4}-\d{2}-\d{2}|\b\d+-\d+\b|H100", "", body, flags=re.DOTALL)
    numbers = re.findall(r"\d+(?:\.\d+)*", body)
    assert len(numbers) > 80
    assert sorted(set(numbers) - known_numbers(shown)) == []


def test_a_table_without_rows_is_no_config_since_no_reader_could_load_it(shown: Contents) -> None:
    empty = replace(shown, lines={**shown.lines, "figures": [], "dev": []})
    for front, listed in ((card(empty).split("---\n", 2)[1], False), (card(shown).split("---\n", 2)[1], True)):
        assert ("config_name: figures" in front) is listed
        assert ("validation" in front) is listed
        assert "config_name: receipts" in front


def test_a_wrong_number_in_the_card_would_be_seen(shown: Contents) -> None:
    wrong = replace(shown, funnel={**shown.funnel, "index": 31})
    assert "31" in card(wrong)
    assert "31" not in known_numbers(shown)


def test_the_cards_metadata_names_every_table_with_its_features_and_no_train_split(shown: Contents) -> None:
    yaml = pytest.importorskip("yaml")
    told = yaml.safe_load(card(shown).split("---\n", 2)[1])
    configs = {c["config_name"]: {f["split"]: f["path"] for f in c["data_files"]} for c in told["configs"]}
    assert configs["default"] == {"test": "eval.parquet", "validation": "dev.parquet"}
    assert set(configs) == {"default", *SIDE_TABLES}
    assert "train" not in {split for config in configs.values() for split in config}
    features = {i["config_name"]: [f["name"] for f in i["features"]] for i in told["dataset_info"]}
    assert len(features["default"]) == 25
    assert features == {"default": list(SCHEMAS["eval"]), **{t: list(SCHEMAS[t]) for t in SIDE_TABLES}}


def test_a_release_holds_its_companions_and_other_words_for_it_make_no_new_release(
    made: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = made.material()
    place = freeze(held, made.given(held), tmp_path / "made-v1", "code").place
    assert place is not None
    assert {path.name for path in place.iterdir()} >= set(COMPANIONS)
    before = (place / "README.md").read_bytes()
    monkeypatch.setattr("pipeline.release.companions.card", lambda _: "another card")
    again = freeze(held, made.given(held), tmp_path / "made-v1", "code").place
    assert again == place
    assert (place / "README.md").read_bytes() == before


def test_figures_are_the_same_bytes_each_time_and_carry_no_date(shown: Contents, drawn: dict[str, str]) -> None:
    assert figures(shown) == drawn
    for svg in drawn.values():
        ET.fromstring(svg)
        assert not re.search(r"\b20\d\d-\d\d-\d\dT", svg)
        assert "<script" not in svg


def test_figures_of_a_release_without_rows_can_still_be_drawn(shown: Contents) -> None:
    empty = replace(shown, lines={**shown.lines, "eval": [], "dev": [], "selection": []})
    assert set(figures(empty)) == {"hours.svg", "months.svg", "funnel.svg", "pool.svg", "agreement.svg"}
    assert "| Run | 0 |" in card(empty)


def test_the_report_opens_offline_and_runs_nothing(shown: Contents, drawn: dict[str, str]) -> None:
    text = page(shown, drawn)
    assert "<script" not in text
    assert not re.search(r"(?:src|href)\s*=\s*[\"'](?!https://|#)[^\"']", text)
    assert not re.search(r"<(?:link|img|iframe|object)\b", text)
    assert all(row["custom_id"] in text for row in shown.rows)


def test_hostile_text_of_a_paper_stays_text_in_the_report(shown: Contents, drawn: dict[str, str]) -> None:
    row = json.loads(json.dumps(shown.lines["eval"][0]))
    row["central_claim"] = "<script>alert(1)</script>"
    row["verified_links"]["code"] = ["javascript:alert(1)", 'https://x.example/"onmouseover=alert(1)']
    text = page(replace(shown, lines={**shown.lines, "eval": [row]}), drawn)
    assert "<script" not in text
    assert 'href="javascript:' not in text
    assert '"onmouseover' not in text


HOSTILE = "A: #1\n- x: <img src=x onerror=alert(1)> [a](javascript:b) `c` | *d* $e$ &lt;"


def test_hostile_text_stays_text_in_the_attribution(shown: Contents) -> None:
    row = json.loads(json.dumps(shown.lines["eval"][0]))
    row["verified_links"]["code"] = ["https://x.example/>)\n# big", "https://x.example/a_b"]
    sample = [{**line, "title": HOSTILE} for line in shown.lines["sample"]]
    text = attribution(replace(shown, lines={**shown.lines, "eval": [row], "dev": [], "sample": sample}))
    assert not re.search(r"(?<!\\)<(?!https?://[^<>\s]+>)", text)
    assert "\n# big" not in text
    assert "\n- x:" not in text
    assert "](javascript" not in text.replace("\\]", "")
    assert "  - <https://x.example/a_b>: no licence seen" in text


def test_a_licence_is_that_of_the_repository_itself_and_of_no_other_that_begins_like_it(shown: Contents) -> None:
    row = json.loads(json.dumps(shown.lines["eval"][0]))
    row["verified_links"] = {
        "paper_or_project": [],
        "code": ["https://github.com/Lab/Thing-Extra", "https://github.com/lab/thing/tree/main"],
        "dataset": ["https://huggingface.co/datasets/lab/thing"],
        "weights": [],
    }
    receipt = json.loads(json.dumps(shown.lines["receipts"][0]))
    seen = [
        {**receipt, "subject": subject, "facts": {"license": licence}}
        for subject, licence in (("github:lab/thing", "MIT"), ("hf:dataset:lab/thing", "odc-by"))
    ]
    text = attribution(replace(shown, lines={**shown.lines, "eval": [row], "dev": [], "receipts": seen}))
    assert "<https://github.com/Lab/Thing-Extra>: no licence seen" in text
    assert "<https://github.com/lab/thing/tree/main>: MIT" in text
    assert "<https://huggingface.co/datasets/lab/thing>: odc-by" in text


def test_a_conference_of_any_name_leaves_the_yaml_of_card_and_citation_whole(shown: Contents) -> None:
    yaml = pytest.importorskip("yaml")
    odd = replace(shown, edition={**shown.edition, "conference": HOSTILE}, edition_hash="1" * 64)
    assert HOSTILE in yaml.safe_load(card(odd).split("---\n", 2)[1])["pretty_name"]
    cited = yaml.safe_load(citation(odd))
    assert HOSTILE in cited["title"]
    assert cited["identifiers"][0]["value"] == "1" * 64
    assert "\n- x:" not in card(odd).split("---\n", 2)[2]


def test_where_agreement_was_not_measured_the_report_says_so_and_shows_no_empty_figure(
    shown: Contents, drawn: dict[str, str]
) -> None:
    assert not shown.agreement["measured"]
    text = page(shown, drawn)
    assert "Agreement was not measured" in text
    assert text.count("<figure") == len(drawn) - 1
    assert "axis" not in drawn["agreement.svg"]


@pytest.mark.slow
def test_croissant_describes_every_column_and_reads_back(made: ModuleType, shown: Contents, tmp_path: Path) -> None:
    mlc = pytest.importorskip("mlcroissant")
    files = {f"{t}.parquet": parquet(t, shown.lines[t]) for t in SCHEMAS}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "croissant.json").write_bytes(companions(shown, files)["croissant.json"])
    dataset = mlc.Dataset(jsonld=str(tmp_path / "croissant.json"))
    issues = dataset.metadata.ctx.issues
    assert not issues.errors
    assert not issues.warnings
    records = list(dataset.records(record_set="eval"))
    assert [r["eval/custom_id"].decode() for r in records] == [row["custom_id"] for row in shown.lines["eval"]]
    assert [r["eval/signals/code_available/value"] for r in records] == [
        row["signals"]["code_available"]["value"] for row in shown.lines["eval"]
    ]


def test_croissant_says_how_the_data_came_about(shown: Contents) -> None:
    told = croissant(shown, {})
    assert told["conformsTo"][0].endswith("croissant/1.1")
    assert {"rai:dataCollection", "rai:dataLimitations", "rai:dataBiases", "rai:dataUseCases"} <= set(told)


def test_every_paper_is_attributed_and_the_release_can_be_cited(shown: Contents) -> None:
    text = attribution(shown)
    assert all(f"https://arxiv.org/abs/{row['custom_id']}" in text for row in shown.rows)
    assert f"version: {shown.name}" in citation(shown)


def test_the_canary_is_the_releases_own(shown: Contents) -> None:
    assert shown.canary in card(shown)
    assert replace(shown, name="made-2026-v4").canary != shown.canary


def test_months_without_a_paper_are_shown_too() -> None:
    assert month_range({"2024-11", "2025-02"}) == ["2024-11", "2024-12", "2025-01", "2025-02"]
    assert month_range(set()) == []
