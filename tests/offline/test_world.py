"""What a world folder says once it is loaded, in either format, and what it never says."""

import gzip
import io
import json
import logging
import pickle
import re
import signal
import subprocess
import sys
import tarfile
import threading
from pathlib import Path

import httpx2
import pytest

from pipeline.offline.recorded import stand_in_id
from pipeline.offline.server import OfflineWorld
from pipeline.offline.transports import WorldTransport
from pipeline.offline.world import WorldError, load_world

GOLD = "GOLD-ANSWER"


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


@pytest.fixture
def own(tmp_path: Path) -> Path:
    return write(
        tmp_path,
        {
            "world.toml": 'name = "Own"\nas_of = 2025-09-01\nvenue = "Own.cc/2025/Conference"\n',
            "papers/2505.00002/paper.toml": 'arxiv_id = "2505.00002"\ntitle = "Second"\nauthors = ["A B"]\n',
            "papers/2505.00002/src/main.tex": "one",
            "papers/2505.00001/paper.toml": 'arxiv_id = "2505.00001"\ntitle = "First"\nforum_id = "F1"\n',
            "papers/2505.00003/paper.toml": 'arxiv_id = "2505.00003"\ntitle = "Unlisted"\nin_index = false\n',
            "github/lab/code/repo.toml": 'license = "MIT"\n',
            "github/lab/code/files/README.md": "# Code\n",
        },
    )


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    told = {"gold": {"code_links": [GOLD]}, "oddities": [GOLD], "judged_by": GOLD, "decoy_mains": [GOLD]}
    seen = {
        "repo": "lab/code",
        "fetched": True,
        "default_branch": "main",
        "head_commit": "a" * 40,
        "head_date": "2025-08-22T10:52:37+08:00",
        "first_commit_date": "2025-02-13T04:58:22+00:00",
        "license_spdx_by_text": "MIT",
        "license_files": ["LICENSE"],
        "submodules": ["third"],
        "readme_path": "README.md",
        "train_scripts": [GOLD],
        "weight_links": [GOLD],
        "files": [
            {"path": "README.md", "size": 7, "type": "blob"},
            {"path": "LICENSE", "size": 1070, "type": "blob"},
            {"path": "src/train.py", "size": 2000, "type": "blob"},
            {"path": "third", "size": None, "type": "commit"},
        ],
        "judgement": {"kind": GOLD},
    }
    return write(
        tmp_path,
        {
            "papers/with-id/meta.json": json.dumps({"title": "With", "arxiv_id": "2505.00009", **told}),
            "papers/with-id/src/main.tex": "\\documentclass{article}",
            "papers/with-id/second_reader.json": json.dumps({"claim": GOLD}),
            "papers/without/meta.json": json.dumps({"title": "Without", "arxiv_id": None, **told}),
            "papers/without/src/main.tex": "\\documentclass{article}",
            "repos/lab+code.json": json.dumps(seen),
            "repos/lab+code.README.md": "# Code\n",
            "repos/lab+unseen.json": json.dumps({"repo": "lab/unseen", "fetched": False, "warning": GOLD}),
        },
    )


def client_of(world: OfflineWorld) -> httpx2.Client:
    return httpx2.Client(transport=WorldTransport(world), follow_redirects=True)


def test_the_index_lists_every_paper_in_it_by_id(own):
    rows = OfflineWorld(own).papers()
    assert rows == [
        {"arxiv_id": "2505.00001", "title": "First", "forum_id": "F1", "authors": []},
        {"arxiv_id": "2505.00002", "title": "Second", "forum_id": None, "authors": ["A B"]},
    ]


def test_a_licence_told_but_not_written_becomes_a_file_as_github_knows_licences_by_files(own):
    assert set(load_world(own).repositories["lab/code"].files) == {"README.md", "LICENSE"}


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("world.toml", "name = ", "not TOML"),
        ("github/lab/code/repo.toml", "archved = true\n", "archved"),
        ("github/lab/code/repo.toml", '[[files]]\npath = "a.py"\n', "has no size"),
        ("papers/2505.00001/paper.toml", 'arxiv_id = "2505.00007"\ntitle = "T"\n', "make them equal"),
        ("sites/a.example/site.toml", '[[route]]\npath = "/x"\nfile = "gone.html"\n', "gone.html"),
    ],
)
def test_a_folder_that_cannot_be_served_is_refused_by_the_name_of_its_file(own, name, text, complaint):
    write(own, {name: text})
    with pytest.raises(WorldError, match=re.escape(complaint)) as caught:
        load_world(own)
    assert name.rpartition("/")[2] in str(caught.value)


