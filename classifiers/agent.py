"""The loop: one agent, ten tools, one typed answer. Rules and language models run the same.

What ends an episode never depends on the model: calls in all and a tool, rounds and repairs are bounded, and once
they are spent
only the answer is left to give. Whatever goes wrong costs this paper, with a recorded reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from pydantic_ai import Agent, ModelRetry, RunContext, ToolOutput
from pydantic_ai.exceptions import ModelAPIError, UnexpectedModelBehavior, UsageLimitExceeded
from pydantic_ai.usage import UsageLimits

from classifiers import linkcheck, prompt
from classifiers.models import Classifier
from classifiers.toolbox import Briefing, Desk, Limits, PaperInput, Probes, tools
from pipeline.answers import Answer, Episode, ExitReason, TargetWord
from pipeline.evidence import Signal
from pipeline.paper import Paper, parse_number

OUTPUT = "answer"


async def run_episode(
    given: PaperInput, probes: Probes, classifier: Classifier, limits: Limits, passes: int = 1
) -> Episode:
    """Classify one paper. Never raises for what paper, probes or model do: the episode says what went wrong."""
    desk = Desk(given=given, probes=probes, limits=limits)
    linked: tuple[str, ...] = ()
    try:
        linked = await asyncio.to_thread(linkcheck.check, desk)
        ended = await _converse(desk, linked, classifier)
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
    )


@dataclass(frozen=True, slots=True)
class Ended:
    reason: ExitReason
    answer: Answer | None
    problem: str = ""


async def _converse(desk: Desk, linked: tuple[str, ...], classifier: Classifier) -> Ended:
    first = tuple(desk.receipts)
    model = classifier.model(Briefing(given=desk.given, linked=first, limits=desk.limits))
    try:
        result = await _agent().run(
            prompt.message(desk, linked),
            model=model,
            deps=desk,
            usage_limits=UsageLimits(request_limit=desk.limits.requests),
            retries={"tools": 3, "output": desk.limits.repairs},
        )
    except UsageLimitExceeded as fault:
        return Ended("request_limit", None, str(fault))
    except ModelAPIError as fault:
        return Ended("model_error", None, str(fault))
    except UnexpectedModelBehavior as fault:
        cause = f": {fault.__cause__}" if fault.__cause__ else ""
        return Ended("output_invalid", None, f"{fault}{cause}")
    forced = desk.spent
    if forced == "tool_limit":
        return Ended("tool_limit", result.output, "answered when no tool call was left")
    if forced == "request_limit":
        return Ended("request_limit", result.output, "answered when no round with tools was left")
    return Ended("natural", result.output)


@cache
def _agent() -> Agent[Desk, Answer]:
    agent = Agent(
        deps_type=Desk,
        output_type=ToolOutput(Answer, name=OUTPUT, description="Give the labels of this paper and end."),
        instructions=prompt.instructions(),
        tools=tools(),
        end_strategy="early",
    )
    agent.output_validator(_validated)
    return agent


def _validated(ctx: RunContext[Desk], answer: Answer) -> Answer:
    """Send an answer back that cannot be right on its face. What its receipts entail is decided later, and not here."""
    found = list(faults(answer, ctx.deps))
    if found:
        raise ModelRetry("Correct this and answer again:\n" + "\n".join(f"- {fault}" for fault in found[:20]))
    return answer


def faults(answer: Answer, desk: Desk) -> Iterator[str]:
    """What paper and receipts deny: quotes and targets the paper does not print, receipts that do not exist."""
    paper = desk.given.paper
    quotes = {"claim_quote": answer.claim_quote, "training_quote": answer.training_quote}
    quotes |= {f"needs.{name}": text for name, text in answer.needs.model_dump().items()}
    quotes |= {f"datasets.{d.name}": d.quote for d in answer.datasets}
    quotes |= {f"compute.{i}": part.quote for i, part in enumerate(answer.compute)}
    if answer.paper_kind == "empirical" and not answer.claim_quote:
        yield "claim_quote is empty"
    for place, quote in quotes.items():
        if quote and paper.find(quote) is None:
            yield f"{place} is not in the paper letter by letter: {quote[:80]!r}"
    known = {r.id for r in desk.receipts}
    for signal in Signal:
        for cited in answer.signals.word(signal).receipts:
            if cited not in known:
                yield f"{signal.value} cites a receipt that this episode does not have: {cited[:80]}"
    for place, target in _targets(answer):
        if fault := target_fault(target, paper):
            yield f"{place}: {fault}"
        elif place == "target" and target.value and target.value in answer.agent_task:
            yield f"agent_task gives the value {target.value} away"


def _targets(answer: Answer) -> Iterator[tuple[str, TargetWord]]:
    if answer.target is not None:
        yield "target", answer.target
    for index, target in enumerate(answer.target_alternatives):
        yield f"target_alternatives.{index}", target


def target_fault(target: TargetWord, paper: Paper) -> str:
    """Why the paper does not print the target where it says, or ""."""
    number = parse_number(target.value)
    if number is None:
        return f"value {target.value!r} is not one number"
    if target.table is None:
        if not target.quote or paper.find(target.quote) is None:
            return "no cell, and the quote is not in the paper"
        shown = "".join(target.quote.split())
        return "" if "".join(target.value.split()) in shown else f"the quote does not print {target.value}"
    if target.row is None or target.column is None:
        return "a table without row and column"
    for table in paper.tables:
        if table.number == target.table and target.row < len(table.grid) and target.column < table.columns:
            cell = table.grid[target.row][target.column]
            if (
                cell is not None
                and cell.value is not None
                and abs(cell.value - number.value) <= 1e-9 * abs(number.value)
            ):
                return ""
    return f"table {target.table} does not print {target.value} in row {target.row}, column {target.column}"
