"""A reading is made again from an evidence pack, byte for byte, and only from it; a kill pays for no turn twice."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from classifiers.agent import run_episode
from classifiers.models import Way, limits_of, model_for
from classifiers.replay import packed
from classifiers.turns import RecordedTurns
from pipeline.answers import Episode
from pipeline.editions import Classifier, LanguageModel
from pipeline.evidence import NotRecorded
from pipeline.record import Record
from pipeline.release.pack import Pack, export
from pipeline.store import Store
from tests.bench.agent import kill_half_way
from tests.classifiers.fake_openai import serving
from tests.classifiers.readers import PRICED, SOURCE, good, searching
from tests.classifiers.toys import FakeProbes, paper_input, places

TOLD = Classifier(model=f"openai:{PRICED}", llm=LanguageModel(seed=1))


def test_a_recorded_reading_is_replayed_from_its_pack_without_a_network(tmp_path: Path) -> None:
    good()
    store = Store(tmp_path / "store")
    record = Record(store.engine)
    limits, given = limits_of(TOLD), paper_input(SOURCE)

    def read_by(classifier) -> Episode:  # type: ignore[no-untyped-def]
        return asyncio.run(run_episode(given, FakeProbes(places()), classifier, limits))

    with serving(searching(2)) as fake:
        way = Way(turns=lambda paper: RecordedTurns(record, store.blobs, "some-edition", paper), environ={})
        episode = read_by(model_for(f"openai:{PRICED}@{fake.url}", TOLD.llm, way))
    assert record.paid("some-edition") == (3, 3000, 300, 0, episode.account["micro_usd"])
    turns = {key: turn.response_sha256 for key in episode.account["turns"] if (turn := record.get_turn(key))}
    assert len(turns) == 3

    place = export((), (), {}, [episode], store.blobs.get, tmp_path / "pack.zip", turns)
    pack = Pack.open(place)
    try:
        assert pack.episodes == {episode.paper: episode}
        assert read_by(packed(TOLD, pack)).to_json() == episode.to_json()
        other = TOLD.model_copy(update={"llm": LanguageModel(seed=2)})
        with pytest.raises(NotRecorded, match="turn 1 of"):
            read_by(packed(other, pack))
    finally:
        pack.archive.close()
    again = export((), (), {}, [episode], store.blobs.get, tmp_path / "again.zip", turns)
    assert again.read_bytes() == place.read_bytes()


@pytest.mark.slow
def test_a_reading_killed_half_way_asks_no_kept_turn_again(tmp_path: Path) -> None:
    kill = kill_half_way(tmp_path, papers=12, in_flight=8)
    assert 0 < kill.kept < kill.needed
    assert kill.answered - kill.kept <= 8
    assert kill.distinct == kill.needed
    assert kill.paid_twice == 0
