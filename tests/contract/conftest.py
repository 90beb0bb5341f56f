"""The real client libraries, pointed at a small world; with `--live` the same tests meet the real services.

How each client is pointed is the four functions below: base URLs stay real, only the transport is exchanged.
"""

import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"

import arxiv
import github
import httpx2
import huggingface_hub
import openreview
import pytest
from github.Requester import HTTPRequestsConnectionClass, HTTPSRequestsConnectionClass, Requester
from requests.adapters import HTTPAdapter

from pipeline.offline.server import OfflineWorld
from pipeline.offline.transports import WorldAdapter, WorldTransport

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def point_github(adapter: HTTPAdapter | None, token: str | None = None) -> github.Github:
    """PyGithub makes its sessions itself, so the adapter is mounted in the connection class it is told to use."""

    class Connection(HTTPSRequestsConnectionClass):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            if adapter is not None:
                self.session.mount("https://", adapter)

    Requester.injectConnectionClasses(HTTPRequestsConnectionClass, Connection)
    auth = github.Auth.Token(token) if token else None
    return github.Github(auth=auth, retry=None, seconds_between_requests=None, seconds_between_writes=None)


def point_hub(transport: httpx2.BaseTransport | None, token: str | bool = False) -> huggingface_hub.HfApi:
    """The Hub client keeps one global session, built by a factory; `token=False` keeps a stored login out of it."""
    huggingface_hub.set_client_factory(lambda: httpx2.Client(transport=transport, follow_redirects=True, timeout=30))
    return huggingface_hub.HfApi(token=token)


def point_arxiv(adapter: HTTPAdapter | None, live: bool = False) -> arxiv.Client:
    client = arxiv.Client(page_size=100, delay_seconds=3.0 if live else 0.0, num_retries=0)
    if adapter is not None:
        client._session.mount("https://", adapter)
    return client


def point_openreview(adapter: HTTPAdapter | None, username: str = "", password: str = "") -> Any:
    """Constructed without an account it sends nothing, so the adapter is there before any request, login included.

    openreview-py mounts retrying adapters on longer prefixes too; those have to go, or it sleeps on 429.
    """
    client = openreview.api.OpenReviewClient(baseurl="https://api2.openreview.net", token=None)
    if adapter is not None:
        client.session.adapters.clear()
        client.session.mount("https://", adapter)
    if username:
        client.login_user(username, password)
    return client


@dataclass(frozen=True)
class Subjects:
    """What the read-only tests ask about, in the test world or in the real one."""

    repository: str
    license: str
    renamed: str
    renamed_now: str
    missing_repository: str
    empty_search: str
    model: str
    gated_model: str
    gate: str
    missing_model: str
    dataset: str
    paper: str
    unknown_paper: str


IN_WORLD = Subjects(
    repository="lumen-lab/tideformer",
    license="MIT",
    renamed="lumen-old/tideformer-old",
    renamed_now="lumen-lab/tideformer",
    missing_repository="lumen-lab/vanished",
    empty_search="zzqx-nothing-of-this-name-kkwv",
    model="lumen-lab/tideformer-base",
    gated_model="lumen-lab/tideformer-gated",
    gate="manual",
    missing_model="lumen-lab/vanished",
    dataset="lumen-lab/tides",
    paper="2505.00001",
    unknown_paper="2505.99998",
)
LIVE = Subjects(
    repository="psf/requests",
    license="Apache-2.0",
    renamed="kennethreitz/requests",
    renamed_now="psf/requests",
    missing_repository="psf/no-such-repository-9f3ad1",
    empty_search="zzqx-nothing-of-this-name-kkwv",
    model="openai-community/gpt2",
    gated_model="meta-llama/Llama-2-7b-hf",
    gate="manual",
    missing_model="openai-community/no-such-model-9f3ad1",
    dataset="stanfordnlp/imdb",
    paper="1706.03762",
    unknown_paper="1706.99998",
)


