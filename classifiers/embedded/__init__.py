"""The embedded classifier: the labelling guide as deterministic rules, driving the same loop and tools as any model.

It needs no key and no network of its own. The same paper and the same receipts give the same calls and the same answer.
"""

from __future__ import annotations

from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

from classifiers.embedded.compose import compose
from classifiers.embedded.plan import wanted
from classifiers.embedded.reading import Reading, read_paper
from classifiers.embedded.sights import Sight, View, calls_made, from_messages
from classifiers.places import Call
from classifiers.prompts import EMBEDDED_POLICY
from classifiers.toolbox import Briefing

__all__ = ["POLICY_VERSION", "Reading", "embedded_model", "read_paper"]

POLICY_VERSION = EMBEDDED_POLICY
CALLS_A_ROUND = 12


def embedded_model(briefing: Briefing) -> Model:
    """The other side of one paper's conversation: asks what the plan wants, then answers."""
    given = briefing.given
    reading: list[Reading] = []

    def turn(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if not reading:
            reading.append(read_paper(given.paper))
        seen = [Sight(r.id, r) for r in briefing.linked] + from_messages(messages, given.record)
        view = View.of(briefing, reading[0], seen)
        offered = {tool.name for tool in info.function_tools}
        made = calls_made(messages)
        known = {*made, *(Call.of(r.tool, **dict(r.arguments)).key for r in briefing.linked)}
        calls = [c for c in wanted(view, known) if c.tool in offered][:CALLS_A_ROUND]
        if calls:
            parts = [ToolCallPart(c.tool, dict(c.arguments), f"c{len(made) + i:02d}") for i, c in enumerate(calls)]
        else:
            parts = [
                ToolCallPart(info.output_tools[0].name, compose(view).model_dump(mode="json"), f"c{len(made):02d}")
            ]
        # Usage is declared unmeasured: estimating tokens of a whole paper would take longer than reading it.
        return ModelResponse(parts=parts, usage=RequestUsage(unmeasured_requests=1))

    return FunctionModel(turn, model_name=f"embedded-{POLICY_VERSION}")
