"""The sample world is well formed, shows every way in which an artifact looks available and is not, and agrees with its
truth."""

import ast
import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest

from pipeline.offline.values import HubRepository, Repository, RouteFacts, World
from pipeline.offline.world import load_world

WORLD = Path(__file__).resolve().parents[2] / "data" / "offline" / "sample-2025"
MAIN_TIERS = ("Run", "Retrain", "Reimplement")
SHARED_HOSTS = {"github.com", "huggingface.co"}

Truth = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def world() -> World:
    return load_world(WORLD)


@pytest.fixture(scope="module")
def truth() -> Truth:
    return tomllib.loads((WORLD / "TRUTH.toml").read_text(encoding="utf-8"))


def source(arxiv_id: str) -> str:
    """All text of a paper's source. Latin-1 is the fallback that arXiv's old sources need."""
    out = []
    for path in sorted((WORLD / "papers" / arxiv_id / "src").rglob("*")):
        if path.suffix in {".tex", ".bib"} and not path.name.startswith("._"):
            data = path.read_bytes()
            try:
                out.append(data.decode("utf-8"))
            except UnicodeDecodeError:
                out.append(data.decode("latin-1"))
    return "\n".join(out)


def links(text: str) -> set[str]:
    """Addresses in the text, comments included, with or without a scheme. One built by a macro is not among them."""
    found = re.findall(r"(?:https?://|(?<![\w./@])(?=github\.com/))[^\s{}\\\]\"'<>|,]+", text)
    full = (link if "://" in link else f"https://{link}" for link in found)
    return {link.rstrip(".);:") for link in full if "#" not in link}


def repository(world: World, url: str) -> Repository | None:
    parts = urlsplit(url).path.strip("/").removesuffix(".git").split("/")
    return world.repositories.get("/".join(parts[:2]).lower())


def hub_repository(world: World, url: str) -> HubRepository | None:
    parts = urlsplit(url).path.strip("/").split("/")
    kind, name = ("datasets", parts[1:3]) if parts[0] == "datasets" else ("models", parts[:2])
    return world.hub.get(f"{kind}/{'/'.join(name)}")


def route(world: World, url: str) -> RouteFacts | None:
    """What the site answers at this address; None where the world records no such host."""
    there = urlsplit(url)
    site = world.sites.get((there.hostname or "").lower())
    if site is None:
        return None
    path = there.path or "/"
    full = f"{path}?{there.query}" if there.query else path
    by_path = {r.path: r for r in site.facts.route}
    return by_path.get(full) or by_path.get(path) or site.facts.default


def answers(world: World, url: str) -> bool:
    """Whether a stranger gets anything but a refusal there. A login page with status 200 still counts as an answer."""
    host = urlsplit(url).hostname
    if host == "github.com":
        repo = repository(world, url)
        return repo is not None and not (repo.facts.missing or repo.facts.private or repo.facts.blocked)
    if host == "huggingface.co":
        hub = hub_repository(world, url)
        return hub is not None and not (hub.facts.missing or hub.facts.private or hub.facts.disabled)
    for _ in range(5):
        told = route(world, url)
        if told is None or told.fault is not None:
            return False
        if told.location is None:
            default = 404 if told.body is None and told.size is None and told.file is None else 200
            return (told.status or default) < 400
        url = urljoin(url, told.location)
    return False


def tree(repo: Repository) -> set[str]:
    return set(repo.files)


def code_files(repo: Repository) -> set[str]:
    return {p for p in tree(repo) if p.endswith((".py", ".sh", ".ipynb", ".cu", ".cpp", ".jl"))}


def shown(world: World, arxiv_id: str, truth: Truth) -> list[str]:
    """Every address of the paper that its truth names or its source shows."""
    told = truth[arxiv_id]
    named = [url for key in ("code", "weights", "data", "shown", "absent") for url in told.get(key, ())]
    return sorted({*named, *links(source(arxiv_id))})


