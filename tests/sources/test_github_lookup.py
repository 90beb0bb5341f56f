"""Repositories looked up many at once: the facts are those of the REST API, trouble is not absence, and no receipt
knows what was asked beside it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.evidence import NotRecorded, Outcome, Receipt
from pipeline.labels import Claim, Context, Signal, label
from pipeline.offline.server import OfflineWorld
from pipeline.offline.transports import WorldTransport
from pipeline.sources.clocks import SimulatedClock
from pipeline.sources.github_batches import BATCH, look_up
from pipeline.sources.github_lookup import URL, Question, commit_by, part
from pipeline.sources.github_tokens import Tokens, resource_of
from pipeline.sources.probes import PaperFacts, Probes
from pipeline.sources.recorder import Recorder
from pipeline.store import Store

README = "# Lantern Attention for Foggy Graphs\nSee https://huggingface.co/fog/lantern-7b. arXiv:2505.00001v2\n"
PROGRAM = "print('foggy graphs with lanterns')\n" * 3
CODE: dict[str, Any] = {"README.md": README, "train.py": PROGRAM, "src/eval.py": PROGRAM, "LICENSE": "MIT\n"}
FLAT: dict[str, Any] = {"readme.md": README, "train.py": PROGRAM}
TOKEN = "ghp_" + "x" * 36
PAPER = PaperFacts(title="Lantern Attention for Foggy Graphs", arxiv_id="2505.00001", authors=("Ada Quill",))


def facts_of(receipt: Receipt) -> tuple[Any, ...]:
    """What a receipt says, less the mark that a token was used where nothing was there to be shown to a stranger."""
    facts = dict(receipt.facts)
    marked = facts.pop("authenticated")
    shown = marked if facts.get("files") else None
    return receipt.tool, receipt.outcome, receipt.reason, receipt.subject, shown, facts


def everything(probes: Probes, repo: str) -> list[tuple[Any, ...]]:
    calls = [probes.github_repo(repo), probes.github_tree(repo, "src")]
    calls += [probes.github_file(repo, path) for path in ("README.md", "train.py", "src", "no/such.py")]
    return [facts_of(made.receipt) for made in calls]


@pytest.fixture
def street(town: Any) -> list[str]:
    """Repositories in all the states that there are."""
    town.repo("fog/lantern", CODE, license="MIT", description="Foggy graphs", homepage="https://fog.example.org/")
    town.repo("fog/flat", FLAT, archived=True, fork_of="fog/lantern")
    town.repo("fog/rst", {"README.rst": "Soon\n", "a/b.py": PROGRAM, "data/fog.csv": 5_000})
    town.repo("fog/docs", {"docs/README.md": README, "Readme.txt": "other words", "a.py": PROGRAM})
    town.repo("fog/heavy", CODE | {"w/big.pt": 3_000_000}, lfs={"w/lfs.pt": 50_000_000}, default_branch="dev")
    town.repo("fog/core", {"run/train.py": PROGRAM, "w/core.pt": 3_000_000}, head_commit="c" * 40)
    core = {"path": "core", "url": "https://github.com/fog/core.git", "commit": "c" * 40}
    town.repo("fog/wrapper", {"README.md": README}, submodules=[core])
    town.repo("fog/cut", CODE, truncated=True)
    assets = [{"name": "ckpt.zip", "size": 20_000_000}, {"name": "half.pt", "size": 9_000_000, "state": "starter"}]
    town.repo("fog/released", FLAT, releases=[{"tag": "v1", "assets": assets}, {"tag": "v0", "assets": []}])
    for state in ("missing", "private", "blocked", "disabled", "empty"):
        town.repo(f"fog/{state}", CODE if state == "disabled" else {}, **{state: True})
    town.repo("old/name", {}, renamed_to="fog/lantern")
    town.repo("fog/slow", FLAT, fail_first={"status": 502, "times": 2})
    return sorted(path.parent.relative_to(town.root / "github").as_posix() for path in town.root.rglob("repo.toml"))


class Log(httpx2.BaseTransport):
    """A way to a world that keeps what was asked, and may answer itself."""

    def __init__(self, inner: httpx2.BaseTransport, instead: Callable[[httpx2.Request], Any] = lambda request: None):
        self.inner, self.instead, self.asked = inner, instead, list[tuple[str, str]]()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append((request.method, str(request.url)))
        return self.instead(request) or self.inner.handle_request(request)

    def api(self) -> Counter[str]:
        """Requests to api.github.com: GraphQL, trees, the rest."""
        urls = [url for _, url in self.asked if url.startswith("https://api.github.com/")]
        return Counter("graphql" if u.endswith("/graphql") else "tree" if "/git/trees/" in u else "rest" for u in urls)


@pytest.mark.parametrize("some", [3, pytest.param(99, marks=pytest.mark.slow)])
def test_both_ways_give_the_same_facts_and_the_look_up_saves_the_api(
    town: Any, street: list[str], tmp_path: Path, some: int
) -> None:
    ways: dict[bool, Any] = {}
    street = [*street[: some - 1], "fog/heavy"]
    for number, tokens in enumerate((Tokens(), Tokens.of(TOKEN))):
        log = Log(WorldTransport(town._served()))
        recorder = Recorder(
            Store(tmp_path / str(number)), SimulatedClock(town.clock.now()), run="r", epoch="e", transport=log
        )
        found = look_up(recorder, tokens, [Question(name) for name in street])
        assert found.left == ([Question("fog/blocked")] if tokens else [])
        probes = Probes("2505.00001", recorder, {}, PAPER, {}, tokens)
        ways[bool(tokens)] = {name: everything(probes, name) for name in street}, log.api()
    (stranger, asked), (known, saved) = ways[False], ways[True]
    for name in street:
        assert known[name] == stranger[name], name
    assert saved["rest"] + saved["graphql"] <= 7 < asked["rest"] // 2
    assert saved["tree"] <= asked["tree"]


def test_a_receipt_does_not_know_what_was_asked_beside_it(town: Any, street: list[str], tmp_path: Path) -> None:
    made = []
    for number, beside in enumerate(([], street)):
        clock = SimulatedClock(town.clock.now())
        recorder = Recorder(Store(tmp_path / str(number)), clock, run="r", epoch="e", transport=town.way())
        look_up(recorder, Tokens.of(TOKEN), [Question("fog/flat"), *map(Question, beside)])
        probes = Probes("2505.00001", recorder, {}, PAPER, {}, TOKEN)
        made.append([probes.github_repo(name).receipt.id for name in ("fog/flat", "fog/missing", "old/name")])
    assert made[0] == made[1]


def test_a_looked_up_repository_is_replayed_without_network_and_without_token(town: Any) -> None:
    town.repo("fog/lantern", CODE)
    look_up(town.recorder(), Tokens.of(TOKEN), [Question("fog/lantern"), Question("fog/nowhere")])
    then = town.probes(github_token=TOKEN).github_repo("fog/lantern").receipt
    dead = httpx2.MockTransport(lambda request: pytest.fail("replay asked the world"))
    again = town.probes(github_token="another", transport=dead, mode="replay").github_repo("fog/lantern").receipt
    assert again == then
    with pytest.raises(NotRecorded):
        town.probes(github_token=TOKEN, transport=dead, mode="replay").github_repo("fog/other")


def test_the_batch_and_each_part_of_it_are_marked_and_hold_no_token(town: Any, store: Store) -> None:
    town.repo("fog/lantern", {**CODE, "README.md": "a-token-that-goes-to-nobody is no secret\n"})
    town.repo("fog/flat", FLAT)
    recorder = town.recorder()
    with recorder.call() as made:
        look_up(recorder, Tokens.of(f"{TOKEN},ghp_{'y' * 36}"), [Question("fog/lantern"), Question("fog/flat")])
    with store.engine.connect() as connection:
        rows = [json.loads(row) for (row,) in connection.exec_driver_sql("select json from exchanges")]
    assert len(made) == 1
    assert [row["url"] for row in rows] == [URL] * 3
    assert all(row["authenticated"] for row in rows)
    for path in store.root.rglob("*"):
        if path.is_file():
            assert b"ghp_" not in path.read_bytes()


def test_the_commit_at_the_posting_date_is_kept_beside_the_head(town: Any) -> None:
    town.repo(
        "fog/lantern",
        CODE,
        pushed_at="2025-09-20T10:00:00Z",
        created_at="2025-03-01T00:00:00Z",
        commits=[{"sha": "b" * 40, "at": "2025-05-10T00:00:00Z"}],
    )
    recorder = town.recorder()
    dates = ["2025-05-14T12:00:00Z", "2025-10-01T00:00:00Z", "2025-01-01T00:00:00Z"]
    found = look_up(recorder, Tokens.of(TOKEN), [Question("fog/lantern", date) for date in ("", *dates)])
    head = town.probes(github_token=TOKEN).github_repo("fog/lantern").receipt.facts["commit"]
    assert found.calls == 1
    assert [commit_by(recorder, "Fog/Lantern", date) for date in dates] == ["b" * 40, head, None]
    assert commit_by(recorder, "fog/lantern", "2024-01-01T00:00:00Z") is None  # nobody asked
    assert commit_by(recorder, "fog/flat", dates[0]) is None


# Trouble


def errors(*kinds: str, data: Any = None) -> httpx2.Response:
    told = {"data": data, "errors": [{"type": kind, "message": kind} for kind in kinds]}
    return httpx2.Response(200, json=told, headers={"x-ratelimit-resource": "graphql"})


TROUBLES: Mapping[str, Callable[[], httpx2.Response]] = {
    "rate limit": lambda: errors("RATE_LIMITED"),
    "rate limit, other spelling": lambda: errors("RATE_LIMIT"),
    "secondary limit": lambda: httpx2.Response(403, json={"message": "You have exceeded a secondary rate limit."}),
    "bad gateway": lambda: httpx2.Response(502, text="<html>Unicorn!</html>"),
    "went wrong": lambda: httpx2.Response(
        200, json={"errors": [{"message": "Something went wrong while executing your query."}]}
    ),
    "out of resources": lambda: errors("RESOURCE_LIMITS_EXCEEDED", data={"r0": {"nameWithOwner": "fog/lantern"}}),
    "not found, but where?": lambda: errors("NOT_FOUND", data={"r0": None}),
    "half a body": lambda: httpx2.Response(200, text='{"data": {"r0": {"nameWithOw'),
    "a page": lambda: httpx2.Response(200, text="<html>rate limit</html>"),
    "nothing": lambda: httpx2.Response(200, json={"data": {"r0": None}}),
}


@pytest.mark.parametrize(
    "node", [{}, {"isEmpty": False, "defaultBranchRef": None}, {"isEmpty": True, "defaultBranchRef": [], "releases": 7}]
)
def test_an_answer_of_another_form_leaves_the_word_to_the_rest_api(town: Any, node: dict[str, Any]) -> None:
    town.repo("fog/lantern", CODE)

    def instead(request: httpx2.Request) -> httpx2.Response | None:
        return httpx2.Response(200, json={"data": {"r0": node}}) if str(request.url) == URL else None

    receipt = town.probes(transport=Log(town.way(), instead), github_token=TOKEN).github_repo("fog/lantern").receipt
    assert (receipt.outcome, receipt.facts["code_files"]) == (Outcome.AVAILABLE, 2)


@pytest.mark.parametrize("some", [2, pytest.param(None, marks=pytest.mark.slow)])
def test_trouble_with_a_call_is_no_word_about_a_repository(town: Any, tmp_path: Path, some: int | None) -> None:
    town.repo("fog/lantern", CODE)
    for trouble, answer in list(TROUBLES.items())[:some]:
        log = Log(town.way(), lambda request, answer=answer: answer() if str(request.url) == URL else None)  # type: ignore[misc]
        store, clock = Store(tmp_path / trouble), SimulatedClock(town.clock.now())
        recorder = Recorder(store, clock, run="r", epoch="e", transport=log)
        found = look_up(recorder, Tokens.of(TOKEN), [Question("fog/lantern")])
        assert (found.told, found.gone, found.left) == (0, 0, [Question("fog/lantern")]), trouble
        # The REST API was there all the time.
        receipt = Probes("2505.00001", recorder, {}, PAPER, {}, TOKEN).github_tree("fog/lantern").receipt
        assert (receipt.outcome, receipt.facts["code_files"]) == (Outcome.AVAILABLE, 2), trouble


def test_one_repository_that_cannot_be_digested_costs_the_others_nothing(town: Any) -> None:
    for n in range(6):
        town.repo(f"fog/r{n}", FLAT)

    def instead(request: httpx2.Request) -> httpx2.Response | None:
        bad = str(request.url) == URL and "r4" in json.loads(request.read())["variables"].values()
        return httpx2.Response(502) if bad else None

    found = look_up(
        town.recorder(transport=Log(town.way(), instead)), Tokens.of(TOKEN), [Question(f"fog/r{n}") for n in range(6)]
    )
    assert (found.told, found.left) == (5, [Question("fog/r4")])
    assert found.calls <= 7


def test_a_service_that_is_down_is_not_asked_for_ever(town: Any) -> None:
    down = Log(town.way(), lambda request: httpx2.Response(502))
    questions = [Question(f"fog/r{n:03}") for n in range(4 * BATCH)]
    found = look_up(town.recorder(transport=down), Tokens.of(TOKEN), questions)
    assert (found.told, sorted(found.left)) == (0, questions)
    assert found.calls <= 6


def test_what_is_in_the_record_is_not_asked_again_and_what_is_gone_is_asked_a_day_later(town: Any) -> None:
    town.repo("fog/lantern", CODE)
    town.repo("fog/missing", {}, missing=True)
    questions = [Question("fog/lantern"), Question("fog/missing")]
    first = look_up(town.recorder(), Tokens.of(TOKEN), questions)
    second = look_up(town.recorder(), Tokens.of("another"), questions)
    town.clock.sleep(25 * 3600)
    third = look_up(town.recorder(), Tokens.of(TOKEN), questions)
    assert [(f.calls, f.known) for f in (first, second, third)] == [(1, 0), (0, 2), (1, 1)]


@pytest.mark.parametrize(
    ("state", "page", "outcome"),
    [
        ("private", 404, Outcome.UNAVAILABLE),
        pytest.param("private", 429, None, marks=pytest.mark.slow),
        ("private", 200, None),
        ("blocked", 451, Outcome.UNAVAILABLE),
        pytest.param("blocked", 503, None, marks=pytest.mark.slow),
    ],
)
def test_what_graphql_does_not_show_is_gone_only_if_its_page_is_twice(
    town: Any, state: str, page: int, outcome: Outcome | None
) -> None:
    town.repo("fog/lantern", CODE, **{state: True})
    way = town.troubled(**{"//github.com/fog/lantern": page, "//api.github.com/repos": 503})
    first = town.probes(github_token=TOKEN, transport=way).github_repo("fog/lantern").receipt
    second = town.a_day_later(github_token=TOKEN, transport=way).github_repo("fog/lantern").receipt
    assert first.outcome is Outcome.UNDETERMINED
    assert second.outcome is (outcome or Outcome.UNDETERMINED)


@pytest.mark.parametrize("status", [401, 403])
def test_a_token_that_is_refused_gates_nothing(town: Any, status: int) -> None:
    town.repo("fog/lantern", CODE)
    refused = town.troubled(**{"//api.github.com": status})
    receipt = town.probes(github_token="ghp_expired", transport=refused).github_repo("fog/lantern").receipt
    assert (receipt.outcome, receipt.reason) == (Outcome.UNDETERMINED, f"token_refused: {status}")


# Parts of an answer

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["NOT_FOUND", "FORBIDDEN", "r0", "r1"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["data", "errors", "r0", "r1", "type", "path", "message"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=60)
@given(_JSON)
def test_a_part_is_the_data_of_its_question_or_its_own_not_found_or_nothing(told: Any) -> None:
    mine = part(told, "r1")
    if mine is None:
        return
    assert part(mine, "r0") == mine  # asked alone, it would say the same
    named = [error for error in told.get("errors") or () if error["path"][0] == "r1"]
    if mine["data"]["r0"] is None:
        assert named
        assert {error["type"] for error in named} == {"NOT_FOUND"}
    else:
        assert not named
        assert mine["data"]["r0"] is told["data"]["r1"]


# Tokens

NOW = datetime(2026, 12, 1, tzinfo=UTC)


def budget(remaining: int, resource: str = "core", seconds: int = 3600) -> dict[str, str]:
    reset = str(int(NOW.timestamp()) + seconds)
    return {
        "x-ratelimit-remaining": str(remaining),
        "x-ratelimit-reset": reset,
        "x-ratelimit-resource": resource,
    }


def test_the_token_with_most_left_is_taken_for_each_resource_by_itself() -> None:
    tokens = Tokens.of("a, b,,a")
    assert tokens.best("core", NOW) == "a"
    tokens.told("a", budget(10))
    assert (tokens.best("core", NOW), tokens.best("graphql", NOW)) == ("b", "a")
    tokens.told("b", budget(3))
    assert tokens.best("core", NOW) == "a"
    for old in (budget(0, seconds=-3600), budget(4_999)):  # out of the record: an hour ago, a while ago
        tokens.told("a", old)
        tokens.told("b", old)
    assert tokens.best("core", NOW) == "a"
    tokens.told("b", budget(4_000, seconds=7_200))  # a new hour
    assert tokens.best("core", NOW) == "b"
    tokens.told("stranger", budget(9_999))
    tokens.told("b", {"x-ratelimit-remaining": "many"})
    assert {tokens.best(resource, NOW) for resource in ("search", "code_search")} == {"a"}
    assert Tokens().best("core", NOW) == ""
    assert "a" not in repr(tokens).removeprefix("Tokens")


def test_a_token_for_this_program_goes_before_those_of_others() -> None:
    others = {"GITHUB_TOKEN": "one", "GITHUB_TOKENS": "two, three"}
    assert Tokens.from_environment(others).best("core", NOW) == "two"
    assert not Tokens.from_environment(others, own_only=True)
    assert Tokens.from_environment({**others, "RECLAIM_GITHUB_TOKEN": "own"}, own_only=True).best("core", NOW) == "own"
    assert not Tokens.from_environment({})


def test_several_tokens_share_the_work_and_one_answer_serves_all(town: Any) -> None:
    for n in range(3):
        town.repo(f"fog/r{n}", CODE)
    used = Counter[str]()

    def instead(request: httpx2.Request) -> None:
        used[request.headers.get("authorization", "")] += "api.github.com" in str(request.url)

    tokens = Tokens.of("a-token,b-token")
    log = Log(town.way(), instead)
    probes = Probes("2505.00001", town.recorder(transport=log), {}, PAPER, {}, tokens)
    for n in range(3):
        assert probes.github_repo(f"fog/r{n}").receipt.outcome is Outcome.AVAILABLE
    assert min(used["Bearer a-token"], used["Bearer b-token"]) >= 2
    before = len(log.asked)
    for text in ("a-token", "b-token", "c-token"):
        again = Probes("2505.00001", town.recorder(transport=log), {}, PAPER, {}, text)
        assert again.github_repo("fog/r0").receipt.outcome is Outcome.AVAILABLE
    assert len(log.asked) == before


def test_each_path_of_the_api_draws_on_its_budget() -> None:
    paths = ("/graphql", "/search/code?q=x", "/search/repositories?q=x", "/repos/a/b")
    assert [resource_of(path) for path in paths] == ["graphql", "code_search", "search", "core"]


# Submodules

CORE = {"path": "core", "url": "https://github.com/fog/core.git", "commit": "c" * 40}


@pytest.mark.parametrize("token", ["", TOKEN])
def test_a_wrapper_is_what_its_submodule_holds_at_the_pinned_commit(town: Any, token: str) -> None:
    town.repo("fog/core", {"run/train.py": PROGRAM, "w/core.pt": 3_000_000}, head_commit="c" * 40)
    town.repo("fog/lantern", {"README.md": README}, submodules=[CORE])
    receipt = town.probes(github_token=token).github_repo("fog/lantern").receipt
    assert receipt.facts["train_entries"] == ["core/run/train.py"]
    assert receipt.facts["weights_open"] == ["core/w/core.pt"]
    assert (receipt.facts["authenticated"], receipt.facts["unseen"]) == (False, [])
    context = Context(groups=(frozenset({receipt.subject}),))
    assert label(Claim(signal=Signal.CODE, value=True), [receipt], context).value is True


def test_submodules_of_submodules_are_followed_twice_and_no_deeper(town: Any) -> None:
    for n in range(4):
        inner = {"path": "in", "url": f"https://github.com/fog/r{n + 1}", "commit": f"{n + 1}" * 40}
        town.repo(f"fog/r{n}", {f"level{n}/run.sh": PROGRAM}, submodules=[inner], head_commit=f"{n}" * 40)
    town.repo("fog/r4", {}, empty=True)
    facts = town.probes().github_repo("fog/r0").receipt.facts
    assert facts["code_sample"] == ["in/in/level2/run.sh", "in/level1/run.sh", "level0/run.sh"]


@pytest.mark.parametrize(
    ("files", "core", "unseen", "code"),
    [
        ({"README.md": README}, {"head_commit": "d" * 40}, ["submodules"], 0),  # the pinned commit is no more
        pytest.param({"README.md": README}, {"private": True}, [], 0, marks=pytest.mark.slow),
        # code of its own is seen
        pytest.param({"main.py": PROGRAM}, {"head_commit": "d" * 40}, [], 1, marks=pytest.mark.slow),
        ({f"m{n}.py": PROGRAM for n in range(4)}, {"head_commit": "c" * 40}, [], 4),  # beside it lies a library
    ],
)
def test_a_submodule_counts_only_where_a_stranger_sees_it_and_nothing_else_is_there(
    town: Any, files: dict[str, Any], core: dict[str, Any], unseen: list[str], code: int
) -> None:
    town.repo("fog/core", {"run/train.py": PROGRAM}, **core)
    town.repo("fog/lantern", files, submodules=[CORE])
    facts = town.probes().github_repo("fog/lantern").receipt.facts
    assert (facts["code_files"], facts["unseen"]) == (code, unseen)


# The sample world


@pytest.mark.slow
def test_every_repository_of_the_sample_gives_the_same_facts_for_a_seventh_of_a_request(tmp_path: Path) -> None:
    from pipeline.editions import data

    ways = {}
    with OfflineWorld(data("offline/sample-2025")) as world:
        names = sorted(world.world.repositories)
        for number, tokens in enumerate((Tokens(), Tokens.of(TOKEN))):
            log, clock = Log(WorldTransport(world)), SimulatedClock(NOW)
            recorder = Recorder(Store(tmp_path / str(number)), clock, run="r", epoch="e", transport=log)
            asked = [Question(name, until) for name in names for until in ("", "2025-09-25T00:00:00Z")]
            look_up(recorder, tokens, asked)
            probes = Probes("2505.00001", recorder, {}, PAPER, {}, tokens)
            ways[bool(tokens)] = {name: everything(probes, name) for name in names}, log.api()
    (stranger, _), (known, saved) = ways[False], ways[True]
    for name in names:
        assert known[name] == stranger[name], name
    assert len(names) > 50
    print(f"\napi.github.com: {dict(saved)} requests for {len(names)} repositories, each asked six times")
    assert (saved["rest"] + saved["graphql"]) / len(names) <= 0.15


@pytest.mark.parametrize(
    "repository",
    [
        {"defaultBranchRef": True},
        {"defaultBranchRef": {"target": True}},
        {"defaultBranchRef": {"target": {"history": [1]}}},
        {"defaultBranchRef": {"target": {"history": {"nodes": 7}}}},
        {"defaultBranchRef": {"target": {"history": {"nodes": [None]}}}},
        {"defaultBranchRef": {"target": {"history": {"nodes": [{"oid": ["b"]}]}}}},
        {},
    ],
)
def test_a_commit_told_in_another_form_is_unknown(recording: Any, repository: dict[str, Any]) -> None:
    date = "2026-01-01T00:00:00Z"
    recorder = recording(lambda request: httpx2.Response(200, json={"data": {"r0": repository}}))
    look_up(recorder, Tokens.of(TOKEN), [Question("fog/lantern", date)])
    assert commit_by(recorder, "fog/lantern", date) is None
