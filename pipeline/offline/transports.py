"""Transports that lead any URL to a world on loopback, while requests, responses and redirects keep the real one."""

import socket
import ssl
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx2
import requests
from requests.adapters import HTTPAdapter

from pipeline.offline.server import PREFIX, OfflineWorld
from pipeline.offline.wire import FAULT_HEADER

_CAUSES: dict[str, OSError] = {
    "nxdomain": socket.gaierror(socket.EAI_NONAME, "Name or service not known"),
    "refused": ConnectionRefusedError(111, "Connection refused"),
    "timeout": TimeoutError("timed out"),
    "tls": ssl.SSLCertVerificationError(1, "certificate verify failed"),
    "reset": ConnectionResetError(104, "Connection reset by peer"),
    "unreachable": OSError(101, "Network is unreachable"),
}
"""What a real client finds at the root of each fault: exceptions here are chained to the same classes."""


class WorldTransport(httpx2.BaseTransport):
    """For `httpx2.Client(transport=…)`."""

    def __init__(self, world: OfflineWorld) -> None:
        self._world = world
        self._inner = httpx2.HTTPTransport()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        response = self._inner.handle_request(_mapped(self._world.base, request))
        if fault := response.headers.get(FAULT_HEADER):
            response.read()
            response.close()
            raise _httpx2_error(fault, request) from _cause(fault)
        return response

    def close(self) -> None:
        self._inner.close()


class AsyncWorldTransport(httpx2.AsyncBaseTransport):
    """For `httpx2.AsyncClient(transport=…)`."""

    def __init__(self, world: OfflineWorld) -> None:
        self._world = world
        self._inner = httpx2.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._inner.handle_async_request(_mapped(self._world.base, request))
        if fault := response.headers.get(FAULT_HEADER):
            await response.aread()
            await response.aclose()
            raise _httpx2_error(fault, request) from _cause(fault)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class WorldAdapter(HTTPAdapter):
    """For `session.mount("https://", …)`; never retries, whatever the session's own adapter did."""

    def __init__(self, world: OfflineWorld) -> None:
        super().__init__(max_retries=0)
        self._world = world

    def send(
        self,
        request: requests.PreparedRequest,
        stream: bool = False,
        timeout: Any = None,
        verify: Any = True,
        cert: Any = None,
        proxies: Mapping[str, str] | None = None,
    ) -> requests.Response:
        mapped = request.copy()
        mapped.url = _address(self._world.base, str(request.url))
        response = super().send(mapped, stream, timeout, False, None, {})
        if fault := response.headers.get(FAULT_HEADER):
            response.close()
            raise _requests_error(fault, request) from _cause(fault)
        response.url, response.request = str(request.url), request
        return response


def _address(base: str, url: str) -> str:
    """Where on loopback a real URL is served. Default ports are dropped, since clients differ in naming them."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.port not in {None, 80, 443}:
        host = f"{host}:{parts.port}"
    return f"{base}{PREFIX}{host}{parts.path or '/'}" + (f"?{parts.query}" if parts.query else "")


def _mapped(base: str, request: httpx2.Request) -> httpx2.Request:
    return httpx2.Request(
        request.method,
        _address(base, str(request.url)),
        headers=request.headers,
        stream=request.stream,
        extensions=request.extensions,
    )


def _cause(fault: str) -> OSError:
    known = _CAUSES[fault]
    return type(known)(*known.args)


def _httpx2_error(fault: str, request: httpx2.Request) -> httpx2.TransportError:
    kinds: dict[str, type[httpx2.TransportError]] = {"timeout": httpx2.ConnectTimeout, "reset": httpx2.ReadError}
    return kinds.get(fault, httpx2.ConnectError)(f"{fault}: {request.url.host}", request=request)


def _requests_error(fault: str, request: requests.PreparedRequest) -> requests.RequestException:
    kinds: dict[str, type[requests.RequestException]] = {
        "timeout": requests.exceptions.ConnectTimeout,
        "tls": requests.exceptions.SSLError,
    }
    host = urlsplit(str(request.url)).hostname
    return kinds.get(fault, requests.exceptions.ConnectionError)(f"{fault}: {host}", request=request)
