"""Probes of GitHub: a README is not code, a listing is not bytes, trouble is not absence."""

from __future__ import annotations

import time
from typing import Any

import pytest

from pipeline.evidence import Outcome, Signal
from pipeline.labels import Claim, Context, label
from pipeline.sources.github_bytes import homes

README = "# Lantern Attention for Foggy Graphs\nSee https://huggingface.co/fog/lantern-7b. arXiv:2505.00001v2\n"
PROGRAM = "print('foggy graphs with lanterns')\n" * 3
CODE = {"README.md": README, "train.py": PROGRAM, "evaluate.py": PROGRAM, "LICENSE": "MIT\n"}


def test_a_repository_with_code_says_what_it_holds(town: Any) -> None:
    town.repo("fog/lantern", CODE, license="MIT", description="Foggy graphs", head_commit="c" * 40)
    receipt, content = town.probes().github_repo("https://github.com/Fog/Lantern.git")
    facts = receipt.facts
    assert (receipt.outcome, receipt.subject) == (Outcome.AVAILABLE, "github:fog/lantern")
    assert facts["code_files"] == 2
    assert facts["train_entries"] == ["train.py"]
    assert facts["eval_entries"] == ["evaluate.py"]
    assert facts["names_paper"] == ["title", "arxiv"]
    assert facts["readme_links"] == ["https://huggingface.co/fog/lantern-7b"]
    assert (facts["commit"], facts["license"], facts["authenticated"]) == ("c" * 40, "MIT", False)
    assert not facts["readme_only"]
    assert "Lantern Attention" in content["readme"]
    context = Context(groups=(frozenset({receipt.subject}),))
    assert label(Claim(signal=Signal.CODE, value=False), [receipt], context).value is True


@pytest.mark.parametrize(
    ("files", "fact"),
    [
        ({"README.md": "# Lantern\nCode coming soon!\n", "LICENSE": "MIT\n", "assets/teaser.png": 4000}, "readme_only"),
        ({"index.html": "<html></html>", "static/js/bulma.js": "x", "static/css/a.css": "y"}, "website_only"),
    ],
)
def test_a_repository_without_code_is_reachable_but_holds_none(town: Any, files: dict[str, Any], fact: str) -> None:
    town.repo("fog/lantern", files)
    receipt, _ = town.probes().github_repo("fog/lantern")
    assert receipt.outcome is Outcome.AVAILABLE
    assert receipt.facts["code_files"] == 0
    assert receipt.facts[fact]
    context = Context(groups=(frozenset({receipt.subject}),))
    assert label(Claim(signal=Signal.CODE, value=True), [receipt], context).value is not True


def test_a_file_of_one_comment_is_no_code(town: Any) -> None:
    town.repo("fog/lantern", {"README.md": README, "train.py": "# code will follow soon\n"})
    facts = town.probes().github_repo("fog/lantern").receipt.facts
    assert (facts["code_files"], facts["train_entries"], facts["readme_only"]) == (0, [], True)


def test_promises_are_quoted(town: Any) -> None:
    town.repo("fog/lantern", {"README.md": "Code will be released upon acceptance. Stay tuned!\n"})
    facts = town.probes().github_repo("fog/lantern").receipt.facts
    assert facts["coming_soon"] == ["will be released", "upon acceptance", "stay tuned"]


def test_an_empty_repository_holds_nothing(town: Any) -> None:
    town.repo("fog/lantern", {}, empty=True)
    receipt, _ = town.probes().github_repo("fog/lantern")
    assert (receipt.outcome, receipt.facts["empty"], receipt.facts["code_files"]) == (Outcome.AVAILABLE, True, 0)


@pytest.mark.parametrize("state", ["missing", "private", "blocked"])
def test_a_closed_repository_is_gone_only_at_the_second_look(town: Any, state: str) -> None:
    town.repo("fog/lantern", CODE, **{state: True})
    first = town.probes().github_repo("fog/lantern").receipt
    assert (first.outcome, first.reason[:9]) == (Outcome.UNDETERMINED, "gone_once")
    assert town.probes().github_repo("fog/lantern").receipt.outcome is Outcome.UNDETERMINED
    second = town.a_day_later().github_repo("fog/lantern").receipt
    assert (second.outcome, second.reason[:5]) == (Outcome.UNAVAILABLE, "gone:")
    context = Context(groups=(frozenset({first.subject}),))
    claim = Claim(signal=Signal.CODE, value=True)
    assert label(claim, [first], context).value is None
    assert label(claim, [first, second], context).value is False


