"""The world as one ASGI app on loopback, and the resource that starts it.

Every request arrives as `/_site/{host}/{path}`; the transports in `transports.py` map real URLs to that form, so
bodies, `Link` and `Location` hold real URLs and their hashes do not know the port.
"""

import os
import re
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import parse_qsl, unquote

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from pipeline.offline import arxiv, github, github_objects, github_web, hub, openreview, sites
from pipeline.offline.content import NotRecordedError, chunks
from pipeline.offline.limits import Keeper
from pipeline.offline.values import World
from pipeline.offline.wire import FAULT_HEADER, UNREACHABLE, Answer, Call, Failures, Fault
from pipeline.offline.world import load_world

PREFIX = "/_site/"
_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
_RANGE = re.compile(r"bytes=(\d*)-(\d*)")
_START_LIMIT = 30.0

Service = Callable[[World, Call, Failures], Answer | Fault]
_SERVICES: dict[str, Service] = {
    github_objects.HOST: github.answer,
    **dict.fromkeys(github_web.HOSTS, github_web.answer),
    **dict.fromkeys(hub.HOSTS, hub.answer),
    **dict.fromkeys(arxiv.HOSTS, arxiv.answer),
    **dict.fromkeys(openreview.HOSTS, openreview.answer),
}


def reply(world: World, call: Call, failures: Failures) -> Answer | Fault:
    """What `call` gets in this world: an explicit route of a site, else the service that has the host, else a fault."""
    service = _SERVICES.get(call.host)
    chosen = service if service is not None and sites.route_of(world, call) is None else sites.answer
    try:
        found = chosen(world, call, failures)
        if isinstance(found, Answer):
            found.content.read(0, 1)
    except NotRecordedError:
        return UNREACHABLE
    return found


def app(world: World, keeper: Keeper | None = None) -> Starlette:
    """The ASGI app that serves `world`; with a keeper, within the limits that the real services state."""
    failures = Failures()

    async def endpoint(request: Request) -> Response:
        call = await _call(request)
        if keeper is None:
            found = reply(world, call, failures)
        else:
            found = keeper.reply(call, lambda: reply(world, call, failures))
        if isinstance(found, Fault):
            return Response(status_code=502, headers={FAULT_HEADER: found.kind})
        return _response(request, call, found)

    watched = [] if keeper is None else [Middleware(_UnderWay, keeper=keeper)]
    return Starlette(routes=[Route(PREFIX + "{rest:path}", endpoint, methods=_METHODS)], middleware=watched)


class _UnderWay:
    """Tells the keeper when a request begins and when its last byte is sent."""

    def __init__(self, app: ASGIApp, keeper: Keeper) -> None:
        self._app = app
        self._keeper = keeper

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        host = str(scope.get("path", "")).removeprefix(PREFIX).partition("/")[0].lower()
        self._keeper.enter(host)
        try:
            await self._app(scope, receive, send)
        finally:
            self._keeper.leave(host)


async def _call(request: Request) -> Call:
    raw = bytes(request.scope.get("raw_path") or request.scope["path"].encode()).decode("ascii", "replace")
    host, _, path = raw.removeprefix(PREFIX).partition("/")
    query = request.scope["query_string"].decode("ascii", "replace")
    return Call(
        method=request.method,
        host=unquote(host).lower(),
        path="/" + unquote(path),
        query=tuple(parse_qsl(query, keep_blank_values=True)),
        headers={name.lower(): value for name, value in request.headers.items()},
        body=await request.body(),
    )


def _response(request: Request, call: Call, found: Answer) -> Response:
    size = found.content.size
    start, stop, status = 0, size, found.status
    headers = list(found.headers)
    tag = next((value for name, value in headers if name.lower() == "etag"), None)
    if tag is not None and status == 200 and call.headers.get("if-none-match") == tag:
        return _plain(304, [(name, value) for name, value in headers if name.lower() != "content-type"])
    if found.ranges and status == 200:
        headers.append(("Accept-Ranges", "bytes"))
        asked = _RANGE.fullmatch(call.headers.get("range", ""))
        if asked is not None and (asked[1] or asked[2]):
            start, stop = _span(asked[1], asked[2], size)
            if start >= stop:
                return _plain(416, [("Content-Range", f"bytes */{size}")])
            status = 206
            headers.append(("Content-Range", f"bytes {start}-{stop - 1}/{size}"))
    headers.append(("Content-Length", str(stop - start)))
    if call.method == "HEAD" or stop == start:
        return _plain(status, headers)

    async def stream() -> AsyncIterator[bytes]:
        for chunk in chunks(found.content, start, stop):
            # Who only wanted the first bytes of something huge has hung up; without this the rest is made all the same.
            if await request.is_disconnected():
                return
            yield chunk

    response = StreamingResponse(stream(), status_code=status)
    response.raw_headers = _encoded(headers)
    return response