def repositories_of(world: World, arxiv_id: str, truth: Truth) -> list[Repository]:
    found = (repository(world, u) for u in shown(world, arxiv_id, truth) if urlsplit(u).hostname == "github.com")
    return [repo for repo in found if repo is not None]


def hub_of(world: World, arxiv_id: str, truth: Truth) -> list[HubRepository]:
    found = (
        hub_repository(world, u) for u in shown(world, arxiv_id, truth) if urlsplit(u).hostname == "huggingface.co"
    )
    return [repo for repo in found if repo is not None]


def site_says(world: World, arxiv_id: str, truth: Truth, host: str, **facts: object) -> bool:
    """Some address of the paper on this host answers with these facts; `body` matches by containment."""
    for url in shown(world, arxiv_id, truth):
        if (urlsplit(url).hostname or "").endswith(host):
            told = route(world, url)
            if told is not None and all(
                (value in (told.body or "")) if key == "body" else getattr(told, key) == value  # type: ignore[operator]
                for key, value in facts.items()
            ):
                return True
    return False


def zenodo_record(world: World, arxiv_id: str, truth: Truth) -> str:
    for url in shown(world, arxiv_id, truth):
        if urlsplit(url).hostname == "zenodo.org" and (told := route(world, url.replace("/records/", "/api/records/"))):
            return f"{told.status} {told.body}"
    return ""


