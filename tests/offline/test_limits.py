"""The offline services refuse as the real ones do, on the caller's clock."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from pipeline.offline.content import whole
from pipeline.offline.limits import Keeper
from pipeline.offline.wire import Answer, Call, as_json
from pipeline.sources.clocks import SimulatedClock

START = datetime(2025, 12, 1, tzinfo=UTC)


class Service:
    """A caller of one service that always answers, behind a keeper."""

    def __init__(self, log: Path | None = None) -> None:
        self.clock = SimulatedClock(START)
        self.keeper = Keeper(self.clock, log)

    def ask(self, url: str, token: str = "", answer: Answer | None = None, **headers: str) -> Answer:
        parts = urlsplit(url)
        sent = headers | ({"authorization": f"Bearer {token}"} if token else {})
        query = tuple(parse_qsl(parts.query))
        call = Call("GET", parts.hostname or "", parts.path, query, {k.replace("_", "-"): v for k, v in sent.items()})
        self.keeper.enter(call.host)
        found = self.keeper.reply(call, lambda: answer or as_json({}))
        self.keeper.leave(call.host)
        assert isinstance(found, Answer)
        return found

    def times(self, count: int, url: str, token: str = "") -> list[int]:
        return [self.ask(url, token).status for _ in range(count)]


def header(answer: Answer, name: str) -> str:
    return {key.lower(): value for key, value in answer.headers}[name]


@pytest.mark.parametrize(
    ("url", "token", "most", "seconds"),
    [
        ("https://api.github.com/repos/o/r", "", 60, 3600),
        ("https://api.github.com/search/repositories?q=x", "", 10, 60),
        ("https://api.github.com/search/repositories?q=x", "t", 30, 60),
        ("https://api.github.com/search/code?q=x", "t", 10, 60),
        ("https://api2.openreview.net/attachment?id=F&name=supplementary_material", "", 36, 3600),
        ("https://huggingface.co/api/models/o/m", "", 500, 300),
        ("https://huggingface.co/api/models/o/m", "t", 1000, 300),
        ("https://huggingface.co/o/m", "", 100, 300),
    ],
)
def test_a_quota_is_spent_by_its_last_request_and_comes_back_with_its_window(
    url: str, token: str, most: int, seconds: int
) -> None:
    service = Service()
    assert service.times(most, url, token) == [200] * most
    assert service.ask(url, token).status in (403, 429)
    service.clock.sleep(seconds - 1)
    assert service.ask(url, token).status in (403, 429)
    service.clock.sleep(3601)  # a lock-out lasts an hour from the request that was too many
    assert service.ask(url, token).status == 200


def test_github_counts_down_in_its_headers_and_says_when_to_come_back() -> None:
    service = Service()
    first = service.ask("https://api.github.com/repos/o/r")
    assert header(first, "x-ratelimit-remaining") == "59"
    service.times(59, "https://api.github.com/repos/o/r")
    refused = service.ask("https://api.github.com/repos/o/r")
    assert (refused.status, header(refused, "x-ratelimit-remaining")) == (403, "0")
    assert b"rate limit exceeded" in whole(refused.content)
    assert int(header(refused, "x-ratelimit-reset")) == int(START.timestamp()) + 3600


def test_tokens_have_budgets_of_their_own() -> None:
    service = Service()
    service.times(60, "https://api.github.com/repos/o/r")
    assert service.ask("https://api.github.com/repos/o/r").status == 403
    assert header(service.ask("https://api.github.com/repos/o/r", "t"), "x-ratelimit-remaining") == "4999"
    assert header(service.ask("https://api.github.com/repos/o/r", "u"), "x-ratelimit-remaining") == "4999"


def test_an_unchanged_answer_costs_a_caller_with_a_token_nothing() -> None:
    service = Service()
    tagged = as_json({}, 200, ("ETag", 'W/"1"'))
    service.ask("https://api.github.com/repos/o/r", "t", tagged)
    again = service.ask("https://api.github.com/repos/o/r", "t", tagged, if_none_match='W/"1"')
    assert header(again, "x-ratelimit-remaining") == "4999"
    other = service.ask("https://api.github.com/repos/o/r", "t", tagged, if_none_match='W/"2"')
    assert header(other, "x-ratelimit-remaining") == "4998"


def test_a_burst_within_the_hour_meets_the_secondary_limit() -> None:
    service = Service()
    assert service.times(900, "https://api.github.com/repos/o/r", "t") == [200] * 900
    refused = service.ask("https://api.github.com/repos/o/r", "t")
    assert (refused.status, header(refused, "retry-after")) == (403, "60")
    assert b"secondary rate limit" in whole(refused.content)


def test_graphql_costs_its_points() -> None:
    service = Service()
    dear = as_json({}, 200, ("X-RateLimit-Used", "4000"))
    service.ask("https://api.github.com/graphql", "t", dear)
    assert header(service.ask("https://api.github.com/graphql", "t", dear), "x-ratelimit-remaining") == "0"
    assert service.ask("https://api.github.com/graphql", "t", dear).status == 403


def test_arxiv_is_asked_every_three_seconds_over_one_connection() -> None:
    service = Service()
    assert service.times(2, "https://arxiv.org/src/2505.10000v1") == [200, 429]
    service.clock.sleep(3)
    assert service.ask("https://export.arxiv.org/api/query?id_list=2505.10000").status == 200
    service.clock.sleep(3)
    service.keeper.enter("arxiv.org")
    assert service.ask("https://arxiv.org/src/2505.10000v1").status == 429
    assert service.keeper.seen[-1].limit == "one connection"


def test_openreview_locks_out_for_an_hour_and_says_until_when() -> None:
    service = Service()
    url = "https://api2.openreview.net/attachment?id=F&name=supplementary_material"
    service.times(36, url)
    service.clock.sleep(3000)
    told = json.loads(whole(service.ask(url).content))
    assert told["details"]["resetTime"] == "2025-12-01T01:50:00.000Z"
    service.clock.sleep(900)
    assert service.ask(url).status == 429  # the quota's own hour is over, the lock-out is not
    service.clock.sleep(2701)
    assert service.ask(url).status == 200


def test_the_log_outlives_the_process_and_names_what_was_broken(tmp_path: Path) -> None:
    service = Service(tmp_path / "log.jsonl")
    service.times(2, "https://arxiv.org/src/2505.10000v1")
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [(line["status"], line["limit"]) for line in lines] == [(200, ""), (429, "one request every three seconds")]
    assert {line["path"] for line in lines} == {"/src/2505.10000v1"}
