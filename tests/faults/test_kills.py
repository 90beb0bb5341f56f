"""What is killed at any moment and started again ends as if nobody had disturbed it: a build, an audit, a freeze, a
publication. A few of the two hundred kills that `python -m tests.faults` does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e import tiny
from tests.e2e.tiny import Tiny, contents
from tests.faults.campaigns import CAMPAIGNS, Campaign, KilledBuild, draws
from tests.faults.launching import KILLED, Kill, Launcher
from tests.faults.many import shared
from tests.faults.matrix import Line, Marked, summed, table
from tests.faults.scenes import Scenes, faults, prepare

pytest_plugins = ["pytester"]
SEED = 2025
FEW = {"kill-build": 6, "kill-audit": 4, "kill-freeze": 4, "kill-publish": 4}
POINTS = [
    pytest.param(one, kill, id=f"{one.__name__}-{kill.by}-{kill.share}")
    for kind, runs in FEW.items()
    for one, count in shared(runs, [kind]).items()
    for kill in draws(one, SEED, count)
]


@pytest.fixture(scope="module")
def launcher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launcher]:
    found = Launcher(tmp_path_factory.mktemp("launcher"))
    yield found
    found.close()


@pytest.fixture(scope="module")
def scenes(finished: Tiny, tmp_path_factory: pytest.TempPathFactory) -> Scenes:
    return prepare(finished, tmp_path_factory.mktemp("scenes"))


@pytest.fixture(scope="module")
def campaign(scenes: Scenes, launcher: Launcher) -> Iterator[Callable[[type[Campaign]], Campaign]]:
    begun: dict[type[Campaign], Campaign] = {}
    yield lambda kind: begun.setdefault(kind, kind(scenes, launcher)) if kind not in begun else begun[kind]
    for one in begun.values():
        one.close()


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "kill"), POINTS)
def test_what_is_killed_and_begun_again_ends_as_if_nobody_had_disturbed_it(
    kind: type[Campaign], kill: Kill, campaign: Callable[[type[Campaign]], Campaign], tmp_path: Path
) -> None:
    outcome = campaign(kind).once(kill, tmp_path / "again")
    assert outcome.problems == ()
    assert outcome.lost == 0


@pytest.mark.slow
def test_a_build_killed_again_and_again_still_ends_the_same(
    launcher: Launcher, scenes: Scenes, campaign: Callable[[type[Campaign]], Campaign], tmp_path: Path
) -> None:
    build = campaign(KilledBuild)
    assert isinstance(build, KilledBuild)
    again, kills = scenes.decided.copy(tmp_path / "again"), 0
    while (ended := launcher.run(build.arguments(again), Kill(1 / 6, "moment"), build.whole)).status == KILLED:
        kills += 1
        assert kills < 60, "no progress between kills"
    assert kills > 2
    assert ended.status == tiny.EXIT_RELEASED
    assert faults(again, *build.expected) == ([], 0)


def test_every_kind_of_kill_has_its_share_of_the_runs_and_the_same_moments_for_a_seed() -> None:
    counts = shared(200, list(CAMPAIGNS))
    assert sum(counts.values()) == 200
    assert {sum(counts[one] for one in some) for some in CAMPAIGNS.values()} == {50}
    for kind, count in counts.items():
        kills = draws(kind, SEED, count)
        assert kills == draws(kind, SEED, count + 7)[:count]
        assert kills != draws(kind, SEED + 1, count)
        assert {kill.by for kill in kills} == set(kind.ways)
        assert max(kill.share for kill in kills) - min(kill.share for kill in kills) > 0.7


def test_a_lost_event_a_doubled_one_and_other_bytes_are_seen(finished: Tiny, tmp_path: Path) -> None:
    """The judge of all these runs, itself judged."""
    releases, entries = contents(finished.root / "releases"), finished.ledger()
    assert faults(finished, releases, entries) == ([], 0)
    assert faults(finished, releases, entries[:-1]) == (["another ledger"], 1)
    assert faults(finished, releases, [*entries, entries[0]]) == (["another ledger"], 1)
    name = next(iter(releases))
    assert faults(finished, {**releases, name: "0" * 64}, entries) == ([f"other release bytes: {name}"], 0)


def test_a_line_of_the_matrix_fails_for_one_run_that_ended_otherwise_or_one_lost_event() -> None:
    good = Line(fault="f", where="w", runs=2, same=2, seconds=1)
    assert good.ok
    assert not Line(fault="f", where="w", runs=2, same=1).ok
    assert not Line(fault="f", where="w", runs=2, same=2, lost=1).ok
    assert not Line(fault="f", where="w").ok, "what was not run says why"
    assert Line(fault="f", where="w", notes=("no PostgreSQL",)).ok
    (both,) = summed([good, good])
    assert (both.runs, both.same, both.seconds) == (4, 4, 2)
    assert "| f | w | 4 | 4 | 0 | 2 |" in table([both])


def test_marked_tests_become_lines(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.fault("disk full", "blobs")
        @pytest.mark.parametrize("n", [1, 2])
        def test_some(n, record_property):
            record_property("cases", 5)
            assert n == 1, "one of them fails"

        @pytest.mark.fault("restart", "PostgreSQL")
        def test_other():
            pytest.skip("no PostgreSQL")

        def test_no_fault():
            pass
        """
    )
    plugin = Marked()
    pytester.inline_run("-p", "no:cacheprovider", plugins=[plugin])
    full, skipped = summed(plugin.lines)
    assert (full.fault, full.where, full.runs, full.same, full.ok) == ("disk full", "blobs", 10, 5, False)
    assert "one of them fails" in full.notes[0]
    assert (skipped.where, skipped.runs, skipped.notes, skipped.ok) == ("PostgreSQL", 0, ("no PostgreSQL",), True)