# Each class of artifact, and the fact in the world that bears it: a name in the truth file alone proves nothing.
BORNE_BY = {
    "no_link": lambda w, p, t: not repositories_of(w, p, t),
    "readme_only": lambda w, p, t: any(tree(r) and not code_files(r) for r in repositories_of(w, p, t)),
    "empty_repo": lambda w, p, t: any(r.facts.empty for r in repositories_of(w, p, t)),
    "skeleton": lambda w, p, t: any("coming soon" in text for r in repositories_of(w, p, t) for text in python_of(r)),
    "repo_404": lambda w, p, t: any(r.facts.missing for r in repositories_of(w, p, t)),
    "repo_renamed": lambda w, p, t: any(r.facts.renamed_to for r in repositories_of(w, p, t)),
    "repo_blocked": lambda w, p, t: any(r.facts.blocked for r in repositories_of(w, p, t)),
    "archived": lambda w, p, t: any(r.facts.archived for r in repositories_of(w, p, t)),
    "fork": lambda w, p, t: any(r.facts.fork_of for r in repositories_of(w, p, t)),
    "tree_truncated": lambda w, p, t: any(r.facts.truncated for r in repositories_of(w, p, t)),
    "private_submodule": lambda w, p, t: any(
        not answers(w, s.url or "") for r in repositories_of(w, p, t) for s in r.facts.submodules
    ),
    "lfs_pointer": lambda w, p, t: any(f.lfs for r in repositories_of(w, p, t) for f in r.files.values()),
    "release_asset": lambda w, p, t: any(
        a.state == "uploaded" for r in repositories_of(w, p, t) for release in r.facts.releases for a in release.assets
    ),
    "licence_forbids": lambda w, p, t: any("nc" in (h.facts.license or "") for h in hub_of(w, p, t)),
    "hf_gated_auto": lambda w, p, t: any(h.facts.gated == "auto" for h in hub_of(w, p, t)),
    "hf_gated_manual": lambda w, p, t: any(h.facts.gated == "manual" for h in hub_of(w, p, t)),
    "hf_missing": lambda w, p, t: any(h.facts.missing for h in hub_of(w, p, t)),
    "hf_private": lambda w, p, t: any(h.facts.private for h in hub_of(w, p, t)),
    "hf_disabled": lambda w, p, t: any(h.facts.disabled for h in hub_of(w, p, t)),
    "hf_no_weights": lambda w, p, t: any(
        h.kind == "models" and h.files and not any(n.endswith((".safetensors", ".bin", ".pt")) for n in h.files)
        for h in hub_of(w, p, t)
    ),
    "hf_adapter_only": lambda w, p, t: any(
        "adapter_config.json" in h.files and f"models/{h.facts.base_model}" in w.hub for h in hub_of(w, p, t)
    ),
    "hf_dataset_script": lambda w, p, t: any(
        h.kind == "datasets" and {n.rsplit(".", 1)[-1] for n in h.files} == {"md", "py"} for h in hub_of(w, p, t)
    ),
    "drive_dead": lambda w, p, t: site_says(w, p, t, "drive.google.com", status=404),
    "drive_login": lambda w, p, t: site_says(w, p, t, "drive.google.com", status=302),
    "drive_quota": lambda w, p, t: site_says(w, p, t, "drive.google.com", body="Quota exceeded"),
    "dropbox_dead": lambda w, p, t: site_says(w, p, t, "dropbox.com", status=404),
    "onedrive_dead": lambda w, p, t: any("1drv.ms" in u and not answers(w, u) for u in t[p]["absent"]),
    "sharepoint_login": lambda w, p, t: site_says(w, p, t, "sharepoint.com", status=302),
    "zenodo_restricted": lambda w, p, t: '"files": "restricted"' in zenodo_record(w, p, t),
    "zenodo_embargo": lambda w, p, t: '"active": true' in zenodo_record(w, p, t),
    "zenodo_gone": lambda w, p, t: zenodo_record(w, p, t).startswith("410"),
    "anon4open_expired": lambda w, p, t: any(
        r.body and "repository_expired" in r.body for r in w.sites["anonymous.4open.science"].facts.route
    ),
    "signup_wall": lambda w, p, t: site_says(w, p, t, "kaggle.com", status=302),
    "credentialed": lambda w, p, t: site_says(w, p, t, "physionet.org", body="credentialed users"),
    "paywall": lambda w, p, t: site_says(w, p, t, "westfalia-press.example.com", status=402, body="citation_title"),
    "baidu_pan": lambda w, p, t: site_says(w, p, t, "pan.baidu.com", status=200),
    "on_request": lambda w, p, t: re.search(r"(up)?on (reasonable )?request", source(p)) is not None,
    "soft_404": lambda w, p, t: any(
        (told := route(w, u)) is not None and getattr(told, "soft404", False) for u in shown(w, p, t)
    ),
    "login_200": lambda w, p, t: site_says(w, p, t, "barchester.example.org", status=200, body='type="password"'),
    "parked": lambda w, p, t: site_says(w, p, t, "wisp-dusk-vision.example.com", status=302),
    "tls": lambda w, p, t: any((told := route(w, u)) is not None and told.fault == "tls" for u in shown(w, p, t)),
    "dns_gone": lambda w, p, t: any(
        (told := route(w, u)) is not None and told.fault == "nxdomain" for u in shown(w, p, t)
    ),
    "timeout": lambda w, p, t: any(
        (told := route(w, u)) is not None and told.fault == "timeout" for u in shown(w, p, t)
    ),
    "ua_blocked": lambda w, p, t: any(
        (told := route(w, u)) is not None and "cf-mitigated" in told.headers for u in shown(w, p, t)
    ),
    "wrong_repo": lambda w, p, t: all(
        w.papers[p].facts.title.split(":")[0].lower() not in text.lower()
        for r in repositories_of(w, p, t)
        for text in [*python_of(r), readme_of(r)]
    ),
    "supplement_code": lambda w, p, t: any(n.endswith((".py", ".tar.gz")) for n in w.papers[p].supplement),
    "supplement_pdf_only": lambda w, p, t: {n.rsplit(".", 1)[-1] for n in w.papers[p].supplement} == {"pdf"},
    "standard_public": lambda w, p, t: t[p].get("signals", {}).get("dataset_is_standard") is True,
}


def python_of(repo: Repository) -> list[str]:
    return [f.content.read(0, 100_000).decode() for n, f in repo.files.items() if n.endswith(".py")]


def readme_of(repo: Repository) -> str:
    file = repo.files.get("README.md")
    return "" if file is None else file.content.read(0, 100_000).decode()


