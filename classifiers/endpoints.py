"""Models behind an endpoint: clients without retries of their own, one patience over them, the run's purse in front.

An endpoint that stays dead pauses the run; no other model ever takes its place. Keys come from the environment alone,
and a key meant for a provider is never sent to an address that somebody typed.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelNotFoundError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    UnexpectedModelBehavior,
)
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from classifiers.budget import Purse, Spent, Stopped, worst
from classifiers.prices import Price
from pipeline.editions import EditionError, LanguageModel
from pipeline.sources.clocks import Clock

ATTEMPTS = 6
FIRST_WAIT, LONGEST_WAIT, LONGEST_ASKED = 2.0, 60.0, 600.0
"""Seconds: after the first failure, doubled up to the second; a service that asks for more than the third is down."""
TIMEOUT = 1_800.0
"""Seconds for one turn: a long prompt on a busy machine answers late."""
PUBLIC = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}
KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
OWN_KEY = "RECLAIM_MODEL_KEY"


class NoSuchModel(EditionError):
    """A classifier that is not here: the message says what it would take."""


@dataclass(frozen=True, slots=True)
class Address:
    """`provider:model@base_url` as given; `base_url` is the provider's own where none was."""

    provider: str
    model: str
    base_url: str

    @property
    def name(self) -> str:
        """What rows and turns carry: never where it was asked."""
        return f"{self.provider}:{self.model}"

    @classmethod
    def parse(cls, text: str) -> Address:
        """Raises NoSuchModel for what names no endpoint."""
        provider, _, rest = text.partition(":")
        model, at, base_url = rest.partition("@http")
        if provider not in PUBLIC or not model:
            raise NoSuchModel(
                f"no classifier {text!r}; known: embedded, openai:MODEL[@BASE_URL] (anything that speaks chat "
                "completions with tools), anthropic:MODEL"
            )
        url = f"http{base_url}" if at else PUBLIC[provider]
        parts = urlsplit(url)
        if not parts.hostname or parts.username or parts.password:
            raise NoSuchModel(
                f"{provider}:{model}: {parts.scheme}://… is no base URL, or holds a password; see {OWN_KEY}"
            )
        return cls(provider, model, url.rstrip("/"))

    def key(self, environ: Mapping[str, str]) -> str:
        """The key to send. Raises NoSuchModel where a provider's own address needs one and there is none."""
        own = self.base_url == PUBLIC[self.provider]
        named = KEYS[self.provider] if own else OWN_KEY
        found = environ.get(named, "")
        if own and not found:
            raise NoSuchModel(f"{self.name} needs a key in the environment variable {named}")
        return found or "none"


@dataclass
class Endpoint:
    """One address, shared by all papers of a run. `answered` counts its good answers: what tells a dead endpoint from
    a question it cannot bear. Without `ask`, nobody is: only the model's own form of messages is needed then.
    """

    address: Address
    told: LanguageModel
    price: Price | None
    purse: Purse
    clock: Clock
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    ask: bool = True
    answered: int = 0
    _models: dict[Any, Model] = field(default_factory=dict)

    def open(self) -> None:
        """Refuse to begin what cannot be asked or paid for. Raises NoSuchModel or Stopped."""
        self.address.key(self.environ)
        if find_spec(self.address.provider) is None:
            raise NoSuchModel(f"{self.address.name} needs the extra 'llm' (uv sync --extra llm)")
        self.purse.open(self.address.name, self.price)

    def model(self) -> Model:
        """The patient model of the running event loop: connections belong to the loop that opened them."""
        loop = asyncio.get_running_loop()
        if loop not in self._models:
            self._models = {loop: PatientModel(self._client(), self)}
        return self._models[loop]

    def settings(self) -> ModelSettings:
        """What is asked of the model beside the words; part of every turn's key."""
        told = self.told
        given = {"temperature": told.temperature, "top_p": told.top_p, "seed": told.seed}
        found: dict[str, Any] = {"max_tokens": told.max_output_tokens}
        found |= {name: value for name, value in given.items() if value is not None}
        if self.address.provider == "anthropic":
            found |= {"anthropic_cache_instructions": True, "anthropic_cache_messages": True}
        return ModelSettings(**found)  # type: ignore[typeddict-item]

    def cost(self, response: ModelResponse) -> Spent:
        """What an answer took, by the table's price."""
        usage, price = response.usage, self.price
        read, written = usage.input_tokens, usage.output_tokens
        hits, stored = usage.cache_read_tokens, usage.cache_write_tokens
        return Spent(
            requests=1,
            input_tokens=read,
            output_tokens=written,
            cached_tokens=hits,
            micro_usd=0 if price is None else price.micro_usd(read, written, hits, stored),
            unmeasured=0 if read or written else 1,
        )

    def ahead(self, messages: list[ModelMessage], parameters: ModelRequestParameters) -> Spent:
        """What the next turn costs at most."""
        return worst(input_estimate(messages, parameters), self.told.max_output_tokens, self.price)

    def plain(self, fault: BaseException) -> str:
        """A fault in words that hold no key, whatever the service echoed."""
        return self.plain_text(f"{type(fault).__name__}: {fault}")[:400]

    def plain_text(self, text: str) -> str:
        for name in (*KEYS.values(), OWN_KEY):
            if secret := self.environ.get(name):
                text = text.replace(secret, "***")
        return text

    def _client(self) -> Model:
        import httpx2

        key = self.address.key(self.environ) if self.ask else "none"
        try:
            if self.address.provider == "anthropic":
                from anthropic import AsyncAnthropic
                from pydantic_ai.models.anthropic import AnthropicModel
                from pydantic_ai.providers.anthropic import AnthropicProvider

                client = AsyncAnthropic(api_key=key, base_url=self.address.base_url, max_retries=0, timeout=TIMEOUT)
                return AnthropicModel(self.address.model, provider=AnthropicProvider(anthropic_client=client))
            from openai import AsyncOpenAI
            from pydantic_ai.models.openai import OpenAIChatModel
            from pydantic_ai.profiles.openai import OpenAIModelProfile
            from pydantic_ai.providers.openai import OpenAIProvider
        except ImportError as missing:
            raise NoSuchModel(f"{self.address.name} needs the extra 'llm' (uv sync --extra llm): {missing}") from None
        profile = OpenAIModelProfile(openai_supports_strict_tool_definition=False)
        if self.told.tool_choice == "free":
            profile["supports_forced_tool_choice"] = False
        way = self.told.reasoning
        if way != "auto":
            profile["openai_chat_send_back_thinking_parts"] = False if way == "none" else way
        if way == "field":
            profile["openai_chat_thinking_field"] = self.told.reasoning_field
        http = httpx2.AsyncClient(timeout=TIMEOUT, limits=httpx2.Limits(max_connections=512))
        open_ai = AsyncOpenAI(api_key=key, base_url=self.address.base_url, max_retries=0, http_client=http)
        return OpenAIChatModel(self.address.model, provider=OpenAIProvider(openai_client=open_ai), profile=profile)


