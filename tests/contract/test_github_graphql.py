"""GitHub's GraphQL API, driven by PyGithub on the recorder: one test per row of the wire table.

With `--live` and a token in GITHUB_TOKEN the same tests meet the real service.
"""

import json
import os
from datetime import UTC, datetime

import github
import pytest

from pipeline.sources.clients import github_client
from pipeline.sources.clocks import SimulatedClock, SystemClock
from pipeline.sources.github_batches import look_up
from pipeline.sources.github_lookup import READMES, Question, call_of
from pipeline.sources.github_tokens import Tokens
from pipeline.sources.recorder import Recorder
from pipeline.store import Store

OFFLINE = pytest.mark.usefixtures("offline_only")


@pytest.fixture
def recorder(tmp_path, transport, live):
    clock = SystemClock() if live else SimulatedClock(datetime(2026, 12, 1, tzinfo=UTC))
    return Recorder(Store(tmp_path / "store"), clock, run="run", epoch="epoch", transport=transport)


@pytest.fixture
def tokens(live):
    found = Tokens.from_environment(os.environ) if live else Tokens.of("ghp_" + "x" * 36)
    if not found:
        pytest.skip("GraphQL answers nobody without a token: set GITHUB_TOKEN")
    return found


@pytest.fixture
def ask(recorder, tokens):
    """A query's answer as it came: PyGithub's own `graphql_query` raises on the errors that stand beside data."""
    requester = github_client(recorder, tokens).requester

    def asked(query, **variables):
        status, headers, text = requester.requestJson(
            "POST", requester.graphql_url, input={"query": query, "variables": variables}
        )
        return status, headers, json.loads(text)

    return asked


def by_name(name):
    owner, _, name = name.partition("/")
    return {"o": owner, "n": name}


HEAD = "query($o: String!, $n: String!) { r: repository(owner: $o, name: $n) "


def test_a_repository_tells_its_head_licence_root_and_readme_in_one_call(ask, subjects):
    status, headers, told = ask(
        **call_of([Question(subjects.repository.lower())])["variables"]
        | {"query": call_of([Question(subjects.repository.lower())])["query"]}
    )
    node = told["data"]["r0"]
    assert (status, "errors" in told) == (200, False)
    assert node["nameWithOwner"] == subjects.repository
    assert node["licenseInfo"]["spdxId"] == subjects.license
    assert (node["isArchived"], node["isDisabled"], node["isEmpty"]) == (False, False, False)
    commit = node["defaultBranchRef"]["target"]
    assert len(commit["oid"]) == 40
    entries = {entry["name"]: entry for entry in commit["tree"]["entries"]}
    assert {entry["type"] for entry in entries.values()} <= {"blob", "tree", "commit"}
    assert all(isinstance(entry["size"], int) and len(entry["oid"]) == 40 for entry in entries.values())
    readmes = [node[f"readme{n}"] for n, _ in enumerate(READMES)]
    assert any(readme and readme["text"] and not readme["isTruncated"] for readme in readmes)
    assert None in readmes  # a file that is not there is null, and no error
    assert isinstance(node["diskUsage"], int)
    assert {"totalCount", "nodes"} == node["releases"].keys()
    assert headers["x-ratelimit-resource"] == "graphql"
    assert int(headers["x-ratelimit-limit"]) >= 5000


def test_a_missing_repository_is_an_error_at_its_path_beside_the_data_of_the_others(ask, subjects):
    there, missing = by_name(subjects.repository), by_name(subjects.missing_repository)
    query = (
        "query($o: String!, $n: String!, $p: String!, $m: String!) "
        "{ a: repository(owner: $p, name: $m) { name } b: repository(owner: $o, name: $n) { name } }"
    )
    status, _, told = ask(query, **there, p=missing["o"], m=missing["n"])
    assert status == 200
    assert told["data"]["a"] is None
    assert told["data"]["b"]["name"].lower() == there["n"]
    (error,) = told["errors"]
    assert (error["type"], error["path"]) == ("NOT_FOUND", ["a"])
    assert error["message"].startswith("Could not resolve to a Repository with the name")