def test_the_truth_speaks_of_every_paper_and_of_no_other(world: World, truth: Truth) -> None:
    assert set(truth) == set(world.papers)
    assert len(truth) >= 60
    for arxiv_id, told in truth.items():
        assert told["title"] == world.papers[arxiv_id].facts.title, arxiv_id
        assert told["outcome"] in {"row", "excluded", "undetermined"}, arxiv_id


def test_every_paper_says_that_it_is_fictional(world: World) -> None:
    assert world.facts.fictional
    for paper in world.papers.values():
        assert "fictional" in (paper.facts.comment or ""), paper.arxiv_id


def test_every_paper_with_a_source_has_a_document_that_ends(world: World) -> None:
    checked = 0
    for paper in world.papers.values():
        if paper.facts.pack in {"tar.gz", "gzip"}:
            text = source(paper.arxiv_id)
            assert r"\begin{document}" in text, paper.arxiv_id
            assert text.count(r"\begin{document}") == text.count(r"\end{document}"), paper.arxiv_id
            checked += 1
    assert checked >= 60


def test_a_paper_packed_as_a_single_gzip_has_a_single_file(world: World) -> None:
    single = [p for p in world.papers.values() if p.facts.pack == "gzip"]
    assert single
    assert all(len(p.source) == 1 for p in single)


def test_every_link_of_a_paper_is_served_or_absent_on_purpose(world: World, truth: Truth) -> None:
    wrong, checked = [], 0
    for arxiv_id, told in truth.items():
        excused = set(told.get("absent", ()))
        for url in sorted({*links(source(arxiv_id)), *told["code"], *told["weights"], *told["data"]} - excused):
            checked += 1
            if not answers(world, url):
                wrong.append(f"{arxiv_id}: {url}")
    assert checked > 100
    assert wrong == []


def test_an_absent_link_stands_in_the_paper_or_in_what_the_paper_links(world: World, truth: Truth) -> None:
    for arxiv_id, told in truth.items():
        near = source(arxiv_id)
        for held in (*repositories_of(world, arxiv_id, truth), *hub_of(world, arxiv_id, truth)):
            texts = (file for name, file in held.files.items() if name.endswith((".py", ".md", ".gitmodules")))
            near += "".join(file.content.read(0, 100_000).decode() for file in texts)
        for url in told.get("absent", ()):
            assert url.replace("%", r"\%") in near or url in near, f"{arxiv_id}: {url}"


@pytest.mark.parametrize("name", sorted(BORNE_BY))
def test_every_class_of_artifact_occurs_and_the_world_bears_it_out(name: str, world: World, truth: Truth) -> None:
    papers = [arxiv_id for arxiv_id, told in truth.items() if name in told.get("classes", ())]
    assert papers, f"no paper shows {name}"
    for arxiv_id in papers:
        assert BORNE_BY[name](world, arxiv_id, truth), f"{arxiv_id} is said to show {name}"


def test_tiers_follow_from_the_signals_when_only_what_is_needed_counts(truth: Truth) -> None:
    checked = 0
    for arxiv_id, told in truth.items():
        if told["outcome"] != "row" or told["kind"] != "empirical":
            continue
        signals = told["signals"]
        no_code = signals["code_available"] is False
        no_data = signals["dataset_available"] is False and signals["dataset_is_standard"] is not True
        no_weights = signals["weights_available"] is False
        score = 2 * no_code + 3 * no_data + no_weights
        data = signals["dataset_available"] is not False or signals["dataset_is_standard"] is True
        expected = {0: "Run", 1: "Retrain", 2: "Reimplement"}.get(score, "Artifact-Blocked")
        if score == 3 and data:
            expected = "Reimplement"
        assert told["tier"] == expected, arxiv_id
        checked += 1
    assert checked >= 50


def test_every_main_tier_can_fill_its_share_of_the_pool_in_all_bands(truth: Truth) -> None:
    usable = Counter(
        (told["tier"], told["band"])
        for told in truth.values()
        if told["outcome"] == "row" and told.get("hours") is not None and "paid_api" not in told["needs"]
    )
    for tier in MAIN_TIERS:
        low, middle, high = (usable[tier, band] for band in ("0-8", "8-32", "32-96"))
        assert low >= 2, tier
        assert middle >= 3, tier
        assert high >= 3, tier
        assert low + middle + high >= 9, tier
        assert usable[tier, "96-192"] >= 1, tier


