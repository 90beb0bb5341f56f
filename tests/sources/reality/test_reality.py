"""The ways an artifact looks available and is not, each beside a near miss that comes out otherwise.

All cases stand in one small world that is looked at twice, 25 hours apart. `met` says whether the last look alone would
make the signal true, by the rule of the labelling guide.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from pipeline.evidence import Outcome, Receipt, Signal
from pipeline.labels import Context, base_reached, meets_rule

AVAILABLE, GONE, GATED, OPEN = Outcome.AVAILABLE, Outcome.UNAVAILABLE, Outcome.GATED, Outcome.UNDETERMINED
CODE, WEIGHTS, DATA = Signal.CODE, Signal.WEIGHTS, Signal.DATA


@dataclass(frozen=True)
class Seen:
    """A probe (`tool`, or an URL for `fetch_url`), and what its second look finds. `reason` begins so."""

    at: str
    outcome: Outcome
    met: bool
    reason: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    kind: str = "model"

    @property
    def call(self) -> tuple[str, dict[str, Any]]:
        if "://" in self.at:
            return "fetch_url", {"url": self.at}
        service, _, name = self.at.partition(":")
        return ("github_repo", {"repo": name}) if service == "gh" else ("hub_repo", {"repo": name, "kind": self.kind})


@dataclass(frozen=True)
class Case:
    """`so`: it looks available and is not, or looks dead and is not known to be. `near`: what differs by a hair."""

    code: str
    signal: Signal
    so: Seen
    near: Seen


def gh(name: str, outcome: Outcome, met: bool, reason: str = "", **facts: Any) -> Seen:
    return Seen(f"gh:fog/{name}", outcome, met, reason, facts)


def hub(name: str, outcome: Outcome, met: bool, reason: str = "", kind: str = "model", **facts: Any) -> Seen:
    return Seen(f"hf:fog/{name}", outcome, met, reason, facts, kind)


def web(url: str, outcome: Outcome, met: bool, reason: str = "", **facts: Any) -> Seen:
    return Seen(f"https://{url}", outcome, met, reason, facts)


ON_GITHUB = [
    Case("readme_only", CODE, gh("words", AVAILABLE, False, readme_only=True), gh("program", AVAILABLE, True)),
    Case(
        "coming_soon",
        CODE,
        gh("soon", AVAILABLE, False, coming_soon=["coming soon"]),
        gh("soon-weights", AVAILABLE, True, coming_soon=["coming soon"]),
    ),
    Case(
        "empty_repo", CODE, gh("empty", AVAILABLE, False, "repository is empty", empty=True), gh("one", AVAILABLE, True)
    ),
    Case("skeleton", CODE, gh("frame", AVAILABLE, False), gh("framed", AVAILABLE, True)),
    Case("repo_404", CODE, gh("deleted", GONE, False, "gone: 404"), gh("busy", OPEN, False, "status_503")),
    Case(
        "repo_renamed",
        CODE,
        gh("before", AVAILABLE, True, full_name="fog/after"),
        Seen("gh:old/other", AVAILABLE, False, facts={"full_name": "new/thing", "moved_elsewhere": True}),
    ),
    Case("repo_blocked", CODE, gh("dmca", GONE, False, "gone: 451"), gh("late", OPEN, False, "timeout")),
    Case(
        "disabled",
        CODE,
        gh("disabled", GATED, False, "disabled_by_host"),
        gh("archived", AVAILABLE, True, archived=True),
    ),
    Case(
        "fork",
        CODE,
        gh("copy", AVAILABLE, True, fork_of="big/base", names_paper=[]),
        gh("own", AVAILABLE, True, fork_of=None),
    ),
    Case(
        "tree_truncated",
        CODE,
        gh("long", AVAILABLE, True, tree_truncated=False),
        gh("long-words", AVAILABLE, False, readme_only=True, tree_truncated=False),
    ),
    Case("private_submodule", CODE, gh("hollow", AVAILABLE, False), gh("wrapped", AVAILABLE, True)),
    Case("lfs_pointer", WEIGHTS, gh("pointer", AVAILABLE, False, weights_open=[]), gh("stored", AVAILABLE, True)),
    Case("release_asset", WEIGHTS, gh("uploading", AVAILABLE, False, weights_open=[]), gh("released", AVAILABLE, True)),
    Case(
        "licence_forbids",
        CODE,
        gh("unlicensed", AVAILABLE, True, license=None),
        gh("licensed", AVAILABLE, True, license="MIT"),
    ),
]

ON_HUB = [
    Case("hf_gated_auto", WEIGHTS, hub("click", GATED, False, "auto"), hub("free", AVAILABLE, True, gated=False)),
    Case("hf_gated_manual", WEIGHTS, hub("ask", GATED, False, "manual"), hub("free", AVAILABLE, True)),
    Case(
        "hf_missing",
        WEIGHTS,
        hub("none", GONE, False, "gone: missing or private"),
        hub("tired", OPEN, False, "status_503"),
    ),
    Case("hf_private", WEIGHTS, hub("secret", GONE, False, "gone: missing or private"), hub("free", AVAILABLE, True)),
    Case("hf_disabled", WEIGHTS, hub("banned", GATED, False, "disabled_by_host"), hub("free", AVAILABLE, True)),
    Case("hf_no_weights", WEIGHTS, hub("card", AVAILABLE, False, weights_open=[]), hub("free", AVAILABLE, True)),
    Case("hf_small", WEIGHTS, hub("tiny", AVAILABLE, False, weights_open=[]), hub("small", AVAILABLE, True)),
    Case("hf_empty", WEIGHTS, hub("bare", AVAILABLE, False, "0 files"), hub("free", AVAILABLE, True)),
    Case(
        "hf_lfs_pointer",
        DATA,
        hub("stub", AVAILABLE, False, kind="dataset", pointers=["fog.parquet"]),
        hub("table", AVAILABLE, True, kind="dataset"),
    ),
    Case(
        "hf_adapter_only",
        WEIGHTS,
        hub("lora-gated", AVAILABLE, False, base_open=False, base_said="fog/click: gated, auto"),
        hub("lora", AVAILABLE, True, base_open=True),
    ),
    Case(
        "hf_adapter_base_gone",
        WEIGHTS,
        hub("lora-gone", AVAILABLE, False, base_open=False),
        hub("lora-tired", AVAILABLE, False, base_open=None, unseen=["weights"]),
    ),
    Case(
        "hf_adapter_base_unnamed",
        WEIGHTS,
        hub("lora-home", AVAILABLE, False, base_open=False, base_said="no base model on the Hub is named"),
        hub("lora-told", AVAILABLE, True, base_open=True),
    ),
    Case(
        "hf_merged",
        WEIGHTS,
        hub("lora", AVAILABLE, True, adapter_only=True),
        hub("merged", AVAILABLE, True, adapter_only=False),
    ),
    Case(
        "hf_dataset_script",
        DATA,
        hub("loader-dead", AVAILABLE, False, kind="dataset", script_only=True, data_open=[]),
        hub("loader", AVAILABLE, True, kind="dataset", data_open=["https://files.fog.example.org/fog.zip"]),
    ),
    Case(
        "hf_dataset_script_walled",
        DATA,
        hub("loader-wall", AVAILABLE, False, kind="dataset", script_walls=["https://www.kaggle.com/fog/fog.zip"]),
        hub("loader-tired", AVAILABLE, False, kind="dataset", unseen=["data"]),
    ),
    Case(
        "hf_gated_data",
        DATA,
        hub("form", GATED, False, "manual", kind="dataset"),
        hub("table", AVAILABLE, True, kind="dataset"),
    ),
]

ON_DRIVES = [
    Case(
        "drive_dead",
        DATA,
        web("drive.google.com/file/d/dead/view", GONE, False, "gone: 404"),
        web("drive.google.com/file/d/good/view", AVAILABLE, True),
    ),
    Case(
        "drive_login",
        DATA,
        web("drive.google.com/file/d/mine/view", GATED, False, "signup"),
        web("drive.google.com/file/d/good/view", AVAILABLE, True),
    ),
    Case(
        "drive_access",
        DATA,
        web("drive.google.com/uc?id=asked", GATED, False, "request_access"),
        web("drive.google.com/uc?id=good", AVAILABLE, True),
    ),
    Case(
        "drive_quota",
        DATA,
        web("drive.google.com/file/d/full/view", OPEN, False, "quota"),
        web("drive.google.com/file/d/large/view", AVAILABLE, True, "offered"),
    ),
    Case(
        "drive_folder",
        DATA,
        web("drive.google.com/drive/folders/shut", GATED, False, "login"),
        web("drive.google.com/drive/folders/open?usp=sharing", AVAILABLE, True, "2 files"),
    ),
    Case(
        "drive_folder_empty",
        DATA,
        web("drive.google.com/drive/folders/void", AVAILABLE, False, "0 files", unseen=None),
        web("drive.google.com/drive/folders/nest", AVAILABLE, False, unseen=["tree"]),
    ),
    Case(
        "drive_folder_quota",
        DATA,
        web("drive.google.com/drive/folders/worn", AVAILABLE, False, unseen=["data"]),
        web("drive.google.com/drive/folders/open", AVAILABLE, True),
    ),
    Case(
        "drive_sheet",
        DATA,
        web("docs.google.com/spreadsheets/d/hidden0000/edit", GATED, False, "login"),
        web("docs.google.com/spreadsheets/d/shown00000/edit#gid=0", AVAILABLE, True),
    ),
    Case(
        "dropbox",
        DATA,
        web("www.dropbox.com/s/k1/fog.csv?dl=0", GONE, False, "gone: 404"),
        web("www.dropbox.com/s/k2/fog.csv?dl=0", AVAILABLE, True),
    ),
    Case(
        "dropbox_banned",
        DATA,
        web("www.dropbox.com/s/k3/fog.csv", OPEN, False, "quota"),
        web("www.dropbox.com/scl/fi/k4/fog.csv?rlkey=abc&dl=0", AVAILABLE, True),
    ),
    Case(
        "dropbox_without_key",
        DATA,
        web("www.dropbox.com/scl/fi/k4/fog.csv?dl=0", GATED, False, "login"),
        web("www.dropbox.com/scl/fi/k4/fog.csv?rlkey=abc", AVAILABLE, True),
    ),
    Case(
        "sharepoint",
        DATA,
        web("fog.sharepoint.com/:u:/g/lab/E1", GATED, False, "login"),
        web("fog.sharepoint.com/:u:/g/lab/E2?e=x", AVAILABLE, True),
    ),
    Case(
        "sharepoint_denied",
        DATA,
        web("fog.sharepoint.com/:x:/s/lab/E3", GATED, False, "request_access"),
        web("fog.sharepoint.com/:x:/s/lab/E4", OPEN, False, "a page instead"),
    ),
    Case(
        "onedrive",
        DATA,
        web("1drv.ms/u/s!gone", GONE, False, "gone: soft_404"),
        web("1drv.ms/u/s!busy", OPEN, False, "javascript_only"),
    ),
    Case(
        "request_form",
        DATA,
        web("forms.gle/fog", GATED, False, "request"),
        web("docs.google.com/document/d/fog/pub", AVAILABLE, False, "page read"),
    ),
]

ON_RECORD = [
    Case(
        "zenodo_restricted",
        DATA,
        web("zenodo.org/records/1", GATED, False, "restricted"),
        web("zenodo.org/records/9", AVAILABLE, True),
    ),
    Case(
        "zenodo_embargo",
        DATA,
        web("zenodo.org/records/2", GATED, False, "embargo"),
        web("zenodo.org/records/4", AVAILABLE, True),
    ),
    Case(
        "zenodo_gone",
        DATA,
        web("zenodo.org/records/3", GONE, False, "gone: 410"),
        web("zenodo.org/records/5", OPEN, False, "status_503"),
    ),
    Case(
        "zenodo_doi",
        DATA,
        web("doi.org/10.5281/zenodo.1", GATED, False, "restricted"),
        web("doi.org/10.5281/zenodo.9", AVAILABLE, True),
    ),
    Case(
        "figshare_embargo",
        DATA,
        web("figshare.com/articles/dataset/Fog/11", GATED, False, "embargo"),
        web("figshare.com/articles/dataset/Fog/12/2", AVAILABLE, True),
    ),
    Case(
        "figshare_described",
        DATA,
        web("figshare.com/articles/dataset/Fog/13", AVAILABLE, False, "0 open files"),
        web("doi.org/10.6084/m9.figshare.12.v2", AVAILABLE, True),
    ),
    Case(
        "figshare_switched_off",
        DATA,
        web("fog.figshare.com/articles/dataset/Fog/14", GATED, False, "download_disabled"),
        web("fog.figshare.com/articles/dataset/Fog/12", AVAILABLE, True),
    ),
    Case(
        "figshare_gone",
        DATA,
        web("figshare.com/articles/dataset/Fog/15", GONE, False, "gone: 404"),
        web("figshare.com/articles/dataset/Fog/16", OPEN, False, "status_503"),
    ),
    Case(
        "osf_private",
        DATA,
        web("osf.io/priv1/", GATED, False, "access_refused: 401"),
        web("osf.io/open1/", AVAILABLE, True),
    ),
    Case(
        "osf_deleted",
        DATA,
        web("osf.io/dead1", GONE, False, "gone: 410"),
        web("osf.io/busy1", OPEN, False, "rate_limited"),
    ),
    Case(
        "osf_shared",
        DATA,
        web("osf.io/priv1/?view_only=wrong", GATED, False, "access_refused: 401"),
        web("osf.io/priv1/?view_only=right", AVAILABLE, True),
    ),
    Case(
        "osf_empty",
        DATA,
        web("osf.io/void1", AVAILABLE, False, "0 open files"),
        web("doi.org/10.17605/OSF.IO/OPEN1", AVAILABLE, True),
    ),
    Case(
        "anon4open_expired",
        CODE,
        web("anonymous.4open.science/r/late-1", GONE, False, "gone: expired"),
        web("anonymous.4open.science/r/live-1/", AVAILABLE, True),
    ),
    Case(
        "anon4open_missing",
        CODE,
        web("anonymous.4open.science/r/none-1", GONE, False, "gone: repo_not_found"),
        web("anonymous.4open.science/r/slow-1", OPEN, False, "not_ready"),
    ),
    Case(
        "anon4open_led_on",
        CODE,
        web("anonymous.4open.science/r/on-words", AVAILABLE, False, leads_to="github:fog/words"),
        web("anonymous.4open.science/r/on-code", AVAILABLE, True, leads_to="github:fog/program"),
    ),
    Case(
        "anon4open_folders",
        CODE,
        web("anonymous.4open.science/r/docs-1", AVAILABLE, False, code_files=0),
        web("anonymous.4open.science/r/deep-1", AVAILABLE, True, code_files=1),
    ),
]

ON_WALLS = [
    Case(
        "signup_wall",
        DATA,
        web("www.kaggle.com/datasets/fog/graphs", GATED, False, "signup"),
        web("kaggle.fog.example.org/datasets/graphs.csv", AVAILABLE, True),
    ),
    Case(
        "signup_imagenet",
        DATA,
        web("www.image-net.org/download.php", GATED, False, "signup"),
        web("fog.example.org/image-net.org/fog.csv", AVAILABLE, True),
    ),
    Case(
        "credentialed",
        DATA,
        web("physionet.org/content/foggy/1.0/", GATED, False, "credentialed"),
        web("physionet.org/content/clear/1.0/", AVAILABLE, True),
    ),
    Case(
        "credentialed_files",
        DATA,
        web("physionet.org/files/foggy/1.0/fog.csv", GATED, False, "credentialed"),
        web("physionet.org/files/broken/1.0/fog.csv", OPEN, False, "forbidden: 403"),
    ),
    Case(
        "paywall",
        DATA,
        web("journal.example.org/article", GATED, False, "paywall"),
        web("journal.example.org/free", AVAILABLE, False, "page read"),
    ),
    Case(
        "paywall_402",
        DATA,
        web("journal.example.org/pay", GATED, False, "payment_required"),
        web("journal.example.org/robots", OPEN, False, "forbidden: 403"),
    ),
    Case(
        "baidu_pan",
        DATA,
        web("pan.baidu.com/s/1fog", GATED, False, "extraction-code"),
        web("mirror.example.org/pan.baidu.com/fog.csv", AVAILABLE, True),
    ),
    Case(
        "quark",
        DATA,
        web("pan.quark.cn/s/1fog", GATED, False, "extraction-code"),
        web("mirror.example.org/pan.quark.cn/fog.csv", AVAILABLE, True),
    ),
    Case(
        "pan_123",
        DATA,
        web("www.123pan.com/s/1fog", GATED, False, "extraction-code"),
        web("mirror.example.org/123pan/fog.csv", AVAILABLE, True),
    ),
]

ON_PAGES = [
    Case(
        "soft_404",
        DATA,
        web("fog.example.org/lost", GONE, False, "gone: soft_404", soft_404=True),
        web("fog.example.org/about-404-errors", AVAILABLE, False, "page read", soft_404=False),
    ),
    Case(
        "soft_404_file",
        DATA,
        web("fog.example.org/lost.zip", GONE, False, "gone: soft_404"),
        web("fog.example.org/fog.csv", AVAILABLE, True),
    ),
    Case(
        "soft_404_sibling",
        DATA,
        web("any.example.org/data/fog", OPEN, False, "same_page_for_any_path", soft_404=True),
        web("own.example.org/data/fog", AVAILABLE, True, "page read", soft_404=False),
    ),
    Case(
        "soft_404_root",
        DATA,
        web("moved.example.org/old", OPEN, False, "redirected_to_root"),
        web("moved.example.org/older", AVAILABLE, False, "page read"),
    ),
    Case(
        "login_200",
        DATA,
        web("fog.example.org/members", GATED, False, "login"),
        web("fog.example.org/blog", AVAILABLE, False, "page read"),
    ),
    Case(
        "login_redirect",
        DATA,
        web("fog.example.org/sso", GATED, False, "login"),
        web("fog.example.org/hop", AVAILABLE, True),
    ),
    Case(
        "parked",
        DATA,
        web("sold.example.org/code", OPEN, False, "parked"),
        web("moved.example.org/lab", AVAILABLE, False, "page read"),
    ),
    Case(
        "parked_page",
        DATA,
        web("sale.example.org/", OPEN, False, "parked"),
        web("names.example.org/", AVAILABLE, False, "page read"),
    ),
    Case(
        "parker",
        DATA,
        web("auction.example.org/code", OPEN, False, "parked"),
        web("auction.example.org/house", AVAILABLE, False, "page read", astray=None),
    ),
    Case(
        "drift",
        DATA,
        web("lab.github.io/fog", AVAILABLE, False, "page read", astray=True),
        web("lab.github.io/dog", AVAILABLE, False, "page read", astray=None),
    ),
    Case(
        "waf_202",
        DATA,
        web("waf.example.org/fog", OPEN, False, "javascript_only"),
        web("waf.example.org/dog", AVAILABLE, False, "page read"),
    ),
    Case(
        "dns",
        DATA,
        web("nowhere.example.org/fog.csv", GONE, False, "gone: nxdomain"),
        web("reset.example.org/fog.csv", OPEN, False, "reset"),
    ),
    Case(
        "refused",
        DATA,
        web("refused.example.org/fog.csv", GONE, False, "gone: refused"),
        web("slow.example.org/fog.csv", OPEN, False, "timeout"),
    ),
    Case(
        "tls", DATA, web("tls.example.org/fog.csv", OPEN, False, "tls"), web("fog.example.org/fog.csv", AVAILABLE, True)
    ),
    Case(
        "ua_blocked",
        DATA,
        web("cf.example.org/fog.csv", OPEN, False, "challenge"),
        web("cf.example.org/open.csv", AVAILABLE, True),
    ),
    Case(
        "ua_blocked_503",
        DATA,
        web("cf.example.org/wait", OPEN, False, "challenge"),
        web("cf.example.org/plain", AVAILABLE, False, "page read"),
    ),
    Case(
        "rate_limited",
        DATA,
        web("fog.example.org/often.csv", OPEN, False, "rate_limited"),
        web("fog.example.org/fog.csv", AVAILABLE, True),
    ),
    Case(
        "page_for_file",
        DATA,
        web("fog.example.org/page-of-data", AVAILABLE, False, data_open=[]),
        web("own.example.org/data/fog", AVAILABLE, True),
    ),
]
FAMILIES = {
    "github": ON_GITHUB,
    "hub": ON_HUB,
    "drives": ON_DRIVES,
    "record": ON_RECORD,
    "walls": ON_WALLS,
    "pages": ON_PAGES,
}
SLOW = ("github",)
"""Families whose classes have default tests of their own (`test_probes_github.py`)."""


def marks(family: str) -> tuple[pytest.MarkDecorator, ...]:
    return (pytest.mark.slow,) if family in SLOW else ()


EACH = [pytest.param(name, marks=marks(name)) for name in FAMILIES]
CASES = [
    pytest.param(name, case, id=case.code, marks=marks(name)) for name, cases in FAMILIES.items() for case in cases
]


Looks = Mapping[str, tuple[Receipt, Receipt]]


@pytest.fixture
def seen(looks: Callable[..., Looks], family: str) -> Looks:
    return looks(family, {s.at: s.call for case in FAMILIES[family] for s in (case.so, case.near)})


@pytest.mark.parametrize(("family", "case"), CASES)
def test_what_looks_available_is_told_from_what_is(seen: Looks, case: Case) -> None:
    assert found(seen, case.so, case.signal) == expected(case.so)
    assert found(seen, case.near, case.signal) == expected(case.near)
    assert (case.so.outcome, case.so.met, case.so.facts) != (case.near.outcome, case.near.met, case.near.facts)


def expected(seen: Seen) -> tuple[Any, ...]:
    return seen.outcome, seen.met, seen.reason, dict(seen.facts)


def found(looks: Looks, wanted: Seen, signal: Signal) -> tuple[Any, ...]:
    receipt = looks[wanted.at][1]
    met = meets_rule(signal, receipt, Context()) or (signal is WEIGHTS and base_reached(receipt, [receipt]))
    facts = {name: receipt.facts.get(name) for name in wanted.facts}
    return receipt.outcome, met, receipt.reason[: len(wanted.reason)], facts


@pytest.mark.parametrize("family", EACH)
def test_nothing_is_gone_at_the_first_look_and_trouble_is_never_gone(seen: Looks) -> None:
    for at, (first, second) in seen.items():
        assert first.outcome is not GONE, at
        if second.outcome is GONE:
            assert (first.outcome, first.reason[:9]) == (OPEN, "gone_once"), at
        else:
            assert (first.outcome, first.reason) == (second.outcome, second.reason), at


@pytest.mark.parametrize("family", EACH)
def test_no_signal_is_met_by_what_is_not_available(seen: Looks) -> None:
    receipts = [receipt for pair in seen.values() for receipt in pair if receipt.outcome is not AVAILABLE]
    assert receipts
    for receipt in receipts:
        assert not any(meets_rule(signal, receipt, Context()) for signal in Signal)
