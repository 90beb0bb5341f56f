"""The loop: one agent, ten tools, one typed answer. Rules and language models run the same.

What ends an episode never depends on the model: calls in all and a tool, rounds, tokens, seconds, money and repairs are
bounded, and once a bound is near only the answer is left to give. Whatever a paper, a probe or a model does costs this
paper, with a recorded reason; an endpoint that is dead or a run that may spend no more (`Stopped`) is no paper's fault.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from pydantic_ai import Agent, ModelRetry, RunContext, ToolOutput
from pydantic_ai.exceptions import ModelAPIError, UnexpectedModelBehavior, UsageLimitExceeded
from pydantic_ai.models import Model
from pydantic_ai.usage import UsageLimits

from classifiers import linkcheck, prompt
from classifiers.budget import PaperLimit, Stopped
from classifiers.metered import MeteredModel
from classifiers.models import Classifier
from classifiers.toolbox import Briefing, Desk, Limits, PaperInput, Probes, tools
from classifiers.turns import RememberingModel
from pipeline.answers import Answer, Episode, ExitReason
from pipeline.database import INFRASTRUCTURE
from pipeline.defects import defects
from pipeline.evidence import Json, NotRecorded, Signal

OUTPUT = "answer"
SENT_BACK = 20
"""Defects named to a model at once."""


async def run_episode(
    given: PaperInput, probes: Probes, classifier: Classifier, limits: Limits, passes: int = 1
) -> Episode:
    """Classify one paper. The episode says what paper, probes or model did wrong; raises Stopped where the run must
    end, what fails beneath all papers, and NotRecorded in a replay that lacks a turn.
    """
    desk = Desk(given=given, probes=probes, limits=limits)
    linked: tuple[str, ...] = ()
    try:
        linked = await asyncio.to_thread(linkcheck.check, desk)
        ended = await _converse(desk, linked, classifier)
    except (Stopped, NotRecorded, *INFRASTRUCTURE):
        raise
    except Exception as fault:
        ended = Ended("crashed", None, f"{type(fault).__name__}: {fault}")
    notes = [ended.problem] if ended.problem else []
    if ended.answer is not None:
        notes += linkcheck.flags(ended.answer, given.paper, desk.receipts)
    return Episode(
        paper=given.record,
        bundle=given.bundle,
        classifier=classifier.id,
        exit_reason=ended.reason,
        answer=ended.answer,
        receipts=tuple(desk.receipts),
        linked=linked,
        passes=passes,
        problem="; ".join(notes)[:1000],
        account=ended.account,
    )


@dataclass(frozen=True, slots=True)
class Ended:
    reason: ExitReason
    answer: Answer | None
    problem: str = ""
    account: Mapping[str, Json] = field(default_factory=dict)


async def _converse(desk: Desk, linked: tuple[str, ...], classifier: Classifier) -> Ended:
    if classifier.endpoint is None:
        assert classifier.model is not None
        briefing = Briefing(given=desk.given, linked=tuple(desk.receipts), limits=desk.limits)
        # Rules have the paper itself; they are told its name alone.
        return await _ended(desk, classifier.model(briefing), desk.given.record)
    asked = classifier.endpoint
    message = (
        prompt.message(desk, linked, desk.limits.prompt_tokens)
        if classifier.style == "ours"
        else prompt.published(desk)
    )
    turns = classifier.turns(desk.given.record)
    model = RememberingModel(asked.model(), asked.address.name, turns, asked.cost, ask=asked.ask)
    metered = MeteredModel(model, asked, desk, OUTPUT, classifier.late(desk.given.record))
    ended = await _ended(desk, metered, message.text, classifier.web_search is not None)
    account = metered.told(classifier.id.partition("+")[2], message.cut)
    return Ended(ended.reason, ended.answer, asked.plain_text(ended.problem), account)


async def _ended(desk: Desk, model: Model, message: str, searches_web: bool = False) -> Ended:
    """The conversation, and how it ended. An answer that was sent back stands where its correction cannot be had."""
    asked = model.endpoint.settings() if isinstance(model, MeteredModel) else None
    try:
        result = await _agent(searches_web).run(
            message,
            model=model,
            deps=desk,
            model_settings=asked,
            usage_limits=UsageLimits(request_limit=desk.limits.requests),
            retries={"tools": 3, "output": desk.limits.repairs},
        )
    except UsageLimitExceeded as fault:
        return Ended("request_limit", desk.returned, str(fault))
    except PaperLimit as fault:
        return Ended(fault.limit, desk.returned, str(fault))
    except ModelAPIError as fault:
        return Ended("model_error", desk.returned, str(fault))
    except UnexpectedModelBehavior as fault:
        cause = f": {fault.__cause__}" if fault.__cause__ else ""
        return Ended("output_invalid", desk.returned, f"{fault}{cause}")
    if forced := desk.spent:
        left = "round" if forced == "request_limit" else "call" if forced == "tool_limit" else "budget"
        return Ended(forced, result.output, f"answered when no {left} for tools was left")
    return Ended("natural", result.output)


@cache
def _agent(searches_web: bool) -> Agent[Desk, Answer]:
    agent = Agent(
        deps_type=Desk,
        output_type=ToolOutput(Answer, name=OUTPUT, description="Give the labels of this paper and end."),
        instructions=prompt.instructions(searches_web=searches_web),
        tools=tools(searches_web=searches_web),
        end_strategy="early",
    )
    agent.output_validator(_validated)
    return agent


def _validated(ctx: RunContext[Desk], answer: Answer) -> Answer:
    """Send an answer back once that cannot be right on its face; the next one stands, with what is still wrong in it.

    What its receipts entail is decided later, and not here.
    """
    desk = ctx.deps
    answer = whole_ids(answer, [r.id for r in desk.receipts])
    found = defects(answer, desk.given.paper, desk.receipts)
    if found and desk.returned is None:
        desk.returned = answer
        told = "\n".join(f"- {defect}" for defect in found[:SENT_BACK])
        raise ModelRetry(f"Correct this and answer again; your next answer stands as it is:\n{told}")
    return answer


def whole_ids(answer: Answer, known: list[str]) -> Answer:
    """Receipts cited as a model was shown them, by the beginnings of their ids, cited whole."""

    def whole(cited: str) -> str:
        found = {i for i in known if len(cited) >= prompt.SHORT_ID and i.startswith(cited)}
        return found.pop() if len(found) == 1 else cited

    words = {s.value: answer.signals.word(s) for s in Signal}
    changed = {n: w.model_copy(update={"receipts": [whole(i) for i in w.receipts]}) for n, w in words.items()}
    return answer.model_copy(update={"signals": answer.signals.model_copy(update=changed)})
