"""Many repositories in one call of GitHub's GraphQL API, before the agents start: each one's part is recorded as the
answer to the call that asks for it alone, so a probe finds it there, and a receipt depends on nothing that was asked
beside it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import requests

from pipeline.sources.clients import github_client
from pipeline.sources.github_lookup import (
    STAND_IN,
    URL,
    Question,
    body_of,
    call_of,
    forbidden,
    headers_of,
    part,
    recalled,
)
from pipeline.sources.github_tokens import Tokens
from pipeline.sources.outcomes import json_of
from pipeline.sources.recorder import Answer, Recorder

BATCH = 25
"""Repositories a call. Their connections are far below the node limit; blobs and trees cost time, not nodes, and a call
ends after ten seconds of work."""
_QUESTIONS = 3 * BATCH
"""Questions a call: papers that name one repository ask for its commit at different dates."""
_GIVE_UP = 6
"""Calls in a row that say nothing of any repository, before the service counts as down."""


@dataclass
class LookedUp:
    """What a look-up came to. `calls`: calls made; `known`: questions that were in the record already; `told` and
    `gone`: answered now; `left`: for the probes to ask by themselves."""

    calls: int = 0
    known: int = 0
    told: int = 0
    gone: int = 0
    left: list[Question] = field(default_factory=list)


def look_up(recorder: Recorder, tokens: Tokens, questions: Sequence[Question]) -> LookedUp:
    """Ask all questions that the record does not answer, in batches.

    What a call did not tell is halved and asked again, so that one repository that GitHub cannot digest costs the
    others nothing; a question that fails by itself is left. So is everything once `_GIVE_UP` calls in a row told
    nothing.
    """
    found = LookedUp()
    if not tokens:
        return found
    client = github_client(recorder, tokens)
    wanted = sorted(set(questions))
    todo = [question for question in wanted if recalled(recorder, question) is None]
    found.known = len(wanted) - len(todo)
    waiting = _batches(todo)
    silent = 0
    while waiting:
        batch = waiting.pop(0)
        rest = _ask_batch(recorder, client, batch, found) if silent < _GIVE_UP else batch
        silent = silent + 1 if rest == batch else 0
        if len(rest) > 1 and silent < _GIVE_UP:
            half = (len(rest) + 1) // 2
            waiting[:0] = [rest[:half], rest[half:]]
        else:
            found.left += rest
    return found


def _batches(questions: Sequence[Question]) -> list[list[Question]]:
    """Questions in order, those about one repository together where they fit."""
    made: list[list[Question]] = []
    for question in questions:
        full = not made or (len({q.repo for q in made[-1]} | {question.repo}) > BATCH or len(made[-1]) >= _QUESTIONS)
        if full:
            made.append([])
        made[-1].append(question)
    return made


def _ask_batch(recorder: Recorder, client: Any, batch: list[Question], found: LookedUp) -> list[Question]:
    """One call, its parts recorded. Returns the questions that it did not answer."""
    found.calls += 1
    requester = client.requester
    with recorder.call() as made:
        try:
            _, headers, _ = requester.requestJson("POST", requester.graphql_url, input=call_of(batch))
        except requests.RequestException:
            return batch
    whole = recorder.answer(made[-1], headers)
    told = json_of(whole) if whole.status == 200 else None
    rest: list[Question] = []
    for n, question in enumerate(batch):
        mine = part(told, f"r{n}")
        if mine is None:
            (found.left if forbidden(told, f"r{n}") else rest).append(question)
            continue
        if mine["data"]["r0"] is None:
            found.gone += 1
        else:
            found.told += 1
        _keep(recorder, whole, question, mine)
    return rest


def _keep(recorder: Recorder, whole: Answer, question: Question, mine: dict[str, Any]) -> None:
    """Record a part as it would have come alone: where an error points to is a place in the query."""
    query = call_of([question])["query"]
    for error in mine.get("errors", ()):
        if "locations" in error:
            error["locations"] = [{"line": 1, "column": query.index(" r0: ") + 2}]
    told = json.dumps(mine, ensure_ascii=False, separators=(",", ":")).encode()
    recorder.keep_part(whole, told, "POST", URL, headers=headers_of(STAND_IN), body=body_of(question))