def test_a_renamed_repository_answers_under_its_new_name(ask, subjects):
    _, _, told = ask(HEAD + "{ nameWithOwner } }", **by_name(subjects.renamed))
    assert told["data"]["r"]["nameWithOwner"] == subjects.renamed_now


def test_history_until_a_date_gives_the_newest_commit_by_then(ask, subjects):
    query = (
        "query($o: String!, $n: String!, $u: GitTimestamp!) { r: repository(owner: $o, name: $n) { defaultBranchRef "
        "{ target { ... on Commit { oid history(first: 1, until: $u) { nodes { oid committedDate } } } } } } }"
    )
    _, _, told = ask(query, **by_name(subjects.repository), u="2025-01-01T00:00:00Z")
    target = told["data"]["r"]["defaultBranchRef"]["target"]
    (then,) = target["history"]["nodes"]
    assert then["oid"] != target["oid"]
    assert then["committedDate"] <= "2025-01-01T00:00:00Z"
    _, _, told = ask(query, **by_name(subjects.repository), u="1999-01-01T00:00:00Z")
    assert told["data"]["r"]["defaultBranchRef"]["target"]["history"]["nodes"] == []


def test_a_connection_needs_a_page_size_of_one_to_a_hundred(ask, subjects):
    for size, kind in (("", "MISSING_PAGINATION_BOUNDARIES"), ("(first: 101)", "EXCESSIVE_PAGINATION")):
        _, _, told = ask(
            HEAD + f"{{ releases{size} {{ totalCount nodes {{ tagName }} }} }} }}", **by_name(subjects.repository)
        )
        assert [error["type"] for error in told["errors"]] == [kind]


def test_a_call_for_more_than_half_a_million_nodes_is_refused(ask, subjects):
    inner = "releases(first: 100) { nodes { releaseAssets(first: 100) { nodes { name } } } }"
    many = " ".join(f"r{n}: repository(owner: $o, name: $n) {{ {inner} }}" for n in range(50))
    _, _, told = ask(f"query($o: String!, $n: String!) {{ {many} }}", **by_name(subjects.repository))
    assert told["errors"][0]["type"] == "MAX_NODE_LIMIT_EXCEEDED"
    assert not told.get("data")


def test_an_unknown_field_is_an_error_without_data(ask, subjects):
    status, _, told = ask(HEAD + "{ fullName } }", **by_name(subjects.repository))
    assert status == 200
    assert "fullName" in told["errors"][0]["message"]
    assert not told.get("data")


def test_the_rate_limit_tells_what_a_call_costs(ask, subjects):
    batch = call_of([Question(subjects.repository.lower(), until) for until in ("", "2025-01-01T00:00:00Z")] * 25)
    query = batch["query"].replace("{ r0:", "{ rateLimit { cost nodeCount remaining resetAt } r0:", 1)
    _, headers, told = ask(query, **batch["variables"])
    limit = told["data"]["rateLimit"]
    assert 1 <= limit["cost"] <= 10
    assert limit["nodeCount"] < 5_000
    assert limit["resetAt"].endswith("Z")
    assert int(headers["x-ratelimit-remaining"]) <= 5_000 - limit["cost"] or int(headers["x-ratelimit-limit"]) > 5_000


def test_nobody_is_answered_without_a_token(recorder):
    requester = github_client(recorder, Tokens()).requester
    status, _, text = requester.requestJson("POST", requester.graphql_url, input={"query": "{ rateLimit { cost } }"})
    assert status in (401, 403)
    assert "data" not in json.loads(text)


@OFFLINE
def test_a_spent_budget_is_told_in_a_success_with_nothing_remaining(web):
    body = {"query": '{ repository(owner: "lumen-lab", name: "rationed") { name } }'}
    answer = web.post("https://api.github.com/graphql", json=body, headers={"authorization": "Bearer x"})
    assert answer.status_code == 200
    assert answer.json()["errors"][0]["type"] == "RATE_LIMIT"
    assert answer.headers["x-ratelimit-remaining"] == "0"
    again = web.post("https://api.github.com/graphql", json=body, headers={"authorization": "Bearer x"})
    assert again.json() == {"data": {"repository": {"name": "rationed"}}}


