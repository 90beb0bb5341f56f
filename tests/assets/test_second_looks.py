"""Second looks in a build: kept beside the first episode, waited for by Reimplement rows, paid for once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

from assets import bundles, classification, corpus, second_looks
from assets.stages import read_rows
from assets.workplace import Workplace, load_edition
from classifiers.models import Classifier
from classifiers.second_looks import Looker
from pipeline.store import Store
from tests.e2e import tiny

pytestmark = pytest.mark.slow
REIMPLEMENT, RUN = "2505.90057", "2505.90011"


def mute(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    return ModelResponse(parts=[TextPart("…")], usage=RequestUsage(unmeasured_requests=1))


@pytest.fixture
def work(tmp_path: Path) -> Workplace:
    made = tiny.make(tmp_path / "tiny", (REIMPLEMENT, RUN), sample=2, pool_size=2, eval_size=1, dev_per_tier=0)
    looks = '\n[classifier]\nsecond_looks = ["embedded", "embedded", "embedded"]\n'
    made.toml.write_text(made.toml.read_text(encoding="utf-8") + looks, encoding="utf-8")
    store = Store.open(tmp_path / "store")
    return Workplace(edition=load_edition(str(made.toml), store, None), store=store, say=lambda line: None)


def built(work: Workplace, print_: str = "p") -> dict[str, Any]:
    corpus.run(work, print_)
    bundles.run(work, print_)
    classification.run(work, print_)
    return {row["arxiv_id"]: row for row in read_rows(work, "rows")}


def test_a_reimplement_row_waits_for_a_look_that_ended_without_an_answer(
    work: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, looked = classification.classifier_of, []

    def readers(work: Workplace, looker: Looker | None = None) -> Classifier:
        if looker is None:
            return real(work)
        looked.append(looker.look)
        mutely = Classifier(id="mute", model=lambda briefing: FunctionModel(mute))
        return mutely if looker.look == "prober" else real(work, looker)

    monkeypatch.setattr(classification, "classifier_of", readers)
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
