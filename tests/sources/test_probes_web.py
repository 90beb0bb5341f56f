"""The probe of any URL: 200 is not access, a wall is a wall, trouble is not absence."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import httpx2
import pytest

from pipeline.evidence import Outcome
from pipeline.record import request_key
from pipeline.sources.probes import PaperFacts, Probes
from pipeline.sources.reading import holds_weights

PAPER = PaperFacts(title="Lantern Attention for Foggy Graphs")
TEXT = "<p>" + "We study foggy graphs with lanterns. " * 60 + "</p>"


def page(title: str, body: str = TEXT) -> str:
    return f"<!doctype html><html><head><title>{title}</title></head><body>{body}</body></html>"


def look(town: Any, url: str, **options: Any) -> Any:
    return town.probes(**options).fetch_url(url).receipt


def test_a_page_keeps_its_links_and_names_the_paper(town: Any) -> None:
    body = '<h1>Lantern Attention for Foggy Graphs</h1><a href="/code.zip">Code</a> <a href="https://github.com/fog/x">Git</a>'
    town.site("fog.example.org", {"path": "/", "body": page("Lantern", body)})
    receipt, content = town.probes().fetch_url("https://fog.example.org/")
    assert receipt.outcome is Outcome.AVAILABLE
    assert receipt.facts["names_paper"] == ["title"]
    assert receipt.facts["links"] == ["https://fog.example.org/code.zip", "https://github.com/fog/x"]
    assert "[Code](https://fog.example.org/code.zip)" in content["text"]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (page("Log in", '<form><input type="password" name="p"></form>'), "login"),
        (page("Sign in to continue", "<p>Sign in</p>"), "login"),
        (page("Data", "<p>You need access. Ask the owner.</p>"), "request_access"),
        (
            page("An article", "<p>Purchase PDF</p>" + TEXT).replace(
                "<head>", '<head><meta name="citation_title" content="x">'
            ),
            "paywall",
        ),
    ],
)
def test_a_wall_with_status_200_is_gated(town: Any, body: str, kind: str) -> None:
    town.site("wall.example.org", {"path": "/data", "body": body})
    receipt = look(town, "https://wall.example.org/data")
    assert (receipt.outcome, receipt.facts["wall"]) == (Outcome.GATED, kind)


def test_a_page_with_a_login_box_in_its_corner_is_a_page(town: Any) -> None:
    town.site("blog.example.org", {"path": "/post", "body": page("A post", TEXT + '<input type="password">')})
    assert look(town, "https://blog.example.org/post").outcome is Outcome.AVAILABLE


def test_a_redirect_to_a_login_is_gated(town: Any) -> None:
    town.site("sign.example.org", {"path": "/d", "status": 302, "location": "https://accounts.google.com/ServiceLogin"})
    town.site("accounts.google.com", {"path": "/ServiceLogin", "body": page("Sign in")})
    assert look(town, "https://sign.example.org/d").outcome is Outcome.GATED


@pytest.mark.parametrize("status", [401, 403, 407])
@pytest.mark.parametrize("body", ["Forbidden", page("Access Denied", "<p>Access denied to robots.</p>"), ""])
def test_a_bare_refusal_of_a_page_says_nothing_however_often_it_comes(town: Any, status: int, body: str) -> None:
    town.site("no.example.org", {"path": "/data", "status": status, "body": body})
    for probes in (make() for make in (town.probes, town.a_day_later)):
        receipt = probes.fetch_url("https://no.example.org/data").receipt
        assert (receipt.outcome, receipt.reason) == (Outcome.UNDETERMINED, f"forbidden: {status}")
        assert not receipt.facts.get("wall")
    key = request_key("GET", "https://no.example.org/data", None, False)
    assert len(town.recorder().record.seen(key)) == 2


@pytest.mark.parametrize(
    ("route", "kind"),
    [
        ({"status": 402, "body": "pay"}, "payment_required"),
        ({"status": 403, "body": page("Log in", '<form><input type="password" name="p"></form>')}, "login"),
        ({"status": 401, "body": page("Sign in", "<p>Members only</p>")}, "login"),
        ({"status": 403, "body": page("Data", "<p>You need access. Ask the owner.</p>")}, "request_access"),
        (
            {"status": 403, "body": '<html><head><meta name="citation_title" content="x"></head>Purchase PDF</html>'},
            "paywall",
        ),
    ],
)
def test_a_refusal_that_shows_its_wall_is_gated(town: Any, route: dict[str, Any], kind: str) -> None:
    town.site("no.example.org", {"path": "/data", **route})
    receipt = look(town, "https://no.example.org/data")
    assert (receipt.outcome, receipt.facts["wall"]) == (Outcome.GATED, kind)


def test_a_known_wall_that_refuses_is_gated(town: Any) -> None:
    town.site("data.club.example.org", {"path": "/x", "status": 403})
    receipt = look(town, "https://data.club.example.org/x", walls={"club.example.org": "signup"})
    assert (receipt.outcome, receipt.reason) == (Outcome.GATED, "signup")


def test_a_known_wall_is_gated_however_well_it_answers(town: Any) -> None:
    town.site(
        "physionet.org",
        {"path": "/content/mimiciv/2.2/", "body": page("MIMIC")},
        {"path": "/content/open/", "body": page("Open")},
    )
    town.site("data.club.example.org", {"path": "/", "body": page("Members")})
    receipt = look(town, "https://physionet.org/content/mimiciv/2.2/")
    assert (receipt.outcome, receipt.reason) == (Outcome.GATED, "credentialed")
    assert look(town, "https://physionet.org/content/open/").outcome is Outcome.AVAILABLE
    assert look(town, "https://data.club.example.org/", walls={"club.example.org": "signup"}).reason == "signup"


@pytest.mark.parametrize(
    "route",
    [
        {"status": 503},
        {"status": 500},
        {"status": 429},
        {"fault": "timeout"},
        {"fault": "tls"},
        {"fault": "reset"},
        {"fault": "unreachable"},
        {"status": 403, "headers": {"cf-mitigated": "challenge", "server": "cloudflare"}},
        {"body": page("Just a moment...", "<p>Checking your browser</p>")},
        {"body": page("Google Drive - Quota exceeded", "<p>Too many users have viewed or downloaded this file.</p>")},
        {"body": page("fog.example.org", "<p>This domain is for sale! Buy this domain.</p>")},
        {"body": "<html><head><script src=a.js></script></head><body><div id=root></div></body></html>"},
    ],
)
def test_trouble_is_undetermined_however_often_it_is_seen(town: Any, route: dict[str, Any]) -> None:
    town.site("fog.example.org", {"path": "/data", **route})
    assert look(town, "https://fog.example.org/data").outcome is Outcome.UNDETERMINED
    assert town.a_day_later().fetch_url("https://fog.example.org/data").receipt.outcome is Outcome.UNDETERMINED


@pytest.mark.parametrize(
    "route",
    [
        {"status": 404},
        {"status": 410},
        {"fault": "nxdomain"},
        {"fault": "refused"},
        {"body": page("404 - Page not found", "<p>Sorry.</p>")},
    ],
)
def test_gone_needs_two_looks(town: Any, route: dict[str, Any]) -> None:
    town.site("gone.example.org", {"path": "/data", **route})
    first = look(town, "https://gone.example.org/data")
    assert (first.outcome, first.reason[:9]) == (Outcome.UNDETERMINED, "gone_once")
    assert look(town, "https://gone.example.org/data").outcome is Outcome.UNDETERMINED
    second = town.a_day_later().fetch_url("https://gone.example.org/data").receipt
    assert (second.outcome, second.reason[:5]) == (Outcome.UNAVAILABLE, "gone:")


def test_a_host_that_says_the_same_for_any_path_says_nothing(town: Any) -> None:
    body = page("Welcome")
    town.site("any.example.org", {"path": "/models/x", "body": body}, default={"soft404": True, "body": body})
    receipt = look(town, "https://any.example.org/models/x")
    assert (receipt.outcome, receipt.facts["soft_404"]) == (Outcome.UNDETERMINED, True)


def test_a_page_in_place_of_a_file_is_a_soft_404(town: Any) -> None:
    town.site("w.example.org", {"path": "/model.pth", "body": page("Our lab", "<p>Hello</p>")})
    assert look(town, "https://w.example.org/model.pth").reason == "gone_once: soft_404"


def test_a_redirect_to_the_front_page_of_another_domain_is_parked(town: Any) -> None:
    town.site("lab.example.org", {"path": "/code", "status": 301, "location": "https://casino.example.com/"})
    town.site("casino.example.com", {"path": "/", "body": page("Win")})
    assert look(town, "https://lab.example.org/code").reason == "parked"


def test_a_data_file_is_open_when_bytes_come(town: Any) -> None:
    town.site(
        "d.example.org",
        {"path": "/graphs.csv", "body": "a,b\n" + "1,2\n" * 60, "content_type": "text/csv"},
        {"path": "/big.tar.gz", "size": 30_000_000, "content_type": "application/gzip"},
        {"path": "/lantern.ckpt", "size": 30_000_000, "content_type": "application/octet-stream"},
        {"path": "/paper.pdf", "body": "%PDF-1.4 x", "content_type": "application/pdf"},
    )
    assert look(town, "https://d.example.org/graphs.csv").facts["data_open"] == ["graphs.csv"]
    assert look(town, "https://d.example.org/big.tar.gz").facts["data_open"] == ["big.tar.gz"]
    weights = look(town, "https://d.example.org/lantern.ckpt").facts
    assert (weights["weights_open"], weights["data_open"]) == (["lantern.ckpt"], [])
    assert "data_open" not in look(town, "https://d.example.org/paper.pdf").facts


def test_a_page_about_data_leads_to_its_files(town: Any) -> None:
    body = '<h1>The Fog dataset</h1><a href="fog.tar.gz">Download</a>'
    town.site(
        "d.example.org", {"path": "/", "body": page("Fog dataset", body)}, {"path": "/fog.tar.gz", "size": 5_000_000}
    )
    assert look(town, "https://d.example.org/").facts["data_open"] == ["https://d.example.org/fog.tar.gz"]


def test_a_page_whose_files_are_dead_opens_no_data(town: Any) -> None:
    body = page("Fog dataset", '<h1>The Fog dataset</h1><a href="gone.tar.gz">Download</a>')
    town.site("e.example.org", {"path": "/", "body": body})
    receipt = look(town, "https://e.example.org/")
    assert (receipt.outcome, receipt.facts["data_open"]) == (Outcome.AVAILABLE, [])


@pytest.mark.parametrize(
    "route",
    [
        {"body": page("Please wait")},
        {"body": "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "content_type": "text/plain"},
        {"body": "", "content_type": "application/gzip"},
    ],
)
def test_a_page_a_pointer_or_nothing_in_place_of_a_linked_file_opens_no_data(town: Any, route: dict[str, Any]) -> None:
    body = page("Fog dataset", '<h1>The Fog dataset</h1><a href="fog.tar.gz">Download</a>')
    town.site("f.example.org", {"path": "/", "body": body}, {"path": "/fog.tar.gz", "status": 200, **route})
    receipt = look(town, "https://f.example.org/")
    assert (receipt.outcome, receipt.facts["data_open"]) == (Outcome.AVAILABLE, [])
    assert receipt.facts["data_files"] == 1


@pytest.mark.parametrize("status", [0, 403, 429, 500, 503])
@pytest.mark.parametrize(("file", "kind"), [("fog.tar.gz", "data"), ("lantern.ckpt", "weights")])
def test_a_linked_file_in_trouble_is_not_seen(town: Any, status: int, file: str, kind: str) -> None:
    body = page("Fog dataset", f'<h1>The Fog dataset</h1><a href="{file}">Download</a>')
    town.site("g.example.org", {"path": "/", "body": body})
    facts = look(town, "https://g.example.org/", transport=town.troubled(**{file: status})).facts
    assert (facts[f"{kind}_open"], facts["unseen"]) == ([], [kind])


@pytest.mark.parametrize("file", ["fog.tar.gz", "lantern.ckpt"])
def test_a_linked_file_that_is_dead_or_there_leaves_nothing_unseen(town: Any, file: str) -> None:
    body = page("Fog dataset", f'<h1>The Fog dataset</h1><a href="{file}">Download</a>')
    town.site("g.example.org", {"path": "/", "body": body}, {"path": f"/{file}", "size": 5_000_000})
    town.site("h.example.org", {"path": "/", "body": body})
    assert "unseen" not in look(town, "https://g.example.org/").facts
    assert "unseen" not in look(town, "https://h.example.org/").facts


def test_an_archive_whose_listing_does_not_come_is_neither_code_nor_data(town: Any, recording: Any) -> None:
    answers = [httpx2.Response(200, content=b"PK\x03\x04" + bytes(3 << 20)), httpx2.Response(503)]

    def answer(request: httpx2.Request) -> httpx2.Response:
        return answers.pop(0) if len(answers) > 1 else answers[0]

    probes = Probes("2505.00001", recording(answer), {}, PAPER)
    receipt = probes.fetch_url("https://z.example.org/code.zip").receipt
    assert (receipt.facts["data_open"], receipt.facts["unseen"]) == ([], ["tree"])
    assert "code_files" not in receipt.facts


@pytest.mark.parametrize(
    ("key", "size", "unseen"),
    [("fog.pt", 4_000_000, ["weights"]), ("fog.csv", 4_000_000, ["data"]), ("fog.zip", 4_000_000, ["tree"])],
)
def test_a_record_whose_files_are_in_trouble_is_not_seen(town: Any, key: str, size: int, unseen: list[str]) -> None:
    content = f"https://zenodo.org/api/records/77/files/{key}/content"
    record = {"id": 77, "metadata": {"title": "Fog"}, "files": [{"key": key, "size": size, "links": {"self": content}}]}
    town.site(
        "zenodo.org", {"path": "/api/records/77", "body": json.dumps(record)}, {"path": content[18:], "status": 503}
    )
    facts = look(town, "https://zenodo.org/records/77").facts
    assert (facts["weights_open"], facts["data_open"], facts["unseen"]) == ([], [], unseen)


def test_an_archive_of_code_is_code(town: Any) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("x/train.py", "print(1)\n" * 9)
    place = town.root / "sites" / "z.example.org" / "code.zip"
    town.site("z.example.org", {"path": "/code.zip", "file": "code.zip"})
    place.write_bytes(buffer.getvalue())
    facts = look(town, "https://z.example.org/code.zip").facts
    assert facts["train_entries"] == ["x/train.py"]
    assert facts["data_open"] == []


def test_an_archive_longer_than_a_page_is_listed_too_and_every_time(town: Any) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("x/train.py", "print(1)\n" * 9)
        archive.writestr("x/figure.png", bytes(3 << 20))
    place = town.root / "sites" / "z.example.org" / "code.zip"
    town.site("z.example.org", {"path": "/code.zip", "file": "code.zip"})
    place.write_bytes(buffer.getvalue())
    first = look(town, "https://z.example.org/code.zip")
    assert (first.facts["code_files"], first.facts["train_entries"]) == (1, ["x/train.py"])
    assert first.facts["data_open"] == []
    assert look(town, "https://z.example.org/code.zip") == first
    assert look(town, "https://z.example.org/code.zip", mode="replay") == first


def test_a_page_that_was_there_before_is_not_gone_at_its_first_not_found(town: Any, recording: Any) -> None:
    gone = page("404 - Page not found", "<p>Sorry.</p>")
    served = {"/data": page("Fog data")}

    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(
            200, headers={"content-type": "text/html"}, text=served.get(request.url.path, "<html>Home</html>")
        )

    reasons = []
    for body in (served["/data"], gone, gone):
        served["/data"] = body
        probes = Probes("2505.00001", recording(answer, again=True), {}, PAPER)
        reasons.append(probes.fetch_url("https://was.example.org/data").receipt.reason)
        town.clock.sleep(25 * 3600)
    assert reasons == ["page read", "gone_once: soft_404", "gone: soft_404"]


@pytest.mark.parametrize(
    ("access", "outcome"),
    [
        ({"record": "public", "files": "public", "embargo": {"active": False}}, Outcome.AVAILABLE),
        ({"record": "public", "files": "restricted", "embargo": {"active": False}}, Outcome.GATED),
        ({"record": "public", "files": "restricted", "embargo": {"active": True}}, Outcome.GATED),
    ],
)
def test_zenodo_is_asked_through_its_records_api(town: Any, access: dict[str, Any], outcome: Outcome) -> None:
    content = "https://zenodo.org/api/records/77/files/fog.pt/content"
    record = {
        "id": 77,
        "metadata": {"title": "Fog"},
        "access": access,
        "files": [{"key": "fog.pt", "size": 4_000_000, "links": {"self": content}}],
    }
    town.site(
        "zenodo.org",
        {"path": "/records/77", "body": page("Fog")},
        {"path": "/api/records/77", "body": json.dumps(record)},
        {"path": "/api/records/77/files/fog.pt/content", "size": 4_000_000},
    )
    for url in ("https://zenodo.org/records/77", "https://doi.org/10.5281/zenodo.77"):
        receipt = look(town, url)
        assert receipt.outcome is outcome
        assert receipt.facts.get("weights_open") == (["fog.pt"] if outcome is Outcome.AVAILABLE else None)


def test_an_expired_anonymous_mirror_is_gone_though_its_page_answers(town: Any) -> None:
    town.site(
        "anonymous.4open.science",
        {"path": "/r/fog-1", "body": page("Anonymous Github")},
        {"path": "/api/repo/fog-1/options", "body": '{"error": "repository_expired"}'},
        {"path": "/r/fog-2", "body": page("Anonymous Github")},
        {"path": "/api/repo/fog-2/options", "body": '{"url": "x"}'},
        {
            "path": "/api/repo/fog-2/files/",
            "body": '{"train.py": {"size": 100, "sha": "a"}, "src": {"m.py": {"size": 300, "sha": "b"}}}',
        },
    )
    assert look(town, "https://anonymous.4open.science/r/fog-1").reason == "gone_once: expired"
    later = town.a_day_later()
    assert later.fetch_url("https://anonymous.4open.science/r/fog-1").receipt.outcome is Outcome.UNAVAILABLE
    alive = later.fetch_url("https://anonymous.4open.science/r/fog-2/").receipt
    assert (alive.facts["code_files"], alive.facts["train_entries"]) == (2, ["train.py"])


def test_drive_is_asked_for_the_download(town: Any) -> None:
    warning = (
        "<p>Google Drive can't scan this file for viruses.</p>"
        '<p><a href="/open?id=big">lantern.pt</a> (1.2G) is too large</p>'
    )
    view = {"body": page("file - Google Drive", "<p>preview</p>" + TEXT)}
    town.site(
        "drive.google.com",
        {"path": "/file/d/open/view", **view},
        {"path": "/uc?export=download&id=open", "body": "a,b\n" + "1,2\n" * 60, "content_type": "text/csv"},
        {"path": "/file/d/big/view", **view},
        {"path": "/uc?export=download&id=big", "body": page("Google Drive - Virus scan warning", warning)},
        {"path": "/file/d/quota/view", **view},
        {"path": "/uc?export=download&id=quota", "body": page("Google Drive - Quota exceeded", "<p>Sorry</p>")},
        {"path": "/file/d/locked/view", "body": page("Google Drive: Sign-in", "<p>You need access</p>")},
    )
    assert look(town, "https://drive.google.com/file/d/open/view").facts["data_open"]
    assert look(town, "https://drive.google.com/file/d/big/view?usp=sharing").facts["weights_open"] == ["lantern.pt"]
    assert look(town, "https://drive.google.com/file/d/quota/view").reason == "quota"
    assert look(town, "https://drive.google.com/file/d/locked/view").outcome is Outcome.GATED


def test_a_link_to_a_repository_is_answered_as_the_repository(town: Any) -> None:
    town.repo("fog/lantern", {"train.py": "x = 1\n" * 20})
    town.hub("fog/m", {"model.safetensors": 2_000_000}, gated="auto")
    tree = look(town, "https://github.com/fog/lantern/tree/main/src")
    assert (tree.subject, tree.facts["code_files"]) == ("github:fog/lantern", 1)
    model = look(town, "https://huggingface.co/fog/m/resolve/main/model.safetensors")
    assert (model.subject, model.outcome) == ("hf:model:fog/m", Outcome.GATED)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1/", "file:///etc/passwd", "", "not a url", "http://[::1", "\u0000", "https://a.org/\ud800"]
)
def test_what_may_not_be_opened_is_undetermined(town: Any, url: str) -> None:
    receipt = look(town, url)
    assert receipt.outcome is Outcome.UNDETERMINED
    assert receipt.reason.startswith(("blocked:", "invalid_argument:"))


def test_the_same_world_gives_the_same_receipts_whenever_it_is_asked(town: Any) -> None:
    town.site("fog.example.org", {"path": "/", "body": page("Lantern")})
    first = look(town, "https://fog.example.org/")
    town.clock.sleep(12345)
    again = look(town, "https://fog.example.org/", again=True)
    replayed = look(town, "https://fog.example.org/", mode="replay")
    assert first == again == replayed


def zipped(**members: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "body", "outcome"),
    [
        ("fog.zip", zipped(), Outcome.AVAILABLE),
        ("fog.zip", zipped(**{f"folder{n}/": "" for n in range(9)}), Outcome.AVAILABLE),
        ("fog.csv", b"a,b", Outcome.AVAILABLE),
        ("fog.csv", b"Access denied. Please request access from the owner of this file." * 4, Outcome.UNDETERMINED),
        ("fog.csv", b"File not found.", Outcome.UNDETERMINED),
        ("fog.json", b'{"error": "not found"}', Outcome.UNDETERMINED),
        ("fog.json", b'{"error": "' + b"x" * 4000 + b'"}', Outcome.UNDETERMINED),
    ],
)
def test_any_bytes_are_no_data(recording: Any, name: str, body: bytes, outcome: Outcome) -> None:
    probes = Probes("2505.00001", recording(lambda request: httpx2.Response(200, content=body)), {}, PAPER)
    receipt = probes.fetch_url(f"https://own.example.org/{name}").receipt
    assert receipt.outcome is outcome
    assert not receipt.facts.get("data_open")


def test_an_archive_with_something_in_it_is_data(recording: Any) -> None:
    body = zipped(**{"fog/train.csv": "1,2\n" * 100})
    probes = Probes("2505.00001", recording(lambda request: httpx2.Response(200, content=body)), {}, PAPER)
    assert probes.fetch_url("https://own.example.org/fog.zip").receipt.facts["data_open"] == ["fog.zip"]


@pytest.mark.parametrize("filler", [b"\0", b"\xff", b"weights are coming soon. ", b" "])
@pytest.mark.parametrize("padded", [b"", b"Weights will be released. "])
def test_a_megabyte_of_nothing_is_no_checkpoint(recording: Any, filler: bytes, padded: bytes) -> None:
    body = padded + filler * (1_500_000 // len(filler))
    probes = Probes("2505.00001", recording(lambda request: httpx2.Response(200, content=body)), {}, PAPER)
    assert probes.fetch_url("https://own.example.org/lantern.pt").receipt.facts["weights_open"] == []


@pytest.mark.parametrize(
    "head",
    [
        b"\x98:" + bytes(6) + b'{"__metadata__":{"format":"pt"},"lm_head.weight":{"dtype":"BF16"}}',
        b"GGUF\x03" + bytes(3) + b"\x23\x01" + bytes(6) + b"general.architecture\x08" + bytes(7) + b"llama",
        b"PK\x03\x04" + bytes(8) + b"archive/data.pkl" + bytes(900) + b"\x80\x02ctorch._utils",
        b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.",
        b"\x89HDF\r\n\x1a\n" + bytes(200),
    ],
)
def test_the_heads_of_real_formats_are_checkpoints(head: bytes) -> None:
    assert holds_weights(head)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b" " * 4096 + b"<html><title>Login</title></html>", "begins with filler"),
        (b"\0" * 4096, "begins with filler"),
        (b"<!--" + b"x" * 4096 + b"--><html>", "text instead of an archive"),
        (b'{"error": "not found"}' + b" " * 4000, "text instead of an archive"),
    ],
)
def test_the_head_of_an_archive_that_is_none_opens_no_data(recording: Any, body: bytes, reason: str) -> None:
    """A page behind two kilobytes of nothing, sent as bytes of a large file."""
    headers = {"content-type": "application/octet-stream", "content-range": "bytes 0-2047/900000000"}
    probes = Probes(
        "2505.00001", recording(lambda _: httpx2.Response(206, headers=headers, content=body[:2048])), {}, PAPER
    )
    receipt = probes.fetch_url("https://own.example.org/data.zip").receipt
    assert (receipt.outcome, receipt.reason, receipt.facts.get("data_open")) == (Outcome.UNDETERMINED, reason, None)


@pytest.mark.parametrize(
    ("head", "opened"),
    [(b"\0" * 2048, []), (b" " * 2048, []), (b"PK\x03\x04" + bytes(range(256)) * 8, ["/d/data.zip"])],
)
def test_linked_data_that_begins_with_filler_is_neither_open_nor_absent(
    recording: Any, head: bytes, opened: list[str]
) -> None:
    page_ = page("A data set", '<a href="/d/data.zip">data set</a>' + TEXT)

    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.url.path.endswith(".zip"):
            return httpx2.Response(206, headers={"content-range": "bytes 0-2047/900000000"}, content=head[:2048])
        return httpx2.Response(200, headers={"content-type": "text/html"}, text=page_)

    receipt = Probes("2505.00001", recording(answer), {}, PAPER).fetch_url("https://own.example.org/").receipt
    assert [url.removeprefix("https://own.example.org") for url in receipt.facts["data_open"]] == opened
    assert receipt.facts.get("unseen", []) == ([] if opened else ["data"])
