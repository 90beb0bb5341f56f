"""A reading is made again from an evidence pack, byte for byte, and only from it; a kill pays for no turn twice."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from classifiers.agent import run_episode
from classifiers.budget import Budget
from classifiers.models import Way, limits_of, model_for
from classifiers.replay import packed
from classifiers.toolbox import Limits
from classifiers.turns import RecordedTurns
from pipeline.answers import Episode
from pipeline.editions import Classifier, LanguageModel
from pipeline.evidence import NotRecorded
from pipeline.record import Record
from pipeline.release.pack import Pack, export
from pipeline.store import Store
from tests.bench.agent import kill_half_way
from tests.classifiers.fake_openai import serving
from tests.classifiers.readers import PRICED, SOURCE, Reader, good, rest_slow, searching
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


@pytest.mark.parametrize(("wait", "answered"), rest_slow((30, True), (120, False)))
def test_a_paper_that_time_ended_is_replayed_to_the_same_end_though_a_replay_takes_no_time(
    tmp_path: Path, wait: float, answered: bool
) -> None:
    """The clock's word is kept: after which turn only the answer was left to give, and after which nothing."""
    bound = Limits(rounds=30, budget=Budget(seconds=100))
    with serving(searching(10_000)) as fake:
        reader = Reader(fake)
        inner = fake.script

        def slow(told: dict[str, Any]) -> Any:
            reader.clock.sleep(wait)
            return inner(told)

        fake.script = slow
        episode = reader.read(limits=bound)
        asked = fake.asked
        blobs = Store(tmp_path / "store").blobs
        turns = {key: blobs.put(reader.turns.kept[key]) for key in episode.account["turns"]}
        pack = Pack.open(export((), (), {}, [episode], blobs.get, tmp_path / "pack.zip", turns))
        try:
            again = reader.read(packed(Classifier(model=f"openai:{PRICED}", llm=LanguageModel()), pack), limits=bound)
        finally:
            pack.archive.close()
        assert fake.asked == asked
    assert (episode.exit_reason, episode.answer is not None) == ("time_limit", answered)
    assert episode.account["late"]
    assert again.to_json() == episode.to_json()


@pytest.mark.slow
def test_a_reading_killed_half_way_asks_no_kept_turn_again(tmp_path: Path) -> None:
    kill = kill_half_way(tmp_path, papers=12, in_flight=8)
    assert 0 < kill.kept < kill.needed
    assert kill.answered - kill.kept <= 8
    assert kill.distinct == kill.needed
    assert kill.paid_twice == 0
