"""One small world in which all cases stand, and how it is looked at."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from pipeline.evidence import Outcome, Receipt
from pipeline.sources.clocks import SimulatedClock
from pipeline.store import Store

PROGRAM = "import torch\n\nprint('trains')\n" * 4
PROSE = "<p>" + "We study foggy graphs with lanterns. " * 60 + "</p>"
CSV = "node,edge\n" + "1,2\n" * 80
SAFE = 3_000_000
START = datetime(2026, 12, 1, tzinfo=UTC)
Call = tuple[str, dict[str, Any]]
Looks = Mapping[str, tuple[Receipt, Receipt]]


def page(title: str, body: str = PROSE) -> str:
    return f"<!doctype html><html><head><title>{title}</title></head><body>{body}</body></html>"


class Plan:
    """What the world shall hold, gathered by service."""

    def __init__(self, town: Any) -> None:
        self.town = town
        self.routes: dict[str, list[dict[str, Any]]] = {}
        self.defaults: dict[str, dict[str, Any]] = {}

    def at(self, place: str, **told: Any) -> None:
        host, _, path = place.partition("/")
        self.routes.setdefault(host, []).append({"path": f"/{path}", **told})

    def file(self, place: str, size: int = 0) -> None:
        told = {"size": size} if size else {"body": CSV, "content_type": "text/csv"}
        self.at(place, **told)

    def page(self, place: str, title: str, body: str = PROSE, status: int = 200, **told: Any) -> None:
        self.at(place, body=page(title, body), status=status, **told)

    def moved(self, place: str, to: str) -> None:
        self.at(place, status=302, location=to)

    def told(self, place: str, value: Any, status: int = 200) -> None:
        self.at(place, body=json.dumps(value), status=status)

    def build(self) -> None:
        for host, routes in self.routes.items():
            self.town.site(host, *routes, default=self.defaults.get(host))


def github(plan: Plan) -> None:
    repo, train = plan.town.repo, {"train.py": PROGRAM}
    repo("fog/words", {"README.md": "# Lantern\nA README is not code.\n", "LICENSE": "MIT", "fog.png": 500})
    repo("fog/program", {"README.md": "# Lantern\n", **train})
    repo("fog/soon", {"README.md": "Code coming soon!\n"})
    repo("fog/soon-weights", {"README.md": "Weights coming soon!\n", **train})
    repo("fog/empty", {}, empty=True)
    repo("fog/one", train)
    repo("fog/frame", {"README.md": "# Lantern\n", "setup.py": PROGRAM, "lantern/__init__.py": PROGRAM})
    repo("fog/framed", {"setup.py": PROGRAM, "lantern/__init__.py": PROGRAM, **train})
    repo("fog/deleted", train, missing=True)
    repo("fog/busy", train, fail_first={"status": 503, "times": 999})
    repo("fog/before", {}, renamed_to="fog/after")
    repo("fog/after", train)
    repo("old/other", {}, renamed_to="new/thing")
    repo("new/thing", {"README.md": "# Something else\n", **train})
    repo("fog/dmca", train, blocked=True)
    repo("fog/late", train, fail_first={"fault": "timeout", "times": 999})
    repo("fog/disabled", train, disabled=True)
    repo("fog/archived", train, archived=True)
    repo("big/base", {"README.md": "# Base\n", **train})
    repo("fog/copy", {"README.md": "# Base\n", **train}, fork_of="big/base")
    repo("fog/own", train)
    pictures = {f"assets/{n:03}.png": 500 for n in range(12)}
    repo("fog/long", {**pictures, "src/train.py": PROGRAM}, truncated=True)
    repo("fog/long-words", {**pictures, "README.md": "# Lantern\n"}, truncated=True)
    repo("fog/core", train, private=True)
    repo(
        "fog/hollow", {"README.md": "# Lantern\n"}, submodules=[{"path": "core", "url": "https://github.com/fog/core"}]
    )
    part = {"path": "program", "url": "https://github.com/fog/program"}
    repo("fog/wrapped", {"README.md": "# Lantern\n", "run.py": PROGRAM}, submodules=[part])
    repo("fog/pointer", train, lfs={"weights/fog.pt": SAFE}, media={"media_status": 403})
    repo("fog/stored", train, lfs={"weights/fog.pt": SAFE})
    asset = {"name": "fog-checkpoint.pt", "size": SAFE}
    repo("fog/uploading", train, releases=[{"tag": "v1", "assets": [{**asset, "state": "starter"}]}])
    repo("fog/released", train, releases=[{"tag": "v1", "assets": [asset]}])
    repo("fog/unlicensed", train)
    repo("fog/licensed", train, license="MIT")


def the_hub(plan: Plan) -> None:
    hub, weights = plan.town.hub, {"README.md": "# Lantern\n", "config.json": "{}", "model.safetensors": SAFE}
    hub("fog/free", weights)
    hub("fog/click", weights, gated="auto")
    hub("fog/ask", weights, gated="manual")
    hub("fog/none", {}, missing=True)
    hub("fog/tired", weights, fail_first={"status": 503, "times": 999})
    hub("fog/secret", weights, private=True)
    hub("fog/banned", weights, disabled=True)
    hub("fog/card", {"README.md": "# Lantern\nWeights follow.\n", "config.json": "{}"})
    hub("fog/tiny", {"model.safetensors": 700_000})
    hub("fog/small", {"model.safetensors": 1_100_000})
    hub("fog/bare", {})
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 9000000\n"
    hub("fog/stub", {"README.md": "# Fog\n", "fog.parquet": pointer}, "datasets")
    hub("fog/table", {"README.md": "# Fog\n", "fog.parquet": 40_000}, "datasets")
    hub("fog/form", {"fog.parquet": 40_000}, "datasets", gated="manual")
    bases = {"lora": "fog/free", "lora-gated": "fog/click", "lora-gone": "fog/none", "lora-tired": "fog/tired"}
    adapter = {"adapter_config.json": "{}", "adapter_model.safetensors": SAFE}
    for name, base in bases.items():
        hub(f"fog/{name}", adapter, base_model=base)
    for name, base in {"lora-home": "/home/fog/llama", "lora-told": "fog/free"}.items():
        hub(f"fog/{name}", {**adapter, "adapter_config.json": json.dumps({"base_model_name_or_path": base})})
    hub("fog/merged", {**adapter, "config.json": "{}", "model.safetensors": SAFE}, base_model="fog/click")
    files = "files.fog.example.org"
    places = {"loader": f"{files}/fog.zip", "loader-dead": f"{files}/dead.zip", "loader-tired": f"{files}/tired.zip"}
    for name, place in {**places, "loader-wall": "www.kaggle.com/fog/fog.zip"}.items():
        hub(f"fog/{name}", {f"{name}.py": f'URL = "https://{place}"\nDOCS = "https://fog.example.org/"\n'}, "datasets")
    plan.file(f"{files}/fog.zip", SAFE)
    plan.at(f"{files}/tired.zip", status=503)


def drives(plan: Plan) -> None:
    google, sheets, login = (
        "drive.google.com",
        "docs.google.com/spreadsheets/d",
        "https://accounts.google.com/ServiceLogin",
    )
    plan.page("accounts.google.com/ServiceLogin", "Sign in", "<p>Sign in</p>")
    for name in ("good", "full", "large"):
        plan.page(f"{google}/file/d/{name}/view", f"{name} - Google Drive", "<p>preview</p>" + PROSE)
    plan.moved(f"{google}/file/d/mine/view", login)
    plan.file(f"{google}/uc?export=download&id=good")
    plan.page(f"{google}/uc?export=download&id=asked", "Google Drive", "<p>You need access. Ask for it.</p>")
    plan.page(f"{google}/uc?export=download&id=full", "Google Drive - Quota exceeded", "<p>Too many users.</p>")
    scan = "<p>Google Drive can't scan this file for viruses.</p><p><a href='/open?id=large'>fog.zip</a> (1.2G)</p>"
    plan.page(f"{google}/uc?export=download&id=large", "Google Drive - Virus scan warning", scan)
    entry = '<div><a href="https://drive.google.com/{}/{}{}">{}</a></div>'
    good, full = entry.format("file/d", "good", "/view", "fog.csv"), entry.format("file/d", "full", "/view", "fog.csv")
    notes = entry.format("file/d", "notes", "/view", "run.py")
    lists = {"open": good + notes, "void": "", "nest": entry.format("drive/folders", "x", "", "data"), "worn": full}
    for name, body in lists.items():
        plan.page(f"{google}/embeddedfolderview?id={name}", "Fog", f"<h1>Fog</h1>{body}")
    plan.moved(f"{google}/embeddedfolderview?id=shut", login)
    plan.moved(f"{sheets}/hidden0000/export?format=csv", login)
    plan.file(f"{sheets}/shown00000/export?format=csv")
    plan.page("docs.google.com/document/d/fog/pub", "Notes on fog")
    plan.page("www.dropbox.com/s/k1/fog.csv", "Dropbox - 404", "<p>That file isn't here any more.</p>", 404)
    plan.moved("www.dropbox.com/s/k2/fog.csv?dl=1", "https://uc1.dl.dropboxusercontent.com/cd/k2")
    plan.at("uc1.dl.dropboxusercontent.com/cd/k2", body=CSV, content_type="application/binary")
    busy = "<p>This account's links are generating too much traffic and have been temporarily disabled!</p>"
    plan.page("www.dropbox.com/s/k3/fog.csv", "Dropbox - Error", busy)
    plan.file("www.dropbox.com/scl/fi/k4/fog.csv?dl=1&rlkey=abc")
    plan.moved("www.dropbox.com/scl/fi/k4/fog.csv?dl=1", "https://www.dropbox.com/login?cont=x")
    plan.page("www.dropbox.com/login", "Log in - Dropbox", "<p>Log in</p>")
    office = "login.microsoftonline.com/common/oauth2/authorize"
    plan.page(office, "Sign in to your account", "<p>Sign in</p>")
    share = "fog.sharepoint.com"
    plan.moved(f"{share}/:u:/g/lab/E1?download=1", f"https://{office}?client_id=3")
    plan.file(f"{share}/:u:/g/lab/E2?download=1&e=x")
    plan.moved(f"{share}/:x:/s/lab/E3?download=1", f"https://{share}/sites/lab/_layouts/15/AccessDenied.aspx")
    plan.page(f"{share}/sites/lab/_layouts/15/AccessDenied.aspx", "SharePoint", "<p>Sorry.</p>")
    plan.page(f"{share}/:x:/s/lab/E4", "Fog.xlsx")
    for name in ("gone", "busy"):
        plan.moved(f"1drv.ms/u/s!{name}", f"https://onedrive.live.com/?id={name}")
    plan.page("onedrive.live.com/?id=gone", "OneDrive", "<p>This item is no longer available.</p>")
    plan.page("onedrive.live.com/?id=busy", "OneDrive", "<script>boot()</script>")
    plan.page("forms.gle/fog", "Fog data", "<p>Tell us who you are.</p>")


def records(plan: Plan) -> None:
    kept, shares = "zenodo.org/api/records", "api.figshare.com/v2/articles"
    plan.file("files.record.example.org/fog.csv")
    place = "https://files.record.example.org/fog.csv"
    files = [{"key": "fog.csv", "size": 4000, "links": {"self": place}}]
    shut = {"files": "restricted", "embargo": {"active": False}}
    plan.told(f"{kept}/1", {"id": 1, "metadata": {"title": "Fog"}, "access": shut, "files": files})
    plan.told(f"{kept}/2", {"id": 2, "metadata": {"title": "Fog", "access_right": "embargoed"}, "files": files})
    plan.told(f"{kept}/3", {"status": 410, "message": "The record has been deleted."}, 410)
    ended = {"files": "public", "embargo": {"active": False, "until": "2025-01-01"}}
    for number in (4, 9):
        plan.told(f"{kept}/{number}", {"id": number, "metadata": {"title": "Fog"}, "access": ended, "files": files})
    plan.told(f"{kept}/5", {}, 503)
    shared = [{"name": "fog.csv", "size": 4000, "download_url": place, "is_link_only": False}]
    plan.told(f"{shares}/11", {"id": 11, "title": "Fog", "is_embargoed": True, "embargo_type": "file", "files": []})
    plan.told(f"{shares}/12", {"id": 12, "title": "Fog", "is_embargoed": False, "files": shared})
    plan.told(f"{shares}/13", {"id": 13, "title": "Fog", "is_metadata_record": True, "files": []})
    plan.told(f"{shares}/14", {"id": 14, "title": "Fog", "download_disabled": True, "files": shared})
    plan.told(f"{shares}/15", {"message": "Entity not found"}, 404)
    plan.told(f"{shares}/16", {}, 503)
    osf = "api.osf.io/v2"
    refused = {"errors": [{"detail": "Authentication credentials were not provided."}]}
    plan.told(f"{osf}/guids/priv1/", refused, 401)
    plan.told(f"{osf}/guids/dead1/", {"errors": [{"detail": "The requested node is no longer available."}]}, 410)
    plan.told(f"{osf}/guids/busy1/", {"errors": [{"detail": "Request was throttled."}]}, 429)
    for name, key in (("open1", ""), ("void1", ""), ("priv1", "?view_only=right")):
        node = {"data": {"id": name, "type": "nodes", "attributes": {"title": "Fog", "public": True}}}
        plan.moved(f"{osf}/guids/{name}/{key}", f"https://{osf}/nodes/{name}/{key}")
        plan.told(f"{osf}/nodes/{name}/{key}", node)
        below = f"{osf}/nodes/{name}/files/osfstorage/f/"
        folder = {"attributes": {"kind": "folder", "name": "f"}}
        folder |= {"relationships": {"files": {"links": {"related": {"href": f"https://{below}"}}}}}
        plan.told(f"{osf}/nodes/{name}/files/osfstorage/{key}", {"data": [folder], "links": {"next": None}})
        about = {"kind": "file", "name": "fog.csv", "materialized_path": "/f/fog.csv", "size": 4000}
        found = [{"attributes": about, "links": {"download": place}}] if name != "void1" else []
        plan.told(below, {"data": found, "links": {"next": None}})
    plan.moved("doi.org/10.17605/OSF.IO/OPEN1", "https://osf.io/open1")
    mirror = "anonymous.4open.science/api/repo"
    plan.defaults["anonymous.4open.science"] = {"status": 200, "body": page("Anonymous Github", "<p>Scripts.</p>")}
    plan.told(f"{mirror}/late-1/options", {"error": "repository_expired"}, 410)
    plan.told(f"{mirror}/none-1/options", {"error": "repo_not_found"}, 404)
    plan.told(f"{mirror}/slow-1/options", {"error": "repository_not_ready"}, 404)
    for name, repo in (("on-words", "fog/words"), ("on-code", "fog/program")):
        plan.told(f"{mirror}/{name}/options", {"url": f"https://github.com/{repo}"})
    trees: dict[str, Any] = {
        "live-1": {"train.py": {"size": 100, "sha": "a"}},
        "docs-1": [{"name": "README.md", "path": "", "size": 30}],
        "deep-1": [{"name": "README.md", "path": "", "size": 30}, {"name": "src", "path": ""}],
    }
    for name, told in trees.items():
        plan.told(f"{mirror}/{name}/options", {"url": None, "download": True})
        plan.told(f"{mirror}/{name}/files/", told)
    plan.told(f"{mirror}/deep-1/files/?path=src", [{"name": "train.py", "path": "src", "size": 300}])


def walls(plan: Plan) -> None:
    for place in ("www.kaggle.com/datasets/fog/graphs", "www.image-net.org/download.php", "pan.baidu.com/s/1fog"):
        plan.page(place, "Fog")
    for place in ("pan.quark.cn/s/1fog", "www.123pan.com/s/1fog"):
        plan.page(place, "Fog")
    plan.file("kaggle.fog.example.org/datasets/graphs.csv")
    for place in ("pan.baidu.com", "pan.quark.cn", "123pan"):
        plan.file(f"mirror.example.org/{place}/fog.csv")
    shut = "<p>Access Policy: Only credentialed users who sign the DUA can access the files.</p>"
    free = "<p>Access Policy: Anyone can access the files, as long as they conform to the terms.</p>"
    plan.page("physionet.org/content/foggy/1.0/", "Foggy v1.0", PROSE + shut)
    plan.page(
        "physionet.org/content/clear/1.0/",
        "Clear dataset",
        PROSE + free + '<a href="/files/clear/data/fog.csv">Fog</a>',
    )
    plan.file("physionet.org/files/clear/data/fog.csv")
    plan.at("physionet.org/files/foggy/1.0/fog.csv", status=403)
    plan.at("physionet.org/files/broken/1.0/fog.csv", status=403)
    plan.page("physionet.org/content/broken/1.0/", "Broken v1.0", PROSE + free)
    cited = '<meta name="citation_title" content="Fog">'
    plan.at("journal.example.org/article", body=page("Fog", "<p>Purchase PDF</p>").replace("<head>", f"<head>{cited}"))
    plan.at("journal.example.org/free", body=page("Fog").replace("<head>", f"<head>{cited}"))
    plan.at("journal.example.org/pay", status=402, body="pay")
    plan.at("journal.example.org/robots", status=403, body="no robots")


def pages(plan: Plan) -> None:
    fog, form = "fog.example.org", '<form><input type="password" name="p"></form>'
    plan.page(f"{fog}/lost", "404 - Page not found")
    plan.page(f"{fog}/about-404-errors", "Why links of papers end as 404 errors")
    plan.page(f"{fog}/lost.zip", "Our lab", "<p>Hello</p>")
    for place in (f"{fog}/fog.csv", f"{fog}/image-net.org/fog.csv", "cf.example.org/open.csv"):
        plan.file(place)
    plan.page("any.example.org/data/fog", "Welcome")
    plan.defaults["any.example.org"] = {"soft404": True, "body": page("Welcome")}
    plan.page("own.example.org/data/fog", "The Fog dataset", PROSE + '<a href="fog.csv">Download</a>')
    plan.file("own.example.org/data/fog.csv")
    plan.page(f"{fog}/page-of-data", "The Fog dataset", PROSE + '<a href="gone.csv">Download</a>')
    plan.moved("moved.example.org/old", "/")
    plan.page("moved.example.org/", "Home")
    plan.moved("moved.example.org/older", "/newer")
    plan.page("moved.example.org/newer", "Newer")
    plan.moved("moved.example.org/lab", "https://fog-lab.example.net/")
    plan.page("fog-lab.example.net/", "Lantern Attention for Foggy Graphs")
    plan.page(f"{fog}/members", "Log in", form)
    plan.page(f"{fog}/blog", "A post", PROSE + form)
    plan.moved(f"{fog}/sso", f"https://{fog}/oauth2/start")
    plan.page(f"{fog}/oauth2/start", "Welcome")
    plan.moved(f"{fog}/hop", f"https://{fog}/fog.csv")
    plan.moved("sold.example.org/code", "https://casino.example.com/")
    plan.page("casino.example.com/", "Win")
    plan.page("sale.example.org/", "sale.example.org", "<p>This domain is for sale! Buy this domain.</p>")
    plan.page("names.example.org/", "Domain adaptation", PROSE + "<p>One file for each domain is available.</p>")
    plan.moved("auction.example.org/code", "https://www.hugedomains.com/domain_profile.cfm?d=auction")
    plan.page("www.hugedomains.com/domain_profile.cfm?d=auction", "Auction", PROSE)
    plan.moved("auction.example.org/house", "https://house.auction.example.org/of-fog")
    plan.page("house.auction.example.org/of-fog", "Auction house", PROSE)
    plan.moved("lab.github.io/fog", "https://other.github.io/cats")
    plan.page("other.github.io/cats", "Cats")
    plan.moved("lab.github.io/dog", "https://lab.github.io/dogs")
    plan.page("lab.github.io/dogs", "Dogs")
    plan.page("waf.example.org/fog", "", '<script src="challenge.js"></script>', 202)
    plan.page("waf.example.org/dog", "Dogs")
    for fault in ("reset", "refused", "tls"):
        plan.at(f"{fault}.example.org/fog.csv", fault=fault)
    plan.at("nowhere.example.org/fog.csv", fault="nxdomain")
    plan.at("slow.example.org/fog.csv", fault="timeout")
    plan.at("cf.example.org/fog.csv", status=403, headers={"cf-mitigated": "challenge", "server": "cloudflare"})
    plan.page("cf.example.org/wait", "Just a moment...", "<p>Checking your browser</p>", 503)
    plan.page("cf.example.org/plain", "Plain", headers={"server": "cloudflare"})
    plan.at(f"{fog}/often.csv", status=429)


@pytest.fixture(scope="module")
def looks(tmp_path_factory: pytest.TempPathFactory, make_town: Any) -> Iterator[Callable[..., Looks]]:
    """For a family and its calls by place: what a first look finds, and one 25 hours later where the first left
    something open."""
    folder = tmp_path_factory.mktemp("reality")
    (folder / "world").mkdir()
    town = make_town(folder / "world", Store(folder / "store"), SimulatedClock(START))
    plan = Plan(town)
    for part in (github, the_hub, drives, records, walls, pages):
        part(plan)
    plan.build()
    known: dict[str, Looks] = {}

    def looked(family: str, calls: Mapping[str, Call]) -> Looks:
        if family not in known:
            probes = town.probes()
            first = {at: probes.call(*call).receipt for at, call in calls.items()}
            probes = town.a_day_later()
            is_open = [at for at, r in first.items() if r.outcome is Outcome.UNDETERMINED or r.facts.get("unseen")]
            second = first | {at: probes.call(*calls[at]).receipt for at in is_open}
            known[family] = {at: (first[at], second[at]) for at in calls}
        return known[family]

    yield looked
    town.close()
