"""A chat-completions server on loopback whose model is a function of the conversation.

A script gets the request's JSON and returns what to answer: `Say` (a message), or a fault. It never remembers: what it
needs to know, it reads from the messages, as a model does.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route


@dataclass(frozen=True)
class Say:
    """One assistant message. `calls` are (tool, arguments); arguments given as text go out as they are."""

    calls: Sequence[tuple[str, Mapping[str, Any] | str]] = ()
    text: str | None = None
    reasoning: str | None = None
    usage: tuple[int, int] | None = (1000, 100)
    after: float = 0.0


@dataclass(frozen=True)
class Fail:
    """An HTTP fault; `body` goes out as it is."""

    status: int
    body: str = '{"error": {"message": "no"}}'
    headers: Mapping[str, str] = field(default_factory=dict)


Script = Callable[[dict[str, Any]], Say | Fail]


@dataclass
class FakeOpenAI:
    """`seen` holds every request in order; `paid` the conversations that were answered, by what was asked."""

    script: Script
    seen: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    paid: list[str] = field(default_factory=list)
    url: str = ""

    @property
    def asked(self) -> int:
        return len(self.seen)

    async def answer(self, request: Request) -> Response:
        told = await request.json()
        self.seen.append(told)
        self.keys.append(request.headers.get("authorization", ""))
        said = self.script(told)
        if isinstance(said, Fail):
            return Response(said.body, said.status, dict(said.headers), media_type="application/json")
        if said.after:
            await asyncio.sleep(said.after)
        self.paid.append(json.dumps([told["messages"], told.get("tools")], sort_keys=True))
        return JSONResponse(completion(told, said))


def completion(told: Mapping[str, Any], said: Say) -> dict[str, Any]:
    turn = sum(m["role"] == "assistant" for m in told["messages"])
    calls = [
        {
            "id": f"call_{turn}_{i}",
            "type": "function",
            "function": {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)},
        }
        for i, (name, given) in enumerate(said.calls)
    ]
    message: dict[str, Any] = {"role": "assistant", "content": said.text}
    message |= {"tool_calls": calls} if calls else {}
    message |= {"reasoning_content": said.reasoning} if said.reasoning else {}
    made: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_760_000_000,
        "model": told["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}],
    }
    if said.usage is not None:
        read, written = said.usage
        made["usage"] = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
    return made


@contextmanager
def listening(path: str, answer: Callable[[Request], Any]) -> Iterator[str]:
    """A server on loopback that answers POSTs to one path, up for the block; its address."""
    app = Starlette(routes=[Route(path, answer, methods=["POST"])])
    bound = socket.socket()
    bound.bind(("127.0.0.1", 0))
    bound.listen(256)
    server = uvicorn.Server(
        uvicorn.Config(app, log_config=None, log_level="critical", lifespan="off", access_log=False)
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
        bound.close()


@contextmanager
def serving(script: Script) -> Iterator[FakeOpenAI]:
    """The server, up for the block."""
    fake = FakeOpenAI(script)
    with listening("/v1/chat/completions", fake.answer) as address:
        fake.url = f"{address}/v1"
        yield fake


# ------------------------------------------------------------------------------------------- reading a conversation


def turns(told: Mapping[str, Any]) -> int:
    """How often the model has spoken already."""
    return sum(m["role"] == "assistant" for m in told["messages"])


def tools(told: Mapping[str, Any]) -> list[str]:
    """Tools on offer, the answer's included."""
    return [t["function"]["name"] for t in told.get("tools") or ()]


def results(told: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What the tools gave back, in order, as far as it is JSON."""
    found = []
    for message in told["messages"]:
        if message["role"] == "tool":
            try:
                found.append(json.loads(message["content"]))
            except ValueError:
                continue
    return found


def last(told: Mapping[str, Any]) -> str:
    return str(told["messages"][-1].get("content"))