def test_a_renamed_repository_is_followed_and_both_names_are_kept(town: Any) -> None:
    town.repo("old/name", {}, renamed_to="fog/lantern")
    town.repo("fog/lantern", CODE)
    receipt, _ = town.probes().github_repo("old/name")
    assert receipt.subject == "github:fog/lantern"
    assert (receipt.facts["asked"], receipt.facts["full_name"]) == ("old/name", "fog/lantern")


@pytest.mark.parametrize(
    ("asked", "text", "elsewhere"),
    [
        ("old/name", "# Cheese graders", True),
        ("old/name", README, None),
        ("old/lantern", "# Cheese", None),
        ("fog/name", "# Cheese", None),
    ],
)
@pytest.mark.parametrize("tool", ["github_repo", "github_tree"])
def test_a_place_of_another_owner_and_name_that_does_not_name_the_paper_is_told(
    town: Any, asked: str, text: str, elsewhere: bool | None, tool: str
) -> None:
    town.repo(asked, {}, renamed_to="fog/lantern")
    town.repo("fog/lantern", {**CODE, "README.md": text})
    receipt = town.probes().call(tool, {"repo": asked}).receipt
    assert receipt.outcome is Outcome.AVAILABLE
    assert receipt.facts.get("moved_elsewhere") is elsewhere


def test_archives_and_forks_are_told(town: Any) -> None:
    town.repo("up/stream", CODE)
    town.repo("fog/lantern", CODE, archived=True, fork_of="up/stream")
    facts = town.probes().github_repo("fog/lantern").receipt.facts
    assert (facts["archived"], facts["fork_of"]) == (True, "up/stream")


def test_a_truncated_tree_is_walked_before_anything_is_absent(town: Any) -> None:
    files = {f"assets/{n:03}.png": 500 for n in range(40)} | {"src/run/train.py": PROGRAM, "README.md": README}
    town.repo("fog/lantern", files, truncated=True)
    facts = town.probes().github_repo("fog/lantern").receipt.facts
    assert facts["train_entries"] == ["src/run/train.py"]
    assert (facts["files"], facts["tree_truncated"], facts["unseen"]) == (42, False, [])


def test_submodules_are_told(town: Any) -> None:
    town.repo("fog/lantern", CODE, submodules=[{"path": "core", "url": "https://github.com/fog/secret"}])
    assert [m["path"] for m in town.probes().github_repo("fog/lantern").receipt.facts["submodules"]] == ["core"]


def test_weights_count_when_a_stranger_gets_bytes(town: Any) -> None:
    town.repo("fog/lantern", {**CODE, "weights/lantern.pt": 3_000_000, "weights/toy.pt": 900_000})
    facts = town.probes().github_repo("fog/lantern").receipt.facts
    assert facts["weights_open"] == ["weights/lantern.pt"]
    assert facts["weight_files"][0] == {"path": "weights/lantern.pt", "size": 3_000_000}


def test_small_weights_are_none(town: Any) -> None:
    town.repo("fog/lantern", {**CODE, "weights/toy.pt": 900_000})
    assert town.probes().github_repo("fog/lantern").receipt.facts["weights_open"] == []


@pytest.mark.parametrize(("status", "opened"), [(200, ["weights/big.pt"]), (403, [])])
def test_an_lfs_pointer_counts_only_if_the_media_host_gives_bytes(town: Any, status: int, opened: list[str]) -> None:
    town.repo("fog/lantern", CODE, lfs={"weights/big.pt": 50_000_000}, media={"media_status": status})
    facts = town.probes().github_repo("fog/lantern").receipt.facts
    assert facts["lfs_pointers"] == ["weights/big.pt"]
    assert facts["weights_open"] == opened


