"""Budgets that hold: every bound hit once on purpose, each end by its name; what cannot be paid for is not asked."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classifiers import prices
from classifiers.agent import run_episode
from classifiers.budget import Account, Budget, BudgetError, Purse, Spent, Stopped, accepted, from_environment, worst
from classifiers.models import Classifier
from classifiers.prices import PriceError
from classifiers.toolbox import Limits
from tests.classifiers.fake_openai import Say, serving, tools, turns
from tests.classifiers.readers import SOURCE, Reader, answering, good, rest_slow, searching
from tests.classifiers.toys import FakeProbes, paper_input, places

AHEAD = Limits().prompt_tokens


def limits(rounds: int = 30, **budget: Any) -> Limits:
    return Limits(rounds=rounds, budget=Budget(**budget))


# -------------------------------------------------------------------------------------------------- one paper's bounds


@pytest.mark.parametrize(
    ("bound", "reason"),
    rest_slow(
        (limits(usd=0.030), "money_limit"),
        (limits(tokens=60_000), "token_limit"),
        (limits(rounds=2), "request_limit"),
        (Limits(rounds=30, tool_calls=3), "tool_limit"),
    ),
)
def test_near_a_bound_only_the_answer_is_offered_and_the_episode_says_which_bound(bound: Limits, reason: str) -> None:
    greedy = searching(10_000)

    def script(told: dict[str, Any]) -> Say:
        return replace(greedy(told), usage=(6_000, 400))

    with serving(script) as fake:
        episode = Reader(fake).read(limits=bound)
    assert episode.exit_reason == reason
    assert episode.answer is not None
    assert "was left" in episode.problem
    assert tools(fake.seen[-1]) == ["answer"]
    assert "github_repo" in tools(fake.seen[-2])
    account = episode.account
    assert account["input_tokens"] + account["output_tokens"] <= (bound.budget.tokens or 10**9)
    assert account["micro_usd"] <= (bound.budget.micro_usd or 10**9)


def test_a_paper_out_of_time_is_made_to_answer() -> None:
    with serving(searching(10_000)) as fake:
        reader = Reader(fake)
        inner = fake.script

        def slow(told: dict[str, Any]) -> Say:
            reader.clock.sleep(30)
            return inner(told)  # type: ignore[return-value]

        fake.script = slow
        episode = reader.read(limits=limits(seconds=100))
    assert episode.exit_reason == "time_limit"
    assert episode.answer is not None
    assert fake.asked == 4


@pytest.mark.parametrize(
    ("budget", "reason"),
    [({"tokens": 0}, "token_limit"), ({"usd": 0.0}, "money_limit"), ({"tokens": 9000}, "token_limit")],
)
def test_a_paper_whose_first_turn_its_budget_cannot_bear_is_never_asked_about(
    budget: dict[str, Any], reason: str
) -> None:
    with serving(answering) as fake:
        episode = Reader(fake).read(limits=limits(**budget))
        assert fake.asked == 0
    assert (episode.exit_reason, episode.answer) == (reason, None)
    assert "the next would take up to" in episode.problem


def test_an_answer_whose_correction_cannot_be_paid_for_stands_with_its_defects() -> None:
    lie = Say(calls=[("answer", good() | {"claim_quote": "Gizmo cures everything."})], usage=(12_000, 400))
    with serving(lambda told: lie) as fake:
        episode = Reader(fake).read(limits=limits(tokens=30_000))
        assert fake.asked == 1
    assert episode.exit_reason == "token_limit"
    assert episode.answer is not None
    assert episode.answer.claim_quote == "Gizmo cures everything."


# ------------------------------------------------------------------------------------------------------ a run's bounds


@pytest.mark.parametrize(
    ("budget", "reason"),
    rest_slow(
        (Budget(usd=0.015), "run_money"),
        (Budget(requests=2), "run_requests"),
        (Budget(tool_calls=2), "run_tool_calls"),
        (Budget(tokens=35_000), "run_tokens"),
        (Budget(seconds=60), "run_seconds"),
    ),
)
def test_a_run_that_may_spend_no_more_stops_by_name_and_goes_on_with_more(budget: Budget, reason: str) -> None:
    with serving(searching(5)) as fake:
        reader = Reader(fake)
        inner = fake.script

        def slow(told: dict[str, Any]) -> Say:
            reader.clock.sleep(40)
            return replace(inner(told), usage=(9_000, 100))  # type: ignore[type-var]

        fake.script = slow
        with pytest.raises(Stopped, match="does not bear another turn") as stopped:
            reader.read(reader.classifier(budget=budget))
        assert stopped.value.reason == reason
        before = fake.asked
        assert 1 <= before <= 4
        assert reader.read().exit_reason == "natural"
        assert len(fake.paid) == len(set(fake.paid)) == 6


@pytest.mark.parametrize("name", rest_slow("usd", "requests", "tool_calls", "tokens", "seconds"))
def test_a_budget_of_zero_refuses_before_the_first_request(name: str) -> None:
    with serving(answering) as fake:
        reader = Reader(fake)
        with pytest.raises(Stopped, match=rf"budget is {name}=0; nothing was asked") as stopped:
            reader.read(reader.classifier(budget=Budget(**{name: 0})))
        assert stopped.value.reason == "no_budget"
        assert fake.asked == 0


def test_a_model_without_a_price_is_not_asked_unless_that_is_accepted() -> None:
    with serving(answering) as fake:
        reader = Reader(fake)
        with pytest.raises(Stopped, match="no price is known for openai:home-made") as stopped:
            reader.read(reader.classifier(model="home-made"))
        assert stopped.value.reason == "no_price"
        with pytest.raises(Stopped, match="in dollars"):
            reader.read(reader.classifier(model="home-made", accepted=frozenset({"unpriced"}), budget=Budget(usd=1)))
        assert fake.asked == 0
        episode = reader.read(reader.classifier(model="home-made", accepted=frozenset({"unpriced"})))
    assert (episode.exit_reason, episode.account["micro_usd"]) == ("natural", 0)


def test_ones_own_table_prices_ones_own_model(tmp_path: Path) -> None:
    own = tmp_path / "prices.toml"
    own.write_text(
        'version = 7\n[[provider]]\nname = "me"\n[[provider.model]]\nname = "home-made"\ninput = 1\noutput = 2\n'
    )
    with serving(answering) as fake:
        reader = Reader(fake, environ={"RECLAIM_PRICES": str(own)})
        episode = reader.read(reader.classifier(model="home-made"))
    assert episode.account["micro_usd"] == 1000 + 200


def test_a_backend_that_tells_no_usage_is_asked_once_and_not_a_second_time() -> None:
    mute = searching(3)

    def script(told: dict[str, Any]) -> Say:
        return replace(mute(told), usage=None)

    with serving(script) as fake:
        reader = Reader(fake)
        for _ in range(2):  # again: what was paid for is remembered, and still no second turn
            with pytest.raises(Stopped, match="tells no token usage") as stopped:
                reader.read()
            assert stopped.value.reason == "no_usage"
            assert fake.asked == 1
        episode = reader.read(reader.classifier(accepted=frozenset({"unmeasured"})))
        assert (episode.exit_reason, episode.account["unmeasured_turns"]) == ("natural", 4)


def test_a_backend_that_tells_no_usage_is_paid_for_once_however_many_papers_wait_for_it() -> None:
    async def many(classifier: Classifier) -> list[Any]:
        async def one(number: int) -> Any:
            paper = replace(paper_input(SOURCE), record=f"2501.{number:05d}")
            return await run_episode(paper, FakeProbes(places()), classifier, Limits())

        return await asyncio.gather(*(one(n) for n in range(12)), return_exceptions=True)

    for usage in (None, (0, 0)):
        with serving(lambda told, usage=usage: replace(answering(told), usage=usage, after=0.05)) as fake:  # type: ignore[misc]
            ended = asyncio.run(many(Reader(fake).classifier()))
            assert fake.asked == 1
        stopped = [one for one in ended if isinstance(one, Stopped)]
        assert len(stopped) == 11
        assert {one.reason for one in stopped} == {"no_usage"}


@pytest.mark.slow
def test_turns_in_flight_together_keep_to_the_runs_budget_and_use_it() -> None:
    usd = 0.05

    async def many(reader: Reader) -> list[Any]:
        classifier = reader.classifier(budget=Budget(usd=usd))

        async def one(number: int) -> Any:
            paper = replace(paper_input(SOURCE), record=f"2501.{number:05d}")
            return await run_episode(paper, FakeProbes(places()), classifier, Limits())

        ended = await asyncio.gather(*(one(n) for n in range(40)), return_exceptions=True)
        return [classifier, *ended]

    with serving(lambda told: replace(searching(2)(told), usage=(9_000, 200), after=0.01)) as fake:
        classifier, *ended = asyncio.run(many(Reader(fake)))
    purse = classifier.endpoint.purse
    stopped = [e for e in ended if isinstance(e, Stopped)]
    assert stopped
    assert {e.reason for e in stopped} == {"run_money"}
    assert purse.spent.micro_usd <= usd * 1_000_000
    assert purse.spent.micro_usd > usd * 1_000_000 - 2 * worst(12_000, 8_192, classifier.endpoint.price).micro_usd
    assert purse.reserved == Spent()


# ------------------------------------------------------------------------------------------------------- prices, words

counts = st.integers(0, 10**7)


@given(counts, counts, counts)
def test_a_turn_never_costs_more_than_was_set_aside_for_it(read: int, written: int, hit: int) -> None:
    price = prices.load().of("anthropic", "claude-sonnet-5")
    assert price is not None
    actual = price.micro_usd(read, written, min(hit, read))
    assert 0 <= actual <= worst(read, written, price).micro_usd
    assert actual >= int(Decimal(written) * price.output)


@given(st.lists(st.tuples(counts, counts), max_size=20), counts)
def test_an_account_never_grants_a_turn_that_would_break_its_bound(taken: list[tuple[int, int]], bound: int) -> None:
    account = Account(Budget(tokens=bound))
    for read, written in taken:
        turn = Spent(requests=1, input_tokens=read, output_tokens=written)
        if account.short(turn) is None:
            account.add(turn)
    assert account.spent.tokens <= bound


def test_shipped_prices_are_dated_sourced_and_unambiguous() -> None:
    table = prices.load()
    assert table.version >= 1
    for (provider, model), price in table.known.items():
        assert table.of(provider, model) == price
        assert price.cached <= price.input <= price.output
    assert table.of("openai", "no-such-model") is None


@pytest.mark.parametrize("text", ["usd", "usd=", "usd=-1", "usd=nan", "gold=3", "tokens=1.5", "usd=1;tokens=2"])
def test_a_budget_that_cannot_be_read_says_what_to_write(text: str) -> None:
    with pytest.raises(BudgetError, match="write any of usd=20"):
        Budget.parse(text)


def test_budgets_come_from_the_environment() -> None:
    told = {"RECLAIM_BUDGET": "usd=2.5, tokens=1000", "RECLAIM_ACCEPT": "unpriced"}
    assert from_environment(told) == (Budget(usd=2.5, tokens=1000), frozenset({"unpriced"}))
    assert from_environment({}) == (Budget(), frozenset())
    with pytest.raises(BudgetError, match="'everything' is not one of"):
        accepted("everything")


def test_a_table_of_prices_that_is_none_names_its_file(tmp_path: Path) -> None:
    bad = tmp_path / "p.toml"
    bad.write_text('version = 1\n[[provider]]\nname = "x"\n[[provider.model]]\nname = "m"\ninput = -1\noutput = 2\n')
    with pytest.raises(PriceError, match=r"p\.toml: ValueError: m has a price below zero"):
        prices.load(bad)


def test_the_first_reason_to_stop_stands() -> None:
    purse = Purse()
    first = purse.stop("run_money", "no money")
    assert purse.stop("endpoint_down", "dead") is first
    assert turns({"messages": []}) == 0
