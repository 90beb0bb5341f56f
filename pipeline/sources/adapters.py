"""How client libraries reach the recorder: a transport for httpx2, an adapter for requests. Nothing but translation."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import httpx2
import requests
from requests.adapters import BaseAdapter
from requests.structures import CaseInsensitiveDict
from requests.utils import get_encoding_from_headers

if TYPE_CHECKING:
    from pipeline.sources.recorder import Answer, Recorder, SaysGone

_HTTPX_FAULTS: Mapping[str | None, type[httpx2.TransportError]] = {
    "timeout": httpx2.ReadTimeout,
    "reset": httpx2.ReadError,
}
_REQUESTS_FAULTS: Mapping[str | None, type[requests.ConnectionError]] = {
    "tls": requests.exceptions.SSLError,
    "timeout": requests.exceptions.ConnectTimeout,
}


def _message(answer: Answer) -> str:
    return f"{answer.exchange.fault}: {answer.exchange.final_url or answer.exchange.url}"


class RecordedTransport(httpx2.BaseTransport):
    def __init__(self, recorder: Recorder, *, follow: bool) -> None:
        self._recorder = recorder
        self._follow = follow

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        answer = self._recorder.ask(
            request.method,
            str(request.url),
            headers=dict(request.headers.items()),
            body=request.read(),
            follow=self._follow,
            limit=self._recorder.limits.archive_bytes,
        )
        if answer.status is None:
            raise _HTTPX_FAULTS.get(answer.exchange.fault, httpx2.ConnectError)(_message(answer), request=request)
        headers = {name: value for name, value in answer.headers.items() if name != "content-length"}
        if request.method == "HEAD" and "content-length" in answer.headers:
            headers["content-length"] = answer.headers["content-length"]
        content = b"" if request.method == "HEAD" else answer.body
        return httpx2.Response(answer.status, headers=headers, stream=httpx2.ByteStream(content), request=request)


class RecordedAdapter(BaseAdapter):
    def __init__(self, recorder: Recorder, *, follow: bool, says_gone: SaysGone | None = None) -> None:
        super().__init__()
        self._recorder = recorder
        self._follow = follow
        self._says_gone = says_gone

    def send(self, request: requests.PreparedRequest, *_: Any, **__: Any) -> requests.Response:
        body = request.body or b""
        answer = self._recorder.ask(
            request.method or "GET",
            request.url or "",
            headers=dict(request.headers.items()),
            body=body.encode() if isinstance(body, str) else bytes(body),
            follow=self._follow,
            limit=self._recorder.limits.archive_bytes,
            says_gone=self._says_gone,
        )
        if answer.status is None:
            error = _REQUESTS_FAULTS.get(answer.exchange.fault, requests.ConnectionError)
            raise error(_message(answer), request=request)
        response = requests.Response()
        response.status_code = answer.status
        response.headers = CaseInsensitiveDict(answer.headers)
        response.encoding = get_encoding_from_headers(response.headers)
        response.raw = io.BytesIO(answer.body)
        response.url = answer.exchange.final_url
        response.request = request
        return response

    def close(self) -> None:
        pass