def test_a_release_asset_counts_when_its_upload_is_complete(town: Any) -> None:
    asset = {"name": "lantern-checkpoint.zip", "size": 20_000_000}
    town.repo("fog/lantern", CODE, releases=[{"tag": "v1", "assets": [asset]}])
    town.repo("fog/half", CODE, releases=[{"tag": "v1", "assets": [{**asset, "state": "starter"}]}])
    probes = town.probes()
    assert probes.github_repo("fog/lantern").receipt.facts["weights_open"] == ["release v1: lantern-checkpoint.zip"]
    assert probes.github_repo("fog/half").receipt.facts["weights_open"] == []


def test_code_that_makes_its_data_is_told_and_code_that_fetches_it_is_not(town: Any) -> None:
    town.repo("fog/lantern", {**CODE, "scripts/generate_dataset.py": PROGRAM, "scripts/download_data.py": PROGRAM})
    facts = town.probes().github_repo("fog/lantern").receipt.facts
    assert facts["construction_scripts"] == ["scripts/generate_dataset.py"]


@pytest.mark.parametrize(
    "failing",
    [
        {"status": 503, "times": 99},
        {"status": 429, "times": 99},
        {"status": 403, "times": 99},
        {"fault": "timeout", "times": 99},
    ],
)
def test_trouble_is_undetermined_even_after_many_looks(town: Any, failing: dict[str, Any]) -> None:
    town.repo("fog/lantern", CODE, fail_first=failing)
    assert town.probes().github_repo("fog/lantern").receipt.outcome is Outcome.UNDETERMINED
    assert town.a_day_later().github_repo("fog/lantern").receipt.outcome is Outcome.UNDETERMINED


def test_trouble_that_passes_is_waited_out(town: Any) -> None:
    town.repo("fog/lantern", CODE, fail_first={"status": 429, "times": 1, "retry_after": 60})
    assert town.probes().github_repo("fog/lantern").receipt.outcome is Outcome.AVAILABLE


def test_what_a_world_does_not_know_is_undetermined(town: Any) -> None:
    receipt, _ = town.probes().github_repo("nobody/knows")
    assert (receipt.outcome, receipt.reason) == (Outcome.UNDETERMINED, "unreachable")


def test_a_tree_lists_a_folder_and_knows_the_whole(town: Any) -> None:
    town.repo("fog/lantern", {**CODE, "src/a.py": PROGRAM, "src/b/c.py": PROGRAM})
    receipt, content = town.probes().github_tree("fog/lantern", "src")
    assert [e["path"] for e in content["entries"]] == ["src/a.py", "src/b/c.py"]
    assert receipt.facts["code_files"] == 4


def test_a_file_is_text_and_a_notebook_its_cells(town: Any) -> None:
    notebook = '{"cells": [{"cell_type": "code", "source": ["train(model)"], "outputs": []}]}'
    town.repo("fog/lantern", {**CODE, "demo.ipynb": notebook})
    probes = town.probes()
    assert probes.github_file("fog/lantern", "train.py").content["text"] == PROGRAM
    text = probes.github_file("fog/lantern", "demo.ipynb").content["text"]
    assert "train(model)" in text
    assert "cell_type" not in text


def test_a_missing_file_says_nothing_about_its_repository(town: Any) -> None:
    town.repo("fog/lantern", CODE)
    for probes in (town.probes(), town.a_day_later()):
        receipt, _ = probes.github_file("fog/lantern", "nope.py")
        assert receipt.outcome is Outcome.UNDETERMINED


def test_an_empty_search_is_complete_and_one_without_a_token_is_not(town: Any) -> None:
    town.repo("fog/lantern", CODE, description="foggy graphs")
    probes = town.probes()
    found = probes.github_search_repositories("foggy graphs").receipt
    assert (found.outcome, found.facts["complete"], found.facts["results"]) == (
        Outcome.AVAILABLE,
        True,
        ["fog/lantern"],
    )
    nothing = probes.github_search_repositories("zebra").receipt
    assert (nothing.facts["complete"], nothing.facts["results"]) == (True, [])
    code = probes.github_search_code("train").receipt
    assert (code.outcome, code.facts["complete"]) == (Outcome.UNDETERMINED, False)
    with_token = town.probes(github_token="ghp_" + "x" * 36).github_search_code("train").receipt
    assert with_token.facts["complete"]
    assert with_token.facts["authenticated"]


