"""Anthropic's messages endpoint on loopback, over the same scripts as the chat-completions one.

A script reads a conversation in the other form, so that one script serves both: it is told the messages as chat
completions would have them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tests.classifiers.fake_openai import Fail, Say, Script, listening


@dataclass
class FakeAnthropic:
    """`seen` holds every request's JSON in order, `keys` the keys sent with them."""

    script: Script
    seen: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    url: str = ""

    @property
    def asked(self) -> int:
        return len(self.seen)

    async def answer(self, request: Request) -> Response:
        told = await request.json()
        self.seen.append(told)
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        self.keys.append(request.headers.get("x-api-key", bearer))
        said = self.script(as_chat(told))
        if isinstance(said, Fail):
            return Response(said.body, said.status, dict(said.headers), media_type="application/json")
        return JSONResponse(message(told, said))


def as_chat(told: Mapping[str, Any]) -> dict[str, Any]:
    """Messages and tools as chat completions name them; a tool's result is a message of its own."""
    messages: list[dict[str, Any]] = []
    for one in told["messages"]:
        blocks = [{"type": "text", "text": one["content"]}] if isinstance(one["content"], str) else one["content"]
        results = [block for block in blocks if block["type"] == "tool_result"]
        messages += [{"role": "tool", "content": _text(block["content"])} for block in results]
        if len(results) < len(blocks):
            messages.append({"role": one["role"], "content": _text(blocks)})
    tools = [
        {"function": {"name": tool["name"], "parameters": tool["input_schema"]}} for tool in told.get("tools") or ()
    ]
    return {"model": told["model"], "messages": messages, "tools": tools}


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)


def message(told: Mapping[str, Any], said: Say) -> dict[str, Any]:
    turn = sum(one["role"] == "assistant" for one in told["messages"])
    blocks: list[dict[str, Any]] = [{"type": "text", "text": said.text}] if said.text else []
    blocks += [
        {
            "type": "tool_use",
            "id": f"toolu_{turn}_{place}",
            "name": name,
            "input": json.loads(given) if isinstance(given, str) else dict(given),
        }
        for place, (name, given) in enumerate(said.calls)
    ]
    read, written = said.usage or (0, 0)
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": told["model"],
        "content": blocks,
        "stop_reason": "tool_use" if said.calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": read, "output_tokens": written},
    }


@contextmanager
def serving(script: Script) -> Iterator[FakeAnthropic]:
    """The server, up for the block."""
    fake = FakeAnthropic(script)
    with listening("/v1/messages", fake.answer) as address:
        fake.url = address
        yield fake
