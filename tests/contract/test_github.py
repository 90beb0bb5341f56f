"""PyGithub, unmodified, against GitHub's REST API as the world speaks it: one test per row of the wire table."""

import github
import httpx2
import pytest

OFFLINE = pytest.mark.usefixtures("offline_only")


def test_a_repository_answers_under_its_own_name_with_licence_and_default_branch(gh, subjects):
    repository = gh.get_repo(subjects.repository)
    assert repository.full_name == subjects.repository
    assert repository.url == f"https://api.github.com/repos/{subjects.repository}"
    assert repository.license.spdx_id == subjects.license
    assert (repository.private, repository.archived, repository.disabled) == (False, False, False)
    assert repository.visibility == "public"
    assert repository.default_branch
    assert repository.pushed_at > repository.created_at
    assert repository.stargazers_count >= 12


@OFFLINE
def test_a_fork_names_its_parent_and_an_archived_repository_says_so(gh):
    repository = gh.get_repo("lumen-lab/fork")
    assert repository.fork
    assert repository.archived
    assert repository.parent.full_name == "lumen-lab/tideformer"


def test_a_renamed_repository_is_reached_by_its_old_name_and_tells_the_new_one(gh, subjects):
    assert gh.get_repo(subjects.renamed).full_name == subjects.renamed_now


def test_a_renamed_repository_redirects_to_its_number_with_a_body_that_says_where(web, subjects):
    answer = web.get(f"https://api.github.com/repos/{subjects.renamed}", follow_redirects=False)
    assert answer.status_code == 301
    assert answer.headers["location"].startswith("https://api.github.com/repositories/")
    assert answer.json()["message"] == "Moved Permanently"
    assert answer.json()["url"] == answer.headers["location"]


@OFFLINE
def test_a_redirect_keeps_the_rest_of_the_path_and_the_query(gh, web):
    answer = web.get("https://api.github.com/repos/lumen-old/tideformer-old/git/trees/main?recursive=1")
    assert answer.status_code == 200
    assert answer.url.path.endswith("/git/trees/main")
    assert any("/" in entry["path"] for entry in answer.json()["tree"])


def test_a_missing_repository_is_404(gh, subjects):
    with pytest.raises(github.UnknownObjectException) as caught:
        gh.get_repo(subjects.missing_repository)
    assert caught.value.status == 404
    assert caught.value.data["message"] == "Not Found"


@OFFLINE
def test_a_private_repository_cannot_be_told_from_a_missing_one(gh):
    def body(name: str) -> object:
        with pytest.raises(github.UnknownObjectException) as caught:
            gh.get_repo(name)
        return caught.value.data

    assert body("lumen-lab/secret") == body("lumen-lab/vanished")


@OFFLINE
def test_a_blocked_repository_is_451_with_the_reason(gh):
    with pytest.raises(github.GithubException) as caught:
        gh.get_repo("lumen-lab/blocked")
    assert caught.value.status == 451
    assert caught.value.data["block"]["reason"] == "dmca"


@OFFLINE
def test_an_unrecorded_repository_is_unreachable_and_never_404(gh):
    with pytest.raises(Exception, match="unreachable") as caught:
        gh.get_repo("nobody/knows")
    assert not isinstance(caught.value, github.GithubException)


@OFFLINE
def test_a_spent_budget_is_403_with_nothing_remaining_and_passes(gh):
    with pytest.raises(github.RateLimitExceededException) as caught:
        gh.get_repo("lumen-lab/limited")
    assert caught.value.headers["x-ratelimit-remaining"] == "0"
    assert caught.value.headers["retry-after"] == "3"
    assert gh.get_repo("lumen-lab/limited").name == "limited"


@OFFLINE
def test_a_secondary_limit_is_429_with_retry_after_as_often_as_told(gh):
    for _ in range(2):
        with pytest.raises(github.GithubException) as caught:
            gh.get_repo("lumen-lab/busy")
        assert caught.value.status == 429
        assert caught.value.headers["retry-after"] == "7"
    assert gh.get_repo("lumen-lab/busy").name == "busy"


def test_a_recursive_tree_lists_blobs_with_sizes_and_folders(gh, subjects):
    repository = gh.get_repo(subjects.repository)
    tree = repository.get_git_tree(repository.default_branch, recursive=True)
    assert tree.raw_data["truncated"] is False
    blobs = {entry.path: entry for entry in tree.tree if entry.type == "blob"}
    assert "README.md" in blobs
    assert all(isinstance(blob.size, int) and len(blob.sha) == 40 for blob in blobs.values())
    assert any(entry.type == "tree" and entry.mode == "040000" for entry in tree.tree)


@OFFLINE
def test_a_submodule_is_a_commit_in_the_tree_and_its_address_is_in_gitmodules(gh):
    repository = gh.get_repo("lumen-lab/tideformer")
    entry = next(e for e in repository.get_git_tree("main", recursive=True).tree if e.path == "third_party/waves")
    assert (entry.mode, entry.type) == ("160000", "commit")
    assert b"https://github.com/lumen-lab/waves" in repository.get_contents(".gitmodules").decoded_content