@pytest.fixture(scope="session")
def live(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--live"))


@pytest.fixture
def offline_only(live: bool) -> None:
    """For rows that the real services offer no stable, harmless example of."""
    if live:
        pytest.skip("no stable public example of this row")


@pytest.fixture(scope="session")
def subjects(live: bool) -> Subjects:
    return LIVE if live else IN_WORLD


@pytest.fixture(autouse=True)
def loopback_only(live: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stricter than the shared guard of this name: name look-ups are refused too, and `--live` alone lifts it."""
    if live:
        return
    connect, look_up = socket.socket.connect, socket.getaddrinfo

    def guarded_connect(self: socket.socket, address: Any) -> None:
        if self.family in {socket.AF_INET, socket.AF_INET6} and address[0] not in LOOPBACK:
            raise AssertionError(f"a test tried to reach {address}")
        connect(self, address)

    def guarded_look_up(host: Any, *args: Any, **kwargs: Any) -> Any:
        if host not in (None, *LOOPBACK):
            raise AssertionError(f"a test tried to look up {host}")
        return look_up(host, *args, **kwargs)

    monkeypatch.setattr(socket.socket, "connect", guarded_connect)
    monkeypatch.setattr(socket, "getaddrinfo", guarded_look_up)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The test world's files, written by this test run."""
    root = tmp_path_factory.mktemp("world")
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


@pytest.fixture(scope="session")
def world(folder: Path) -> Iterator[OfflineWorld]:
    """One server for all tests; each thing that fails first is asked about by one test only."""
    with OfflineWorld(folder) as served:
        yield served


@pytest.fixture
def adapter(world: OfflineWorld, live: bool) -> HTTPAdapter | None:
    return None if live else WorldAdapter(world)


@pytest.fixture
def transport(world: OfflineWorld, live: bool) -> httpx2.BaseTransport | None:
    return None if live else WorldTransport(world)


@pytest.fixture
def gh(adapter: HTTPAdapter | None) -> Iterator[github.Github]:
    yield point_github(adapter)
    Requester.resetConnectionClasses()


@pytest.fixture
def gh_with_token(adapter: HTTPAdapter | None, offline_only: None) -> Iterator[github.Github]:
    yield point_github(adapter, token="a-token")
    Requester.resetConnectionClasses()


@pytest.fixture
def hub(transport: httpx2.BaseTransport | None) -> Iterator[huggingface_hub.HfApi]:
    yield point_hub(transport)
    huggingface_hub.set_client_factory(httpx2.Client)


@pytest.fixture
def hub_with_token(transport: httpx2.BaseTransport | None, offline_only: None) -> Iterator[huggingface_hub.HfApi]:
    yield point_hub(transport, token="hf_token")
    huggingface_hub.set_client_factory(httpx2.Client)


@pytest.fixture
def arxiv_client(adapter: HTTPAdapter | None, live: bool) -> arxiv.Client:
    return point_arxiv(adapter, live)


@pytest.fixture
def reviews(adapter: HTTPAdapter | None, offline_only: None) -> Any:
    return point_openreview(adapter)


@pytest.fixture
def web(transport: httpx2.BaseTransport | None) -> Iterator[httpx2.Client]:
    with httpx2.Client(transport=transport, follow_redirects=True, timeout=30) as client:
        yield client


def _release(number: int) -> str:
    asset = '{name="weights.pt", size=70000}, {name="half.pt", size=9, state="starter"}'
    return f'[[releases]]\ntag = "v{number}"\nname = "Release {number}"\nassets = [{asset}]\n'


FILES = {
    "world.toml": 'name = "Tiny"\nas_of = 2025-09-01\nvenue = "Tiny.cc/2025/Conference"\nfictional = true\n',
    "papers/2505.00001/paper.toml": """
arxiv_id = "2505.00001"
version = 2
title = "Tideformer: Attention & the Moon"
authors = ["Ada Shore", "Ben Wharf"]
abstract = "We predict tides <well>."
published = "2025-05-14T00:00:00Z"
updated = "2025-06-01T12:00:00Z"
categories = ["cs.LG", "stat.ML"]
comment = "Accepted at Tiny 2025"
forum_id = "AAAtideAAA"
supplement = "zip"
openreview_title = "Tideformer (renamed)"
""",
    "papers/2505.00001/src/main.tex": "\\documentclass{article}\\begin{document}Tides\\input{sec/a}\\end{document}\n",
    "papers/2505.00001/src/sec/a.tex": "More tides\n",
    "papers/2505.00001/supplement/code/train.py": "print('train')\n",
    "papers/2505.00002/paper.toml": """
arxiv_id = "2505.00002"
title = "One File Only"
forum_id = "BBBfileBBB"
pack = "gzip"
supplement = "pdf"
""",
    "papers/2505.00002/src/paper.tex": "\\documentclass{article}\n",
    "papers/2505.00003/paper.toml": 'arxiv_id = "2505.00003"\ntitle = "PDF"\nforum_id = "CCCpdfCCC"\npack = "pdf"\n',
    "papers/2505.00004/paper.toml": 'arxiv_id = "2505.00004"\ntitle = "No Source"\npack = "missing"\n',
    "papers/2505.00005/paper.toml": 'arxiv_id = "2505.00005"\ntitle = "Page"\npack = "html"\nin_index = false\n',
    "github/lumen-lab/tideformer/repo.toml": (
        'description = "Official code of Tideformer"\nlicense = "MIT"\ntopics = ["tides"]\nstars = 12\n'
        'pushed_at = "2025-05-20T00:00:00Z"\n'
        'submodules = [{path = "third_party/waves", url = "https://github.com/lumen-lab/waves"}]\n'
        '[[files]]\npath = "weights/model.safetensors"\nsize = 5000000\nlfs = true\n'
        '[[files]]\npath = "weights/over_quota.bin"\nsize = 2000\nlfs = true\nmedia_status = 403\n'
        '[[files]]\npath = "data/table.csv"\nsize = 1500000\n' + "".join(map(_release, range(1, 36)))
    ),
    "github/lumen-lab/tideformer/files/README.md": "# Tideformer\nRun train.py. Paper: Attention and the Moon.\n",
    "github/lumen-lab/tideformer/files/LICENSE": "MIT License\n",
    "github/lumen-lab/tideformer/files/train.py": "import tidepool\nprint('high tide')\n",
    "github/lumen-lab/tideformer/files/src/model.py": "class Tideformer: ...\n",
    "github/lumen-old/tideformer-old/repo.toml": 'renamed_to = "lumen-mid/tideformer"\n',
    "github/lumen-mid/tideformer/repo.toml": 'renamed_to = "lumen-lab/tideformer"\n',
    "github/lumen-lab/vanished/repo.toml": "missing = true\n",
    "github/lumen-lab/secret/repo.toml": "private = true\n",
    "github/lumen-lab/blocked/repo.toml": "blocked = true\n",
    "github/lumen-lab/empty/repo.toml": "empty = true\n",
    "github/lumen-lab/fork/repo.toml": 'fork_of = "lumen-lab/tideformer"\narchived = true\n',
    "github/lumen-lab/fork/files/LICENSE.md": "Do what we say.\n",
    "github/lumen-lab/huge/repo.toml": "truncated = true\n"
    + "".join(f'[[files]]\npath = "part{n}/x.py"\nsize = 10\n' for n in range(6)),
    "github/lumen-lab/limited/repo.toml": "fail_first = {status = 403, times = 1, retry_after = 3}\n",
    "github/lumen-lab/rationed/repo.toml": "fail_first = {status = 403, times = 1, retry_after = 3}\n",
    "github/lumen-lab/busy/repo.toml": "fail_first = {status = 429, times = 2, retry_after = 7}\n",
    "hf/models/lumen-lab/tideformer-base/repo.toml": """
sha = "1111111111222222222233333333334444444444"
license = "apache-2.0"
tags = ["tides"]
base_model = "lumen-lab/moon"
pipeline_tag = "text-generation"
library_name = "transformers"
parameters = 1000000
[[files]]
path = "model.safetensors"
size = 4000000
lfs = true
""",
    "hf/models/lumen-lab/tideformer-base/files/README.md": "---\nlicense: apache-2.0\n---\n# Tideformer base\n",
    "hf/models/lumen-lab/tideformer-base/files/config.json": '{"hidden_size": 8}\n',
    "hf/models/lumen-lab/tideformer-base/files/onnx/note.txt": "nothing yet\n",
    "hf/models/lumen-lab/tideformer-gated/repo.toml": """
gated = "manual"
[[files]]
path = "model.safetensors"
size = 3000000
lfs = true
""",
    "hf/models/lumen-lab/vanished/repo.toml": "missing = true\n",
    "hf/models/lumen-lab/secret/repo.toml": "private = true\n",
    "hf/models/lumen-lab/disabled/repo.toml": "disabled = true\n",
    "hf/models/lumen-lab/many/repo.toml": "".join(f'[[files]]\npath = "f{n:04d}.txt"\nsize = 5\n' for n in range(1203)),
    "hf/models/lumen-lab/busy/repo.toml": "fail_first = {status = 429, times = 1, retry_after = 5}\n",
    "hf/datasets/lumen-lab/tides/repo.toml": (
        'license = "cc-by-4.0"\n[[files]]\npath = "train.parquet"\nsize = 90000\nlfs = true\n'
    ),
    "hf/datasets/lumen-lab/tides/files/README.md": "# Tides\n",
    "sites/zenodo.org/site.toml": """
[[route]]
path = "/api/records/77"
body = '{"id": 77, "access": {"files": "restricted", "status": "restricted"}}'
[[route]]
path = "/records/77/files/data.zip"
method = "HEAD"
status = 405
[[route]]
path = "/records/77/files/data.zip"
size = 300000
[[route]]
path = "/records/77/files/huge.tar"
size = 500000000000
[[route]]
path = "/record/77"
location = "https://zenodo.org/records/77"
[[route]]
path = "/records/77"
body = "<title>Tides | Zenodo</title>"
[[route]]
path = "/flaky"
body = "ok"
fail_first = {status = 500, times = 1}
""",
    "sites/drive.google.com/site.toml": """
[[route]]
path = "/uc?export=download&id=abc"
location = "https://accounts.google.com/signin"
status = 303
""",
    "sites/accounts.google.com/site.toml": '[[route]]\npath = "/signin"\nbody = "<input type=password>"\n',
    "sites/soft.example/site.toml": '[default]\nsoft404 = true\nbody = "<title>Welcome</title>"\n',
    "sites/gone.example/site.toml": '[default]\nfault = "nxdomain"\n',
    "sites/faults.example/site.toml": "".join(
        f'[[route]]\npath = "/{kind}"\nfault = "{kind}"\n'
        for kind in ("nxdomain", "refused", "timeout", "tls", "reset", "unreachable")
    ),
    "sites/github.com/site.toml": '[[route]]\npath = "/lumen-lab/tideformer/wiki"\nbody = "wiki"\n',
}
