"""Turns that are never paid twice: a model that looks a turn up in the record before it asks, and keeps what it got.

A turn's key is the hash of what its answer depends on: the model, its settings, the messages, the tools on offer.
Times, run ids and random call ids are no part of it, so a resumed or replayed conversation finds its own turns again.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, ToolCallPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition
from pydantic_core import to_jsonable_python

from classifiers.budget import Spent
from pipeline.evidence import Json, NotRecorded, canonical, digest
from pipeline.record import Record, Turn
from pipeline.store import Blobs


class Turns(Protocol):
    """Where turns lie. Synchronous; called in threads."""

    def get(self, key: str) -> bytes | None: ...
    def put(self, key: str, answer: bytes, model: str, cost: Spent) -> None: ...


@dataclass
class MemoryTurns:
    """Turns of this process alone."""

    kept: dict[str, bytes] = field(default_factory=dict)

    def get(self, key: str) -> bytes | None:
        return self.kept.get(key)

    def put(self, key: str, answer: bytes, model: str, cost: Spent) -> None:
        self.kept.setdefault(key, answer)


@dataclass(frozen=True, slots=True)
class RecordedTurns:
    """Turns in the record, their answers among the blobs. `paper` and `edition`: who paid first. A reader that is held
    against itself has turns of its own in each further `run`.
    """

    record: Record
    blobs: Blobs
    edition: str
    paper: str
    run: int = 1

    def _own(self, key: str) -> str:
        return key if self.run == 1 else digest(["run", self.run, key])

    def get(self, key: str) -> bytes | None:
        turn = self.record.get_turn(self._own(key))
        return None if turn is None else self.blobs.get(turn.response_sha256)

    def put(self, key: str, answer: bytes, model: str, cost: Spent) -> None:
        self.record.put_turn(
            Turn(
                key=self._own(key),
                edition=self.edition,
                paper=self.paper,
                model=model,
                response_sha256=self.blobs.put(answer),
                input_tokens=cost.input_tokens,
                output_tokens=cost.output_tokens,
                cached_tokens=cost.cached_tokens,
                micro_usd=cost.micro_usd,
            )
        )


@dataclass(init=False)
class RememberingModel(WrapperModel):
    """Answers from `turns`; what is not there is asked of `wrapped` and kept before anybody sees it.

    `keys` are those of this conversation's turns, in order. Without `ask`, a turn that is not there is NotRecorded:
    a replay needs no network, and cannot use one.
    """

    def __init__(
        self, wrapped: Model, name: str, turns: Turns, cost: Callable[[ModelResponse], Spent], *, ask: bool = True
    ) -> None:
        super().__init__(wrapped)
        self.name, self.turns, self.cost, self.ask = name, turns, cost, ask
        self.keys: list[str] = []

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        key = turn_key(self.name, model_settings, messages, model_request_parameters)
        kept = await asyncio.to_thread(self.turns.get, key)
        if kept is None:
            if not self.ask:
                raise NotRecorded(f"turn {len(self.keys) + 1} of {self.name} ({key[:16]}) is not in the record")
            # A turn under way is finished and kept even when its episode is given up: it is being paid for.
            paid = asyncio.ensure_future(self._paid(key, messages, model_settings, model_request_parameters))
            kept = await asyncio.shield(paid)
        self.keys.append(key)
        return response_of(kept)

    async def _paid(self, key: str, *asked: Any) -> bytes:
        response = await self.wrapped.request(*asked)
        answer = bytes_of(response)
        await asyncio.to_thread(self.turns.put, key, answer, self.name, self.cost(response))
        return answer


def turn_key(
    name: str, settings: ModelSettings | None, messages: list[ModelMessage], parameters: ModelRequestParameters
) -> str:
    """What an answer depends on, hashed. `name` names model and provider, never an address."""
    offered = (*parameters.function_tools, *parameters.output_tools)
    tools = [[t.name, t.kind, t.description, _schema(t)] for t in offered]
    told = [name, dict(settings or {}), tools, parameters.output_mode, parameters.allow_text_output]
    return digest(["turn", to_jsonable_python(told), list(_said(messages))])


_schemas: dict[int, tuple[dict[str, Any], str]] = {}


def _schema(tool: ToolDefinition) -> str:
    """The hash of a tool's schema; schemas are large, few and shared by all turns, so each is hashed once."""
    schema = tool.parameters_json_schema
    known = _schemas.get(id(schema))
    if known is None or known[0] is not schema:
        if len(_schemas) > 256:
            _schemas.clear()
        known = _schemas[id(schema)] = (schema, digest(schema))
    return known[1]


def _said(messages: Iterable[ModelMessage]) -> Iterator[Json]:
    """What a model reads of a conversation. Calls are named by their place, as their ids may be random."""
    places: dict[str, int] = {}
    instructions = ""
    for message in messages:
        if isinstance(message, ModelResponse):
            places |= {p.tool_call_id: len(places) for p in message.parts if isinstance(p, ToolCallPart)}
        else:
            instructions = message.instructions or instructions
        for part in message.parts:
            content = part.args_as_json_str() if isinstance(part, ToolCallPart) else getattr(part, "content", None)
            yield [
                part.part_kind,
                getattr(part, "tool_name", None),
                places.get(getattr(part, "tool_call_id", "")),
                content if isinstance(content, str) else to_jsonable_python(content, fallback=str),
                getattr(part, "outcome", None),
            ]
    yield ["instructions", instructions]


def bytes_of(response: ModelResponse) -> bytes:
    """An answer as kept: canonical JSON, without what names this run of ours."""
    (told,) = ModelMessagesTypeAdapter.dump_python([response], mode="json")
    return canonical({k: v for k, v in told.items() if k not in ("run_id", "conversation_id")}).encode()


def response_of(kept: bytes) -> ModelResponse:
    (response,) = ModelMessagesTypeAdapter.validate_python([json.loads(kept)])
    assert isinstance(response, ModelResponse)
    return response