def test_a_folder_of_neither_format_is_refused(tmp_path):
    with pytest.raises(WorldError, match="no world"):
        load_world(tmp_path)


def test_papers_of_one_forum_are_all_listed(own):
    for paper in ("2505.00001", "2505.00002"):
        (own / "papers" / paper / "paper.toml").write_text(f'arxiv_id = "{paper}"\ntitle = "T"\nforum_id = "F1"\n')
    with OfflineWorld(own) as world, client_of(world) as client:
        for query in ("id=F1", "content.venueid=Own.cc/2025/Conference"):
            assert client.get(f"https://api2.openreview.net/notes?{query}").json()["count"] == 2


def test_the_digest_follows_everything_but_papers_sources(own):
    before, paper = load_world(own).digest, load_world(own).paper_digest("2505.00002")
    write(own, {"papers/2505.00002/src/main.tex": "two"})
    assert load_world(own).digest == before
    assert load_world(own).paper_digest("2505.00002") != paper
    write(own, {"github/lab/code/files/README.md": "# Other\n"})
    assert load_world(own).digest != before


def test_a_papers_digest_ignores_other_papers(own):
    before = load_world(own).paper_digest("2505.00002")
    write(own, {"papers/2505.00001/src/main.tex": "new"})
    assert load_world(own).paper_digest("2505.00002") == before


def test_a_recorded_paper_without_an_id_is_served_under_a_stand_in_of_an_impossible_month(recorded):
    world = OfflineWorld(recorded)
    ids = {row["title"]: row["arxiv_id"] for row in world.papers()}
    assert ids == {"With": "2505.00009", "Without": stand_in_id("without")}
    assert re.fullmatch(r"0000\.\d{5}", ids["Without"])
    assert world.world.papers[ids["Without"]].facts.stand_in_id
    with world, client_of(world) as client:
        answer = client.get(f"https://arxiv.org/src/{ids['Without']}v1")
        with tarfile.open(fileobj=io.BytesIO(answer.content)) as archive:
            assert archive.getnames() == ["main.tex"]


def test_a_recorded_repository_lists_its_files_but_only_the_readme_can_be_read(recorded):
    api = "https://api.github.com/repos/lab/code"
    with OfflineWorld(recorded) as world, client_of(world) as client:
        tree = client.get(f"{api}/git/trees/main?recursive=1").json()["tree"]
        assert {(entry["path"], entry.get("size")) for entry in tree if entry["type"] != "tree"} == {
            ("LICENSE", 1070),
            ("README.md", 7),
            ("src/train.py", 2000),
            ("third", None),
        }
        assert client.get(f"{api}/contents/src").json()[0]["size"] == 2000
        assert client.get(f"{api}/readme", headers={"Accept": "application/vnd.github.raw"}).text == "# Code\n"
        assert client.get(api).json()["license"]["spdx_id"] == "MIT"
        for path in ("contents/src/train.py", "license", "releases", "git/trees/other-branch"):
            with pytest.raises(httpx2.ConnectError, match="unreachable"):
                client.get(f"{api}/{path}")
        with pytest.raises(httpx2.ConnectError, match="unreachable"):
            client.get("https://raw.githubusercontent.com/lab/code/main/src/train.py")
        assert client.get(f"{api}/contents/absent.py").status_code == 404


def test_a_recorded_world_leaves_out_what_nobody_saw_rather_than_guess(recorded):
    with OfflineWorld(recorded) as world, client_of(world) as client:
        body = client.get("https://api.github.com/repos/lab/code").json()
    assert not {"archived", "fork", "stargazers_count", "description"} & body.keys()


@pytest.mark.parametrize(
    "url",
    [
        "https://api.github.com/repos/lab/unseen",
        "https://github.com/lab/unseen",
        "https://api.github.com/repos/no/record",
        "https://huggingface.co/api/models/lab/code",
        "https://huggingface.co/spaces/lab/code",
        "https://zenodo.org/records/1",
    ],
)
def test_what_a_recorded_world_did_not_see_is_unreachable(recorded, url):
    with OfflineWorld(recorded) as world, client_of(world) as client, pytest.raises(httpx2.ConnectError):
        client.get(url)


