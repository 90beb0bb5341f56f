"""Arbitrary URLs through httpx2 and requests: real URLs in every answer, faults as each client's own exceptions."""

import asyncio
import io
import socket
import ssl
import time
import zipfile

import httpx2
import pytest
import requests

from pipeline.offline.server import OfflineWorld
from pipeline.offline.transports import AsyncWorldTransport, WorldTransport

pytestmark = pytest.mark.usefixtures("offline_only")
ROOTS = {
    "nxdomain": socket.gaierror,
    "refused": ConnectionRefusedError,
    "timeout": TimeoutError,
    "tls": ssl.SSLCertVerificationError,
    "reset": ConnectionResetError,
    "unreachable": OSError,
}
IN_HTTPX2 = dict.fromkeys(ROOTS, httpx2.ConnectError) | {"timeout": httpx2.ConnectTimeout, "reset": httpx2.ReadError}
IN_REQUESTS = dict.fromkeys(ROOTS, requests.ConnectionError) | {
    "timeout": requests.ConnectTimeout,
    "tls": requests.exceptions.SSLError,
}


@pytest.fixture
def session(adapter) -> requests.Session:
    session = requests.Session()
    session.mount("https://", adapter)
    session.mount("http://", adapter)
    return session


@pytest.mark.parametrize("kind", ROOTS)
def test_a_fault_is_the_httpx2_exception_that_a_real_one_is(web, kind):
    with pytest.raises(IN_HTTPX2[kind], match=kind) as caught:
        web.get(f"https://faults.example/{kind}")
    assert isinstance(caught.value.__cause__, ROOTS[kind])
    assert str(caught.value.request.url) == f"https://faults.example/{kind}"


@pytest.mark.parametrize("kind", ROOTS)
def test_a_fault_is_the_requests_exception_that_a_real_one_is(session, kind):
    with pytest.raises(IN_REQUESTS[kind], match=kind) as caught:
        session.get(f"https://faults.example/{kind}")
    assert isinstance(caught.value.__cause__, ROOTS[kind])


def test_a_host_that_nobody_recorded_is_unreachable_and_one_that_is_gone_has_no_name(web):
    with pytest.raises(httpx2.ConnectError, match="unreachable"):
        web.get("https://never-recorded.example/paper")
    with pytest.raises(httpx2.ConnectError, match="nxdomain"):
        web.get("https://gone.example/any/path")


def test_a_chain_of_redirects_shows_real_urls_only(web, session):
    for client in (web, session):
        answer = client.get("https://zenodo.org/record/77")
        assert str(answer.url) == "https://zenodo.org/records/77"
        assert [str(hop.url) for hop in answer.history] == ["https://zenodo.org/record/77"]
        assert "127.0.0.1" not in str(answer.headers)
        assert "x-offline-fault" not in answer.headers


def test_a_redirect_may_lead_to_another_host(web):
    answer = web.get("https://drive.google.com/uc?id=abc&export=download")
    assert str(answer.url) == "https://accounts.google.com/signin"
    assert "password" in answer.text
    assert web.get("https://drive.google.com/uc?id=other").status_code == 404


def test_a_route_may_refuse_head_and_serve_get_by_ranges(web):
    url = "https://zenodo.org/records/77/files/data.zip"
    assert web.head(url).status_code == 405
    part = web.get(url, headers={"Range": "bytes=0-2047"})
    assert (part.status_code, len(part.content), part.content[:2]) == (206, 2048, b"PK")
    assert part.headers["content-range"] == "bytes 0-2047/300000"
    assert web.get(url, headers={"Range": "bytes=-5"}).content == web.get(url).content[-5:]


def test_a_reader_of_the_first_bytes_of_half_a_terabyte_keeps_nobody_waiting(web):
    for _ in range(3):
        with web.stream("GET", "https://zenodo.org/records/77/files/huge.tar") as answer:
            assert answer.headers["content-length"] == "500000000000"
            assert next(answer.iter_bytes(2048))
    before = time.monotonic()
    assert web.get("https://zenodo.org/api/records/77").status_code == 200
    assert time.monotonic() - before < 5


def test_a_route_serves_json_as_such(web):
    answer = web.get("https://zenodo.org/api/records/77")
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["access"]["files"] == "restricted"


def test_a_path_nobody_told_of_is_404_on_a_known_host_and_200_on_a_soft_one(web):
    assert web.get("https://zenodo.org/nothing-here").status_code == 404
    bodies = {web.get(f"https://soft.example/{path}").content for path in ("a", "b/c")}
    assert bodies == {b"<title>Welcome</title>"}


def test_a_route_that_fails_first_fails_as_often_as_told(web):
    assert [web.get("https://zenodo.org/flaky").status_code for _ in range(3)] == [500, 200, 200]


def test_an_explicit_route_goes_before_a_service(web):
    assert web.get("https://github.com/lumen-lab/tideformer/wiki").text == "wiki"


def test_pages_of_a_repository_follow_its_state(web):
    page = web.get("https://github.com/lumen-lab/tideformer")
    assert "Run train.py" in page.text
    assert str(web.get("https://github.com/lumen-old/tideformer-old").url) == "https://github.com/lumen-lab/tideformer"
    assert web.get("https://github.com/lumen-lab/vanished").status_code == 404
    assert web.get("https://github.com/lumen-lab/blocked").status_code == 451
    assert web.get("https://github.com/lumen-lab/tideformer/blob/main/absent.py").status_code == 404
    assert "class Tideformer" in web.get("https://github.com/lumen-lab/tideformer/blob/main/src/model.py").text


def test_an_archive_of_a_repository_unpacks_to_what_it_holds(web):
    answer = web.get("https://github.com/lumen-lab/tideformer/archive/refs/heads/main.zip")
    assert answer.url.host == "codeload.github.com"
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.read("tideformer-main/src/model.py") == b"class Tideformer: ...\n"


def test_equal_questions_get_equal_bytes_and_headers_from_two_servers(folder):
    def asked() -> list[tuple[bytes, dict[str, str]]]:
        urls = (
            "https://api.github.com/repos/lumen-lab/tideformer/git/trees/main?recursive=1",
            "https://huggingface.co/api/models/lumen-lab/tideformer-base?blobs=true",
            "https://export.arxiv.org/api/query?id_list=2505.00001",
            "https://arxiv.org/src/2505.00001v2",
            "https://api2.openreview.net/notes?id=AAAtideAAA",
        )
        with OfflineWorld(folder) as world, httpx2.Client(transport=WorldTransport(world)) as client:
            return [(answer.content, dict(answer.headers)) for answer in map(client.get, urls)]

    assert asked() == asked()


def test_the_asynchronous_transport_answers_and_fails_alike(world):
    async def both() -> tuple[httpx2.Response, str]:
        async with httpx2.AsyncClient(transport=AsyncWorldTransport(world), follow_redirects=True) as client:
            answer = await client.get("https://zenodo.org/record/77")
            with pytest.raises(httpx2.ConnectTimeout, match="timeout") as caught:
                await client.get("https://faults.example/timeout")
            return answer, str(caught.value.request.url)

    answer, url = asyncio.run(both())
    assert str(answer.url) == "https://zenodo.org/records/77"
    assert url == "https://faults.example/timeout"


def test_a_connection_that_would_leave_this_machine_is_refused():
    with pytest.raises(AssertionError, match="tried to reach"), socket.socket() as plain:
        plain.connect(("192.0.2.1", 443))
    with pytest.raises(AssertionError, match="tried to look up"):
        socket.getaddrinfo("example.org", 443)
