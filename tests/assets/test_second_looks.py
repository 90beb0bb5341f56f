"""Second looks in a build: kept beside the first episode, waited for by Reimplement rows, paid for once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

from assets import bundles, classification, corpus, episodes, plan, release, second_looks
from assets.stages import UNFINISHED, read_rows
from assets.workplace import Workplace, load_edition
from classifiers.models import Classifier
from classifiers.replay import readings
from classifiers.second_looks import Looker
from pipeline.release.pack import Pack
from pipeline.store import Store
from tests.classifiers.fake_openai import FakeOpenAI, Say, serving, turns
from tests.classifiers.readers import PRICED
from tests.e2e import tiny

pytestmark = pytest.mark.slow
REIMPLEMENT, RUN = "2505.90057", "2505.90011"


def mute(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    return ModelResponse(parts=[TextPart("…")], usage=RequestUsage(unmeasured_requests=1))


def workplace(folder: Path, classifier: str, papers: tuple[str, ...] = (REIMPLEMENT, RUN), **environ: str) -> Workplace:
    """An edition of these papers with these lines about its classifier."""
    sizes = {"sample": len(papers), "pool_size": 2, "eval_size": 1, "dev_per_tier": 0}
    made = tiny.make(folder / "tiny", papers, **sizes)
    made.toml.write_text(f"{made.toml.read_text(encoding='utf-8')}\n[classifier]\n{classifier}\n", encoding="utf-8")
    store = Store.open(folder / "store")
    edition = load_edition(str(made.toml), store, None)
    return Workplace(edition=edition, store=store, say=lambda line: None, environ=environ)


@pytest.fixture
def work(tmp_path: Path) -> Workplace:
    return workplace(tmp_path, 'second_looks = ["embedded", "embedded", "embedded"]')


def built(work: Workplace, print_: str = "p") -> dict[str, Any]:
    corpus.run(work, print_)
    bundles.run(work, print_)
    classification.run(work, print_)
    return {row["arxiv_id"]: row for row in read_rows(work, "rows")}


def test_a_reimplement_row_waits_for_a_look_that_ended_without_an_answer(
    work: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, looked = episodes.classifier_of, []

    def readers(work: Workplace, looker: Looker | None = None) -> Classifier:
        if looker is None:
            return real(work)
        looked.append(looker.look)
        mutely = Classifier(id="mute", model=lambda briefing: FunctionModel(mute))
        return mutely if looker.look == "prober" else real(work, looker)

    monkeypatch.setattr(episodes, "classifier_of", readers)
    rows = built(work)
    assert looked == ["recheck 1", "recheck 2", "prober"]
    assert rows[REIMPLEMENT]["ineligible"] == ["second looks missing: 2 of 3 were had"]
    assert [look["answered"] for look in rows[REIMPLEMENT]["inputs"]["looks"]] == [True, True, False]
    assert rows[RUN]["inputs"]["looks"] == []
    again = built(work, "q")
    assert looked == ["recheck 1", "recheck 2", "prober"], "what the record holds is not read again"
    assert again == rows


def test_looks_that_agree_leave_the_row_and_no_disagreement_and_a_double_read_is_a_table_of_its_own(
    work: Workplace,
) -> None:
    rows = built(work)
    assert rows[REIMPLEMENT]["eligible"]
    assert len(rows[REIMPLEMENT]["inputs"]["looks"]) == 3
    assert second_looks.disagreements_of(work) == []
    assert second_looks.double_read(work, [RUN], "embedded") == []
    assert read_rows(work, "double_reads") == []


# ------------------------------------------------------------------------------------------- looks of a language model


@pytest.fixture
def imitating(work: Workplace) -> Callable[[dict[str, Any]], Say]:
    """A model that asks what the embedded rules asked about a paper and answers as they answered."""
    built(work)
    known = {item.record.arxiv_id: episodes.recorded(work, item) for item in episodes.items(work)}

    def script(told: dict[str, Any]) -> Say:
        first = next(str(m["content"]) for m in told["messages"] if m["role"] == "user")
        episode = known[first.removeprefix("# ").partition(":")[0]]
        assert episode is not None
        assert episode.answer is not None
        asked = episode.receipts[len(episode.linked) :]
        if turns(told):
            return Say(calls=[("answer", episode.answer.model_dump(mode="json"))])
        offered = {tool["function"]["name"]: tool["function"]["parameters"]["properties"] for tool in told["tools"]}
        calls = [(r.tool, {k: v for k, v in r.arguments.items() if v and k in offered[r.tool]}) for r in asked]
        return Say(calls=calls)

    return script


def model(fake: FakeOpenAI) -> str:
    return f'model = "openai:{PRICED}@{fake.url}"\n[classifier.llm]\nseed = 5'


def test_a_model_looks_again_by_other_seeds_within_the_runs_budget_and_a_run_that_ends_among_the_looks_goes_on(
    tmp_path: Path, imitating: Callable[[dict[str, Any]], Say]
) -> None:
    with serving(imitating) as fake:
        short = workplace(tmp_path / "model", model(fake), RECLAIM_BUDGET="requests=7")
        rows = built(short)
        assert str(short.stopped).startswith("the run's budget of 7 requests")
        assert fake.asked == 7
        (reason,) = rows[REIMPLEMENT]["ineligible"]
        assert reason.startswith("second looks missing")
        assert (short.store.table_print(short.edition.name, "rows") or "").endswith(UNFINISHED)

        more = Workplace(edition=short.edition, store=short.store, say=lambda line: None, environ={})
        rows = built(more)
        assert rows[REIMPLEMENT]["eligible"], rows[REIMPLEMENT]["ineligible"]
        assert not (more.store.table_print(more.edition.name, "rows") or "").endswith(UNFINISHED)
        assert len(fake.paid) == len(set(fake.paid)) + 4, (
            "recorded turns are not paid twice; other seeds are other turns"
        )
        assert fake.asked == 2 * 2 + 2 * 3
        assert [told["seed"] for told in fake.seen if told["seed"] != 5] == [6, 6, 7, 7, 8, 8]
        prober = [told for told in fake.seen if told["seed"] == 8]
        assert all("A first reader found no way" in str(told["messages"]) for told in prober)
        assert not any("A first reader" in str(told["messages"]) for told in fake.seen if told["seed"] != 8)
        assert second_looks.disagreements_of(more) == []

        told = more.record.paid(more.edition.name)
        assert told[0] == 10
        count = {item.record.arxiv_id: len(second_looks.readings(more, item)) for item in episodes.items(more)}
        assert count == {REIMPLEMENT: 3, RUN: 0}

        place = tmp_path / "pack.zip"
        assert "4 model turns" in release.export_evidence(more, place)
        case: Any = SimpleNamespace(material=SimpleNamespace(edition=more.edition))
        pack = Pack.open(place)
        try:
            (check,) = readings(case, pack).checks
        finally:
            pack.archive.close()
        assert (check.checked, check.failures) == (2, ())
        assert fake.asked == 10


def test_a_plan_counts_what_second_looks_take(tmp_path: Path, imitating: Callable[[dict[str, Any]], Say]) -> None:
    with serving(imitating) as fake:
        ahead = workplace(tmp_path / "model", model(fake), (REIMPLEMENT, RUN, "2505.90046"))
        corpus.run(ahead, "p")
        bundles.run(ahead, "p")
        chosen = [item for item in episodes.items(ahead) if item.record.arxiv_id in (REIMPLEMENT, RUN)]
        asyncio.run(episodes.read_papers(ahead, chosen, passes=1))
        alone = plan.plan(ahead).tokens
        assert second_looks.look_again(ahead, chosen) == 0
        both = plan.plan(ahead).tokens
    assert alone is not None
    assert both is not None
    _, read, written, _, _ = ahead.record.paid(ahead.edition.name)
    assert alone.likely < both.likely == pytest.approx((read + written) / 2)


def test_a_looker_without_a_price_is_refused_before_the_first_reader_is_asked(tmp_path: Path) -> None:
    with serving(lambda told: Say(text="…")) as fake:
        looks = f'"openai:home-made@{fake.url}"'
        first = f'model = "openai:{PRICED}@{fake.url}"'
        work = workplace(tmp_path, f"{first}\nsecond_looks = [{looks}, {looks}, {looks}]")
        assert not episodes.askable(work)
        assert "no price is known for openai:home-made" in str(work.stopped)
        assert fake.asked == 0
        assert "@http" not in str(work.edition.settings()["classifier"]), "where a model is asked is no setting"