def test_searches_of_a_recorded_world_are_complete_over_what_it_holds(recorded):
    search = "https://api.github.com/search/repositories"
    with OfflineWorld(recorded) as world, client_of(world) as client:
        assert client.get(search, params={"q": "code in:readme"}).json()["total_count"] == 1
        assert client.get(search, params={"q": "unseen"}).json() == {
            "total_count": 0,
            "incomplete_results": False,
            "items": [],
        }
        assert client.get("https://huggingface.co/api/models?search=code").json() == []


def test_no_answer_of_a_recorded_world_holds_a_gold_label(recorded):
    api = "https://api.github.com"
    urls = [
        "https://export.arxiv.org/api/query?search_query=all:with",
        f"https://export.arxiv.org/api/query?id_list=2505.00009,{stand_in_id('without')}",
        "https://arxiv.org/abs/2505.00009",
        "https://github.com/lab/code",
        f"{api}/repos/lab/code",
        f"{api}/repos/lab/code/contents/",
        f"{api}/repos/lab/code/git/trees/main?recursive=1",
        f"{api}/search/repositories?q=code",
    ]
    with OfflineWorld(recorded) as world, client_of(world) as client:
        answers = [client.get(url) for url in urls]
        source = client.get("https://arxiv.org/src/2505.00009").content
    assert all(answer.status_code == 200 and answer.content for answer in answers)
    assert not any(GOLD in answer.text for answer in answers)
    assert GOLD.encode() not in gzip.decompress(source)
    assert GOLD not in json.dumps(OfflineWorld(recorded).papers())


@pytest.mark.slow
def test_the_real_material_is_served_whole(realworld):
    with OfflineWorld(realworld) as world, client_of(world) as client:
        assert len(world.papers()) == len(list(realworld.glob("papers/*/meta.json"))) > 0
        for arxiv_id, paper in world.world.papers.items():
            body = client.get(f"https://arxiv.org/src/{arxiv_id}").content
            with tarfile.open(fileobj=io.BytesIO(body)) as archive:
                assert sorted(archive.getnames()) == sorted(paper.source)
        for path in sorted(realworld.glob("repos/*.json")):
            seen = json.loads(path.read_text())
            url = f"https://api.github.com/repos/{seen['repo']}/git/trees/HEAD?recursive=1"
            if seen["fetched"]:
                tree = client.get(url).json()["tree"]
                assert sum(entry["type"] != "tree" for entry in tree) == seen["n_files"]
            else:
                with pytest.raises(httpx2.ConnectError, match="unreachable"):
                    client.get(url)


def test_a_world_starts_at_first_use_and_once(own):
    world = OfflineWorld(own)
    assert world._running is None
    with world:
        assert world.base == world.base
        assert world.base.startswith("http://127.0.0.1:")


def test_a_world_starts_while_another_thread_logs(own):
    handler = logging.StreamHandler()
    with OfflineWorld(own) as world:
        handler.acquire()  # as in the middle of a line, whose next step may wait for the lock of all logging
        try:
            starting = threading.Thread(target=lambda: world.base, daemon=True)
            starting.start()
            starting.join(30)
            assert not starting.is_alive()
        finally:
            handler.release()


def test_a_world_that_crosses_to_another_process_starts_anew_there(own):
    with OfflineWorld(own) as world:
        script = (
            "import pickle, sys\n"
            "world = pickle.loads(sys.stdin.buffer.read())\n"
            "with world: print(world.base, len(world.papers()))\n"
        )
        here = world.base
        done = subprocess.run(
            [sys.executable, "-c", script], input=pickle.dumps(world), capture_output=True, timeout=60, check=True
        )
    there, count = done.stdout.decode().split()
    assert there.startswith("http://127.0.0.1:")
    assert there != here
    assert count == "2"


def test_serving_alone_prints_the_address_and_ends_when_interrupted(own):
    script = f"from pipeline.offline.server import serve\nserve({str(own)!r}, 0)\n"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+", line)[0]
        assert httpx2.get(f"{address}/_site/arxiv.org/abs/2505.00001").status_code == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 0