def _span(first: str, last: str, size: int) -> tuple[int, int]:
    if not first:
        return max(0, size - int(last)), size
    return int(first), min(int(last) + 1, size) if last else size


def _plain(status: int, headers: list[tuple[str, str]]) -> Response:
    response = Response(status_code=status)
    response.raw_headers = _encoded(headers)
    return response


def _encoded(headers: list[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode("latin-1"), value.encode("utf-8")) for name, value in headers]


class OfflineWorld:
    """A world folder as a resource: loads and starts at first use, on loopback, in whichever process asks.

    A keeper stays in this process: its clock is the caller's.
    """

    def __init__(self, folder: Path | str, port: int = 0, keeper: Keeper | None = None) -> None:
        self.folder = Path(folder)
        self._port = port
        self._keeper = keeper
        self._lock = threading.Lock()
        self._running: tuple[int, uvicorn.Server, str] | None = None

    @cached_property
    def world(self) -> World:
        return load_world(self.folder)

    @property
    def base(self) -> str:
        """`http://127.0.0.1:PORT`; starts the server if this process has none yet (a fork does not inherit one)."""
        with self._lock:
            if self._running is None or self._running[0] != os.getpid():
                server, base = _started(app(self.world, self._keeper), self._port)
                self._running = os.getpid(), server, base
            return self._running[2]

    @property
    def digest(self) -> str:
        return self.world.digest

    def paper_digest(self, arxiv_id: str) -> str:
        return self.world.paper_digest(arxiv_id)

    def papers(self) -> list[dict[str, Any]]:
        """The index: arxiv_id, title (as the venue lists it), forum_id or None, authors; by arxiv_id."""
        rows = []
        for _, paper in sorted(self.world.papers.items()):
            told = paper.facts
            if told.in_index:
                authors = told.openreview_authors if told.openreview_authors is not None else told.authors
                title = told.openreview_title or told.title
                row = {"arxiv_id": told.arxiv_id, "title": title, "forum_id": told.forum_id, "authors": list(authors)}
                rows.append(row)
        return rows

    def close(self) -> None:
        with self._lock:
            if self._running is not None and self._running[0] == os.getpid():
                self._running[1].should_exit = True
            self._running = None

    def __enter__(self) -> "OfflineWorld":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        return {"folder": self.folder, "port": self._port}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["folder"], state["port"])  # type: ignore[misc]


def _started(served: Starlette, port: int) -> tuple[uvicorn.Server, str]:
    listener = _listener(port)
    server = uvicorn.Server(_config(served))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="offline-world", daemon=True)
    thread.start()
    give_up = time.monotonic() + _START_LIMIT
    while not server.started:
        if not thread.is_alive() or time.monotonic() > give_up:
            raise RuntimeError("the offline world did not start; its log is above")
        time.sleep(0.002)
    return server, f"http://127.0.0.1:{listener.getsockname()[1]}"


def _listener(port: int) -> socket.socket:
    listener = socket.create_server(("127.0.0.1", port))
    # Headers and body leave in separate writes; without this each answer waits 40 ms for a delayed acknowledgement.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def _config(served: Starlette) -> uvicorn.Config:
    """No date and no server name: equal questions get equal bytes. Connections live as long as their clients. Logging
    is left alone: to configure it takes its lock and then each handler's, and a thread that logs takes them the other
    way round."""
    return uvicorn.Config(
        served,
        log_config=None,
        log_level="error",
        access_log=False,
        lifespan="off",
        ws="none",
        loop="asyncio",
        date_header=False,
        server_header=False,
        timeout_keep_alive=3600,
        timeout_graceful_shutdown=1,
    )


def serve(folder: Path | str, port: int = 0) -> None:
    """Serves a world in the foreground and prints its address; returns when interrupted."""
    world = load_world(Path(folder))
    listener = _listener(port)
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    print(f"{world.facts.name}: {len(world.papers)} papers at {address}{PREFIX}HOST/PATH", flush=True)
    with suppress(KeyboardInterrupt):
        uvicorn.Server(_config(app(world))).run(sockets=[listener])