@OFFLINE
def test_an_lfs_file_shows_its_pointer_in_tree_and_contents_and_its_bytes_on_the_media_host(gh, web):
    repository, path = gh.get_repo("lumen-lab/tideformer"), "weights/model.safetensors"
    entry = next(e for e in repository.get_git_tree("main", recursive=True).tree if e.path == path)
    pointer = repository.get_contents(path).decoded_content
    assert pointer.startswith(b"version https://git-lfs.github.com/spec/v1\n")
    assert b"size 5000000\n" in pointer
    assert entry.size == len(pointer) < 200
    assert web.get(f"https://raw.githubusercontent.com/lumen-lab/tideformer/main/{path}").content == pointer
    media = web.head(f"https://media.githubusercontent.com/media/lumen-lab/tideformer/main/{path}")
    assert media.headers["content-length"] == "5000000"


@OFFLINE
def test_an_lfs_file_over_quota_is_refused_by_the_media_host(web):
    path = "media/lumen-lab/tideformer/main/weights/over_quota.bin"
    assert web.get(f"https://media.githubusercontent.com/{path}").status_code == 403


@OFFLINE
def test_the_lfs_server_says_of_each_object_whether_it_can_be_had(gh, web):
    """Form: git-lfs, docs/api/batch.md. The probes need it not: the media host answers for a file with its bytes."""

    def asked(*paths: str) -> httpx2.Response:
        pointers = [gh.get_repo("lumen-lab/tideformer").get_contents(path).decoded_content.decode() for path in paths]
        told = [dict(line.split(" ", 1) for line in pointer.splitlines()) for pointer in pointers]
        objects = [{"oid": t["oid"].removeprefix("sha256:"), "size": int(t["size"])} for t in told]
        kind = {"accept": "application/vnd.git-lfs+json", "content-type": "application/vnd.git-lfs+json"}
        body = {"operation": "download", "transfers": ["basic"], "objects": [*objects, {"oid": "0" * 64, "size": 7}]}
        return web.post("https://github.com/lumen-lab/tideformer.git/info/lfs/objects/batch", json=body, headers=kind)

    answer = asked("weights/model.safetensors")
    there, lost = answer.json()["objects"]
    assert answer.headers["content-type"].startswith("application/vnd.git-lfs+json")
    assert (there["size"], "error" in there) == (5_000_000, False)
    assert there["actions"]["download"]["href"].startswith("https://")
    assert (lost["error"]["code"], "actions" in lost) == (404, False)
    assert asked("weights/over_quota.bin").status_code == 403


@OFFLINE
def test_a_truncated_tree_says_so_and_a_walk_by_folder_finds_the_rest(gh):
    repository = gh.get_repo("lumen-lab/huge")
    recursive = repository.get_git_tree("main", recursive=True)
    assert recursive.raw_data["truncated"] is True
    top = repository.get_git_tree("main")
    walked = {
        f"{folder.path}/{entry.path}" for folder in top.tree for entry in repository.get_git_tree(folder.sha).tree
    }
    assert top.raw_data["truncated"] is False
    assert walked == {f"part{n}/x.py" for n in range(6)}
    assert {entry.path for entry in recursive.tree} < walked | {f"part{n}" for n in range(6)}


@OFFLINE
def test_an_empty_repository_is_409_for_its_tree_and_404_for_its_contents(gh):
    repository = gh.get_repo("lumen-lab/empty")
    assert repository.size == 0
    with pytest.raises(github.GithubException) as tree:
        repository.get_git_tree("main", recursive=True)
    assert (tree.value.status, tree.value.data["message"]) == (409, "Git Repository is empty.")
    with pytest.raises(github.GithubException) as contents:
        repository.get_contents("")
    assert (contents.value.status, contents.value.data["message"]) == (404, "This repository is empty.")


@OFFLINE
def test_contents_list_a_folder_once_without_a_request_per_item(gh):
    repository = gh.get_repo("lumen-lab/tideformer")
    items = {item.path: item for item in repository.get_contents("")}
    assert items["src"].type == "dir"
    assert items["train.py"].type == "file"
    assert items["train.py"].size == len("import tidepool\nprint('high tide')\n")
    assert [item.path for item in repository.get_contents("src")] == ["src/model.py"]
    with pytest.raises(github.UnknownObjectException):
        repository.get_contents("src/absent.py")


@OFFLINE
def test_a_file_and_the_readme_arrive_as_wrapped_base64(gh):
    repository = gh.get_repo("lumen-lab/tideformer")
    assert repository.get_contents("train.py").decoded_content == b"import tidepool\nprint('high tide')\n"
    readme = repository.get_readme()
    assert readme.decoded_content.startswith(b"# Tideformer\n")
    assert readme.encoding == "base64"
    assert max(map(len, readme.content.splitlines())) <= 60