@OFFLINE
def test_what_became_of_a_repository(ask):
    def told(name, fields="isEmpty isArchived isFork parent { nameWithOwner } defaultBranchRef { name }"):
        _, _, answer = ask(HEAD + f"{{ {fields} }} }}", **by_name(name))
        return answer

    assert told("lumen-lab/secret")["errors"][0]["type"] == "NOT_FOUND"
    assert told("lumen-lab/blocked")["errors"][0]["type"] == "FORBIDDEN"
    assert "type" not in told("nobody/knows")["errors"][0]
    empty = told("lumen-lab/empty")["data"]["r"]
    assert (empty["isEmpty"], empty["defaultBranchRef"]) == (True, None)
    fork = told("lumen-lab/fork")["data"]["r"]
    assert (fork["isArchived"], fork["isFork"], fork["parent"]["nameWithOwner"]) == (True, True, "lumen-lab/tideformer")


@OFFLINE
def test_a_submodule_is_an_entry_with_an_address_and_an_lfs_file_its_pointer(ask):
    fields = 'object(expression: "HEAD:") { ... on Tree { entries { name type mode submodule { gitUrl } } } }'
    waves = 'object(expression: "HEAD:third_party") { ... on Tree { entries { name type mode submodule { gitUrl } } } }'
    blob = 'object(expression: "HEAD:weights/model.safetensors") { ... on Blob { text byteSize isBinary } }'
    name = by_name("lumen-lab/tideformer")
    root = ask(HEAD + f"{{ {fields} }} }}", **name)[2]["data"]["r"]["object"]["entries"]
    assert {entry["name"]: entry["type"] for entry in root}["third_party"] == "tree"
    (entry,) = ask(HEAD + f"{{ {waves} }} }}", **name)[2]["data"]["r"]["object"]["entries"]
    assert (entry["type"], entry["mode"]) == ("commit", 0o160000)
    assert entry["submodule"]["gitUrl"] == "https://github.com/lumen-lab/waves"
    pointer = ask(HEAD + f"{{ {blob} }} }}", **name)[2]["data"]["r"]["object"]
    assert pointer["text"].startswith("version https://git-lfs.github.com/spec/v1\n")
    assert pointer["byteSize"] < 200


def test_a_look_up_answers_many_repositories_in_one_call(recorder, tokens, subjects):
    names = {n.lower() for n in (subjects.repository, subjects.renamed, subjects.missing_repository)}
    found = look_up(recorder, tokens, [Question(name) for name in names])
    assert (found.calls, found.told, found.gone, found.left) == (1, 2, 1, [])


def test_everything_that_pygithub_derives_goes_by_the_recorder(recorder, tokens, subjects):
    client = github_client(recorder, tokens)
    with recorder.call() as made:
        lazy = github_client(recorder, tokens).requester.withLazy(True)
        lazy = github.Repository.Repository(lazy, url=f"/repos/{subjects.repository}")
        assert lazy.default_branch
        assert client.get_rate_limit().resources.core.limit >= 60
        assert list(lazy.get_releases()[:1]) is not None
        assert client.requester.withAuth(None).requestJson("GET", "/rate_limit")[0] == 200
        assert client.requester.withApiVersion("2022-11-28").requestJson("GET", "/rate_limit")[0] == 200
        assert [item.path for item in client.search_code(f"import repo:{subjects.repository}")[:1]]
    asked = [exchange.url for exchange in made]
    assert len(asked) >= 5
    assert all(url.startswith("https://api.github.com/") for url in asked)
    assert all(exchange.authenticated for exchange in made)


@OFFLINE
def test_pygithub_says_of_graphql_what_it_says_of_rest(recorder, tokens):
    requester = github_client(recorder, tokens).requester
    query = HEAD.replace(" r: ", " ") + "{ nameWithOwner } }"
    _, told = requester.graphql_query(query, by_name("lumen-lab/tideformer"))
    assert told["data"]["repository"]["nameWithOwner"] == "lumen-lab/tideformer"
    with pytest.raises(github.UnknownObjectException):
        requester.graphql_query(query, by_name("lumen-lab/vanished"))