@dataclass(init=False)
class PatientModel(WrapperModel):
    """Asks until the endpoint answers, waits on the injected clock, and pays for every attempt from the purse.

    Until one answer has come, one turn is under way and no more: a backend that tells no usage is paid for once.
    """

    def __init__(self, wrapped: Model, endpoint: Endpoint) -> None:
        super().__init__(wrapped)
        self.endpoint = endpoint
        self.first, self.known = asyncio.Lock(), False

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        asked = (messages, model_settings, model_request_parameters)
        if self.known:
            return await self._patiently(*asked)
        async with self.first:
            if not self.known:
                response = await self._patiently(*asked)
                self.known = True
                return response
        return await self._patiently(*asked)

    async def _patiently(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        one = self.endpoint
        one.purse.open(one.address.name, one.price)
        ahead, before = one.ahead(messages, model_request_parameters), one.answered
        for attempt in range(1, ATTEMPTS + 1):
            await one.purse.reserve(ahead, one.purse.seconds(one.clock.now()))
            taken = Spent(requests=1)
            try:
                response = await self.wrapped.request(messages, model_settings, model_request_parameters)
                taken = one.cost(response)
                one.answered += 1
                with suppress(Stopped):  # the turn is paid for and kept; the run's next one is not asked
                    one.purse.measured(one.address.name, taken)
                return response
            except (ModelAuthenticationError, ModelNotFoundError, ModelQuotaExceededError) as fault:
                raise one.purse.stop("endpoint_refused", _refused(one, fault)) from None
            except ModelRequestRejectedError:
                raise  # this question is at fault, not the endpoint
            except (ModelAPIError, UnexpectedModelBehavior) as fault:
                wait = _wait(attempt, fault)
                if attempt == ATTEMPTS or wait > LONGEST_ASKED:
                    if one.answered > before and not isinstance(fault, ModelConnectionError | ModelRateLimitError):
                        raise  # others are answered meanwhile: it is this question that it cannot bear
                    raise one.purse.stop("endpoint_down", _down(one, fault, attempt)) from None
            finally:
                one.purse.settle(ahead, taken)
            await asyncio.to_thread(one.clock.sleep, wait)
        raise AssertionError("unreachable")


def _wait(attempt: int, fault: Exception) -> float:
    asked = getattr(fault, "retry_after", None) or 0.0
    return max(min(FIRST_WAIT * 2 ** (attempt - 1), LONGEST_WAIT), asked)


def _down(one: Endpoint, fault: Exception, attempts: int) -> str:
    return (
        f"{one.address.name} gave no answer after {attempts} attempts ({one.plain(fault)}); the run pauses, and "
        "goes on with the same command once the endpoint answers"
    )


def _refused(one: Endpoint, fault: Exception) -> str:
    return (
        f"{one.address.name} refuses to be asked ({one.plain(fault)}); check its name, key and account; the same "
        "command goes on from here"
    )


def input_estimate(messages: list[ModelMessage], parameters: ModelRequestParameters) -> int:
    """Tokens that the next turn reads, at most as a rule: what the last turn was told to have taken, and a token for
    every three characters that no turn has measured yet.
    """
    measured, fresh = 0, 0
    for message in reversed(messages):
        if isinstance(message, ModelResponse):
            if message.usage.input_tokens:
                measured = message.usage.input_tokens + message.usage.output_tokens
                break
            fresh += sum(len(str(getattr(part, "content", ""))) for part in message.parts)
        else:
            fresh += sum(len(str(getattr(part, "content", ""))) for part in message.parts)
    if not measured:
        last = messages[-1]
        fresh += len(getattr(last, "instructions", None) or "")
        fresh += sum(
            len(str(t.parameters_json_schema)) + len(t.description or "")
            for t in (*parameters.function_tools, *parameters.output_tools)
        )
    return measured + fresh // 3 + 1