def test_one_query_has_one_spelling_and_a_search_names_what_it_found(town: Any) -> None:
    for number in range(25):
        town.repo(f"fog/lantern-{number:02}", {"train.py": "foggy"}, description="foggy graphs")
        town.hub(f"fog/lantern-{number:02}", {"config.json": "{}"})
    probes = town.probes(github_token="ghp_" + "x" * 36)
    for made in (
        probes.github_search_repositories("  Foggy \n GRAPHS"),
        probes.github_search_code("Foggy"),
        probes.hub_search("LANTERN"),
    ):
        facts = made.receipt.facts
        assert facts["query"] in ("foggy graphs", "foggy", "lantern")
        assert len(facts["results"]) == len(set(facts["results"])) == 20
        assert all(name.startswith("fog/lantern-") for name in facts["results"])
    refused = town.probes().github_search_code("Foggy").receipt.facts
    assert (refused["query"], refused["complete"]) == ("foggy", False)


def test_with_a_token_access_is_still_shown_as_a_stranger(town: Any) -> None:
    town.repo("fog/lantern", CODE)
    probes = town.probes(github_token="ghp_" + "x" * 36)
    receipt, _ = probes.github_repo("fog/lantern")
    exchanges = [probes._recorder.record.get_exchange(id_) for id_ in receipt.exchanges]
    assert {e.authenticated for e in exchanges} == {True, False}
    assert all(e.url.startswith("https://raw.githubusercontent.com/") for e in exchanges if not e.authenticated)
    assert receipt.facts["authenticated"] is False


TOKEN = "ghp_" + "x" * 36
RAW, PAGE = "//raw.githubusercontent.com", "//github.com/fog/core"


@pytest.mark.parametrize("status", [0, 403, 429, 500, 503])
def test_one_failed_look_as_a_stranger_is_neither_public_nor_private(town: Any, status: int) -> None:
    town.repo("fog/lantern", CODE)
    way = town.troubled(**{RAW: status})
    facts = town.probes(github_token=TOKEN, transport=way).github_repo("fog/lantern").receipt.facts
    assert facts["code_files"] == 2
    assert (facts["authenticated"], facts["unseen"]) == (True, ["raw"])


def test_what_only_a_token_sees_is_not_public(town: Any) -> None:
    town.repo("fog/lantern", {**CODE, "empty.py": ""})
    way = town.troubled(**{RAW: 404})
    facts = town.probes(github_token=TOKEN, transport=way).github_repo("fog/lantern").receipt.facts
    assert (facts["authenticated"], facts["unseen"]) == (True, [])


@pytest.mark.parametrize(
    ("files", "lfs", "fact"),
    [
        ({"lantern.safetensors": 3_000_000}, {}, "weights_open"),
        ({"data/fog.csv": 5_000}, {}, "data_open"),
        ({}, {"weights/big.pt": 50_000_000}, "weights_open"),
        ({"__init__.py": "", "README.md": "hello"}, {}, "files"),
    ],
)
def test_with_a_token_a_repository_without_code_is_public_by_its_bytes(
    town: Any, files: dict[str, Any], lfs: dict[str, int], fact: str
) -> None:
    town.repo("fog/lantern", files, lfs=lfs)
    receipt = town.probes(github_token=TOKEN).github_repo("fog/lantern").receipt
    assert receipt.facts[fact]
    assert (receipt.facts["authenticated"], receipt.facts["unseen"]) == (False, [])


@pytest.mark.parametrize(("path", "kind"), [("weights/big.pt", "weights"), ("data/big.csv", "data")])
def test_a_pointer_that_could_not_be_read_is_not_seen(town: Any, path: str, kind: str) -> None:
    town.repo("fog/lantern", CODE, lfs={path: 50_000_000})
    way = town.troubled(**{RAW: 503})
    facts = town.probes(transport=way).github_repo("fog/lantern").receipt.facts
    assert (facts[f"{kind}_open"], facts["unseen"]) == ([], [kind])


