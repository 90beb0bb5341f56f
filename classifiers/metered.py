"""One paper's account with a language model: what its turns took, and when the next one is the last."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from classifiers.budget import Account, PaperLimit, Spent
from classifiers.endpoints import Endpoint
from classifiers.toolbox import Desk
from classifiers.turns import RememberingModel
from pipeline.evidence import Json


@dataclass(init=False)
class MeteredModel(WrapperModel):
    """Counts every turn of one episode, remembered ones too, and refuses the turn that the paper's budget cannot bear.

    When the budget bears one more turn and no second, the desk is told, and that turn is offered no tool.
    """

    def __init__(self, wrapped: RememberingModel, endpoint: Endpoint, desk: Desk, output: str) -> None:
        super().__init__(wrapped)
        self.remembering, self.endpoint, self.desk, self.output = wrapped, endpoint, desk, output
        self.account = Account(desk.limits.budget)
        self.began: datetime | None = None

    @property
    def seconds(self) -> float:
        now = self.endpoint.clock.now()
        self.began = self.began or now
        return (now - self.began).total_seconds()

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        ahead = self.endpoint.ahead(messages, model_request_parameters)
        seconds = self.seconds
        if limit := self.account.short(ahead, seconds):
            spent = self.account.spent
            raise PaperLimit(
                limit,
                f"{spent.tokens} tokens, {spent.micro_usd} micro-dollars and {seconds:.0f} s went into "
                f"{spent.requests} turns; the next would take up to {ahead.tokens} tokens and {ahead.micro_usd} "
                "micro-dollars",
            )
        self.endpoint.purse.measured(self.account.spent)
        response = await super().request(messages, model_settings, model_request_parameters)
        calls = sum(isinstance(p, ToolCallPart) and p.tool_name != self.output for p in response.parts)
        self.desk.asked += calls
        self.endpoint.purse.spent += Spent(tool_calls=calls)
        self.account.add(self.endpoint.cost(response) + Spent(tool_calls=calls))
        # The next turn reads all of this one; two of them must fit, or the next is the last.
        after = Spent(
            input_tokens=ahead.input_tokens + response.usage.output_tokens,
            output_tokens=ahead.output_tokens,
            micro_usd=ahead.micro_usd,
        )
        self.desk.short = self.account.short(after, self.seconds, times=2)
        return response

    def told(self, prompt: str, cut: tuple[str, ...]) -> dict[str, Json]:
        """The account as an episode carries it: nothing in it depends on when or how often it was run."""
        spent = self.account.spent
        return {
            "model": self.endpoint.address.name,
            "prompt": prompt,
            "cut": list(cut),
            "turns": list(self.remembering.keys),
            "requests": spent.requests,
            "tool_calls": spent.tool_calls,
            "input_tokens": spent.input_tokens,
            "output_tokens": spent.output_tokens,
            "cached_tokens": spent.cached_tokens,
            "unmeasured_turns": spent.unmeasured,
            "micro_usd": spent.micro_usd,
        }