@OFFLINE
def test_a_file_above_one_megabyte_has_no_inline_content_but_a_download_url(gh, web):
    item = gh.get_repo("lumen-lab/tideformer").get_contents("data/table.csv")
    assert (item.encoding, item.content, item.size) == ("none", "", 1_500_000)
    assert len(web.get(item.download_url).content) == 1_500_000


@OFFLINE
def test_the_licence_is_a_file_with_an_spdx_id(gh):
    found = gh.get_repo("lumen-lab/tideformer").get_license()
    assert found.license.spdx_id == "MIT"
    assert found.decoded_content == b"MIT License\n"


@OFFLINE
def test_an_unknown_licence_text_is_noassertion_and_no_licence_is_404(gh):
    assert gh.get_repo("lumen-lab/fork").license.spdx_id == "NOASSERTION"
    bare = gh.get_repo("lumen-lab/huge")
    assert bare.license is None
    with pytest.raises(github.UnknownObjectException):
        bare.get_license()


@OFFLINE
def test_releases_come_in_pages_linked_by_the_repository_number(gh, web):
    releases = list(gh.get_repo("lumen-lab/tideformer").get_releases())
    assert [release.tag_name for release in releases] == [f"v{n}" for n in range(1, 36)]
    first = web.get("https://api.github.com/repos/lumen-lab/tideformer/releases")
    assert first.links["next"]["url"].startswith("https://api.github.com/repositories/")
    assert "next" not in web.get(first.links["next"]["url"]).links


@OFFLINE
def test_a_release_asset_downloads_only_when_its_upload_came_to_an_end(gh, web):
    whole, half = next(iter(gh.get_repo("lumen-lab/tideformer").get_releases())).get_assets()
    assert (whole.state, whole.size, half.state) == ("uploaded", 70_000, "starter")
    answer = web.get(whole.browser_download_url)
    assert len(answer.content) == 70_000
    assert [hop.status_code for hop in answer.history] == [302]
    assert web.get(half.browser_download_url).status_code == 404


def test_the_rate_limit_is_told(gh):
    core = gh.get_rate_limit().resources.core
    assert core.limit >= 60
    assert 0 <= core.remaining <= core.limit


@OFFLINE
def test_a_search_reads_names_and_descriptions_and_the_readme_when_asked(gh):
    def found(query: str) -> list[str]:
        return [repository.full_name for repository in gh.search_repositories(query)]

    assert found("tideformer") == ["lumen-lab/tideformer"]
    assert found("official code tideformer") == ["lumen-lab/tideformer"]
    assert found("attention moon") == []
    assert found('"attention and the moon" in:readme') == ["lumen-lab/tideformer"]
    assert found("tideformer user:someone-else") == []


def test_a_search_that_finds_nothing_is_complete(web, subjects):
    answer = web.get("https://api.github.com/search/repositories", params={"q": subjects.empty_search})
    assert answer.status_code == 200
    assert answer.json() == {"total_count": 0, "incomplete_results": False, "items": []}


@OFFLINE
def test_a_search_never_shows_what_a_stranger_cannot_see(gh):
    names = [repository.full_name for repository in gh.search_repositories("in:name user:lumen-lab fork:true")]
    assert "lumen-lab/fork" in names
    assert not {"lumen-lab/secret", "lumen-lab/vanished", "lumen-lab/blocked"} & set(names)


@OFFLINE
def test_a_search_comes_in_pages(web):
    url = "https://api.github.com/search/repositories?q=user%3Alumen-lab&per_page=2"
    seen, pages = [], 0
    while url:
        answer = web.get(url)
        seen += [item["full_name"] for item in answer.json()["items"]]
        url, pages = answer.links.get("next", {}).get("url"), pages + 1
    assert len(seen) == len(set(seen)) == answer.json()["total_count"]
    assert pages == (len(seen) + 1) // 2


def test_code_search_without_a_token_is_401(gh):
    with pytest.raises(github.GithubException) as caught:
        list(gh.search_code("tidepool"))
    assert caught.value.status == 401


def test_code_search_with_a_token_finds_words_in_files(gh_with_token):
    assert [item.path for item in gh_with_token.search_code("tidepool repo:lumen-lab/tideformer")] == ["train.py"]
    assert list(gh_with_token.search_code("nowhere-in-any-file")) == []


def test_an_unchanged_answer_is_304_to_a_caller_that_has_it(web, subjects):
    url = f"https://api.github.com/repos/{subjects.repository}"
    first = web.get(url)
    again = web.get(url, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


@OFFLINE
def test_no_answer_knows_the_port_it_came_from(web: httpx2.Client):
    base = "https://api.github.com/repos/lumen-lab/tideformer"
    for url in (base, f"{base}/git/trees/main?recursive=1", f"{base}/contents/", f"{base}/releases", f"{base}/readme"):
        answer = web.get(url)
        assert answer.status_code == 200
        assert str(answer.url) == url
        assert "127.0.0.1" not in answer.text + str(answer.headers)
