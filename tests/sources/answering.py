"""A host that answers from a list, for tests of the recorder."""

from __future__ import annotations

import httpx2


class Host:
    """Answers from a list, the last one for ever; counts what it was asked."""

    def __init__(self, *answers: httpx2.Response | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[httpx2.Request] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return httpx2.Response(answer.status_code, headers=answer.headers, content=answer.content)


def ok(body: bytes = b"hello", **headers: str) -> httpx2.Response:
    return httpx2.Response(200, headers={"content-type": "text/plain", **headers}, content=body)