def test_hours_and_bands_agree(truth: Truth) -> None:
    edges = {"0-8": (0, 8), "8-32": (8, 32), "32-96": (32, 96), "96-192": (96, 192)}
    timed = [(arxiv_id, told) for arxiv_id, told in truth.items() if "hours" in told]
    assert len(timed) >= 40
    for arxiv_id, told in timed:
        low, high = edges[told["band"]]
        assert low < told["hours"] <= high, arxiv_id


def test_a_target_is_printed_in_its_paper(truth: Truth) -> None:
    checked = 0
    for arxiv_id, told in truth.items():
        if "target" in told:
            value = told["target"]["value"]
            text = source(arxiv_id).replace("{,}", "")
            assert re.search(rf"(?<![\d.]){re.escape(str(value))}(?![\d])", text), (arxiv_id, value)
            checked += 1
    assert checked >= 45


def test_a_claim_is_a_part_of_its_abstract(world: World, truth: Truth) -> None:
    def plain(text: str) -> str:
        return re.sub(r"[^a-z0-9.%]+", " ", text.lower().replace("’", "")).strip()

    checked = 0
    for arxiv_id, told in truth.items():
        if told.get("claim"):
            assert plain(told["claim"]).rstrip(".") in plain(world.papers[arxiv_id].facts.abstract), arxiv_id
            checked += 1
    assert checked >= 45


def test_compute_is_stated_in_many_ways(truth: Truth) -> None:
    text = "\n".join(source(arxiv_id) for arxiv_id in truth)
    ways = {
        "devices times days": r"\d+ A100 GPUs \(80GB\) for \d+ days",
        "device hours": r"\d+ GPU hours",
        "time per epoch": r"minutes per epoch|epoch lasts",
        "TPU slice": r"TPU v3-8",
        "single consumer card": r"single RTX 3090",
        "CPU only": r"laptop CPU|CPU server",
        "money": r"\\\$\d+ of compute",
        "operations": r"10\^\{20\}\$ FLOPs",
        "failed runs": r"including failed runs",
        "devices without a time": r"32 GPUs of our internal cluster",
        "spelled-out numbers": r"eleven hours on four",
        "GPU-days": r"GPU-days",
        "denied in the checklist": r"our compute is not worth reporting",
    }
    assert [way for way, pattern in ways.items() if not re.search(pattern, text)] == []


def test_all_kinds_of_paper_bar_and_need_occur(truth: Truth) -> None:
    rows = [told for told in truth.values() if told["outcome"] == "row"]
    assert {told["kind"] for told in rows} == {"empirical", "theoretical", "survey", "position"}
    assert {told["target"]["bar"] for told in rows if "target" in told} == {
        "point_estimate", "direction", "threshold", "magnitude", "range",
    }  # fmt: skip
    assert {need for told in rows for need in told["needs"]} == {"paid_api", "human_raters", "licensed_simulator"}


def test_code_in_repositories_parses(world: World) -> None:
    checked = 0
    for repo in world.repositories.values():
        for name, file in repo.files.items():
            if name.endswith(".py"):
                ast.parse(file.content.read(0, 100_000).decode(), filename=f"{repo.full_name}/{name}")
                checked += 1
    assert checked > 80


def test_no_file_is_large() -> None:
    sizes = {path: path.stat().st_size for path in WORLD.rglob("*") if path.is_file()}
    assert len(sizes) > 300
    assert [path for path, size in sizes.items() if size > 100_000] == []


def test_only_few_papers_show_an_address_that_the_world_does_not_know(world: World, truth: Truth) -> None:
    unknown = {
        arxiv_id
        for arxiv_id in truth
        for url in links(source(arxiv_id))
        if urlsplit(url).hostname not in SHARED_HOSTS and route(world, url) is None
    }
    assert len(unknown) == 1
