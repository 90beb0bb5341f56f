"""One paper's account with a language model: what its turns took, and when the next one is the last."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from classifiers.budget import LAST_CALL, Account, PaperLimit, Spent
from classifiers.endpoints import Endpoint
from classifiers.toolbox import Desk
from classifiers.turns import RememberingModel
from pipeline.evidence import Json


@dataclass(init=False)
class MeteredModel(WrapperModel):
    """Counts every turn of one episode, remembered ones too, and refuses the turn that the paper's budget cannot bear.

    When the budget bears one more turn and no second, the desk is told, and that turn is offered no tool. `late` says
    after how many turns the clock left one turn (`last_call`) or none (`over`): a replay is given it and asks no clock.
    """

    def __init__(
        self,
        wrapped: RememberingModel,
        endpoint: Endpoint,
        desk: Desk,
        output: str,
        late: Mapping[str, int] | None = None,
    ) -> None:
        super().__init__(wrapped)
        self.remembering, self.endpoint, self.desk, self.output = wrapped, endpoint, desk, output
        self.account = Account(desk.limits.budget)
        self.began: datetime | None = None
        self.replayed, self.late = late is not None, dict(late or {})

    def _late(self, which: str, share: float) -> bool:
        bound, taken = self.desk.limits.budget.seconds, self.account.spent.requests
        if bound is not None and not self.replayed and which not in self.late:
            now = self.endpoint.clock.now()
            self.began = self.began or now
            if (now - self.began).total_seconds() > share * bound:
                self.late[which] = taken
        return taken >= self.late.get(which, taken + 1)

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        ahead = self.endpoint.ahead(messages, model_request_parameters)
        if limit := self.account.short(ahead, late=self._late("over", 1.0)):
            spent = self.account.spent
            raise PaperLimit(
                limit,
                f"{spent.tokens} tokens and {spent.micro_usd} micro-dollars went into {spent.requests} turns; the next "
                f"would take up to {ahead.tokens} tokens and {ahead.micro_usd} micro-dollars",
            )
        self.endpoint.purse.measured(self.endpoint.address.name, self.account.spent)
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
        self.desk.short = self.account.short(after, late=self._late("last_call", LAST_CALL), times=2)
        return response

    def told(self, prompt: str, cut: tuple[str, ...]) -> dict[str, Json]:
        """The account as an episode carries it: nothing in it depends on when or how often it was run, but for `late`
        where time ran out.
        """
        spent = self.account.spent
        late: dict[str, Json] = {"late": dict(self.late)} if self.late else {}
        return late | {
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