CORE = {"path": "core", "url": "https://github.com/fog/core.git"}


@pytest.mark.parametrize(
    ("status", "reached"), [(200, True), (404, False), (0, None), (403, None), (429, None), (502, None)]
)
@pytest.mark.parametrize("token", ["", TOKEN])
def test_a_submodule_is_reached_or_not_or_nobody_knows(
    town: Any, status: int, reached: bool | None, token: str
) -> None:
    town.repo("fog/lantern", CODE, submodules=[CORE])
    way = town.troubled(**{PAGE: status})
    facts = town.probes(github_token=token, transport=way).github_repo("fog/lantern").receipt.facts
    assert [m["reached"] for m in facts["submodules"]] == [reached]
    assert facts["unseen"] == ([] if reached is not None else ["submodules"])


@pytest.mark.parametrize(("state", "reached"), [({}, True), ({"private": True}, False)])
def test_submodules_are_asked_for_as_a_stranger(town: Any, state: dict[str, Any], reached: bool) -> None:
    town.repo("fog/core", CODE, **state)
    town.repo("fog/lantern", CODE, submodules=[CORE])
    probes = town.probes(github_token=TOKEN)
    receipt = probes.github_repo("fog/lantern").receipt
    asked = [probes._recorder.record.get_exchange(id_) for id_ in receipt.exchanges]
    assert [e.authenticated for e in asked if e.url.endswith("fog/core")] == [False]
    assert [m["reached"] for m in receipt.facts["submodules"]] == [reached]


def test_submodules_whose_homes_could_not_be_read_are_not_seen(town: Any) -> None:
    town.repo("fog/lantern", CODE, submodules=[CORE])
    way = town.troubled(**{".gitmodules": 503})
    facts = town.probes(transport=way).github_repo("fog/lantern").receipt.facts
    assert [m["reached"] for m in facts["submodules"]] == [None]
    assert facts["unseen"] == ["submodules"]


@pytest.mark.parametrize("repo", ["", "no-slash", "a/b/../c d", "../..", "a/", "/b", "a b/c", "\u0000/x", "a" * 5000])
def test_a_bad_argument_is_no_evidence(town: Any, repo: str) -> None:
    for tool in ("github_repo", "github_tree"):
        receipt, _ = town.probes().call(tool, {"repo": repo})
        assert receipt.outcome is Outcome.UNDETERMINED
    assert town.probes().call("github_repo", {"repo": 7}).receipt.reason.startswith("invalid_argument")


@pytest.mark.parametrize(
    ("url", "status", "body", "reached"),
    [
        ("https://gitlab.example.org/fog/core.git", 200, "a repository", True),
        ("git@gitlab.example.org:fog/core.git", 200, "a repository", True),
        ("https://gitlab.example.org/fog/core.git", 404, "", False),
        ("https://gitlab.example.org/fog/core.git", 503, "", None),
        (
            "https://gitlab.example.org/fog/core.git",
            200,
            '<html><title>Sign in</title><input type="password"></html>',
            False,
        ),
        ("git://gitlab.example.org/fog/core.git", 200, "a repository", None),
        ("http://[::1", 200, "a repository", None),
    ],
)
def test_a_submodule_of_another_host_is_asked_for(
    town: Any, url: str, status: int, body: str, reached: bool | None
) -> None:
    town.site("gitlab.example.org", {"path": "/fog/core.git", "status": status, "body": body})
    town.repo("fog/lantern", CODE, submodules=[{"path": "core", "url": url}])
    facts = town.probes().github_repo("fog/lantern").receipt.facts
    assert [m["reached"] for m in facts["submodules"]] == [reached]
    assert facts["unseen"] == ([] if reached is not None else ["submodules"])


def test_a_list_of_submodules_is_read_in_a_moment_whatever_it_holds() -> None:
    started = time.monotonic()
    for text in ("path=" * 13_000, "path=path=" * 6_500 + " url", "path = " + " " * 65_000 + "\nurl" + " " * 65_000):
        assert homes(text) == {}
    assert time.monotonic() - started < 1
    assert homes('[submodule "a"]\n\turl = ../b.git\n\tpath = x/a\n') == {"x/a": "../b.git"}
